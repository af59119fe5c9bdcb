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

from leakcap.release.fieller import laplace_sum_tail, quotients
from leakcap.release.grid import Grid, grid_for
from leakcap.release.part import laplace_error
from leakcap.release.whole import whole

__all__ = ["SPREADS", "spread_error", "spread_grid", "spread_interval", "spread_value", "square_reach"]

SPREADS = ("variance", "standard_deviation")

_STEPS_LOG2 = 24
# The samplers draw scales up to 2⁴⁵.
_SCALE_LOG2 = 44

Ends = tuple[int, int]
Floating = tuple[float, float]

_UNLIKELY = 0.002
_HALVINGS = 48


def spread_grid(bounds: tuple[float, float], *, rows: int, epsilon: Fraction) -> Grid:
    """The finest grid, of 2²⁴ to 2²⁵ steps at most, whose squares leave room for `rows` rows at this ε.

    With 2^k to 2^(k+1) steps, h < 2^k, and `rows` rows move the sum of squares by rows·2^(2k) at most.

    >>> grid = spread_grid((0.0, 1.0), rows=1, epsilon=Fraction(1))
    >>> grid.high
    2097152
    """
    weight = max(1, math.ceil(rows / epsilon))
    steps = min(_STEPS_LOG2, (_SCALE_LOG2 - weight.bit_length()) // 2)
    scale = rows * (Fraction(bounds[1]) - Fraction(bounds[0])) / epsilon
    return grid_for(bounds, scale=scale, steps_log2=max(steps, 1))


def square_reach(reach: Ends) -> tuple[int, Ends]:
    """c, and between which integers v² − c lies, for v within `reach`, which holds 0.

    >>> square_reach((-3, 2))
    (4, (-4, 5))
    """
    square = max(abs(reach[0]), abs(reach[1])) ** 2
    centre = square // 2
    return centre, (-centre, square - centre)


def spread_value(statistic: str, grid: Grid, rows: int, sums: tuple[int, int]) -> float:
    """The variance or the standard deviation, within what the bounds allow; `sums` are S and Q.

    >>> grid = Grid(exponent=0, low=0, high=4)
    >>> spread_value("variance", grid, 2, (0, 4))
    4.0
    """
    total, squares = sums
    rows = max(rows, 1)
    centre, _ = square_reach(_centred(grid))
    variance = centre + Fraction(squares, rows) - Fraction(total, rows) ** 2
    return _as_value(statistic, grid, _clamped(variance, grid))


def spread_interval(
    statistic: str,
    grid: Grid,
    noisy: Sequence[int],
    scales: Sequence[Fraction],
    rows: int | None,
) -> tuple[float, float]:
    """The ends of a 95 % interval from noisy S, Q and, where `rows` is not public, n; all in steps.

    For every m, Q − 2mS + (m² + c − v)·n is n·(σ² − v) + n·(m − S/n)², nothing at the true mean and variance.
    So from noisy numbers it is noise alone there, a sum of three with known weights. A v is left out if there
    it goes further than that noise does, whichever of the likely means is taken. Means that are not likely
    cost 0.2 % of the 5 %; near the noisy mean the square is small, so that hardly more is covered than must
    be. Rounding moves each value by half a step at most, and the standard deviation with them.

    Source: Fieller 1954; Berger & Boos 1994 for the set of likely means.
    """
    centre, _ = square_reach(_centred(grid))
    most = float(Fraction(grid.high - grid.low, 2) ** 2)
    ends = (0.0, most)
    means = _means(grid, noisy, scales, rows)
    count = float(rows if rows is not None else noisy[2])
    noise = 0.0 if rows is not None else float(scales[2])
    # With fewer rows than the noise of their number makes, everything is possible.
    if count > 4.0 * noise + 2.0:
        ends = _accepted(
            (float(noisy[0]), float(noisy[1]), count), means, float(centre), scales, (most, noise)
        )
    half = float(grid.step) / 2
    roots = [math.sqrt(end) * float(grid.step) for end in ends]
    inner, outer = max(0.0, roots[0] * (1 - 1e-12) - half), roots[1] * (1 + 1e-12) + half
    return (inner**2, outer**2) if statistic == "variance" else (inner, outer)


def _means(
    grid: Grid, noisy: Sequence[int], scales: Sequence[Fraction], rows: int | None
) -> tuple[float, float]:
    """Between which the mean of the centred integers lies but with probability `_UNLIKELY`."""
    low, high = map(float, _centred(grid))
    if rows is not None:
        error = laplace_error(scales[0], beyond=_UNLIKELY)
        least, largest = (noisy[0] - error) / rows, (noisy[0] + error) / rows
    else:
        _, lower, upper = quotients(
            (whole([noisy[0]]), whole([noisy[2]])), (scales[0], scales[2]), (low, high), _UNLIKELY
        )
        least, largest = float(lower[0]), float(upper[0])
    return min(max(least, low), high), max(min(largest, high), low)


def _accepted(
    numbers: tuple[float, float, float],
    means: tuple[float, float],
    centre: float,
    scales: Sequence[Fraction],
    rest: tuple[float, float],
) -> Floating:
    """The least and the largest variance that is not left out, in squared steps, by halving."""
    (total, squares, count), (most, noise) = numbers, rest

    def statistic(m: float) -> float:
        return squares - 2.0 * m * total + (m * m + centre) * count

    places = [*means, min(max(total / count, means[0]), means[1])]
    found = [statistic(m) for m in places]
    widest = max(map(abs, means))
    least_square = 0.0 if means[0] <= 0.0 <= means[1] else min(map(abs, means)) ** 2

    def outside(far: float, v: float) -> bool:
        """Whether noise of the weights at v goes so far too rarely."""
        weight = max(abs(widest**2 + centre - v), abs(least_square + centre - v)) if noise else 0.0
        slack = 1.0 + 2.0 * widest + weight
        own = (float(scales[1]), 2.0 * widest * float(scales[0]), weight * noise)
        return laplace_sum_tail(own, far * (1 - 1e-9) - slack) < 0.05 - _UNLIKELY

    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if outside(min(found) - middle * count, middle) else (low, middle)
    bottom, (low, high) = low, (0.0, most)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if outside(middle * count - max(found), middle) else (middle, high)
    return min(bottom, high), high


def spread_error(statistic: str, grid: Grid, rows: int, errors: Sequence[int]) -> float:
    """How far the answer can be off, at worst, where `rows` rows count; `errors` of S, Q and the count.

    |Q′/n′ − Q/n| ≤ (e_Q + c′·e_n)/(n − e_n) with |Q/n| ≤ c′, and |m′² − m²| ≤ 2h·|m′ − m| for the means.
    A standard deviation is off by the root of that at most, which happens where the values do not vary.

    >>> grid = Grid(exponent=0, low=0, high=4)
    >>> spread_error("variance", grid, 100, (1, 2))
    0.06
    """
    reach = _centred(grid)
    half = max(abs(reach[0]), abs(reach[1]))
    _, square = square_reach(reach)
    error_rows = errors[2] if len(errors) > 2 else 0
    worst = Fraction(grid.high - grid.low, 2) ** 2
    if rows > error_rows:
        parts = errors[1] + max(map(abs, square)) * error_rows + 2 * half * (errors[0] + half * error_rows)
        worst = min(worst, Fraction(parts, rows - error_rows))
    return _as_value(statistic, grid, worst)


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
