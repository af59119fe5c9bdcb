"""One use of the broken wifi: a count of a predicate on one person's bit, behind discrete Laplace noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leakcap.errors import require
from leakcap.numeric import binary_entropy
from leakcap.numeric.logspace import Floats
from leakcap.numeric.search import bisect

__all__ = ["Use", "use_of_capacity"]


@dataclass(frozen=True)
class Use:
    """What one noisy count tells about one bit, everybody else's contribution known.

    The noise is P(z) ∝ e^{−η|z|}, η = `decay` = 1/scale. Of the answer only its side matters: the log
    likelihood ratio of bit 1 against bit 0 is η(|z| − |z − 1|) = ±η, so that a use is a binary symmetric
    channel with crossover 1/(1+e^η).

    >>> use = Use(1.0)
    >>> round(use.capacity, 10), [float(x) for x in use.ratios([-3, 0, 1, 9])]
    (0.1109440717, [-1.0, -1.0, 1.0, 1.0])
    """

    decay: float

    def __post_init__(self) -> None:
        require(0.0 < self.decay <= 700.0, "decay", "Use", "be positive and at most 700", self.decay)

    @property
    def crossover(self) -> float:
        """The probability that the answer points to the wrong bit."""
        return 1.0 / (1.0 + math.exp(self.decay))

    @property
    def capacity(self) -> float:
        """ln 2 − h(crossover), nats a use: the exact MI-DP of the count."""
        t = math.tanh(self.decay / 2.0)
        if t < 0.1:  # ½((1+t)ln(1+t) + (1−t)ln(1−t)) as a series, where the difference would cancel
            return math.fsum(t ** (2 * j) / (2 * j * (2 * j - 1)) for j in range(1, 12))
        return math.log(2.0) - binary_entropy(self.crossover)

    @property
    def dispersion(self) -> float:
        """p(1−p) η², nats² a use: the variance of the information density.

        Source: Polyanskiy, Poor & Verdú 2010.
        """
        return self.crossover * (1.0 - self.crossover) * self.decay**2

    def ratios(self, answers: ArrayLike, others: int = 0) -> Floats:
        """ln P(answer|bit 1)/P(answer|bit 0), exactly, when the others contribute `others` to the count."""
        z = np.asarray(answers, dtype=np.float64) - others
        return np.asarray(np.where(z >= 1.0, self.decay, -self.decay))


def use_of_capacity(bits: float) -> Use:
    """The use whose capacity is so many bits.

    >>> round(use_of_capacity(0.02).crossover, 4)
    0.4169
    """
    require(0.0 < bits < 1.0, "bits", "use_of_capacity", "lie strictly between 0 and 1", bits)
    nats = bits * math.log(2.0)
    return Use(bisect(lambda decay: Use(decay).capacity - nats, 1e-9, 60.0))
