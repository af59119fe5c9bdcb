"""Joins: one person's data move no answer further than its sensitivity, in whichever tables they are."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leakcap.errors import DataError, InvalidPolicy, InvalidQuery
from leakcap.release import DuckDB, PrivateTable, attach, dry_run, load_policy, query_from
from leakcap.release.columns.typed import SOURCE, Quantize, ReadColumn, joined_source
from leakcap.release.engine.base import SqlStatement
from leakcap.release.plan import Plan
from leakcap.release.planning.plan import plan_query, text_of, used_columns
from leakcap.release.planning.price import price_of
from leakcap.release.planning.scan import read_totals
from leakcap.release.planning.statements import select_of

Rows = list[dict[str, Any]]
COLUMNS: dict[str, Any] = {
    "stay": {"bounds": [-3.0, 10.0], "fill": 1.0},
    "ward": {"keys": ["a", "b"]},
}
TABLES: dict[str, Any] = {
    "people": {
        "id": "pid",
        "columns": {"sex": {"keys": ["f", "m"]}, "age": {"bounds": [0.0, 100.0]}},
    },
    "wards": {"public": True, "key": "code", "on": "ward", "columns": {"region": {"keys": ["n", "s"]}}},
}
WARDS: Rows = [
    {"code": "a", "region": "n"},
    {"code": "b", "region": "s"},
    {"code": "b", "region": "n"},
    {"code": None, "region": "n"},
]


def policy_of(**changes: Any) -> Any:
    base: dict[str, Any] = {
        "dataset": "visits",
        "unit": {"id": "person", "max_rows": 2},
        "neighbours": "add-remove-one",
        "caps": {"epsilon": 1e6},
        "columns": COLUMNS,
        "tables": TABLES,
    }
    return load_policy({**base, **changes})


def visits_of(rows: Rows) -> pyarrow.Table:
    return _arrow(rows, {"person": pyarrow.int64(), "stay": pyarrow.float64(), "ward": pyarrow.string()})


def people_of(rows: Rows) -> pyarrow.Table:
    return _arrow(rows, {"pid": pyarrow.int64(), "sex": pyarrow.string(), "age": pyarrow.float64()})


def wards_of(rows: Rows) -> pyarrow.Table:
    return _arrow(rows, {"code": pyarrow.string(), "region": pyarrow.string()})


def _arrow(rows: Rows, types: dict[str, Any]) -> pyarrow.Table:
    return pyarrow.table(
        {name: pyarrow.array([row.get(name) for row in rows], type_) for name, type_ in types.items()}
    )


@functools.cache
def engine() -> DuckDB:
    others = {"people": people_of([]), "wards": wards_of(WARDS)}
    found = attach(visits_of([]), tables=others)
    assert isinstance(found, DuckDB)
    return found


def totals(plan: Plan, visits: Rows, people: Rows) -> list[list[int]]:
    """The exact integers of every part, by one engine that is shown table after table."""
    one = engine()
    one._connection.register(SOURCE, visits_of(visits))
    one._connection.register(joined_source("people"), people_of(people))
    one._types = None
    if id(plan) not in WRITTEN:
        WRITTEN[id(plan)] = plan, one.write(select_of([plan], "seed"))
    return [column.tolist() for column in read_totals(plan, one.run(WRITTEN[id(plan)][1]))]


# The statement of each plan: all tables have one schema. The plan is kept, so that its id stays its own.
WRITTEN: dict[int, tuple[Plan, SqlStatement]] = {}


def planned(policy: Any, **fields: Any) -> Plan:
    return plan_query(query_from({"name": "q", "epsilon": 1.0, **fields}), policy)


QUERIES: list[dict[str, Any]] = [
    {"statistic": "count", "join": "people"},
    {"statistic": "count", "join": "people", "by": "people.sex"},
    {"statistic": "count", "join": ["people", "wards"], "by": ["people.sex", "wards.region"]},
    {"statistic": "sum", "column": "stay", "join": "people", "where": "people.age >= 50"},
    {"statistic": "sum", "column": "people.age", "join": "people", "by": "ward"},
    {"statistic": "mean", "column": "stay", "join": "people"},
    {"statistic": "mean", "column": "people.age", "join": "people", "by": "wards.region"},
    {"statistic": "variance", "column": "stay", "join": "people"},
    {"statistic": "histogram", "column": "people.age", "bins": 3, "join": "people"},
    {"statistic": "distinct", "join": "people", "by": "people.sex"},
    {"statistic": "distinct", "join": "people"},
    {"statistic": "distinct", "join": "wards", "by": "wards.region"},
]
QUERIES[6]["join"] = ["people", "wards"]
VISIT = st.fixed_dictionaries(
    {
        "stay": st.sampled_from([None, math.nan, -math.inf, -7.0, -3.0, 0.0, 10.0, 1e300]),
        "ward": st.sampled_from(["a", "b", "z", None]),
    }
)
PERSON = st.fixed_dictionaries(
    {
        "sex": st.sampled_from(["f", "m", "?", None]),
        "age": st.sampled_from([None, math.nan, -1.0, 0.0, 49.0, 50.0, 100.0, math.inf]),
    }
)
UNIT = st.tuples(st.lists(VISIT, max_size=4), st.lists(PERSON, max_size=3))
Unit = tuple[Rows, Rows]


def together(units: list[tuple[int | None, Unit]]) -> tuple[Rows, Rows]:
    visits = [{**visit, "person": key} for key, unit in units for visit in unit[0]]
    return visits, [{**person, "pid": key} for key, unit in units for person in unit[1]]


@functools.cache
def bounded_plan(relation: str, place: int, groups: int) -> Plan:
    """Planned and written once, however many tables are asked."""
    rows = {"rows": 5} if relation == "replace-one" else {}
    bounds = {"id": "person", "max_rows": 2, "max_groups": groups}
    return planned(policy_of(neighbours=relation, unit=bounds, **rows), **QUERIES[place])


@given(st.sampled_from(range(len(QUERIES))), UNIT, UNIT, st.lists(UNIT, max_size=3), st.integers(1, 3))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nobody_moves_an_answer_further_than_its_sensitivity(
    place: int, unit: Unit, other: Unit, rest: list[Unit], groups: int
) -> None:
    """Add, remove and replace everywhere, among duplicates, orphans and rows without a key."""
    others = [(900 + place, one) for place, one in enumerate(rest)]
    strangers = [(None, one) for one in rest]
    for relation in ("add-remove-one", "replace-one"):
        plan = bounded_plan(relation, place, min(groups, 2))
        before = totals(plan, *together([(1, unit), *others, *strangers]))
        after_units = [*others, *strangers]
        if relation == "replace-one":
            after_units = [(2, other), *after_units]
        after = totals(plan, *together(after_units))
        for part, left, right in zip(plan.parts, before, after, strict=True):
            moved = sum(abs(a - b) for a, b in zip(left, right, strict=True))
            assert moved <= part.sensitivity, (part.role, before, after)


@given(st.lists(UNIT, max_size=4))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_answer_is_that_of_a_join_by_hand(units: list[Unit]) -> None:
    keyed = [(place, unit) for place, unit in enumerate(units)]
    plan = planned(policy_of(unit={"id": "person", "max_rows": 9}), **QUERIES[1])
    expected = {"f": 0, "m": 0}
    for _, (visits, people) in keyed:
        if people:
            first = min(people, key=_sorts)
            if first["sex"] in expected:
                expected[first["sex"]] += len(visits)
    assert totals(plan, *together(keyed)) == [[expected["f"], expected["m"]]]


def _sorts(person: dict[str, Any]) -> tuple[Any, ...]:
    """Missing values last; NaN is missing."""
    age = None if person["age"] is None or math.isnan(person["age"]) else person["age"]
    return (person["sex"] is None, person["sex"] or "", age is None, age or 0.0)


def test_a_planted_bug_is_caught() -> None:
    """Without the choice of one row a key, twenty rows for one person pass the sensitivity."""
    plan = planned(policy_of(unit={"id": "person", "max_rows": 1}), statistic="distinct", join="people")
    visits, people = together([(1, ([{"ward": "a", "stay": 1.0}], [{"sex": "f", "age": 1.0}] * 20))])
    assert totals(plan, visits, people) == [[1]]
    naive = f"SELECT COUNT(*) FROM {SOURCE} JOIN {joined_source('people')} ON person = pid"
    assert engine()._fetch(naive) == [(20,)]
    assert plan.parts[0].sensitivity < 20


def test_a_join_may_leave_people_out_so_their_number_is_not_public() -> None:
    """Under replace-one with a row a person everybody adds one row; with a join nobody has to."""
    policy = policy_of(neighbours="replace-one", rows=5, unit={"id": "person", "max_rows": 1})
    alone = planned(policy, statistic="mean", column="stay")
    joined = planned(policy, statistic="mean", column="stay", join="people")
    assert (alone.exact_count, joined.exact_count) == (5, None)
    assert [part.role for part in joined.parts] == ["sum", "count"]
    sums = [planned(policy, statistic="sum", column="stay", **more) for more in ({}, {"join": "people"})]
    step = sums[1].grid.step if sums[1].grid else 0
    # U − L = 13 alone; with a join from nothing to 10, or to −3.
    assert sums[1].parts[0].contribution.every is False
    assert sums[1].parts[0].contribution.low * step == -3


def test_lower_ends_do_not_believe_a_public_table() -> None:
    """A public table that has no key at all makes every count 0, which tells nothing."""
    policy = policy_of(unit={"id": "person", "max_rows": 1})
    assert price_of(planned(policy, statistic="count", join="people")).nats_person.lower > 0.0
    assert price_of(planned(policy, statistic="count", join="wards")).nats_person.lower == 0.0


def retyped(type_: Any) -> pyarrow.Table:
    return people_of([]).set_column(0, "pid", pyarrow.array([], type_))


def count_of(tables: dict[str, Any]) -> Any:
    private = PrivateTable(visits_of([]), policy=policy_of(), ledger="sqlite://", tables=tables)
    return private.join("people", "wards").count().release(epsilon=1.0)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"people": people_of([])}, "`wards` was not given"),
        ({"people": people_of([]), "wards": wards_of([]), "more": wards_of([])}, "does not declare"),
        ({"people": people_of([]).drop_columns(["pid"]), "wards": wards_of(WARDS)}, "`people.pid`"),
        ({"people": people_of([]).drop_columns(["age"]), "wards": wards_of(WARDS)}, "`people.age`"),
        (
            {"people": retyped(pyarrow.string()), "wards": wards_of([])},
            "type BIGINT and `people.pid` VARCHAR, not the same",
        ),
        (
            {"people": retyped(pyarrow.float64()), "wards": wards_of([])},
            "BIGINT and `people.pid` DOUBLE",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_its_schema_alone(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        count_of(tables)


@pytest.mark.parametrize("ids", [["x", "1", "", "1e400"], ["1", "2", None, "2"]])
def test_no_id_can_stop_the_engine(ids: list[str | None]) -> None:
    visits = visits_of([{"ward": "a"}] * 4).set_column(0, "person", pyarrow.array(ids, pyarrow.string()))
    people = people_of([{"sex": "f"}] * 4).set_column(0, "pid", pyarrow.array(ids, pyarrow.string()))
    private = PrivateTable(visits, policy=policy_of(), ledger="sqlite://", tables={"people": people})
    released = private.join("people").by("people.sex").count().release(epsilon=1000.0)
    assert [row.value for row in released.rows] == [sum(one is not None for one in ids), 0]


def test_files_stored_tables_and_lines(tmp_path: Path) -> None:
    visits, people = together(
        [
            (1, ([{"ward": "a", "stay": 1.0}], [{"sex": "f", "age": 5.0}])),
            (2, ([{"ward": "b"}], [{"sex": "m"}])),
        ]
    )
    pyarrow.parquet.write_table(visits_of(visits), tmp_path / "v.parquet")
    pyarrow.parquet.write_table(people_of(people), tmp_path / "p.parquet")
    (tmp_path / "wards.csv").write_text("code,region\na,n\nb,s\n")
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute(f"CREATE TABLE visits AS FROM '{tmp_path / 'v.parquet'}'")
        connection.execute(f"CREATE TABLE persons AS FROM '{tmp_path / 'p.parquet'}'")
    places: list[tuple[Any, dict[str, Any]]] = [
        (
            tmp_path / "v.parquet",
            {"tables": {"people": tmp_path / "p.parquet", "wards": tmp_path / "wards.csv"}},
        ),
        (
            str(tmp_path / "clinic.duckdb"),
            {"table": "visits", "tables": {"people": "persons", "wards": tmp_path / "wards.csv"}},
        ),
        (visits_of(visits), {"tables": {"people": people_of(people), "wards": wards_of(WARDS[:2])}}),
    ]
    for data, options in places:
        private = PrivateTable(data, policy=policy_of(), ledger="sqlite://", **options)
        asked = private.join("people", "wards").by("people.sex", "wards.region").count()
        assert [row.value for row in asked.release(epsilon=1000.0).rows] == [1, 0, 0, 1]


def test_a_change_of_either_table_is_another_state(tmp_path: Path) -> None:
    visits, people = together([(1, ([{"ward": "a"}], [{"sex": "f"}]))])
    pyarrow.parquet.write_table(visits_of(visits), tmp_path / "v.parquet")
    ledger = f"sqlite:///{tmp_path / 'l.db'}"

    def asked() -> Any:
        private = PrivateTable(
            tmp_path / "v.parquet",
            policy=policy_of(),
            ledger=ledger,
            tables={"people": tmp_path / "p.parquet"},
        )
        return private.join("people").count().release(epsilon=1000.0)

    pyarrow.parquet.write_table(people_of(people), tmp_path / "p.parquet")
    first = asked()
    assert (first.value, first.repeated) == (1, False)
    assert asked().repeated
    (tmp_path / "p.parquet").unlink()
    pyarrow.parquet.write_table(people_of([]), tmp_path / "p.parquet")
    second = asked()
    assert (second.value, second.repeated) == (0, False)


def test_a_joined_query_is_another_query() -> None:
    texts = {
        text_of(planned(policy_of(), statistic="count", **more))
        for more in ({}, {"join": "people"}, {"join": "wards"})
    }
    assert texts == {"count", "count join people", "count join wards"}


def test_dry_runs_make_the_other_tables_too() -> None:
    queries = [query_from({"name": str(i), "epsilon": 1.0, **query}) for i, query in enumerate(QUERIES)]
    assert len(dry_run(queries, policy_of())) == len(QUERIES)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"people": {"columns": {"sex": {"keys": ["f"]}}}}, "needs the `id` of its people"),
        ({"w": {"public": True, "key": "k", "columns": {"r": {"keys": ["n"]}}}}, "needs `key` and `on`"),
        ({"w": {"public": True, "id": "k", "columns": {"r": {"keys": ["n"]}}}}, "needs `key` and `on`"),
        ({"w": {**TABLES["wards"], "on": "stay"}}, "that has keys"),
        ({"w": {**TABLES["wards"], "on": "none"}}, "that has keys"),
        ({"visits": TABLES["people"]}, "`tables` and `dataset` differ only"),
        ({"people": TABLES["people"], "People": TABLES["people"]}, "differ only"),
        ({"a.b": TABLES["people"]}, "plain word"),
        ({"a; DROP TABLE x": TABLES["people"]}, "plain word"),
        ({"p" * 31: TABLES["people"]}, "too long a name"),
        ({"people": {"id": "SEX", "columns": {"sex": {"keys": ["f"]}}}}, "upper and lower case"),
        ({"people": {"id": "pid", "columns": {}}}, "at least 1"),
        ({"people": {**TABLES["people"], "trusted": True}}, "not a known field"),
    ],
)  # fmt: skip
def test_policies_that_say_too_little_or_too_much(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidPolicy, match=message):
        policy_of(tables=tables)


def test_a_row_has_no_table_of_its_own() -> None:
    with pytest.raises(InvalidPolicy, match="the unit is a row"):
        policy_of(unit="row")
    shadow = {**COLUMNS, "people.sex": {"keys": ["f"]}}
    with pytest.raises(InvalidPolicy, match="called like a column"):
        policy_of(columns=shadow)
    # Without other tables a policy has the fingerprint that it always had.
    assert "tables" not in policy_of(tables={}).model_dump(exclude_defaults=True)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"statistic": "count", "by": "people.sex"}, "not a column of the policy"),
        ({"statistic": "count", "where": "people.sex = 'f'"}, "`people` is not joined"),
        ({"statistic": "count", "join": "nobody"}, "no table of the policy"),
        ({"statistic": "count", "join": ["people", "people"]}, "not repeat a table"),
        ({"statistic": "count", "join": "people", "where": "x.people.sex = 'f'"}, "a joined table only"),
        ({"statistic": "count", "join": "people", "where": "people.pid = 3"}, "no joined table has it"),
        ({"statistic": "sum", "column": "people.pid", "join": "people"}, "not a column of the policy"),
    ],
)  # fmt: skip
def test_queries_that_reach_too_far(query: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidQuery, match=message):
        planned(policy_of(), **query)


def test_the_columns_that_are_checked_are_those_that_the_statement_reads() -> None:
    """By a second route: the whole statement's words. Ids and keys are checked for themselves."""
    policy = policy_of()
    keys = {"person", "people.pid", "wards.code", "ward"}
    for asked in (
        {"statistic": "count"},
        {"statistic": "sum", "column": "stay", "by": ["ward"]},
        {"statistic": "mean", "column": "stay", "where": "ward = 'a'"},
        {"statistic": "count", "join": ["people"]},
        {"statistic": "sum", "column": "stay", "join": ["people", "wards"], "by": ["wards.region"]},
        {"statistic": "median", "column": "people.age", "join": ["people"], "where": "people.sex = 'f'"},
    ):
        plan = plan_query(query_from({"name": "q", "epsilon": 1.0, **asked}), policy)
        read = {node.this.name for node in select_of([plan], "seed").find_all(ReadColumn, Quantize)}
        assert (read & {*plan.policy.columns}) - keys <= {*used_columns(plan)} <= read, asked
