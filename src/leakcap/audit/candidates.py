"""Which partitions are tried: by kind, by value, by intervals of raw and of learned scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from leakcap.audit.outcomes import Outcomes
from leakcap.audit.partition import ByKind, ByScore, ByValue, CellPartition, Cells, Score, shrunk_log_ratios
from leakcap.audit.scores import (
    Coordinate,
    CoordinateSum,
    Distance,
    Histograms,
    LogisticScore,
    LowestBit,
    Neighbourly,
)
from leakcap.numeric.logspace import Floats

__all__ = ["Candidate", "candidates"]

MAX_VALUES = 400
"""A score with more different values among the learned samples is cut into intervals."""

MAX_CELLS = 96
MAX_COORDINATES = 16


@dataclass(frozen=True)
class Candidate:
    """A partition; `blind` when no label was used for it: then all learned samples may judge it."""

    partition: CellPartition
    blind: bool


def candidates(
    first: Outcomes, second: Outcomes, names: Sequence[str], *, bits: bool = True
) -> Iterator[Candidate]:
    """Partitions worth trying, learned from labelled samples of the two inputs.

    `bits`: whether to look at the binary expansions of floats too, or only at the real numbers they mean.
    """
    kinds = tuple(names)
    if len(np.unique(np.concatenate([first.kinds, second.kinds]))) > 1 or not first.numeric.any():
        yield Candidate(_by_kind(first, second, kinds), blind=False)
    numbers = first.numbers[first.numeric], second.numbers[second.numeric]
    if not first.width or min(map(len, numbers)) < 2:
        return
    for name, score in _scores(*numbers):
        if isinstance(score, LowestBit) and not bits:
            continue
        yield from _of_score(name, score, first, second, kinds)


def _by_kind(first: Outcomes, second: Outcomes, names: tuple[str, ...]) -> ByKind:
    empty = ByKind(names, np.arange(len(names) + 1))
    return ByKind(
        names, np.argsort(shrunk_log_ratios(empty.counts(first), empty.counts(second)), kind="stable")
    )


def _scores(first: Floats, second: Floats) -> Iterator[tuple[str, Score]]:
    width = first.shape[1]
    if width == 1:
        yield "output", Coordinate(0)
        yield "exponent of the output's lowest bit", LowestBit()
        centre = float(np.median(np.concatenate([first, second])))
        yield f"distance of the output from {centre:.6g}", Distance(centre)
        return
    for index in _telling(first, second)[:MAX_COORDINATES]:
        yield f"coordinate {index} of the output", Coordinate(int(index))
    yield "sum of the coordinates", CoordinateSum()
    yield "exponent of the coordinates' lowest bit", LowestBit()
    yield "score of the coordinates' histograms", Histograms.learn(first, second)
    yield "score of a logistic regression", LogisticScore.learn(first, second)
    if width <= 32:
        yield "vote of the nearest neighbours", Neighbourly.learn(first, second)


def _telling(first: Floats, second: Floats) -> Cells:
    """Coordinates, those whose distributions differ most first (Kolmogorov's distance on 32 quantiles)."""
    pooled = np.concatenate([first, second])
    cuts = np.quantile(pooled, np.arange(1, 32) / 32, axis=0)
    gaps = [
        max(abs(float((first[:, d] <= c).mean() - (second[:, d] <= c).mean())) for c in cuts[:, d])
        for d in range(pooled.shape[1])
    ]
    return np.argsort(-np.asarray(gaps), kind="stable")


def _of_score(
    name: str, score: Score, first: Outcomes, second: Outcomes, names: tuple[str, ...]
) -> Iterator[Candidate]:
    parts = score(first.numbers[first.numeric]), score(second.numbers[second.numeric])
    pooled = np.concatenate(parts)
    values = np.unique(pooled)
    learned = not isinstance(score, Coordinate | LowestBit | CoordinateSum)
    if len(values) <= MAX_VALUES:
        plain = ByValue(name, score, values, np.arange(len(values) + 2))
        order = np.argsort(shrunk_log_ratios(plain.counts(first), plain.counts(second)), kind="stable")
        yield Candidate(ByValue(name, score, values, order), blind=False)
    if len(values) > 8:
        edges = np.unique(np.quantile(pooled, np.arange(1, MAX_CELLS) / MAX_CELLS, method="inverted_cdf"))
        # The extremes too: rare events can be the worst ones.
        edges = np.unique(np.concatenate([edges, np.quantile(pooled, [0.002, 0.998], method="inverted_cdf")]))
        yield from _of_intervals(name, score, edges, first, second, names, learned=learned)


def _of_intervals(
    name: str,
    score: Score,
    edges: Floats,
    first: Outcomes,
    second: Outcomes,
    names: tuple[str, ...],
    *,
    learned: bool,
) -> Iterator[Candidate]:
    """The intervals in their own order (the ratio rises with the score) and by their ratios."""
    odd = np.unique(np.concatenate([first.kinds[~first.numeric], second.kinds[~second.numeric]]))
    kinds = tuple(int(k) for k in odd)
    inside = np.arange(len(edges) + 1)
    rest = np.arange(len(edges) + 1, len(edges) + 2 + len(kinds))
    # A kind that is not known yet has no place in the order: nothing is guessed of it.
    plain = ByScore(name, score, edges, kinds, names, inside)
    ratios = shrunk_log_ratios(plain.counts(first), plain.counts(second))
    if kinds:
        # A kind that comes about equally often under both inputs goes to the middle, where no guess is made.
        clear = np.abs(ratios[rest]) > 2.0 / np.sqrt(1.0 + (plain.counts(first) + plain.counts(second))[rest])
        low, high = rest[clear & (ratios[rest] < 0)], rest[clear & (ratios[rest] >= 0)]
        half = len(inside) // 2
        rising = np.concatenate([low, inside[:half], rest[~clear], inside[half:], high])
        yield Candidate(ByScore(name, score, edges, kinds, names, rising), blind=False)
    else:
        yield Candidate(plain, blind=not learned)
    if not learned:
        coarse = edges[:: max(1, len(edges) // 32)]
        plain = ByScore(name, score, coarse, kinds, names, np.arange(len(coarse) + 2 + len(kinds)))
        ratios = shrunk_log_ratios(plain.counts(first), plain.counts(second))
        order = np.argsort(ratios, kind="stable")
        yield Candidate(ByScore(name, score, coarse, kinds, names, order), blind=False)
