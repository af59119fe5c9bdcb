"""Candidates of three columns: sensitivity by brute force, price, noise that is drawn once, and intervals."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest

from leakcap.errors import InvalidQuery
from leakcap.policy.document import Policy
from leakcap.release import PrivateTable, exposure_so_far
from leakcap.report.records.recovered import released_of
from leakcap.report.records.tables import TablesRecord
from leakcap.report.sources import record_of
from leakcap.statement import statement_of
from leakcap.synthesis import choosing, release_chosen_tables, synthesize, table_errors
from leakcap.synthesis.choice import TableChoice
from leakcap.synthesis.choosing import chosen_tables
from leakcap.tables import TablesQuestion
from leakcap.tables.residuals import noisy_residuals, residual_integers
from leakcap.tables.workload import margins_of_places
from seeded import SeededSource
from synthesis.worlds import POLICY

COLUMNS, SIZES = ("sex", "ward", "old", "rooms"), (2, 3, 2, 4)


def asked(rho: float) -> TablesQuestion:
    return TablesQuestion(columns=COLUMNS, ways=3, rho=rho)


def choice(rho: float, rounds: int, **policy: Any) -> TableChoice:
    return TableChoice.of(asked(rho), Policy.model_validate(POLICY | policy), rounds)


def counts(rows: np.ndarray) -> dict[tuple[int, ...], np.ndarray]:
    """The exact counts of all tables of up to three columns, row by row."""
    found = {}
    for ways in range(4):
        for table in itertools.combinations(range(4), ways):
            cells = np.zeros(tuple(SIZES[place] for place in table), dtype=np.int64)
            for row in rows:
                cells[tuple(row[place] for place in table)] += 1
            found[table] = cells
    return found


def everyone() -> pyarrow.Table:
    """`old` says whether sex and ward's parity differ: no pair of columns tells anything of the third."""
    draw = np.random.default_rng(5)
    sex, ward, rooms = draw.choice(2, 4_000), draw.choice([0, 1], 4_000), draw.choice(4, 4_000)
    return pyarrow.table(
        {
            "sex": np.array(["f", "m"])[sex],
            "ward": np.array(["north", "south", "west"])[ward],
            "old": (sex + ward) % 2 == 1,
            "rooms": rooms + 1,
        }
    )


def test_a_link_that_no_pair_has_is_chosen_and_is_in_the_file() -> None:
    with PrivateTable(everyone(), policy=POLICY, ledger="sqlite://") as table:
        found = release_chosen_tables(table, asked(200.0), 1, source=SeededSource(1))
        (entry,) = table.ledger.entries()
    assert entry.spend.rho == pytest.approx(200.0)
    assert found.chosen == (("sex", "ward", "old"),)
    shown = found.table("sex", "ward", "old")
    # By hand: women of the north and men of the south are young, the others old.
    for place in np.ndindex(2, 2, 2):
        few = sum(place) % 2
        assert (float(shown.values[place]) < 100) == bool(few)
    file = synthesize(found, seed=1)
    assert {one.columns for one in table_errors(file)} == {
        ("sex", "ward", "old"),
        ("rooms",),
    }
    counted = file.counts("sex", "ward", "old")
    assert counted[0, 0, 0] > 5 * counted[0, 0, 1]


@pytest.mark.parametrize(("neighbours", "rows"), [("add-remove-one", 1), ("replace-one", 2)])
def test_no_score_moves_by_more_than_the_sensitivity(neighbours: str, rows: int) -> None:
    units = {"rows": 30} if neighbours == "replace-one" else {}
    own = choice(50.0, 2, neighbours=neighbours, unit={"id": "person", "max_rows": rows}, **units)
    data = np.random.default_rng(5).integers(0, SIZES, (30, 4))
    data[:rows] = data[0]
    law = choosing._law(own, *chosen_tables(own, counts(data), SeededSource(2)))

    def scores(rows: np.ndarray) -> list[int]:
        exact = counts(rows)
        return [choosing._score(own, law, table, exact[table]) for table in own.candidates]

    before, farthest = scores(data), 0
    kept = data[rows:] if neighbours == "replace-one" else data
    for row in itertools.product(*map(range, SIZES)):
        after = scores(np.concatenate([kept, np.array([row] * rows)]))
        farthest = max(farthest, *(abs(a - b) for a, b in zip(after, before, strict=True)))
    assert [len(table) for table in own.candidates] == [3] * 4
    assert farthest == own.sensitivity == rows * (2 if neighbours == "replace-one" else 1)


def moved(variances: dict[tuple[int, ...], Fraction], replace_one: bool) -> Fraction:
    """Half the largest squared distance of what one row makes of residuals, over their variances: by hand."""
    each = {}
    for row in itertools.product(*map(range, SIZES)):
        vectors = []
        for table, variance in variances.items():
            cells = np.zeros([SIZES[place] for place in table], dtype=np.int64)
            cells[tuple(row[place] for place in table)] = 1
            vectors.append((residual_integers(cells).ravel(), variance))
        each[row] = vectors
    zero = [(0 * own, variance) for own, variance in next(iter(each.values()))]
    others = [*each.values(), zero] if replace_one else [zero]
    return (
        max(
            sum(
                (Fraction(int(((a - b) ** 2).sum())) / v for (a, v), (b, _) in zip(one, two, strict=True)),
                Fraction(0),
            )
            for one in each.values()
            for two in others
        )
        / 2
    )


@pytest.mark.parametrize("policy", [{}, {"neighbours": "replace-one", "rows": 9}])
def test_the_price_covers_every_part_whatever_is_chosen(policy: dict[str, Any]) -> None:
    own = choice(3.0, 3, **policy)
    replace_one = bool(policy)
    looks = Fraction(repr(own.epsilon)) ** 2 / 8
    dearest = max(moved(dict(plan.variances), replace_one) for plan in own.noise.values())
    spent = own.first.rho + own.rounds * (looks + dearest)
    assert Fraction("2.9") < spent <= own.rho == 3
    for table, plan in own.noise.items():
        assert set(plan.variances) == {part for part in margins_of_places(table) if len(part) > 1}


def orders(own: TableChoice) -> Iterator[tuple[tuple[int, ...], ...]]:
    for rounds in range(1, len(own.candidates) + 1):
        yield from itertools.permutations(own.candidates, rounds)


def test_no_residual_is_released_twice_and_each_has_one_noise_whatever_was_chosen_before() -> None:
    own = choice(3.0, 3)
    for chosen in orders(own):
        plans = [own.added(chosen[:place], table) for place, table in enumerate(chosen)]
        drawn = [part for plan in plans for part in plan.variances]
        assert len(drawn) == len(set(drawn))
        assert set(drawn) == {p for one in chosen for p in margins_of_places(one) if len(p) > 1}
        made = own.made(chosen).plan
        assert {p: v for p, v in made.variances.items() if len(p) > 1} == {
            part: variance for plan in plans for part, variance in plan.variances.items()
        }
        assert all(plan.rho <= own.noise[table].rho for plan, table in zip(plans, chosen, strict=True))


def test_intervals_hold_for_all_noises_that_a_cell_can_have() -> None:
    """Counted: of each table by which candidates its parts can have been released, over all choices."""
    own = choice(3.0, 3)
    seen = set()
    for chosen in orders(own):
        source = {}
        for place, table in enumerate(chosen):
            source |= dict.fromkeys(own.added(chosen[:place], table).variances, table)
        for table in chosen:
            for shown in margins_of_places(table):
                if len(shown) > 1:
                    seen.add((shown, *(source[p] for p in margins_of_places(shown) if len(p) > 1)))
    assert len(seen) <= own.at_once == 4 * 8 + 6 * 2
    pairs = TablesQuestion(columns=COLUMNS, ways=2, rho=0.3)
    assert TableChoice.of(pairs, Policy.model_validate(POLICY), 2).at_once == 6


RUNS, FALSE_ALARM = 25, 1e-6


def spread(monkeypatch: pytest.MonkeyPatch) -> tuple[float, int]:
    """Σ noise²/variance over the residuals of two and three columns that choices released, and how many."""
    own, source = choice(0.5, 2), SeededSource(3)
    exact = counts(np.random.default_rng(3).integers(0, SIZES, (300, 4)))
    squares, number = 0.0, 0
    monkeypatch.setattr(choosing, "_score", lambda *given: 0)  # any of them
    monkeypatch.setattr(choosing, "_law", lambda *given: None)
    for _ in range(RUNS):
        chosen, noisy = chosen_tables(own, exact, source)
        variances = own.made(chosen).plan.variances
        for table, cells in noisy.items():
            if len(table) > 1:
                noise = cells.astype(float) - residual_integers(exact[table])
                squares, number = squares + float((noise**2).sum() / variances[table]), number + noise.size
    return squares, number


def is_of_variance_one(squares: float, cells: int) -> bool:
    """Of a sound release false with probability 10⁻⁶ or less: Laurent and Massart's bounds of a χ²."""
    log = math.log(2 / FALSE_ALARM)
    return abs(squares - cells) <= 2 * math.sqrt(cells * log) + 2 * log


def test_all_that_is_released_has_the_noise_that_was_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_of_variance_one(*spread(monkeypatch))

    # Planted: of three columns half the noise that was paid for.
    def less(plan: Any, exact: Any, source: Any) -> dict[Any, Any]:
        halved = {table: one / (2 if len(table) == 3 else 1) for table, one in plan.variances.items()}
        return noisy_residuals(replace(plan, variances=halved), exact, source)

    monkeypatch.setattr(choosing, "noisy_residuals", less)
    assert not is_of_variance_one(*spread(monkeypatch))


def test_the_ledger_and_a_record_repeat_it_to_every_number() -> None:
    with PrivateTable(everyone(), policy=POLICY, ledger="sqlite://") as table:
        found = release_chosen_tables(table, asked(2.0), 2, source=SeededSource(1))
        again = release_chosen_tables(table, asked(2.0), 2, source=SeededSource(2))
        total = statement_of(exposure_so_far(table.ledger.entries(), table.policy))
        record = record_of(json.loads(json.dumps(TablesRecord.of(found, total, table.budget()).to_dict())))
    assert isinstance(record, TablesRecord)
    assert record.choice is not None
    assert record.choice.among == 4
    read = released_of(record)
    for one in found.chosen:
        assert len(one) == 3
        for other in (again, read):
            assert (other.table(*one).values == found.table(*one).values).all()
            assert other.table(*one).half_width == found.table(*one).half_width
    assert again.repeated


def test_what_would_take_too_long_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: 144² + 4·1,728·r + 220·1,728/100 for each of r rounds of twelve columns, 10⁸ in all."""
    columns = {f"c{place}": {"keys": list(range(12))} for place in range(12)}
    policy = Policy.model_validate(POLICY | {"columns": columns})
    question = TablesQuestion(columns=tuple(columns), ways=3, rho=100.0)
    assert TableChoice.of(question, policy, 118).rounds == 118
    with pytest.raises(
        InvalidQuery, match="must be no more than 118 where all columns have 144 keys"
    ) as told:
        TableChoice.of(question, policy, 119)
    assert "\n" not in str(told.value)
    monkeypatch.setattr("leakcap.synthesis.choice._MOST_CANDIDATES", 219)
    with pytest.raises(InvalidQuery, match=r"no more than 219 tables of three columns\. Got 220") as told:
        TableChoice.of(question, policy, 1)
    assert "\n" not in str(told.value)
