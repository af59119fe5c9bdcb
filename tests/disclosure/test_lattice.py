"""Tables of the same people under cell keys, exactly: beside every key of every record, and other routes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

from leakcap import AllPriors, Renyi, capacity, refines
from leakcap.channel import Channel
from leakcap.disclosure import (
    CellKey,
    CellMethod,
    PerturbationTable,
    RandomRounding,
    TableSet,
    WholeSet,
    all_margins,
    lattice_channel,
    tree_channel,
)
from leakcap.disclosure.joint import lattice
from leakcap.errors import InvalidParameter

ONE, HALF, FOURTH = Fraction(1), Fraction(1, 2), Fraction(1, 4)
NOISE = [[0, 1, 0, 0], [-1, 0, 0, 1], [0, -2, 1, 0], [1, 0, 0, -1]]
EMPTY_STAY = [[0] * 4, [-1, 0, 0, 1], [0, -2, 1, 0]]
ROWS = {"a": "xxyy", "b": "uvuv"}
ABSENT = [(ONE, dict[int, int]())]
WORLDS = {
    "one": {"absent": ABSENT, "present": [(ONE, {0: 1})]},
    "into an empty kind": {"absent": ABSENT, "present": [(ONE, {1: 1})]},
    "a household in two kinds": {"absent": ABSENT, "present": [(ONE, {0: 1, 3: 1})]},
    "somewhere": {"absent": ABSENT, "present": [(HALF, {0: 1}), (FOURTH, {1: 1}), (FOURTH, {2: 1})]},
    "where": {"0": [(ONE, {0: 1})], "1": [(ONE, {1: 1})], "2": [(ONE, {2: 1})]},
}


def crossed(counts: Sequence[int] = (1, 0, 2, 1)) -> TableSet:
    return TableSet.of_columns(counts, ROWS, all_margins(["a", "b"]))


def versions() -> TableSet:
    """Two dates, of which one lacks a kind, and a coarser table."""
    cells = [[0, 0, 1, 1], [0, 1, 1, -1], [0, 0, 0, 0]]
    return TableSet(np.array([1, 1, 0, 1]), np.array(cells))


def by_every_record(
    noise: Sequence[Sequence[int]], tables: TableSet, added: Sequence[tuple[Fraction, Mapping[int, int]]]
) -> dict[tuple[int, ...], Fraction]:
    """All that is published, for all keys of all records, one record after another."""
    law: dict[tuple[int, ...], Fraction] = {}
    keys = len(noise[0])
    for chance, more in added:
        counts = [int(count) + more.get(kind, 0) for kind, count in enumerate(tables.counts)]
        people = [kind for kind, count in enumerate(counts) for _ in range(count)]
        for drawn in product(range(keys), repeat=len(people)):
            shown = []
            for row in tables.cells:
                for cell in sorted(set(row.tolist()) - {-1}):
                    own = [key for kind, key in zip(people, drawn, strict=True) if row[kind] == cell]
                    shown.append(len(own) + noise[min(len(own), len(noise) - 1)][sum(own) % keys])
            law[tuple(shown)] = law.get(tuple(shown), Fraction(0)) + chance / keys ** len(people)
    return law


def in_fractions(told: Channel) -> list[list[Fraction]]:
    matrix = told.as_exact()
    assert matrix is not None
    return [list(row) for row in matrix]


def law_of(told: Channel, world: str) -> dict[tuple[int, ...], Fraction]:
    row = in_fractions(told)[told.inputs.index(world)]
    outputs: Any = told.outputs
    return {tuple(shown): chance for shown, chance in zip(outputs, row, strict=True) if chance}


@pytest.mark.parametrize("tables", [crossed(), crossed((0, 0, 1, 1)), versions()])
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("noise", [NOISE, EMPTY_STAY])
def test_the_law_is_that_of_all_keys_of_all_records(
    noise: Sequence[Sequence[int]], name: str, tables: TableSet
) -> None:
    told = lattice_channel(noise, tables, WORLDS[name])
    for world, added in WORLDS[name].items():
        assert law_of(told, world) == by_every_record(noise, tables, added)


def test_keys_of_margins_that_are_drawn_anew_are_noticed() -> None:
    """The planted mistake: cells as if their keys were independent."""
    tables = crossed()
    told = law_of(lattice_channel(EMPTY_STAY, tables, WORLDS["one"]), "present")
    counts = [
        int((tables.counts + np.eye(4, dtype=int)[0])[row == cell].sum())
        for row in tables.cells
        for cell in np.unique(row)
    ]
    shown = [[count + EMPTY_STAY[min(count, 2)][key] for key in range(4 if count else 1)] for count in counts]
    apart = {
        one: Fraction(prod(own.count(v) for own, v in zip(shown, one, strict=True)), prod(map(len, shown)))
        for one in told
    }
    assert sum(abs(told[one] - apart[one]) for one in told) > FOURTH


def test_a_tree_is_a_lattice() -> None:
    tables = TableSet.of_columns([1, 2, 1], {"town": "stu", "land": "aab"}, [("town",), ("land",), ()])
    worlds = {"absent": ABSENT, "present": [(HALF, {0: 1}), (HALF, {2: 2})]}
    nobody = [(ONE, dict[str, int]())]
    names = {"absent": nobody, "present": [(HALF, {"s": 1}), (HALF, {"u": 2})]}
    others = [(ONE, {name: {count: ONE} for name, count in zip("stu", (1, 2, 1), strict=True)})]
    told = lattice_channel(NOISE, tables, worlds)
    # Cells, lands (the second is its town once more), the total; the tree has each margin after its cells.
    tree = tree_channel(NOISE, [["s", "t"], "u"], others, names)
    for world in worlds:
        moved = {(s, t, a, u, n): chance for (s, t, u, a, _, n), chance in law_of(told, world).items()}
        assert moved == law_of(tree, world)


@pytest.mark.parametrize(
    "method",
    [CellKey(PerturbationTable((((0, ONE),), ((-1, FOURTH), (0, 3 * FOURTH), (1, ONE))))), RandomRounding(3)],
)
def test_it_tells_what_the_whole_set_of_tables_does(method: CellMethod) -> None:
    keys = 8 if isinstance(method, CellKey) else None
    tables = crossed((3, 5, 2, 4))
    told = lattice_channel(method, tables, WORLDS["one"], keys=keys)
    right = WholeSet(method, tables, keys).at(0).success()
    first, second = in_fractions(told)
    best = float(sum(max(one, other) for one, other in zip(first, second, strict=True)) / 2)
    assert right.lower - 1e-12 <= best <= right.upper + 1e-12
    assert right.upper - right.lower < 1e-6


def test_more_keys_than_can_be_listed_one_by_one() -> None:
    """32 keys of each of four kinds, beside the interval of the whole set and the laws of single cells."""
    method = CellKey(PerturbationTable((((0, ONE),), ((-1, FOURTH), (0, 3 * FOURTH), (1, ONE)))))
    told = lattice_channel(method, crossed((3, 5, 2, 4)), WORLDS["one"], keys=32)
    right = WholeSet(method, crossed((3, 5, 2, 4)), 32).at(0)
    assert not right.exact
    first, second = in_fractions(told)
    best = float(sum(max(one, other) for one, other in zip(first, second, strict=True)) / 2)
    assert right.success().lower <= best <= right.success().upper
    assert sum(first) == sum(second) == 1
    for place, count in enumerate((4, 5, 2, 4)):
        single: dict[int, Fraction] = {}
        for shown, chance in law_of(told, "present").items():
            single[shown[place]] = single.get(shown[place], Fraction(0)) + chance
        assert single == {count - 1: FOURTH, count: HALF, count + 1: FOURTH}


def test_it_is_a_channel_as_any_other() -> None:
    told = lattice_channel(EMPTY_STAY, crossed(), WORLDS["one"])
    fewer = TableSet.of_columns([1, 0, 2, 1], ROWS, [("a", "b"), ()])
    less = lattice_channel(EMPTY_STAY, fewer, WORLDS["one"])
    assert refines(told, less).holds
    assert not refines(less, told).holds
    most = capacity(told, Renyi(1.0), AllPriors())
    assert capacity(less, Renyi(1.0), AllPriors()).upper < most.lower < most.upper <= np.log(2)


def test_what_is_too_large_is_refused_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    places = list(product(range(12), range(20), range(6)))
    columns = {name: [place[i] for place in places] for i, name in enumerate("abc")}
    tables = TableSet.of_columns([6] * len(places), columns, all_margins("abc"))
    noise = [[0] * 256, [-1] * 64 + [0] * 128 + [1] * 64]
    with pytest.raises(
        InvalidParameter, match=r"WholeSet.*at least 256\^3 = 16,777,216 sums after 3 of 1,440 kinds"
    ):
        lattice_channel(noise, tables, WORLDS["one"])
    # Few sums at the start, too many later; and too many to look at.
    monkeypatch.setattr(lattice, "_FIRST_KINDS", 0)
    monkeypatch.setattr(lattice, "_MOST_STATES", 10)
    with pytest.raises(InvalidParameter, match="sums or more"):
        lattice_channel(NOISE, crossed(), WORLDS["one"])
    monkeypatch.undo()
    monkeypatch.setattr(lattice, "_MOST_STEPS", 10)
    with pytest.raises(InvalidParameter, match="4 sums, each with 4 keys"):
        lattice_channel(NOISE, crossed(), WORLDS["one"])
    monkeypatch.undo()
    monkeypatch.setattr(lattice, "_MOST_OUTCOMES", 20)
    with pytest.raises(InvalidParameter, match="at most 20 outcomes to list; `WholeSet"):
        lattice_channel(NOISE, crossed(), WORLDS["one"])


@pytest.mark.parametrize(
    ("worlds", "said"),
    [
        ({"a": [(HALF, {})]}, "fractions from 0 and add up to one"),
        ({"a": [(0.5, {}), (0.5, {})]}, "fractions from 0 and add up to one"),
        ({"a": [(Fraction(3, 2), {}), (-HALF, {})]}, "fractions from 0 and add up to one"),
        ({"a": [(ONE, {4: 1})]}, "add people to kinds from 0 to 3"),
        ({"a": [(ONE, {-1: 1})]}, "add people to kinds from 0 to 3"),
        ({"a": [(ONE, {True: 1})]}, "add people to kinds from 0 to 3"),
        ({"a": [(ONE, {0: -1})]}, "be counts: whole numbers from 0"),
    ],
)
def test_secrets_that_make_no_sense_are_refused(
    worlds: dict[str, list[tuple[Fraction, dict[int, int]]]], said: str
) -> None:
    with pytest.raises(InvalidParameter, match=said):
        lattice_channel(NOISE, crossed(), worlds)


def test_keys_are_asked_for_where_there_are_some() -> None:
    method = CellKey(PerturbationTable((((0, ONE),), ((0, ONE),))))
    with pytest.raises(InvalidParameter, match="be given"):
        lattice_channel(method, crossed(), WORLDS["one"])
    with pytest.raises(InvalidParameter, match="be left out"):
        lattice_channel(RandomRounding(3), crossed(), WORLDS["one"], keys=8)
