"""Maximal g-leakage over priors, for one fixed gain: a bracket, exact where the structure allows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakcap.bound import Bound
from leakcap.channel import Channel
from leakcap.gain import Diagonal, Gain
from leakcap.leakage.worst_priors import useful, worst_case, worst_guess
from leakcap.numeric.logspace import Floats
from leakcap.numeric.programs import minimise_linear
from leakcap.numeric.rounding import up

__all__ = ["g_capacity"]

_SOURCE = "Alvim et al. 2012, 2014"
_PRICED = 400
"""Pairs of action and output up to which each is bounded by a linear program of its own."""

_STARTS = 12
_ROUNDS = 50


def g_capacity(channel: Channel, gain: Gain, *, max_case: bool = False) -> Bound:
    """sup over priors of the multiplicative g-leakage of one gain g ≥ 0; a ratio.

    On average V_g(π, C)/V_g(π) is scale-free: a convex function is maximised over {π ≥ 0, gπ ≤ 1}. Closed
    form for one guess (the Bayes capacity, also with unequal worths), all break points for two secrets;
    otherwise local maxima from several starts below, and above the lesser of the Bayes capacity
    and a sum over outputs of linear programs, and the method says so. The witness is the prior.

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
    rows = channel.matrix
    if max_case:
        return worst_guess(rows, gain) if isinstance(gain, Diagonal) else worst_case(channel, gain)
    if isinstance(gain, Diagonal):
        return _one_guess(rows, gain)
    table = gain.table
    live = useful(np.asarray((table > 0).any(axis=0)))
    rows_live, table = rows[live], table[:, live]
    if live.sum() <= 2:
        value, prior = _best_of(rows_live, table, _break_points(rows_live, table))
        return _answer(value, value, "all break points", prior, live)
    lower, prior = _climb(rows_live, table)
    upper = max(lower, _ceiling(rows_live, table))
    return _answer(lower, upper, "local maxima below, linear programs above", prior, live)


def _one_guess(rows: Floats, gain: Diagonal) -> Bound:
    live = useful(np.asarray(gain.worth > 0))
    value = max(float(rows[live].max(axis=0).sum()), 1.0)
    return _answer(value, value, "closed form", 1.0 / gain.worth[live], live)


def _answer(lower: float, upper: float, method: str, prior: Floats, live: NDArray[np.bool_]) -> Bound:
    whole = np.zeros(len(live))
    whole[live] = prior / prior.sum()
    return Bound(lower, upper, method, _SOURCE, "ratio", whole)


def _ratio(rows: Floats, table: Floats, prior: Floats) -> float:
    before = float((table @ prior).max())
    return float(((table * prior) @ rows).max(axis=0).sum()) / before if before > 0 else 0.0


def _best_of(rows: Floats, table: Floats, priors: list[Floats]) -> tuple[float, Floats]:
    values = [_ratio(rows, table, prior) for prior in priors]
    place = int(np.argmax(values))
    return max(values[place], 1.0), priors[place]


def _break_points(rows: Floats, table: Floats) -> list[Floats]:
    """Two secrets: the ratio of piecewise linear functions is monotone between break points."""
    if table.shape[1] == 1:
        return [np.ones(1)]
    points = [np.array([1.0, 0.0]), np.array([0.0, 1.0])]
    for column in [*rows.T, np.ones(2)]:
        lines = table * column
        rise = lines[:, 0] - lines[:, 1]
        for w in range(len(lines)):
            # Action w ties with w' where p·(l_w0 − l_w'0) = (1 − p)·(l_w'1 − l_w1).
            slope, gap = rise[w] - rise, lines[:, 1] - lines[w, 1]
            cross = np.divide(gap, slope, out=np.full_like(gap, -1.0), where=slope != 0)
            points += [np.array([p, 1.0 - p]) for p in cross[(cross > 0) & (cross < 1)]]
    return points


def _climb(rows: Floats, table: Floats) -> tuple[float, Floats]:
    count = rows.shape[0]
    rng = np.random.default_rng(0)
    starts = [np.full(count, 1.0 / count), *rng.dirichlet(np.full(count, 0.5), _STARTS - 1)]
    found = [_ascend(rows, table, start) for start in starts]
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
    total = sum(max(_pair_bound(table, action * column) for action in table) for column in rows.T)
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
