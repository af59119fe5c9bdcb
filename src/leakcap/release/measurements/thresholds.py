"""Groups whose keys are not public: a group appears only where its noisy number of people is large.

Each group of the data gets Z people more, Z discrete Laplace of scale b; with s = e^(−1/b) a group of one
person reaches τ ≥ 2 with probability p = P(1 + Z ≥ τ) = s^(τ−1)/(1 + s). One without people never appears.

**δ.** One person is alone in m groups at most, m the groups that they may be in. None of j groups that are
theirs alone appears with probability (1 − p)^j. Put the event that one appears into δ. On its complement the
tables differ in common groups only, by m − j people (2m − j − j′ under replace-one), and the odds are within
(1 − p)^(±j)·e^((m−j)/b), which e^(m/b) covers as long as 1 − p ≥ s. So with ε = m/b (2m/b) exactly

    δ = 1 − (1 − p)^m

under both relations: what appears with that probability has probability 0 without the person. Sums beside the
count have noise and ε of their own, and are seen only in groups that appear.

**Nats.** The answer is what groups of others show and, independently of it given the person's data, which
groups that are the person's alone appear. The first is pure. The second names j of at most m keys, each with
probability p out of M possible ones; against everybody else's guess, m keys drawn at random that each appear
with probability p, it is worth at most (m − j)·(−ln(1 − p)) + j·p·ln M. So with M finite

    nats about a person ≤ (those of the pure noise) + m·max(p·ln M, −ln(1 − p)).

See `docs/statistics.md` for both proofs.

Source: Korolova, Kenthapadi, Mishra & Ntoulas 2009, theorem 1, for the idea; the law is that of our noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from leakcap.arrays import NDArray, np
from leakcap.bound import Bound
from leakcap.ledger.implied import tight_mutual_information
from leakcap.numeric import float_up, up
from leakcap.release.measurements.measurement import Measurement, NoisyMeasurement
from leakcap.release.numbers.exact_integers import ExactIntegers

__all__ = ["ThresholdMeasurement", "appearing", "delta_of", "threshold_for"]


@dataclass(frozen=True, kw_only=True)
class ThresholdMeasurement(NoisyMeasurement):
    """The noisy number of people of each group, and from which number on a group is released."""

    kept: ClassVar[bool] = False

    threshold: int
    groups: int
    log_keys: float

    @property
    def delta(self) -> Fraction:
        """The probability that a group of one person alone appears, over all groups of a person."""
        return Fraction(delta_of(self.scale, self.threshold, self.groups))

    def curve(self) -> tuple[float, ...]:
        """What its ε allows: but for the event of probability δ it is pure, and no more is known of it."""
        return Measurement.curve(self)

    def capacity(self) -> Bound:
        """What the noise tells, and with a probability of δ together the keys that are nobody else's."""
        alone = _alone(float(1 / self.scale), self.threshold)
        own = up(self.groups * max(alone * self.log_keys, -math.log1p(-alone)), 16)
        noise = tight_mutual_information(float_up(Fraction(self.contents) / self.scale))
        method = "any noise of this ε, and own keys by erasure"
        return Bound(0.0, up(noise + own), method=method, source="Cuff & Yu 2016")

    def table_nats(self, units: int) -> float:
        """No bound worth stating: large groups name themselves, and a key may be a long text."""
        return math.inf

    def appears(self, noisy: ExactIntegers) -> NDArray[np.bool_]:
        """Whether a group of the data is released."""
        return np.asarray(noisy >= self.threshold, dtype=bool)


def delta_of(scale: Fraction, threshold: int, groups: int) -> float:
    """1 − (1 − s^(τ−1)/(1+s))^groups, s = e^(−1/scale), rounded up; for thresholds of two and more.

    >>> round(delta_of(Fraction(1), 20, 1), 12)
    4.096e-09
    """
    decay = float(1 / scale)
    found = up(-math.expm1(groups * math.log1p(-_alone(decay, threshold))), 16)
    return max(found, math.ulp(0.0))  # it may be too small for a double, and is never nothing


def threshold_for(scale: Fraction, delta: float, groups: int) -> int:
    """The smallest threshold whose δ is at most `delta`, and for which no odds are beyond ε.

    >>> threshold_for(Fraction(1), 1e-6, 1)
    15
    """
    decay = float(1 / scale)

    def keeps(threshold: int) -> bool:
        return delta_of(scale, threshold, groups) <= delta and _alone(decay, threshold) <= -math.expm1(-decay)

    alone = min(-math.expm1(math.log1p(-delta) / groups), -math.expm1(-decay))
    found = 1 + math.ceil(-(math.log(alone) + math.log1p(math.exp(-decay))) / decay)
    # Rounding moves it by a hair, which at a large scale is many thresholds: halved, not counted.
    low = max(1, found - 2)
    high = low + 1
    while not keeps(high):
        low, high = high, high + 2 * (high - low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def _alone(decay: float, threshold: int) -> float:
    """P(1 + Z ≥ τ), rounded up: one person's own group appears."""
    return up(math.exp(-(threshold - 1) * decay * (1 - 1e-14)) / (1.0 + math.exp(-decay)), 16)


def appearing(parts: Sequence[Measurement], noisy: Sequence[ExactIntegers]) -> NDArray[np.bool_]:
    """Which of the groups are released."""
    each = [part.appears(numbers) for part, numbers in zip(parts, noisy, strict=True)]
    return np.asarray(np.all(each, axis=0), dtype=bool)
