"""How often the best guess is right beside a margin of many parts: against the exact channel."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from math import comb

import numpy as np
import pytest

from leakcap.disclosure.joint import laws, margin_channel, margin_success, success
from leakcap.errors import InvalidParameter

FOUR = [[0, 0, 0, 0], [-1, 0, 0, 1], [-2, 0, 1, 1]]
SIX = [[0] * 6, [-1, 0, 0, 0, 1, 1], [0, -2, 0, 1, 0, 1]]
EIGHT = [[0, 0, 1, 0, 0, 0, 0, 0], [-1, -1, 0, 0, 0, 0, 1, 1]]
HUNDRED = [
    [0] * 100,
    sorted([-1] * 21 + [0] * 47 + [1] * 32),
    sorted([-2] * 11 + [-1] * 20 + [0] * 38 + [2] * 31),
]


def exactly(rows: list[list[int]], cell: int, siblings: list[int]) -> float:
    return _exactly(tuple(map(tuple, rows)), cell, tuple(siblings))


@cache
def _exactly(rows: tuple[tuple[int, ...], ...], cell: int, siblings: tuple[int, ...]) -> float:
    exact = margin_channel(rows, cell, siblings).as_exact()
    assert exact is not None
    return float((1 + sum(abs(there - here) for here, there in zip(*exact, strict=True)) / 2) / 2)


CASES = [
    (FOUR, 0, []),
    (FOUR, 0, [0, 2]),
    (FOUR, 2, [2, 1, 0, 3]),
    (FOUR, 1, [1] * 10 + [2] * 10),
    (SIX, 1, [2, 2, 1]),
    (SIX, 0, [1, 2, 2, 1, 2]),
    (EIGHT, 1, [3] * 16),
    (EIGHT, 0, [1] * 15),
    (HUNDRED, 1, [2, 1, 2, 1]),
    (HUNDRED, 0, [3, 1, 2]),
]


@pytest.mark.parametrize(("rows", "cell", "siblings"), CASES)
def test_holds_the_exact_channel(rows: list[list[int]], cell: int, siblings: list[int]) -> None:
    bound = margin_success(rows, cell, siblings)
    assert bound.unit == "probability"
    assert bound.lower <= exactly(rows, cell, siblings) <= bound.upper
    assert bound.width < 1e-7


@pytest.mark.parametrize("room", [2, 5, 9])
@pytest.mark.parametrize("waves", [1, 2, 256])
@pytest.mark.parametrize(("rows", "cell", "siblings"), CASES)
def test_holds_it_where_laws_are_merged_and_waves_left_out(
    rows: list[list[int]],
    cell: int,
    siblings: list[int],
    room: int,
    waves: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(success, "_LAWS", room)
    monkeypatch.setattr(success, "_WAVES", waves)
    bound = margin_success(rows, cell, siblings)
    assert bound.lower <= exactly(rows, cell, siblings) <= bound.upper


def test_the_mergings_are_needed_in_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what merging can change, the interval misses the truth: the tests above would see it."""
    monkeypatch.setattr(success, "_LAWS", 2)
    honest = laws.stepped
    monkeypatch.setattr(laws, "stepped", lambda *given: (honest(*given)[0], 0.0))
    bound = margin_success(HUNDRED, 1, [2, 1, 2, 1])
    assert not bound.lower <= exactly(HUNDRED, 1, [2, 1, 2, 1]) <= bound.upper


def test_whole_numbers_of_any_size() -> None:
    """21 parts, more than the exact channel takes: every outcome by Python's integers."""
    keys, many = 20, 20
    row = [-1] * 7 + [0] * 8 + [1] * 5

    def shown(ways: list[int], value: int) -> list[int]:
        return [sum(ways[s - k] for k in range(keys) if row[k] == value) for s in range(keys)]

    total, lows = 0, [1] + [0] * (keys - 1)
    for low in range(many + 1):
        for none in range(many - low + 1):
            ways = lows
            for value in [0] * none + [1] * (many - low - none):
                ways = shown(ways, value)
            moved = Counter[tuple[int, int]]()
            for sign, people in ((1, 1), (-1, 2)):
                for k in range(keys):
                    for s in range(keys):
                        moved[people + row[k], people + row[(k + s) % keys]] += sign * ways[s]
            total += comb(many, low) * comb(many - low, none) * sum(map(abs, moved.values()))
        lows = shown(lows, -1)
    truth = (1 + Fraction(total, 2 * keys ** (many + 1))) / 2
    bound = margin_success([[0] * keys, row], 1, [5] * many)
    assert Fraction(bound.lower) <= truth <= Fraction(bound.upper)
    assert bound.width < 1e-6


def test_many_siblings_of_an_office() -> None:
    """Twelve parts: more than the cell alone tells, less than if the siblings' keys were known."""
    row = np.repeat(np.arange(-5, 6), [1, 4, 12, 28, 52, 62, 52, 28, 12, 4, 1])
    rows = [[0] * 256, *(np.maximum(row, -count).tolist() for count in range(1, 6))]
    bound = margin_success(rows, 1, [20] * 11)
    assert bound.width < 0.005
    assert exactly(rows, 1, []) < bound.lower
    # Known keys, which add up to s: the cell shows row[k] of 1 or 2 people, the margin row[k + s].
    known = 0.0
    for s in range(256):
        shown = [np.stack([n + np.maximum(row, -n), n + np.roll(row, -s)]) for n in (1, 2)]
        laws = [Counter(map(tuple, both.T.tolist())) for both in shown]
        known += (1 + (laws[0] - laws[1]).total() / 256) / 2 / 256
    assert bound.upper < known


def test_refusals_name_the_function() -> None:
    with pytest.raises(InvalidParameter, match="margin_success"):
        margin_success([[0, -1]], 0, [1])
    with pytest.raises(InvalidParameter, match="margin_success"):
        margin_success(FOUR, 1, [-1])
