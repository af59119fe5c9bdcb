"""Caps that people bring themselves: nobody's loss passes their own cap, whatever was asked."""

from __future__ import annotations

import inspect
import itertools
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest

from leakcap import models
from leakcap.accounting import PersonalBudgets
from leakcap.definition import PureDP
from leakcap.errors import BudgetExceeded, InvalidPolicy, InvalidQuery, LedgerError
from leakcap.ledger import export
from leakcap.ledger.people import Levels
from leakcap.ledger.ticks import Ticks
from leakcap.release import PrivateTable, Query, amend, difference, load_policy
from leakcap.release.engine import attach
from leakcap.release.measurements.measurement import NoisyMeasurement
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import scans_of

LEVELS = [0.25, 0.5, 1.0]
UNITS: tuple[Any, ...] = ({"id": "who", "max_rows": 2, "caps": "mine"}, {"caps": "mine"})
ASKED: tuple[dict[str, Any], ...] = (
    {"statistic": "count"},
    {"statistic": "count", "by": ("ward",)},
    {"statistic": "sum", "column": "age", "where": "ward = 'a'"},
    {"statistic": "count", "join": ("homes",), "where": "homes.far = true"},
)
Row = dict[str, Any]


def policy_of(unit: Any, **changes: Any) -> dict[str, Any]:
    homes = {"public": True, "key": "town", "on": "town", "columns": {"far": {"keys": [True, False]}}}
    return {
        "dataset": "ward",
        "neighbours": "add-remove-one",
        "unit": unit,
        "columns": {
            "age": {"bounds": [0.0, 4.0]},
            "ward": {"keys": ["a", "b"]},
            "town": {"keys": ["x", "y", "z"]},
        },
        "tables": {"homes": homes},
        "caps": {"epsilon": 50.0, "each_person": LEVELS},
    } | changes


HOMES = pyarrow.table({"town": ["x", "y"], "far": [True, False]})
TYPES = {"who": pyarrow.int64(), "mine": pyarrow.float64(), "age": pyarrow.float64()}


def table(rows: list[Row]) -> pyarrow.Table:
    names = ("who", "mine", "age", "ward", "town")
    return pyarrow.table(
        {
            name: pyarrow.array([row[name] for row in rows], TYPES.get(name, pyarrow.string()))
            for name in names
        }
    )


def world(chance: random.Random) -> list[Row]:
    """A few people with one to three rows each, whose caps may disagree, be missing or be none."""
    rows = []
    for who in range(5):
        own = chance.choice([0.1, 0.25, 0.4, 0.5, 0.75, 1.0, 7.0, None, float("nan"), -1.0, 1.0])
        for _ in range(chance.randint(1, 3)):
            other = chance.choice([*LEVELS, None]) if chance.random() < 0.2 else own
            rows.append(
                {
                    "who": who,
                    "mine": other,
                    "age": chance.choice([0.0, 2.0, 4.0]),
                    "ward": chance.choice("ab"),
                    "town": chance.choice("xyz"),
                }
            )
    return rows


def people(rows: list[Row], unit: Any) -> list[list[Row]]:
    """The rows of each unit of privacy."""
    if "id" not in unit:
        return [[row] for row in rows]
    return [[row for row in rows if row["who"] == who] for who in sorted({row["who"] for row in rows})]


def own_cap(mine: list[Row]) -> float:
    """By definition: the least cap in a person's rows, and nothing where one is missing."""
    caps = [row["mine"] for row in mine]
    return 0.0 if any(cap is None or cap != cap for cap in caps) else max(min(caps), 0.0)


def largest_ratio(one: list[int], other: list[int], scale: Fraction) -> Fraction:
    """The largest log-ratio, over all outcomes, of discrete Laplace noise on one total and on another: each
    outcome k has probability ∝ exp(−|k − total|/scale)."""
    worst = Fraction(0)
    for a, b in zip(one, other, strict=True):
        outcomes = {a, b, (a + b) // 2, min(a, b) - 1, max(a, b) + 1}
        worst += max(abs(abs(k - a) - abs(k - b)) for k in outcomes) / scale
    return worst


def run(rows: list[Row], unit: Any, chance: random.Random) -> tuple[Fraction, set[str]]:
    """A session on a small world: how near anybody's loss came to their cap, and what was met."""
    policy = load_policy(policy_of(unit))
    private = PrivateTable(table(rows), policy=policy, ledger="sqlite://", tables={"homes": HOMES})
    seed, met = private.ledger.seed, set()
    losses = [Fraction(0) for _ in people(rows, unit)]
    worlds = [
        rows,
        *([row for row in rows if not any(row is one for one in mine)] for mine in people(rows, unit)),
    ]
    engines = [attach(table(kept), tables={"homes": HOMES}) for kept in worlds]
    for n in range(12):
        epsilon = chance.choice([0.05, 0.1, 0.125, 0.15, 0.25, 0.3])
        query = Query(name=f"q{n}", epsilon=epsilon, **chance.choice(ASKED))
        before = private.ledger.head()
        try:
            (release,) = private.release([query], fresh=True)
        except BudgetExceeded:
            assert private.ledger.head() == before
            met.add("refused")
            continue
        from_ = private.ledger.entries()[-1].people_from
        assert release.people_from == from_
        met.add(f"from {from_}")
        plan = replace(plan_query(query, policy), people_from=from_)

        # Tables of one schema: what is written for one runs on all.
        (scan,) = scans_of([plan], engines[0], seed)
        all_, *others = [[one.tolist() for one in scan.run(engine)[0].totals] for engine in engines]
        for place, without in enumerate(others):
            for part, one, other in zip(plan.parts, all_, without, strict=True):
                assert isinstance(part, NoisyMeasurement)
                losses[place] += largest_ratio(one, other, part.scale)
    private.ledger.verify()
    nearest = Fraction(0)
    for loss, mine in zip(losses, people(rows, unit), strict=True):
        cap = Fraction(str(own_cap(mine)))
        assert loss <= cap, "somebody lost more than their own cap"
        nearest = max(nearest, loss / cap if cap else Fraction(0))
    return nearest, met


def walk(worlds: int) -> tuple[int, Fraction, set[str]]:
    chance, best, met, done = random.Random(12), Fraction(0), set(), 0
    for n, unit in itertools.islice(itertools.cycle(enumerate(UNITS)), worlds):
        nearest, seen = run(world(chance), unit, chance)
        best, met, done = max(best, nearest), met | seen | {f"unit {n}"}, done + 1
    return done, best, met


def test_nobody_loses_more_than_their_own_cap_and_some_nearly_all_of_it() -> None:
    done, best, met = walk(8)
    assert done == 8
    assert best >= Fraction(9, 10)
    assert met == {"refused", "unit 0", "unit 1", *(f"from {level}" for level in LEVELS)}


@pytest.mark.slow
def test_nobody_loses_more_than_their_own_cap_in_many_worlds() -> None:
    done, best, _ = walk(200)
    assert (done, best) == (200, 1)


def test_a_level_that_is_kept_one_query_too_long_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    true = Levels.floor

    def late(self: Levels, asked: Any) -> int | None:
        """Whoever has anything left at all is counted once more."""
        return true(self, asked._replace(epsilon=1))

    monkeypatch.setattr(Levels, "floor", late)
    with pytest.raises(AssertionError, match="more than their own cap"):
        walk(8)


def test_rows_that_disagree_dropped_one_by_one_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter of rows in place of people leaves a person counted by the row with the largest cap."""
    from leakcap.release.columns import joins
    from leakcap.release.planning import statements

    true = joins.counted_people

    def each_row(policy: Any, read: Any, people_from: Any) -> Any:
        names = list(dict.fromkeys([policy.id_column, *read] if policy.id_column else read))
        return true(
            policy.model_copy(update={"unit": load_policy(policy_of(UNITS[1])).unit}), names, people_from
        )

    for module in (joins, statements):
        monkeypatch.setattr(module, "counted_people", each_row)
    with pytest.raises(AssertionError, match="more than their own cap"):
        walk(8)


CAPS = [0.5, 0.5, 1.0, None, 0.1, 3.0, 1.0, 0.4]
WHO = [1, 1, 2, 3, 4, 5, 6, 6]


def ways(folder: Path) -> dict[str, Any]:
    """The same eight rows in every form; text where a form allows it."""
    plain = pyarrow.table({"who": WHO, "mine": pyarrow.array(CAPS, pyarrow.float64())})
    texts = pyarrow.array([None if cap is None else str(cap) for cap in CAPS], pyarrow.string())
    pyarrow.parquet.write_table(plain, folder / "a.parquet")
    pyarrow.csv.write_csv(plain, folder / "a.csv")
    tenths = pyarrow.array([None if c is None else round(c * 10) for c in CAPS], pyarrow.int64())
    return {
        "arrow": plain,
        "arrow text": plain.set_column(1, "mine", texts),
        "arrow of decimals": plain.set_column(1, "mine", plain["mine"].cast(pyarrow.decimal128(5, 2))),
        "arrow of integers, tenths": plain.set_column(1, "mine", tenths),
        "pandas": plain.to_pandas(),
        "pandas objects": pandas.DataFrame(
            {"who": WHO, "mine": pandas.Series([*CAPS[:3], "?", *CAPS[4:]], dtype=object)}
        ),
        "polars": polars.from_arrow(plain),
        "parquet": folder / "a.parquet",
        "csv": folder / "a.csv",
    }


def test_every_way_in_counts_the_same_people(tmp_path: Path) -> None:
    """At ε = 60 a wrong count has a probability below 10⁻²⁵."""
    walked = 0
    for name, data in ways(tmp_path).items():
        scale = 10 if "tenths" in name else 1
        levels = [level * scale for level in (0.5, 1.0)]
        caps = {"epsilon": 1e4, "each_person": [*levels, 1e4]}
        found = []
        for least in (0, 1):
            policy = policy_of(UNITS[0], columns={"age": {"bounds": [0.0, 1.0]}}, tables={}, caps=caps)
            private = PrivateTable(data, policy=policy, ledger="sqlite://")
            plan = replace(plan_query(Query(name="n", statistic="count", epsilon=60.0), private.policy))
            (scan,) = scans_of([replace(plan, people_from=levels[least])], private.engine, "00")
            found.append(scan.run(private.engine)[0].totals[0].tolist())
        assert found == [[4], [2]], name  # 1 and 1, 2, 5 of six people; then 2 and 5
        walked += 1
    assert walked == 9


def opened(ledger: Any = "sqlite://", data: Any = None, **changes: Any) -> PrivateTable:
    policy = policy_of(UNITS[0], **changes)
    rows = pyarrow.table({"who": WHO, "mine": CAPS}) if data is None else data
    return PrivateTable(rows, policy=policy, ledger=ledger, version="1")


def count(private: PrivateTable, epsilon: float, **options: Any) -> Any:
    return private.release([Query(name="n", statistic="count", epsilon=epsilon)], **options)[0]


def test_a_repeat_is_free_and_keeps_whom_it_counted() -> None:
    private = opened()
    first = count(private, 0.25)
    assert first.people_from == 0.25
    assert count(private, 0.25, fresh=True).people_from == 0.5
    head = private.ledger.accounts()[1:]
    # What is repeated is the latest answer at that price, with whom that one counted.
    again = count(private, 0.25)
    assert again.repeated
    assert again.people_from == 0.5
    assert "whose own cap is 0.5 or more" in str(again)
    assert private.ledger.accounts()[1:] == head
    assert [(a.name, a.balances[0].spent, a.balances[0].left) for a in head] == [
        ("0.25", 0.25, 0.0),
        ("0.5", 0.5, 0.0),
        ("1", 0.5, 0.5),
    ]


def test_a_batch_is_decided_charge_by_charge_and_as_a_whole() -> None:
    private = opened()
    names = [Query(name=f"n{i}", statistic="count", epsilon=e) for i, e in enumerate((0.2, 0.1, 0.05))]
    assert [release.people_from for release in private.release(names)] == [0.25, 0.5, 0.25]
    before = private.ledger.head()
    with pytest.raises(
        BudgetExceeded, match=r"people with a cap of `1` or more would be exceeded: 0\.25 left"
    ):
        private.release([Query(name=f"m{i}", statistic="count", epsilon=0.4) for i in range(2)], fresh=True)
    assert private.ledger.head() == before


def test_answers_about_different_people_are_not_compared() -> None:
    private = opened()
    one, two = (count(private, 0.25, fresh=True) for _ in range(2))
    with pytest.raises(InvalidQuery, match="different people"):
        difference(one, two)


def test_two_levels_that_a_person_moves_between_never_add_up() -> None:
    """A person's cap may change with the table's version: what they lost is bounded by the larger one."""
    chance = random.Random(3)
    for _ in range(300):
        levels = Levels((25, 50, 100))
        lost = dict.fromkeys(itertools.product((25, 50, 100), repeat=2), 0)
        moved = chance.randint(0, 20)
        for n in range(40):
            asked = chance.choice([1, 3, 10, 20, 30])
            floor = levels.charge(Ticks(asked, 0, 0, 0))
            for before, after in lost:
                if floor is not None and (before if n < moved else after) >= floor:
                    lost[before, after] += asked
        assert all(loss <= max(pair) for pair, loss in lost.items())


def test_the_ledger_counts_as_personal_budgets_do() -> None:
    """A second book, person by person (Feldman & Zrnic's filter), never refuses what the ledger counts."""
    chance, levels = random.Random(4), (0.25, 0.5, 1.0)
    book = PersonalBudgets({level: PureDP(level) for level in levels})
    mine = Levels(tuple(round(level * 10**12) for level in levels))
    counted = 0
    for _ in range(60):
        asked = chance.choice([1 / 64, 1 / 32, 1 / 16])  # exact in both
        floor = mine.charge(Ticks(round(asked * 10**12), 0, 0, 0))
        who = [level for level in levels if floor is not None and round(level * 10**12) >= floor]
        book, paid = book.charge({level: PureDP(asked) for level in who})
        assert paid == set(who)
        counted += len(who)
    assert counted > 20
    assert book.left(1.0) == mine.left(10**12) / 10**12


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"neighbours": "replace-one", "rows": 3}, "whoever takes a person's place may bring another cap"),
        ({"caps": {"epsilon": 1.0}}, "`caps.each_person`, the levels of the caps in `unit.caps`, is missing"),
        ({"unit": "row"}, "`unit.caps`, the column of the caps in `caps.each_person`, is missing"),
        ({"unit": {"caps": "mine", "max_rows": 2}}, "`unit.id` of `policy` is missing"),
        ({"unit": {"id": "who", "caps": "WHO"}}, "differ only in upper and lower case"),
        *(
            ({"caps": {"epsilon": 1.0, "each_person": levels}}, "rising levels")
            for levels in ([], [0.0], [0.5, 0.5], [1.0, 0.5], [-1.0], [1e7], [k / 8 for k in range(1, 102)])
        ),
    ],
)
def test_policies_that_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidPolicy) as caught:
        load_policy(policy_of(UNITS[0]) | changes)
    assert said in str(caught.value)


def test_what_cannot_be_bounded_by_a_persons_own_cap_is_refused_by_name() -> None:
    columns = {"age": {"bounds": [0.0, 4.0]}, "ward": {"keys": "private"}}
    private = opened(columns=columns, tables={}, caps={"epsilon": 1.0, "delta": 0.1, "each_person": [1.0]})
    with pytest.raises(InvalidQuery, match=r"people's own caps \(`unit\.caps`\) are caps on ε alone"):
        private.release([Query(name="n", statistic="count", by=("ward",), epsilon=0.1, delta=1e-3)])


MODELS = {name: kind for name, kind in vars(models).items() if hasattr(kind, "fit_table")}
ALL: dict[str, Any] = {
    "epsilon": 1.0,
    "penalty": 100.0,
    "radius": 3.0,
    "noise_multiplier": 5.0,
    "sample_rate": 1,
    "steps": 3,
    "clip": 2.0,
    "learning_rate": 0.5,
    "expected_rows": 9,
}


def test_there_are_models() -> None:
    assert len(MODELS) >= 6


@pytest.mark.parametrize("unit", UNITS, ids=["person", "row"])
@pytest.mark.parametrize("name", MODELS)
def test_models_are_refused_by_name(name: str, unit: Any) -> None:
    """Every model that there is: it leaves nobody out."""
    columns = {"age": {"bounds": [0.0, 4.0]}, "dose": {"bounds": [0.0, 1.0]}, "sick": {"keys": [False, True]}}
    caps = {"epsilon": 1e4, "delta": 0.5, "each_person": [1e4]}
    policy = policy_of(unit, columns=columns, tables={}, max_rows=9, caps=caps)
    rows = {"age": [1.0] * 8, "dose": [0.5] * 8, "sick": [True, False] * 4}
    data = pyarrow.table({"who": WHO, "mine": CAPS, **rows})
    private = PrivateTable(data, policy=policy, ledger="sqlite://")
    before = private.ledger.head()
    known = inspect.signature(MODELS[name]).parameters
    given = {key: value for key, value in ALL.items() if key in known}
    if "noise_multiplier" in given:
        given.pop("epsilon", None)
    target = "sick" if name in {"LogisticRegression", "LinearSVC", "PrivateDecisionTree"} else "dose"
    with pytest.raises(LedgerError, match=r"caps of their own \(`caps\.each_person`\).*Nothing was spent"):
        MODELS[name](**given).fit_table(private, features=["age"], target=target)
    assert private.ledger.head() == before


def test_an_amendment_carries_the_levels_over_and_may_not_change_them(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/own.db"
    old = policy_of(UNITS[0], columns={"age": {"bounds": [0.0, 4.0]}}, tables={})
    private = PrivateTable(pyarrow.table({"who": WHO, "mine": CAPS}), policy=old, ledger=url)
    assert [count(private, 0.2, fresh=True).people_from for _ in range(3)] == [0.25, 0.5, 1.0]
    before = private.ledger.accounts()[1:]
    private.ledger.close()
    refused = {
        "`caps.each_person` may not change": {"caps": {"epsilon": 50.0, "each_person": [0.25, 0.5, 2.0]}},
        "`unit.caps` may not change": {"unit": {"id": "who", "max_rows": 2, "caps": "age"}},
        r"`caps.each_person` may not change from \[0.25, 0.5, 1.0\] to \[\]": {
            "unit": {"id": "who", "max_rows": 2},
            "caps": {"epsilon": 50.0},
        },
    }
    for said, changes in refused.items():
        with pytest.raises(LedgerError, match=said.replace(".", r"\.")):
            amend(old | changes, url, reason="other levels")
    new = old | {"caps": {"epsilon": 40.0, "each_person": LEVELS}}
    amend(new, url, reason="a lower cap")
    private = PrivateTable(pyarrow.table({"who": WHO, "mine": CAPS}), policy=new, ledger=url)
    assert private.ledger.accounts()[1:] == before
    assert count(private, 0.4, fresh=True).people_from == 1.0
    private.ledger.verify()
    with pytest.raises(BudgetExceeded, match="What people set themselves nobody may raise"):
        count(private, 0.1, fresh=True)
    private.ledger.close()


def test_what_is_told_names_the_caps() -> None:
    private = opened()
    count(private, 0.25)
    release = count(private, 0.25, fresh=True)
    told = "Counted: people whose own cap is 0.5 or more. Of people with a smaller cap, or none, nothing is."
    assert release.counted == told
    assert told in str(release)
    assert told in release._repr_html_()
    entries = private.ledger.entries()
    assert [entry.details["people_with_a_cap_from"] for entry in entries] == ["0.25", "0.5"]
    assert '"people_with_a_cap_from": "0.5"' in export(entries, "json")
