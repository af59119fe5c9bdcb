"""What was released of a stream, and every count, total and window that follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from leakcap.errors import InvalidParameter, require
from leakcap.ledger import Spend
from leakcap.numeric.rounding import float_down, float_up
from leakcap.policy.declared import Key
from leakcap.running.question import PlannedRunningCount
from leakcap.tables.answer import LARGEST_WEIGHT, WEIGHT_RULE, Estimate
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
        return self._window(start, end, self._series(keys))

    def sum_of(self, wanted: Sequence[tuple[str, float]], *keys: Key) -> Estimate:
        """Σ weight·count over periods: how much more there is in one than in another, say.

        Errors that periods have in common are taken into account. Raises `InvalidParameter`.
        """
        weights = [Fraction(0)] * len(self.integers)
        for period, weight in wanted:
            number = isinstance(weight, int | float | Fraction) and not isinstance(weight, bool)
            require(number and abs(weight) <= LARGEST_WEIGHT, "weight", "sum_of", WEIGHT_RULE, weight)
            weights[self._place(period)] += Fraction(weight)
        return self._estimate(self.planned.plan.factor.spread(weights), self._series(keys))

    def _window(self, start: int, end: int, series: int) -> Estimate:
        """A total less an earlier one, of one series."""
        tops, bits = self.planned.plan.factor.window_tops(start, end)
        if (start, end) not in self._halves:  # All series have it in common.
            self._halves[start, end] = self._half(tops, 1 << bits)
        half = self._halves[start, end]
        told = sum(top * step[series] for top, step in zip(tops, self.integers, strict=False))
        value = Fraction(told, 1 << bits)
        return Estimate(float(value), float_down(value - half), float_up(value + half))

    @cached_property
    def _halves(self) -> dict[tuple[int, int], Fraction]:
        return {}

    def _half(self, weights: Sequence[int] | Sequence[Fraction], unit: int = 1) -> Fraction:
        """The most that Σ weight·z/unit is off, but for 5 %: each z lies within 1 of a normal variable."""
        squares = Fraction(sum(weight**2 for weight in weights), unit**2)
        spread = root_up(self.planned.plan.variance * squares)
        return Fraction(sum(map(abs, weights)), unit) + _NORMAL * Fraction(spread)

    def _estimate(self, weights: Sequence[Fraction], series: int) -> Estimate:
        """Σ weight·integer, of one series."""
        pairs, half = zip(weights, self.integers, strict=False), self._half(weights)
        value = sum((weight * step[series] for weight, step in pairs), Fraction(0))
        return Estimate(float(value), float_down(value - half), float_up(value + half))

    @cached_property
    def worst_deviation(self) -> float:
        """The standard deviation of the horizon's last running total, the largest, rounded up. (A discrete
        Gaussian's variance is at most its parameter.)"""
        squares = sum((one**2 for one in self.planned.plan.factor.total_weights), Fraction(0))
        return root_up(self.planned.plan.variance * squares)

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
