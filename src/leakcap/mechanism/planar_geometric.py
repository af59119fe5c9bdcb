"""Planar geometric noise on a grid: geo-indistinguishability with exact integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.channel import Channel
from leakcap.errors import InvalidParameter, require
from leakcap.mechanism.base import MAX_EPSILON, Mechanism, Outputs, as_secrets
from leakcap.sampling import ByteSource, discrete_laplace, system_bytes, uniform_below
from leakcap.sampling.bernoulli import whole_nats
from leakcap.sampling.rational import printed
from leakcap.sampling.source import words

__all__ = ["PlanarGeometric"]

_RATE_BITS = 40
_WORD = 64


@dataclass(frozen=True)
class PlanarGeometric(Mechanism):
    """Cells of a width×height grid plus noise P(z) ∝ e^(−ε|z|) on Z², clamped to the grid.

    |z| is the Euclidean distance in cells, so it is ε-geo-indistinguishable a cell: clamping is
    post-processing. Source: Andrés, Bordenabe, Chatzikokolakis & Palamidessi 2013, section 4.1 (the grid);
    Fernandes, McIver & Sadeghi 2022.

    >>> PlanarGeometric(2, 1, math.log(3)).channel().shape
    (2, 2)
    """

    width: int
    height: int
    epsilon: float

    source: ClassVar[str] = "Andrés, Bordenabe, Chatzikokolakis & Palamidessi 2013"

    def __post_init__(self) -> None:
        owner = "PlanarGeometric"
        for name in ("width", "height"):
            size = getattr(self, name)
            require(isinstance(size, int) and 1 <= size <= 10_000, name, owner, "be from 1 to 10000", size)
        require(self.width * self.height >= 2, "width·height", owner, "be at least 2 cells", 1)
        allowed = self.epsilon >= 0.02 and self.claim() <= MAX_EPSILON
        rule = "be at least 0.02 nats a cell, and at most 700 over the grid"
        require(allowed, "epsilon", owner, rule, self.epsilon, "Choose other cells.")

    def channel(self) -> Channel:
        """The matrix over cells (column, row), as inputs and as outputs. Raises beyond 1024 cells."""
        cells = list(product(range(self.width), range(self.height)))
        if len(cells) > 1024:
            raise InvalidParameter(
                f"`width·height` of `PlanarGeometric` must be at most 1024 for a matrix. Got {len(cells)}."
            )
        reach = math.ceil(45.0 / self.epsilon) + max(self.width, self.height)
        axis = np.arange(-reach, reach + 1.0)
        law = np.exp(-self.epsilon * np.hypot(axis[:, None], axis))
        law /= law.sum()
        blocks = []
        for i in range(self.width):
            columns = np.add.reduceat(law, _edges(i, self.width, reach), axis=0)
            down = (
                np.add.reduceat(columns, _edges(j, self.height, reach), axis=1) for j in range(self.height)
            )
            blocks += [block.ravel() for block in down]
        return Channel(np.array(blocks), inputs=cells, outputs=cells)

    def claim(self) -> float:
        """ε times the diagonal: attained by the noise on all of Z², nearly so after the clamp."""
        return self.epsilon * math.hypot(self.width - 1, self.height - 1)

    def sample(self, secrets: ArrayLike, source: ByteSource = system_bytes) -> Outputs:
        """Exact, although distances are irrational; secrets and outputs have shape (n, 2).

        Two discrete Laplace draws of a rate ρ just below ε/√2 are kept with probability
        e^(−(ε|z| − ρ(|z₁|+|z₂|))), whose exponent is known to as many binary digits as a toss asks for.
        """
        x = np.asarray(secrets)
        if x.ndim != 2 or x.shape[1] != 2:
            raise InvalidParameter("`secrets` of `PlanarGeometric.sample` must have shape (n, 2).")
        owner = "PlanarGeometric.sample"
        first = as_secrets(x[:, 0], 0, self.width - 1, owner)
        second = as_secrets(x[:, 1], 0, self.height - 1, owner)
        z = self._noise(len(x), source)
        noisy = np.stack([first, second], axis=1) + z
        return np.asarray(np.clip(noisy, 0, [self.width - 1, self.height - 1]))

    def _noise(self, size: int, source: ByteSource) -> NDArray[np.int64]:
        square = printed(self.epsilon) ** 2
        rate = math.isqrt(math.floor((square / 2) * 4**_RATE_BITS))
        result, index = np.zeros((size, 2), dtype=np.int64), np.arange(size)
        while index.size:
            scale = Fraction(1 << _RATE_BITS, rate)
            z = discrete_laplace(scale, 2 * index.size, source).reshape(-1, 2)
            kept = _Excess(z, square, rate).survive(source)
            result[index[kept]] = z[kept]
            index = index[~kept]
        return result

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """A line, a square, a rectangle; weak and strong."""
        return cls(2, 1, math.log(3)), cls(3, 3, 0.5), cls(4, 2, 2.0), cls(1, 5, 0.3)


def _edges(centre: int, size: int, reach: int) -> NDArray[np.intp]:
    """Where the noise around `centre` starts to be clamped into cell 0, 1, …, size−1."""
    starts = np.arange(size) - centre + reach
    starts[0] = 0
    return starts


class _Excess:
    """The real exponents γ = ε|z| − ρ(|z₁|+|z₂|) ≥ 0, one for each proposal, to any number of digits."""

    def __init__(self, z: NDArray[np.int64], square: Fraction, rate: int) -> None:
        self.norms: list[int] = [int(a) ** 2 + int(b) ** 2 for a, b in z]
        self.steps: list[int] = [int(v) for v in np.abs(z).sum(axis=1)]
        self.square, self.rate = square, rate

    def floor(self, i: int, bits: int) -> int:
        """⌊2^bits·γ⌋, exactly: ρ has 40 binary digits, and isqrt rounds down."""
        inside = self.norms[i] * self.square.numerator << (2 * bits)
        root = math.isqrt(inside // self.square.denominator)
        return root - (self.rate * self.steps[i] << (bits - _RATE_BITS))

    def survive(self, source: ByteSource) -> NDArray[np.bool_]:
        """Coins of probability e^−γ: whole nats, then the alternating series (Canonne et al. 2020)."""
        size = len(self.norms)
        floors = [self.floor(i, _WORD) for i in range(size)]
        whole = np.array([min(v >> _WORD, 1 << 20) for v in floors], dtype=np.int64)
        digits = np.array([v & ((1 << _WORD) - 1) for v in floors], dtype=np.uint64)
        success = whole_nats(size, source) >= whole
        index = np.flatnonzero(success)
        k = 1
        while index.size:
            heads = self._toss(index, digits[index], source)
            if k > 1:
                heads &= uniform_below(k, index.size, source) == 0
            success[index[~heads]] = bool(k & 1)
            index = index[heads]
            k += 1
        return success

    def _toss(
        self, index: NDArray[np.intp], digits: NDArray[np.uint64], source: ByteSource
    ) -> NDArray[np.bool_]:
        """Coins of probability γ − ⌊γ⌋: a uniform real against its digits, 64 at a time."""
        draws = words(index.size, source)
        heads = draws < digits
        for tie in np.flatnonzero(draws == digits):
            heads[tie] = self._settle(int(index[tie]), source)
        return np.asarray(heads)

    def _settle(self, i: int, source: ByteSource) -> bool:
        bits = 2 * _WORD
        while True:
            digits = self.floor(i, bits) & ((1 << _WORD) - 1)
            draw = int(words(1, source)[0])
            if draw != digits:
                return draw < digits
            bits += _WORD
