"""The perturbation table of a given variance that tells least: two convex programmes, proved by their duals.

Rows are laws of what is added to a count n, on −n, …, D, with mean 0 and variance V. Large counts share one
row r, and a pair of them tells J(r, r moved by one), where J is the information at even odds. The rows of the
counts 1, …, D − 1 are such that the pairs 0|1, …, D − 1|D tell least together. Each sum T of such terms is
convex, and homogeneous of degree one in all rows together, so that T(b) ≥ Σ b·g with its gradient g at any
rows: numbers with λ + μ·k + ν·k² ≤ g_k on every place of a row prove T(b) ≥ Σ over rows (λ + ν·V) + (fixed
rows)·g for all tables b. A capacity is J at least.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from leakcap.bound import Bound
from leakcap.disclosure.cell_key import PerturbationTable, Steps
from leakcap.disclosure.moments import Places, checked_moments, exact_row, shares_of
from leakcap.numeric.logspace import Floats

__all__ = ["LeastLeakingTable", "least_leaking_table"]

_OWNER = "least_leaking_table"
_STEPS = 200
_SLACK = 1e-11
"""More than a sum of a few hundred terms, each below 64, is off in doubles."""


@dataclass(frozen=True)
class LeastLeakingTable:
    """The table, its rows with mean 0 and the variance exactly as asked, and the proofs that none tells less.

    `large` is what a pair of counts from D on tells at even odds, in nats, and `small` what those below D
    tell, added up, beside this row of large counts: upper ends are those of the table, lower ends those of
    every table with this variance and largest change.
    """

    table: PerturbationTable
    large: Bound
    small: Bound


class _Pair(NamedTuple):
    """Two laws on published values: where their probabilities stand among the variables, −1 if fixed."""

    first: Places
    second: Places
    fixed: tuple[Floats, Floats]

    def laws(self, flat: Floats) -> tuple[Floats, Floats]:
        """Both laws."""
        own = np.append(flat, 0.0)
        return own[self.first] + self.fixed[0], own[self.second] + self.fixed[1]


class _Programme(NamedTuple):
    """Rows on these places with mean 0 and a variance, and the pairs whose sum is to be least."""

    places: list[Places]
    pairs: list[_Pair]
    variance: float


def least_leaking_table(largest: int, variance: Fraction | int) -> LeastLeakingTable:
    """The table that adds or takes away `largest` at most, keeps 0 as it is, and tells least.

    Raises `InvalidParameter` unless the variance is less than `largest`, which is the most that a count of 1
    can have, and at least a fortieth of its square.

    >>> least = least_leaking_table(2, 1)
    >>> least.large.width < 1e-9, least.small.width < 1e-9, sum(least.table.law(9).values())
    (True, True, Fraction(1, 1))
    """
    checked_moments(largest, variance, _OWNER)
    wide = np.arange(-largest, largest + 1)
    own, none = np.arange(len(wide)), np.zeros(len(wide) + 1)
    pair = _Pair(np.append(own, -1), np.append(-1, own), (none, none))
    (row,), large = _least(_Programme([wide], [pair], float(variance)), Fraction(variance))
    kept: Steps = ((0, Fraction(1)),)
    rows, small = _least(_of_small_counts(largest, float(variance), row), Fraction(variance))
    places = [np.arange(-count, largest + 1) for count in range(1, largest)]
    steps = [shares_of(own, place) for own, place in zip([*rows, row], [*places, wide], strict=True)]
    return LeastLeakingTable(PerturbationTable((kept, *steps)), large, small)


def _of_small_counts(largest: int, variance: float, row: list[Fraction]) -> _Programme:
    """Rows 1, …, D − 1 between those of 0 and D, which are fixed; published values are 0, …, 2D."""
    size = 2 * largest + 1
    found: list[tuple[Places, Floats]] = []
    places: list[Places] = []
    taken = 0
    for count in range(largest + 1):
        where, fixed = np.full(size, -1), np.zeros(size)
        if count == 0:
            fixed[0] = 1.0
        elif count == largest:
            fixed[:] = [float(one) for one in row]
        else:
            places.append(np.arange(-count, largest + 1))
            many = len(places[-1])
            where[:many] = np.arange(taken, taken + many)
            taken += many
        found.append((where, fixed))
    pairs = [_Pair(a, b, (c, d)) for (a, c), (b, d) in pairwise(found)]
    return _Programme(places, pairs, variance)


def _least(programme: _Programme, variance: Fraction) -> tuple[list[list[Fraction]], Bound]:
    """The rows in fractions with exact moments, and the sum of the pairs with what no rows go below."""
    solved = zip(_solved(programme), programme.places, strict=True)
    exact = [exact_row(row, place, variance) for row, place in solved]
    flat = np.array([float(one) for row in exact for one in row])
    value, slopes, proved = _told(programme, flat)
    for own, place in zip(_parted(slopes, programme), programme.places, strict=True):
        proved += _below(place, own, programme.variance)
    method = "sum at even odds; supporting plane of the dual"
    return exact, Bound(max(0.0, proved - _SLACK), value + _SLACK, method)


def _parted(flat: Floats, programme: _Programme) -> list[Floats]:
    return np.split(flat, np.cumsum([len(place) for place in programme.places])[:-1])


def _told(programme: _Programme, flat: Floats) -> tuple[float, Floats, float]:
    """T = Σ ½·[p ln(p/m) + q ln(q/m)], its gradient in the variables, and what fixed laws add to Σ b·g."""
    slopes = np.zeros(len(flat) + 1)
    value = fixed = 0.0
    for pair in programme.pairs:
        laws = pair.laws(flat)
        mean = (laws[0] + laws[1]) / 2
        for where, law, known in zip((pair.first, pair.second), laws, pair.fixed, strict=True):
            seen = law > 0
            own = np.zeros_like(law)
            own[seen] = np.log(law[seen] / mean[seen]) / 2
            value += float(law @ own)
            fixed += float(known @ own)
            np.add.at(slopes, where, own)
    return value, slopes[:-1], fixed


def _bends(programme: _Programme, flat: Floats) -> Floats:
    """The second derivatives: of each pair 1/(2p) − 1/(4m) on the diagonal, −1/(4m) across."""
    found = np.zeros((len(flat) + 1,) * 2)
    for pair in programme.pairs:
        first, second = pair.laws(flat)
        seen = first + second > 0
        across = np.where(seen, -0.5 / np.where(seen, first + second, 1.0), 0.0)
        for where, law in ((pair.first, first), (pair.second, second)):
            np.add.at(
                found, (where, where), across + np.where(law > 0, 0.5 / np.where(law > 0, law, 1.0), 0.0)
            )
        np.add.at(found, (pair.first, pair.second), across)
        np.add.at(found, (pair.second, pair.first), across)
    return found[:-1, :-1]


def _solved(programme: _Programme) -> list[Floats]:
    """Newton's steps under the moments of each row, which never leave the positive."""
    rows = [_start(place, programme.variance) for place in programme.places]
    ends = np.cumsum([0, *map(len, rows)])
    moments = np.zeros((3 * len(rows), ends[-1]))
    for number, place in enumerate(programme.places):
        moments[3 * number : 3 * number + 3, ends[number] : ends[number + 1]] = np.vander(place, 3).T
    flat, none = np.concatenate(rows), np.zeros((len(moments),) * 2)
    wanted = np.tile([programme.variance, 0.0, 1.0], len(rows))
    for _ in range(_STEPS):
        value, slopes, _fixed = _told(programme, flat)
        # In units of √p, in which the second derivatives are near one however small a probability is.
        unit = np.sqrt(flat)
        bends, own = _bends(programme, flat) * unit * unit[:, None], moments * unit
        off = wanted - moments @ flat
        system, right = np.block([[bends, own.T], [own, none]]), np.concatenate([-slopes * unit, off])
        step = unit * np.linalg.lstsq(system, right, rcond=1e-15)[0][: len(flat)]
        falling, decrease = step < 0, float(slopes @ step)
        reach = min(1.0, 0.9 * float((flat[falling] / -step[falling]).min(initial=np.inf)))
        while reach > 1e-12 and _told(programme, flat + reach * step)[0] > value + 1e-4 * reach * decrease:
            reach /= 2
        if decrease > -1e-15 or reach <= 1e-12:
            break
        flat = flat + reach * step
    return _parted(flat, programme)


def _start(place: Places, variance: float) -> Floats:
    """A law with mean 0 and this variance, all of whose probabilities are as large as they can be."""
    size = len(place)
    moments = np.hstack([np.vander(place, 3).T, np.zeros((3, 1))])
    lower = np.hstack([-np.eye(size), np.ones((size, 1))])
    cost = np.append(np.zeros(size), -1.0)
    found = linprog(cost, A_ub=lower, b_ub=np.zeros(size), A_eq=moments, b_eq=[variance, 0.0, 1.0])
    return np.asarray(np.maximum(found.x[:-1], 1e-12))


def _below(place: Places, slopes: Floats, variance: float) -> float:
    """λ + ν·V for the parabola λ + μk + νk² below the slopes for which this is largest."""
    powers = np.vander(place, 3, increasing=True)
    found = linprog([-1.0, 0.0, -variance], A_ub=powers, b_ub=slopes, bounds=[(None, None)] * 3)
    level, _, bend = (float(one) for one in found.x)
    over = max(0.0, float((powers @ found.x - slopes).max()))
    return level - over + bend * variance
