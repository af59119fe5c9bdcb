"""Sums in doubles are those in integers, or not given; several statistics in one reading change nothing."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import duckdb
import numpy as np
import pyarrow
import pytest
import sqlglot

from engines.adversarial import POLICIES, QUERIES, arrow_table, doubles, random_rows
from leakcap.errors import BudgetExceeded, DataError, InvalidQuery
from leakcap.release import Query, attach, dry_run, load_policy
from leakcap.release.columns.typed import ExactSum, column
from leakcap.release.dummy import dummy_engine
from leakcap.release.engine import Columns, Doubles, Integers, duck, duckdb_sql
from leakcap.release.engine import doubles as sums
from leakcap.release.planning.scan import scans_of
from leakcap.release.planning.statements import select_of
from release.world import exact, planned, policy_of


@pytest.fixture(scope="module")
def quick_statements() -> list[tuple[int | None, str, list[str]]]:
    """Of every query under every policy that has a quick statement: its seed, the sure one, and the quick
    ones. Written once, since all tables have the same columns."""
    engine = attach(arrow_table([]))
    plans = [planned(policy, **query) for policy in POLICIES for query in QUERIES]
    written = [engine.write(select_of([plan])) for plan in plans]
    return [
        (one.seed, one.text, [one.quick, *(write() for write, _ in one.wider)])
        for one in written
        if one.quick is not None
    ]


@pytest.mark.parametrize("seed", range(6))
def test_the_quick_statement_agrees_with_the_sure_one(
    seed: int, quick_statements: list[tuple[int | None, str, list[str]]]
) -> None:
    engine = attach(arrow_table(random_rows(seed, 50)))
    for given, text, quick in quick_statements:
        sure = sorted(engine.aggregate(text, given), key=repr)
        for other in quick:
            assert sorted(engine.aggregate(other, given), key=repr) == sure
    assert len(quick_statements) > 10


def test_a_sum_that_doubles_could_get_wrong_is_not_given() -> None:
    """2³⁵ 2¹⁸ times is 2⁵³; one value more could be rounded away, and with 2⁵³ + 1 it is."""
    connection = duckdb.connect()
    for rows, expected in ((2**18, 2**53), (2**18 + 1, None)):
        text = Doubles({}).lower(ExactSum(this=column("v"), largest=2**35)).sql("duckdb")
        given = f"(SELECT CAST({2**35} AS DOUBLE) AS v FROM range({rows}))"
        assert connection.execute(f"SELECT {text} FROM {given}").fetchall() == [(expected,)]
    values = "(SELECT unnest([9007199254740992, 1]) AS v)"
    assert connection.execute(f"SELECT SUM(v::DOUBLE) FROM {values}").fetchall() == [(2.0**53,)]
    text = Integers({}).lower(ExactSum(this=column("v"), largest=2**53)).sql("duckdb")
    assert connection.execute(f"SELECT {text} FROM {values}").fetchall() == [(2**53 + 1,)]


def test_doubles_are_written_to_the_last_bit() -> None:
    values = doubles(20_000)
    engine = Doubles({})
    for first in range(0, len(values), 2_000):
        some = values[first : first + 2_000]
        listed = ", ".join(engine.number(x).sql("duckdb") for x in some)
        found = duckdb.execute(f"SELECT unnest([{listed}]) AS x").fetchnumpy()["x"]
        assert found.dtype == np.float64
        assert found.view(np.uint64).tolist() == np.array(some).view(np.uint64).tolist()


def test_a_database_that_computes_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Halves away from zero, a NaN that is not beyond all numbers, doubles of other bits: sums and bins would
    not be what was proved.
    """

    class Answering:
        def __init__(self, rows: list[tuple[int, int, bool]], bits: list[int]) -> None:
            self.rows, self.bits = rows, [(one,) for one in bits]
            self.asked = ""

        def execute(self, statement: str) -> Answering:
            self.asked = statement
            return self

        def fetchall(self) -> Sequence[tuple[object, ...]]:
            return self.bits if "AS BIT)" in self.asked else self.rows

    monkeypatch.setattr(duck, "_COVERED", set())
    right = [(whole, whole, True) for whole in (0, 2, 2, 0, -2, 2**51)]
    bits = [struct.unpack("<q", struct.pack("<d", one))[0] for one in (5e-324, 1.0, 0.75, -2.0)]
    swapped = [struct.unpack(">q", struct.pack("<d", one))[0] for one in (5e-324, 1.0, 0.75, -2.0)]
    for rows, told in (
        ([(1, 1, True), *right[1:]], bits),
        ([(0, 0, False), *right[1:]], bits),
        (right, swapped),
    ):
        with pytest.raises(DataError, match="computes in a way"):
            duck._require_arithmetic(cast(duckdb.DuckDBPyConnection, Answering(rows, told)))
    duck._require_arithmetic(cast(duckdb.DuckDBPyConnection, Answering(right, bits)))


def test_where_one_cell_must_have_too_many_rows_the_quick_statement_is_not_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """More rows than all cells together may have: one of them has too many, and its sum would be NULL. Both
    statements ran then, one after the other; what they return is the same.
    """
    monkeypatch.setattr(sums, "_EXACT", 2**37)
    monkeypatch.setattr(duckdb_sql, "_FEW", 1)
    policy = load_policy({
        "dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
        "columns": {"d": {"keys": ["a", "b"]}, "x": {"bounds": [0.0, 1.0]}},
    })  # fmt: skip
    runs: list[str] = []

    def note(name: str) -> None:
        """Of the quick statements, and of the sure one."""
        asked = getattr(duck.DuckDB, name)

        def noted(engine: duck.DuckDB, text: str, seed: int | None) -> Columns | None:
            runs.append(text)
            return cast(Columns | None, asked(engine, text, seed))

        monkeypatch.setattr(duck.DuckDB, name, noted)

    note("_known")
    note("_columns")
    most = 2**37 // 2**32
    version = duckdb.__version__
    # Rows, by which key, and which statements run: quick; in 64 bits, where DuckDB has such sums; then sure.
    for rows, by, tried, long in (
        (most, (), "q", True), (most + 1, (), "l", True), (2 * most, ("d",), "q", True),
        (2 * most + 1, ("d",), "l", True), (most + 2, ("d",), "q", True),
        (most, (), "q", False), (most + 1, (), "s", False), (2 * most + 1, ("d",), "s", False),
    ):  # fmt: skip
        monkeypatch.setattr(duck, "_LONG", {} if long else {version: False})
        # A step below the bound: the most rows at the bound are 2³⁷ steps, of which the statement is not
        # sure any more, since a larger sum may be rounded to it.
        below = 1.0 - 2.0**-32
        engine = attach(pyarrow.table({"d": ["a", "b"] * rows, "x": [below] * (2 * rows)}).slice(0, rows))
        (scan,) = scans_of([planned(policy, statistic="sum", column="x", by=by)], engine)
        runs.clear()
        grid = scan.plans[0].grid
        assert grid is not None
        assert grid.high == 2**32
        assert scan.run(engine)[0].totals[0].sum() == rows * (grid.high - 1)
        known: dict[str | None, str] = {write(): "l" for write, _ in scan.statement.wider}
        known |= {scan.statement.quick: "q", scan.statement.text: "s"}
        assert (len(known) == 3) is long
        assert "".join(known[text] for text in runs) == tried, (rows, by)
    # Rows that all have one key: the quick statement is tried, and not sure.
    engine = attach(pyarrow.table({"d": ["a"] * 2 * most, "x": [1.0] * 2 * most}))
    (scan,) = scans_of([planned(policy, statistic="sum", column="x", by=("d",))], engine)
    runs.clear()
    assert scan.run(engine)[0].totals[0].tolist() == [2 * most * 2**32, 0]
    assert runs == [scan.statement.quick, scan.statement.text]


def test_a_sum_that_64_bits_could_not_hold_is_not_given() -> None:
    """2⁴⁴ 2¹⁹ times is 2⁶³, one more than the largest: so many rows are refused, and one less is exact."""
    connection, lowering = duckdb.connect(), duckdb_sql.Longs({})
    node = ExactSum(this=column("v"), largest=2**44, cells=5)
    text = lowering.lower(node.copy()).sql("duckdb")
    for sign in (1, -1):
        given = f"(SELECT CAST({sign * 2**44} AS BIGINT) AS v FROM range({2**19 - 1}))"
        found = connection.execute(f"SELECT {text} FROM {given}").fetchall()
        assert found == [(sign * (2**63 - 2**44),)]
    # However the rows lie in cells, tables with more are not asked: DuckDB stops at sums that are too large.
    assert lowering.room(node, 5) == lowering.limit(node) == 2**19 - 1
    for rows in (2**19, 2**20):
        given = f"(SELECT CAST({2**44} AS BIGINT) AS v FROM range({rows}))"
        with contextlib.suppress(duckdb.OutOfRangeException):
            assert connection.execute(f"SELECT {text} FROM {given}").fetchall() == [(None,)]
    few = f"(SELECT unnest(range({2**19})) AS v)"
    assert connection.execute(f"SELECT {text} FROM {few}").fetchall() == [(None,)]
    assert connection.execute(f"SELECT {text} FROM {few} WHERE v < 0").fetchall() == [(0,)]
    assert sums.long_limit(ExactSum(this=column("v"), largest=2**45)) is None


def test_a_table_that_has_grown_beyond_64_bits_is_still_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows were counted before: the sum in 64 bits says NULL or stops, and the sure one runs."""
    connection = duckdb.connect()
    largest, rows = 2**44, 2**20
    connection.execute(
        f"CREATE VIEW leakcap_source AS SELECT CAST({largest} AS BIGINT) AS v FROM range({rows})"
    )
    engine = duck.DuckDB(connection)
    monkeypatch.setattr(duck.DuckDB, "_rows", lambda _engine: 2**18)
    tree = sqlglot.select(ExactSum(this=column("v"), largest=largest).as_("t0")).from_("leakcap_source")
    statement = engine.write(tree)
    assert [most for _, most in statement.ways][-1] == 2**19 - 1
    (total,) = engine.run(replace(statement, quick=statement.ways[-1][0](), wider=())).arrays
    assert largest * rows > 2**63
    assert total.tolist() == [largest * rows]


@pytest.mark.parametrize(
    ("stop", "seen"),
    [
        (KeyboardInterrupt(), KeyboardInterrupt),
        (RuntimeError("Query interrupted"), DataError),
        (duckdb.InterruptException("Interrupted!"), DataError),
        (duckdb.OutOfMemoryException("Out of Memory"), DataError),
        (duckdb.OutOfRangeException("Overflow in addition of INT64"), None),
        (duckdb.ConversionException("out of range for the destination type"), None),
    ],
)
def test_only_a_range_that_was_left_begins_the_sure_statement(
    stop: BaseException, seen: type[BaseException] | None
) -> None:
    """Ctrl-C while the quick statement runs ends the reading, as DuckDB's versions say it."""
    connection, asked = duckdb.connect(), list[str]()
    connection.execute("CREATE VIEW leakcap_source AS SELECT CAST(7 AS BIGINT) AS v FROM range(3)")
    engine = duck.DuckDB(connection)
    tree = sqlglot.select(ExactSum(this=column("v"), largest=2**44).as_("t0")).from_("leakcap_source")
    statement = engine.write(tree)
    quick = statement.ways[-1][0]()
    assert engine.run(statement).arrays[0].tolist() == [21]

    class Stopped:
        def execute(self, text: str, given: object = None) -> duckdb.DuckDBPyConnection:
            asked.append(text)
            if text == quick:
                raise stop
            return connection.execute(text, given)

    engine._connection = cast(duckdb.DuckDBPyConnection, Stopped())
    one = replace(statement, quick=quick, wider=())
    if seen is None:
        assert engine.run(one).arrays[0].tolist() == [21]
        assert asked == [quick, statement.text]
        return
    with pytest.raises(seen):
        engine.run(one)
    assert asked == [quick]


def test_a_database_without_sums_in_64_bits_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that does not know the word, and one that knows it and stops, or adds up otherwise."""

    class Answering:
        def __init__(self, found: list[tuple[object, ...]] | None) -> None:
            self.found = found

        def execute(self, _statement: str) -> Answering:
            if self.found is None:
                raise duckdb.BinderException("for internal use only")
            return self

        def fetchall(self) -> list[tuple[object, ...]]:
            return self.found or []

    right: list[tuple[object, ...]] = [(2**63 - 6, None)]
    wrong: tuple[list[tuple[object, ...]] | None, ...] = (None, [(float(2**63), None)], [(2**63 - 6, 0)])
    for given in (right, *wrong):
        monkeypatch.setattr(duck, "_LONG", {})
        assert duck._adds_long(cast(duckdb.DuckDBPyConnection, Answering(given))) is (given is right)
    engine = attach(arrow_table(random_rows(3, 50)))
    monkeypatch.setattr(duck, "_LONG", {duckdb.__version__: False})
    older = attach(arrow_table(random_rows(3, 50)))
    for policy in POLICIES:
        for query in QUERIES:
            plan = planned(policy, **query)
            assert exact(plan, engine) == exact(plan, older)


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_values_that_are_taken_together_are_missing_together(missing: float | None) -> None:
    """By arithmetic and by a choice, against Python: every pair of numbers, of huge ones, zeros and none."""
    some = [missing, 0.0, -0.0, 5e-324, 1.5, -7.25, 40.0, 1e308, -1e308, float("inf"), float("-inf")]
    pairs = [(x, y) for x in some for y in some]
    rows = {"x": [x for x, _ in pairs], "y": [y for _, y in pairs]}
    engine = attach(
        pyarrow.table({name: pyarrow.array(one, pyarrow.float64()) for name, one in rows.items()})
    )
    policy = policy_of(columns={"x": {"bounds": [-3.0, 10.0]}, "y": {"bounds": [2.0, 8.0]}})
    plan = planned(policy, statistic="correlation", columns=("x", "y"))
    statement = engine.write(select_of([plan]))
    assert statement.quick is not None
    assert "IS NULL" not in statement.quick
    assert "IS NULL" in statement.text
    (quick,), (sure,) = (engine.aggregate(text) for text in (statement.quick, statement.text))
    assert quick == sure
    assert quick[0] == (len(some) - 1) ** 2


def test_where_rounding_in_doubles_is_not_exact_there_is_no_quick_statement() -> None:
    engine = attach(arrow_table(random_rows(0, 5)))
    wide = policy_of(columns={"x": {"bounds": [1e15, 1e15 + 1]}})
    statement = engine.write(select_of([planned(wide, statistic="sum", column="x", epsilon=1e6)]))
    assert statement.quick is None
    assert not statement.ways


@pytest.mark.parametrize("policy", POLICIES)
def test_one_reading_gives_what_each_statement_alone_gives(policy: object) -> None:
    engine = attach(arrow_table(random_rows(9, 60)))
    more = [{"statistic": "count", "by": (key,)} for key in ("d", "f")]
    queries = [*QUERIES, *QUERIES[2:5], *more]
    plans = [planned(policy, **query) for query in queries]
    scans = scans_of(plans, engine)
    assert len(scans) < len(plans)
    found = {
        place: [one.tolist() for one in read.totals]
        for scan in scans
        for place, read in scan.run(engine).items()
    }
    assert [found[place] for place in range(len(plans))] == [exact(plan, engine) for plan in plans]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"neighbours": "replace-one", "rows": 10**9},
        {"neighbours": "replace-one", "rows": 7, "unit": {"id": "d"}},
        {"unit": {"id": "id", "max_rows": 3}, "max_rows": 20},
    ],
)
def test_a_dry_run_goes_the_whole_way_and_needs_no_data(changes: dict[str, object]) -> None:
    policy = policy_of(**changes)
    queries = [
        Query(name=f"{index}", epsilon=1.0, **{**query, "by": tuple(query.get("by", ()))})
        for index, query in enumerate(QUERIES)
        if "k IN" not in query.get("where", "")
    ]
    releases = dry_run(queries, policy)
    assert [release.name for release in releases] == [query.name for query in queries]
    assert set(dummy_engine(policy).columns()) >= set(policy.columns)


def test_a_dry_run_refuses_what_the_release_would_refuse() -> None:
    with pytest.raises(BudgetExceeded):
        dry_run([Query(name="n", statistic="count", epsilon=101.0)], policy_of())
    with pytest.raises(InvalidQuery):
        dry_run([Query(name="n", statistic="sum", column="d", epsilon=1.0)], policy_of())


@pytest.mark.parametrize("rows", [7, 2**18, 300_000])
def test_squares_add_up_exactly_however_many_they_are(rows: int) -> None:
    """Of integers up to 2²⁰ the squares pass 2⁵³ after 2¹³ rows; the quick statement is sure of them all."""
    values = np.random.default_rng(rows).integers(-(2**20), 2**20, rows)
    assert (values**2).sum(dtype=object) > 2**53 or rows == 7
    node = ExactSum(this=sqlglot.parse_one("v * v - 5"), largest=2**40)
    assert Doubles({}).limit(node) is None
    text = Doubles({}).lower(node).sql("duckdb")
    connection = duckdb.connect()
    connection.register("given", pyarrow.table({"v": values.astype(float)}))
    expected = sum(value * value - 5 for value in values.tolist())
    assert connection.execute(f"SELECT {text} FROM given").fetchall() == [(expected,)]
    assert connection.execute(f"SELECT {text} FROM given WHERE v > {2**21}").fetchall() == [(0,)]


@pytest.mark.parametrize("statistic", ["variance", "correlation"])
def test_no_statement_about_squares_reads_a_large_table_twice(statistic: str) -> None:
    """Doubles alone cannot say the squares of 20,000 rows for sure; the quick statement still can."""
    rows = 20_000
    engine = attach(
        pyarrow.table({"x": np.linspace(-9, 9, rows), "y": np.linspace(2, 8, rows), "k": [1] * rows})
    )
    asked = {"columns": ("x", "y")} if statistic == "correlation" else {"column": "x"}
    policy = policy_of(
        columns={"x": {"bounds": [-3.0, 10.0]}, "y": {"bounds": [2.0, 8.0]}, "k": {"keys": [1, 2]}}
    )
    for by in ((), ("k",)):
        statement = engine.write(select_of([planned(policy, statistic=statistic, by=by, **asked)]))
        assert statement.quick is not None
        found = engine.aggregate(statement.quick, statement.seed)
        assert None not in found[0]
        assert found == engine.aggregate(statement.text, statement.seed)
