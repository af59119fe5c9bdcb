"""Whole sets of tables under cell keys: beside every key of every record, in fractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from time import process_time

import numpy as np
import pytest

from leakcap.disclosure import whole_set
from leakcap.disclosure.cell_key import CellKey, PerturbationTable
from leakcap.disclosure.cells import CellMethod, FollowedBy
from leakcap.disclosure.joint.published import TableSet, all_margins, keys_are_independent
from leakcap.disclosure.place import PlaceRisk
from leakcap.disclosure.rounding import NearestRounding, RandomRounding
from leakcap.disclosure.suppression import SmallCells
from leakcap.disclosure.whole_set import WholeSet
from leakcap.errors import InvalidParameter

KEYS = 4
ONE, FOURTH = Fraction(1), Fraction(1, 4)
TABLE = PerturbationTable((
    ((0, ONE),),
    ((-1, FOURTH), (0, 3 * FOURTH), (1, ONE)),
    ((0, 2 * FOURTH), (-2, 3 * FOURTH), (1, ONE)),
))  # fmt: skip
CELL_KEY = CellKey(TABLE)
NOISE = TABLE.by_key(KEYS)
Law = dict[tuple[int, ...], Fraction]


def set_of(
    counts: list[int], shape: tuple[int, ...], tables: list[tuple[str, ...]] | None = None
) -> TableSet:
    names = "abc"[: len(shape)]
    places = np.indices(shape).reshape(len(shape), -1).tolist()
    return TableSet.of_columns(counts, dict(zip(names, places, strict=True)), tables or all_margins(names))


# All margins of 2 × 2, 2 × 3 and 2 × 2 × 2, with empty kinds among them, a hierarchy, two dates, overlaps.
SETS = {
    "2 × 2": set_of([1, 1, 2, 1], (2, 2)),
    "2 × 2, one empty": set_of([2, 1, 1, 0], (2, 2)),
    "2 × 2, two empty": set_of([2, 0, 0, 2], (2, 2)),
    "2 × 3": set_of([1, 0, 1, 1, 0, 1], (2, 3)),
    "2 × 2 × 2": set_of([1, 0, 0, 1, 0, 1, 1, 0], (2, 2, 2)),
    "one margin": set_of([1, 2, 1], (3,)),
    "a tree": TableSet.of_columns([1, 1, 1, 2], {"town": "stuv", "land": "xxyy"}, [("town",), ("land",), ()]),
    "two dates": TableSet.of_columns(
        [2, 1, 1, 1],
        {"before": ["x", "x", "y", ""], "after": ["x", "y", "y", "x"]},
        [("before",), ("after",)],
    ),
    "overlaps": TableSet.of_columns(
        [1, 1, 2, 1], {"a": "xxyy", "b": "uvuv", "c": "pqqp"}, [("a",), ("b",), ("c",)]
    ),
}


def by_every_record(
    tables: TableSet, kind: int, size: int, noise: list[list[int]] = NOISE
) -> tuple[Law, Law]:
    """All published cells of both worlds, for each choice of every record's key."""
    laws, keys = [], len(noise[0])
    for more in (0, size):
        people = [place for place, count in enumerate(tables.counts.tolist()) for _ in range(count)]
        people += [kind] * more
        seen = Counter[tuple[int, ...]]()
        cells = [(table, cell) for table in tables.cells for cell in sorted({*table.tolist()} - {-1})]
        members = [[i for i, place in enumerate(people) if table[place] == cell] for table, cell in cells]
        for drawn in product(range(keys), repeat=len(people)):
            seen[
                tuple(
                    len(who) + noise[min(len(who), 2)][sum(drawn[i] for i in who) % keys] for who in members
                )
            ] += 1
        laws.append({shown: Fraction(many, keys ** len(people)) for shown, many in seen.items()})
    return laws[0], laws[1]


@cache
def truth(name: str, kind: int, size: int = 1) -> tuple[Law, Law]:
    return by_every_record(SETS[name], kind, size)


def success(laws: tuple[Law, Law], prior: Fraction = Fraction(1, 2)) -> Fraction:
    nothing = Fraction(0)
    return sum(
        (
            max((1 - prior) * laws[0].get(shown, nothing), prior * laws[1].get(shown, nothing))
            for shown in laws[0] | laws[1]
        ),
        nothing,
    )


def nats(laws: tuple[Law, Law], prior: float) -> float:
    """Mutual information under a prior: the capacity is its largest value."""
    told = 0.0
    for shown in laws[0] | laws[1]:
        rows = [float(law.get(shown, 0)) for law in laws]
        both = (1 - prior) * rows[0] + prior * rows[1]
        for weight, row in zip((1 - prior, prior), rows, strict=True):
            if row:
                told += weight * row * np.log(row / both)
    return told


def assert_holds(risk: PlaceRisk, laws: tuple[Law, Law]) -> None:
    for prior in (Fraction(1, 2), Fraction(1, 10), Fraction(4, 5)):
        bound = risk.success(float(prior))
        assert bound.lower <= success(laws, prior) <= bound.upper
    most = max(nats(laws, prior) for prior in np.linspace(0.3, 0.7, 41))
    assert most <= risk.capacity.upper + 1e-12
    assert most >= risk.capacity.lower - 1e-3
    nothing = Fraction(0)
    for epsilon in (0.0, 1.0):
        factor = Fraction(np.exp(epsilon))
        excess = max(
            sum(max(nothing, one.get(shown, nothing) - factor * two.get(shown, nothing)) for shown in one)
            for one, two in (laws, laws[::-1])
        )
        assert risk.delta(epsilon).lower <= excess <= risk.delta(epsilon).upper
    proved = any(not laws[0].get(shown) or not laws[1].get(shown) for shown in laws[0] | laws[1])
    assert proved
    assert risk.epsilon.upper == np.inf


EVERY = [(name, kind) for name, tables in SETS.items() for kind in range(len(tables.counts))]
SOME = [case for place, case in enumerate(EVERY) if place % 3 == 0]


@pytest.mark.parametrize(("name", "kind"), SOME)
def test_every_key_of_every_record(name: str, kind: int) -> None:
    risk = WholeSet(CELL_KEY, SETS[name], KEYS).at(kind)
    assert risk.exact
    assert risk.success().width < 1e-3
    assert_holds(risk, truth(name, kind))


@pytest.mark.parametrize(("name", "kind"), SOME)
def test_the_interval_of_large_tables_holds_it_too(
    name: str, kind: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_set, "few_enough", lambda *_: False)
    assert_holds(WholeSet(CELL_KEY, SETS[name], KEYS).at(kind), truth(name, kind))


# Wider noise with six keys, so that siblings tell something that the person's own cells do not.
SIXTH = Fraction(1, 6)
WIDE = PerturbationTable((
    ((0, ONE),),
    ((-1, 2 * SIXTH), (0, 4 * SIXTH), (1, 5 * SIXTH), (2, ONE)),
    ((-2, SIXTH), (-1, 2 * SIXTH), (0, 4 * SIXTH), (1, 5 * SIXTH), (2, ONE)),
))  # fmt: skip


def test_siblings_at_many_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where there are many places: a margin that is not weighed tells less; the truth lies between."""
    monkeypatch.setattr(whole_set, "few_enough", lambda *_: False)
    monkeypatch.setattr(whole_set, "_ALL", 0)
    monkeypatch.setattr(whole_set, "_NEAR", 0)
    tables = set_of([1, 1, 2, 1], (2, 2))
    right = [success(by_every_record(tables, kind, 1, WIDE.by_key(6))) for kind in range(4)]
    lower = []
    for common in (0, 1, 48):
        monkeypatch.setattr(whole_set, "_COMMON", common)
        found = {risk.kind: risk.success() for risk in WholeSet(CellKey(WIDE), tables, 6).worst()}
        assert all(found[kind].lower <= one <= found[kind].upper for kind, one in enumerate(right))
        lower.append(sum(found[kind].lower for kind in range(4)))
    assert lower[0] + 0.02 < lower[1] < lower[2] - 0.02


def test_planted_margins_taken_as_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two margins whose siblings differ alone: what one tells is not what the other tells."""
    monkeypatch.setattr(whole_set, "few_enough", lambda *_: False)
    columns = {"town": "stuvw", "land": "xxyyy"}
    tables = TableSet.of_columns([1, 1, 1, 1, 1], columns, [("town",), ("land",)])
    right = [success(by_every_record(tables, kind, 1, WIDE.by_key(6))) for kind in (0, 2)]

    def held(whole: WholeSet) -> list[bool]:
        found = [whole.at(kind).success() for kind in (0, 2)]
        return [bound.lower <= one <= bound.upper for bound, one in zip(found, right, strict=True)]

    assert held(WholeSet(CellKey(WIDE), tables, 6)) == [True, True]
    monkeypatch.setattr(WholeSet, "_like", lambda *_: ())
    assert held(WholeSet(CellKey(WIDE), tables, 6)) == [True, False]


# Nobody else is of the person's kind, and a cell that leaves it out counts the same others as one of theirs.
SAME_OTHERS = {
    "rows and columns": (set_of([1, 0, 0, 1], (2, 2), [("a",), ("b",)]), 1),
    "a margin, and a part of it alone": (
        TableSet.of_columns([0, 1, 1, 1], {"a": "xxyz", "b": ["", "u", "", ""]}, [("a",), (), ("b",)]),
        0,
    ),
    "of three dimensions": (set_of([0, 1, 0, 0, 1, 0, 0, 1], (2, 2, 2), [("a",), ("b", "c")]), 0),
}


@pytest.mark.parametrize("name", SAME_OTHERS)
def test_a_cell_of_the_same_others_tells_the_key_of_the_person(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_set, "few_enough", lambda *_: False)
    tables, kind = SAME_OTHERS[name]
    laws = by_every_record(tables, kind, 1)
    risk = WholeSet(CELL_KEY, tables, KEYS).at(kind)
    assert not risk.exact
    assert_holds(risk, laws)
    # Planted: no other cell but those of the person; others of the kind, whose keys hide theirs.
    if name == "of three dimensions":
        known = whole_set.told_with_known_keys
        monkeypatch.setattr(whole_set, "told_with_known_keys", lambda pairs, _: known(pairs, False))
    else:
        monkeypatch.setattr(TableSet, "apart", lambda *_: True)
    assert WholeSet(CELL_KEY, tables, KEYS).at(kind).success().upper < success(laws)


def missed(names: list[str]) -> list[str]:
    """Sets and kinds whose interval does not hold the truth."""
    found = []
    for name in names:
        for kind in range(len(SETS[name].counts)):
            bound = WholeSet(CELL_KEY, SETS[name], KEYS).at(kind).success()
            if not bound.lower <= success(truth(name, kind)) <= bound.upper:
                found.append(f"{name}, {kind}")
    return found


def test_planted_cells_taken_as_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that follow from one another, taken as independent: the tests above would see it."""
    monkeypatch.setattr(whole_set, "few_enough", lambda *_: False)
    assert missed(list(SETS)[:4]) == []
    monkeypatch.setattr(whole_set, "keys_are_independent", lambda *_: True)
    assert missed(list(SETS)[:4]) != []


def test_planted_keys_of_empty_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cell whose key is as good as any other's, in whichever way the law is found."""
    pair = whole_set.Pair
    monkeypatch.setattr(whole_set, "few_enough", lambda *_: False)
    monkeypatch.setattr(whole_set, "Pair", lambda absent, present, people: pair(absent, present, True))
    table = PerturbationTable((((0, FOURTH), (1, ONE)), *TABLE.rows[1:]))
    tables = SETS["one margin"]
    empty = TableSet(np.array([0, 2, 1]), tables.cells[:1])
    # Without the person 0 is published, as key 0 says; with them 0, 1, 1 or 2.
    right = (1 + Fraction(3, 4)) / 2
    found = WholeSet(CellKey(table), empty, KEYS).at(0).success()
    assert not found.lower <= right <= found.upper
    monkeypatch.setattr(whole_set, "Pair", pair)
    found = WholeSet(CellKey(table), empty, KEYS).at(0).success()
    assert found.lower <= right <= found.upper


def test_one_margin_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_set, "few_enough", lambda *_: False)
    risk = WholeSet(CELL_KEY, SETS["one margin"], KEYS).at(0)
    assert risk.exact
    assert risk.success().width < 1e-6


@pytest.mark.parametrize(("name", "size"), [("2 × 2", 2), ("two dates", 2), ("a tree", 2), ("one margin", 3)])
def test_households(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_holds(WholeSet(CELL_KEY, SETS[name], KEYS, size).at(1), truth(name, 1, size))
    monkeypatch.setattr(whole_set, "few_enough", lambda *_: False)
    assert_holds(WholeSet(CELL_KEY, SETS[name], KEYS, size).at(1), truth(name, 1, size))


@pytest.mark.parametrize("method", [RandomRounding(3), NearestRounding(3), SmallCells(below=3)])
def test_methods_with_a_chance_of_their_own_in_every_cell(method: CellMethod) -> None:
    tables = set_of([2, 0, 4, 1], (2, 2))
    for kind, others in enumerate([(2, 2, 6, 7), (0, 2, 1, 7), (4, 5, 6, 7), (1, 5, 1, 7)]):
        law: list[dict[tuple[object, ...], Fraction]] = []
        for world in (0, 1):
            cells = [method.law(count + world) for count in others]
            law.append({
                tuple(shown for shown, _ in each): np.prod([chance for _, chance in each])
                for each in product(*(cell.items() for cell in cells))
            })  # fmt: skip
        right = sum(max(law[0].get(y, Fraction(0)), law[1].get(y, Fraction(0))) for y in law[0] | law[1]) / 2
        bound = WholeSet(method, tables).at(kind).success()
        assert bound.lower <= right <= bound.upper
        assert bound.width < 1e-3


def test_suppression_after_cell_keys() -> None:
    """Words are what is seen: the cells of one margin, of which those below 2 are left out."""
    method = FollowedBy(CELL_KEY, SmallCells(below=2))
    tables, kind = SETS["one margin"], 0

    def told(laws: tuple[Law, Law]) -> tuple[Law, Law]:
        found = []
        for law in laws:
            seen: Law = {}
            for shown, chance in law.items():
                hidden = tuple(-1 if shown_one == 1 else shown_one for shown_one in shown)
                seen[hidden] = seen.get(hidden, Fraction(0)) + chance
            found.append(seen)
        return found[0], found[1]

    bound = WholeSet(method, tables, KEYS).at(kind).success()
    assert bound.lower <= success(told(truth("one margin", kind))) <= bound.upper
    with pytest.raises(InvalidParameter, match="no chance of its own"):
        WholeSet(FollowedBy(CELL_KEY, RandomRounding(3)), tables, KEYS).at(0)


@pytest.mark.parametrize("keys", [2, 4, 6])
def test_independent_keys_by_listing_all(keys: int) -> None:
    """A set of cells has independent keys where each choice of their keys comes about equally often."""
    rng = np.random.default_rng(keys)
    found = set()
    for _ in range(60):
        cells = rng.random((3, 4)) < 0.6
        drawn = np.indices((keys,) * 4).reshape(4, -1)
        shown = np.unique(cells.astype(int) @ drawn % keys, axis=1, return_counts=True)[1]
        truth = len(shown) == keys**3 and len(set(shown.tolist())) == 1
        assert keys_are_independent(list(cells), keys) == truth
        found.add(truth)
    assert found == {True, False}


BAD: list[tuple[Callable[[], object], str]] = [
    (lambda: WholeSet(CELL_KEY, SETS["2 × 2"], keys=5).at(0), "whole number of keys"),
    (lambda: WholeSet(CELL_KEY, SETS["2 × 2"], keys=1).at(0), "from 2 to 4096"),
    (lambda: WholeSet(RandomRounding(3), SETS["2 × 2"], keys=4), "no cell keys"),
    (lambda: WholeSet(CELL_KEY, SETS["2 × 2"]), "how many different keys"),
    (lambda: WholeSet(CELL_KEY, SETS["2 × 2"], KEYS, 0), "1000 people"),
    (lambda: WholeSet(CELL_KEY, SETS["2 × 2"], KEYS).at(4), "from 0 to 3"),
    (lambda: WholeSet(RandomRounding(3), set_of([1] * 70_000, (70_000,))).worst(), "few enough"),
    (lambda: TableSet.of_columns([1], {"a": "x"}, [("b",)]), "cross columns"),
    (lambda: TableSet.of_columns([1, 2], {"a": "x"}, [("a",)]), "2 values"),
    (lambda: TableSet.of_columns([-1], {"a": "x"}, [("a",)]), "whole numbers from 0"),
    (lambda: TableSet.of_columns([1], {"a": "x"}, []), "a row for each table"),
]


@pytest.mark.parametrize(("call", "words"), BAD)
def test_one_line_of_refusal(call: Callable[[], object], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words) as error:
        call()
    assert "\n" not in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), EVERY)
def test_every_kind_of_every_set(name: str, kind: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_holds(WholeSet(CELL_KEY, SETS[name], KEYS).at(kind), truth(name, kind))
    monkeypatch.setattr(whole_set, "few_enough", lambda *_: False)
    assert_holds(WholeSet(CELL_KEY, SETS[name], KEYS).at(kind), truth(name, kind))


# Maximum-entropy rows with D = 5 and V = 3: how many of 256 keys show each perturbation from −n to 5.
SHOWN = [
    [256],
    [160, 42, 15, 9, 7, 9, 14],
    [60, 58, 50, 38, 25, 14, 8, 3],
    [18, 35, 51, 55, 47, 29, 14, 6, 1],
    [5, 14, 31, 50, 58, 49, 30, 13, 5, 1],
    [1, 4, 14, 30, 50, 58, 50, 30, 14, 4, 1],
]
OFFICE = PerturbationTable(
    tuple(
        tuple((value - n, Fraction(int(end), 256)) for value, end in enumerate(np.cumsum(each)))
        for n, each in enumerate(SHOWN)
    )
)


@pytest.mark.slow
@pytest.mark.parametrize("keys", [256, 4096])
def test_a_table_of_an_office_with_all_margins_takes_a_minute_of_two_cores(keys: int) -> None:
    tables = set_of(np.random.default_rng(0).poisson(6, 12 * 20 * 6).tolist(), (12, 20, 6))
    assert tables.cells_counted == 13 * 21 * 7
    started = process_time()
    risks = WholeSet(CellKey(OFFICE), tables, keys).worst(1440)
    assert process_time() - started < 120
    assert len(risks) == 1440
    # Four independent pairs, each with five siblings: .844 ± .005 by simulation at 256 keys.
    assert np.median([risk.success().lower for risk in risks]) > 0.84
    for risk in risks:
        assert len(risk.cells) == 8
        # Eight independent large cells: .7933 by the accountant; with all keys known .979 by simulation.
        assert risk.success().lower > 0.793
        assert risk.success().upper < 0.991 or not risk.cells[0].others


@pytest.mark.parametrize(
    ("shape", "runs", "least", "most"),
    [((2, 2), (6, 1, 1), 0.0, 0.0), ((2, 2), (3, 2, 3), 0.8, 0.9), ((2, 2, 2), (1, 2, 1), 1.0, 1.0)],
)
def test_the_truth_can_be_at_either_end(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], runs: tuple[int, ...], least: float, most: float
) -> None:
    """How far the truth, by all keys, is from the lower end to the upper one of the interval given else."""
    keys, ends = sum(runs), np.cumsum(runs).tolist()
    steps = tuple((value, Fraction(end, keys)) for value, end in zip((-1, 0, 1), ends, strict=True))
    method = CellKey(PerturbationTable((((0, ONE),), steps)))
    tables = set_of([5] * int(np.prod(shape)), shape)
    truth = WholeSet(method, tables, keys).at(0)
    assert truth.exact
    monkeypatch.setattr(whole_set, "few_enough", lambda *_: False)
    given = WholeSet(method, tables, keys).at(0).success()
    way = (truth.success().upper - given.lower) / (given.upper - given.lower)
    assert least - 1e-6 <= way <= most + 1e-6
