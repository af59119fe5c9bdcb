"""Which bits of a polar code carry the message: reliabilities by density evolution, and the choice."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from leakcap.attack.codes.use import Use
from leakcap.errors import require
from leakcap.numeric.logspace import Floats

__all__ = [
    "chosen_bits",
    "combined_means",
    "even_repeats",
    "evolved_means",
    "mean_of_softness",
    "softness",
]

_LOG_MEANS = np.linspace(math.log(1e-9), math.log(400.0), 2701)
_TINY = 1e-9
"""Where this little is missing to ln 1 the other branch is taken."""
_STEPS = np.linspace(-9.0, 9.0, 801)


def chosen_bits(means: Floats, bits: int, tilt: float) -> NDArray[np.int64]:
    """The positions that carry the message, in order: the `bits` largest of ln mean + tilt·(ones of i).

    Row i of the transform has weight 2^(ones of i). Without tilt this is the polar choice, the best for one
    path; a large tilt is the Reed-Muller choice, the best for a decoder that weighs every message. A list
    is in between.

    Source: Arıkan 2009; Li, Shen & Tse 2014 for the choice in between.

    >>> [int(i) for i in chosen_bits(evolved_means(np.full(8, 1.0)), 4, 0.0)]
    [3, 5, 6, 7]
    """
    require(1 <= bits <= means.size, "bits", "chosen_bits", f"be from 1 to {means.size}", bits)
    ones = np.array([i.bit_count() for i in range(means.size)])
    with np.errstate(divide="ignore"):
        score = np.log(means) + tilt * ones
    return np.sort(np.argsort(score, kind="stable")[means.size - bits :])


def even_repeats(uses: int, size: int) -> NDArray[np.int64]:
    """How often each of `size` symbols is asked for, when `uses` questions are spread evenly over them.

    >>> [int(r) for r in even_repeats(6, 4)]
    [2, 1, 2, 1]
    """
    more = uses % size
    return uses // size + (np.arange(size) * more % size < more)


def evolved_means(means: Floats) -> Floats:
    """The mean log ratio of each bit of the transform, given those before it, from the means of the symbols.

    Density evolution with every law taken as Gaussian of variance twice its mean. A sum of two independent
    ratios adds their means; a parity multiplies their softness E tanh(L/2), which is exact whatever the laws.

    Source: Arıkan 2009; Chung, Richardson & Urbanke 2001; Trifonov 2012.

    >>> [round(float(m), 3) for m in evolved_means(np.array([1.0, 1.0]))]
    [0.277, 2.0]
    """
    out = np.asarray(means, dtype=np.float64).reshape(1, -1)
    require(out.size.bit_count() == 1, "means", "evolved_means", "be 2^m in number", out.size)
    while out.shape[1] > 1:
        first, second = np.split(out, 2, axis=1)
        parity = mean_of_softness(softness(first) + softness(second))
        out = np.stack([parity, first + second], axis=1).reshape(2 * out.shape[0], -1)
    return out.reshape(-1)


def combined_means(use: Use, repeats: NDArray[np.int64]) -> Floats:
    """The mean of the Gaussian ratio as soft as the sum of `repeats` uses, whose law is binomial.

    >>> combined_means(Use(0.3), np.array([0]))
    array([0.])
    """
    kinds, places = np.unique(repeats, return_inverse=True)
    soft = np.array([_binomial_softness(use, int(r)) for r in kinds])
    out: Floats = mean_of_softness(soft)[places]
    return out


def softness(means: Floats) -> Floats:
    """ln E tanh(L/2) of L ~ N(mean, 2·mean), from a table that is linear in ln mean between its entries."""
    with np.errstate(divide="ignore"):
        logs = np.log(means)
    # Below the table E tanh(L/2) = mean/2 but for a relative error of half a mean.
    low = np.where(logs < _LOG_MEANS[0], logs - math.log(2.0), np.interp(logs, _LOG_MEANS, _softs()))
    missing = np.minimum(np.interp(logs, _LOG_MEANS, _missing()), -_TINY)
    return np.where(logs > 0.0, np.log1p(-np.exp(missing)), low)


def mean_of_softness(soft: Floats) -> Floats:
    """The mean of the Gaussian ratio of this ln E tanh(L/2): the inverse of `softness`, up to 400.

    >>> round(float(mean_of_softness(softness(np.array([2.5])))[0]), 3)
    2.5
    """
    with np.errstate(divide="ignore"):
        missing = np.log(-np.expm1(soft))
    # Where tanh is near 1 its logarithm is flat: there the table of what is missing to 1 is read.
    high = np.interp(-missing, -_missing(), _LOG_MEANS)
    low = np.where(soft < _softs()[0], soft + math.log(2.0), np.interp(soft, _softs(), _LOG_MEANS))
    return np.asarray(np.exp(np.where(soft > math.log(0.5), high, low)))


@cache
def _softs() -> Floats:
    """ln E tanh(L/2) on the grid."""
    means = np.exp(_LOG_MEANS)
    small = means < 1e-4  # there 1 − (1 − tanh) would cancel: m/2 − m²/4
    return np.where(
        small, np.log(means / 2.0) - means / 2.0, np.log1p(-np.exp(np.minimum(_missing(), -_TINY)))
    )


@cache
def _missing() -> Floats:
    """ln(1 − E tanh(L/2)) on the grid, by the trapezoid rule.

    1 − tanh(L/2) = 2/(1+e^L), and its mean under N(m, 2m) is e^{−m/4} E[sech(L/2)] under N(0, 2m), which
    neither cancels nor underflows.
    """
    means = np.exp(_LOG_MEANS)[:, None]
    half = np.sqrt(means / 2.0) * _STEPS
    heights = np.exp(-0.5 * _STEPS**2 - np.logaddexp(half, -half))
    areas = heights.sum(axis=1) * (_STEPS[1] - _STEPS[0]) * 2.0 / math.sqrt(2.0 * math.pi)
    return np.asarray(np.log(areas) - means[:, 0] / 4.0)


def _binomial_softness(use: Use, repeats: int) -> float:
    """ln E tanh(L/2) of the sum of so many uses: the ratio is η(agreeing − disagreeing)."""
    if repeats == 0:
        return -math.inf
    agree = np.arange(repeats + 1)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, repeats + 1)))])
    ways = factorials[-1] - factorials - factorials[::-1]
    likely, unlikely = -math.log1p(math.exp(-use.decay)), -math.log1p(math.exp(use.decay))
    law = np.exp(ways + agree * likely + (repeats - agree) * unlikely)
    return math.log(float(law @ np.tanh(use.decay * (2 * agree - repeats) / 2.0)))
