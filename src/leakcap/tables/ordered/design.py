"""The best strategy for ranges or prefixes of one column, in whole numbers.

A strategy is a matrix A; its answers Ax get equal noise, a row moves them by a column of A, and the wanted
answers W err by tr(G(AᵀA)⁻¹) where all columns are of length 1, G = WᵀW. With X = AᵀA: the least
tr(GX⁻¹) among all X with no more than 1 on the diagonal. By duality it is the largest (tr√(ΛGΛ))² over
diagonal Λ² of trace 1, where X = Λ⁻¹√(ΛGΛ)Λ⁻¹: each step multiplies Λ² by the diagonal of X. A few steps,
with the diagonal brought to 1 at the end, are within a few thousandths of the optimum, which `certified`
proves.

X is split into the total and the rest: with 1/a = 1ᵀX⁻¹1 the matrix X − a·11ᵀ is singular, so that X is
the strategy of the total, at weight a, and of Ξ with ΞᵀΞ = X − a·11ᵀ, one row fewer than keys. Ξ is
triangular (Cholesky) and rounded to whole numbers.

Source: Yuan, Yang, Zhang & Hao 2016 (convex optimisation of strategies); Li & Miklau 2013 for the dual.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import InvalidParameter
from leakcap.tables.ordered.dense import Matrix, inverted, root

__all__ = ["MOST_ORDERED", "Kind", "designed", "gram_of"]

Kind: TypeAlias = Literal["ranges", "prefixes"]

MOST_ORDERED = 400
"""Keys of a column that is asked as ranges or prefixes: more than the days of a year."""
_STEPS = 4


def gram_of(kind: Kind, size: int) -> NDArray[np.int64]:
    """WᵀW of all ranges of keys that follow each other, or of all prefixes: how many hold both keys.

    >>> gram_of("ranges", 3).tolist()
    [[3, 2, 1], [2, 4, 2], [1, 2, 3]]
    >>> gram_of("prefixes", 3).tolist()
    [[3, 2, 1], [2, 2, 1], [1, 1, 1]]
    """
    place = np.arange(1, size + 1)
    after = size + 1 - np.maximum.outer(place, place)
    return np.asarray(np.minimum.outer(place, place) * after if kind == "ranges" else after, dtype=np.int64)


@lru_cache(maxsize=64)
def designed(kind: Kind, size: int, scale: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ξ, upper triangular with one column more than rows, of columns of length `scale` or so; and the
    dual's Λ in whole numbers of any scale.

    >>> matrix, weights = designed("prefixes", 4, 1024)
    >>> matrix.shape, len(weights), bool((np.triu(matrix) == matrix).all())
    ((3, 4), 4, True)
    """
    gram = np.asarray(gram_of(kind, size), dtype=np.float64)
    weights, diagonal = np.full(size, math.sqrt(1.0 / size)), np.ones(size)
    for _ in range(_STEPS):
        weights = weights * np.sqrt(diagonal)
        weights = weights / math.sqrt(math.fsum((weights * weights).tolist()))
        strategy = root(weights[:, None] * gram * weights) / weights[:, None] / weights
        diagonal = strategy.diagonal().copy()
    apart = 1.0 / np.sqrt(diagonal)
    strategy = apart[:, None] * strategy * apart
    total = 1.0 / math.fsum(inverted(strategy).ravel().tolist())
    matrix = np.rint(_triangle(strategy - total) * scale).astype(np.int64)
    if not bool((matrix.diagonal() > 0).all()):
        raise InvalidParameter(
            f"`{kind}` must be of a column whose strategy has whole numbers. Got {size} keys. "
            "Ask for its cells."
        )
    for fixed in (matrix, whole := np.rint(weights * 2.0**20).astype(np.int64)):
        fixed.setflags(write=False)
    return matrix, whole


def _triangle(gram: Matrix) -> Matrix:
    """R with RᵀR = gram, whose rank is one less than its size."""
    left, size = gram.copy(), len(gram)
    found = np.zeros((size - 1, size))
    for k in range(size - 1):
        found[k, k:] = left[k, k:] / math.sqrt(left[k, k])
        left -= found[k][:, None] * found[k]
    return found
