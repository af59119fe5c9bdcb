"""Intervals of weighted totals, means and ratios: over the noise, over the sampling, and over both."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from leakcap.arrays import np
from leakcap.release.measurements.measurement import NoisyMeasurement, noisy_of
from leakcap.release.numbers.exact_integers import ExactIntegers, doubles
from leakcap.release.numbers.fieller import crossings, quotients
from leakcap.release.numbers.laws import law_of
from leakcap.release.numbers.sampled_tails import sampled_tail
from leakcap.release.numbers.tails import Floats
from leakcap.release.plan import Plan

__all__ = ["ROUNDED", "VARIANCE_BEYOND", "WeightedQuotient", "column_centre", "noise_around", "sampled_reach"]

VARIANCE_BEYOND = 0.005
"""With this probability the variance is larger than it is taken to be."""

_BEYOND = 0.045
"""And with this one the noise and the sampling then go too far."""

_LEAST = 1e-300
ROUNDED = 1e-9
"""More than rounding makes of a root, as a part of it."""

Ends = tuple[Floats, Floats]


class WeightedQuotient:
    """Noisy sums of weighted numbers above and below the line, and those of which their variance is made.

    `within` is what the quotient can be.
    """

    def __init__(self, plan: Plan, noisy: Sequence[ExactIntegers], within: tuple[float, float]) -> None:
        self.noisy, self.parts = noisy, noisy_of(plan.parts)
        self.units = [float(part.unit) for part in self.parts]
        # Of the first two sums, which count in steps of the second.
        self.step = float(self.parts[0].unit / self.parts[1].unit)
        self.scales = self.parts[0].noise.width, self.parts[1].noise.width
        self.law = law_of(self.parts[0].noise)
        self.within = within

    def sample(self, beyond: float) -> tuple[Floats, Floats, Floats]:
        """The sample's figure, and between what it lies but with this probability."""
        both = self.noisy[0], self.noisy[1]
        return quotients(both, self.scales, self.within, beyond, step=self.step, law=self.law)

    def error(self) -> tuple[Floats, Floats, Floats]:
        """√V over Σ w·z, at most the width of what the quotient can be.

        V is that at all r of an interval that misses with 2 %; its sums miss with 1 %, and so does Σ w·z.
        """
        value, low, high = self.sample(0.02)
        weights, off = doubles(self.noisy[1]), self.parts[1].error(0.01)
        none, all_ = self.variance(np.array((low, high)), 0.01)
        _, _, turning = self._sums(0.01)
        most = np.sqrt(np.maximum(all_.max(axis=0), 0.0)) * (1.0 + ROUNDED)
        least = none.min(axis=0)
        for place in (np.zeros(low.shape), *turning):
            inside = np.clip(place, low, high)
            least = np.minimum(least, self.variance(inside, 0.01)[0])
        width = self.within[1] - self.within[0]
        few, many = (np.maximum(weights + one, 1.0) * self.units[1] for one in (-off, off))
        ends = (
            np.minimum(np.sqrt(np.maximum(least, 0.0)) * (1.0 - ROUNDED) / many, width),
            np.where(weights > off, np.minimum(most / few, width), width),
        )
        sure = np.maximum(weights, 1.0) * self.units[1]
        middle = np.sqrt(np.maximum(self.variance(value, 1.0)[1], 0.0)) / sure
        return np.clip(middle, *ends), *ends

    def population(self) -> tuple[Floats, Floats, Floats]:
        """The sample's figure, and the r at which Σ w(x − r·z) may be 0 but for noise and sampling."""
        value, least, most = self.sample(0.05)
        x, y = doubles(self.noisy[0]), doubles(self.noisy[1])

        given, off, _ = self._sums(2 * VARIANCE_BEYOND)

        def excess_of(x: Floats, y: Floats, given: list[Floats]) -> Callable[[Floats], Floats]:
            def excess(r: Floats) -> Floats:
                far = np.abs(self.step * x - r * y) - 1e-15 * (np.abs(self.step * x) + np.abs(r * y))
                noises = [(np.full(r.shape, self.step), float(self.scales[0])), (-r, float(self.scales[1]))]
                square = np.maximum(_variance_at(r, given, off)[1], 0.0)
                deviation = np.sqrt(square) * (1.0 + ROUNDED) / self.units[1]
                tail = sampled_tail(self.law, noises, deviation, far)
                return np.asarray(np.log(np.maximum(tail, _LEAST) / _BEYOND))

            return excess

        low, high = crossings(
            excess_of(x, y, given),
            value,
            (np.full(x.shape, self.within[0]), np.full(x.shape, self.within[1])),
            lambda some: excess_of(x[some], y[some], [one[some] for one in given]),
        )
        return value, np.minimum(low, least), np.maximum(high, most)

    def variance(self, r: Floats, beyond: float) -> Ends:
        """Between what the variance of Σ w(x − r·z) lies; each end is passed with half this probability."""
        given, off, _ = self._sums(beyond)
        return _variance_at(r, given, off)

    def _sums(self, beyond: float) -> tuple[list[Floats], list[float], Ends]:
        """The variance's three sums, how far each is off, and where the lower end of the variance turns."""
        given = [doubles(one) * unit for one, unit in zip(self.noisy[2:], self.units[2:], strict=True)]
        off = [0.0] * 3
        if beyond < 1.0:
            parts = zip(self.parts[2:], self.units[2:], strict=True)
            off = [part.error(beyond / 3) * unit for part, unit in parts]
        few = np.maximum(given[2] - off[2], 0.0)
        turning = [
            np.divide(given[1] + side * off[1], few, out=np.zeros(few.shape), where=few > 0.0)
            for side in (-1, 1)
        ]
        return given, off, (np.minimum(turning[0], 0.0), np.maximum(turning[1], 0.0))


def _variance_at(r: Floats, given: Sequence[Floats], off: Sequence[float]) -> Ends:
    """The least and the most of Σ w(w − 1)(x − r·z)² with its three sums so far off."""
    middle = given[0] - 2.0 * r * given[1]
    far = off[0] + 2.0 * np.abs(r) * off[1]
    few, many = np.maximum(given[2] - off[2], 0.0), np.maximum(given[2] + off[2], 0.0)
    return middle - far + r * r * few, middle + far + r * r * many


def column_centre(bounds: tuple[float, float]) -> float:
    """About the middle of what the column can be: a whole number where one lies within."""
    middle = bounds[0] / 2 + bounds[1] / 2
    whole = float(round(middle))
    return whole if bounds[0] < whole < bounds[1] else middle


def sampled_reach(part: NoisyMeasurement, deviation: Floats) -> Floats:
    """How far noise and sampling go, in steps: further with probability `_BEYOND` at most."""
    law, scale = law_of(part.noise), float(part.noise.width)
    most = part.error(_BEYOND / 2) + 2.4 * deviation + 1.0

    def excess_of(deviation: Floats) -> Callable[[Floats], Floats]:
        def excess(t: Floats) -> Floats:
            tail = sampled_tail(law, [(1.0, scale)], deviation, np.abs(t))
            return np.asarray(np.log(np.maximum(tail, _LEAST) / _BEYOND))

        return excess

    ends = -most, most
    return crossings(
        excess_of(deviation), np.zeros(most.shape), ends, lambda some: excess_of(deviation[some])
    )[1]


def noise_around(values: Floats, off: Floats, step: float) -> Ends:
    """The ends of values so far off, in the unit of a step, rounded outward."""
    return _down(_down(values - off) * step), _up(_up(values + off) * step)


def _down(numbers: Floats) -> Floats:
    return np.nextafter(numbers, -np.inf)


def _up(numbers: Floats) -> Floats:
    return np.nextafter(numbers, np.inf)
