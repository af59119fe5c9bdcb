"""Maximal g-leakage over priors, for one fixed gain: a bracket, exact where the structure allows."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from leakcap.bound import Bound
from leakcap.capacities.solvers.columns import row_residue
from leakcap.channel import Channel
from leakcap.gain import Diagonal, Gain
from leakcap.leakage.cells import matrix_rows
from leakcap.leakage.limits import total_of_tops
from leakcap.leakage.worst_priors import useful, worst_case, worst_guess
from leakcap.numeric.logspace import Floats
from leakcap.numeric.programs import minimise_linear
from leakcap.numeric.rounding import down, up
from leakcap.progress import tracked

__all__ = ["g_capacity"]

_SOURCE = "Alvim et al. 2012, 2014"
_UNIT = 2.0**-53
_PRICED = 400
"""Pairs of action and output up to which each is bounded by a linear program of its own."""

_STARTS = 12
_POOL = 200
_SINGULAR = 1e-13
_VERTICES = 20_000
_ROUNDS = 50


def g_capacity(channel: Channel, gain: Gain, *, max_case: bool = False) -> Bound:
    """sup over priors of the multiplicative g-leakage of one gain g ≥ 0; a ratio.

    On average V_g(π, C)/V_g(π) is scale-free: a convex function is maximised over {π ≥ 0, gπ ≤ 1}. Closed
    form for one guess (the Bayes capacity, also with unequal worths); all vertices while there are at
    most 20,000; otherwise local maxima from several starts below, and above the lesser of the Bayes
    capacity and a sum over outputs of linear programs, and the method says so. The witness is the prior.

    In the max-case: closed form for one guess (a prior uniform, in worth, on a set of secrets: the guess
    and those that the output speaks most against); otherwise the best of many priors below and the lift
    capacity above.
    Source: Alvim et al. 2012 (the Bayes capacity bounds the average), 2014; Fernandes, McIver & Sadeghi
    2022, corollary 2 (e^ε bounds the max-case).
    Raises `InvalidParameter`; `LeakcapError` where SciPy is needed and missing.

    >>> from leakcap import gain
    >>> c = Channel([[2/3, 1/6, 1/6], [1/3, 1/3, 1/3], [1/6, 1/6, 2/3]])
    >>> round(g_capacity(c, gain.identity(3)).upper, 12)
    1.666666666667
    """
    gain.check(channel)
    gain.require_nonnegative("g_capacity")
    if isinstance(gain, Diagonal) and not max_case:
        return _one_guess(channel, gain)
    rows = channel.matrix
    if max_case:
        return worst_guess(rows, gain) if isinstance(gain, Diagonal) else worst_case(channel, gain)
    table = gain.table
    live = useful(np.asarray((table > 0).any(axis=0)))
    rows_live, table = rows[live], table[:, live]
    if math.comb(table.shape[0] + table.shape[1], table.shape[1]) <= _VERTICES:
        value, prior = _best_of(rows_live, table, _vertices(table))
        # A vertex is a solution of equations, and the ratio is the largest there: its error counts twice.
        units = rows_live.size + 8 * table.size + 64 + math.ceil(row_residue(channel) / _UNIT)
        return _answer(down(value, units), up(value, units), "all vertices", prior, live)
    lower, prior = _climb(rows_live, table)
    units = rows_live.size + table.size + 16 + math.ceil(row_residue(channel) / _UNIT)
    lower, upper = down(lower, units), up(_ceiling(rows_live, table), units)
    upper = max(lower, upper)
    return _answer(lower, upper, "local maxima below, linear programs above", prior, live)


def _one_guess(channel: Channel, gain: Diagonal) -> Bound:
    live = useful(np.asarray(gain.worth > 0))
    kept = channel if live.all() else Channel(matrix_rows(channel)[live])
    return _answer(*total_of_tops(kept), "closed form", 1.0 / gain.worth[live], live)


def _answer(lower: float, upper: float, method: str, prior: Floats, live: NDArray[np.bool_]) -> Bound:
    whole = np.zeros(len(live))
    whole[live] = prior / prior.sum()
    return Bound.enclosed((lower, upper), method=method, source=_SOURCE, unit="ratio", witness=whole)


def _ratio(rows: Floats, table: Floats, prior: Floats) -> float:
    before = float((table @ prior).max())
    return float(((table * prior) @ rows).max(axis=0).sum()) / before if before > 0 else 0.0


def _best_of(rows: Floats, table: Floats, priors: list[Floats]) -> tuple[float, Floats]:
    values = [_ratio(rows, table, prior) for prior in tracked(priors, "g-leakage over priors")]
    place = int(np.argmax(values))
    return max(values[place], 1.0), priors[place]


def _vertices(table: Floats) -> list[Floats]:
    """All basic solutions: as many tight actions as secrets in the support.

    The ratio is scale-free, so a solution that is not feasible is still a prior: nothing need be discarded.
    """
    count, points = table.shape[1], [np.full(table.shape[1], 1.0 / table.shape[1])]
    scale = table.max(axis=0)
    unit = table / scale
    for size in range(1, min(table.shape) + 1):
        tight = np.array(list(itertools.combinations(range(len(table)), size)))
        supports = itertools.combinations(range(count), size)
        for support in tracked(supports, f"vertices on {size} secrets", math.comb(count, size)):
            systems = unit[tight][:, :, support]
            systems = systems[np.abs(np.linalg.det(systems)) > _SINGULAR]
            found = np.linalg.solve(systems, np.ones((len(systems), size, 1)))[:, :, 0]
            found = found[np.isfinite(found).all(axis=1) & (found > -1e-9).all(axis=1)]
            whole = np.zeros((len(found), count))
            whole[:, support] = np.maximum(found, 0.0) / scale[list(support)]
            points += [point / point.sum() for point in whole if point.sum() > 0]
    return points


def _climb(rows: Floats, table: Floats) -> tuple[float, Floats]:
    count = rows.shape[0]
    rng = np.random.default_rng(0)
    pool = [np.full(count, 1.0 / count), *rng.dirichlet(np.full(count, 0.5), _POOL)]
    pool += [p / p.sum() for p in (rng.random((_POOL, count)) < 0.4).astype(np.float64) if p.any()]
    starts = sorted(pool, key=lambda prior: -_ratio(rows, table, prior))[:_STARTS]
    found = [_ascend(rows, table, start) for start in tracked(starts, "g-leakage, local maxima")]
    return _best_of(rows, table, [*starts, *found])


def _ascend(rows: Floats, table: Floats, prior: Floats) -> Floats:
    """Fix the best action for each output, and let the prior maximise what they earn: never goes down."""
    value = _ratio(rows, table, prior)
    for _ in range(_ROUNDS):
        actions = ((table * prior) @ rows).argmax(axis=0)
        earned = (table[actions].T * rows).sum(axis=1)
        solution = minimise_linear(-earned, at_most=(table, np.ones(len(table))))
        if solution is None or solution.point.sum() <= 0:
            break
        reached = _ratio(rows, table, solution.point)
        if reached <= value * (1.0 + 1e-12):
            break
        prior, value = solution.point, reached
    return prior


def _ceiling(rows: Floats, table: Floats) -> float:
    """The Bayes capacity, or Σ_y of the best single (action, output) pair, each bounded by duality."""
    bayes = float(rows.max(axis=0).sum())
    if table.shape[0] * rows.shape[1] > _PRICED:
        return bayes
    columns = tracked(rows.T, "g-leakage, upper end", rows.shape[1])
    total = sum(max(_pair_bound(table, action * column) for action in table) for column in columns)
    return min(bayes, up(total, rows.size, 1.0))


def _pair_bound(table: Floats, worth: Floats) -> float:
    """An upper bound on max worth·π over {π ≥ 0, table π ≤ 1}: Σλ for any λ ≥ 0 with λ·table ≥ worth."""
    solution = minimise_linear(-worth, at_most=(table, np.ones(len(table))))
    if solution is None:
        return float("inf")
    prices = np.maximum(-solution.inequality_duals, 0.0)
    paid = prices @ table
    needed = worth > 0
    if not needed.any():
        return 0.0
    if (paid[needed] <= 0).any():
        return float("inf")
    scale = float(np.max(worth[needed] / paid[needed]))
    return float(prices.sum()) * scale
