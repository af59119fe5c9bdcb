"""Scores: one number for an output, high where it speaks for the first input. Learned in plain numpy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakcap.numeric.logspace import Floats

__all__ = [
    "Coordinate",
    "CoordinateSum",
    "Distance",
    "Histograms",
    "LogisticScore",
    "LowestBit",
    "Neighbourly",
]


@dataclass(frozen=True)
class Coordinate:
    """One of the coordinates, as it is."""

    index: int = 0

    def __call__(self, numbers: Floats) -> Floats:
        """One number an output."""
        return numbers[:, self.index]


@dataclass(frozen=True)
class CoordinateSum:
    """The sum of the coordinates."""

    def __call__(self, numbers: Floats) -> Floats:
        """One number an output."""
        return np.asarray(numbers.sum(axis=1))


@dataclass(frozen=True)
class Distance:
    """How far a single coordinate is from a centre: noise of two scales differs in both tails at once."""

    centre: float

    def __call__(self, numbers: Floats) -> Floats:
        """One number an output."""
        return np.asarray(np.abs(numbers[:, 0] - self.centre))


@dataclass(frozen=True)
class LowestBit:
    """The exponent of the lowest bit that is set in any coordinate: g for an odd multiple of 2^g.

    Floating-point noise gives itself away there: which multiples of which power of two can come depends on
    the exact answer. Source: Mironov 2012.

    >>> LowestBit()(np.array([[6.0], [0.75]])).tolist()
    [1.0, -2.0]
    """

    def __call__(self, numbers: Floats) -> Floats:
        """One number an output."""
        fraction, exponent = np.frexp(numbers)
        whole = np.ldexp(fraction, 53).astype(np.int64)
        lowest = np.where(whole == 0, 1, whole & -whole)
        place = np.round(np.log2(lowest.astype(np.float64))) + exponent - 53
        return np.asarray(np.where(whole == 0, 2000.0, place).min(axis=1))


@dataclass(frozen=True)
class Histograms:
    """The sum over coordinates of their histograms' log-ratios: the best score if they are independent."""

    edges: tuple[Floats, ...]
    ratios: tuple[Floats, ...]

    def __call__(self, numbers: Floats) -> Floats:
        """One number an output."""
        scores = np.zeros(len(numbers))
        for index, (edges, ratios) in enumerate(zip(self.edges, self.ratios, strict=True)):
            scores += ratios[np.searchsorted(edges, numbers[:, index])]
        return scores

    @staticmethod
    def learn(first: Floats, second: Floats) -> Histograms:
        """From labelled samples, bins at quantiles of both together."""
        pooled = np.concatenate([first, second])
        bins = int(min(64, max(4, len(pooled) ** (1 / 3))))
        edges, ratios = [], []
        for index in range(pooled.shape[1]):
            cuts = np.unique(np.quantile(pooled[:, index], np.arange(1, bins) / bins))
            counts = [
                np.bincount(np.searchsorted(cuts, rows[:, index]), minlength=len(cuts) + 1) + 2.0
                for rows in (first, second)
            ]
            edges.append(cuts)
            ratios.append(np.log(counts[0] / counts[0].sum()) - np.log(counts[1] / counts[1].sum()))
        return Histograms(tuple(edges), tuple(ratios))


@dataclass(frozen=True)
class LogisticScore:
    """Logistic regression on the coordinates, their squares and, where they are few, their products."""

    centre: Floats
    spread: Floats
    weights: Floats

    def __call__(self, numbers: Floats) -> Floats:
        """One number an output."""
        return np.asarray(self._features(numbers) @ self.weights)

    def _features(self, numbers: Floats) -> Floats:
        # Far tails would carry all the weight of a square: they are brought in.
        plain = np.clip((numbers - self.centre) / self.spread, -5.0, 5.0)
        parts = [np.ones((len(plain), 1)), plain, plain**2]
        if plain.shape[1] <= 8:
            parts += [plain[:, [i]] * plain[:, i + 1 :] for i in range(plain.shape[1] - 1)]
        return np.hstack(parts)

    @staticmethod
    def learn(first: Floats, second: Floats) -> LogisticScore:
        """Newton's method on the penalised likelihood."""
        pooled = np.concatenate([first, second])
        low, centre, high = np.quantile(pooled, [0.25, 0.5, 0.75], axis=0)
        model = LogisticScore(centre, np.where(high > low, high - low, 1.0), np.zeros(0))
        features = model._features(pooled)
        labels = np.concatenate([np.ones(len(first)), np.zeros(len(second))])
        weights = np.zeros(features.shape[1])
        for _ in range(12):
            chance = 1.0 / (1.0 + np.exp(-np.clip(features @ weights, -30, 30)))
            slope = features.T @ (labels - chance) - weights
            curve = (features * (chance * (1 - chance))[:, None]).T @ features + np.eye(len(weights))
            weights = weights + np.linalg.solve(curve, slope)
        return LogisticScore(model.centre, model.spread, weights)


@dataclass(frozen=True)
class Neighbourly:
    """The share of the first input's samples among the nearest k learned ones, less that of the second's."""

    points: Floats
    labels: Floats
    spread: Floats
    nearest: int

    def __call__(self, numbers: Floats) -> Floats:
        """One number an output."""
        scaled, points = numbers / self.spread, self.points / self.spread
        lengths = (points**2).sum(axis=1)
        scores = np.empty(len(scaled))
        for start in range(0, len(scaled), 2048):
            part = scaled[start : start + 2048]
            # |a − b|² without |a|², which is the same for all b.
            near = np.argpartition(lengths - 2.0 * part @ points.T, self.nearest - 1, axis=1)
            scores[start : start + 2048] = self.labels[near[:, : self.nearest]].sum(axis=1)
        return scores

    @staticmethod
    def learn(first: Floats, second: Floats, *, most: int = 500) -> Neighbourly:
        """Keeps at most `most` samples of each input."""
        points = np.concatenate([first[:most], second[:most]])
        labels = np.concatenate([np.ones(len(first[:most])), -np.ones(len(second[:most]))])
        low, high = np.quantile(points, [0.25, 0.75], axis=0)
        spread = np.where(high > low, high - low, 1.0)
        return Neighbourly(points, labels, spread, max(1, min(len(points), int(len(points) ** 0.5))))
