"""Numbers as a reader meets them: rounded outward, so that no sentence promises more than is true."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal

from leakcap.numeric.rounding import ceil_to

__all__ = ["at_most", "error_text", "percent", "times"]


def at_most(value: float, digits: int = 3) -> str:
    """`value` rounded up to `digits` significant digits.

    >>> at_most(0.123301), at_most(0.0012499), at_most(0.0), at_most(5e-324)
    ('0.124', '0.00125', '0', '4.95e-324')
    """
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return "∞"
    exponent = math.floor(math.log10(abs(value)))
    if exponent >= 9:
        return f"{_upward(value, digits - 1 - exponent):.{digits - 1}e}"
    decimals = max(digits - 1 - exponent, 0)
    if decimals > 12:
        return f"{_small(value, decimals):.{digits - 1}e}"
    return f"{ceil_to(value * (1 - 1e-13), decimals):.{decimals}f}"


def error_text(value: float) -> str:
    """How far an answer may be off: three digits, rounded up, without needless zeros; thousands apart.

    >>> error_text(30.0), error_text(3155.2), error_text(0.01234)
    ('30', '3,160', '0.0124')
    """
    if not 0.0 < value < math.inf:
        return at_most(value)
    exact = Decimal(repr(float(value))) * (1 - Decimal("1e-13"))
    step = Decimal(1).scaleb(exact.adjusted() - 2)
    return f"{float(exact.quantize(step, ROUND_CEILING)):,.12g}"


def _upward(value: float, decimals: int) -> float:
    # Only for display of the very large: one part in 10^(digits) upward.
    exponent = math.floor(math.log10(abs(value)))
    mantissa = math.ceil(value / 10.0**exponent * 10.0 ** (decimals + exponent) * (1 - 1e-13))
    return float(mantissa * 10.0 ** (-decimals))


def _small(value: float, decimals: int) -> Decimal:
    # In decimals, because the powers of ten that the smallest doubles need are no doubles.
    return (Decimal(value) * (1 - Decimal("1e-13"))).quantize(Decimal(1).scaleb(-decimals), ROUND_CEILING)


def percent(probability: float) -> str:
    """A probability as a percentage, rounded up at the second decimal.

    >>> percent(0.524979187), percent(1.0)
    ('52.50 %', '100.00 %')
    """
    return f"{min(ceil_to(probability * 100 * (1 - 1e-13), 2), 100.0):.2f} %"


def times(factor: float) -> str:
    """A factor, rounded up.

    >>> times(1.10517), times(math.inf)
    ('1.11', 'any factor')
    """
    return at_most(factor, 3) if math.isfinite(factor) else "any factor"
