"""How far a weighted sum of discrete Gaussian noises goes: P(|Σ w·Z| ≥ t). Never too light a tail.

**A noise lies within a step of a normal variable.** P(Z ≥ m) is at most Q((m − ½)/σ)
(`mechanism/noise_sums.py`) and at least Q(m/σ), for f falls, f(k) ≥ ∫_k^{k+1} f; both but for
2.01·e^(−2π²σ²). So, made of one uniform number, G − 1 < Z ≤ G + ½ for G = σN > 0, and as much below: |Z − G|
≤ 1. A sum of fine noises is therefore within Σ|w| of a normal variable of variance Σw²σ², whose tail is the
heavier the larger the weights are.

**Noise of few steps**, as a count's, is added up: P(|aZ + R| ≥ t) = Σ_z P(Z = z)·P(|az + R| ≥ t), R within s
of a normal variable G. P(|az + G| ≥ t − s) rises with |a| (Anderson 1955); of its two halves the one that
lies farther rises with the variance of G, and so does the other where |az| < t − s, and falls with it beyond.
**Two noises of few steps** and nothing else: the same, with the law itself for R.

**A product or a square of noise** beside such a sum is within what both are but once in 10⁶.

Source: Canonne, Kamath & Steinke 2020 for the law; Anderson 1955.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias

from leakcap.arrays import ArrayLike, NDArray, np
from leakcap.release.numbers.places import laid_out

__all__ = ["bent_gaussian_tail", "gaussian_tail", "normal_tail_up"]

Floats: TypeAlias = "NDArray[np.float64]"
# For each noise and place the most and the least weight.
Both: TypeAlias = "tuple[Floats, Floats]"

# Below this deviation a step counts.
_COARSE = 16.0
# In deviations: what lies beyond has a probability below 10⁻¹⁶, and of a product's factors below 6·10⁻⁷.
_FAR, _SELDOM = 8.5, 5.0
# A power of two, so that a place's position in the table is found by one product.
_STEP = 2.0**-10
# A chord lies above the tail by h²/8·max|Q''| at most, and below it nowhere but where it bends down.
_CHORD = 3.1e-8
_HAIR = 1e-9
# Places times the steps of a coarse noise: what a processor keeps near.
_AT_ONCE = 1 << 13


@cache
def _table() -> tuple[Floats, Floats]:
    """The tail at places that lie a step apart, and how much it falls from each to the next."""
    places = np.arange(-_FAR, _FAR + _STEP / 2, _STEP)
    tails = np.array([0.5 * math.erfc(x / math.sqrt(2.0)) for x in places.tolist()])
    return tails, np.append(tails[:-1] - tails[1:], 0.0)


def normal_tail_up(x: Floats) -> Floats:
    """P(N(0, 1) ≥ x), bounded from above, closely; 1 where x is no number.

    >>> 0.025 < float(normal_tail_up(np.array([1.959963]))[0]) < 0.0250002
    True
    """
    tails, falls = _table()
    # np.interp looks for each place among all, ten times as long.
    position = np.fmin(np.fmax((x + _FAR) / _STEP, 0.0), len(tails) - 1.0)
    before = position.astype(np.intp)
    return np.asarray(np.minimum(tails[before] - falls[before] * (position - before) + _CHORD, 1.0))


def gaussian_tail(
    noises: Sequence[tuple[ArrayLike, float]], at: ArrayLike, least: Sequence[ArrayLike] | None = None
) -> Floats:
    """P(|Σ weight·Z| ≥ at) for discrete Gaussian noises of these weights and deviations, place by place.

    An upper bound. Where the weights are not known, but lie between `least` and those of `noises`, it bounds
    the probability for all of them.

    >>> float(gaussian_tail([(1.0, 1e6)], 1.96e6)) < 0.05000001
    True
    """
    lower = [weight for weight, _ in noises] if least is None else least
    heard = [(*both, low) for both, low in zip(noises, lower, strict=True) if both[1] > 0.0]
    scales = [scale for _, scale, _ in heard]
    far, most, fewest, shape = laid_out(
        at, [w for w, _, _ in heard], None if least is None else [w for _, _, w in heard]
    )
    beyond, tail = far * (1.0 - _HAIR), np.empty(far.shape)
    law = _of_two if least is None and len(scales) == 2 and max(scales) < _COARSE else _of_all
    coarse = min((scale for scale in scales if scale < _COARSE), default=0.0)
    size = max(1, _AT_ONCE // (len(far) * math.ceil(_FAR * coarse + 2.0)))
    for start in range(0, far.shape[1], size):
        some = slice(start, start + size)
        weights = most[:, some]
        tail[:, some] = law(
            (weights, weights if fewest is most else fewest[:, some]), scales, beyond[:, some]
        )
    return np.where(far <= 0.0, 1.0, np.clip(tail, 0.0, 1.0)).reshape(shape)


def _of_all(weights: Both, scales: Sequence[float], far: Floats) -> Floats:
    """One coarse noise as it is, where there is one, and all others as normal variables."""
    own = min(range(len(scales)), key=scales.__getitem__, default=None)
    if own is not None and scales[own] >= _COARSE:
        own = None
    rest = [place for place in range(len(scales)) if place != own]
    each = np.array([scales[place] for place in rest])[:, None]
    wide = np.sqrt(((weights[0][rest] * each) ** 2).sum(axis=0))
    missed = sum(2.01 * math.exp(-2.0 * math.pi**2 * scales[place] ** 2) for place in rest)
    left = far - weights[0][rest].sum(axis=0)
    if own is None:
        return np.where(left <= 0.0, 1.0, 2.0 * normal_tail_up(_over(left, wide)) + missed)
    narrow = wide if weights[1] is weights[0] else np.sqrt(((weights[1][rest] * each) ** 2).sum(axis=0))
    z, chance = _sizes(scales[own])
    apart = z[None, :] * weights[0][own][:, None]
    inside = (
        wide[:, None] if narrow is wide else np.where(apart < left[..., None], wide[:, None], narrow[:, None])
    )
    found = normal_tail_up(_over(left[..., None] - apart, inside))
    found += normal_tail_up(_over(left[..., None] + apart, wide[:, None]))
    return np.where(left <= 0.0, 1.0, found @ chance + missed + 1e-12)


def _over(left: Floats, deviation: Floats) -> Floats:
    """The quotient; of no deviation at all infinitely many, or none below 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(deviation > 0.0, left / deviation, np.where(left > 0.0, np.inf, -np.inf))


def _of_two(weights: Both, scales: Sequence[float], far: Floats) -> Floats:
    """P(|a·Y + b·Z| ≥ far), added up over Y, with the law of Z."""
    (y, first), (z, second) = map(_law, scales)
    first_weight, second_weight = weights[0]
    step = np.maximum(second_weight, np.maximum(1e-200 * np.abs(far), 1e-300))
    ends = len(z) // 2
    tails = np.append(np.cumsum(second[::-1])[::-1], 0.0)  # P(Z ≥ k) for k from −ends to ends + 1
    least = np.ceil((far[..., None] - first_weight[:, None] * y) / step[..., None] - _HAIR)
    return np.asarray(2.0 * (tails[np.clip(least, -ends, ends + 1).astype(np.int64) + ends] @ first) + 1e-12)


@cache
def _law(deviation: float) -> tuple[Floats, Floats]:
    """The integers within reach, and their probabilities."""
    reach = math.ceil(_FAR * deviation) + 1
    places = np.arange(-reach, reach + 1.0)
    weights = np.exp(-(places**2) / (2.0 * deviation**2))
    return places, weights / weights.sum()


@cache
def _sizes(deviation: float) -> tuple[Floats, Floats]:
    """The sizes within reach, and the probability of each: of one sign and the other together."""
    places, chances = _law(deviation)
    middle = len(places) // 2
    return places[middle:], np.append(chances[middle], 2.0 * chances[middle + 1 :])


def bent_gaussian_tail(
    rest: Callable[[float], Sequence[tuple[Floats, float, Floats]]],
    own: tuple[Floats, float],
    curve: float,
    at: Floats,
) -> Floats:
    """P(R + weight·X + curve·X² ≥ at), R the sum of the noises that `rest` says for |x| up to its argument.

    `own` are the largest size of X's weight and its deviation; of each noise of `rest` the weight is between
    the last and the first number. What a weight grows by with |x| is a product of two noises.

    >>> one = np.ones(1)
    >>> found = bent_gaussian_tail(lambda x: [(one, 1e6, one)], (0.0 * one, 1e6), 0.0, 1.96e6 * one)
    >>> bool(0.0249 < found[0] < 0.0251)
    True
    """
    weight, scale = own
    most = _SELDOM * scale + 1.0
    plain, grown = rest(0.0), rest(most)
    shift = max(curve, 0.0) * most**2 + np.zeros(at.shape)
    seldom = 2.0 * normal_tail_up(np.array([_SELDOM]))[0]
    missed = seldom
    for (now, own_scale, _), (then, _, _) in zip(plain, grown, strict=True):
        shift = shift + np.abs(then - now) * (_SELDOM * own_scale + 1.0)
        missed += seldom
    noises = [(now, own_scale) for now, own_scale, _ in plain]
    tail = gaussian_tail([*noises, (weight, scale)], at - shift, [*(low for *_, low in plain), 0.0 * weight])
    return np.asarray(np.clip(0.5 * tail + missed, 0.0, 1.0))
