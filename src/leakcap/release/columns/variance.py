"""Variance and standard deviation from three noisy integers: rows, centred sum, sum of squares.

Rows become integers v on a coarse grid, counted from the middle of the bounds, so that |v| ≤ h and v² is an
exact integer. What is summed beside v is v² − c with c = ⌊h²/2⌋, which lies in [−c, h² − c]: a unit moves it
half as far as v². With n rows, S = Σv and Q = Σ(v² − c) the variance (divided by n) is

    σ² = c + Q/n − (S/n)²      in squared steps.

Source: Popoviciu 1935 (σ² is at most a quarter of the squared width, to which the answer is clamped).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from leakcap.arrays import np
from leakcap.release.columns.grid import Grid, grid_for
from leakcap.release.numbers.exact_integers import ExactIntegers
from leakcap.release.numbers.laws import NoiseSums
from leakcap.release.numbers.moments import NoisyCounts, NoisySums, Product, covariance_ends
from leakcap.release.numbers.tails import Floats

__all__ = [
    "SPREADS",
    "boxed_variances",
    "square_reach",
    "variance_grid",
    "variance_intervals",
    "variance_value",
]

SPREADS = ("variance", "standard_deviation")

_STEPS_LOG2 = 24
# The samplers draw scales up to 2⁴⁵.
_SCALE_LOG2 = 44

Ends = tuple[int, int]


def variance_grid(
    bounds: tuple[float, float], *, rows: int, epsilon: Fraction, places: int | None = None
) -> Grid:
    """The finest grid, of 2²⁴ to 2²⁵ steps at most, whose squares leave room for `rows` rows at this ε; that
    of decimals, where their `places` are given and it is no finer.

    With 2^k to 2^(k+1) steps, h < 2^k, and `rows` rows move the sum of squares by rows·2^(2k) at most.

    >>> grid = variance_grid((0.0, 1.0), rows=1, epsilon=Fraction(1))
    >>> grid.high
    2097152
    """
    weight = max(1, math.ceil(rows / epsilon))
    steps = min(_STEPS_LOG2, (_SCALE_LOG2 - weight.bit_length()) // 2)
    scale = rows * (Fraction(bounds[1]) - Fraction(bounds[0])) / epsilon
    return grid_for(bounds, scale=scale, steps_log2=max(steps, 1), places=places)


def square_reach(reach: Ends) -> tuple[int, Ends]:
    """c, and between which integers v² − c lies, for v within `reach`, which holds 0.

    >>> square_reach((-3, 2))
    (4, (-4, 5))
    """
    square = max(abs(reach[0]), abs(reach[1])) ** 2
    centre = square // 2
    return centre, (-centre, square - centre)


def variance_value(statistic: str, grid: Grid, rows: int, sums: tuple[int, int]) -> float:
    """The variance or the standard deviation, within what the bounds allow; `sums` are S and Q.

    >>> grid = Grid(exponent=0, low=0, high=4)
    >>> variance_value("variance", grid, 2, (0, 4))
    4.0
    """
    total, squares = sums
    rows = max(rows, 1)
    centre, _ = square_reach(_centred(grid))
    variance = centre + Fraction(squares, rows) - Fraction(total, rows) ** 2
    return _as_value(statistic, grid, _clamped(variance, grid))


def variance_intervals(
    statistic: str,
    grid: Grid,
    noisy: Sequence[Floats],
    sums: NoiseSums,
    rows: int | None,
) -> tuple[Floats, Floats]:
    """The ends of 95 % intervals from noisy S, Q and, where `rows` is not public, n.

    By the law `sums` of all noises together (`numbers/moments.py`).
    """
    low, high = map(float, _centred(grid))
    centre, _ = square_reach(_centred(grid))
    column = NoisySums(noisy[0], sums.scales[0], low, high)
    count = np.full(len(noisy[0]), float(rows)) if rows is not None else noisy[2]
    number = NoisyCounts(count, 0.0 if rows is not None else sums.scales[2], sums.law)
    square = Product(noisy[1], sums.scales[1], column, column, float(centre))
    most = float(Fraction(grid.high - grid.low, 2) ** 2)
    ends = covariance_ends(square, number, (0.0, most), beyond=sums.beyond)
    return _rounded(statistic, grid, ends)


def boxed_variances(
    statistic: str, grid: Grid, noisy: Sequence[ExactIntegers], errors: Sequence[int], rows: int | None
) -> tuple[Floats, Floats]:
    """The same from how far the noise of S, of Q and of n goes: all variances of what the three may be, the
    rows at least 1. Exactly: of u = 1/n it is c + Qu − S²u², which is concave.

    >>> from leakcap.release.numbers.exact_integers import exact_integers
    >>> grid = Grid(exponent=0, low=-50, high=50)
    >>> numbers = [exact_integers([one]) for one in (0, -85_000, 100)]
    >>> low, high = boxed_variances("variance", grid, numbers, (100, 5_000, 10), None)
    >>> bool(230.0 < low[0] < 400.0 < high[0] < 550.0)
    True
    """
    centre, _ = square_reach(_centred(grid))
    most = Fraction(grid.high - grid.low, 2) ** 2
    found = []
    for place in range(len(noisy[0])):
        (few, many) = (rows, rows) if rows is not None else _about(noisy[2][place], errors[2])
        sums, squares = _about(noisy[0][place], errors[0]), _about(noisy[1][place], errors[1])
        if many < 1:
            found.append((Fraction(0), most))
            continue
        ends = Fraction(1, many), Fraction(1, max(few, 1))
        largest = max(abs(end) for end in sums) ** 2
        smallest = 0 if sums[0] <= 0 <= sums[1] else min(abs(end) for end in sums) ** 2
        low = min(squares[0] * u - largest * u * u for u in ends)
        tops = list(ends)
        if smallest and ends[0] < (turn := Fraction(squares[1], 2 * smallest)) < ends[1]:
            tops.append(turn)
        high = max(squares[1] * u - smallest * u * u for u in tops)
        found.append((max(Fraction(0), min(most, centre + low)), max(Fraction(0), min(most, centre + high))))
    low_ends, high_ends = (np.array([float(one[side]) for one in found]) for side in (0, 1))
    return _rounded(statistic, grid, (low_ends, high_ends))


def _about(number: int, error: int) -> Ends:
    return int(number) - error, int(number) + error


def _rounded(statistic: str, grid: Grid, ends: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """From squared steps to what is shown; rounding to the grid moves the deviation by half a step."""
    half = float(grid.step) / 2
    roots = [np.sqrt(end) * float(grid.step) for end in ends]
    inner, outer = np.maximum(0.0, roots[0] * (1 - 1e-12) - half), roots[1] * (1 + 1e-12) + half
    return (inner**2, outer**2) if statistic == "variance" else (inner, outer)


def _centred(grid: Grid) -> Ends:
    centre = (grid.low + grid.high) // 2
    return grid.low - centre, grid.high - centre


def _clamped(variance: Fraction, grid: Grid) -> Fraction:
    return max(Fraction(0), min(Fraction(grid.high - grid.low, 2) ** 2, variance))


def _as_value(statistic: str, grid: Grid, variance: Fraction) -> float:
    exact = variance * grid.step**2
    if statistic == "variance":
        return float(exact)
    return math.sqrt(float(exact))
