"""How far an answer may lie from the truth: 95 % errors and intervals, from the exact law of the noise.

The truth here is the statistic of the clamped values on the grid, over the rows that are kept; the grid
itself adds at most half a step per row, below 2⁻³³ of the bounds' width wherever the bounds allow so fine
a grid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from leakcap.cards import Shown, card
from leakcap.errors import InvalidQuery
from leakcap.numeric import short_up
from leakcap.policy.document import Policy, load_policy
from leakcap.release.asking.assumed import KnownAnswers, RowsAssumed
from leakcap.release.asking.budget import divided
from leakcap.release.asking.planned import PlannedRecord, useless
from leakcap.release.asking.templates import QueryTemplate
from leakcap.release.columns.people import TABLE, Coverage
from leakcap.release.plan import LEVEL, Plan
from leakcap.release.planning.better import Planner, Way, ways_of
from leakcap.release.planning.plan import plan_at, plan_query, text_of
from leakcap.release.planning.price import Price, price_of
from leakcap.release.planning.queries import Query
from leakcap.release.query import QueryFields
from leakcap.release.results.exposure import exposure_of
from leakcap.release.results.record import PriceRecord
from leakcap.release.statistics import statistic_of
from leakcap.statement import Exposure, Statement, statement_of

__all__ = ["LEVEL", "Preview", "preview", "preview_of"]


@dataclass(frozen=True)
class Preview:
    """What a query would cost and how far its answers would be off, without touching data or ledger.

    `error` is what each answer stays within with 95 % probability. For a mean whose row count is private it
    depends on that count: it is quoted for `rows` rows, as `remark` says, and `assumed`
    says whence that number is. For quantiles it counts the rows
    between the wanted rank and the chosen bin. `policy_error` is what a guess from the policy alone stays
    within, where that is known; where `error` is no smaller, nothing would be learned, and `useful_epsilon`
    is the ε at which the error would be a tenth of it, if there is one. `ways` are the error and the
    cost of each law of noise at this price, where the policy allows both. `coverage` says which figure the
    error is about: the table's, or that of the rows kept.
    """

    name: str
    text: str
    error: float
    rows: int | None
    remark: str
    price: Price
    policy_error: float | None = None
    useful_epsilon: float | None = None
    ways: tuple[Way, ...] = ()
    coverage: Coverage = TABLE
    statistic: str = ""
    assumed: str = ""

    @property
    def useless(self) -> str | None:
        """That nothing would be learned, and what to do; None where something may be."""
        return useless(self.name, self.error, self.policy_error, self.useful_epsilon)

    @property
    def exposure(self) -> Exposure:
        """What the answer would show, in numbers."""
        return exposure_of(self.price, self.name)

    def statement(self) -> Statement:
        """What the answer would tell, to whom, in words and numbers."""
        return statement_of(self.exposure)

    @cached_property
    def record(self) -> PlannedRecord:
        """The preview as a record, with the statement that goes with it; ∞ is null."""
        known: dict[str, Any] = {
            "name": self.name,
            "query": self.text,
            "error_95": self.error,
            "rows": self.rows,
            "remark": self.remark,
            "covers": self.coverage.covers,
            "price": PriceRecord.of(self.price),
            "noise_scales": self.price.noise_scales,
            "statement": self.statement().record(),
        }
        if self.assumed:
            known["assumed"] = self.assumed
        if self.coverage.about:
            known["about"] = self.coverage.about
        if self.price.chosen is not None:
            known["chosen"] = self.price.chosen
        if self.ways:
            known["ways"] = tuple(asdict(way) for way in self.ways)
        if self.useless is not None:
            known |= {"policy_error": self.policy_error, "useful_epsilon": self.useful_epsilon}
        return PlannedRecord.model_validate(known)

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON has it; None where a bound does not exist."""
        return self.record.to_dict()


class Previews(Shown[Preview]):
    """Previews of several queries. A notebook shows them in one table."""

    def _repr_html_(self) -> str:
        rows = [
            (one.name, f"± {short_up(one.error, 3):,.6g} {one.remark}".rstrip(), f"{one.price.epsilon:.6g}")
            for one in self
        ]
        said = [one.useless or "" for one in self] + [one.assumed for one in self]
        said += [one.coverage.about for one in self]
        note = " ".join(dict.fromkeys(text for text in said if text))
        paid = math.fsum(one.price.epsilon for one in self)
        end = f"All together ε = {paid:.6g}. Nothing was read and nothing was spent."
        return card("Preview", rows, heads=("", "95 % error", "ε"), note=f"{note} {end}".strip())


def preview_of(plan: Plan, policy: Policy | None = None, rows: RowsAssumed | None = None) -> Preview:
    """The preview of a planned query; with the policy it was planned for, also the ε that would be useful."""
    statistic = statistic_of(plan.query)
    plan, assumed = (rows or RowsAssumed()).set_in(plan)
    expected, several = statistic.expected(plan), statistic.groups(plan).size > 1
    remark = "for each group" if several else ""
    if expected.rows is not None:
        remark = f"where {expected.rows:,} rows count{', for each group' if several else ''}"
    if expected.remark is not None:
        remark = expected.remark
    known = statistic.prior_error(plan)
    useful = None
    if policy is not None and known is not None and expected.error >= known > 0.0:
        useful = _epsilon_for(plan.query, known / 10, policy, plan.assumed)
    return Preview(
        plan.query.name,
        text_of(plan),
        expected.error,
        expected.rows,
        remark,
        price_of(plan),
        policy_error=known,
        useful_epsilon=useful,
        ways=() if policy is None else ways_of(plan.query, policy, _planner(plan.assumed)),
        coverage=plan.coverage,
        statistic=plan.query.statistic,
        assumed=assumed if expected.rows is not None else "",
    )


def _planner(assumed: int | None) -> Planner:
    """Plans that take as many rows to be there."""
    return lambda query, policy, offer: replace(plan_at(query, policy, offer), assumed=assumed)


def _epsilon_for(query: QueryFields, error: float, policy: Policy, assumed: int | None) -> float | None:
    """The least ε of this query that keeps an error, if there is one."""
    left_out = ("epsilon", "delta")
    content = {f.name: getattr(query, f.name) for f in fields(query) if f.name not in left_out}
    try:
        (found,) = divided([QueryTemplate(content, error=error)], policy, delta=query.delta, assumed=assumed)
    except InvalidQuery:
        return None
    return found.epsilon


def preview(
    queries: Sequence[Query],
    *,
    policy: Policy | str | Path | Mapping[str, Any],
    rows: int | None = None,
    known: KnownAnswers = (),
) -> list[Preview]:
    """The accuracy and the price of each query under a policy. There need not be any data.

    The errors of means, ratios and variances depend on how many rows there are. `rows` is how many are
    assumed, in each group; else a count among the `known` answers, each with the policy it was released
    under, that is about the same rows and groups; else what the policy makes public; else 1,000. Raises
    `InvalidParameter` for a number that no table of this policy has, and answers about another data set.

    >>> policy = {"dataset": "ward", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"age": {"bounds": [0.0, 120.0]}}}
    >>> preview([Query(name="n", statistic="count", epsilon=0.1)], policy=policy)[0].error
    30.0
    """
    checked = load_policy(policy)
    said = RowsAssumed.of(checked, rows, known)
    return Previews(preview_of(plan_query(query, checked), checked, said) for query in queries)
