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

from sqlglot import exp

from leakcap.release.typed import cast, literal

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
        return float(steps * self.step)

    def tree(self, column: exp.Expression, bounds: tuple[float, float], fill: float | None) -> exp.Expression:
        """SQL for the row's integer; NULL where the value is missing and there is no `fill`.

        NULL is dealt with first because LEAST and GREATEST skip it: a missing value would count as `low`.
        """
        rounded = exp.Anonymous(
            this="ROUND",
            expressions=[
                exp.Mul(this=clamp(column, *bounds), expression=literal(2.0**self.exponent, "number"))
            ],
        )
        steps = cast(clamp(rounded, self.low, self.high), "integer")
        missing = exp.Null() if fill is None else literal(self.nearest(fill), "integer")
        is_null = exp.Is(this=column.copy(), expression=exp.Null())
        return exp.Case(ifs=[exp.If(this=is_null, true=missing)], default=steps)

    def nearest(self, value: float) -> int:
        """The grid integer that stands for a public value within the bounds."""
        return max(self.low, min(self.high, round(Fraction(value) / self.step)))


def clamp(tree: exp.Expression, low: float, high: float) -> exp.Expression:
    """LEAST(GREATEST(tree, low), high)."""
    raised = exp.Anonymous(this="GREATEST", expressions=[tree.copy(), literal(float(low), "number")])
    return exp.Anonymous(this="LEAST", expressions=[raised, literal(float(high), "number")])


def grid_for(bounds: tuple[float, float], *, scale: Fraction) -> Grid:
    """The finest grid that the bounds and the noise allow; `scale` is at least that of the noise, in the
    column's unit. Public facts only: the grid is the same for every table.

    >>> grid_for((0.0, 50.0), scale=Fraction(50)).exponent
    27
    """
    low, high = Fraction(bounds[0]), Fraction(bounds[1])
    largest = max(abs(low), abs(high))
    exponent = min(
        _STEPS_LOG2 - _floor_log2(high - low),
        _LARGEST_LOG2 - _floor_log2(largest) - 1,
        _SCALE_LOG2 - _floor_log2(scale) - 1,
    )
    step = Fraction(2) ** -exponent
    return Grid(exponent, round(low / step), round(high / step))


def _floor_log2(number: Fraction) -> int:
    """⌊log₂ number⌋ for a positive number."""
    guess = number.numerator.bit_length() - number.denominator.bit_length()
    return guess if Fraction(2) ** guess <= number else guess - 1
