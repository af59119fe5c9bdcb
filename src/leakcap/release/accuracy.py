"""How far an answer may lie from the truth: 95 % errors and intervals, from the exact law of the noise.

The truth here is the statistic of the clamped values on the grid, over the rows that count; the grid itself
adds at most half a step per row, below 2⁻³³ of the bounds' width wherever the bounds allow so fine a grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from leakcap.release.part import laplace_error
from leakcap.release.plan import LEVEL, Plan
from leakcap.release.price import Price, price_of
from leakcap.release.whole import whole

__all__ = ["LEVEL", "Preview", "interval_of", "laplace_error", "preview_of"]


def interval_of(plan: Plan, noisy: Sequence[int]) -> tuple[float, float]:
    """An interval that covers the truth with 95 % probability, from one cell's noisy integers.

    >>> from leakcap.release.policy import load_policy
    >>> from leakcap.release.plan import plan_query
    >>> from leakcap.release.queries import Query
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"sick": {"keys": [True, False]}}})
    >>> interval_of(plan_query(Query(name="n", statistic="count", epsilon=1.0), policy), (7,))
    (4.0, 10.0)
    """
    ((_, interval),) = plan.statistic.answers(plan, [whole([number]) for number in noisy]).pairs()
    return interval


@dataclass(frozen=True)
class Preview:
    """What a query would cost and how far its answers would be off, without touching data or ledger.

    `error` is what each answer stays within with 95 % probability. For a mean whose row count is private it
    depends on that count: it is quoted for `rows` rows, as `remark` says. For quantiles it counts the rows
    between the wanted rank and the chosen bin.
    """

    name: str
    text: str
    error: float
    rows: int | None
    remark: str
    price: Price

    def to_dict(self) -> dict[str, object]:
        """The preview as JSON; None where a bound does not exist."""
        table = self.price.nats_table
        return {
            "name": self.name,
            "query": self.text,
            "error_95": self.error,
            "rows": self.rows,
            "price": {
                "epsilon": self.price.epsilon,
                "delta": self.price.delta,
                "nats_person": self.price.nats_person.upper,
                "nats_table": table if math.isfinite(table) else None,
            },
            "noise_scales": self.price.noise_scales,
        }


def preview_of(plan: Plan) -> Preview:
    """The preview of a planned query."""
    expected, several = plan.statistic.expected(plan), plan.groups.size > 1
    remark = "for each group" if several else ""
    if expected.rows is not None:
        remark = f"where {expected.rows:,} rows count{', for each group' if several else ''}"
    if expected.remark is not None:
        remark = expected.remark
    return Preview(plan.query.name, plan.text, expected.error, expected.rows, remark, price_of(plan))
