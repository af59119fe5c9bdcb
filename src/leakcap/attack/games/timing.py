"""What the work of a sampler tells about the noise it drew, and so about the answer beneath.

Time is counted, not clocked: coin flips of a textbook sampler, random bytes of the published one and of
leakcap's. The laws are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from leakcap.attack.value import Finding, raised
from leakcap.definition.meaning import posterior_bound
from leakcap.errors import require
from leakcap.numeric import xlogx
from leakcap.numeric.logspace import Floats
from leakcap.sampling import rational_scale

__all__ = [
    "Timed",
    "Work",
    "coin_flip_work",
    "published_timing",
    "sampler_work",
    "series_work",
    "textbook_timing",
    "timing",
]

_CANDIDATES = 18
"""How many candidates leakcap's sampler makes when it is asked for one draw."""
_TOSSES = 12  # a coin of probability e^−γ, γ < 1, is tossed more than twelve times once in 10⁹
_NATS = 24
_LARGEST = 2000


@dataclass(frozen=True, eq=False)
class Work:
    """P(noise = z, cost = t): a row for each noise −r, …, r, a column for each of `costs`."""

    costs: tuple[int, ...]
    chances: Floats


@dataclass(frozen=True, kw_only=True)
class Timed(Finding):
    """got = best success at guessing one person's bit from a noisy count *and* the sampler's work.

    at_most = A/(A+1), which the answer alone reaches. `nats` = I(work; noise), `nats_answer` = I(bit;
    answer), `nats_both` = I(bit; answer and work). `beyond` = Σ (P(answer, work|1) − e^ε P(answer, work|0))₊,
    the δ with which the pair is (ε, δ)-DP; 0 for the answer alone. Laws are exact but for outcomes of
    probability `left_out` in all.
    """

    sampler: str
    epsilon: float
    work: str
    nats: float
    nats_answer: float
    nats_both: float
    beyond: float
    left_out: float


def textbook_timing(epsilon: float) -> Timed:
    """A sampler that flips coins until the first head: the flips *are* |noise|, and give the answer away.

    >>> textbook_timing(0.5).got > 0.999999999
    True
    """
    return _timed(
        coin_flip_work(epsilon),
        epsilon,
        "flips until a head",
        "coin flips",
        "a sampler whose work does not depend on what it draws",
    )


def published_timing(epsilon: float) -> Timed:
    """The published sampler, 18 candidates at a time: its coin is tossed until a tail, and that shows.

    The candidates share the work, and the first that is accepted becomes the noise, so that its tosses are a
    part of the whole. Source: Canonne, Kamath & Steinke 2020, algorithms 1 and 2; Jin, McMurtry, Rubinstein
    & Ohrimenko 2022, for the attack.

    >>> found = published_timing(0.5)
    >>> found.at_most < found.got < 0.9, found.beyond < 0.5
    (True, True)
    """
    return _timed(
        series_work(epsilon),
        epsilon,
        "published, one draw",
        "random bytes",
        "a sampler whose work does not depend on what it draws",
    )


def timing(epsilon: float) -> Timed:
    """leakcap's own sampler, asked for one draw at sensitivity 1: its bytes tell nothing about the noise.

    >>> found = timing(0.5)
    >>> found.got - found.at_most < 1e-12, found.nats < 1e-7, found.beyond < 1e-9
    (True, True, True)
    """
    return _timed(
        sampler_work(epsilon),
        epsilon,
        "leakcap's, one draw",
        "random bytes",
        "a coin takes one random word, however it falls; nobody times the engine or the machine",
    )


def coin_flip_work(epsilon: float) -> Work:
    """P(noise = z, flips = t) of the textbook sampler, z from −r to r, t from 0 to r; the rest is left out.

    >>> table = coin_flip_work(1.0).chances
    >>> bool((table > 0.0).sum(axis=1).max() == 1)
    True
    """
    reach = _reach(epsilon)
    z = np.arange(-reach, reach + 1)
    table = np.zeros((z.size, reach + 1))
    table[np.arange(z.size), np.abs(z)] = math.tanh(epsilon / 2.0) * np.exp(-epsilon * np.abs(z))
    return Work(tuple(range(reach + 1)), table)


def sampler_work(epsilon: float) -> Work:
    """P(noise = z, random bytes = t) of `discrete_laplace(rational_scale(1, epsilon), 1)`.

    Each of 18 candidates costs a word for its remainder (none at a whole ε) and one for its coin; each
    survivor a word of whole nats and a bit of sign. How many survive beside the first that is accepted does
    not depend on what that one is. Words that are rejected or left undecided (probability below a·2⁻⁶⁴) and
    an empty first block are left out.

    >>> law = sampler_work(1.0)
    >>> law.costs[:3]
    (153, 161, 169)
    """
    scale = rational_scale(1, epsilon)
    a, b = scale.numerator, scale.denominator
    survives = -math.expm1(-1.0) / (a * -math.expm1(-1.0 / a))
    minus_zero = -math.expm1(-b / a) / 2.0  # of the survivors
    counts = range(1, _CANDIDATES + 1)
    chances = [
        math.comb(_CANDIDATES, k)
        * (1.0 - survives) ** (_CANDIDATES - k)
        * survives**k
        * (1.0 - minus_zero**k)
        for k in counts
    ]
    base = _CANDIDATES * (1 if a == 1 else 2)
    reach = _reach(epsilon)
    decay = b / a
    law = math.tanh(decay / 2.0) * np.exp(-decay * np.abs(np.arange(-reach, reach + 1)))
    return Work(tuple(8 * (base + k) + (k + 7) // 8 for k in counts), np.outer(law, chances))


def series_work(epsilon: float) -> Work:
    """P(noise = z, random bytes = t) of the published sampler, 18 candidates at a time, by convolution.

    A candidate with remainder u < a costs a word and, for γ = u/a > 0, tosses until the first tail, which is
    the k-th with probability γ^(k−1)/(k−1)! − γ^k/k!: one word for the first toss, two for each further one.
    If k is odd, it survives, costs a word of whole nats and a bit of sign, and −0 is dropped. Rejected words
    (probability below a·2⁻⁶⁴) and an empty first block are left out.

    >>> series_work(1.0).costs  # scale 1: no remainder, no tosses; a word and a sign a candidate
    (147,)
    """
    scale = rational_scale(1, epsilon)
    a, b = scale.numerator, scale.denominator
    require(a <= _LARGEST, "epsilon", "series_work", f"be 1/scale with a numerator up to {_LARGEST}", epsilon)
    dropped, kept, noise = _candidate(a, b)
    anyone = dropped + kept
    powers = [_one()]
    for _ in range(_CANDIDATES - 1):
        powers.append(_convolve(powers[-1], anyone))
    lead, out = _one(), np.zeros((noise.shape[0], *_shape()))
    before = np.zeros(_shape())
    for first in range(_CANDIDATES):
        before = before + _convolve(lead, powers[_CANDIDATES - 1 - first])
        lead = _convolve(lead, dropped)
    for z in range(noise.shape[0]):
        out[z] = _convolve(before, noise[z])
    base = 0 if a == 1 else _CANDIDATES
    return _in_bytes(out, base)


def _shape() -> tuple[int, int]:
    """Words beyond the first, and survivors."""
    return 160, _CANDIDATES + 1


def _one() -> Floats:
    table = np.zeros(_shape())
    table[0, 0] = 1.0
    return table


def _convolve(left: Floats, right: Floats) -> Floats:
    """Costs add: `right` is sparse and short."""
    out = np.zeros(_shape())
    for words, survivors in np.argwhere(right > 0.0):
        weight = right[words, survivors]
        out[words:, survivors:] += weight * left[: out.shape[0] - words, : out.shape[1] - survivors]
    return out


def _candidate(a: int, b: int) -> tuple[Floats, Floats, Floats]:
    """Laws of (words, survivors) of dropped and of accepted candidates, and of the latter with each noise."""
    nats = np.exp(-np.arange(_NATS)) * -math.expm1(-1.0)
    magnitude = (np.arange(a)[:, None] + a * np.arange(_NATS)) // b
    reach = int(magnitude.max())
    dropped, noise = np.zeros(_shape()), np.zeros((2 * reach + 1, *_shape()))
    gamma = np.arange(a) / a
    for tosses in range(_TOSSES + 1):
        # No toss takes place for γ = 0, which always survives.
        chance = np.where(gamma > 0.0, _stops(gamma, tosses), float(tosses == 0)) / a
        words = max(2 * tosses - 1, 0)
        if tosses % 2 == 0 and tosses > 0:
            dropped[words, 0] += chance.sum()
            continue
        both = chance[:, None] * nats / 2.0
        dropped[words + 1, 1] += both[magnitude == 0].sum()
        for sign in (1, -1):
            at = reach + sign * magnitude
            keep = (magnitude != 0) | (sign == 1)
            np.add.at(noise[:, words + 1, 1], at[keep], both[keep])
    return dropped, noise.sum(axis=0), noise


def _stops(gamma: Floats, tosses: int) -> Floats:
    """P(the first tail comes at this toss)."""
    if tosses == 0:
        return np.zeros_like(gamma)
    last = gamma ** (tosses - 1) / math.factorial(tosses - 1)
    return np.asarray(last - gamma**tosses / math.factorial(tosses))


def _in_bytes(table: Floats, base: int) -> Work:
    """Words and survivors as bytes: eight a word, and a bit of sign a survivor, in whole bytes."""
    words, survivors = np.indices(_shape())
    size = 8 * (base + words) + (survivors + 7) // 8
    out = np.zeros((table.shape[0], int(size.max()) + 1))
    for z in range(table.shape[0]):
        out[z] = np.bincount(size.ravel(), weights=table[z].ravel(), minlength=out.shape[1])
    costs = np.flatnonzero(out.any(axis=0))
    return Work(tuple(costs.tolist()), out[:, costs])


def _reach(epsilon: float) -> int:
    owner = "coin_flip_work"
    require(0.01 <= epsilon <= 50.0, "epsilon", owner, "lie between 0.01 and 50", epsilon)
    return math.ceil(25.0 / epsilon)


def _timed(law: Work, epsilon: float, sampler: str, work: str, guard: str) -> Timed:
    """What the pair (bit + noise, work) tells about the bit at even odds."""
    table = law.chances
    none = np.zeros((1, table.shape[1]))
    zero, one = np.concatenate([table, none]), np.concatenate([none, table])
    noise, cost = table.sum(axis=1), table.sum(axis=0)
    return Timed(
        attack="timing",
        got=min(float(np.maximum(zero, one).sum()) / 2.0, 1.0),
        at_most=raised(posterior_bound(epsilon, 0.5), 1.0),
        unit="probability",
        stopped_by=guard,
        sampler=sampler,
        epsilon=epsilon,
        work=work,
        nats=_entropy(noise) + _entropy(cost) - _entropy(table),
        nats_answer=_between(zero.sum(axis=1), one.sum(axis=1)),
        nats_both=_between(zero, one),
        beyond=max(float((one - math.exp(epsilon) * zero).clip(0.0).sum()), 0.0),
        left_out=max(1.0 - float(table.sum()), 0.0),
    )


def _entropy(law: Floats) -> float:
    return -float(xlogx(law).sum())


def _between(zero: Floats, one: Floats) -> float:
    """I(bit; seen) at even odds."""
    return math.log(2.0) + float((xlogx(zero) + xlogx(one) - xlogx(zero + one)).sum()) / 2.0
