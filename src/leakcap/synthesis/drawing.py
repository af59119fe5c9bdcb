"""Rows from a mixture of products, with less chance in them than in independent draws.

Each component has its part of the rows, and each column of a component its keys in their shares, to within
one row for each key. Which keys meet in a row is left to chance, and then evened out (`evening`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leakcap.synthesis.evening import even_out
from leakcap.synthesis.impossible import Impossible
from leakcap.synthesis.targets import Doubles

__all__ = ["drawn_rows"]

_TRIES = 100


def drawn_rows(
    weights: Sequence[Doubles], rows: int, random: np.random.Generator, impossible: Impossible
) -> list[NDArray[np.int32]]:
    """For each column the places of its keys, row by row; the rows stand in no order.

    A row that is impossible gets the keys that rules are about drawn again from its own component; one that
    stays impossible gets them from all possible ones alike, of which `impossible` knows some.
    """
    components = len(weights[0])
    many = np.full(components, rows // components)
    many[random.permutation(components)[: rows % components]] += 1
    found = [np.empty(rows, dtype=np.int32) for _ in weights]
    start = 0
    for component, count in enumerate(many.tolist()):
        part = slice(start, start + count)
        for own, shares in zip(found, weights, strict=True):
            points = (random.permutation(count) + random.random(count)) / max(count, 1)
            own[part] = _places(shares[component], points)
        start += count
    each = np.repeat(np.arange(components), many)
    if impossible:
        _possible(found, weights, each, random, impossible)
    even_out(found, weights, each, random, impossible.possible)
    order = random.permutation(rows)
    return [own[order] for own in found]


def _places(shares: Doubles, points: Doubles) -> NDArray[np.int32]:
    """The key in whose part of the line from 0 to 1 each point lies; never one without a share."""
    ends = np.cumsum(shares)
    last = int(np.nonzero(shares)[0][-1])
    found = np.searchsorted(ends, points * ends[-1], side="right")
    return np.asarray(np.minimum(found, last), dtype=np.int32)


def _possible(
    found: list[NDArray[np.int32]],
    weights: Sequence[Doubles],
    component: NDArray[np.int64],
    random: np.random.Generator,
    impossible: Impossible,
) -> None:
    """Replace the rows that are impossible. Within a component other columns are independent of the rules."""
    wrong = np.nonzero(impossible.holds({place: found[place] for place in impossible.possible}))[0]
    for _ in range(_TRIES):
        if not len(wrong):
            return
        # Rows stand by component here, so that those of each are a part of the wrong ones.
        own, starts = np.unique(component[wrong], return_index=True)
        parts = list(zip(own.tolist(), np.split(wrong, starts[1:]), strict=True))
        for place in impossible.possible:
            for one, rows in parts:
                found[place][rows] = _places(weights[place][one], random.random(len(rows)))
        wrong = wrong[impossible.holds({place: found[place][wrong] for place in impossible.possible})]
    if not len(wrong):
        return
    some = random.integers(0, len(next(iter(impossible.possible.values()))), len(wrong))
    for place, possible in impossible.possible.items():
        found[place][wrong] = possible[some]
