"""The two laws of noise on cells, as intervals need them: how far sums of such noises go."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import NamedTuple

from leakcap.arrays import ArrayLike
from leakcap.mechanism.additive import AdditiveNoise
from leakcap.mechanism.discrete_gaussian import DiscreteGaussian
from leakcap.mechanism.geometric import TwoSidedGeometric
from leakcap.release.numbers.bent import bent_tail
from leakcap.release.numbers.gaussian_tails import bent_gaussian_tail, gaussian_tail
from leakcap.release.numbers.laplace_sums import gaussian_sums_bound, laplace_sums_bound, laplace_sums_tail
from leakcap.release.numbers.tails import Floats, noise_tail

__all__ = ["GAUSSIAN", "LAPLACE", "Law", "NoiseSums", "bounded_sums", "law_of", "noise_sums", "sum_reach"]

# From this deviation on a sum of Gaussian noises is one, and so many may be added up.
_WIDE, _MOST_ADDED = 3, 10**6
# With fewer steps what is left out of Laplace noise counts as much as a closer law saves.
_STEPS = 4
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
    off the 5 %. Of discrete Laplace noises of four steps or more the law of the sums is known closely too
    (`laplace_sums.py`), with the scale times √k.

    >>> from leakcap.mechanism import DiscreteGaussian, TwoSidedGeometric
    >>> noise_sums([DiscreteGaussian(30.0), DiscreteGaussian(40.0)], 4).scales
    (60.0, 80.0)
    >>> noise_sums([TwoSidedGeometric(30.0)], 4).scales, noise_sums([TwoSidedGeometric(2.0)], 4)
    ((60.0,), None)
    """
    if added == 1:
        return NoiseSums(law_of(noises[0]), tuple(float(one.width) for one in noises), 0.05)
    if added > _MOST_ADDED:
        return None
    scales = tuple(float(one.width) * math.sqrt(added) for one in noises)
    if all(isinstance(one, DiscreteGaussian) and one.width >= _WIDE for one in noises):
        return NoiseSums(GAUSSIAN, scales, 0.05 - _MISSED)
    if all(isinstance(one, TwoSidedGeometric) and one.width >= _STEPS for one in noises):
        return NoiseSums(_laplace_sums(added), scales, 0.05)
    return None


def bounded_sums(noises: Sequence[AdditiveNoise], added: int) -> NoiseSums:
    """The same where no law is known closely: of noises of one law by a bound, which covers more often.

    >>> from leakcap.mechanism import TwoSidedGeometric
    >>> float(bounded_sums([TwoSidedGeometric(2.0)], 4).law.tail([(1.0, 4.0)], 21.0, None)) < 0.05
    True
    """
    scales = tuple(float(one.width) * math.sqrt(added) for one in noises)
    if law_of(noises[0]) is GAUSSIAN:
        return NoiseSums(Law(gaussian_sums_bound, _of_groups), scales, 0.05)
    return NoiseSums(Law(partial(laplace_sums_bound, added), _of_groups), scales, 0.05)


@cache
def _laplace_sums(added: int) -> Law:
    return Law(partial(laplace_sums_tail, added), _of_groups)


def _of_groups(*_: object) -> Floats:
    """Products of noises count beside a public number of rows alone, which no group has, and no margin."""
    raise AssertionError("the number of rows of a margin is not public")


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
