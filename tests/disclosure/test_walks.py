"""Walks through the keys, and a guess that is tried: beside every key of every kind, listed."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from leakcap.disclosure import whole_set
from leakcap.disclosure.cell_key import CellKey, PerturbationTable
from leakcap.disclosure.joint import walks
from leakcap.disclosure.joint.guesses import TriedGuess
from leakcap.disclosure.joint.keyed import RowsByKey
from leakcap.disclosure.joint.moves import Moves, PlannedMoves, crossed_columns, moves_near
from leakcap.disclosure.joint.published import TableSet, all_margins
from leakcap.disclosure.whole_set import WholeSet
from leakcap.errors import InvalidParameter

ONE = Fraction(1)
DRAWS = 4000


def noise(runs: tuple[int, ...]) -> CellKey:
    """Perturbations around 0 at runs of so many keys; what would be negative is shown as 0."""
    keys, low = sum(runs), -(len(runs) // 2)
    rows: list[tuple[tuple[int, Fraction], ...]] = [((0, ONE),)]
    for count in range(1, 1 - low):
        shares = zip(range(low, low + len(runs)), np.cumsum(runs).tolist(), strict=True)
        rows.append(tuple({max(value, -count): Fraction(end, keys) for value, end in shares}.items()))
    return CellKey(PerturbationTable(tuple(rows)))


class Case(NamedTuple):
    tables: TableSet
    kind: int
    runs: tuple[int, ...]
    size: int = 1

    @property
    def rows(self) -> RowsByKey:
        return RowsByKey(noise(self.runs), sum(self.runs))

    def plan(self) -> PlannedMoves:
        return moves_near(self.tables, self.kind, 99, np.random.default_rng(0))


def crossed(counts: list[int], shape: tuple[int, ...]) -> TableSet:
    names = "abc"[: len(shape)]
    places = np.indices(shape).reshape(len(shape), -1).tolist()
    return TableSet.of_columns(counts, dict(zip(names, places, strict=True)), all_margins(names))


CASES = {
    "all margins of four kinds": Case(crossed([5, 5, 5, 5], (2, 2)), 1, (1, 4, 6, 4, 1)),
    "few people": Case(crossed([1, 2, 1, 3], (2, 2)), 0, (1, 4, 6, 4, 1)),
    "nobody of one kind": Case(crossed([0, 2, 1, 3], (2, 2)), 3, (1, 4, 6, 4, 1)),
    "a household": Case(crossed([5, 5, 5, 5], (2, 2)), 2, (1, 4, 6, 4, 1), 2),
    "a margin": Case(crossed([5, 5, 5], (3,)), 1, (3, 8, 10, 8, 3)),
    "a tree": Case(
        TableSet.of_columns([4, 4, 4, 4], {"town": "stuv", "land": "xxyy"}, [("town",), ("land",), ()]),
        0,
        (1, 4, 6, 4, 1),
    ),
    "overlaps": Case(
        TableSet.of_columns(
            [3, 3, 3, 3], {"a": "xxyy", "b": "uvuv", "c": "pqqp"}, [("a",), ("b",), ("c",), ()]
        ),
        2,
        (1, 4, 6, 4, 1),
    ),
    "six kinds": Case(crossed([5] * 6, (2, 3)), 4, (1, 2, 2, 2, 1)),
    "three columns, few keys": Case(crossed([5] * 8, (2, 2, 2)), 5, (1, 2, 1)),
}


@cache
def apart(name: str) -> float:
    """The total variation, by every key of every kind."""
    tables, kind, _, size = case = CASES[name]
    rows, keys = case.rows, case.rows.keys
    weights = np.random.default_rng(3).integers(-(1 << 62), 1 << 62, tables.cells_counted) | 1
    laws: list[dict[int, Fraction]] = []
    for more in (0, size):
        counts = tables.counts.copy()
        counts[kind] += more
        full = np.flatnonzero(counts)
        drawn = np.zeros((len(counts), keys ** len(full)), dtype=np.int64)
        drawn[full] = np.indices((keys,) * len(full)).reshape(len(full), -1)
        masks = [row == cell for row in tables.cells for cell in np.unique(row[row >= 0])]
        # A sum with odd weights that are drawn tells outcomes apart, modulo 2^64.
        code = np.zeros(drawn.shape[1], dtype=np.int64)
        for own, weight in zip(masks, weights, strict=True):
            code += rows.row(int(counts[own].sum()))[drawn[own].sum(axis=0) % keys] * weight
        pairs = (found.tolist() for found in np.unique(code, return_counts=True))
        laws.append({one: Fraction(many, keys ** len(full)) for one, many in zip(*pairs, strict=True)})
    nothing = Fraction(0)
    differ = (abs(laws[0].get(one, nothing) - laws[1].get(one, nothing)) for one in laws[0] | laws[1])
    return float(sum(differ, nothing) / 2)


def walked(name: str, plan: PlannedMoves, draws: int = DRAWS) -> tuple[float, float]:
    """What walks make of the total variation, and its standard error."""
    case = CASES[name]
    values = walks.walked(case.tables, plan, case.rows, case.size, draws, np.random.default_rng(1))
    return 1 - float(values.mean()), float(values.std() / draws**0.5)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walks, "_STEPS", 200)


@pytest.mark.parametrize("name", CASES)
def test_walks_tell_no_less_than_all_that_is_published(name: str) -> None:
    found, error = walked(name, CASES[name].plan())
    assert found > apart(name) - 5 * error


@pytest.mark.parametrize("name", ["all margins of four kinds", "few people"])
def test_slow_walks_tell_hardly_more(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walks, "_STEPS", 600)
    found, error = walked(name, CASES[name].plan())
    assert found < apart(name) + 0.01 + 5 * error
    fewer = CASES[name].plan()
    (own,) = {tuple(moves[0].cells.ravel().tolist()) for moves in fewer.rounds}
    assert len(own) == fewer.near
    # Where the person's key alone is moved all other keys are known: much more is told.
    alone = fewer._replace(rounds=[moves[:1] for moves in fewer.rounds])
    assert walked(name, alone)[0] > apart(name) + 0.02


def planted(found: tuple[float, float], name: str) -> bool:
    """Whether a mistake is seen: less is told than by what is published."""
    return found[0] < apart(name) - 5 * found[1]


def test_planted_moves_that_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "all margins of four kinds"
    monkeypatch.setattr(walks._Near, "rise", lambda *_: np.zeros(DRAWS))
    monkeypatch.setattr(walks._Near, "outside", lambda _, at: (np.zeros(at.shape[1]), np.zeros(at.shape[1])))
    assert planted(walked(name, CASES[name].plan()), name)


def test_planted_cells_elsewhere_that_are_not_looked_at() -> None:
    name = "all margins of four kinds"
    plan = CASES[name].plan()

    def near(moves: Moves) -> Moves:
        kept = [
            np.flatnonzero(moves.cells[:, move] < plan.near) for move in range(moves.cells.shape[1])
        ]  # fmt: skip
        most = min(map(len, kept))
        rows = np.array([one[:most] for one in kept]).T
        return Moves(
            np.take_along_axis(moves.cells, rows, axis=0), np.take_along_axis(moves.signs, rows, axis=0)
        )

    blind = plan._replace(
        cells=plan.cells[: plan.near], rounds=[[near(moves) for moves in one] for one in plan.rounds]
    )
    assert planted(walked(name, blind), name)


def test_planted_runs_that_are_matched_though_they_show_something_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "all margins of four kinds"
    matched = walks._matched
    monkeypatch.setattr(walks, "_matched", lambda absent, _: matched(absent, absent))
    assert planted(walked(name, CASES[name].plan()), name)


@pytest.mark.parametrize("name", CASES)
def test_no_guess_is_right_more_often_than_the_best(name: str) -> None:
    case = CASES[name]
    guess, generator = TriedGuess(case.tables, case.kind, case.rows, case.size), np.random.default_rng(2)
    right = np.mean([
        (guess.says_present(world, DRAWS, generator) == bool(world)).mean() for world in (0, 1)
    ])  # fmt: skip
    best = (1 + apart(name)) / 2
    error = (best * (1 - best) / 2 / DRAWS) ** 0.5
    assert right < best + 5 * error
    assert right > best - 0.03


def test_columns_are_found() -> None:
    lattice = crossed([1] * 12, (2, 3, 2))
    found = crossed_columns(lattice)
    assert sorted(len(np.unique(one)) for one in found) == [2, 2, 3]
    assert np.unique(found, axis=1).shape == (3, 12)
    for name in ("a tree", "overlaps", "a margin"):
        tables = CASES[name].tables
        places = np.unique(crossed_columns(tables), axis=1)
        assert places.shape[1] == len(tables.counts)


def test_moves_are_changes_of_keys() -> None:
    """Each move's signs are what a change of one key of each kind does to the cells."""
    case = CASES["three columns, few keys"]
    plan = case.plan()
    effects = np.array([case.tables.cells[table] == cell for table, cell in plan.cells], dtype=float)
    for one in plan.rounds:
        for moves in one:
            for cells, signs in zip(moves.cells.T, moves.signs.T, strict=True):
                change = np.zeros(len(plan.cells))
                change[cells] = signs
                kinds = np.linalg.lstsq(effects, change, rcond=None)[0]
                assert np.allclose(effects @ np.rint(kinds), change)
                assert any(cell < plan.near for cell in cells)


def interval(case: Case, **given: Any) -> Any:
    return WholeSet(noise(case.runs), case.tables, sum(case.runs), case.size).at(case.kind, **given)


@pytest.mark.parametrize(("name", "by"), [("all margins of four kinds", 0.0), ("nobody of one kind", 0.02)])
def test_draws_make_the_interval_narrower(name: str, by: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_set, "few_enough", lambda *_: False)
    case, best = CASES[name], (1 + apart(name)) / 2
    proved, found = interval(case).success(), interval(case, draws=2000)
    bound = found.success()
    assert proved.lower <= bound.lower <= best <= bound.upper <= proved.upper
    assert bound.width <= proved.width - by
    assert found.doubt == 1e-6
    assert "wrong with probability 1e-06" in bound.method
    assert interval(case).doubt == 0.0
    assert found.delta(0.0).lower <= apart(name) <= found.delta(0.0).upper
    same, again, other = (interval(case, draws=1000, seed=seed).less[-1].least for seed in (3, 3, 4))
    assert np.array_equal(same, again)
    assert not np.array_equal(same, other)


def test_what_is_known_exactly_is_not_drawn() -> None:
    assert interval(CASES["nobody of one kind"], draws=1000).doubt == 0.0


@pytest.mark.parametrize("draws", [-1, 999, 10**7 + 1, True, 2000.0])
def test_one_line_of_refusal(draws: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"1,000 to 10\^7") as error:
        interval(CASES["few people"], draws=draws)
    assert "\n" not in str(error.value)
    with pytest.raises(InvalidParameter, match="whole number from 0"):
        interval(CASES["few people"], seed=-1)
