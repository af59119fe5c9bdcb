"""Unary encoding with noisy bits: RAPPOR's permanent response and optimised unary encoding."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from leakcap.channel import Channel
from leakcap.divergence import Renyi
from leakcap.errors import InvalidParameter, require
from leakcap.mechanism.base import Mechanism, Outputs, RowPair, as_secrets, require_epsilon
from leakcap.mechanism.coins import logistic_coins, printed
from leakcap.numeric.logspace import Floats, logsumexp, safe_log
from leakcap.sampling import ByteSource, system_bytes

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

    def dominating_pair(self) -> RowPair:
        """The two bits on which two secrets differ; the other bits look alike."""
        clear, flip = self._flips()
        p = np.outer([clear, 1.0 - clear], [1.0 - flip, flip])
        return RowPair(p.ravel(), p.T.ravel())

    def central_pair(self, order: Renyi) -> RowPair:
        """A row against Sibson's centre at the uniform prior, which depends on the number of ones only."""
        k, (clear, flip) = self.k, self._flips()
        ones = np.arange(k + 1)
        rest = (ones - 1) * math.log(flip) + (k - ones) * math.log1p(-flip)
        as_one = rest + math.log1p(-clear)
        as_zero = rest + math.log(clear) + math.log(flip) - math.log1p(-flip)
        centre = _power_mean(safe_log(ones / k), as_one, safe_log(1 - ones / k), as_zero, order.alpha)
        total = logsumexp(centre + _log_binomials(k))
        below = _log_binomials(k - 1)
        p = np.concatenate([below + as_one[1:], below + as_zero[:-1]])
        q = np.concatenate([below + centre[1:], below + centre[:-1]]) - total
        return RowPair(np.exp(p), np.exp(q), (1.0 / k,) * k)

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


def _log_binomials(n: int) -> Floats:
    return np.array([math.log(math.comb(n, j)) for j in range(n + 1)])


def _power_mean(log_a: Floats, x: Floats, log_b: Floats, y: Floats, alpha: float) -> Floats:
    """(1/α) ln(a·e^(αx) + b·e^(αy)); the larger exponent with positive weight at α = ∞."""
    if math.isinf(alpha):
        return np.maximum(np.where(np.isneginf(log_a), -np.inf, x), np.where(np.isneginf(log_b), -np.inf, y))
    return np.asarray(np.logaddexp(log_a + alpha * x, log_b + alpha * y) / alpha)
