"""The joint law of a margin and its parts, beside every key of every record."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from leakcap.disclosure.joint import margin_channel
from leakcap.errors import InvalidParameter

FOUR = [[0, 0, 0, 0], [-1, 0, 0, 1], [-2, 0, 1, 1]]
EIGHT = [[0, 0, 1, 0, 0, 0, 0, 0], [-1, -1, 0, 0, 0, 0, 1, 1]]


def by_every_key(rows: list[list[int]], counts: list[int]) -> Counter[tuple[int, ...]]:
    """Published cells, siblings as they stand, and their total, for each choice of every record's key."""
    keys, seen = len(rows[0]), Counter[tuple[int, ...]]()
    last = len(rows) - 1
    for drawn in product(range(keys), repeat=sum(counts)):
        places, own = iter(drawn), []
        for count in counts:
            own.append(sum(next(places) for _ in range(count)) % keys)
        noise = [rows[min(n, last)][key] for n, key in zip(counts, own, strict=True)]
        margin = rows[min(sum(counts), last)][sum(own) % keys]
        # Siblings are told apart here; equal ones need not be, which a sorted outcome says.
        rest = sorted((min(n, last), value) for n, value in zip(counts[1:], noise[1:], strict=True) if n)
        seen[(counts[0] + noise[0], sum(counts) + margin, *(value for _, value in rest))] += 1
    return seen


@pytest.mark.parametrize(
    ("rows", "cell", "siblings"),
    [
        (FOUR, 0, []),
        (FOUR, 0, [0]),
        (FOUR, 0, [2, 1]),
        (FOUR, 1, [1, 1]),
        (FOUR, 2, [2, 0, 1]),
        (FOUR, 1, [3]),
        (EIGHT, 1, [2]),
        (EIGHT, 0, [1, 2]),
    ],
)
def test_every_key_of_every_record(rows: list[list[int]], cell: int, siblings: list[int]) -> None:
    channel = margin_channel(rows, cell, siblings)
    exact = channel.as_exact()
    assert exact is not None
    for world in (0, 1):
        truth = by_every_key(rows, [cell + world, *siblings])
        total = len(rows[0]) ** (cell + world + sum(siblings))
        law = dict(zip(channel.outputs, exact[world], strict=True))
        assert {y: p for y, p in law.items() if p} == {y: Fraction(n, total) for y, n in truth.items()}


@pytest.mark.parametrize("scattered", [False, True])
def test_every_pair_of_keys_of_a_large_modulus(scattered: bool) -> None:
    size = 600
    row = np.repeat([-1, 0, 1, 2], [90, 260, 170, 80])
    if scattered:  # a value is shown at many runs of keys, also around 0
        row = np.random.default_rng(600).permutation(row)
    rows = [[0] * size, row.tolist()]
    channel = margin_channel(rows, 1, [7])
    exact = channel.as_exact()
    assert exact is not None
    own, sibling = np.divmod(np.arange(size**2), size)
    for world in (0, 1):
        shown = np.stack([1 + world + row[own], 8 + world + row[(own + sibling) % size], row[sibling]])
        outcomes, numbers = np.unique(shown, axis=1, return_counts=True)
        truth = {
            tuple(y): Fraction(int(n), size**2) for y, n in zip(outcomes.T.tolist(), numbers, strict=True)
        }
        assert {y: p for y, p in zip(channel.outputs, exact[world], strict=True) if p} == truth


def test_an_empty_sibling_hides_nothing() -> None:
    alone = margin_channel(EIGHT, 1, [])
    beside = margin_channel(EIGHT, 1, [0, 0])
    assert alone == beside


def test_a_wrong_modulus_is_another_law() -> None:
    wrong = [[*row, 0] for row in FOUR]
    truth = by_every_key(FOUR, [1, 2])
    channel = margin_channel(wrong, 1, [2])
    exact = channel.as_exact()
    assert exact is not None
    law = dict(zip(channel.outputs, exact[0], strict=True))
    assert any(law.get(y, 0) != Fraction(n, 4**3) for y, n in truth.items())


@pytest.mark.parametrize(
    ("rows", "cell", "siblings", "words"),
    [
        ([[0, -1]], 0, [1], "negative"),
        ([[0, 0], [0]], 0, [1], "one length"),
        ([[0, 0], [0, True]], 0, [1], "whole numbers"),
        ([[0, 0], [0, 0.5]], 0, [1], "whole numbers"),
        (FOUR, -1, [1], "counts"),
        (FOUR, 1, [1.0], "counts"),
        (FOUR, 1, [1] * 30, "margin_success"),
    ],
)
def test_one_line_of_refusal(rows: list[list[int]], cell: int, siblings: list[int], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words) as error:
        margin_channel(rows, cell, siblings)
    assert "\n" not in str(error.value)
