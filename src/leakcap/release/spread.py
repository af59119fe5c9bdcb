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

from leakcap.release.grid import Grid, grid_for

__all__ = ["SPREADS", "spread_error", "spread_grid", "spread_interval", "spread_value", "square_reach"]

SPREADS = ("variance", "standard_deviation")

_STEPS_LOG2 = 24
# The samplers draw scales up to 2⁴⁵.
_SCALE_LOG2 = 44

Ends = tuple[int, int]


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
    statistic: str, grid: Grid, rows: Ends, total: Ends, squares: Ends
) -> tuple[float, float]:
    """The extremes over a box of rows, S and Q, widened by what the grid rounds.

    In u = 1/n both c + Q₁u − max S²·u² and c + Q₂u − min S²·u² are concave: the smallest value lies at an
    end of the range of u, the largest there or at the vertex. Rounding moves each value by half a step at
    most, and the standard deviation is a seminorm of the values, so it moves by half a step at most.
    """
    low, high = (Fraction(1, max(count, 1)) for count in reversed(rows))
    centre, _ = square_reach(_centred(grid))
    most = max(abs(total[0]), abs(total[1])) ** 2
    least = 0 if total[0] <= 0 <= total[1] else min(abs(total[0]), abs(total[1])) ** 2
    smallest = min(centre + squares[0] * u - most * u * u for u in (low, high))
    places = [low, high]
    if least > 0:
        places.append(max(low, min(high, Fraction(squares[1], 2 * least))))
    largest = max(centre + squares[1] * u - least * u * u for u in places)
    half = float(grid.step) / 2
    ends = [_as_value(SPREADS[1], grid, _clamped(end, grid)) for end in (smallest, largest)]
    inner, outer = max(0.0, ends[0] * (1 - 1e-15) - half), ends[1] * (1 + 1e-15) + half
    return (inner**2, outer**2) if statistic == "variance" else (inner, outer)


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
