"""The lecture's private regression attacked: its sensitivity bound is a thousand times too small."""

from __future__ import annotations

import math
from dataclasses import dataclass

from leakcap.attack.value import Finding, raised
from leakcap.definition.meaning import posterior_bound
from leakcap.errors import require
from leakcap.models.lecture import lecture_bound, minimiser, neighbouring_tables, ridge_bound

__all__ = ["Misjudged", "lecture_regression", "ridge_regression"]

_M, _N, _P = 0.01, 1.0, 1.0


@dataclass(frozen=True, kw_only=True)
class Misjudged(Finding):
    """got = best success at telling two neighbouring tables apart by the noisy minimiser, at even odds.

    at_most = A/(A+1) for the ε that was promised; `claimed` is the sensitivity that the noise was made for,
    `moved` how far the minimiser really moves, `epsilon_really` = ε·moved/claimed.
    """

    people: int
    epsilon: float
    claimed: float
    moved: float
    epsilon_really: float


def lecture_regression(epsilon: float, *, people: int = 1000) -> Misjudged:
    """Tell one row apart by least squares behind Laplace noise of the lecture's 2(Nk + PM²√k)/n over ε.

    One feature, |x| ≤ 0.01, |y| ≤ 1, |θ| ≤ 1; all features are zero but one person's. The distance of two
    Laplace laws is 1 − e^{−ε·moved/(2·claimed)}. Source: Tu 2013, theorem 6, which does not hold.

    >>> found = lecture_regression(0.1)
    >>> round(found.moved, 9), found.got > 0.999999, round(found.at_most, 3), round(found.epsilon_really)
    (2.0, True, 0.525, 100)
    """
    claimed = lecture_bound(k=1, n=people, M=_M, N=_N, P=_P)
    return _found(
        epsilon, people, claimed, 0.0, "a sensitivity that is proved: `LinearRegression`, `RidgeRegression`"
    )


def ridge_regression(epsilon: float, *, people: int = 1000, ridge: float = 0.1) -> Misjudged:
    """The same attack where the objective is λ-strongly convex and the noise made for 2M(N + PM)/(nλ).

    Source: Chaudhuri, Monteleoni & Sarwate 2011, lemma 7.

    >>> found = ridge_regression(0.1)
    >>> found.got < found.at_most, found.moved < found.claimed
    (True, True)
    """
    claimed = ridge_bound(n=people, M=_M, N=_N, P=_P, ridge=ridge)
    return _found(epsilon, people, claimed, ridge, "noise for the sensitivity of a strongly convex objective")


def _found(epsilon: float, people: int, claimed: float, ridge: float, guard: str) -> Misjudged:
    require(0.0 < epsilon <= 700.0, "epsilon", "lecture_regression", "be positive and at most 700", epsilon)
    require(people >= 1, "people", "lecture_regression", "be at least 1", people)
    one, other = (minimiser(table, P=_P, ridge=ridge) for table in neighbouring_tables(people))
    moved = abs(one - other)
    return Misjudged(
        attack="the lecture's regression" if ridge == 0.0 else "ridge regression",
        got=1.0 - 0.5 * math.exp(-epsilon * moved / (2.0 * claimed)),
        at_most=raised(posterior_bound(epsilon, 0.5), 1.0),
        unit="probability",
        stopped_by=guard,
        people=people,
        epsilon=epsilon,
        claimed=claimed,
        moved=moved,
        epsilon_really=epsilon * moved / claimed,
    )
