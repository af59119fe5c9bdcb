"""How far an answer may lie from the truth: 95 % errors and intervals, from the exact law of the noise.

The truth here is the statistic of the clamped values on the grid, over the rows that count; the grid itself
adds at most half a step per row, below 2⁻³³ of the bounds' width wherever the bounds allow so fine a grid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from leakcap.release.plan import Plan, RankPart
from leakcap.release.price import Price, price_of
from leakcap.release.ranks import RANKS, rank_error
from leakcap.release.spread import SPREADS, spread_error, spread_interval

__all__ = ["LEVEL", "Preview", "errors_of", "interval_of", "laplace_error", "preview_of"]

LEVEL = 0.95
# For a mean whose number of rows is neither public nor known: the error is quoted at this many rows.
REFERENCE_ROWS = 1000


@cache
def laplace_error(scale: Fraction, *, beyond: float) -> int:
    """The smallest integer a with P(|Z| > a) ≤ `beyond` for discrete Laplace noise of this scale.

    P(|Z| > a) = 2 s^{a+1}/(1+s), s = e^{−1/scale}.

    >>> laplace_error(Fraction(10), beyond=0.05)
    30
    """
    decay = float(1 / scale)
    tail = math.log(2.0) - math.log1p(math.exp(-decay)) - math.log(beyond)
    # A hair more, so that a tail that equals `beyond` up to rounding errs towards the wider interval.
    return max(0, math.ceil(tail / decay * (1 + 1e-12)) - 1)


def interval_of(
    plan: Plan, noisy: tuple[int, ...], errors: tuple[int, ...] | None = None
) -> tuple[float, float]:
    """An interval that covers the truth with 95 % probability, from one cell's noisy integers.

    For a mean each of its two parts is given half of the 5 %, so it covers more often than it says. `errors`
    is `errors_of(plan)`, for those who have many cells.

    >>> from leakcap.release.policy import load_policy
    >>> from leakcap.release.plan import plan_query
    >>> from leakcap.release.queries import Query
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"sick": {"keys": [True, False]}}})
    >>> interval_of(plan_query(Query(name="n", statistic="count", epsilon=1.0), policy), (7,))
    (4.0, 10.0)
    """
    errors = errors_of(plan) if errors is None else errors
    ends = [(total - error, total + error) for total, error in zip(noisy, errors, strict=True)]
    if plan.grid is None:
        return float(ends[0][0]), float(ends[0][1])
    if plan.query.statistic == "sum":
        return plan.grid.value(ends[0][0]), plan.grid.value(ends[0][1])
    if plan.query.statistic in SPREADS:
        rows = ends[2] if len(ends) > 2 else (plan.exact_count or 1, plan.exact_count or 1)
        return spread_interval(plan.query.statistic, plan.grid, rows, ends[0], ends[1])
    counts = ends[1] if len(ends) > 1 else (plan.exact_count or 1, plan.exact_count or 1)
    corners = [Fraction(total, max(rows, 1)) for total in ends[0] for rows in counts]
    return as_mean(plan, min(corners)), as_mean(plan, max(corners))


def as_mean(plan: Plan, steps: Fraction) -> float:
    """The mean that is `steps` away from the centre of the grid, within the bounds."""
    assert plan.grid is not None
    inside = max(Fraction(plan.grid.low), min(Fraction(plan.grid.high), plan.centre + steps))
    return plan.grid.value(inside)


def errors_of(plan: Plan) -> tuple[int, ...]:
    """For each part how far its noise goes; together they go further with 5 % probability at most."""
    beyond = (1.0 - LEVEL) / len(plan.parts)
    return tuple(laplace_error(part.scale, beyond=beyond) for part in plan.parts)


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
    query = plan.query
    rows, remark = None, "for each group" if plan.groups.size > 1 else ""
    if query.statistic in RANKS:
        ranks = [part for part in plan.parts if isinstance(part, RankPart)]
        remark = f"rows in rank, and a bin{', for each group' if plan.groups.size > 1 else ''}"
        error = rank_error(ranks, len(plan.cells.axes[-1].labels))
        return Preview(query.name, plan.text, error, None, remark, price_of(plan))
    errors = errors_of(plan)
    if plan.grid is None:
        error = float(errors[0])
    elif query.statistic == "sum":
        error = plan.grid.value(errors[0])
    elif query.statistic in SPREADS:
        exact = plan.exact_count
        rows = _assumed_rows(plan) if exact is None else None
        error = spread_error(query.statistic, plan.grid, exact or _assumed_rows(plan), errors)
    elif plan.exact_count is not None:
        error = plan.grid.value(Fraction(errors[0], plan.exact_count))
    else:
        rows = _assumed_rows(plan)
        error = _mean_error(plan, errors, rows)
    if rows is not None:
        remark = f"where {rows:,} rows count{', for each group' if plan.cells.size > 1 else ''}"
    return Preview(query.name, plan.text, error, rows, remark, price_of(plan))


def _assumed_rows(plan: Plan) -> int:
    units = plan.policy.units
    return REFERENCE_ROWS if units is None else max(1, units // plan.cells.size)


def _mean_error(plan: Plan, errors: tuple[int, ...], rows: int) -> float:
    """|S′/N′ − S/N| ≤ (error of S + |S/N|·error of N)/(N − error of N) with |S/N| ≤ half the width."""
    assert plan.grid is not None
    width = plan.grid.high - plan.grid.low
    if rows <= errors[1]:
        return plan.grid.value(width)
    worst = Fraction(errors[0] + Fraction(width, 2) * errors[1]) / (rows - errors[1])
    return plan.grid.value(min(worst, Fraction(width)))
