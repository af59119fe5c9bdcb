"""PostgreSQL: the same integers as DuckDB, no value that can stop it, and nothing but stored tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import psycopg
import pytest

from engines.adversarial import FLOATS, POLICIES, QUERIES, arrow_table, random_rows
from leakcap.errors import DataError
from leakcap.models.examples import of_table
from leakcap.release import PrivateTable, attach
from leakcap.release.engine.base import SqlStatement
from leakcap.release.engine.postgresql import PostgreSQL
from leakcap.release.plan import Plan
from leakcap.release.planning.statements import select_of
from release.world import exact, planned, policy_of, totals

CREATE = "CREATE TABLE odd (id int8, x float8, y float8, s float4, d text, k int8, f bool)"


def sql(server: str, *statements: str) -> None:
    with psycopg.connect(server.replace("+psycopg", ""), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture(scope="module")
def engine(server: str) -> PostgreSQL:
    sql(server, CREATE)
    return PostgreSQL(server, table="odd")


def fill(server: str, rows: list[dict[str, Any]]) -> None:
    with psycopg.connect(server.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("TRUNCATE odd")
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO odd VALUES (%s, %s, %s, %s, %s, %s, %s)", [tuple(row.values()) for row in rows]
            )


@pytest.fixture(scope="module")
def asked(engine: PostgreSQL) -> list[tuple[Plan, SqlStatement, SqlStatement]]:
    """Every query under every policy, and what each engine is told: all tables have the same columns."""
    duck = attach(arrow_table([]))
    plans = [planned(policy, **query) for policy in POLICIES for query in QUERIES]
    return [(plan, engine.write(select_of([plan])), duck.write(select_of([plan]))) for plan in plans]


@pytest.mark.parametrize("seed", range(12))
def test_it_agrees_with_duckdb_on_odd_tables(
    server: str, engine: PostgreSQL, asked: list[tuple[Plan, SqlStatement, SqlStatement]], seed: int
) -> None:
    rows = random_rows(seed, [0, 1, 3, 40][seed % 4])
    fill(server, rows)
    duck = attach(arrow_table(rows))
    assert len(asked) == len(POLICIES) * len(QUERIES)
    for plan, ours, theirs in asked:
        assert totals(plan, engine.run(ours)) == totals(plan, duck.run(theirs)), (plan.query, rows)


def test_every_single_value_is_read_without_an_error(server: str, engine: PostgreSQL) -> None:
    """An error at one row would tell that it is there; nor does one stop it under the widest bounds."""
    wide = [policy_of(columns={"x": {"bounds": ends}}) for ends in ([-1e90, 0.0], [0.0, 1e90], [-1e90, 1e90])]
    duck = attach(arrow_table([]))
    plans = [planned(policy, statistic="sum", column="x") for policy in (*POLICIES, *wide)]
    told = [(plan, engine.write(select_of([plan])), duck.write(select_of([plan]))) for plan in plans]
    for value in FLOATS:
        rows = [{"id": 1, "x": value, "y": value, "s": None, "d": None, "k": None, "f": None}]
        fill(server, rows)
        duck = attach(arrow_table(rows))
        for plan, ours, theirs in told:
            assert totals(plan, engine.run(ours)) == totals(plan, duck.run(theirs)), value


def test_a_plain_product_would_stop_at_a_subnormal(server: str, engine: PostgreSQL) -> None:
    """What the guard against underflow is for: without it one row in the table makes the query fail."""
    with pytest.raises(psycopg.Error, match="underflow"):
        sql(server, "SELECT 5e-324::float8 * 2::float8 ^ (-101)")
    plan = planned(POLICIES[2], statistic="sum", column="x")
    assert plan.grid is not None
    assert plan.grid.exponent < 0


@pytest.mark.parametrize(
    "value", ["1e400", "-1e400", "1e-400", "'NaN'", "'Infinity'", "'-Infinity'", "3.5", "NULL"]
)
def test_decimals_of_any_size(server: str, value: str) -> None:
    sql(server, "DROP TABLE IF EXISTS decimals", "CREATE TABLE decimals (x numeric, k numeric)")
    sql(server, f"INSERT INTO decimals VALUES ({value}, {value}), (1, 2)")
    engine = attach(server, table="public.decimals")
    clamped = {"1e400": 10, "'Infinity'": 10, "-1e400": -3, "'-Infinity'": -3, "3.5": 3.5}.get(value, 0)
    plan = planned(policy_of(), statistic="sum", column="x")
    assert plan.grid is not None
    assert plan.grid.step * exact(plan, engine)[0][0] == 1 + clamped
    assert exact(planned(policy_of(), statistic="count", by=("k",)), engine) == [[0, 1]]


@pytest.mark.parametrize(
    ("type_", "ids"),
    [
        ("date", ["infinity", "9999-12-31", "-infinity", "20000-01-01", "0044-03-15 BC", "2000-01-01"]),
        ("numeric", ["NaN", "Infinity", "-Infinity", "1.5", "1", "1e40"]),
    ],
)
def test_a_model_reads_people_whatever_their_ids_are(server: str, type_: str, ids: list[str]) -> None:
    """One that the driver cannot read stopped the fit after it was paid: that the person is there, told."""
    sql(server, "DROP TABLE IF EXISTS visits", f"CREATE TABLE visits (id {type_}, x float8, y float8)")
    sql(server, *(f"INSERT INTO visits VALUES ('{one}', 1, 1), ('{one}', 2, 2)" for one in ids))
    policy = policy_of(unit={"id": "id", "max_rows": 2})
    visits = PrivateTable(server, table="visits", policy=policy, ledger="sqlite://")
    people = of_table(visits, ["x"], "y", None, classes=False, centred=True).read()[2]
    assert people is not None
    assert np.bincount(people).tolist() == [2] * len(ids)


def test_types_that_a_cast_could_stop_at_are_refused(server: str) -> None:
    sql(server, "DROP TABLE IF EXISTS loose", "CREATE TABLE loose (x text, d char(3), k text, f timestamp)")
    for query in (
        {"statistic": "sum", "column": "x"},
        {"statistic": "count", "by": "d"},
        {"statistic": "count", "by": "k"},
        {"statistic": "count", "by": "f"},
    ):
        table = PrivateTable(server, table="loose", policy=policy_of(), ledger="sqlite://")
        with pytest.raises(DataError, match="cannot be read as"):
            getattr(table, query["statistic"])(**{"epsilon": 1.0, **without(query, "statistic")})
        assert table.budget()[0].spent == 0.0


def without(fields: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != name}


@pytest.mark.usefixtures("engine")
def test_what_is_no_stored_table_is_refused(server: str) -> None:
    sql(
        server,
        "CREATE VIEW trap AS SELECT 1 / x AS x FROM odd",
        'CREATE TABLE "Secured" (x float8)',
        'ALTER TABLE "Secured" ENABLE ROW LEVEL SECURITY',
    )
    for table, match in (("nothing", "no table"), ("trap", "a view"), ("Secured", "row-level security")):
        with pytest.raises(DataError, match=match):
            attach(server, table=table)
    with pytest.raises(DataError, match="`table` is missing"):
        attach(server)
    closed = "postgresql+psycopg://somebody:hidden@127.0.0.1:1/none"
    with pytest.raises(DataError, match="cannot be reached") as caught:
        attach(closed, table="t")
    assert "hidden" not in str(caught.value)
    with pytest.raises(DataError, match="must be a URL"):
        attach("postgresql+psycopg://h:port/x", table="t")


def test_what_the_server_says_is_withheld_and_nothing_is_written(server: str, engine: PostgreSQL) -> None:
    fill(server, random_rows(1, 3))
    for statement in ("SELECT d::int4 FROM public.odd", "DELETE FROM public.odd", "CREATE TABLE n (x int4)"):
        with pytest.raises(DataError, match="withheld") as caught:
            engine.aggregate(statement)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
    assert exact(planned(policy_of(), statistic="count"), engine) == [[3]]


def test_a_collation_does_not_merge_people_or_groups(server: str) -> None:
    sql(
        server,
        "CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "CREATE TABLE collated (id text COLLATE folded, d text COLLATE folded, x float8)",
        "INSERT INTO collated VALUES ('p', 'A', 1), ('P', 'a', 1), ('q', 'a', 1), ('q', 'b', 1)",
    )
    engine = attach(server, table="collated")
    people = policy_of(unit={"id": "id", "max_rows": 1}, columns={"d": {"keys": ["a", "b"]}})
    assert exact(planned(people, statistic="count"), engine) == [[3]]
    assert exact(planned(policy_of(), statistic="count", by=("d",)), engine) == [[2, 1, 0]]


def counted(engine: PostgreSQL) -> list[list[int]]:
    return exact(planned(policy_of(), statistic="count"), engine)


SWAPS = {
    "a view": [
        "ALTER TABLE swapped RENAME TO aside",
        "CREATE VIEW swapped AS SELECT 1 / (x - 1)::int AS x FROM aside",
    ],
    "another table": ["ALTER TABLE swapped RENAME TO aside", "CREATE TABLE swapped (x float8)"],
    "row-level security": ["ALTER TABLE swapped ENABLE ROW LEVEL SECURITY"],
    "nothing": ["ALTER TABLE swapped RENAME TO aside"],
}


@pytest.mark.parametrize("change", SWAPS)
@pytest.mark.parametrize("kind", ["TABLE", "MATERIALIZED VIEW"])
def test_what_replaced_the_table_is_not_read(server: str, change: str, kind: str) -> None:
    """Whatever the name means by now, no statement about it is run."""
    if kind != "TABLE" and change == "row-level security":
        change = "nothing"  # a materialized view has none
    sql(server, "DROP SCHEMA IF EXISTS mine CASCADE", "CREATE SCHEMA mine")
    swaps = [part.replace(" TABLE swapped R", f" {kind} swapped R") for part in SWAPS[change]]
    sql(server, f"CREATE {kind} mine.swapped AS SELECT 1::float8 AS x")
    engine = PostgreSQL(server, table="mine.swapped")
    assert counted(engine) == [[1]]
    statement = engine.write(select_of([planned(policy_of(), statistic="count")]))
    sql(server, "SET search_path = mine", *swaps)
    for ask in (lambda: engine.run(statement), engine.columns):
        with pytest.raises(DataError, match="replaced or altered since it was opened"):
            ask()


def test_the_table_stays_what_it_is_while_it_is_read(server: str) -> None:
    """Between the look at the name and the statement nobody can rename the table; afterwards anybody can."""
    sql(server, "DROP TABLE IF EXISTS held, aside", "CREATE TABLE held AS SELECT 1::float8 AS x")
    engine, rename = PostgreSQL(server, table="held"), "ALTER TABLE held RENAME TO aside"
    with psycopg.connect(server.replace("+psycopg", "")) as connection:
        assert engine._is_as_found(psycopg.RawCursor(connection))
        with pytest.raises(psycopg.errors.LockNotAvailable):
            sql(server, "SET lock_timeout = '50ms'", rename)
    sql(server, rename)


def test_text_is_sent_as_utf8_whatever_the_role_prefers(server: str) -> None:
    """Latin 1 has no euro sign: a public key with one could not be asked for."""
    sql(
        server,
        "DROP TABLE IF EXISTS prices",
        "CREATE TABLE prices (d text)",
        "INSERT INTO prices VALUES ('€'), ('€'), ('$')",
        "CREATE ROLE western LOGIN",
        "ALTER ROLE western SET client_encoding = 'LATIN1'",
        "GRANT SELECT (d) ON prices TO western",
    )
    western = server.replace("leakcap@", "western@")
    with psycopg.connect(western.replace("+psycopg", "")) as connection:
        assert connection.info.encoding == "iso8859-1"
    engine = PostgreSQL(western, table="prices")
    policy = policy_of(columns={"d": {"keys": ["€", "$"]}})
    assert exact(planned(policy, statistic="count", by=("d",)), engine) == [[2, 1]]


@pytest.mark.parametrize("kind", ["PARTITION OF parent FOR VALUES IN (2)", "() INHERITS (parent)"])
def test_a_foreign_part_of_a_stored_table_is_refused(server: str, kind: str) -> None:
    """What a foreign table computes may stop at a row; behind a parent it has no other name to refuse."""
    partitioned = kind.startswith("PARTITION")
    sql(
        server,
        "CREATE EXTENSION IF NOT EXISTS file_fdw",
        "DROP SERVER IF EXISTS elsewhere CASCADE",
        "CREATE SERVER elsewhere FOREIGN DATA WRAPPER file_fdw",
        "DROP TABLE IF EXISTS parent CASCADE",
        "CREATE TABLE parent (x int8)" + (" PARTITION BY LIST (x)" if partitioned else ""),
    )
    if partitioned:
        sql(
            server, "CREATE TABLE near PARTITION OF parent FOR VALUES IN (1)", "INSERT INTO parent VALUES (1)"
        )
    else:
        sql(server, "INSERT INTO parent VALUES (1)")
    engine = PostgreSQL(server, table="parent")
    assert counted(engine) == [[1]]
    statement = engine.write(select_of([planned(policy_of(), statistic="count")]))
    sql(server, f"CREATE FOREIGN TABLE far {kind} SERVER elsewhere OPTIONS (filename '/etc/hostname')")
    with pytest.raises(DataError, match="replaced or altered since it was opened"):
        engine.run(statement)
    with pytest.raises(DataError, match="is a foreign table"):
        attach(server, table="parent")


@pytest.mark.parametrize("way", ["run", "hand"])
def test_a_database_that_became_one_of_an_unknown_encoding_is_not_read(server: str, way: str) -> None:
    """Dropped and made anew under its name: a statement found nothing, as if there were no rows."""
    url = f"{server.removesuffix('/postgres')}/turned"
    with psycopg.connect(server.replace("+psycopg", ""), autocommit=True) as connection:
        for encoding in ("UTF8", "EUC_TW"):
            connection.execute("DROP DATABASE IF EXISTS turned WITH (FORCE)")
            connection.execute(
                f"CREATE DATABASE turned ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
            )
            sql(f"{url}?client_encoding=UTF8", "CREATE TABLE t AS SELECT 1::float8 AS x")
            if encoding == "UTF8":
                engine = PostgreSQL(url, table="t")
                plan = planned(policy_of(columns={"x": {"bounds": [0.0, 2.0]}}), statistic="count")
                statement = engine.write(select_of([plan]))
                assert engine.run(statement).arrays[0].tolist() == [1]
    handed: list[object] = []
    with pytest.raises(DataError, match="The table was replaced or altered"):
        engine.run(statement) if way == "run" else engine.hand(statement, handed.append)
    assert not handed


def test_what_the_server_says_as_a_reading_is_given_up_is_withheld(
    server: str, engine: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To close a stream that was not read to its end may fail too: our own error is the one that is told."""
    stream = psycopg.RawCursor.stream

    def failing(own: Any, *given: Any) -> Any:
        rows = list(stream(own, *given))
        try:
            while True:
                yield from rows
        finally:
            raise psycopg.OperationalError("the row (secret) was lost")

    def given_up(_: object) -> None:
        raise InterruptedError("given up")

    statement = engine.write(select_of([planned(POLICIES[0], statistic="count")]))
    monkeypatch.setattr(psycopg.RawCursor, "stream", failing)
    with pytest.raises(InterruptedError, match="given up") as caught:
        engine.hand(statement, given_up)
    assert caught.value.__context__ is None


def test_every_transaction_of_ours_only_reads(engine: PostgreSQL) -> None:
    """Of a first connection, of another at the same time, and of one that is used again."""
    with engine._cursor() as first, engine._cursor() as second:
        for cursor in (first, second):
            cursor.execute("SHOW transaction_read_only")
            assert cursor.fetchone()[0] in ("on", b"on")
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                cursor.execute("CREATE TABLE public.written (a int)")
    with engine._cursor() as again, pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        again.execute("CREATE TABLE public.written (a int)")
