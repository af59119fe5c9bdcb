"""The exact MI-DP of two-sided geometric (discrete Laplace) noise."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from numbers import Integral, Real

from leakcap.bound import Bound
from leakcap.capacities.noise.geometric_ends import ends_information, middle_excess
from leakcap.capacities.noise.geometric_gap import Gap, middle_gap, plateau_gap, side_gap
from leakcap.capacities.noise.interval_prior import IntervalPrior
from leakcap.capacities.noise.laplace import laplace_capacity
from leakcap.capacities.noise.proofs import proof_of_geometric
from leakcap.capacities.noise.tilt import log_two_cosh
from leakcap.errors import require
from leakcap.numeric import down, up

__all__ = ["geometric_capacity"]

_SOURCE = "leakcap, docs/theory/additive-noise.md (KKT conditions; Muroga 1953 where every secret is used)"
_LIMIT = "Laplace limit: quantile coupling"
_OPERATIONS = 128
_LONG = 16.0
"""From this range on (in noise scales) two secrets never suffice: they carry ln 2 at most."""
_CONTINUOUS = 2.0**-40
"""Below this decay the Laplace value is within 3·2⁻⁴⁰."""


def geometric_capacity(steps: int, decay: float) -> Bound:
    """Shannon capacity of two-sided geometric noise for a secret in {0, 1, …, `steps`}, in nats.

    The noise is P(z) = (1−s)/(1+s)·s^|z| with s = e^{−`decay`}. With `steps` = 1 this is the exact MI-DP of a
    count (binary randomised response); with `steps` = n the capacity of one count about a whole table of n.
    Four shapes of the optimal prior, each proved from the KKT conditions: the two ends; every secret
    (C = ln(N−1+2e^{h_t}) − H); ends, a gap, and a flat stretch; ends and the middle. The interval is the
    closed form widened by its rounding; the witness is the optimal prior. Raises `InvalidParameter` unless
    `steps` is a positive integer up to 2^1000 and `decay` is positive and finite.

    Source: derived for this project, docs/theory/additive-noise.md.

    >>> round(geometric_capacity(1, 1.0).upper, 10)
    0.1109440717
    >>> round(geometric_capacity(2**32, 2.0**-32).upper, 9)
    0.08851964
    """
    whole = isinstance(steps, Integral) and not isinstance(steps, bool)
    require(
        whole and 1 <= steps <= 2**1000,
        "steps",
        "geometric_capacity",
        "be an integer from 1 to 2^1000",
        steps,
    )
    number = isinstance(decay, Real) and 0.0 < decay < math.inf
    require(number, "decay", "geometric_capacity", "be a positive finite number", decay)
    return _capacity(int(steps), float(decay))


@lru_cache(maxsize=4096)
def _capacity(steps: int, decay: float) -> Bound:
    found = _without_proof(steps, decay)
    if not isinstance(found.witness, IntervalPrior) or found.method == _LIMIT:
        return found
    return replace(found, proof=proof_of_geometric(steps, decay, found.witness))


def _without_proof(steps: int, decay: float) -> Bound:
    if steps == 1 or (steps * decay < _LONG and middle_excess(steps, decay) <= 0.0):
        prior = IntervalPrior(((0.0, 0.5), (float(steps), 0.5)))
        return _bound(
            ends_information(steps, decay), "closed form: uniform prior on the two ends", prior, steps
        )
    if _every_secret(steps, decay):
        return _full(steps, decay)
    if decay < _CONTINUOUS:
        return _continuous(steps, decay)
    gap = plateau_gap(decay)
    if 2 * gap.d < steps:
        return _with_plateau(steps, gap)
    if steps % 2:
        return _with_plateau(steps, side_gap(decay, steps // 2))
    return _with_middle(steps, middle_gap(decay, steps // 2))


def _every_secret(steps: int, decay: float) -> bool:
    """Whether Muroga's solution is a distribution: the prior at 1 (and by symmetry N − 1) is not negative."""
    s, end = math.exp(-decay), _end_level(decay)
    return 1.0 + s * s >= s * (end + (end if steps == 2 else 1.0))


def _end_level(decay: float) -> float:
    """q_0/q_1 (before tails are merged) when every secret is used: exp(η/(e^η − 1))."""
    return math.exp(decay / math.expm1(decay)) if decay < 700.0 else 1.0


def _noise_cost(decay: float) -> float:
    """η/sinh η, so that H = η/sinh η − ln tanh(η/2)."""
    return decay / math.sinh(decay) if decay < 700.0 else 0.0


def _value(mass: float, decay: float) -> float:
    """C = ln(mass) − η/sinh η, where mass = tanh(η/2)·Σ q/e^v."""
    return math.log(mass) - _noise_cost(decay)


def _full(steps: int, decay: float) -> Bound:
    s, end, scale = math.exp(-decay), _end_level(decay), math.tanh(decay / 2)
    ends = end / (1.0 + s)
    mass = (steps - 1) * scale + 2.0 * ends
    if steps == 2:
        side, flat = (1.0 + s * s - 2.0 * s * end) / math.expm1(-decay) ** 2 * scale / mass, None
        atoms: tuple[tuple[float, float], ...] = ((1.0, side),)
    else:
        side = (1.0 + s * s - s * (end + 1.0)) / math.expm1(-decay) ** 2 * scale / mass
        atoms = ((1.0, side), (steps - 1.0, side))
        flat = (2.0, steps - 2.0, scale / mass) if steps > 3 else None
    corner = (end - s) / math.expm1(-decay) ** 2 * scale / mass
    prior = IntervalPrior(((0.0, corner), *atoms, (float(steps), corner)), flat)
    return _bound(_value(mass, decay), "closed form: every secret used (Muroga)", prior)


def _with_plateau(steps: int, gap: Gap) -> Bound:
    """{0} ∪ {d, …, N−d} ∪ {N}."""
    scale, count = math.tanh(gap.decay / 2), steps - 2 * gap.d - 1
    right = 0.0 if count else gap.last
    if not gap.holds(right):
        return _continuous(steps, gap.decay)
    mass = 2.0 * gap.mass + count * scale
    per = scale / mass
    inner = max(gap.kink(right), 0.0) * per
    flat = None
    ends = ((0.0, gap.end_weight() * per), (float(gap.d), inner))
    middle: tuple[tuple[float, float], ...] = ()
    once = -math.expm1(-gap.decay)
    dip = -math.exp(-gap.decay) * math.expm1(gap.last) / once**2
    if count == 1:
        middle = ((gap.d + 1.0, (1.0 + 2.0 * dip) * per),)
    elif count:
        near = (1.0 + dip) * per
        middle = ((gap.d + 1.0, near), (steps - gap.d - 1.0, near))
        flat = (gap.d + 2.0, steps - gap.d - 2.0, per) if count > 2 else None
    prior = IntervalPrior((*ends, *middle, *((steps - x, p) for x, p in reversed(ends))), flat)
    return _bound(_value(mass, gap.decay), "ends, gap and flat stretch: one scalar root", prior, gap.d)


def _with_middle(steps: int, gap: Gap) -> Bound:
    """{0, N/2, N}."""
    scale, before = math.tanh(gap.decay / 2), gap.shift + _cosh_level(gap)
    if not gap.holds(before):
        return _continuous(steps, gap.decay)
    mass = 2.0 * gap.mass - scale * math.exp(gap.last)
    end, middle = gap.end_weight() * scale / mass, max(gap.kink(before), 0.0) * scale / mass
    prior = IntervalPrior(((0.0, end), (steps / 2, middle), (float(steps), end)))
    return _bound(_value(mass, gap.decay), "ends and middle: one scalar root", prior, gap.d)


def _cosh_level(gap: Gap) -> float:
    return log_two_cosh(gap.decay * (gap.d - 1 - gap.centre))


def _continuous(steps: int, decay: float) -> Bound:
    """C_Laplace − 3η ≤ C ≤ C_Laplace + 2η: quantile coupling of the two noises, for any N and η.

    It also answers if a root should ever miss the conditions that prove it (none did in 60,000 trials).
    """
    limit = laplace_capacity(steps * decay)
    low, high = max(limit.lower - 3.0 * decay, 0.0), limit.upper + 2.0 * decay
    return Bound(low, high, _LIMIT, _SOURCE, witness=limit.witness)


def _bound(value: float, method: str, prior: IntervalPrior, terms: int = 0) -> Bound:
    # Direct sums have fewer than 16/FINE = 4096 terms, all of one sign; Euler–Maclaurin has a dozen.
    operations = _OPERATIONS + (terms if terms <= 4096 else 0)
    low = math.nextafter(down(value, operations), 0.0)
    return Bound(low, math.nextafter(up(value, operations), math.inf), method, _SOURCE, witness=prior)
