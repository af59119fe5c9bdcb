"""Two warnings of Cuff & Yu: group leakage without a limit, and noise used twice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from leakcap.adversary import Neighbours
from leakcap.bound import Bound
from leakcap.channel import Channel
from leakcap.divergence import Renyi
from leakcap.errors import InvalidParameter, require
from leakcap.mechanism.base import Laws, Mechanism, Outputs, as_secrets, require_entries
from leakcap.mechanism.binary import ERASED, erasure_laws
from leakcap.mechanism.coins import coin
from leakcap.numeric.enclosure import Digits
from leakcap.sampling import ByteSource, system_bytes, uniform_below
from leakcap.sampling.rational import printed

__all__ = ["DIFFERENT", "CuffYuExample51", "OneTimePadPair"]

DIFFERENT = -2
"""What is shown when the two entries are told to differ."""


@dataclass(frozen=True)
class CuffYuExample51(Mechanism):
    """Two entries of m values: with probability δ the value they share, or that they differ; else an erasure.

    The secret is the pair. One entry leaks at most δ ln 2 nats to whoever knows the other, whatever m is;
    both together leak δ ln(m+1), which has no limit: MI-DP says nothing about groups.
    Source: Cuff & Yu 2016, example 5.1.

    >>> CuffYuExample51(2, 0.5).channel().matrix[1].tolist()
    [0.0, 0.0, 0.5, 0.5]
    """

    m: int
    delta: float

    source: ClassVar[str] = "Cuff & Yu 2016"

    def __post_init__(self) -> None:
        require(self.m >= 2, "m", "CuffYuExample51", "be at least 2", self.m)
        require(0 <= self.delta <= 1, "delta", "CuffYuExample51", "be a probability", self.delta)

    def channel(self) -> Channel:
        """Inputs are pairs; outputs the m values, −2 (different) and −1 (erased)."""
        require_entries(self.m**2, self.m + 2, "CuffYuExample51")
        pairs = list(product(range(self.m), repeat=2))
        rows = np.zeros((len(pairs), self.m + 2))
        for row, (a, b) in zip(rows, pairs, strict=True):
            row[a if a == b else self.m] = self.delta
        rows[:, -1] = 1.0 - self.delta
        return Channel(rows, inputs=pairs, outputs=(*range(self.m), DIFFERENT, ERASED))

    def entry(self, known: int) -> Channel:
        """The channel from one entry to the output when the other is known: a binary erasure in disguise.

        >>> CuffYuExample51(2, 0.5).entry(0).matrix.tolist()
        [[0.5, 0.0, 0.0, 0.5], [0.0, 0.0, 0.5, 0.5]]
        """
        require(0 <= known < self.m, "known", "CuffYuExample51.entry", f"be from 0 to {self.m - 1}", known)
        full = self.channel()
        return Channel(full.matrix[known :: self.m], outputs=full.outputs)

    def replace_one(self) -> Neighbours:
        """Databases that differ in one entry, as indices of `channel().inputs`.

        >>> len(CuffYuExample51(2, 0.5).replace_one().pairs)
        4
        """
        pairs = list(product(range(self.m), repeat=2))
        index = range(len(pairs))
        close = [(i, j) for i in index for j in index[:i] if _distance(pairs[i], pairs[j]) == 1]
        return Neighbours(tuple(close))

    def entry_capacity(self) -> Bound:
        """Its exact MI-DP: δ ln 2 nats, for every m.

        >>> 0.5 * math.log(2) in CuffYuExample51(1000, 0.5).entry_capacity()
        True
        """
        return self.closed_form(lambda digits: digits.of(2).log() * self.delta, Renyi(1.0))

    def claim(self) -> float:
        """∞ unless nothing is ever told."""
        return 0.0 if self.delta == 0.0 else math.inf

    def farthest(self, digits: Digits) -> Laws:
        """Two databases that give different messages."""
        told, none = digits.of(self.delta), digits.of(0)
        return Laws((told, none, 1 - told), (none, told, 1 - told))

    def central(self, order: Renyi, digits: Digits) -> Laws:
        """m+1 equally likely messages behind an erasure: δ ln(m+1) at order 1."""
        return erasure_laws(self.m + 1, digits.of(self.delta), order)

    def best_prior(self) -> object:
        """One database for each message."""
        prior = np.diag(np.full(self.m, 1.0 / (self.m + 1)))
        prior[0, 1] = 1.0 / (self.m + 1)
        return tuple(float(v) for v in prior.ravel())

    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> Outputs:
        """Exact, for the decimal number that `delta` prints as; secrets have shape (n, 2)."""
        pairs = np.asarray(secrets)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise InvalidParameter("`secrets` of `CuffYuExample51.sample` must have shape (n, 2).")
        x = as_secrets(pairs.ravel(), 0, self.m - 1, "CuffYuExample51.sample").reshape(-1, 2)
        message = np.where(x[:, 0] == x[:, 1], x[:, 0], DIFFERENT)
        return np.where(coin(printed(self.delta), len(x), source), message, ERASED)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Few and more values, from silence to certainty."""
        return cls(2, 0.5), cls(5, 0.1), cls(3, 0.0), cls(3, 1.0)


def _distance(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    return sum(x != y for x, y in zip(a, b, strict=True))


@dataclass(frozen=True)
class OneTimePadPair(Mechanism):
    """Two answers that share their noise: Y₁ = X + U mod k and Y₂ = U, with U uniform.

    Each leaks nothing; together they leak all of X. Capacities add up only over answers whose noise is fresh:
    `first() & second()` is the channel that the sum would describe, `channel()` the one that there is.
    Source: Cuff & Yu 2016, example 4.3; Shannon 1949.

    >>> OneTimePadPair(2).channel().matrix.tolist()
    [[0.5, 0.0, 0.0, 0.5], [0.0, 0.5, 0.5, 0.0]]
    """

    k: int = 2

    source: ClassVar[str] = "Cuff & Yu 2016; Shannon 1949"

    def __post_init__(self) -> None:
        require(self.k >= 2, "k", "OneTimePadPair", "be at least 2", self.k)

    def channel(self) -> Channel:
        """Both answers: the k×k² matrix, outputs (y₁, y₂)."""
        k = self.k
        require_entries(k, k**2, "OneTimePadPair")
        outputs = list(product(range(k), repeat=2))
        told = np.array([(a - b) % k for a, b in outputs])
        return Channel((told == np.arange(k)[:, None]) / k, outputs=outputs)

    def first(self) -> Channel:
        """X + U alone: useless.

        >>> OneTimePadPair(2).first().matrix.tolist()
        [[0.5, 0.5], [0.5, 0.5]]
        """
        return Channel(np.full((self.k, self.k), 1.0 / self.k))

    def second(self) -> Channel:
        """U alone: useless.

        >>> OneTimePadPair(2).second() == OneTimePadPair(2).first()
        True
        """
        return self.first()

    def farthest(self, digits: Digits) -> Laws:
        """Any two rows: no output in common."""
        return Laws((digits.of(1), digits.of(0)), (digits.of(0), digits.of(1)))

    def central(self, order: Renyi, digits: Digits) -> Laws:
        """ln k at every order."""
        centre = digits.of(1) / self.k, digits.of(self.k - 1) / self.k
        return Laws((digits.of(1), digits.of(0)), centre)

    def best_prior(self) -> object:
        """The uniform one."""
        return (1.0 / self.k,) * self.k

    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> Outputs:
        """Exact; shape (n, 2)."""
        x = as_secrets(secrets, 0, self.k - 1, "OneTimePadPair.sample")
        u = uniform_below(self.k, x.size, source)
        return np.stack([(x + u) % self.k, u], axis=1)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Bits and larger alphabets."""
        return cls(), cls(3), cls(10)
