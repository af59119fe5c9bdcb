"""Exact coins and exact acceptance for mechanisms whose weights are exponentials of rationals.

No probability is ever computed: a coin of probability e^−γ is tossed for a rational γ, and a float stands
for the decimal number that it prints as. Source: Canonne, Kamath & Steinke 2020, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

from leakcap.arrays import NDArray, np
from leakcap.sampling import ByteSource, bernoulli_exp, uniform_below
from leakcap.sampling.source import MAX_BOUND, fair_bits

__all__ = ["accept", "coin", "exp_coins", "logistic_coins"]

Integers: TypeAlias = "NDArray[np.int64]"
Coins: TypeAlias = "NDArray[np.bool_]"


def exp_coins(multiples: NDArray[Any], unit: Fraction, source: ByteSource) -> Coins:
    """Independent coins, the i-th true with probability exp(−multiples[i]·unit), exactly.

    >>> exp_coins(np.array([0, 0]), Fraction(1, 3), lambda n: bytes(n)).tolist()
    [True, True]
    """
    top = int(multiples.max()) if multiples.size else 0
    narrow = unit.denominator <= MAX_BOUND and max(top, 1) * unit.numerator <= MAX_BOUND
    if narrow:
        return bernoulli_exp(multiples.astype(np.int64) * unit.numerator, unit.denominator, source)
    return bernoulli_exp(multiples.astype(np.object_) * unit.numerator, unit.denominator, source)


def logistic_coins(gamma: Fraction, size: int, source: ByteSource) -> Coins:
    """Independent coins of probability 1/(1 + e^γ), exactly, for a rational γ ≥ 0.

    Round by round: tails of a fair coin ends it with false, else a coin of e^−γ ends it with true.

    >>> logistic_coins(Fraction(1), 3, lambda n: bytes(n)).tolist()
    [False, False, False]
    """
    result = np.zeros(size, dtype=np.bool_)
    index = np.arange(size)
    while index.size:
        index = index[fair_bits(index.size, source)]
        heads = exp_coins(np.ones(index.size, dtype=np.int64), gamma, source)
        result[index[heads]] = True
        index = index[~heads]
    return result


def coin(probability: Fraction, size: int, source: ByteSource) -> Coins:
    """Independent coins of a rational probability, exactly.

    >>> coin(Fraction(1), 2, lambda n: bytes(n)).tolist()
    [True, True]
    """
    if probability.denominator <= MAX_BOUND:
        draws = uniform_below(probability.denominator, size, source)
        return np.asarray(draws < probability.numerator)
    return np.array([_wide_coin(probability, source) for _ in range(size)], dtype=np.bool_)


def _wide_coin(probability: Fraction, source: ByteSource) -> bool:
    octets = (probability.denominator.bit_length() + 7) // 8 + 1
    limit = (1 << (8 * octets)) // probability.denominator * probability.denominator
    while True:
        draw = int.from_bytes(source(octets), "little")
        if draw < limit:
            return draw % probability.denominator < probability.numerator


def accept(
    size: int,
    propose: Callable[[NDArray[np.intp]], NDArray[Any]],
    cost: Callable[[NDArray[np.intp], NDArray[Any]], NDArray[Any]],
    unit: Fraction,
    source: ByteSource,
) -> NDArray[Any]:
    """Propose for each index until accepted with probability exp(−cost·unit); costs are integers ≥ 0.

    The result follows the proposal's law reweighted by exp(−cost·unit), exactly (von Neumann 1951).

    >>> fair = lambda index: np.zeros(index.size, dtype=np.int64)
    >>> accept(2, fair, lambda index, y: y, Fraction(1), lambda n: bytes(n)).tolist()
    [0, 0]
    """
    index = np.arange(size)
    draws = propose(index)
    result = draws.copy()
    while True:
        kept = exp_coins(cost(index, draws), unit, source)
        result[index[kept]] = draws[kept]
        index = index[~kept]
        if not index.size:
            return result
        draws = propose(index)
