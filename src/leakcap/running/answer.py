"""What was released of a stream, and every count, total and window that follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from leakcap.errors import InvalidParameter
from leakcap.ledger import Spend
from leakcap.numeric.rounding import float_down, float_up
from leakcap.policy.declared import Key
from leakcap.running.question import PlannedRunningCount
from leakcap.tables.answer import Estimate
from leakcap.tables.plan import root_up

__all__ = ["ReleasedRunningCount"]

_NORMAL = Fraction(195996398455, 10**11)
"""More than the 97.5 % point of the normal law: what is left over is far more than 10⁻¹³⁰ for each number."""


@dataclass(frozen=True)
class ReleasedRunningCount:
    """The noisy integers of every step so far, and what the ledger says of them; `new` were answered now.

    All else is a function of these integers, and costs nothing.
    """

    planned: PlannedRunningCount
    integers: tuple[tuple[int, ...], ...] = field(repr=False)
    spend: Spend
    entry: int
    new: int

    @property
    def answered(self) -> tuple[str, ...]:
        """The periods that were answered."""
        return self.planned.periods[: len(self.integers)]

    def count(self, period: str, *keys: Key) -> Estimate:
        """How many rows there are in a period, of the series with these keys."""
        return self.window(period, period, *keys)

    def total(self, period: str, *keys: Key) -> Estimate:
        """How many rows there are from the first period to the end of this one."""
        return self.window(self.planned.periods[0], period, *keys)

    def window(self, first: str, last: str, *keys: Key) -> Estimate:
        """How many rows there are from one period to another, both included.

        Raises `InvalidParameter` for periods that were not answered and for keys of no series.
        """
        start, end = self._place(first), self._place(last)
        if start > end:
            raise InvalidParameter(f"`last` must not be before `first`, {first}. Got {last}.")
        return self._estimate(self._of_window(start, end), self._series(keys))

    def sum_of(self, wanted: Sequence[tuple[str, float]], *keys: Key) -> Estimate:
        """Σ weight·count over periods: how much more there is in one than in another, say.

        Errors that periods have in common are taken into account. Raises `InvalidParameter`.
        """
        weights = [Fraction(0)] * len(self.integers)
        for period, weight in wanted:
            number = isinstance(weight, int | float | Fraction) and not isinstance(weight, bool)
            if not number or weight != weight or abs(weight) == float("inf"):
                raise InvalidParameter(f"A weight of `sum_of` must be a finite number. Got {weight!r}.")
            weights[self._place(period)] += Fraction(weight)
        return self._estimate(self.planned.plan.factor.spread(weights), self._series(keys))

    def _of_window(self, start: int, end: int) -> list[Fraction]:
        """The weight of each step's integer: a total less an earlier one."""
        totals = self.planned.plan.factor.total_weights
        return [
            totals[end - step] - (totals[start - 1 - step] if step < start else 0) for step in range(end + 1)
        ]

    def _estimate(self, weights: Sequence[Fraction], series: int) -> Estimate:
        """Σ weight·integer; its error is Σ weight·z, each z within 1 of a normal variable."""
        pairs = zip(weights, self.integers, strict=False)
        value = sum((weight * step[series] for weight, step in pairs), Fraction(0))
        half = sum(map(abs, weights), Fraction(0)) + _NORMAL * Fraction(self._deviation(weights))
        return Estimate(float(value), float_down(value - half), float_up(value + half))

    def _deviation(self, weights: Sequence[Fraction]) -> float:
        """At least the standard deviation: a discrete Gaussian's variance is at most its parameter."""
        return root_up(self.planned.plan.variance * sum((one**2 for one in weights), Fraction(0)))

    @cached_property
    def worst_deviation(self) -> float:
        """The standard deviation of the horizon's last running total, the largest, rounded up."""
        return self._deviation(self.planned.plan.factor.total_weights)

    def _place(self, period: str) -> int:
        if period not in self.answered:
            told = f"from {self.answered[0]} to {self.answered[-1]}" if self.answered else "none so far"
            raise InvalidParameter(f"A period must be one that was answered, {told}. Got `{period}`.")
        return self.answered.index(period)

    def _series(self, keys: tuple[Key, ...]) -> int:
        for place, own in enumerate(self.planned.series):
            if [(type(one), one) for one in own] == [(type(one), one) for one in keys]:
                return place
        named = ", ".join(self.planned.question.by) or "no columns"
        raise InvalidParameter(f"The keys must be those of one series, by {named}. Got {list(keys)!r}.")
