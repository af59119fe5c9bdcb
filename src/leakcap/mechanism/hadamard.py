"""Hadamard response."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.channel import Channel
from leakcap.divergence import Renyi
from leakcap.errors import require
from leakcap.mechanism.base import Laws, Mechanism, Outputs, as_secrets, require_entries, require_epsilon
from leakcap.mechanism.coins import accept
from leakcap.numeric.enclosure import Digits
from leakcap.sampling import ByteSource, system_bytes, uniform_below
from leakcap.sampling.rational import printed

__all__ = ["HadamardResponse"]


@dataclass(frozen=True)
class HadamardResponse(Mechanism):
    """One of K outputs, those in the secret's half of them e^ε times as likely as the others.

    K is the first power of two above k; the half of secret x is where row x+1 of Sylvester's Hadamard matrix
    is +1. Output 0 lies in every half. Source: Acharya, Sun & Zhang 2019.

    >>> HadamardResponse(3, math.log(3)).channel().matrix[0].round(12).tolist()
    [0.375, 0.125, 0.375, 0.125]
    """

    k: int
    epsilon: float

    source: ClassVar[str] = "Acharya, Sun & Zhang 2019"

    def __post_init__(self) -> None:
        require(2 <= self.k < 1 << 40, "k", "HadamardResponse", "be at least 2 (and below 2**40)", self.k)
        require_epsilon(self.epsilon, "HadamardResponse")

    @property
    def outputs(self) -> int:
        """K, the first power of two above k."""
        return 1 << self.k.bit_length()

    def channel(self) -> Channel:
        """The k×K matrix of shape (x, y)."""
        require_entries(self.k, self.outputs, "HadamardResponse")
        s = math.exp(-self.epsilon)
        outside = _outside(np.arange(self.k)[:, None], np.arange(self.outputs))
        return Channel(np.where(outside, s, 1.0) * 2.0 / (self.outputs * (1.0 + s)))

    def claim(self) -> float:
        """ε, attained."""
        return self.epsilon

    def farthest(self, digits: Digits) -> Laws:
        """Two rows: they disagree on half the outputs, either way on a quarter."""
        s, half = digits.of(-self.epsilon).exp(), digits.of(0.5)
        inside, outside = half / (1 + s), half * s / (1 + s)
        return Laws((inside, outside, half), (outside, inside, half))

    def central(self, order: Renyi, digits: Digits) -> Laws | None:
        """For k = K−1 any two secrets, and any two outputs but 0, are alike; None for other k."""
        k, half = self.k, self.outputs // 2
        if k != self.outputs - 1:
            return None
        s, other = digits.of(-self.epsilon).exp(), digits.of(1)
        if not math.isinf(order.alpha):
            alpha = digits.of(order.alpha)
            other = (((s.log() * alpha).exp() * half + (half - 1)) / k).power(1 / alpha)
        row = digits.of(1), digits.of(half - 1), s * half
        centre = digits.of(1), other * (half - 1), other * half
        return Laws(
            tuple(mass / digits.sum(row) for mass in row), tuple(mass / digits.sum(centre) for mass in centre)
        )

    def best_prior(self) -> object:
        """The uniform one."""
        return (1.0 / self.k,) * self.k

    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> Outputs:
        """Exact: a uniform output is kept in the secret's half, else with probability e^−ε, else redrawn."""
        x = as_secrets(secrets, 0, self.k - 1, "HadamardResponse.sample")
        return accept(
            x.size,
            lambda index: uniform_below(self.outputs, index.size, source),
            lambda index, y: _outside(x[index], y).astype(np.int64),
            printed(self.epsilon),
            source,
        )

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Full (k = K−1) and not, small and larger."""
        return tuple(cls(k, e) for k, e in ((2, 1.0), (3, 0.5), (4, 4.0), (7, 2.0), (15, 0.1)))


def _outside(x: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the entry of the Hadamard matrix at (x+1, y) is −1: x+1 and y share an odd number of ones."""
    shared = (x + 1) & y
    for shift in (32, 16, 8, 4, 2, 1):
        shared = shared ^ (shared >> shift)
    return np.asarray((shared & 1).astype(np.bool_))
