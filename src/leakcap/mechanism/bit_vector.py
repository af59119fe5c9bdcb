"""Unary encoding with noisy bits: RAPPOR's permanent response and optimised unary encoding."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from leakcap.bound import Bound
from leakcap.channel import Channel
from leakcap.divergence import Renyi
from leakcap.errors import InvalidParameter, require
from leakcap.mechanism.base import Laws, Mechanism, Outputs, as_secrets, require_epsilon
from leakcap.mechanism.coins import logistic_coins
from leakcap.numeric.enclosure import Digits, Interval
from leakcap.sampling import ByteSource, system_bytes
from leakcap.sampling.rational import printed

__all__ = ["BitVector"]

_MAX_BITS = 16


@dataclass(frozen=True)
class BitVector(Mechanism):
    """One bit a value, the true one's set, every bit then flipped at random on its own.

    Symmetric (RAPPOR): each bit is kept with probability e^(ε/2)/(e^(ε/2)+1). Optimised: the set bit is kept
    with probability ½, a clear bit set with 1/(e^ε+1).
    Source: Erlingsson, Pihur & Korolova 2014; Wang, Blocki, Li & Jha 2017.

    >>> BitVector(2, 2 * math.log(3)).channel().matrix[0].tolist()
    [0.1875, 0.0625, 0.5625, 0.1875]
    """

    k: int
    epsilon: float
    optimised: bool = False

    source: ClassVar[str] = "Erlingsson, Pihur & Korolova 2014; Wang, Blocki, Li & Jha 2017"

    def __post_init__(self) -> None:
        require(2 <= self.k <= 4096, "k", "BitVector", "be from 2 to 4096", self.k)
        require_epsilon(self.epsilon, "BitVector")

    @classmethod
    def rappor(cls, k: int, f: float) -> Self:
        """RAPPOR's permanent randomised response with parameter f: ε = 2 ln((2−f)/f).

        >>> round(BitVector.rappor(4, 0.5).epsilon, 12) == round(2 * math.log(3), 12)
        True
        """
        require(0 < f < 1, "f", "BitVector.rappor", "lie between 0 and 1", f)
        return cls(k, 2.0 * math.log((2.0 - f) / f))

    def _flips(self) -> tuple[float, float]:
        """Probabilities that the set bit is cleared and that a clear bit is set."""
        half = 1.0 / (1.0 + math.exp(self.epsilon / 2))
        return (0.5, 1.0 / (1.0 + math.exp(self.epsilon))) if self.optimised else (half, half)

    def channel(self) -> Channel:
        """The k×2^k matrix; outputs are tuples of bits. Raises beyond 16 bits."""
        if self.k > _MAX_BITS:
            raise InvalidParameter(
                f"`k` of `BitVector` must be at most {_MAX_BITS} for a matrix of 2^k outputs. Got {self.k}. "
                "Ask `capacity`, whose closed forms need no matrix."
            )
        clear, flip = self._flips()
        bits = list(product((0, 1), repeat=self.k))
        shown = np.array(bits)
        background = np.where(shown == 1, flip, 1.0 - flip)
        signal = np.where(shown == 1, 1.0 - clear, clear)
        rows = [signal[:, x] * np.delete(background, x, axis=1).prod(axis=1) for x in range(self.k)]
        return Channel(rows, outputs=bits)

    def claim(self) -> float:
        """ε, attained."""
        return self.epsilon

    def farthest(self, digits: Digits) -> Laws:
        """The two bits on which two secrets differ; the other bits look alike."""
        clear, flip = self._flipping(digits)
        told, swapped = (1 - clear) * (1 - flip), clear * flip
        same = clear * (1 - flip) + (1 - clear) * flip
        return Laws((told, swapped, same), (swapped, told, same))

    def _flipping(self, digits: Digits) -> tuple[Interval, Interval]:
        """Probabilities that the set bit is cleared and that a clear bit is set."""
        epsilon = digits.of(self.epsilon)
        flip = 1 / (1 + (epsilon if self.optimised else epsilon / 2).exp())
        return (digits.of(0.5) if self.optimised else flip), flip

    def radius(self, order: Renyi) -> Bound:
        """Sibson's information under the uniform prior: permuting the values permutes the rows."""
        return self.closed_form(
            lambda digits: self._information(order.alpha, digits), order, (1.0 / self.k,) * self.k
        )

    def _information(self, alpha: float, digits: Digits) -> Interval:
        """(α/(α−1)) ln Σ_y (mean of C_xy^α)^(1/α), with its limits."""
        if alpha == 1.0:
            total = digits.of(0)
            for log_count, masses in self._classes(digits):
                mean = digits.log_sum(share.log() + mass for share, mass in masses)
                gains = (share * (mass + log_count).exp() * (mass - mean) for share, mass in masses)
                total = total + digits.sum(gains)
            return total
        if math.isinf(alpha):
            tops = (
                (reduce(Interval.or_more, [m for _, m in masses]), n) for n, masses in self._classes(digits)
            )
            return digits.log_sum(top + log_count for top, log_count in tops)
        order = digits.of(alpha)
        norms = [
            digits.log_sum(share.log() + mass * order for share, mass in masses) / order + log_count
            for log_count, masses in self._classes(digits)
        ]
        return digits.log_sum(norms) * order / (order - 1)

    def _classes(self, digits: Digits) -> Iterator[tuple[Interval, list[tuple[Interval, Interval]]]]:
        """Outputs of j ones, for every j: ln of their number, and the shares and log masses of the rows.

        j of the k rows have their own bit set; each further one multiplies a mass by flip/(1−flip).
        """
        clear, flip = self._flipping(digits)
        odds, rest = (flip / (1 - flip)).log(), (1 - flip).log() * (self.k - 1)
        as_one, as_zero = (1 - clear).log() - odds + rest, clear.log() + rest
        for j in range(self.k + 1):
            share = digits.of(j) / self.k
            rows = [(share, as_one + odds * j)] if j else []
            rows += [(1 - share, as_zero + odds * j)] if j < self.k else []
            yield digits.of(math.comb(self.k, j)).log(), rows

    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> Outputs:
        """Exact: logistic coins of rational log-odds. Shape (n, k)."""
        x = as_secrets(secrets, 0, self.k - 1, "BitVector.sample")
        epsilon = printed(self.epsilon)
        odds = epsilon if self.optimised else epsilon / 2
        bits = logistic_coins(odds, x.size * self.k, source).reshape(x.size, self.k)
        signal = ~logistic_coins(0 * epsilon if self.optimised else odds, x.size, source)
        bits[np.arange(x.size), x] = signal
        return bits.astype(np.int64)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Both encodings, few and more bits."""
        return cls(2, 1.0), cls(3, 0.2), cls(8, 4.0), cls(2, 2.0, True), cls(6, 1.0, True)
