"""What a binary observation of known log-odds tells about a fair bit."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leakcap.numeric.logspace import Floats

__all__ = ["log_two_cosh", "tilt_information"]

_SERIES = [1.0 / (2 * k * (2 * k - 1)) for k in range(14, 0, -1)]


def log_two_cosh(t: ArrayLike) -> Floats:
    """ln(2 cosh t) without overflow.

    >>> float(log_two_cosh(0.0)) == float(np.log(2.0))
    True
    """
    size = np.abs(np.asarray(t, dtype=np.float64))
    return np.asarray(size + np.log1p(np.exp(-2.0 * size)))


def tilt_information(t: ArrayLike) -> Floats:
    """ln 2 − h(p) for a bit whose posterior log-odds ln(p/(1−p)) is 2t: t tanh t − ln cosh t, in nats.

    With r = tanh t this is Σ_k r^{2k}/(2k(2k−1)), used for small t so that the relative precision stays
    (it is t²/2 there, and the closed form cancels).

    >>> float(tilt_information(1e-12))
    5e-25
    """
    size = np.abs(np.asarray(t, dtype=np.float64))
    square = np.tanh(size) ** 2
    series = np.zeros_like(square)
    for coefficient in _SERIES:
        series = (series + coefficient) * square
    fade = np.exp(-2.0 * np.minimum(size, 400.0))
    closed = np.log(2.0) - np.log1p(fade) - 2.0 * np.minimum(size, 400.0) * fade / (1.0 + fade)
    return np.where(size < 0.25, series, closed)
