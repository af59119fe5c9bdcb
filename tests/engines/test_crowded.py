"""People with more rows than count are put in order, nobody else is, and what is chosen stays the same."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow
import pytest

import leakcap.release.engine.crowded as crowded_room
from leakcap.release import Engine, Query, attach, load_policy
from leakcap.release.columns.typed import Chosen
from leakcap.release.engine import duckdb_sql
from leakcap.release.engine.duckdb_sql import Integers
from leakcap.release.engine.lowering import Lowering
from leakcap.release.planning import windows
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import scans_of
from leakcap.release.planning.statements import select_of

MOST, SEED = 3, "5eed"
Row = tuple[int | None, str | None, str | None, float | None]
"""Person, row key, group and number."""


def rows_of(seed: int, people: int = 60, most: int = 8) -> list[Row]:
    """Nobody's rows, people with none to eight rows, equal ones among them, in no order."""
    source = random.Random(seed)
    rows: list[Row] = []
    for person in [None, *range(people)]:
        for place in range(source.randrange(most + 1)):
            key = source.choice([f"{person}-{place}", "one", None])
            number = source.choice([None, -1.0, 0.0, 2.5, 7.0, 1e9])
            rows.append((person, key, source.choice(["a", "b", "zzz", None]), number))
    source.shuffle(rows)
    return rows


def policy(most: int = MOST, **unit: Any) -> Any:
    return load_policy({
        "dataset": "t", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6},
        "unit": {"id": "id", "max_rows": most, **unit},
        "columns": {"d": {"keys": ["a", "b"]}, "x": {"bounds": [0.0, 8.0]}},
    })  # fmt: skip


def holding(rows: list[Row]) -> Engine:
    types = (pyarrow.int64(), pyarrow.string(), pyarrow.string(), pyarrow.float64())
    columns = [pyarrow.array([row[n] for row in rows], type_) for n, type_ in enumerate(types)]
    return attach(pyarrow.table(columns, names=["id", "stay", "d", "x"]))


def totals(engine: Engine, rules: Any, **asked: Any) -> list[list[float]]:
    """The exact totals of each part, cell by cell, in its unit."""
    plan = plan_query(Query(name="q", epsilon=1.0, **asked), rules)
    found = scans_of([plan], engine, SEED)[0].run(engine)[0]
    return [
        [float(one * part.unit) for one in all_.tolist()]
        for all_, part in zip(found.totals, plan.parts, strict=True)
    ]


def by_hand(rows: list[Row], most: int, floor: float) -> list[float]:
    """Sums: of each person's rows, in order of group and number, every (n / most)-th, as the manual says."""
    found: Counter[str | None] = Counter()
    asked = [row for row in rows if row[3] is None or row[3] > floor]
    for person in {row[0] for row in asked} - {None}:
        mine = [row for row in asked if row[0] == person]
        mine.sort(key=lambda row: (row[2] is None, row[2] or "", row[3] is None, row[3] or 0.0))
        hashed = "SELECT hash(hash(CAST(? AS BIGINT), CAST(? AS BIGINT), 1)) & CAST(? AS UBIGINT)"
        ((start,),) = duckdb.execute(hashed, [windows._number(SEED), person, 2**62 - 1]).fetchall()
        for place, (_, _, group, number) in enumerate(mine, 1):
            if (start + place * most) % len(mine) < most:
                found[group] += min(max(number or 0.0, 0.0), 8.0)  # type: ignore[assignment]
    return [found["a"], found["b"]]


@pytest.mark.parametrize("most", [1, 3, 100])
@pytest.mark.parametrize("floor", [-2.0, 0.0])
def test_the_rows_are_those_that_the_manual_describes(most: int, floor: float) -> None:
    rows = rows_of(most)
    engine = holding(rows)
    where = f"x > {floor} OR x IS NULL"
    found = totals(engine, policy(most), statistic="sum", column="x", by=("d",), where=where)
    assert found == [by_hand(rows, most, floor)]


def test_a_person_too_many_among_those_who_need_no_order_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = crowded_room.ordered_where_crowded

    def wrong(node: Chosen) -> Any:
        node.set("most", node.args["most"] + 1)
        return right(node)

    monkeypatch.setattr(duckdb_sql, "ordered_where_crowded", wrong)
    with pytest.raises(AssertionError):
        test_the_rows_are_those_that_the_manual_describes(3, -2.0)


QUESTIONS: list[dict[str, Any]] = [
    {"statistic": "count", "by": ("d",)},
    {"statistic": "sum", "column": "x", "by": ("d",), "where": "x > -2"},
    {"statistic": "mean", "column": "x"},
    {"statistic": "histogram", "column": "x", "bins": 4, "where": "d <> 'a'"},
    {"statistic": "rows_cut", "up_to": 40},
]


@pytest.mark.parametrize("unit", [{}, {"row": "stay"}])
def test_it_is_the_choice_of_an_order_of_all_rows(
    unit: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of nobody, and of people of whom all have too many rows, or none."""
    for rows in ([], rows_of(5), rows_of(6, most=2), [row for row in rows_of(7, 9) for _ in range(MOST + 1)]):
        engine = holding(rows)
        found = [totals(engine, policy(**unit), **asked) for asked in QUESTIONS]
        with monkeypatch.context() as patched:
            patched.setattr(Integers, "chosen", Lowering.chosen)
            assert [totals(engine, policy(**unit), **asked) for asked in QUESTIONS] == found
        assert any(map(any, found[0])) == bool(rows)


@pytest.mark.parametrize("crowded", [0, 1, 50])
def test_rows_of_crowded_people_alone_are_put_in_order(crowded: int) -> None:
    """And those of one person more, so that an engine has the same to do whether there are any."""
    few, many, people = MOST, 2 * MOST, 2_000
    sizes = [many if person < crowded else few for person in range(people)]
    ids = [person for person, size in enumerate(sizes) for _ in range(size)]
    data = pyarrow.table({"id": ids, "d": ["a"] * len(ids), "x": [1.0] * len(ids)})
    plan = plan_query(Query(name="q", statistic="count", epsilon=1.0), policy())
    written = attach(data).write(select_of([plan], SEED))
    with duckdb.connect() as connection:
        connection.register("leakcap_source", data)
        connection.execute("SET threads = 1; PRAGMA enable_profiling = 'no_output'")
        found = connection.execute(written.text, {"seed": written.seed}).fetchall()
        profile = json.loads(connection.get_profiling_information("json"))
    assert found == [(people * MOST,)]
    passed = [int(one["intermediate_rows"]) for one in operators(profile) if one.get("type") == "WINDOW"]
    assert passed == [crowded * many + few]


def most_of_one(text: str, seed: int | None) -> int:
    """The most rows that one of many people has, where each reading of the table gives rows to others."""
    with duckdb.connect() as connection:
        drawn = "SELECT floor(500 * random()) AS id, 1.0 AS x FROM range(4000)"
        connection.execute(
            f"CREATE VIEW leakcap_source AS SELECT *, id::INTEGER::VARCHAR AS d FROM ({drawn})"
        )
        found = connection.execute(text, {"seed": seed}).fetchall()
    assert len(found) > 400
    return max(count for _, count in found)


@pytest.mark.parametrize("unit", [{}, {"row": "x"}])
def test_rows_are_held_between_counting_and_choosing(unit: dict[str, Any]) -> None:
    """DuckDB before 1.4 holds them only where a statement says so; later ones read anew where it says that.

    Of 4,000 rows 500 people have eight or so. Some twenty have no more than three in one reading; of those
    one has more in another with a probability above 1 − 10⁻²⁰.
    """
    rules = load_policy({
        "dataset": "t", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6},
        "unit": {"id": "id", "max_rows": MOST, **unit},
        "columns": {"d": {"keys": [str(one) for one in range(500)]}, "x": {"bounds": [0.0, 8.0]}},
    })  # fmt: skip
    plan = plan_query(Query(name="q", statistic="count", by=("d",), epsilon=1.0), rules)
    data = pyarrow.table({"id": [1.0], "x": [1.0], "d": ["1"]})
    written = attach(data).write(select_of([plan], SEED))
    assert most_of_one(written.text, written.seed) == MOST
    held = "leakcap_met AS MATERIALIZED ("
    assert held in written.text
    planted = written.text.replace(held, held.replace("AS", "AS NOT", 1))
    assert most_of_one(planted, written.seed) > MOST


def operators(profile: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield profile
    for child in [*profile.get("children", []), *profile.get("operator", [])]:
        yield from operators(child)


@pytest.mark.parametrize("unit", [{}, {"row": "stay"}])
@pytest.mark.parametrize(("where", "floor"), [("", None), ("x >= 2", 2.0)])
def test_where_nothing_of_a_row_is_read_people_are_counted_and_no_row_is_chosen(
    where: str, floor: float | None, unit: dict[str, str]
) -> None:
    """With one row of each. Rows of nobody, and those that do not meet the condition, are left out; where a
    key is read it matters which row of a person counts, and one is chosen."""
    rules = policy(1, **unit)
    for seed in range(20):
        rows = rows_of(seed)
        people = {row[0] for row in rows if floor is None or (row[3] is not None and row[3] >= floor)}
        engine, asked = holding(rows), {"statistic": "count", "where": where or None}
        assert totals(engine, rules, **asked) == [[float(len(people - {None}))]]
    plan = plan_query(Query(name="q", epsilon=1.0, statistic="count", where=where or None), rules)
    assert "hash" not in scans_of([plan], engine, SEED)[0].statement.text.lower()
    keyed = plan_query(Query(name="q", epsilon=1.0, statistic="count", by=("d",)), rules)
    assert "hash" in scans_of([keyed], engine, SEED)[0].statement.text.lower()
