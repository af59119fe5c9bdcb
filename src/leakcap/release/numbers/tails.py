"""How far a weighted sum of noises goes: P(|Σ w·Z| ≥ t) for independent discrete Laplace noises Z.

Never too light a tail, so that an interval made of it covers. Three cases:

**All scales are many steps.** A Laplace variable L of the scale b of Z lies about half a step from it: with
s = e^(−1/b) and d = b·ln(2/(1 + s)) < ½ the tail P(|Z| ≥ m) is e^(−(m − d)/b), so |Z − L| ≤ 1 − d. The tail
of ΣwL is a sum of exponentials, by partial fractions.

**One scale is few steps**, as a count's is beside those of sums on a fine grid. With R = the other noises

    P(|aZ + R| ≥ t) = 2·Σ_z P(Z = z)·P(R ≥ t − az),

and, split where az reaches t, that is a geometric series for each exponential in the tail of R. Wider noise
has the heavier tail as long as all of it is unimodal; aZ is not, so where R is known to lie between two the
wider one is taken below t and the narrower one above.

**Both of two scales are very few steps.** The sum over z itself, as far as Z goes but once in 10⁸.

Source: Inusah & Kozubowski 2006 for the discrete law; Anderson 1955 for unimodal noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from leakcap.arrays import ArrayLike, NDArray, np
from leakcap.release.numbers.places import laid_out

__all__ = ["Floats", "Pair", "exponentials", "noise_tail"]

Floats: TypeAlias = "NDArray[np.float64]"
Pair = tuple[Floats, Floats]

# Up to this scale a step counts: it is 0.002 % of how far wider noise goes.
_COARSE = 1e4
# Up to this scale the law itself is added up, outcome by outcome.
_FEW = 4.0
_LEFT = 1e-8
# Equal scales have no partial fractions: the wider one of two is widened to that.
_APART = 1.003
# Where two of its rates are as close as that, a geometric series is not a quotient of differences.
_ALIKE = 1e-2
# More than all that rounding takes off a tail of coefficients that add up to 1.
_ROUNDED = 1e-13
_HAIR = 1e-9
# So many at once stay in the processor's cache.
_AT_ONCE = 1 << 14


def noise_tail(
    noises: Sequence[tuple[ArrayLike, float]], at: ArrayLike, least: Sequence[ArrayLike] | None = None
) -> Floats:
    """P(|Σ weight·Z| ≥ at) for discrete Laplace noises of these weights and scales, place by place.

    No less than that; more by what half a step of each fine noise makes. Where the weights are not known
    they lie between `least` and those of `noises`, and it is no less for any of them.

    >>> round(float(noise_tail([(1.0, 1.0)], 2.0)), 9) == round(2 * math.exp(-2) / (1 + math.exp(-1)), 9)
    True
    """
    lower = [weight for weight, _ in noises] if least is None else least
    heard = [(*both, low) for both, low in zip(noises, lower, strict=True) if both[1] > 0.0]
    scales = [scale for _, scale, _ in heard]
    far, most, fewest, shape = laid_out(
        at, [w for w, _, _ in heard], None if least is None else [w for _, _, w in heard]
    )
    # A hair less, so that rounding errs towards the heavier tail, and outcomes that are just so far count.
    beyond = far * (1.0 - _HAIR)
    few = least is None and len(scales) == 2 and max(scales) <= _FEW
    law = _added_up if few else _in_closed_form
    tail = np.empty(far.shape)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        size = max(1, _AT_ONCE // (len(far) * max(1, len(scales))))
        for start in range(0, far.shape[1], size):
            some = slice(start, start + size)
            tail[:, some] = law((most[:, some], fewest[:, some]), scales, beyond[:, some])
    return np.where(far <= 0.0, 1.0, np.clip(tail, 0.0, 1.0)).reshape(shape)


def _in_closed_form(weights: Pair, scales: Sequence[float], far: Floats) -> Floats:
    """One coarse noise as it is, where there is one, and all others as if they were continuous."""
    each = np.array(scales)[:, None]
    gaps = weights[0] * (1.0 + each * np.log1p(np.expm1(-1.0 / each) / 2.0))
    wide, narrow = (one * each for one in weights)
    coarse = np.flatnonzero(each.ravel() < _COARSE)
    if not len(coarse):
        return _continuous(*exponentials(wide), np.asarray(far - gaps.sum(axis=0)))
    # The one whose steps are the largest, place by place.
    own = coarse[np.argmax(gaps[coarse], axis=0)]
    places = (own, np.arange(far.shape[-1]))
    step, rest = weights[0][places], gaps.sum(axis=0) - gaps[places]
    others = np.arange(len(scales))[:, None] != own
    wide, narrow = (np.where(others, both, 0.0) for both in (wide, narrow))
    if len(coarse) == 1:
        wide, narrow = np.delete(wide, coarse, axis=0), np.delete(narrow, coarse, axis=0)
    scale = each[coarse[0], 0] if len(coarse) == 1 else each.ravel()[own]
    return _stepped(step, scale, exponentials(wide), exponentials(narrow, up=False), far - rest)


def exponentials(sigmas: Floats, *, up: bool = True) -> tuple[Floats, Floats]:
    """Scales σ and shares c with P(|ΣL| > t) = Σ c·e^(−t/σ), for Laplace variables of these scales.

    Scales that are alike are moved apart, up or down.
    """
    apart = np.sort(sigmas, axis=0)
    for place in range(1, len(apart)):
        if up:
            apart[place] = np.maximum(apart[place], _APART * apart[place - 1])
        else:
            apart[-1 - place] = np.minimum(apart[-1 - place], apart[-place] / _APART)
    factors, own = 1.0 / (1.0 - (apart / apart[:, None]) ** 2), np.arange(len(apart))
    factors[own, own] = 1.0
    return apart, np.where(apart > 0.0, np.prod(factors, axis=1), 0.0)


def _continuous(sigmas: Floats, shares: Floats, far: Floats) -> Floats:
    """P(|R| ≥ far) for R of these exponentials."""
    each = shares * np.exp(-np.maximum(far, 0.0)[..., None, :] / sigmas)
    found = np.where(sigmas > 0.0, each, 0.0).sum(axis=-2)
    return np.where(far <= 0.0, 1.0, found + _ROUNDED * np.abs(shares).sum(axis=0))


def _stepped(weight: Floats, scale: Floats, wide: Pair, narrow: Pair, far: Floats) -> Floats:
    """P(|weight·Z + R| ≥ far) for discrete Laplace Z and R of exponentials between these two.

    For az < t it is likelier with the wider R that az + R is beyond t, and for az > t with the narrower.
    """
    t = np.maximum(far, 0.0)
    # No division by nothing: a weight that is too large has the heavier tail.
    step = np.maximum(weight, np.maximum(1e-200 * t, 1e-300))
    decay = 1.0 / scale
    s, even = np.exp(-decay), -np.expm1(-decay)
    last = np.maximum(np.ceil(t / step) - 1.0, 0.0)  # the largest z with z·step < t
    there = np.exp(-last * decay)
    inner, outer = np.maximum(t - step * last, 0.0), np.maximum(step * (last + 1.0) - t, 0.0)
    found = 2.0 * there * s
    for sigma, share in zip(*wide, strict=True):
        some = np.where(sigma > 0.0, sigma, 1.0)
        each = step / some
        g, start, end = np.exp(-each), np.exp(-t / some), there * np.exp(-inner / some)
        # Σ s^z·e^(−(t − az)/σ) for z from 0 to the last, and below 0.
        rising = np.asarray((start * g - end * s) / (g - s))
        alike = (np.abs(each - decay) < _ALIKE) | ~np.isfinite(rising)
        if alike.any():
            rise, terms = np.broadcast_to(np.abs(each - decay), alike.shape)[alike], last[alike] + 1.0
            ratio = np.where(rise > 0.0, np.expm1(-terms * rise) / np.expm1(-rise), terms)
            rising[alike] = np.maximum(start, end)[alike] * ratio
        rising = rising - s * start * g / np.expm1(-decay - each)
        found = found + np.where(sigma > 0.0, share * even * rising, 0.0)
    for sigma, share in zip(*narrow, strict=True):
        some = np.where(sigma > 0.0, sigma, 1.0)
        back = s * there * np.exp(-outer / some) / np.expm1(-decay - step / some)
        found = found + np.where(sigma > 0.0, share * even * back, 0.0)
    rounded = 1.0 + sum(np.abs(shares).sum(axis=0) for _, shares in (wide, narrow))
    return np.where(far <= 0.0, 1.0, found / (1.0 + s) + _ROUNDED * rounded)


def _added_up(weights: Pair, scales: Sequence[float], far: Floats) -> Floats:
    """P(|a·Y + b·Z| ≥ far), added up over Y; what Y is beyond is taken to be far."""
    first_weight, second_weight = weights[0]
    step = np.maximum(second_weight, np.maximum(1e-200 * np.abs(far), 1e-300))
    (y, chance, left), (tails, ends) = _sizes(scales[0]), _beyond(scales[1])
    found = np.empty(far.shape)
    size = max(1, _AT_ONCE // (len(y) * len(far)))
    for start in range(0, far.shape[-1], size):
        some = slice(start, start + size)
        gone = first_weight[some, None] * y
        least = np.ceil((far[:, some, None] - gone) / step[:, some, None])
        found[:, some] = tails[np.clip(least, -ends, ends).astype(np.int64) + ends] @ chance
    return 2.0 * (found + left)


@lru_cache(maxsize=64)
def _sizes(scale: float) -> tuple[NDArray[np.int64], Floats, float]:
    """What Y may be but seldom, how likely each of it is, and twice how seldom."""
    decay = 1.0 / scale
    most = math.ceil(-math.log(_LEFT) / decay)
    y = np.arange(-most, most + 1)
    chance = math.tanh(decay / 2.0) * np.exp(-np.abs(y) * decay)
    return y, chance, 2.0 * math.exp(-(most + 1) * decay) + _ROUNDED


@lru_cache(maxsize=64)
def _beyond(scale: float) -> tuple[Floats, int]:
    """P(Z ≥ k) for each k from −ends to ends, and the last."""
    decay = 1.0 / scale
    ends = math.ceil(40.0 / decay) + 1
    places = np.arange(-ends, ends + 1)
    light = np.exp(-np.abs(places - 0.5) * decay - 0.5 * decay) / (1.0 + math.exp(-decay))
    return np.where(places >= 1, light, 1.0 - light), ends
