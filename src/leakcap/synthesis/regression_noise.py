"""The regression that released tables hold, with a set that its exact coefficients are proved to lie in.

The sums of `RegressionTerms` are estimates, off by noise of a known covariance C. For every weight w of the
sums at once, whatever the noise has a part in, |w·noise| ≤ c·√(wᵀCw) + Σ|w|·s with probability 95 % or more,
where c² is the 95 % point of χ² with as many degrees of freedom as there are noisy sums (Scheffé 1953, by
Cauchy and Schwarz), and s is how far discrete noise is from Gaussian noise.

Let Aθ = b hold for the exact rows, Ã = A + E and b̃ = b + e be released, R near Ã⁻¹, and θ̃ = Rb̃. Then
x = θ − θ̃ is R(b̃ − Ãθ̃) + R(Eθ̃ − e) + (I − RÃ + RE)x: so |x| ≤ g + G|x| with g and G bounds of the kind
above, and |x| ≤ (I − G)⁻¹g where the spectral radius of G is below 1. Where it is not, nothing is said.

Sources: Scheffé 1953; Vu & Slavkovic 2009 for regression from noisy sums; Neumaier 1990, section 4.1.
Proof: `docs/theory/regression-from-tables.md`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from leakcap.numeric.linear_systems import contraction_radius
from leakcap.numeric.rounding import float_down, float_up
from leakcap.synthesis.regression_terms import Matrix, RegressionTerms
from leakcap.tables import ReleasedTables
from leakcap.tables.plan import ResidualPlan
from leakcap.tables.residuals import margin_of
from leakcap.tables.widths import variance_of
from leakcap.tables.workload import Places, margins_of_places

__all__ = [
    "chi_square_point",
    "covariance_of_sums",
    "released_coefficients",
    "released_sums",
    "weighted_sum",
]

Doubles: TypeAlias = NDArray[np.float64]
Sum: TypeAlias = tuple[tuple[int, tuple[int, ...]], ...]
"""A sum over a table: its columns by place, rising, each with the weights of its keys."""

_SLIGHT = 1e-9
"""Relative: far more than a few products and sums of doubles lose where nothing cancels out."""
_LOST = 1e-12
"""Of sums of sizes, and of their squares: more than sums of a few hundred doubles lose where much does."""


def released_coefficients(
    tables: ReleasedTables, terms: RegressionTerms
) -> list[tuple[float, float, float]] | None:
    """The constant and the coefficients that released tables hold, each with the ends of an interval that
    holds that of the exact rows, all at once with probability 95 % or more; None where the noise hides them.

    Where tables were chosen, the probability is 95 % for all that could have been.
    """
    sums, size = released_sums(tables, terms), len(terms.terms)
    each = {one: number for number, one in enumerate(dict.fromkeys(one for one, _ in sums))}
    index = np.zeros((size, size), dtype=np.int64)
    for (i, j, _, _), (one, _) in zip(terms.pairs(), sums, strict=True):
        index[i, j] = index[j, i] = each[one]
    scales = np.array([float(one.scale) for one in terms.terms])
    bounds = _Bounds.of(tables.plan, list(each), tables.among)
    found = _enclosed(terms.filled([own for _, own in sums]), index, scales, bounds)
    if found is None:
        return None
    named = zip(terms.named(found[0]), terms.widths(found[1]), strict=True)
    return [(float(value), float_down(value - width), float_up(value + width)) for value, width in named]


def released_sums(tables: ReleasedTables, terms: RegressionTerms) -> list[tuple[Sum, Fraction]]:
    """The sums of the terms in the order of `pairs`, and what the released tables say that each is."""
    workload, margins = tables.plan.workload, {}
    found = []
    for _, _, places, weights in terms.pairs():
        if places not in margins:
            margins[places] = margin_of(workload, tables.integers, places)
        top, bottom = margins[places]
        one = tuple((place, weights[place]) for place in places)
        found.append((one, Fraction(weighted_sum(top, one), bottom)))
    return found


def weighted_sum(table: object, weights: Sum) -> int:
    """Σ weight·cell over a table of whole numbers."""
    found = np.asarray(table, dtype=object)
    for _, own in reversed(weights):
        found = found @ np.array(own, dtype=object)
    return int(found)


def chi_square_point(freedom: int, tail: float) -> float:
    """No less than what χ² of so many degrees of freedom passes with probability `tail`.

    >>> round(chi_square_point(10, 0.05), 3)
    18.307
    """
    from scipy.special import chdtri

    return float(chdtri(freedom, tail)) * (1.0 + 1e-9)


class _Bounds:
    """How far the noise of any weighted sum of sums goes: all at once, with probability 95 % or more."""

    def __init__(self, covariance: Doubles, steps: Doubles, factor: float) -> None:
        self._covariance, self._steps, self._factor = covariance, steps, factor

    @classmethod
    def of(cls, plan: ResidualPlan, sums: Sequence[Sum], among: int) -> _Bounds:
        covariance = covariance_of_sums(plan, sums)
        steps = [variance_of(plan, tuple(i for i, _ in one), dict(one))[1] for one in sums]
        noisy = int((np.diag(covariance) > 0.0).sum())
        factor = math.sqrt(chi_square_point(max(noisy, 1), 0.05 / among)) * (1.0 + _SLIGHT)
        return cls(covariance, np.array([float_up(one) for one in steps]), factor)

    def __call__(self, weights: Doubles, sizes: Doubles) -> Doubles:
        """Of each row of weights; `sizes` are what these are sums of, without signs."""
        squares = ((weights @ self._covariance) * weights).sum(axis=1)
        lost = ((sizes @ np.abs(self._covariance)) * sizes).sum(axis=1)
        deviation = np.sqrt(np.maximum(squares, 0.0) + _LOST * lost)
        steps = (np.abs(weights) + _LOST * sizes) @ self._steps
        return np.asarray((self._factor * deviation + steps) * (1.0 + _SLIGHT))


def covariance_of_sums(plan: ResidualPlan, sums: Sequence[Sum]) -> Doubles:
    """The covariance of the noises of any two sums: over the tables that both hear of, the noise of each
    times the products of the weights along its columns."""
    bases, found = plan.workload.plain_bases, np.zeros((len(sums), len(sums)))
    spreads: list[Mapping[int, float]] = []
    rests: list[Mapping[int, Doubles]] = []
    for one in sums:
        along = {place: bases[place].along(weights) for place, weights in one}
        spreads.append({place: float(spread) for place, (spread, _) in along.items()})
        rests.append(
            {
                place: np.array(rest, dtype=np.float64) / float(bases[place].bottom)
                for place, (_, rest) in along.items()
            }
        )
    parts: dict[Places, list[int]] = {}
    for number, one in enumerate(sums):
        for part in margins_of_places(tuple(place for place, _ in one)):
            if part in plan.variances:
                parts.setdefault(part, []).append(number)
    for part, heard in parts.items():
        beside = np.array(
            [
                math.prod(own for place, own in spreads[number].items() if place not in part)
                for number in heard
            ]
        )
        shared = float(plan.noise(part)) * np.outer(beside, beside)
        for place in part:
            rows = np.array([rests[number][place] for number in heard])
            shared = shared * (rows @ rows.T)
        found[np.ix_(heard, heard)] += shared
    return found


def _enclosed(
    moments: Matrix, index: NDArray[np.int64], scales: Doubles, bounds: _Bounds
) -> tuple[list[Fraction], list[Fraction]] | None:
    """θ̃ and how far θ is from it, in each component; see the file."""
    last = len(moments) - 1
    matrix, right = [row[:last] for row in moments[:last]], [row[last] for row in moments[:last]]
    try:
        near = np.linalg.inv(np.array([[float(one) for one in row] for row in matrix]))
    except np.linalg.LinAlgError:
        return None
    proposed = near @ np.array([float(one) for one in right])
    if not (np.isfinite(near).all() and np.isfinite(proposed).all()):
        return None
    over = 1.0 / np.outer(scales, scales)
    count = int(index.max()) + 1

    def gathered(rows: Doubles) -> Doubles:
        """The weights of the sums in each entry of RE, and of Re at its last column."""
        return np.array(
            [
                [np.bincount(index[:last, j], row * over[:last, j], count) for j in range(last + 1)]
                for row in rows
            ]
        )

    weights, sizes = gathered(near), gathered(np.abs(near))
    theta_moves = np.einsum("ijs,j->is", weights[:, :last], proposed) - weights[:, last]
    theta_sizes = np.einsum("ijs,j->is", sizes[:, :last], np.abs(proposed)) + sizes[:, last]
    own_noise = bounds(theta_moves, theta_sizes).tolist()
    flat = (last * last, count)
    noise = bounds(weights[:, :last].reshape(flat), sizes[:, :last].reshape(flat)).reshape(last, last)
    inverse = [[Fraction(one) for one in row] for row in near.tolist()]
    theta = [Fraction(one) for one in proposed.tolist()]
    missed = [own - _dot(row, theta) for own, row in zip(right, matrix, strict=True)]
    columns = list(zip(*matrix, strict=True))
    least = [abs(_dot(row, missed)) + Fraction(own) for row, own in zip(inverse, own_noise, strict=True)]
    grown = [
        [abs(int(i == j) - _dot(inverse[i], columns[j])) + Fraction(noise[i, j]) for j in range(last)]
        for i in range(last)
    ]
    radius = contraction_radius(least, grown)
    return None if radius is None else (theta, radius)


def _dot(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0))
