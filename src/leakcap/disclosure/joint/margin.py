"""A margin and its parts under cell-key perturbation: what they tell together about one person."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from leakcap.channel import Channel
from leakcap.disclosure.joint.runs import carried_back, carried_on, runs_of
from leakcap.errors import require
from leakcap.numeric.logspace import Floats

__all__ = ["both_shown", "checked_count", "checked_table", "margin_channel", "shown_together"]

_COUNTED = 1 << 53
"""Numbers of ways up to which doubles add and multiply whole numbers without rounding."""
_COLUMNS = 1 << 18
_VERB = "margin_channel"

Ways = dict[tuple[int, ...], Floats]
"""What the other parts show, and in how many ways their keys do so with each sum of keys."""


def margin_channel(perturbation: Sequence[Sequence[int]], cell: int, siblings: Sequence[int]) -> Channel:
    """The exact channel from one person's presence to a cell, its siblings and their margin.

    `perturbation[count][key]` is what is added to a cell of that count at that key; the last row stands for
    all larger counts, too. Each record has a secret key, uniform on 0, …, K − 1; a cell's key is the sum of
    its records' keys modulo K, that of an empty cell 0, the margin's the sum of its parts' keys. `cell`
    is the number of other people in the person's cell, `siblings` those of the other parts; both are known.

    Two rows of fractions, "absent" and "present". An output is (published value of the cell, published value
    of the margin, perturbations of the siblings that are not empty: siblings with the same row side by side,
    each group in increasing order, which loses nothing). Proof: docs/theory/cell-keys.md. `InvalidParameter`
    for a perturbation that makes a count negative and where the law is too large to be exact.

    >>> channel = margin_channel([[0, 0, 0, 0], [-1, 0, 0, 1]], 1, [3])
    >>> channel.inputs, channel.outputs[0], channel.as_exact()[0, 0]
    (('absent', 'present'), (0, 3, -1), Fraction(1, 16))
    """
    rows = checked_table(perturbation, _VERB)
    counts = [
        checked_count("cell", cell, _VERB),
        *(checked_count("siblings", each, _VERB) for each in siblings),
    ]
    keys = rows.shape[1]
    full = [count for count in counts[1:] if count > 0]
    require(
        keys ** (len(full) + 1) <= _COUNTED,
        "siblings",
        _VERB,
        f"leave at most 2^53 combinations of {keys} keys: `margin_success` takes larger margins",
        f"{len(full)} that are not empty",
    )
    groups = Counter(min(count, len(rows) - 1) for count in full)
    shown = [np.unique(rows[row]).size for row in groups]
    sizes = [math.comb(many + size - 1, size - 1) for size, many in zip(shown, groups.values(), strict=True)]
    require(
        math.prod(sizes) * np.unique(rows).size ** 2 <= _COLUMNS,
        "siblings",
        _VERB,
        "show at most 2^18 different outcomes: `margin_success` takes larger margins",
        f"{len(full)} that are not empty",
    )
    ways = _siblings(rows, groups)
    seen = np.array(list(ways.values()))
    joint: dict[tuple[int, ...], list[int]] = {}
    for world in (0, 1):
        here, there = counts[0] + world, sum(counts) + world
        for own, margin, pairs in shown_together(rows, here, there):
            for rest, number in zip(ways, (seen @ pairs).tolist(), strict=True):
                if number:
                    joint.setdefault((own, margin, *rest), [0, 0])[world] += int(number)
    outputs = sorted(joint)
    total = keys ** (len(full) + 1)
    matrix = [[Fraction(joint[output][world], total) for output in outputs] for world in (0, 1)]
    return Channel(matrix, inputs=("absent", "present"), outputs=outputs)


def _siblings(rows: np.ndarray, groups: Counter[int]) -> Ways:
    """For every outcome of the siblings: over the sum of their keys, in how many ways it comes about."""
    ways: Ways = {(): np.eye(1, rows.shape[1])[0]}
    for row, many in sorted(groups.items()):
        runs = {int(value): runs_of(rows[row] == value) for value in np.unique(rows[row])}
        grown: Ways = {}
        for before, numbers in ways.items():
            ordered: Ways = {(): numbers}
            for _ in range(many):
                ordered = {
                    (*outcome, value): carried_on(reached, runs[value])
                    for outcome, reached in ordered.items()
                    for value in runs
                    if not outcome or value >= outcome[-1]
                }
            for outcome, reached in ordered.items():
                same = math.prod(math.factorial(each) for each in Counter(outcome).values())
                grown[(*before, *outcome)] = reached * (math.factorial(many) // same)
        ways = grown
    return ways


def shown_together(rows: np.ndarray, here: int, there: int) -> Iterator[tuple[int, int, Floats]]:
    """Values of cell and margin, and over the siblings' sum of keys, how many keys of the cell show both."""
    own, margin = rows[min(here, len(rows) - 1)], rows[min(there, len(rows) - 1)]
    return both_shown(here + own, there + margin, bool(here))


def both_shown(own: np.ndarray, margin: np.ndarray, people: bool) -> Iterator[tuple[int, int, Floats]]:
    """The same, from what is published of the cell and of the margin at each key; is somebody in the cell?"""
    keys = len(own)
    held = np.ones(keys) if people else keys * np.eye(1, keys)[0]  # an empty cell's key is 0, K times of K
    for first in np.unique(own):
        cells = held * (own == first)
        if not cells.any():
            continue
        for second in np.unique(margin):
            # The margin's key is k + s: over s, the sum over k of both.
            yield int(first), int(second), carried_back(cells, runs_of(margin == second))


def checked_table(perturbation: Sequence[Sequence[int]], verb: str) -> np.ndarray:
    """The perturbation of each count and key as an array."""
    lengths = {len(row) for row in perturbation}
    require(
        len(lengths) == 1 and 2 <= min(lengths) <= 4096,
        "perturbation",
        verb,
        "have rows of one length, the number of keys, from 2 to 4096",
        sorted(lengths),
    )
    for count, row in enumerate(perturbation):
        for value in row:
            require(
                isinstance(value, int | np.integer) and not isinstance(value, bool) and abs(value) < 1 << 31,
                "perturbation",
                verb,
                "hold whole numbers of 32 bits",
                value,
            )
            require(
                count + value >= 0, "perturbation", verb, f"not make a count of {count} negative", int(value)
            )
    return np.array([[int(value) for value in row] for row in perturbation], dtype=np.int64)


def checked_count(name: str, count: int, verb: str) -> int:
    """The number of people in a cell."""
    whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
    require(whole and 0 <= count < 1 << 53, name, verb, "be counts: whole numbers from 0", count)
    return int(count)
