"""Exact coins whose probability is e^−γ for a rational γ."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import require
from leakcap.sampling.nats import whole_nats
from leakcap.sampling.source import ByteSource, words
from leakcap.sampling.uniform import MAX_BOUND, uniform_below

__all__ = ["bernoulli_exp"]

_WORD = 64

Integers = NDArray[np.int64] | NDArray[np.object_]


def bernoulli_exp(numerators: Integers, denominator: int, source: ByteSource) -> NDArray[np.bool_]:
    """Return independent coins, the i-th true with probability exp(−numerators[i]/denominator), exactly.

    Numerators are non-negative: 64-bit integers when the denominator is at most 2⁶², Python integers of any
    size (dtype object) beside any denominator, which is slower.

    Source: Canonne, Kamath & Steinke 2020, algorithm 1.

    >>> bernoulli_exp(np.array([0, 0]), 7, lambda n: bytes(n)).tolist()
    [True, True]
    """
    require(denominator >= 1, "denominator", "bernoulli_exp", "be at least 1", denominator)
    if numerators.size == 0:
        return np.zeros(0, dtype=np.bool_)
    require(bool(numerators.min() >= 0), "numerators", "bernoulli_exp", "not be negative", "a negative one")
    wide = numerators.dtype == np.object_
    require(
        wide or denominator <= MAX_BOUND,
        "denominator",
        "bernoulli_exp",
        "be at most 2**62 beside 64-bit numerators",
        denominator,
        "Give the numerators as Python integers (dtype object).",
    )
    whole = numerators // denominator
    part = numerators - whole * denominator
    success = _survive_whole(whole, source)
    index = np.flatnonzero(success & (part > 0).astype(np.bool_))
    if wide:
        _alternate(success, index, _WideCoin(part[index], denominator), source)
    else:
        _alternate(success, index, _Coin(part[index], denominator), source)
    return success


def _survive_whole(whole: Integers, source: ByteSource) -> NDArray[np.bool_]:
    """Coins of probability e^−whole: `whole` nats pass when a geometric draw reaches them."""
    success = np.ones(whole.shape, dtype=np.bool_)
    index = np.flatnonzero(whole)
    if index.size:
        success[index] = (whole_nats(index.size, source) >= whole[index]).astype(np.bool_)
    return success


class _Coin:
    """Coins of probability part/denominator, for those still in the game."""

    def __init__(self, part: NDArray[np.int64], denominator: int) -> None:
        self.part = part
        self.denominator = denominator

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        self.part = self.part[chosen]

    def toss(self, source: ByteSource) -> NDArray[np.bool_]:
        return uniform_below(self.denominator, self.part.size, source) < self.part


class _WideCoin:
    """The same for integers of any size: a uniform real against the binary digits of part/denominator."""

    def __init__(self, part: NDArray[Any], denominator: int) -> None:
        self.denominator = denominator
        self.part = part
        self.digits = ((part << _WORD) // denominator).astype(np.uint64)

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        self.part, self.digits = self.part[chosen], self.digits[chosen]

    def toss(self, source: ByteSource) -> NDArray[np.bool_]:
        draws = words(self.digits.size, source)
        heads = draws < self.digits
        for i in np.flatnonzero(draws == self.digits):
            heads[i] = self._settle((int(self.part[i]) << _WORD) % self.denominator, source)
        return heads

    def _settle(self, rest: int, source: ByteSource) -> bool:
        """Compare the next digits, and the next, until the real and the ratio differ."""
        while True:
            digits, rest = divmod(rest << _WORD, self.denominator)
            draw = int(words(1, source)[0])
            if draw != digits:
                return draw < digits


def _alternate(
    success: NDArray[np.bool_], index: NDArray[np.intp], coin: _Coin | _WideCoin, source: ByteSource
) -> None:
    """Decide e^−γ for γ < 1: toss γ/1, γ/2, γ/3, … until the first tail; true if that toss is odd.

    P(the first k tosses are heads) = γᵏ/k!, so P(true) = Σ (−γ)ᵏ/k! = e^−γ.
    Heads of γ/k is heads of 1/k and of γ, tossed apart so that nothing grows with k.
    """
    k = 1
    while index.size:
        heads = coin.toss(source)
        if k > 1:
            heads &= uniform_below(k, index.size, source) == 0
        success[index[~heads]] = bool(k & 1)
        index = index[heads]
        coin.keep(heads)
        k += 1
