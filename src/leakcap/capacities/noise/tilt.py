"""What a binary observation of known log-odds tells about a fair bit."""

from __future__ import annotations

import math

__all__ = ["log_two_cosh", "tilt_information"]

_SERIES = [1.0 / (2 * k * (2 * k - 1)) for k in range(14, 0, -1)]


def log_two_cosh(t: float) -> float:
    """ln(2 cosh t) without overflow.

    >>> log_two_cosh(0.0) == math.log(2.0), log_two_cosh(-1000.0)
    (True, 1000.0)
    """
    size = abs(t)
    return size + math.log1p(math.exp(-2.0 * size))


def tilt_information(t: float) -> float:
    """ln 2 − h(p) for a bit whose posterior log-odds ln(p/(1−p)) is 2t: t tanh t − ln cosh t, in nats.

    With r = tanh t this is Σ_k r^{2k}/(2k(2k−1)), used for small t so that the relative precision stays
    (it is t²/2 there, and the closed form cancels).

    >>> tilt_information(1e-12)
    5e-25
    """
    size = abs(t)
    if size < 0.25:
        square, series = math.tanh(size) ** 2, 0.0
        for coefficient in _SERIES:
            series = (series + coefficient) * square
        return series
    fade = math.exp(-2.0 * size)
    return math.log(2.0) - math.log1p(fade) - (2.0 * size * fade / (1.0 + fade) if fade else 0.0)
