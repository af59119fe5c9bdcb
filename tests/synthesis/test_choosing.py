"""Tables that are chosen by a private score: sensitivity, price, noise, memory, and planted faults."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest
from flint import arb

from leakcap.errors import BudgetExceeded, InvalidQuery
from leakcap.ledger.measured import guarantee
from leakcap.mechanism import Exponential, PermuteAndFlip
from leakcap.policy.document import Policy
from leakcap.release import PrivateTable
from leakcap.synthesis import (
    ask_file,
    choosing,
    release_chosen_tables,
    synthesize,
    table_errors,
)
from leakcap.synthesis.choice import TableChoice
from leakcap.synthesis.choosing import chosen_tables
from leakcap.synthesis.mixture import MixtureOfProducts
from leakcap.tables import TablesQuestion
from leakcap.tables.residuals import noisy_residuals, residual_integers
from leakcap.tables.widths import chosen_among
from seeded import SeededSource
from synthesis.worlds import POLICY, people

COLUMNS = ("sex", "ward", "old", "rooms")


def asked(rho: float, columns: tuple[str, ...] = COLUMNS) -> TablesQuestion:
    return TablesQuestion(columns=columns, ways=2, rho=rho)


def choice(rho: float, rounds: int, **policy: Any) -> TableChoice:
    return TableChoice.of(asked(rho), Policy.model_validate(POLICY | policy), rounds)


def counts(rows: np.ndarray, sizes: tuple[int, ...] = (2, 3, 2, 4)) -> dict[tuple[int, ...], np.ndarray]:
    """The exact counts of all tables of up to two columns, row by row."""
    found = {}
    for ways in (0, 1, 2):
        for table in itertools.combinations(range(len(sizes)), ways):
            cells = np.zeros(tuple(sizes[place] for place in table), dtype=np.int64)
            for row in rows:
                cells[tuple(row[place] for place in table)] += 1
            found[table] = cells
    return found


def test_the_strongest_link_is_chosen_first_and_released_as_exactly_as_was_paid_for() -> None:
    data = people()
    with PrivateTable(data, policy=POLICY, ledger="sqlite://") as table:
        found = release_chosen_tables(table, asked(5_000.0), 2, source=SeededSource(1))
    # By hand: half of those in the south are women, nine of ten in the west; the old have one or two rooms.
    assert {frozenset(one) for one in found.chosen} == {
        frozenset({"sex", "ward"}),
        frozenset({"old", "rooms"}),
    }
    exact = np.zeros((2, 3))
    sex, ward = data["sex"].to_pylist(), data["ward"].to_pylist()
    for row in zip(sex, ward, strict=True):
        exact["fm".index(row[0]), ["north", "south", "west"].index(row[1])] += 1
    shown = found.table("sex", "ward")
    # A variance is never below 16.
    assert np.abs(shown.values - exact).max() <= shown.half_width < 5.0
    assert set(found.plan.workload.names) == set(found.chosen)
    assert {one.columns for one in table_errors(synthesize(found, seed=1))} == set(found.chosen)


@pytest.mark.parametrize(
    ("neighbours", "rows"), [("add-remove-one", 1), ("add-remove-one", 3), ("replace-one", 2)]
)
def test_no_score_moves_by_more_than_the_sensitivity(neighbours: str, rows: int) -> None:
    units = {"rows": 40} if neighbours == "replace-one" else {}
    own = choice(50.0, 2, neighbours=neighbours, unit={"id": "person", "max_rows": rows}, **units)
    draw = np.random.default_rng(5)
    data = draw.integers(0, (2, 3, 2, 4), (40, 4))
    chosen, noisy = chosen_tables(own, counts(data), SeededSource(2))
    law = choosing._law(own, chosen, noisy)
    every = list(itertools.product(range(2), range(3), range(2), range(4)))

    def scores(rows: np.ndarray) -> list[int]:
        exact = counts(rows)
        return [choosing._score(own, law, table, exact[table]) for table in own.candidates]

    before, farthest = scores(data), 0
    for row in every:
        more = np.array([row] * rows)
        kept = data[rows:] if neighbours == "replace-one" else data
        if neighbours == "replace-one":
            data[:rows] = data[0]  # what one unit has, all alike: the farthest apart
            before = scores(data)
        after = scores(np.concatenate([kept, more]))
        farthest = max(farthest, *(abs(a - b) for a, b in zip(after, before, strict=True)))
    assert farthest == own.sensitivity == rows * (2 if neighbours == "replace-one" else 1)


@pytest.mark.parametrize(
    "policy", [{}, {"unit": {"id": "p", "max_rows": 5}}, {"neighbours": "replace-one", "rows": 9}]
)
def test_the_price_covers_every_part_whatever_is_chosen(policy: dict[str, Any]) -> None:
    own = choice(0.7, 3, **policy)
    most, sizes = own.planned.policy.rows_per_unit, (2, 3, 2, 4)
    looks = Fraction(repr(own.epsilon)) ** 2 / 8
    spent = own.first.rho
    for _ in range(own.rounds):
        dearest = Fraction(0)
        for table, plan in own.noise.items():
            (variance,) = plan.variances.values()
            a, b = (sizes[place] for place in table)
            squared = a * (a - 1) * b * (b - 1)
            if policy.get("neighbours") == "replace-one":
                # By hand: two columns of (nI − 11') ⊗ (mI − 11'), over all pairs of cells.
                xi = np.kron(a * np.eye(a) - 1, b * np.eye(b) - 1)
                squared = max(round(float(((x - y) ** 2).sum())) for x in xi for y in xi)
                squared = max(squared, a * (a - 1) * b * (b - 1))
            dearest = max(dearest, Fraction(most**2 * squared) / (2 * variance))
        spent += looks + dearest
    assert Fraction("0.69") < spent <= own.rho == Fraction(7, 10)
    charge = own.charge()
    assert guarantee(charge.spend.event).rho == own.rho
    assert charge.spend.rho == pytest.approx(0.7, abs=1e-11)
    contents = own.rho if policy.get("neighbours") == "replace-one" else 4 * own.rho
    assert charge.spend.nats_person >= 0.7 - 1e-12
    level = own.planned.policy.caps.alpha
    assert level is None or charge.spend.nats_level >= level * float(contents) - 1e-9


def test_one_charge_and_what_the_ledger_knows_is_free_in_any_order_of_columns() -> None:
    class Closed:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

    with PrivateTable(people(), policy=POLICY, ledger="sqlite://") as table:
        first = release_chosen_tables(table, asked(0.3), 3, source=SeededSource(4))
        again = release_chosen_tables(table, asked(0.3, COLUMNS[::-1]), 3, source=Closed())
        (entry,) = table.ledger.entries()
        assert entry.spend.rho == pytest.approx(0.3, abs=1e-11)
        assert not first.repeated
        assert again.repeated
        assert [set(one) for one in first.chosen] == [set(one) for one in again.chosen]
        for columns in first.chosen:
            one, other = first.table(*columns), again.table(*columns)
            same = one.values if one.columns == other.columns else one.values.T
            assert np.array_equal(same, other.values)
        other = release_chosen_tables(table, asked(0.3), 2, source=SeededSource(4))
        assert not other.repeated
        assert len(table.ledger.entries()) == 2


def test_the_charge_is_committed_before_anything_is_drawn_and_not_where_it_does_not_fit() -> None:
    drawn = []

    def source(size: int) -> bytes:
        drawn.append(size)
        raise RuntimeError("no bytes")

    with PrivateTable(people(), policy=POLICY, ledger="sqlite://") as table:
        with pytest.raises(Exception, match="no bytes"):
            release_chosen_tables(table, asked(0.3), 3, source=source)
        (entry,) = table.ledger.entries()
        assert entry.spend.rho == pytest.approx(0.3, abs=1e-11)
        drawn.clear()
        with pytest.raises(BudgetExceeded):
            release_chosen_tables(table, asked(30_000.0), 3, source=source)
        assert (len(table.ledger.entries()), drawn) == (1, [])


@pytest.mark.parametrize(
    ("question", "rounds", "message"),
    [
        (asked(0.1), 0, "from 1 to 5"),
        (asked(0.1), 6, "from 1 to 5: all of them cost less noise where it is left out"),
        (asked(0.1), True, "from 1 to 5"),
        (TablesQuestion(columns=COLUMNS, ways=4, rho=0.1), 1, "among tables of two columns, or of three"),
        (
            TablesQuestion(tables=[{"columns": COLUMNS[:3]}, {"columns": COLUMNS[2:]}], rho=0.1),
            1,
            "Got both. Leave out one kind",
        ),
        (TablesQuestion(columns=COLUMNS, ways=1, rho=0.1), 1, "must be left out"),
        (
            TablesQuestion(tables=[{"columns": ["sex", "ward"], "weight": 2}, {"columns": ["old"]}], rho=0.1),
            1,
            "weight",
        ),
        (asked(1e-22), 1, "large enough"),
    ],
)
def test_what_cannot_be_chosen_is_refused_in_one_line(
    question: TablesQuestion, rounds: Any, message: str
) -> None:
    with pytest.raises(InvalidQuery, match=message) as told:
        TableChoice.of(question, Policy.model_validate(POLICY), rounds)
    assert "\n" not in str(told.value)


def test_rounds_that_would_fit_for_hours_are_refused_before_anything_is_paid() -> None:
    """At 400 keys 10⁸/400² = 625 rounds are the most of 780."""
    names = tuple(f"c{place}" for place in range(40))
    columns = {name: {"keys": list(range(10))} for name in names}
    policy = Policy.model_validate(POLICY | {"columns": columns})
    assert TableChoice.of(asked(100.0, names), policy, 625).rounds == 625
    with pytest.raises(InvalidQuery, match="no more than 625 where all columns have 400 keys") as told:
        TableChoice.of(asked(100.0, names), policy, 626)
    assert "\n" not in str(told.value)


def test_the_table_is_let_go_of_before_anything_is_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server holds a transaction open while its one state is read."""
    steps, choose = [], choosing.chosen_tables

    def one_state(_: Any, action: Any) -> Any:
        steps.append("read")
        found = action()
        steps.append("let go")
        return found

    def watched(*given: Any) -> Any:
        steps.append("choose")
        return choose(*given)

    monkeypatch.setattr("leakcap.release.table.in_one_state", one_state)
    monkeypatch.setattr(choosing, "chosen_tables", watched)
    with PrivateTable(people(), policy=POLICY, ledger="sqlite://") as table:
        release_chosen_tables(table, asked(0.3), 2, source=SeededSource(4))
    assert steps == ["read", "let go", "choose"]


def test_what_is_counted_are_the_tables_within_no_other() -> None:
    draw = np.random.default_rng(2)
    subsets = [one for ways in range(1, 5) for one in itertools.combinations(COLUMNS, ways)]
    for _ in range(30):
        wanted = [subsets[place] for place in draw.choice(len(subsets), 5, replace=False)]
        question = TablesQuestion(tables=[{"columns": one} for one in wanted], rho=0.1)
        planned = question.planned(Policy.model_validate(POLICY))
        found = {frozenset(planned.plan.workload.named(table)) for table in planned.maximal}
        sets = list(map(frozenset, wanted))
        assert found == {one for one in sets if not any(one < other for other in sets)}


def test_intervals_of_chosen_tables_hold_for_all_candidates_at_once() -> None:
    for among in (1, 2, 6, 66, 4_950, 10**6):
        # P(|Z| > z) = erfc(z/√2), by ball arithmetic.
        missed = (arb(chosen_among(among)) / arb(2).sqrt()).erfc() * among
        assert missed < arb("0.05")
    with PrivateTable(people(), policy=POLICY, ledger="sqlite://") as table:
        found = release_chosen_tables(table, asked(0.3), 3, source=SeededSource(4))
    assert found.among == 6
    for columns in found.chosen:
        shown, deviation = found.table(*columns), found.table(*columns).standard_deviation
        assert shown.half_width >= math.sqrt(2.0 * math.log(120.0)) * deviation * (1 - 1e-9)
        alone = replace(found, among=1).table(*columns)
        assert alone.half_width < shown.half_width
        told = ask_file(synthesize(found, rows=20, seed=1), *columns).half_width
        assert told == pytest.approx(shown.half_width, rel=1e-9)


# Audit: two neighbouring tables, of one person with forty rows, and a law that is fixed, so that the first
# choice is the exponential mechanism's alone. A sound one is found to be likelier by more than e^ε with
# probability 10⁻⁶ or less, by Hoeffding's bound; seeds make the result the same each time.
RUNS, FALSE_ALARM = 300, 1e-6


def choices(own: TableChoice, exact: Mapping[Any, np.ndarray], seed: int) -> np.ndarray:
    """How often each candidate was chosen, as shares."""
    source, found = SeededSource(seed), np.zeros(len(own.candidates))
    for _ in range(RUNS):
        (table,), _ = chosen_tables(own, exact, source)
        found[own.candidates.index(table)] += 1
    return found / RUNS


def fix_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit nothing: the law is one of equal shares."""
    fixed = [np.full((1, size), 1.0 / size) for size in (2, 3, 2, 4)]

    def law(choice: TableChoice, chosen: Any, noisy: Any) -> MixtureOfProducts:
        released = choosing.ReleasedTables(choice.made(chosen), noisy, choice.charge().spend, 0, False)
        return Fixed(released, tuple(fixed), 0.0, 0, 0)

    monkeypatch.setattr(choosing, "_law", law)


def audited(monkeypatch: pytest.MonkeyPatch) -> float:
    """By how much, proved, the log odds of some choice exceed ε; 0 or less where nothing is wrong."""
    own = choice(1.0, 1, unit={"id": "person", "max_rows": 40})
    draw = np.random.default_rng(3)
    data = draw.integers(0, (2, 3, 2, 4), (300, 4))
    apart = np.array([[1, 2, 1, 3]] * 40)
    fix_law(monkeypatch)
    off = math.sqrt(math.log(2 * 2 * 6 / FALSE_ALARM) / (2 * RUNS))
    one, other = choices(own, counts(data), 1), choices(own, counts(np.concatenate([data, apart])), 2)
    ratios = [
        math.log(max(a - off, 1e-12) / (b + off))
        for x, y in ((one, other), (other, one))
        for a, b in zip(x, y, strict=True)
    ]
    return max(ratios) - own.epsilon


class Fixed(MixtureOfProducts):
    """A law whose total is public too."""

    @property
    def total(self) -> float:
        return 320.0


def test_the_choice_keeps_its_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert audited(monkeypatch) <= 0.0


def test_a_choice_without_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    class Best:
        def __init__(self, scores: Any, epsilon: float, sensitivity: int) -> None:
            self.scores = scores[0]

        def sample(self, secrets: Any, source: Any) -> np.ndarray:
            return np.array([int(np.argmax(self.scores))])

    monkeypatch.setattr(choosing, "Exponential", Best)
    assert audited(monkeypatch) > 0.0


def test_a_score_whose_sensitivity_forgets_the_rows_of_a_person_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(TableChoice, "sensitivity", 1)
    assert audited(monkeypatch) > 0.0


def test_what_the_scores_read_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts reach the scores and the noise alone: the law is fitted to what was released, in each round."""
    own, seen = choice(0.5, 3), []
    exact = counts(np.random.default_rng(1).integers(0, (2, 3, 2, 4), (50, 4)))
    fit = choosing.fit_generator

    def watched(released: Any) -> Any:
        seen.append(set(released.integers))
        shown = [(released.integers[one], residual_integers(exact[one])) for one in released.integers]
        assert all(not np.array_equal(noisy, own) for noisy, own in shown)
        return fit(released)

    monkeypatch.setattr(choosing, "fit_generator", watched)
    chosen, noisy = chosen_tables(own, exact, SeededSource(3))
    alone = {(), (0,), (1,), (2,), (3,)}
    assert seen == [alone, alone | {chosen[0]}, alone | {chosen[0], chosen[1]}]
    assert set(noisy) == alone | set(chosen)
    assert len(set(chosen)) == 3


def spreads(monkeypatch: pytest.MonkeyPatch) -> dict[int, tuple[float, float]]:
    """Σ(noise/σ)² of what was released, and the number of cells: in tables of so many columns."""
    own = choice(0.5, 2)
    exact = counts(np.random.default_rng(1).integers(0, (2, 3, 2, 4), (50, 4)))
    fix_law(monkeypatch)
    source, found = SeededSource(6), {0: (0.0, 0), 1: (0.0, 0), 2: (0.0, 0)}
    for _ in range(200):
        chosen, noisy = chosen_tables(own, exact, source)
        planned = own.first.variances | {one: own.noise[one].variances[one] for one in chosen}
        for table, cells in noisy.items():
            noise = cells.astype(float) - residual_integers(exact[table])
            squares, number = found[len(table)]
            found[len(table)] = squares + float((noise**2).sum() / planned[table]), number + noise.size
    return found


def is_of_variance_one(squares: float, cells: int) -> bool:
    """Of a sound release false with probability 10⁻⁶ or less: Laurent and Massart's bounds of a χ²."""
    log = math.log(2 / FALSE_ALARM)
    return abs(squares - cells) <= 2 * math.sqrt(cells * log) + 2 * log


def test_all_that_is_released_has_the_noise_that_was_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(is_of_variance_one(*own) for own in spreads(monkeypatch).values())


@pytest.mark.parametrize("wrong", [0, Fraction(1, 2)])
def test_a_chosen_table_with_less_noise_than_was_paid_for_is_caught(
    monkeypatch: pytest.MonkeyPatch, wrong: Fraction
) -> None:
    def less(plan: Any, exact: Any, source: Any) -> dict[Any, Any]:
        if any(len(table) < 2 for table in plan.variances):
            return noisy_residuals(plan, exact, source)
        if not wrong:
            return {table: residual_integers(exact[table]) for table in plan.variances}
        variances = {table: one * wrong for table, one in plan.variances.items()}
        return noisy_residuals(replace(plan, variances=variances), exact, source)

    monkeypatch.setattr(choosing, "noisy_residuals", less)
    found = spreads(monkeypatch)
    assert [ways for ways, own in found.items() if not is_of_variance_one(*own)] == [2]


def ranges(mechanism: Any) -> list[tuple[float, float]]:
    """Of two neighbouring rows of scores, for each law of one: the range of the log odds, and the most that
    D_α/α reaches over orders up to 64; in units of ε and of ε²/8."""
    found = []
    for epsilon, first, moves in [
        (1.0, (0, 0, 0), (1, -1, -1)),
        (2.0, (5, 4, 0, 0), (-1, 1, 1, -1)),
        (0.3, (0, 9), (1, -1)),
    ]:
        scores = (
            tuple(map(Fraction, first)),
            tuple(Fraction(a + b) for a, b in zip(first, moves, strict=True)),
        )
        one, other = mechanism(scores, epsilon, 1).channel().matrix
        odds = np.log(one) - np.log(other)
        divergences = [
            math.log(float((p**order * q ** (1 - order)).sum())) / (order - 1) / order
            for p, q in ((one, other), (other, one))
            for order in (1.001, 1.5, 2.0, 4.0, 16.0, 64.0)
        ]
        found.append(((odds.max() - odds.min()) / epsilon, max(divergences) / (epsilon**2 / 8)))
    return found


def test_the_price_of_a_choice_rests_on_the_range_of_its_log_odds() -> None:
    """Cesar and Rogers: log odds within a range of ε cost ε²/8. Permute-and-flip's are not."""
    assert choosing.Exponential is Exponential
    assert all(max(own) <= 1.0 + 1e-9 for own in ranges(choosing.Exponential))
    assert any(most > 1.01 for most, _ in ranges(PermuteAndFlip))
    assert any(most > 1.01 for _, most in ranges(PermuteAndFlip))


def test_tables_of_one_key_are_never_chosen() -> None:
    keys = {"a": [1], "b": [1, 2], "c": [1, 2], "d": [1, 2]}
    policy = POLICY | {"columns": {name: {"keys": own} for name, own in keys.items()}}
    data = pyarrow.table({"a": [1] * 40, "b": [1, 2] * 20, "c": [1, 2] * 20, "d": [1, 2] * 20})
    with PrivateTable(data, policy=policy, ledger="sqlite://") as table:
        found = release_chosen_tables(table, asked(5.0, tuple(keys)), 2, source=SeededSource(1))
    assert found.among == 3
    assert not any("a" in one for one in found.chosen)
    assert len(synthesize(found, rows=10, seed=1)) == 10
