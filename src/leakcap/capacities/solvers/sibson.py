"""Sibson's capacity of order α: sup over priors of Sibson's information, by Newton, with a certificate.

With m_y = max_x C_xy, K = (C/m)^α and S = πK, Sibson's information is (α/(α−1)) ln F, F = Σ m S^{1/α}:
concave in the prior for α > 1, convex (and minimised) for α < 1. With Q ∝ m S^{1/α} every row is at
D_α(row ‖ Q) = ln T_x/(α−1) + ln F, T_x = Σ_y K_xy m_y S_y^{1/α−1}: one product prices all rows.
Source: Sibson 1969; Csiszár 1995; Nakiboğlu 2019.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from leakcap.bound import Bound
from leakcap.capacities.solvers.newton import Certified, Iterate, Problem, Search
from leakcap.numeric.logspace import Floats, safe_log
from leakcap.numeric.rounding import up

__all__ = ["certified_sibson", "lowered_end", "sibson_capacity"]

_UNIT = 2.0**-53
_TINY = 1e-300
_SMOOTHING = 2.0**-44
_NEAR_ONE = 0.01


def sibson_capacity(rows: Floats, alpha: float, *, gap: float = 1e-9) -> Bound:
    """min over Q of max over rows of D_α(row ‖ Q) for α in (0, 1) ∪ (1, ∞), in nats, certified.

    >>> round(sibson_capacity(np.array([[0.9, 0.1], [0.1, 0.9]]), 2.0).upper, 9)
    0.494696242
    """
    found = certified_sibson(rows, alpha, gap=gap).bound
    return replace(found, upper=lowered_end(found, rows))


def lowered_end(found: Bound, rows: Floats) -> float:
    """The upper end. Capacities increase in the order: maximal leakage bounds them all, were the search to
    fail."""
    ceiling = max(up(math.log(math.fsum(np.max(rows, axis=0))), 256, 1.0), found.lower)
    return min(found.upper, ceiling)


def certified_sibson(rows: Floats, alpha: float, *, gap: float = 1e-9) -> Certified:
    """The same with the prior and the centre (over the columns with mass) that prove it."""
    matrix = np.asarray(rows, dtype=np.float64)
    matrix = matrix[:, matrix.any(axis=0)]
    problem: Problem = _NearOne(matrix, alpha) if abs(alpha - 1.0) < _NEAR_ONE else _Powers(matrix, alpha)
    return Search(problem).run(gap, f"Sibson capacity of order {alpha:g}", "Sibson 1969; Csiszár 1995")


def _residue(rows: Floats) -> float:
    width = rows.shape[1]
    return float(np.max(np.abs(rows.sum(axis=1) - 1.0))) + float(width * _UNIT)


class _Powers:
    """Orders away from one."""

    def __init__(self, rows: Floats, alpha: float) -> None:
        self.alpha, self.order = alpha, alpha - 1.0
        self.shape = (rows.shape[0], rows.shape[1])
        self.step_exponent = min(max(1.0, self.order), 1e9)
        self.top = rows.max(axis=0)
        logs = safe_log(rows)
        self.depth = float(-np.min(logs[rows > 0], initial=0.0))
        self.powers = np.exp(np.maximum(alpha * (logs - np.log(self.top)), -750.0)) * (rows > 0)
        self.average = self.powers.mean(axis=0)
        # What every logarithm of a sum may be wrong by, before the division by |α − 1|: a power errs by
        # 4α|ln C| units, sums by their length, unnormalised rows by α times their residue.
        units = 4.0 * alpha * (self.depth + 1.0) + sum(self.shape) + 40.0
        self.fuzz = units * _UNIT + 2.0 * alpha * _residue(rows)

    def image(self, prior: Floats) -> Floats:
        return np.asarray(prior @ self.powers)

    def place(self, prior: Floats, image: Floats) -> Iterate:
        raised, log_scale = self._raised(image)
        lower_log = math.log(math.fsum(self.top * raised)) + log_scale / self.alpha
        noise = (self.fuzz + 4 * _UNIT * self.alpha * (1.0 + abs(lower_log))) / abs(self.order)
        lower = max(self.alpha / self.order * lower_log - noise - _TINY, 0.0)
        log_tilt, log_centre, log_norm = self._tilt(image)
        bend = float(log_tilt.max())
        tilted = self.powers @ np.exp(log_tilt - bend) + (_TINY if self.order > 0 else 0.0)
        distance = (safe_log(tilted) + bend) / self.order + log_norm
        spread = 4 * _UNIT * (float(np.max(np.abs(log_tilt))) + abs(bend)) / abs(self.order)
        upper = max(float(np.max(distance)) + noise + spread + 8 * _UNIT * (1.0 + abs(log_norm)), lower)
        value = self.alpha / self.order * lower_log
        return Iterate(prior, image, log_centre, distance, value, lower, upper)

    def _raised(self, image: Floats) -> tuple[Floats, float]:
        scale = float(image.max())
        return np.asarray((image / scale) ** (1.0 / self.alpha)), math.log(scale)

    def _smooth(self, image: Floats) -> Floats:
        return np.asarray(np.maximum((1.0 - _SMOOTHING) * image + _SMOOTHING * self.average, _TINY))

    def _tilt(self, image: Floats) -> tuple[Floats, Floats, float]:
        """ln(m S^{1/α−1}), ln(m S^{1/α}) and the logarithm of the sum of the latter."""
        log_image, log_top = np.log(self._smooth(image)), np.log(self.top)
        log_centre = log_top + log_image / self.alpha
        shift = float(log_centre.max())
        log_norm = math.log(math.fsum(np.exp(log_centre - shift))) + shift
        return log_centre - log_image, log_centre, log_norm

    def _scale(self, place: Iterate) -> Floats:
        log_image = np.log(self._smooth(place.image))
        log_weight = np.log(self.top) + (1.0 / self.alpha - 2.0) * log_image
        return np.asarray(np.clip(log_weight - place.value * self.order / self.alpha, -600.0, 600.0))

    def scaled(self, place: Iterate, index: NDArray[np.intp]) -> Floats:
        return np.asarray(self.powers[index] * np.exp(0.5 * self._scale(place)))

    def gradient(self, place: Iterate, index: NDArray[np.intp]) -> Floats:
        ahead = np.clip(self.order * (place.distance[index] - place.value), -50.0, 50.0)
        return np.asarray(self.alpha * np.expm1(ahead) / self.order)

    def curvature_product(self, place: Iterate, index: NDArray[np.intp]) -> Floats:
        # K diag(m S^{1/α−2}) S = T, and T/F = e^{(α−1)(D−I)}.
        return np.asarray(np.exp(np.clip(self.order * (place.distance[index] - place.value), -700.0, 700.0)))

    def approximate_gradient(
        self, place: Iterate, index: NDArray[np.intp], scaled: Floats, part: Floats
    ) -> Floats | None:
        return None


class _NearOne:
    """Orders near one, where powers are 1 + small: everything through expm1 and log1p."""

    step_exponent = 1.0

    def __init__(self, rows: Floats, alpha: float) -> None:
        self.rows, self.alpha, self.order = rows, alpha, alpha - 1.0
        self.shape = (rows.shape[0], rows.shape[1])
        self.live = rows > 0
        self.logs = np.where(self.live, safe_log(rows), 0.0)
        self.average = rows.mean(axis=0)
        self.unit = (4.0 * float(-self.logs.min()) + sum(self.shape) + 60.0) * _UNIT + 4.0 * _residue(rows)

    def image(self, prior: Floats) -> Floats:
        return np.asarray(prior @ self.rows)

    def place(self, prior: Floats, image: Floats) -> Iterate:
        smooth = self._smooth(image)
        bend = self._bend(prior, smooth)
        raw = self._raw_information(prior, image)
        noise = 8.0 * self.unit * (1.0 + abs(raw))
        log_centre = np.log(smooth) + self.order * bend
        log_norm = math.log(math.fsum(np.exp(log_centre)))
        distance, magnitude = self._distances(log_centre)
        upper = float(np.max(distance + 8.0 * self.unit * (1.0 + magnitude))) + log_norm + 16 * _UNIT
        lower = max(raw - noise, 0.0)
        return Iterate(prior, image, log_centre, distance + log_norm, raw, lower, max(upper, lower))

    def _bend(self, prior: Floats, centre: Floats) -> Floats:
        """b with S^{1/α} = q e^{tb}: log1p(t Σ_x π_x r (e^{tL} − 1)/t)/(αt)."""
        ratio = np.where(self.live, self.logs - np.log(centre), 0.0)
        slope = prior @ (self.rows * (np.expm1(self.order * ratio) / self.order)) / centre
        return np.log1p(self.order * slope) / (self.order * self.alpha)

    def _raw_information(self, prior: Floats, image: Floats) -> float:
        seen = image > 0
        centre = np.where(seen, image, 1.0)
        bend = np.where(seen, self._bend(prior, centre), 0.0)
        total = float(np.sum(image * (np.expm1(self.order * bend) / self.order)))
        return self.alpha * math.log1p(self.order * total) / self.order

    def _distances(self, log_centre: Floats) -> tuple[Floats, Floats]:
        ratio = np.where(self.live, self.logs - log_centre, 0.0)
        terms = self.rows * (np.expm1(self.order * ratio) / self.order)
        return np.log1p(self.order * terms.sum(axis=1)) / self.order, np.abs(terms).sum(axis=1)

    def scaled(self, place: Iterate, index: NDArray[np.intp]) -> Floats:
        return np.asarray(self.rows[index] / np.sqrt(self._smooth(place.image)))

    def gradient(self, place: Iterate, index: NDArray[np.intp]) -> Floats:
        return place.distance[index] - place.value

    def curvature_product(self, place: Iterate, index: NDArray[np.intp]) -> Floats:
        return np.ones(index.size)

    def approximate_gradient(
        self, place: Iterate, index: NDArray[np.intp], scaled: Floats, part: Floats
    ) -> Floats | None:
        return None

    def _smooth(self, image: Floats) -> Floats:
        return np.asarray(np.maximum((1.0 - _SMOOTHING) * image + _SMOOTHING * self.average, _TINY))
