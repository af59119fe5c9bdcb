"""Small trees as matrices of exact rationals: the second route to the fit, its covariance and its
rounding."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction

from leakcap.tables.hierarchies import Hierarchy

Rows = list[list[Fraction]]


def members(tree: Hierarchy, level: int) -> list[list[int]]:
    """For each node of a level which leaves stand under it, by 0 and 1, by walking up from each leaf."""
    found = [[0] * tree.sizes[-1] for _ in range(tree.sizes[level])]
    for leaf in range(tree.sizes[-1]):
        place = leaf
        for above in range(len(tree.levels) - 1, level, -1):
            place = int(tree.parents[above][place])
        found[place][leaf] = 1
    return found


def solve(matrix: Rows, right: Rows) -> Rows:
    """Gauss and Jordan, with exact fractions."""
    size = len(matrix)
    work = [list(map(Fraction, [*row, *beside])) for row, beside in zip(matrix, right, strict=True)]
    for i in range(size):
        pivot = next(j for j in range(i, size) if work[j][i])
        work[i], work[pivot] = work[pivot], work[i]
        work[i] = [one / work[i][i] for one in work[i]]
        for j in range(size):
            if j != i and work[j][i]:
                factor = work[j][i]
                work[j] = [a - factor * b for a, b in zip(work[j], work[i], strict=True)]
    return [row[size:] for row in work]


def fitted(
    tree: Hierarchy,
    noisy: Sequence[Sequence[int] | None],
    variances: Sequence[Fraction | None],
    exact: Sequence[Mapping[int, int]],
) -> tuple[list[Fraction], Rows]:
    """The generalised least squares estimates of the leaves and their covariance, by Lagrange's equations.

    Minimise Σ (y − a·x)²/σ² over the noisy nodes under a·x = known for the exact ones: [N Cᵀ; C 0].
    """
    leaves = tree.sizes[-1]
    normal = [[Fraction(0)] * leaves for _ in range(leaves)]
    right = [Fraction(0)] * leaves
    bound: list[tuple[list[int], int]] = []
    for level, (heard, variance) in enumerate(zip(noisy, variances, strict=True)):
        for place, row in enumerate(members(tree, level)):
            if place in exact[level]:
                bound.append((row, exact[level][place]))
            elif heard is not None and variance is not None:
                for i, j in itertools.product(range(leaves), repeat=2):
                    normal[i][j] += Fraction(row[i] * row[j]) / variance
                for i in range(leaves):
                    right[i] += Fraction(row[i] * heard[place]) / variance
    kept = independent([row for row, _ in bound])
    bound = [bound[i] for i in kept]
    size = leaves + len(bound)
    whole = [[Fraction(0)] * size for _ in range(size)]
    for i in range(leaves):
        whole[i][:leaves] = normal[i]
        for k, (row, _) in enumerate(bound):
            whole[i][leaves + k] = whole[leaves + k][i] = Fraction(row[i])
    identity = [[Fraction(int(i == j)) for j in range(leaves)] for i in range(size)]
    sides = [[right[i] if i < leaves else Fraction(bound[i - leaves][1]), *identity[i]] for i in range(size)]
    found = solve(whole, sides)
    # The block of the inverse on the leaves is the covariance of the estimates.
    return [row[0] for row in found[:leaves]], [row[1:] for row in found[:leaves]]


def independent(rows: Sequence[Sequence[int]]) -> list[int]:
    """The first rows that no earlier ones make up."""
    kept: list[int] = []
    basis: list[list[Fraction]] = []
    for number, row in enumerate(rows):
        left = list(map(Fraction, row))
        for one in basis:
            lead = next(i for i, x in enumerate(one) if x)
            left = [a - left[lead] / one[lead] * b for a, b in zip(left, one, strict=True)]
        if any(left):
            basis.append(left)
            kept.append(number)
    return kept


def nearest(
    total: int, estimates: Sequence[Fraction], weights: Sequence[Fraction], limits: Sequence[tuple[int, int]]
) -> Fraction:
    """The least Σ (n − x)²·w over whole n within the limits that add up to the total, by trying all."""
    ways = itertools.product(*(range(low, high + 1) for low, high in limits))
    return min(distance(n, estimates, weights) for n in ways if sum(n) == total)


def distance(found: Sequence[int], estimates: Sequence[Fraction], weights: Sequence[Fraction]) -> Fraction:
    return sum(((n - x) ** 2 * w for n, x, w in zip(found, estimates, weights, strict=True)), Fraction(0))
