"""The form of the page about ε: what its sliders offer, and what a query string asks."""

from __future__ import annotations

from collections.abc import Mapping

from leakcap.choosing import Scenario
from leakcap.web.reading import Slider, chosen, plain_number, short_number

__all__ = ["MECHANISMS", "SLIDERS", "asked", "query_of"]

MECHANISMS: Mapping[str, str] = {
    "laplace": "Noise on a count",
    "continuous": "Laplace noise",
    "gaussian": "Gaussian noise",
    "response": "Randomised response",
    "any": "Any mechanism",
}

SLIDERS = (
    Slider(
        "eps",
        "ε of one query",
        0.01,
        10.0,
        0.1,
        log=True,
        help="small tells little and is noisy, large tells much",
    ),
    Slider(
        "delta",
        "δ of Gaussian noise",
        1e-12,
        1e-2,
        1e-6,
        log=True,
        steps=10,
        help="the slack that goes with its ε",
    ),
    Slider("queries", "Queries", 1, 1000, 1, log=True, whole=True, help="about the same people, fresh noise"),
    Slider("family", "Size of a family", 2, 20, 5, whole=True, help="people whose records move together"),
    Slider(
        "prior", "Belief before", 1, 99, 50, whole=True, unit="%", help="how sure the attacker is already"
    ),
    Slider("values", "Possible values", 2, 10000, 128, log=True, whole=True, help="of one person's record"),
)


def asked(query: Mapping[str, str]) -> Scenario:
    """What a query string asks; what is missing or makes no sense is as it was at the start.

    >>> asked({"eps": "0.5", "queries": "ten"}).epsilon, asked({}).queries
    (0.5, 1)
    """
    found = {slider.name: slider.read(query) for slider in SLIDERS}
    return Scenario(
        chosen(query, "mechanism", list(MECHANISMS)),
        found["eps"],
        int(found["queries"]),
        int(found["family"]),
        found["prior"] / 100,
        int(found["values"]),
        found["delta"],
    )


def query_of(scenario: Scenario) -> dict[str, str]:
    """The same as a query string says it.

    >>> query_of(asked({"eps": "0.5"}))["eps"]
    '0.5'
    """
    return {
        "mechanism": scenario.mechanism,
        "eps": plain_number(scenario.epsilon),
        "queries": str(scenario.queries),
        "family": str(scenario.family),
        "prior": plain_number(round(scenario.prior * 100)),
        "values": str(scenario.values),
        "delta": short_number(scenario.delta),
    }
