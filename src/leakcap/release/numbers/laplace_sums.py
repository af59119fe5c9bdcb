"""How far weighted sums of many discrete Laplace noises go: P(|Σ w·S| ≥ t), each S the sum of k noises Z.

Never too light a tail.

**A Laplace variable is Z and a little more.** Z = ⌊bE⌋ − ⌊bE′⌋ for two exponential variables, and what the
floors take off, V = {bE} − {bE′}, is independent of Z: L = Z + V is a Laplace variable. V is symmetric, and
since no {bE}, tilted or not, varies more than a uniform variable, ln E e^(ξV) ≤ ξ²/12. With T = Σ w·(sum of k
such L), and R = Σ w·(sum of k such V) beside it,

    P(Σ w·S ≥ t)·P(R ≥ −s) ≤ P(T ≥ t − s),    P(R < −s) ≤ e^(−3s²/(kΣw²)).

**The tail of T** follows from its characteristic function φ(u) = Π (1 + w²b²u²)^(−k):

    P(|T| < x) = (2h/π)·Σ_j sin(u_j·x)/u_j·φ(u_j),    u_j = (j + ½)h,

but for P(|T| ≥ 2π/h − x) and for the terms left out. In units of √(Σw²b²) the tail beyond y is below
2e^(−ξy)·(1 − ξ²)^(−k) for all 0 < ξ < 1, since Π(1 − a) ≥ 1 − Σa, and the terms are below (1 + u²)^(−k)/u, as
Π(1 + a) ≥ 1 + Σa. T is unimodal, and its tail the heavier the larger the weights are (Anderson 1955).

**Noise of few steps** has the tail of Chernoff's bound, with E e^(ξZ) ≤ E e^(ξL), and for discrete Gaussians
≤ e^(ξ²σ²/2): it covers more often than it must.

Source: Gil-Pelaez 1951 for the inversion; Abate & Whitt 1992 for its error; Chernoff 1952; Canonne, Kamath &
Steinke 2020.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

from leakcap.arrays import ArrayLike, np
from leakcap.release.numbers.tails import Floats

__all__ = ["gaussian_sums_bound", "laplace_sums_bound", "laplace_sums_tail"]

Noises: TypeAlias = "Sequence[tuple[ArrayLike, float]]"

# What the series leaves out at each of its two ends, and rounding.
_LEFT = 1e-7
_MISSED = 3e-7
# In deviations of what floors leave out: e^(−3s²/kΣw²) with s² = _SLACK²·kΣw²/6.
_SLACK = 3.5
_LIKELY = 1.0 - math.exp(-(_SLACK**2) / 2.0)
# Places times nodes: what a processor keeps near.
_AT_ONCE = 1 << 15
_HAIR = 1e-9


def laplace_sums_tail(
    count: int, noises: Noises, at: ArrayLike, least: Sequence[ArrayLike] | None = None
) -> Floats:
    """P(|Σ weight·S| ≥ at), each S the sum of `count` ≥ 2 discrete Laplace noises, of a scale b.

    What is given in its place is b·√count, which is of the size of the sum. An upper bound, close where b is
    many steps. It rises with the weights, so that what they are at least does not matter.

    >>> from leakcap.mechanism.noise_sums import laplace_sum_tail
    >>> from fractions import Fraction
    >>> bound = float(laplace_sums_tail(4, [(1.0, 2 * 1e6)], 5e6))
    >>> 1.0 <= bound / (2 * laplace_sum_tail(Fraction(10**6), 4, 5_000_000)) < 1.003
    True
    """
    far, spread, weight, scales = _in_scales(noises, at)
    each = math.sqrt(count)
    left = (far - _SLACK * math.sqrt(count / 6.0) * np.sqrt(weight)) * each
    ends, places = _reach(count), np.flatnonzero((left > 0.0) & (spread > 0.0))
    u, height = _nodes(count)
    tail = np.where(left > 0.0, 0.0, 1.0)
    size = max(1, _AT_ONCE // len(u))
    for start in range(0, len(places), size):
        some = places[start : start + size]
        x = np.minimum(left[some] / spread[some], ends)
        shares = (scales[:, some] / spread[some]) ** 2
        grown = np.prod(1.0 + shares[:, :, None] * u**2, axis=0)
        within = (np.sin(x[:, None] * u) * np.exp(-count * np.log(grown))) @ height
        tail[some] = (1.0 - within + _MISSED) / _LIKELY
    return np.clip(tail, 0.0, 1.0).reshape(_shape(at, noises))


def laplace_sums_bound(
    count: int, noises: Noises, at: ArrayLike, least: Sequence[ArrayLike] | None = None
) -> Floats:
    """The same by Chernoff's bound, for noise of any scale.

    >>> bool(laplace_sums_bound(4, [(1.0, 2 * 0.5)], 5.0) >= 0.0)
    True
    """
    far, spread, _, _ = _in_scales(noises, at)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = far * math.sqrt(count) / spread
        xi = x / (count + np.sqrt(count**2 + x**2))
        bound = 2.0 * np.exp(-xi * x - count * np.log1p(-(xi**2)))
    return _shaped(bound, far, spread, at, noises)


def gaussian_sums_bound(noises: Noises, at: ArrayLike, least: Sequence[ArrayLike] | None = None) -> Floats:
    """The same of sums of discrete Gaussian noises, each named with √variance of its sum.

    >>> abs(float(gaussian_sums_bound([(1.0, 1.0)], 2.0)) - 2 * math.exp(-2)) < 1e-8
    True
    """
    far, spread, _, _ = _in_scales(noises, at)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        bound = 2.0 * np.exp(-((far / spread) ** 2) / 2.0)
    return _shaped(bound, far, spread, at, noises)


def _in_scales(noises: Noises, at: ArrayLike) -> tuple[Floats, Floats, Floats, Floats]:
    """How far, √Σ(weight·scale)², Σ weight² of what has noise, and each weight·scale; one after another."""
    heard = [(weight, scale) for weight, scale in noises if scale > 0.0]
    shape = _shape(at, noises)
    far = np.broadcast_to(np.asarray(at, np.float64), shape)
    sizes = [np.abs(np.broadcast_to(np.asarray(weight, np.float64), shape)).ravel() for weight, _ in heard]
    flat = np.array(sizes).reshape(len(heard), far.size)
    scaled = flat * np.array([scale for _, scale in heard])[:, None]
    return far.ravel() * (1.0 - _HAIR), np.sqrt((scaled**2).sum(axis=0)), (flat**2).sum(axis=0), scaled


def _shaped(bound: Floats, far: Floats, spread: Floats, at: ArrayLike, noises: Noises) -> Floats:
    found = np.where(far <= 0.0, 1.0, np.where(spread > 0.0, bound, 0.0))
    return np.asarray(np.clip(found, 0.0, 1.0).reshape(_shape(at, noises)))


def _shape(at: ArrayLike, noises: Noises) -> tuple[int, ...]:
    return np.broadcast_shapes(np.shape(at), *(np.shape(weight) for weight, _ in noises))


@cache
def _reach(count: int) -> float:
    """Beyond which a sum of Laplace variables of scale 1 is at most once in 10⁷: the best of many ξ."""
    return min(
        (math.log(2.0 / _LEFT) - count * math.log1p(-(xi**2))) / xi for xi in (n / 512 for n in range(1, 512))
    )


@cache
def _nodes(count: int) -> tuple[Floats, Floats]:
    """The places u_j, and 2h/(π·u_j): so many that what (1 + u²)^(−k)/u leaves out is as little.

    Σ_{j ≥ n} h·f(u_j) ≤ ∫ f from (n − ½)h on, as f falls, and from U on ∫ (1 + u²)^(−k)/u du is at most
    (1 + U²)^(1−k)/(2(k − 1)U²).
    """
    step = math.pi / _reach(count)
    last = step
    while 2.0 / math.pi * (1.0 + last**2) ** (1.0 - count) / (2.0 * (count - 1) * last**2) > _LEFT:
        last *= 1.02
    u = np.asarray((np.arange(math.ceil(last / step) + 1) + 0.5) * step, dtype=np.float64)
    return u, np.asarray(2.0 * step / (math.pi * u), dtype=np.float64)
