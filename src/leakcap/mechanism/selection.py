"""Private selection by scores: the exponential mechanism and permute-and-flip."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, Self

from leakcap.arrays import ArrayLike, NDArray, np
from leakcap.channel import Channel
from leakcap.errors import InvalidParameter, require
from leakcap.mechanism.base import Mechanism, Outputs, as_secrets, require_epsilon
from leakcap.mechanism.coins import accept
from leakcap.numeric.logspace import Floats
from leakcap.sampling import ByteSource, bernoulli_exp, system_bytes, uniform_below
from leakcap.sampling.rational import printed

__all__ = ["Exponential", "PermuteAndFlip", "nats_off", "permute_and_flip"]

Number = float | Fraction


@dataclass(frozen=True)
class _Selection(Mechanism):
    """Scores of shape (x, y): how good output y is for secret x."""

    scores: tuple[tuple[Number, ...], ...]
    epsilon: float
    sensitivity: Number | None = None

    def __post_init__(self) -> None:
        owner = type(self).__name__
        require_epsilon(self.epsilon, owner)
        rows = tuple(tuple(row) for row in self.scores)
        if not rows or not rows[0] or len({len(row) for row in rows}) != 1:
            raise InvalidParameter(f"`scores` of `{owner}` must be a non-empty rectangle of shape (x, y).")
        if not all(math.isfinite(value) for row in rows for value in row):
            raise InvalidParameter(f"`scores` of `{owner}` must be finite. Got NaN or ∞.")
        object.__setattr__(self, "scores", rows)
        wanted = self._spread() if self.sensitivity is None else self.sensitivity
        require(0 < wanted < math.inf, "sensitivity", owner, "be positive and finite", float(wanted))
        object.__setattr__(self, "sensitivity", wanted)

    def _spread(self) -> Fraction:
        """The largest change of a score between any two secrets."""
        columns = zip(*self._rationals(), strict=True)
        return max((max(column) - min(column) for column in columns), default=Fraction(0))

    def _rationals(self) -> list[list[Fraction]]:
        return [[printed(value) for value in row] for row in self.scores]

    def claim(self) -> float:
        """ε between secrets whose scores differ by `sensitivity`; in proportion over all pairs. Not tight."""
        assert self.sensitivity is not None
        return self.epsilon * float(self._spread() / printed(self.sensitivity))

    def _unit(self) -> tuple[NDArray[Any], Fraction]:
        """Integers n and a rational u with n·u = ε(best score − score)/(2·sensitivity), exactly."""
        rows = self._rationals()
        common = math.lcm(*(value.denominator for row in rows for value in row))
        best = [max(row) for row in rows]
        losses = np.array(
            [[int((most - v) * common) for v in row] for most, row in zip(best, rows, strict=True)],
            dtype=np.object_,
        )
        assert self.sensitivity is not None
        return losses, printed(self.epsilon) / (2 * printed(self.sensitivity) * common)

    def _log_weights(self) -> Floats:
        """−ε(best score − score)/(2·sensitivity), shape (x, y)."""
        losses, unit = self._unit()
        return np.array([[-float(loss * unit) for loss in row] for row in losses])

    def channel(self) -> Channel:
        """The matrix of shape (x, y)."""
        return Channel(self._law(np.exp(self._log_weights())))

    @abstractmethod
    def _law(self, weights: Floats) -> Floats:
        """Rows of output probabilities, from weights that are 1 at the best output."""

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """A count's, an unrelated, a fractional and an all-equal score."""
        near = tuple(tuple(-abs(x - y) for y in range(5)) for x in range(5))
        odd = ((0.1, 0.25, 3.0), (1.0, 0.75, 2.5))
        return cls(near, 1.0), cls(near, 0.1, 1), cls(odd, 2.0), cls(((Fraction(1, 3),) * 4,) * 2, 1.0, 1)


@dataclass(frozen=True)
class Exponential(_Selection):
    """Output y with probability in proportion to exp(ε·score/(2·sensitivity)).

    `sensitivity` is the largest change of a score between *neighbouring* secrets; left out, every two secrets
    are taken as neighbours. Source: McSherry & Talwar 2007.

    >>> Exponential(((1, 0), (0, 1)), 2 * math.log(3)).channel().matrix.round(12).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """

    source: ClassVar[str] = "McSherry & Talwar 2007"

    def _law(self, weights: Floats) -> Floats:
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> Outputs:
        """Exact: a uniform output is kept with probability exp(−ε·loss/(2·sensitivity)), else redrawn."""
        x = as_secrets(secrets, 0, len(self.scores) - 1, "Exponential.sample")
        losses, unit = self._unit()
        return accept(
            x.size,
            lambda index: uniform_below(losses.shape[1], index.size, source),
            lambda index, y: losses[x[index], y],
            unit,
            source,
        )


@dataclass(frozen=True)
class PermuteAndFlip(_Selection):
    """Outputs in random order; the first whose coin of probability exp(ε(score−best)/(2·sensitivity)) falls.

    Never worse than the exponential mechanism in expected score; report-noisy-max with exponential noise is
    the same mechanism. P(y) = w_y ∫₀¹ Π_{z≠y} (1 − t·w_z) dt for the weights w.
    Source: McKenna & Sheldon 2020; Ding et al. 2021.

    >>> PermuteAndFlip(((1, 0), (0, 1)), 2 * math.log(2)).channel().matrix.round(12).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """

    source: ClassVar[str] = "McKenna & Sheldon 2020"
    label: ClassVar[str] = "permute-and-flip"

    def _law(self, weights: Floats) -> Floats:
        # The integrand is a polynomial of degree y−1: Gauss–Legendre with ⌈y/2⌉ nodes is exact, and positive.
        nodes, masses = np.polynomial.legendre.leggauss(weights.shape[1] // 2 + 1)
        t, masses = 0.5 * (nodes + 1.0), 0.5 * masses
        misses = 1.0 - t[:, None, None] * weights
        others = np.stack(
            [np.delete(misses, y, axis=2).prod(axis=2) for y in range(weights.shape[1])], axis=2
        )
        return np.asarray(weights * np.tensordot(masses, others, axes=1))

    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> Outputs:
        """Exact: the mechanism's own coins, in an order shuffled by integers."""
        x = as_secrets(secrets, 0, len(self.scores) - 1, "PermuteAndFlip.sample")
        losses, unit = self._unit()
        return permute_and_flip(losses[x] * unit.numerator, unit.denominator, source)


def permute_and_flip(multiples: NDArray[Any], denominator: int, source: ByteSource) -> NDArray[np.int64]:
    """For each row of integers one place: each tosses a coin of probability e^(−multiple/denominator), and
    one of those that show heads is taken, all equally likely. A 0 in every row always shows heads.

    That is the first head in a random order. Drawn exactly, by integers and rational coins.

    >>> permute_and_flip(np.array([[0, 10**9], [10**9, 0]]), 1, system_bytes).tolist()
    [0, 1]
    """
    heads = bernoulli_exp(multiples.ravel(), denominator, source).reshape(multiples.shape)
    order = np.cumsum(heads, axis=1)
    wanted = uniform_below(order[:, -1].astype(np.int64), len(order), source) + 1
    return np.asarray((order == wanted[:, None]).argmax(axis=1), dtype=np.int64)


@cache
def nats_off(outputs: int, beyond: float) -> float:
    """−ln p, where all outputs but one that show heads with probability p are chosen with this probability.

    Of K outputs N of the others show heads, N binomial; one of these is taken with probability E N/(N + 1) =
    1 − (1 − (1 − p)^K)/(Kp), which no other probabilities up to p exceed.

    >>> nats_off(2, 0.05) < nats_off(2, 0.01) < nats_off(256, 0.01)
    True
    """
    low, high = 0.0, math.log((outputs - 1) / beyond) if beyond < outputs - 1 else 0.0
    for _ in range(80):
        middle = (low + high) / 2
        p = math.exp(-middle)
        own = -math.expm1(outputs * math.log1p(-p)) / (outputs * p) if p < 1.0 else 1.0 / outputs
        low, high = (middle, high) if 1.0 - own > beyond else (low, middle)
    return high
