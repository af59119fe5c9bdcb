"""How far discrete Gaussian noise is from a function of Gaussian noise: next to nothing, at a smaller σ.

Integers plus discrete Gaussian noise of σ are told apart a little better than reals plus Gaussian noise of
that σ: one step apart, a coin flip is guessed with advantage 1/(σ√2π) rather than with ∫φ over one step. But
let τ² = σ² − s². Add Gaussian noise of τ, then move from there, y, to an integer z with odds
e^(−(z−y)²/2s²). By Poisson's summation these odds add up to s√2π·(1 ± η) whatever y is, η = 2.01·e^(−2π²s²),
and a Gaussian density of τ with one of s makes one of σ. So what comes out has, at every integer, the
probability of discrete Gaussian noise of σ within a factor of e^(±3η): a function of Gaussian noise of τ, but
for that.

With s² = 4 η is below 10⁻³³, and below 10⁻⁶⁷ with s² = 8, which is for integers that lie very far apart. A
neighbour moves at most Δ² integers by whole steps, Δ the distance in L2, so that all answers of a plan
together are within e^(±10⁻¹³) of functions of Gaussian noise. See `docs/theory/accounting.md`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from statistics import NormalDist

__all__ = ["CUT", "FARTHEST", "distance_of_a_step", "narrowed", "on_a_fine_grid"]

FARTHEST = 10**40
"""The largest squared distance for which the factor is known to be next to nothing."""

_FAR, _WIDTH, _WIDTH_FAR = 10**12, 4, 8
_ROUNDED = Fraction(1, 2**28)
"""What rounding at random takes of a descent's squared noise multiplier. Its clip is 64,513 steps of its grid
or more, so that this is a variance of 15.5 steps² or more, and e^(−2π²·15.5) < 10⁻¹³²."""
_DECIMALS = 10**12

_SPARE = 1e-10
CUT = 1e-21
"""What `distance_of_a_step` leaves out of each law, at most."""
_CUT_AFTER = 9.9
_NARROWEST_STEP, _WIDEST_STEP = Fraction(1, 4), 2500


def narrowed(variance: Fraction, squared: Fraction) -> Fraction | None:
    """Δ₂²/(2τ²): the ρ of the Gaussian noise that discrete Gaussian noise of this variance is a function of,
    at this squared distance. None where the noise is too narrow, or the distance too far, for that.

    >>> narrowed(Fraction(254), Fraction(1)), narrowed(Fraction(3), Fraction(1))
    (Fraction(1, 500), None)
    """
    width = _WIDTH if squared <= _FAR else _WIDTH_FAR
    if variance <= width or squared > FARTHEST:
        return None
    return squared / (2 * (variance - width))


def on_a_fine_grid(noise: Fraction) -> Fraction:
    """The multiplier of the continuous noise that a descent's noise is a function of, up to a negligible δ:
    √(z² − 2⁻²⁸), rounded down to twelve decimals. See `docs/theory/accounting.md`, "Noise on a grid".

    >>> float(on_a_fine_grid(Fraction(2)))
    1.999999999068
    """
    return Fraction(math.isqrt(math.floor((noise**2 - _ROUNDED) * _DECIMALS**2)), _DECIMALS)


@lru_cache(maxsize=1024)
def distance_of_a_step(variance: Fraction) -> float | None:
    """The least μ of which an integer with discrete Gaussian noise, moved by one step, is a function, rounded
    up; but for a chance of `CUT`. None where the noise is very narrow, or so wide that `narrowed` is as good.

    Both laws are cut where the tail is below 10⁻²². The best tests are thresholds, whose rates of false
    alarms and of finds are the corners of a concave curve; a Gaussian's curve is above all of it where it is
    above the corners (Blackwell 1953; Dong, Roth & Su 2022). Cutting changes P(E) by what is cut at most, and
    leaves a law that Q is at least 1 − `CUT` times of, so that δ(ε) grows by `CUT`, at an ε that much larger.

    >>> round(distance_of_a_step(Fraction(100)), 7), distance_of_a_step(Fraction(10**6))
    (0.1000417, None)
    """
    if not _NARROWEST_STEP <= variance <= _WIDEST_STEP:
        return None
    double, end = 2 * float(variance), math.ceil(_CUT_AFTER * math.sqrt(variance)) + 1
    masses = [math.exp(-(k * k) / double) for k in range(-end, end + 2)]
    moved = [math.exp(-((k - 1) ** 2) / double) for k in range(-end, end + 2)]
    # Tails from above: each is a sum of numbers that are not negative, and keeps relative precision.
    alarms, finds = (list(accumulate(reversed(one))) for one in (masses, moved))
    quantile, (whole, all_moved) = NormalDist().inv_cdf, (alarms[-1], finds[-1])
    most = 0.0
    for false, true in zip(alarms[:-1], finds[:-1], strict=True):
        if false / whole < 0.5:
            most = max(most, quantile(true / all_moved) - quantile(false / whole))
    # The other half is the mirror image, with misses in place of alarms.
    return most * (1.0 + _SPARE)
