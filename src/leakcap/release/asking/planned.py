"""A query before it is paid, as a record: what it would cost, err by and tell."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from leakcap.release.columns.people import Covers
from leakcap.release.results.record import PriceRecord
from leakcap.statement.record import Delta, Part, StatementRecord, Unbounded
from leakcap.statement.wording import at_most

__all__ = ["PlannedRecord", "WayRecord", "useless"]


class WayRecord(Part):
    """What a law of noise would err by and cost: ε and δ of the answer alone, and its share of the caps."""

    noise: Literal["laplace", "gaussian"]
    error: float
    epsilon: float
    delta: Delta
    share: Annotated[float, Field(description="of `cap`: of a cap on all answers, one in how many would fit")]
    cap: str


class PlannedRecord(Part):
    """One query before it is paid: `error_95` is what an answer stays within with probability 95 %.

    The figure meant is the one that `covers` names: the table's, or that of the rows kept.
    """

    name: str
    query: str
    error_95: Unbounded
    rows: int | None
    remark: str = ""
    assumed: Annotated[
        str | None,
        Field(description="which number of rows `error_95` is for, and whence, where it depends on that"),
    ] = None
    covers: Covers | None = None
    about: Annotated[str | None, Field(description="what a reader has to know of `covers`, in words")] = None
    price: PriceRecord
    noise_scales: dict[str, float]
    chosen: Annotated[
        str | None, Field(description="which noise was chosen and why, where the query left it open")
    ] = None
    ways: Annotated[
        tuple[WayRecord, ...], Field(description="both laws of noise, where the policy allows both")
    ] = ()
    policy_error: Annotated[
        float | None,
        Field(description="what a guess from the policy alone stays within; where the error is no less"),
    ] = None
    useful_epsilon: Annotated[
        float | None, Field(description="the ε at which the error is a tenth of `policy_error`")
    ] = None
    statement: StatementRecord

    @property
    def error(self) -> float:
        """`error_95`; ∞ where it has no bound."""
        return math.inf if self.error_95 is None else self.error_95

    @property
    def useless(self) -> str | None:
        """That nothing would be learned, and what to do; None where something may be."""
        return useless(self.name, self.error, self.policy_error, self.useful_epsilon)


def useless(name: str, error: float, policy_error: float | None, epsilon: float | None) -> str | None:
    """That an answer tells nothing beyond the policy, and which ε would; None where it may tell something.

    >>> useless("stay", 52.4894, 30.0, 18.0)
    '`stay`: ± 52.5 tells nothing: a guess from the policy alone is off by 30 at most. ± 3 takes ε = 18.'
    """
    if policy_error is None or error < policy_error:
        return None
    told = (
        f"`{name}`: ± {_short(error)} tells nothing: a guess from the policy alone is off by "
        f"{_short(policy_error)} at most."
    )
    if epsilon is None:
        return f"{told} Narrower bounds, fewer rows of each person or fewer groups help."
    return f"{told} ± {_short(policy_error / 10)} takes ε = {epsilon:.6g}."


def _short(error: float) -> str:
    text = at_most(error)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
