"""The lecture's private linear regression, kept to show that it is not private. It releases nothing.

The lecture bounds how far the constrained least-squares minimiser moves by 2(Nk + PM²√k)/n. Two steps of the
proof fail: least squares is not 1-strongly convex (its curvature is XᵀX/n, which may be 0), and ‖y·x‖ is at
most NM, not N√k. `neighbouring_tables` moves the minimiser a thousand times further than the bound allows.

Instead: `LinearRegression` (noisy second moments), or `RidgeRegression` with λ-strong convexity, where the
minimiser moves by at most 2M(N+PM)/(nλ).
Source: Tu 2013, theorem 6, against Chaudhuri, Monteleoni & Sarwate 2011, lemma 7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from leakcap.errors import InvalidQuery, require
from leakcap.models.values import Floats

__all__ = ["LectureTable", "lecture_bound", "minimiser", "neighbouring_tables", "release", "ridge_bound"]


@dataclass(frozen=True)
class LectureTable:
    """A table of the lecture with one feature: |x| ≤ M and |y| ≤ N, each of shape (n,)."""

    x: Floats
    y: Floats


def lecture_bound(*, k: int, n: int, M: float, N: float, P: float) -> float:
    """2(Nk + PM²√k)/n, which the lecture claims to bound the L1 move of the minimiser. It does not.

    >>> round(lecture_bound(k=1, n=1000, M=0.01, N=1.0, P=1.0), 7)
    0.0020002
    """
    require(n >= 1 and k >= 1, "n", "lecture_bound", "be at least 1, and k too", n)
    return 2.0 * (N * k + P * M**2 * math.sqrt(k)) / n


def ridge_bound(*, n: int, M: float, N: float, P: float, ridge: float) -> float:
    """2M(N + PM)/(nλ): how far, in L2, the minimiser of a λ-strongly convex objective moves.

    Source: Chaudhuri, Monteleoni & Sarwate 2011, lemma 7 and corollary 8.

    >>> round(ridge_bound(n=1000, M=0.01, N=1.0, P=1.0, ridge=0.1), 9)
    0.000202
    """
    require(ridge > 0, "ridge", "ridge_bound", "be positive", ridge)
    return 2.0 * M * (N + P * M) / (n * ridge)


def minimiser(table: LectureTable, *, P: float, ridge: float = 0.0) -> float:
    """argmin over |θ| ≤ P of Σ(y − θx)²/(2n) + λθ²/2, for one feature: a quotient, clamped.

    >>> minimiser(LectureTable(np.array([1.0]), np.array([3.0])), P=2.0)
    2.0
    """
    x, y = table.x, table.y
    quotient: float = float(x @ y) / (float(x @ x) + ridge * x.size)
    return min(max(quotient, -P), P)


def neighbouring_tables(n: int = 1000) -> tuple[LectureTable, LectureTable]:
    """Tables that differ in one row of n, with M = 0.01, N = P = k = 1: their minimisers are 2 apart.

    >>> one, other = neighbouring_tables()
    >>> minimiser(one, P=1.0) - minimiser(other, P=1.0)
    2.0
    """
    x = np.zeros(n)
    x[0] = 0.01
    one, other = np.zeros(n), np.zeros(n)
    one[0], other[0] = 1.0, -1.0
    return LectureTable(x, one), LectureTable(x, other)


def release(table: LectureTable, *, epsilon: float, P: float) -> NoReturn:
    """Always refuses: noise of the lecture's scale protects nobody.

    >>> release(neighbouring_tables()[0], epsilon=1.0, P=1.0)
    Traceback (most recent call last):
    leakcap.errors.InvalidQuery: `release` of `leakcap.models.lecture` is a demonstration...
    """
    raise InvalidQuery(
        "`release` of `leakcap.models.lecture` is a demonstration and releases nothing: its "
        "sensitivity bound is wrong. Use `LinearRegression` or `RidgeRegression`."
    )
