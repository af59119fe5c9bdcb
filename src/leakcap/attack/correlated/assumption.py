"""An entropy floor on what an adversary knows of a whole table of binary records, whose noisy count is seen.

Wu, Xia & He assume H(X₁, …, X_n) ≥ b and nothing else, so that records may depend on each other. Of a belief
only w(x, t) = P(X = x, the others add up to t) matters, and the largest entropy of a belief with this w is
n ln 2 − KL(w ‖ u), where u is w of the uniform belief. So H ≥ b is KL(w ‖ u) ≤ c, c = n ln 2 − b.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leakcap.attack.correlated.record import output_law
from leakcap.attack.correlated.sums import binomial
from leakcap.attack.value import Finding, raised
from leakcap.capacities import geometric_capacity
from leakcap.errors import require
from leakcap.numeric import xlogx
from leakcap.numeric.logspace import Floats, logsumexp
from leakcap.numeric.search import bisect, maximise

__all__ = ["Floored", "floor_curve", "under_entropy_floor"]

_MOST = 1000
_STEPS = 60


@dataclass(frozen=True, kw_only=True)
class Floored(Finding):
    """got = I(X;Y) of a belief of entropy ≥ `floor`, found by ascent; at_most holds for every such belief.

    `missing` = n ln 2 − floor, what the adversary is allowed to know of the table; `independent_cap` is the
    MI-DP of the count, which this adversary exceeds where records may depend on each other.
    """

    records: int
    epsilon: float
    floor: float
    missing: float
    independent_cap: float


def under_entropy_floor(records: int, floor: float, epsilon: float) -> Floored:
    """What a noisy count of n binary records tells about one, if H(table) ≥ `floor` and no more is known.

    The lower end: I(X;Y) is convex in w where P(X = 1) = ½, so that each step to the best tilt
    w ∝ u·e^{λ·gradient} climbs; two starts. The upper end: I(X;Y) ≤ KL(P_XY ‖ u_X × u_Y) ≤ c + E_w[i_u], and
    that mean by Donsker and Varadhan. Both are I(X;Y) of independent fair coins at floor n ln 2; up to floor
    ln 2 all records may be equal.
    Source: Wu, Xia & He 2017, assumption 1; the bounds are this project's.

    >>> [round(point.got, 4) for point in floor_curve(20, [0.0, 13.5, 20 * math.log(2.0)], 1.0)]
    [0.6931, 0.3552, 0.0187]
    """
    owner = "under_entropy_floor"
    whole = isinstance(records, int) and 2 <= records <= _MOST
    require(whole, "records", owner, f"be an integer from 2 to {_MOST}", records)
    top = records * math.log(2.0)
    require(0.0 <= floor <= top * (1 + 1e-12), "floor", owner, "lie between 0 and n ln 2", floor)
    require(0.0 < epsilon <= 100.0, "epsilon", owner, "be positive and at most 100", epsilon)
    scene, missing = _Scene(records, epsilon), max(top - floor, 0.0)
    free = missing == 0.0  # only the uniform belief is left
    return Floored(
        attack="an entropy floor on the table",
        got=scene.bound(0.0) if free else max(scene.climb(w, missing) for w in scene.starts(missing)),
        at_most=raised(
            min(
                scene.bound(missing + (0.0 if free else records * 1e-14)),
                math.log(2.0),
                geometric_capacity(records, epsilon).upper,
            )
        ),
        unit="nats",
        stopped_by="the cap on nats of the table; no cap on a person where records may depend on each other",
        records=records,
        epsilon=epsilon,
        floor=floor,
        missing=missing,
        independent_cap=geometric_capacity(1, epsilon).upper,
    )


def floor_curve(records: int, floors: Sequence[float], epsilon: float) -> tuple[Floored, ...]:
    """`under_entropy_floor` for each floor. Data for a plot.

    >>> [point.records for point in floor_curve(5, [0.0, 3.0], 1.0)]
    [5, 5]
    """
    return tuple(under_entropy_floor(records, floor, epsilon) for floor in floors)


class _Scene:
    """Beliefs w(x, t) as arrays (2, n): the uniform one, what the count tells under one, and its slope."""

    def __init__(self, records: int, epsilon: float) -> None:
        self.n = records
        self.uniform = np.tile(binomial(records - 1, 0.5) / 2.0, (2, 1))
        self.noise = output_law(np.eye(records + 1), epsilon)

    def rows(self, w: Floats) -> Floats:
        """P(X = x, Y = y)."""
        return np.stack([w[0] @ self.noise[:-1], w[1] @ self.noise[1:]])

    def slope(self, w: Floats) -> Floats:
        """E[ln P(x,y)/(P(x)P(y)) | x, t], whose mean under w is I(X;Y)."""
        joint = self.rows(w)
        told = np.log(joint / (joint.sum(axis=1)[:, None] * joint.sum(axis=0)))
        return np.stack([self.noise[:-1] @ told[0], self.noise[1:] @ told[1]])

    def information(self, w: Floats) -> float:
        """I(X;Y)."""
        return float((w * self.slope(w)).sum())

    def away(self, w: Floats) -> float:
        """KL(w ‖ u) = n ln 2 − the largest entropy of a belief with this w."""
        return float((xlogx(w) - w * np.log(self.uniform)).sum())

    def tilt(self, direction: Floats, missing: float) -> Floats:
        """u·e^{λ·direction} with the largest λ that keeps KL(w ‖ u) ≤ missing; 10⁶ stands for ∞."""
        log, spread = np.log(self.uniform), float(np.ptp(direction))
        unit = (direction - direction.max()) / spread if spread > 0.0 else np.zeros_like(direction)

        def at(strength: float) -> Floats:
            weights = log + strength * unit
            return np.asarray(np.exp(weights - logsumexp(weights)))

        if self.away(at(1e6)) <= missing:
            return at(1e6)
        found = bisect(lambda strength: self.away(at(strength)) - missing, 0.0, 1e6)
        return at(found * (1.0 - 1e-12))

    def starts(self, missing: float) -> tuple[Floats, Floats]:
        """The others lean to X's side; or, with a probability as large as allowed, all are equal."""
        sides = (
            np.stack([-np.arange(self.n), np.arange(self.n)]) - np.array([[-(self.n - 1)], [self.n - 1]]) / 2
        )
        equal = np.zeros_like(self.uniform)
        equal[0, 0] = equal[1, -1] = 0.5

        def mixed(share: float) -> Floats:
            return np.asarray((1.0 - share) * self.uniform + share * equal)

        if self.away(equal) <= missing * (1 + 1e-12):
            return self.tilt(sides, missing), equal
        share = bisect(lambda s: self.away(mixed(s)) - missing, 0.0, 1.0) if missing > 0.0 else 0.0
        return self.tilt(sides, missing), mixed(share * (1.0 - 1e-12))

    def climb(self, w: Floats, missing: float) -> float:
        """I(X;Y) at the end of the ascent from w."""
        told = self.information(w)
        for _ in range(_STEPS):
            w = self.tilt(self.slope(w), missing)
            if (more := self.information(w)) <= told * (1.0 + 1e-10):
                return max(told, more)
            told = more
        return told

    def bound(self, missing: float) -> float:
        """missing + inf over λ of (missing + ln E_u e^{λ i})/λ, i the slope at u."""
        slope, log = self.slope(self.uniform), np.log(self.uniform)
        if missing == 0.0:
            return float((self.uniform * slope).sum())

        def dual(log_strength: float) -> float:
            strength = math.exp(log_strength)
            return (missing + float(logsumexp(log + strength * slope))) / strength

        return missing + dual(maximise(lambda s: -dual(s), -30.0, 30.0))
