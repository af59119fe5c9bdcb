"""The rational scales that the samplers draw exactly."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from leakcap.errors import require

__all__ = [
    "MAX_DENOMINATOR",
    "MAX_NUMERATOR",
    "MAX_SCALE",
    "MIN_SCALE",
    "printed",
    "rational_scale",
    "require_scale",
]

MIN_SCALE = Fraction(1, 1 << 30)
MAX_SCALE = Fraction(1 << 45)
MAX_NUMERATOR = 1 << 60
MAX_DENOMINATOR = 1 << 52

_RANGE = "lie between 2**-30 and 2**45"


def rational_scale(sensitivity: int, epsilon: float | Fraction) -> Fraction:
    """Return the discrete Laplace scale for an ε in nats: at least sensitivity/ε, and equal to it if it fits.

    A float stands for the decimal number it prints as (0.1 is 1/10). A ratio whose numerator or denominator
    is too long for the samplers is rounded *up*, by less than 3·10⁻⁷ of itself and by less than 10⁻¹² from
    a scale of 1/1000 upwards, so the privacy promised is never exceeded. Raises `InvalidParameter`.

    >>> rational_scale(1, 0.1), rational_scale(5, Fraction(3, 2))
    (Fraction(10, 1), Fraction(10, 3))
    """
    owner = "rational_scale"
    require(
        isinstance(sensitivity, int) and not isinstance(sensitivity, bool) and sensitivity >= 1,
        "sensitivity",
        owner,
        "be an integer of at least 1",
        sensitivity,
        "Round it up on the grid of the query.",
    )
    require(
        _is_number(epsilon) and epsilon > 0,
        "epsilon",
        owner,
        "be positive and finite",
        epsilon,
    )
    exact = Fraction(sensitivity) / printed(epsilon)
    require(
        MIN_SCALE <= exact <= MAX_SCALE,
        "sensitivity/epsilon",
        owner,
        _RANGE,
        float(exact) if exact < 1 << 1000 else math.inf,
        "Choose a coarser grid, or an ε nearer to 1.",
    )
    if exact.numerator <= MAX_NUMERATOR and exact.denominator <= MAX_DENOMINATOR:
        return exact
    denominator = min(MAX_DENOMINATOR, math.floor(MAX_NUMERATOR / exact))
    return Fraction(math.ceil(exact * denominator), denominator)


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)):
        return False
    return not isinstance(value, float) or math.isfinite(value)


def printed(number: float | Fraction) -> Fraction:
    """The decimal number that a float prints as, exactly: 0.1 is 1/10.

    >>> printed(0.1)
    Fraction(1, 10)
    """
    return Fraction(number) if isinstance(number, (int, Fraction)) else Fraction(Decimal(repr(float(number))))


def require_scale(scale: Fraction, owner: str) -> None:
    """Raise `InvalidParameter` unless the samplers can draw exactly at this scale.

    >>> require_scale(Fraction(0), "discrete_laplace")
    Traceback (most recent call last):
    leakcap.errors.InvalidParameter: `scale` of `discrete_laplace` must lie between 2**-30 and 2**45. Got ...
    """
    remedy = "Get one from `rational_scale`."
    rational = isinstance(scale, (int, Fraction)) and not isinstance(scale, bool)
    require(rational, "scale", owner, "be a Fraction", scale, remedy)
    require(MIN_SCALE <= scale <= MAX_SCALE, "scale", owner, _RANGE, scale)
    fits = scale.numerator <= MAX_NUMERATOR and scale.denominator <= MAX_DENOMINATOR
    require(fits, "scale", owner, "have a numerator up to 2**60 over one up to 2**52", scale, remedy)
