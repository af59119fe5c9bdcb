"""How a survey's rows were drawn, as the owner states it: its design weights, and the design."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from leakcap.policy.declared import Column
from leakcap.policy.validation import Strict

__all__ = ["SurveyDesign", "check_survey"]


class SurveyDesign(Strict):
    """The column of the design weights, and how the rows were drawn, if that is stated.

    A weight is one over the probability with which its row came into the sample. ``poisson``: each row was
    drawn or not independently of the others. ``stratified``: simple random samples without replacement
    within strata, one stratum included. With clusters or stages `design` is left out, and intervals are over
    the noise alone.

    >>> SurveyDesign(weight="w", design="poisson").design
    'poisson'
    """

    weight: str = Field(min_length=1)
    design: Literal["poisson", "stratified"] | None = None

    @model_validator(mode="before")
    @classmethod
    def _no_amplification(cls, content: object) -> object:
        if isinstance(content, Mapping) and "sample_rate" in content:
            raise ValueError(
                "`sample_rate` buys nothing here and must be left out: a survey's sample is not secret, so "
                "no price falls because of it"
            )
        return content


def check_survey(survey: SurveyDesign | None, columns: Mapping[str, Column], rows_per_unit: int) -> None:
    """Raise `ValueError` unless the weights are numbers with bounds that fit the design."""
    if survey is None:
        return
    known = columns.get(survey.weight)
    if known is None or not known.stored:
        raise ValueError(f"`survey.weight` must name a stored column of `columns`. Got `{survey.weight}`")
    if known.bounds is None or known.keys is not None:
        raise ValueError(
            f"`survey.weight` must name a column of numbers, with `bounds` and no `keys`. `{survey.weight}` "
            "is not one"
        )
    least, why = (0.0, "") if survey.design is None else (1.0, ": it is one over a probability")
    if known.bounds[0] < least:
        raise ValueError(
            f"a weight must be at least {least:g}{why}. `bounds` of `{survey.weight}` begin at "
            f"{known.bounds[0]:g}"
        )
    if rows_per_unit > 1:
        raise ValueError("`survey` needs `max_rows = 1` in the unit: its people are drawn once each")
