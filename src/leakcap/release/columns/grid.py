"""The fixed-point grid on which numbers are summed: integers add up exactly and in any order.

A value x of a column with bounds [low, high] becomes the integer round(clamp(x)·2^j). The step 2^−j is a
power of two, so the product is exact in doubles, and at least 2³² steps cover the bounds wherever that fits:
the rounding is far below any noise. The sum over all rows is an integer of the engine, which neither rounds
nor depends on the order of the rows; float sums do both, and both break the sensitivity (Casacuberta,
Shoemate, Vadhan & Wagaman 2022).

Of a column of decimals the step is 10^−places, wherever noise can be drawn on so fine a grid: each of its
values is a whole number of steps then, and the sum is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from leakcap.arrays import NDArray, np
from leakcap.numeric.rounding import floor_log2
from leakcap.release.columns.typed import Quantize, column
from leakcap.release.numbers.exact_integers import ExactIntegers, doubles

__all__ = ["LARGEST_EXACT", "Grid", "grid_for"]

_STEPS_LOG2 = 32
# |integer| ≤ 2⁵³: exact as a double, and 2⁶⁰ rows of them fit into 128 bits.
_LARGEST_LOG2 = 53
# The samplers draw scales up to 2⁴⁵; a grid coarser than the noise by this much loses nothing.
_SCALE_LOG2 = 44
LARGEST_EXACT = 2.0**53
"""Below it every whole number is a double."""


@dataclass(frozen=True)
class Grid:
    """Integers low..high stand for the values low·2^−exponent .. high·2^−exponent, or with `places`, in place
    of an exponent, for low·10^−places .. high·10^−places.

    >>> Grid(exponent=1, low=0, high=20).value(5), Grid(exponent=0, low=0, high=20, places=2).value(5)
    (2.5, 0.05)
    """

    exponent: int
    low: int
    high: int
    places: int | None = None

    @property
    def step(self) -> Fraction:
        """What one of the integers stands for, exactly."""
        return Fraction(2) ** -self.exponent if self.places is None else Fraction(1, 10**self.places)

    def value(self, steps: int | Fraction) -> float:
        """The double nearest to so many steps."""
        if self.places is not None:
            return steps / 10**self.places if isinstance(steps, int) else float(steps * self.step)
        if isinstance(steps, int):  # integer division rounds once, like the fraction, and is much faster
            return steps / (1 << self.exponent) if self.exponent >= 0 else float(steps << -self.exponent)
        return float(steps * self.step)

    def values(self, steps: ExactIntegers) -> NDArray[np.float64]:
        """The double nearest to so many steps, for each: rounded once, since powers of two scale exactly, and
        quotients of whole numbers below 2⁵³ are rounded to the nearest.

        >>> Grid(exponent=1, low=0, high=20).values(np.array([5, 6])).tolist()
        [2.5, 3.0]
        >>> Grid(exponent=0, low=0, high=20, places=1).values(np.array([3, 2**60])).tolist()
        [0.3, 1.152921504606847e+17]
        """
        if self.places is None:
            return self.scaled(doubles(steps))
        if steps.dtype == np.int64 and (steps.size == 0 or np.abs(doubles(steps)).max() < LARGEST_EXACT):
            return self.scaled(doubles(steps))
        return np.array([self.value(int(one)) for one in steps.tolist()], dtype=np.float64)

    def scaled(self, steps: NDArray[np.float64]) -> NDArray[np.float64]:
        """What these doubles, counted in steps, stand for, rounded to the nearest."""
        if self.places is None:
            return np.ldexp(steps, -self.exponent)
        return np.asarray(steps / 10.0**self.places, dtype=np.float64)

    def tree(
        self, name: str, bounds: tuple[float, float], fill: float | None, *, centre: int = 0
    ) -> Quantize:
        """The row's integer less `centre`; NULL where the value is missing and there is no `fill`."""
        return Quantize(
            this=column(name),
            low=bounds[0],
            high=bounds[1],
            scale=2.0**self.exponent if self.places is None else 10.0**self.places,
            least=self.low,
            most=self.high,
            centre=centre,
            missing=None if fill is None else self.nearest(fill),
        )

    def nearest(self, value: float) -> int:
        """The grid integer that stands for a public value within the bounds."""
        return max(self.low, min(self.high, round(Fraction(value) / self.step)))


def grid_for(
    bounds: tuple[float, float],
    *,
    scale: Fraction,
    steps_log2: int | None = None,
    places: int | None = None,
) -> Grid:
    """The finest grid that the bounds and the noise allow; `scale` is at least that of the noise, in the
    column's unit. Public facts only: the grid is the same for every table.

    With the `places` of a column of decimals it is theirs, where it has no more steps than 2^`steps_log2`,
    if that is given, and its noise can be drawn.

    >>> grid_for((0.0, 50.0), scale=Fraction(50)).exponent
    27
    >>> grid_for((0.0, 50.0), scale=Fraction(50), places=2)
    Grid(exponent=0, low=0, high=5000, places=2)
    """
    own = None if places is None else _of_decimals(bounds, scale, steps_log2, places)
    if own is not None:
        return own
    low, high = Fraction(bounds[0]), Fraction(bounds[1])
    largest = max(abs(low), abs(high))
    exponent = min(
        (_STEPS_LOG2 if steps_log2 is None else steps_log2) - floor_log2(high - low),
        _LARGEST_LOG2 - floor_log2(largest) - 1,
        _SCALE_LOG2 - floor_log2(scale) - 1,
    )
    step = Fraction(2) ** -exponent
    return Grid(exponent, round(low / step), round(high / step))


def _of_decimals(
    bounds: tuple[float, float], scale: Fraction, steps_log2: int | None, places: int
) -> Grid | None:
    low, high = (round(Fraction(end) * 10**places) for end in bounds)
    fine = steps_log2 is not None and high - low > 2**steps_log2
    return None if fine or scale * 10**places > 2**_SCALE_LOG2 else Grid(0, low, high, places)
