"""The two laws of noise on cells, as intervals need them: how far sums of such noises go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from numpy.typing import ArrayLike

from leakcap.mechanism.additive import AdditiveNoise
from leakcap.mechanism.discrete_gaussian import DiscreteGaussian
from leakcap.release.numbers.bent import bent_tail
from leakcap.release.numbers.gaussian_tails import bent_gaussian_tail, gaussian_tail
from leakcap.release.numbers.tails import Floats, noise_tail

__all__ = ["GAUSSIAN", "LAPLACE", "Law", "law_of", "sum_reach"]

Noises = Sequence[tuple[ArrayLike, float]]


class Law(NamedTuple):
    """`tail` of a weighted sum of noises of one law, and `bent` of such a sum with a square or a product."""

    tail: Callable[[Noises, ArrayLike, Sequence[ArrayLike] | None], Floats]
    bent: Callable[..., Floats]


LAPLACE = Law(noise_tail, bent_tail)
GAUSSIAN = Law(gaussian_tail, bent_gaussian_tail)


def law_of(noise: AdditiveNoise) -> Law:
    """The law of this noise."""
    return GAUSSIAN if isinstance(noise, DiscreteGaussian) else LAPLACE


def sum_reach(first: AdditiveNoise, second: AdditiveNoise, beyond: float) -> int:
    """A whole number that the sum of both is beyond with this probability at most; the least, of noises of
    one law.

    >>> from leakcap.mechanism import DiscreteGaussian, TwoSidedGeometric
    >>> sum_reach(DiscreteGaussian(30.0), DiscreteGaussian(40.0), 0.05)
    99
    >>> sum_reach(DiscreteGaussian(30.0), TwoSidedGeometric(10.0), 0.05)
    104
    """
    if type(first) is not type(second):
        return first.error(beyond / 2) + second.error(beyond / 2)
    if first.width == second.width:
        return first.error_of_sum(2, beyond)
    noises = [(1.0, float(one.width)) for one in (first, second)]
    tail = law_of(first).tail

    def goes(reach: int) -> bool:
        return float(tail(noises, reach + 1, None)) > beyond

    low, high = -1, 1
    while goes(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if goes(middle) else (low, middle)
    return high
