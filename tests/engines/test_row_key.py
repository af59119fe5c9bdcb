"""A row key in the policy: one choice of rows for a whole publication, on every engine."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow
import pytest
from sqlglot import exp

from engines.held import held
from leakcap.errors import DataError, InvalidPolicy
from leakcap.release import Engine, PrivateTable, Query, attach, dry_run, load_policy
from leakcap.release.planning import row_keys
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import scans_of
from leakcap.release.planning.statements import select_of

ENGINES = ["duckdb", "postgresql", pytest.param("spark", marks=pytest.mark.slow)]
PEOPLE, MOST = 40, 10
COLUMNS = {"id": "bigint", "stay": "string", "d": "string", "x": "double", "y": "double"}
Row = tuple[int, str | None, str, float, float]
"""Person, row key, ward, and two numbers that tell which of the person's rows it is, in opposite orders."""


def rows_of_people(*, keys: str = "own") -> list[Row]:
    """Up to ten rows each. Their keys are their own, missing, the same for all, or all of these mixed."""
    source = random.Random(4)
    found = []
    for person in range(PEOPLE):
        for place in range(person % (MOST + 1)):
            way = (
                keys
                if keys != "mixed"
                else source.choice(["own", "missing", "same"] if person % 3 else ["own"])
            )
            key = {"own": f"{person}-{place}", "missing": None, "same": "one"}[way]
            found.append((person, key, source.choice("ab"), float(2**place), float(2 ** (MOST - place))))
    return found


def policy(most: int = 3, *, key: str | None = "stay", groups: int | None = None) -> Any:
    return load_policy({
        "dataset": "t", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6},
        "unit": {"id": "id", "max_rows": most, "max_groups": groups, "row": key},
        "columns": {
            "id": {"keys": list(range(PEOPLE))}, "d": {"keys": ["a", "b"]},
            "x": {"bounds": [0.0, 1024.0]}, "y": {"bounds": [0.0, 1024.0]},
        },
    })  # fmt: skip


@contextmanager
def holding(kind: str, rows: list[Row], request: Any) -> Iterator[Engine]:
    """An engine over these rows in this order."""
    yield held(kind, COLUMNS, rows, request, "keyed")


def totals(engine: Engine, rules: Any, seed: str = "5eed", **asked: Any) -> list[list[float]]:
    """The exact totals of each part, cell by cell, in the unit of the column."""
    plan = plan_query(Query(name="q", epsilon=1.0, **asked), rules)
    found = scans_of([plan], engine, seed)[0].run(engine)[0]
    return [[float(one * part.unit) for one in all_.tolist()] for all_, part in zip(found.totals, plan.parts, strict=True)]  # fmt: skip # noqa: E501


def kept(engine: Engine, rules: Any, column: str, seed: str = "5eed", **asked: Any) -> list[set[int]]:
    """Which rows of each person are used: their numbers, read off the sum of the powers of two."""
    (sums,) = totals(engine, rules, seed, statistic="sum", column=column, by=("id",), **asked)
    bits = [{place for place in range(MOST + 1) if round(one) >> place & 1} for one in sums]
    return bits if column == "x" else [{MOST - place for place in mine} for mine in bits]


@pytest.mark.parametrize("kind", ENGINES)
def test_every_answer_uses_the_same_rows_whatever_it_reads(kind: str, request: Any) -> None:
    rows = rows_of_people()
    with holding(kind, rows, request) as engine:
        by_x, by_y = (kept(engine, policy(), column) for column in "xy")
        assert by_x == by_y
        assert [len(mine) for mine in by_x] == [min(3, person % (MOST + 1)) for person in range(PEOPLE)]
        wards: dict[tuple[int, int], str] = {(i, round(x).bit_length() - 1): d for i, _, d, x, _ in rows}
        used = [wards[person, place] for person, mine in enumerate(by_x) for place in mine]
        (counts,) = totals(engine, policy(), statistic="count", by=("d",))
        assert counts == [used.count("a"), used.count("b")]
        assert kept(engine, policy(), "x", "another") != by_x
        # Without a row key the choice hangs on the columns that are read.
        assert kept(engine, policy(key=None), "x") != kept(engine, policy(key=None), "y")


@pytest.mark.parametrize("kind", ENGINES)
def test_a_condition_keeps_what_is_left_of_the_wider_choice(kind: str, request: Any) -> None:
    """Rows that are used of all and meet the condition are used of those that meet it, too."""
    rows = rows_of_people()
    fit = {(i, round(x).bit_length() - 1) for i, _, d, x, _ in rows if d == "a"}
    with holding(kind, rows, request) as engine:
        wide, narrow = kept(engine, policy(), "x"), kept(engine, policy(), "y", where="d = 'a'")
        for person in range(PEOPLE):
            mine = {place for place in wide[person] if (person, place) in fit}
            assert mine <= narrow[person]
            assert len(narrow[person]) == min(3, sum(i == person for i, _ in fit))


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("keys", ["missing", "same", "own", "mixed"])
@pytest.mark.parametrize("groups", [None, 1])
def test_the_bound_holds_whatever_the_keys_are(
    kind: str, keys: str, groups: int | None, request: Any
) -> None:
    rows = rows_of_people(keys=keys)
    mixed = random.Random(9).sample(rows, len(rows))
    for most in (1, 4):
        with holding(kind, rows, request) as engine:
            first = kept(engine, policy(most), "x")
            grouped = totals(engine, policy(most, groups=groups), statistic="count", by=("id", "d"))[0]
        assert [len(mine) for mine in first] == [min(most, person % (MOST + 1)) for person in range(PEOPLE)]
        for person in range(PEOPLE):
            own = grouped[2 * person : 2 * person + 2]
            assert sum(own) <= most
            assert sum(one > 0 for one in own) <= (groups or most)
        with holding(kind, mixed, request) as engine:
            assert kept(engine, policy(most), "x") == first
            again = totals(engine, policy(most, groups=groups), statistic="count", by=("id", "d"))[0]
        assert again == grouped


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("groups", [None, 1])
def test_nobody_changes_which_rows_of_others_are_used(kind: str, groups: int | None, request: Any) -> None:
    """Whoever leaves, and with them perhaps the one unit that is numbered in any case."""
    rows = [row for row in rows_of_people(keys="mixed") if row[0] % 10 > 2 and row[0] < 20]
    asked: dict[str, Any] = {"statistic": "sum", "column": "x", "by": ("id", "d")}
    with holding(kind, rows, request) as engine:
        (all_,) = totals(engine, policy(groups=groups), **asked)
    people = sorted({row[0] for row in rows})
    for person in people[:: 1 if kind == "duckdb" else 7]:
        with holding(kind, [row for row in rows if row[0] != person], request) as engine:
            (left,) = totals(engine, policy(groups=groups), **asked)
        assert any(all_[2 * person : 2 * person + 2])
        assert left == [0.0 if place // 2 == person else one for place, one in enumerate(all_)]


def test_the_quicker_order_is_that_of_numbered_rows(monkeypatch: pytest.MonkeyPatch, request: Any) -> None:
    """As if all units were numbered: the rows are the same, whatever their keys are."""
    for keys in ("own", "mixed", "missing"):
        for groups in (None, 1):
            asked: dict[str, Any] = {"statistic": "sum", "column": "x", "by": ("id", "d")}
            with holding("duckdb", rows_of_people(keys=keys), request) as engine:
                found = totals(engine, policy(groups=groups), **asked)
                with monkeypatch.context() as patched:
                    patched.setattr(row_keys, "_among", lambda own: exp.true())
                    assert totals(engine, policy(groups=groups), **asked) == found


@pytest.mark.parametrize("shared", [0, 1, 5])
def test_rows_whose_keys_are_their_own_are_put_in_order_once(shared: int) -> None:
    """Of 20,000 rows only those of people with a shared key, and of one more, pass a second window."""
    people, each = 2_000, 10
    keys = [f"{i // each}-{0 if i // each < shared else i % each}" for i in range(people * each)]
    data = pyarrow.table({"id": [i // each for i in range(people * each)], "stay": keys})
    with duckdb.connect() as connection:
        connection.register("leakcap_source", data)
        rules = policy(most=3)
        written = attach(data).write(select_of([plan_query(Query(name="q", statistic="count", epsilon=1.0), rules)], "5eed"))  # fmt: skip # noqa: E501
        connection.execute("SET threads = 1; PRAGMA enable_profiling = 'no_output'")
        found = connection.execute(written.text, {"seed": written.seed}).fetchall()
        profile = json.loads(connection.get_profiling_information("json"))
    assert found[0][0] == people * 3
    (top,) = profile["operator"]
    passed = [int(one["intermediate_rows"]) for one in _operators(top) if one["type"] == "WINDOW"]
    assert people * each <= sum(passed) <= people * each + 2 * each * (shared + 1)
    assert len(passed) == 3


def _operators(profile: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield profile
    for child in profile.get("children", []):
        yield from _operators(child)


@pytest.mark.parametrize("keys", ["missing", "own", "the rare one's"])
def test_a_rare_row_is_kept_as_often_as_any(keys: str) -> None:
    """4,000 people with ten rows of which nine are alike: 400 ± 95 keep the tenth (five deviations)."""
    people = 4_000
    here = {"missing": set[int](), "own": set(range(10)), "the rare one's": {3}}[keys]
    data = pyarrow.table({
        "id": [i // 10 for i in range(10 * people)],
        "stay": pyarrow.array([i if i % 10 in here else None for i in range(10 * people)], pyarrow.int64()),
        "r": [int(i % 10 == 3) for i in range(10 * people)],
    })  # fmt: skip
    rules = load_policy({
        "dataset": "t", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6},
        "unit": {"id": "id", "max_rows": 1, "row": "stay"}, "columns": {"r": {"keys": [0, 1]}},
    })  # fmt: skip
    (_, rare), = totals(attach(data), rules, statistic="count", by=("r",))  # fmt: skip
    assert abs(rare - people / 10) <= 95


def test_a_policy_names_a_column_that_is_there_and_no_id() -> None:
    with pytest.raises(InvalidPolicy, match="another column than `unit"):
        policy(key="id")
    table = PrivateTable(pyarrow.table({"id": [1], "d": ["a"]}), policy=policy(), ledger="sqlite://")
    with pytest.raises(DataError, match="The data has no column `stay`, which the policy names"):
        table.count(epsilon=1.0)
    assert table.ledger.totals().entries == 0
    plain = policy(key=None)
    assert '"row"' not in plain.text()  # policies without one keep their fingerprints
    assert policy().fingerprint() != plain.fingerprint()
    assert dry_run([Query(name="n", statistic="count", epsilon=1.0)], policy())


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("key", ["stay", None])
def test_rows_cut_are_those_by_hand_on_every_engine(kind: str, key: str | None, request: Any) -> None:
    """People with n rows of whom 3 are used: one over the limit, and min(n, 7) − 3 rows beyond it."""
    rows = rows_of_people()
    sizes = [person % (MOST + 1) for person in range(PEOPLE)]
    with holding(kind, rows, request) as engine:
        (people,), (left_out,) = totals(engine, policy(key=key), statistic="rows_cut", up_to=7)
        assert people == sum(n > 3 for n in sizes)
        assert left_out == sum(max(0, min(n, 7) - 3) for n in sizes)
        asked: dict[str, Any] = {"statistic": "rows_cut", "up_to": 20, "by": ("d",)}
        _, by_ward = totals(engine, policy(key=key), **asked)
        (kept_,) = totals(engine, policy(key=key), statistic="count", by=("d",))
        all_ = [sum(d == ward for _, _, d, _, _ in rows) for ward in "ab"]
        assert [a + b for a, b in zip(kept_, by_ward, strict=True)] == all_
