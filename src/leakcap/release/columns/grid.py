"""The fixed-point grid on which numbers are summed: integers add up exactly and in any order.

A value x of a column with bounds [low, high] becomes the integer round(clamp(x)·2^j). The step 2^−j is a
power of two, so the product is exact in doubles, and at least 2³² steps cover the bounds wherever that fits:
the rounding is far below any noise. The sum over all rows is an integer of the engine, which neither rounds
nor depends on the order of the rows; float sums do both, and both break the sensitivity (Casacuberta,
Shoemate, Vadhan & Wagaman 2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from leakcap.release.columns.typed import Quantize, column
from leakcap.release.numbers.exact_integers import ExactIntegers, doubles

__all__ = ["Grid", "grid_for"]

_STEPS_LOG2 = 32
# |integer| ≤ 2⁵³: exact as a double, and 2⁶⁰ rows of them fit into 128 bits.
_LARGEST_LOG2 = 53
# The samplers draw scales up to 2⁴⁵; a grid coarser than the noise by this much loses nothing.
_SCALE_LOG2 = 44


@dataclass(frozen=True)
class Grid:
    """Integers low..high stand for the values low·2^−exponent .. high·2^−exponent.

    >>> Grid(exponent=1, low=0, high=20).value(5)
    2.5
    """

    exponent: int
    low: int
    high: int

    @property
    def step(self) -> Fraction:
        """2^−exponent, exactly."""
        return Fraction(2) ** -self.exponent

    def value(self, steps: int | Fraction) -> float:
        """The double nearest to steps·2^−exponent."""
        if isinstance(steps, int):  # integer division rounds once, like the fraction, and is much faster
            return steps / (1 << self.exponent) if self.exponent >= 0 else float(steps << -self.exponent)
        return float(steps * self.step)

    def values(self, steps: ExactIntegers) -> NDArray[np.float64]:
        """The double nearest to steps·2^−exponent, for each: rounded once, since powers of two scale exactly.

        >>> Grid(exponent=1, low=0, high=20).values(np.array([5, 6])).tolist()
        [2.5, 3.0]
        """
        return np.ldexp(doubles(steps), -self.exponent)

    def tree(
        self, name: str, bounds: tuple[float, float], fill: float | None, *, centre: int = 0
    ) -> Quantize:
        """The row's integer less `centre`; NULL where the value is missing and there is no `fill`."""
        return Quantize(
            this=column(name),
            low=bounds[0],
            high=bounds[1],
            exponent=self.exponent,
            least=self.low,
            most=self.high,
            centre=centre,
            missing=None if fill is None else self.nearest(fill),
        )

    def nearest(self, value: float) -> int:
        """The grid integer that stands for a public value within the bounds."""
        return max(self.low, min(self.high, round(Fraction(value) / self.step)))


def grid_for(bounds: tuple[float, float], *, scale: Fraction, steps_log2: int = _STEPS_LOG2) -> Grid:
    """The finest grid that the bounds and the noise allow; `scale` is at least that of the noise, in the
    column's unit. Public facts only: the grid is the same for every table.

    >>> grid_for((0.0, 50.0), scale=Fraction(50)).exponent
    27
    """
    low, high = Fraction(bounds[0]), Fraction(bounds[1])
    largest = max(abs(low), abs(high))
    exponent = min(
        steps_log2 - _floor_log2(high - low),
        _LARGEST_LOG2 - _floor_log2(largest) - 1,
        _SCALE_LOG2 - _floor_log2(scale) - 1,
    )
    step = Fraction(2) ** -exponent
    return Grid(exponent, round(low / step), round(high / step))


def _floor_log2(number: Fraction) -> int:
    """⌊log₂ number⌋ for a positive number."""
    guess = number.numerator.bit_length() - number.denominator.bit_length()
    return guess if Fraction(2) ** guess <= number else guess - 1
