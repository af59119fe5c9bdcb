"""What others chose: deployments that published their ε, their unit and where they say so.

An ε means nothing without what it protects (a person's whole life in the data, or one day of it) and from
whom the noise hides it (the publisher too, where it is added on the device). Both stand beside each number.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DEPLOYMENTS", "Deployment"]


@dataclass(frozen=True)
class Deployment:
    """One published choice."""

    who: str
    what: str
    epsilon: float
    guarantee: str
    unit: str
    local: bool
    source: str
    link: str


DEPLOYMENTS = (
    Deployment(
        "Wikimedia",
        "page views by country",
        1.0,
        "ρ = 0.015 (zCDP), there called roughly ε = 1, δ = 10⁻⁷",
        "the first ten pages that a device views on one day",
        False,
        "README of country_project_page",
        "https://analytics.wikimedia.org/published/datasets/country_project_page/00_README.html",
    ),
    Deployment(
        "Google",
        "COVID-19 Search Trends symptoms",
        1.68,
        "ε = 1.68",
        "a user's symptom searches of one day",
        False,
        "Bavadekar et al. 2020, arXiv:2009.01265",
        "https://arxiv.org/abs/2009.01265",
    ),
    Deployment(
        "Apple",
        "Health types used",
        2.0,
        "ε = 2",
        "a user's contributions of one day",
        True,
        "Apple, Differential Privacy Overview",
        "https://www.apple.com/privacy/docs/Differential_Privacy_Overview.pdf",
    ),
    Deployment(
        "Google",
        "COVID-19 Vaccination Search Insights",
        2.19,
        "ε = 2.19, δ = 10⁻⁵",
        "a user's vaccination searches of one day",
        False,
        "Bavadekar et al. 2021, arXiv:2107.01179",
        "https://arxiv.org/abs/2107.01179",
    ),
    Deployment(
        "Google",
        "COVID-19 Community Mobility Reports",
        2.64,
        "ε = 2.64",
        "a user's movements of one day",
        False,
        "Aktay et al. 2020, arXiv:2004.04145",
        "https://arxiv.org/abs/2004.04145",
    ),
    Deployment(
        "Apple",
        "Popular emoji",
        4.0,
        "ε = 4",
        "a user's contributions of one day",
        True,
        "Apple, Differential Privacy Overview",
        "https://www.apple.com/privacy/docs/Differential_Privacy_Overview.pdf",
    ),
    Deployment(
        "US Census Bureau",
        "2020 Census redistricting data, persons",
        17.14,
        "ε = 17.14 for the persons file, of 19.61 with housing units; zCDP, thus with a δ",
        "a person's record",
        False,
        "Census Bureau Sets Key Parameters to Protect Privacy in 2020 Census Results, press release of "
        "9 June 2021",
        "https://www.census.gov/newsroom/press-releases/2021/2020-census-key-parameters.html",
    ),
    Deployment(
        "LinkedIn",
        "Audience Engagements API",
        34.9,
        "ε = 34.9, δ = 7·10⁻⁹",
        "a member, towards one analyst in a month",
        False,
        "Rogers et al. 2020, arXiv:2002.05839",
        "https://arxiv.org/abs/2002.05839",
    ),
)
