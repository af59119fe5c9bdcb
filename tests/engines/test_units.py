"""Bounds on people and private keys on every engine: what is kept of a person is that person's own affair."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engines.held import held
from leakcap.release import Engine, PrivateTable, Query, attach, load_policy
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import scans_of

COLUMNS = {"id": "bigint", "d": "string", "x": "double"}
Row = tuple[int, str | None, float | None]
PEOPLE = 60
KEYS = ["a", "A", "b", "é", "", "a "]
NUMBERS = [-0.0, 0.0, 1.5, float("nan"), float("inf"), 5e-324, None]
BOUNDS = [(1, 1), (3, 1), (4, 2), (5, 3), (2, None)]
SEEDS = ["", "00ff", "5eed"]
ENGINES = ["duckdb", "postgresql", pytest.param("spark", marks=pytest.mark.slow)]


def rows_of_people(seed: int) -> list[Row]:
    """Up to nine rows each, many of them alike, with keys that differ in little."""
    source = random.Random(seed)
    return [
        (person, source.choice([*KEYS, None]), source.choice(NUMBERS))
        for person in range(PEOPLE)
        for _ in range(person % 10)
    ]


def policy(rows: int, groups: int | None, keys: Any = KEYS) -> Any:
    return load_policy({
        "dataset": "t", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6, "delta": 0.5},
        "unit": {"id": "id", "max_rows": rows, "max_groups": groups},
        "columns": {
            "id": {"keys": list(range(PEOPLE))}, "d": {"keys": keys},
            "x": {"bounds": [0.0, 1.0], "fill": 0.5},
        },
    })  # fmt: skip


@contextmanager
def holding(kind: str, rows: list[Row], request: Any) -> Iterator[Engine]:
    """An engine over these rows in this order."""
    yield held(kind, COLUMNS, rows, request, "units")


def kept(engine: Engine, rules: Any, seed: str, statistic: str = "count") -> dict[tuple[Any, ...], list[int]]:
    """For each person and group the exact totals of the rows that are kept."""
    column = None if statistic in ("count", "distinct") else "x"
    plan = plan_query(Query(name="q", statistic=statistic, column=column, by=("id", "d"), epsilon=1.0), rules)
    found = scans_of([plan], engine, seed)[0].run(engine)[0]
    codes = itertools.product(*(axis.labels for axis in plan.cells.axes))
    totals = zip(*(one.tolist() for one in found.totals), strict=True)
    return {code: list(all_) for code, all_ in zip(codes, totals, strict=True) if any(all_)}


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("bound", BOUNDS)
def test_what_is_kept_of_a_person_is_as_much_as_may_be(kind: str, bound: Any, request: Any) -> None:
    """Whole groups in some order, NULL among them, until the groups or the rows are used up."""
    rows = rows_of_people(1)
    most, groups = bound
    with holding(kind, rows, request) as engine:
        for seed in SEEDS:
            found = kept(engine, policy(*bound), seed)
            for person in range(PEOPLE):
                given = Counter(d for i, d, _ in rows if i == person)
                mine = {d: count for (i, d), (count,) in found.items() if i == person}
                assert all(mine[d] <= given[d] for d in mine)
                assert sum(mine.values()) <= most
                assert len(mine) <= (groups or most)
                if given[None] == 0:
                    full = sum(mine.values()) == min(most, given.total())
                    whole = all(mine[d] == given[d] for d in mine) and len(mine) == min(
                        groups or most, len(given)
                    )
                    assert full or whole


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("statistic", ["count", "sum", "mean", "distinct"])
def test_neither_order_nor_other_people_change_what_is_kept(kind: str, statistic: str, request: Any) -> None:
    rows, source = rows_of_people(2), random.Random(3)
    rules = policy(4, 2)
    with holding(kind, rows, request) as engine:
        first = kept(engine, rules, "5eed", statistic)
        assert kept(engine, rules, "other", statistic) != first
    mixed = [row for row in rows if row[0] % 3 != 1]
    source.shuffle(mixed)
    with holding(kind, mixed, request) as engine:
        assert kept(engine, rules, "5eed", statistic) == {k: v for k, v in first.items() if k[0] % 3 != 1}


@pytest.mark.parametrize("kind", ENGINES)
def test_no_value_is_preferred(kind: str, request: Any) -> None:
    """600 people with the same four rows keep one each: 150 ± 10.6 (five deviations: 3·10⁻⁶ each)."""
    people = 600
    rows: list[Row] = [(person, d, 0.0) for person in range(people) for d in KEYS[:4]]
    asked = Query(name="q", statistic="count", by=("d",), epsilon=1.0)
    with holding(kind, rows, request) as engine:
        for bound in ((1, 1), (1, None)):
            plan = plan_query(asked, policy(*bound))
            for seed in SEEDS:
                totals = scans_of([plan], engine, seed)[0].run(engine)[0].totals[0]
                assert sum(totals) == people
                assert all(abs(total - people / 4) < 54 for total in totals[:4])


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("bound", [(1, None), (3, None), (3, 1), (4, 2)])
def test_the_condition_comes_before_the_choice(kind: str, bound: Any, request: Any) -> None:
    """Of the rows that a query asks about each person has as many as may be; the others take no place."""
    rows, most = rows_of_people(4), bound[0]
    rules = policy(*bound)
    asked = Query(name="q", statistic="count", by=("id",), where="d = 'a' or d = 'b'", epsilon=1.0)
    with holding(kind, rows, request) as engine:
        plan = plan_query(asked, rules)
        for seed in SEEDS:
            found = scans_of([plan], engine, seed)[0].run(engine)[0].totals[0].tolist()
            mine = Counter(i for i, d, _ in rows if d in ("a", "b"))
            assert found == [min(most, mine[person]) for person in range(PEOPLE)]


@pytest.mark.parametrize("kind", ENGINES)
def test_rows_that_look_alike_are_not_kept_or_dropped_together(kind: str, request: Any) -> None:
    """2,000 people keep one of ten rows, nine of them alike: the tenth of 200 ± 13.4 (five deviations)."""
    people = 2_000
    rows: list[Row] = [(person, "a" if n == 0 else "b", 0.0) for person in range(people) for n in range(10)]
    with holding(kind, rows, request) as engine:
        for where in (None, "x < 1"):
            asked = Query(name="q", statistic="count", by=("d",), where=where, epsilon=1.0)
            plan = plan_query(asked, policy(1, None, ["a", "b"]))
            for seed in SEEDS:
                alone, alike = scans_of([plan], engine, seed)[0].run(engine)[0].totals[0].tolist()
                assert alone + alike == people
                assert abs(alone - people / 10) < 67


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("rows_kept", [1, 2, 3, 5, 9])
def test_of_equal_rows_as_many_are_kept_as_of_the_others(kind: str, rows_kept: int, request: Any) -> None:
    """k of a person's n rows are alike: k·r/n of them are kept, rounded up or down."""
    alike = {person: Counter({"a": person % 5, "b": 1 + person % 3, "é": person % 2}) for person in range(60)}
    rows: list[Row] = [(person, d, 0.0) for person, mine in alike.items() for d in mine.elements()]
    with holding(kind, rows, request) as engine:
        for seed in SEEDS:
            found = kept(engine, policy(rows_kept, None), seed)
            for person, mine in alike.items():
                for d, many in mine.items():
                    fair = Fraction(many * min(rows_kept, mine.total()), mine.total())
                    (count,) = found.get((person, d), [0])
                    assert count in (math.floor(fair), math.ceil(fair))


@pytest.mark.parametrize("kind", ENGINES)
def test_rows_of_the_last_group_are_chosen_among(kind: str, request: Any) -> None:
    """2,000 people keep two rows of one group, of four of which three are alike, or of two: 500 ± 22 of the
    fourth one (half of them in that group, half of its rows), 5 deviations: 6·10⁻⁷."""
    people = 2_000
    rows: list[Row] = [
        (person, d, x)
        for person in range(people)
        for d, x in [*[("a", 0.0)] * 3, ("a", 1.0), *[("b", 0.0)] * 2]
    ]
    rules = policy(2, 1, ["a", "b"])
    asked = [
        Query(name=s, statistic=s, column=c, by=("d",), epsilon=1.0)
        for s, c in (("count", None), ("sum", "x"))
    ]
    with holding(kind, rows, request) as engine:
        for seed in SEEDS:
            (scan,) = scans_of([plan_query(one, rules) for one in asked], engine, seed)
            counted, summed = (found.totals[0].tolist() for found in scan.run(engine).values())
            assert sum(counted) == 2 * people
            assert abs(counted[0] - people) < 2 * 112
            grid = plan_query(asked[1], rules).grid
            assert grid is not None
            assert abs(grid.value(summed[0]) - people / 4) < 97


@pytest.mark.parametrize("kind", ENGINES)
def test_zeros_of_two_signs_are_numbered_whatever_their_order(kind: str, request: Any) -> None:
    """They are equal, and their hashes may differ: what is kept must not hang on which of them came first."""
    zeros: list[Row] = [(p, None, zero) for p in range(PEOPLE) for zero in (0.0, -0.0, 0.0, 0.25, 0.75)]
    asked = Query(name="q", statistic="sum", column="x", by=("id",), epsilon=1.0)
    found = []
    for rows in (zeros, zeros[::-1], sorted(zeros, key=lambda row: (str(row[2]), row[0]))):
        with holding(kind, rows, request) as engine:
            plan = plan_query(asked, policy(2, None))
            found.append([scans_of([plan], engine, s)[0].run(engine)[0].totals[0].tolist() for s in SEEDS])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("kind", ENGINES)
def test_private_keys(kind: str, request: Any) -> None:
    rows: list[Row] = [(person % PEOPLE, "abé"[person % 3], 1.0) for person in range(PEOPLE)]
    rows += [(person, "z" * 201, 1.0) for person in range(PEOPLE)] + [
        (person, None, 1.0) for person in range(9)
    ]
    rules = policy(4, 4, "private")
    with holding(kind, rows, request) as engine:
        asked = Query(name="q", statistic="distinct", by=("d",), epsilon=1.0, delta=1e-6)
        found = scans_of([plan_query(asked, rules)], engine, "5eed")[0].run(engine)[0]
        (names,) = found.codes
        assert dict(zip(names, found.totals[0], strict=True)) == dict.fromkeys("abé", PEOPLE // 3)


def test_private_keys_of_a_server_end_to_end(server: str, request: Any) -> None:
    rows: list[Row] = [(person, "abé"[person % 3], 1.0) for person in range(PEOPLE)]
    with holding("postgresql", [*rows, (7, "alone", 1.0)], request):
        private = PrivateTable(server, table="units", policy=policy(4, 2, "private"), ledger="sqlite://")
        release = private.distinct(by="d", epsilon=200.0, delta=1e-9)
        assert [row.keys["d"] for row in release.rows] == ["a", "b", "é"]


def test_the_seed_does_not_stand_in_the_statement(server: str, request: Any) -> None:
    """What a server shows of running statements is their text."""
    with holding("postgresql", rows_of_people(1), request) as engine:
        plan = plan_query(
            Query(name="q", statistic="sum", column="x", epsilon=1.0, where="x > 0"), policy(2, None)
        )
        (first,), (second,) = (scans_of([plan], engine, seed) for seed in ("5eed", "other"))
        assert first.statement.text == second.statement.text
        assert first.statement.seed != second.statement.seed
        assert "$1" in first.statement.text
        assert str(first.statement.seed) not in repr(first.statement)


CONTENTS = st.lists(st.tuples(st.sampled_from([*KEYS, None]), st.sampled_from(NUMBERS)), max_size=8)
QUERIES: list[dict[str, Any]] = [
    {"statistic": "count", "by": ("d",)},
    {"statistic": "distinct", "by": ("d",)},
    {"statistic": "sum", "column": "x", "by": ("d",)},
    {"statistic": "mean", "column": "x", "by": ("d",), "where": "x >= 0"},
    {"statistic": "histogram", "column": "x", "bins": 3, "by": ("d",)},
]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    one=CONTENTS, other=CONTENTS, bound=st.sampled_from(BOUNDS), fields=st.sampled_from(QUERIES),
    relation=st.sampled_from(["add-remove-one", "replace-one"]), seed=st.sampled_from(SEEDS),
)  # fmt: skip
def test_no_person_moves_the_integers_of_a_server_by_more(
    request: Any, one: Any, other: Any, bound: Any, fields: Any, relation: str, seed: str
) -> None:
    content = policy(*bound).model_dump(exclude_none=True)
    rules = load_policy(
        {**content, "neighbours": relation, "rows": 9} if relation == "replace-one" else content
    )
    plan = plan_query(Query(name="q", epsilon=1.0, **fields), rules)
    found = []
    for mine in (one, [] if relation == "add-remove-one" else other):
        rows: list[Row] = [*((1, *row) for row in mine), (2, "a", 1.0), (3, "é", 0.0)]
        with holding("postgresql", rows, request) as engine:
            found.append(scans_of([plan], engine, seed)[0].run(engine)[0].totals)
    for part, before, after in zip(plan.parts, *found, strict=True):
        assert sum(abs(a - b) for a, b in zip(before, after, strict=True)) <= part.sensitivity


@pytest.mark.parametrize("by_person", [True, False])
@pytest.mark.parametrize("kind", ENGINES)
def test_people_whose_own_cap_is_too_small_are_left_out_with_all_their_rows(
    kind: str, by_person: bool, request: Any
) -> None:
    """A cap that is missing or NaN in one row leaves the person out; an infinite one is above every level."""
    levels = [5e-9, 1.0, 1.5, 2.0]
    unit = {"id": "id", "max_rows": 10, "caps": "x"} if by_person else {"caps": "x"}
    given = policy(10, None).model_dump(exclude={"unit", "caps"}, exclude_defaults=True)
    checked = load_policy({**given, "unit": unit, "caps": {"epsilon": 1e6, "each_person": levels}})
    rows = [
        (person, d, [1.5, float("inf"), 5e-324, 2.0, x][person % 5] if by_person else x)
        for person, d, x in rows_of_people(3)
    ]
    counted = 0
    with holding(kind, rows, request) as engine:
        for least in levels:
            mine = [row for row in rows if row[2] is not None and row[2] >= least]
            if by_person:
                short = {row[0] for row in rows if row not in mine}
                mine = [row for row in mine if row[0] not in short]
            plan = plan_query(Query(name="n", statistic="count", by=("d",), epsilon=1.0), checked)
            (scan,) = scans_of([replace(plan, people_from=least)], engine, "00")
            seen = Counter(d for _, d, _ in mine)
            assert scan.run(engine)[0].totals[0].tolist() == [seen[key] for key in KEYS]
            counted += len(mine)
    assert 0 < counted < 4 * len(rows)


@pytest.mark.slow
@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("groups", [None, 2])
def test_very_many_rows_of_one_person_stop_nothing(spark: Any, ansi: str, groups: int | None) -> None:
    """Of 60,000 rows 50,000 are kept: the product of the two is beyond Spark's own numbers of rows."""
    frame = spark.range(60_000).selectExpr("0 AS id", "'a' AS d", "CAST(id % 7 AS DOUBLE) / 7 AS x")
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        query = Query(name="q", statistic="count", by=("d",), epsilon=1.0)
        plan, engine = plan_query(query, policy(50_000, groups)), attach(frame)
        (scan,) = scans_of([plan], engine, "5eed")
        (counted,) = scan.run(engine)[0].totals
        assert counted.tolist() == [50_000 * (key == "a") for key in KEYS]
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
