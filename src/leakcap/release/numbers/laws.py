"""The two laws of noise on cells, as intervals need them: how far sums of such noises go."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from numpy.typing import ArrayLike

from leakcap.mechanism.additive import AdditiveNoise
from leakcap.mechanism.discrete_gaussian import DiscreteGaussian
from leakcap.release.numbers.bent import bent_tail
from leakcap.release.numbers.gaussian_tails import bent_gaussian_tail, gaussian_tail
from leakcap.release.numbers.tails import Floats, noise_tail

__all__ = ["GAUSSIAN", "LAPLACE", "Law", "NoiseSums", "law_of", "noise_sums", "sum_reach"]

# From this deviation on a sum of Gaussian noises is one, and so many may be added up.
_WIDE, _MOST_ADDED = 3, 10**6
# More than the laws of two such sums are off by.
_MISSED = 1e-7
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


class NoiseSums(NamedTuple):
    """The law of sums of noises, the scale of each sum, and how likely what is left out may be, so that 5 %
    with all that the law misses are not passed."""

    law: Law
    scales: tuple[float, ...]
    beyond: float


def noise_sums(noises: Sequence[AdditiveNoise], added: int) -> NoiseSums | None:
    """Of each of these noises the sum of so many; None where no law of their weighted sums is known closely.

    The sum of k discrete Gaussians of σ ≥ 3 is one of kσ² but for next to nothing
    (`mechanism/noise_sums.py`): each outcome's probability is off by 4.4·k·e^(−π²σ²/2) at
    most, all within 12 deviations together by 2·10⁻⁸ for k up to 10⁶, and e^(−72) lies beyond. That is taken
    off the 5 %.

    >>> from leakcap.mechanism import DiscreteGaussian, TwoSidedGeometric
    >>> noise_sums([DiscreteGaussian(30.0), DiscreteGaussian(40.0)], 4).scales
    (60.0, 80.0)
    >>> noise_sums([TwoSidedGeometric(30.0)], 4) is None
    True
    """
    if added == 1:
        return NoiseSums(law_of(noises[0]), tuple(float(one.width) for one in noises), 0.05)
    close = all(isinstance(one, DiscreteGaussian) and one.width >= _WIDE for one in noises)
    if not close or added > _MOST_ADDED:
        return None
    return NoiseSums(GAUSSIAN, tuple(float(one.width) * math.sqrt(added) for one in noises), 0.05 - _MISSED)


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
