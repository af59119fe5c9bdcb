"""How far noise goes of which one part counts with its square, or times another: that of a product of sums.

Of n rows, n public, with noises V of Q = Σvw and X, Y of the two sums, what is computed of Q − ST/n less the
truth is

    V − bX − aY − XY/n,

a and b the true means; of a square V − 2aX − X²/n. Given X = x it is a sum of noises with a known tail, so

    P(… ≥ t) = ∫ P(V − (a + x/n)·Y ≥ t + bx) dP(x)        or        ∫ P(V ≥ t + 2ax + x²/n) dP(x).

|x| is cut into pieces, in each of which the tail is a sum of exponentials, x²/n is replaced by a line above
the curve and the weight of Y by its largest; then each integral is elementary, and the tail never too light.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from leakcap.arrays import np
from leakcap.release.numbers.tails import Floats, Pair, exponentials

__all__ = ["bent_tail"]

# In scales of X: the pieces of |x|, and beyond the last of them everything is taken to be far.
_CUTS = (
    *(0.25 * place for place in range(16)),
    *(4.0 + 0.5 * place for place in range(8)),
    *(8.0 + place for place in range(8)),
    *(16.0, 20.0, 30.0),
)
_ROUNDED = 1e-12

Noise = tuple[Floats, float, Floats]


def bent_tail(
    rest: Callable[[float], Sequence[Noise]], own: tuple[Floats, float], curve: float, at: Floats
) -> Floats:
    """P(R + weight·X + curve·X² ≥ at), R the sum of the noises that `rest` says for |x| up to its argument.

    `own` are the largest size of X's weight and its scale; of each noise of `rest` the weight is between the
    last and the first number, and the second is its scale. All scales are many steps.

    >>> one = np.ones(1)
    >>> found = bent_tail(lambda x: [(one, 1e6, one)], (0.0 * one, 1e6), 0.0, 3e6 * one)
    >>> bool(abs(found[0] - np.exp(-3.0) / 2) < 1e-6)
    True
    """
    weight, scale = own
    # Discrete noise is within a step of continuous noise.
    t = at - weight - abs(curve) * (2.0 * _CUTS[-1] * scale + 1.0)
    t = t - sum(most for most, _, _ in rest(_CUTS[-1] * scale))
    found = np.full(at.shape, np.exp(-_CUTS[-1]))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        for low, high in itertools.pairwise(_CUTS):
            found = found + _piece(rest, weight, scale, curve, (low * scale, high * scale), t)
    return np.clip(np.where(t <= 0.0, 1.0, found + _ROUNDED), 0.0, 1.0)


def _piece(
    rest: Callable[[float], Sequence[Noise]],
    weight: Floats,
    scale: float,
    curve: float,
    ends: tuple[float, float],
    t: Floats,
) -> Floats:
    """What |x| between these ends adds, with either sign."""
    low, high = ends
    # A line that is not below curve·x²: its chord where it bends up, else its tangent in the middle.
    slope = curve * (low + high)
    off = -curve * (low * high if curve > 0.0 else (low + high) ** 2 / 4.0)
    noises = rest(high)
    wide = exponentials(np.array([most * each for most, each, _ in noises]))
    narrow = exponentials(np.array([least * each for _, each, least in noises]), up=False)
    left = t - off
    # As long as the middle of R is below t a larger weight of X has the heavier tail, and beyond it none has.
    middle = np.clip(left / slope, low, high) if slope > 0.0 else np.full(t.shape, high)
    found = np.zeros(t.shape)
    near, beyond = (np.full(t.shape, low), middle), (middle, np.full(t.shape, high))
    for own in (weight, -weight):
        found = found + _integrated(wide, narrow, (left, slope + own), scale, near)
        found = found + _integrated(wide, narrow, (left, slope + 0.0 * own), scale, beyond)
    shares = np.abs(wide[1]).sum(axis=0) + np.abs(narrow[1]).sum(axis=0)
    return np.asarray(found + _ROUNDED * shares * np.exp(-low / scale))


def _integrated(wide: Pair, narrow: Pair, line: Pair, scale: float, ends: Pair) -> Floats:
    """∫ P(R ≥ y(x)) dP(x), y(x) = left − tilt·x, over the positive x between these ends."""
    left, tilt = line
    low, high = ends
    # y changes its sign at most once.
    turn = np.clip(np.where(tilt != 0.0, left / tilt, np.where(left >= 0.0, np.inf, -np.inf)), low, high)
    up = tilt < 0.0
    over = (np.where(up, turn, low), np.where(up, high, turn))
    under = (np.where(up, low, turn), np.where(up, turn, high))
    found = np.asarray((np.exp(-under[0] / scale) - np.exp(-under[1] / scale)) / 2.0)
    for sigma, share in zip(*wide, strict=True):
        some = np.where(sigma > 0.0, sigma, 1.0)
        added = _integral(-left / some, tilt / some - 1.0 / scale, *over) / (4.0 * scale)
        found = found + np.where(sigma > 0.0, share * added, 0.0)
    for sigma, share in zip(*narrow, strict=True):
        some = np.where(sigma > 0.0, sigma, 1.0)
        less = _integral(left / some, -tilt / some - 1.0 / scale, *under) / (4.0 * scale)
        found = found - np.where(sigma > 0.0, share * less, 0.0)
    return found


def _integral(start: Floats, rate: Floats, low: Floats, high: Floats) -> Floats:
    """∫ e^(start + rate·x) dx from `low` to `high`, where the exponent is not positive."""
    size = np.maximum(high - low, 0.0)
    top = np.minimum(start + np.where(rate > 0.0, rate * high, rate * low), 0.0)
    steep = np.abs(rate) * size
    mean = np.where(steep > 1e-9, -np.expm1(-steep) / steep, 1.0)
    return np.where(size > 0.0, np.exp(top) * mean * size, 0.0)
