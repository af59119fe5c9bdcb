"""PostgreSQL: a table that is loaded anew meanwhile is seen as it was or as it is, never empty."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Barrier

import psycopg
import pytest
from sqlalchemy import create_engine

from engines.test_one_state import sql
from leakcap.errors import DataError
from leakcap.release import PrivateTable
from leakcap.release.engine import postgresql
from leakcap.release.engine.base import in_one_state
from leakcap.release.engine.postgresql import PostgreSQL
from release.world import exact, planned, policy_of

PLAN = planned(policy_of(columns={"x": {"bounds": [0.0, 9.0]}}), statistic="count")
ROWS = "SELECT 1::float8 AS x FROM generate_series(1, 100)"
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"
# How a table is made, and how it is loaded anew in one transaction: there are always 100 rows.
LOADS: dict[str, tuple[list[str], list[str]]] = {
    "truncated": (
        [f"CREATE TABLE loaded AS {ROWS}"],
        ["TRUNCATE loaded", f"INSERT INTO loaded {ROWS}"],
    ),
    "rewritten": (
        [f"CREATE TABLE loaded AS {ROWS}"],
        ["ALTER TABLE loaded ALTER x TYPE float8 USING x + 0"],
    ),
    "refreshed": (
        [f"CREATE MATERIALIZED VIEW loaded AS {ROWS}"],
        ["REFRESH MATERIALIZED VIEW loaded"],
    ),
    "a part truncated": (
        [
            "CREATE TABLE loaded (x float8) PARTITION BY LIST (x)",
            "CREATE TABLE loaded_1 PARTITION OF loaded FOR VALUES IN (1)",
            f"INSERT INTO loaded {ROWS}",
        ],
        ["TRUNCATE loaded_1", f"INSERT INTO loaded_1 {ROWS}"],
    ),
    "another part": (
        [
            "CREATE TABLE loaded (x float8) PARTITION BY LIST (x)",
            "CREATE TABLE loaded_1 PARTITION OF loaded FOR VALUES IN (1)",
            f"INSERT INTO loaded {ROWS}",
        ],
        [
            f"CREATE TABLE loaded_2 AS {ROWS}",
            "ALTER TABLE loaded DETACH PARTITION loaded_1",
            "ALTER TABLE loaded ATTACH PARTITION loaded_2 FOR VALUES IN (1)",
        ],
    ),
    "another heir": (
        [
            "CREATE TABLE loaded (x float8)",
            "CREATE TABLE loaded_1 () INHERITS (loaded)",
            f"INSERT INTO loaded_1 {ROWS}",
        ],
        [
            "CREATE TABLE loaded_2 () INHERITS (loaded)",
            "DROP TABLE loaded_1",
            f"INSERT INTO loaded_2 {ROWS}",
        ],
    ),
}


@pytest.fixture(autouse=True)
def clean(server: str) -> Iterator[None]:
    gone = (
        "DO $$ DECLARE one record; BEGIN FOR one IN SELECT relname, relkind FROM pg_class WHERE relname "
        "LIKE 'loaded%' AND relkind IN ('r', 'p', 'm') AND NOT relispartition LOOP EXECUTE 'DROP ' || CASE "
        "one.relkind WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END || ' IF EXISTS ' || one.relname || "
        "' CASCADE'; END LOOP; END $$"
    )
    sql(server, gone)
    yield
    sql(server, gone)


def waited(server: str) -> None:
    """Until somebody waits for a lock."""
    with psycopg.connect(server.replace("+psycopg", ""), autocommit=True) as connection:
        for _ in range(600):
            if connection.execute(WAITING).fetchall() != [(0,)]:
                return
            time.sleep(0.02)
    raise AssertionError("nobody waits")


@contextmanager
def loading(server: str, statements: list[str]) -> Iterator[None]:
    """Within it somebody has loaded the table anew, and commits as soon as it is waited for."""
    with psycopg.connect(server.replace("+psycopg", "")) as writer, ThreadPoolExecutor(1) as thread:
        for statement in statements:
            writer.execute(statement)

        def commit() -> None:
            try:
                waited(server)
            finally:
                writer.commit()

        done = thread.submit(commit)
        yield
        done.result()


@pytest.mark.parametrize("how", LOADS)
def test_a_table_that_is_loaded_anew_is_never_seen_empty(server: str, how: str) -> None:
    """What a transaction sees is settled before it waits for the lock: what was put in a new file is not."""
    made, load = LOADS[how]
    sql(server, *made)
    engine = PostgreSQL(server, table="loaded")
    with loading(server, load), engine.one_state():
        assert exact(PLAN, engine) == [[100]]
        assert exact(PLAN, engine) == [[100]]
    assert exact(PLAN, engine) == [[100]]


@pytest.mark.parametrize("how", ["truncated", "rewritten"])
def test_a_release_of_a_table_that_is_loaded_anew_counts_its_rows(
    server: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise of scale 1/40 is 0 but with probability 10⁻¹⁷. The load begins once the release is paid for."""
    made, load = LOADS[how]
    sql(server, *made)
    policy = policy_of(columns={"x": {"bounds": [0.0, 9.0]}})
    private = PrivateTable(server, table="loaded", policy=policy, ledger="sqlite://")
    begin: Callable[..., None] = PostgreSQL._begin
    loads = []

    def meanwhile(own: PostgreSQL, driver: object) -> None:
        with loading(server, load):
            begin(own, driver)
        loads.append(how)

    monkeypatch.setattr(PostgreSQL, "_begin", meanwhile)
    assert private.count(epsilon=40.0).value == 100
    assert loads == [how]


def test_a_table_that_is_always_being_rewritten_is_refused(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql(server, f"CREATE TABLE loaded AS {ROWS}")
    engine = PostgreSQL(server, table="loaded")
    look: Callable[..., bool] = PostgreSQL._look
    looks: list[int] = []

    def rewriting(own: PostgreSQL, cursor: object) -> bool:
        """The look before the lock is every first of two."""
        found = look(own, cursor)
        looks.append(1)
        if len(looks) % 2:
            sql(server, *LOADS["truncated"][1])
        return found

    monkeypatch.setattr(PostgreSQL, "_look", rewriting)
    with pytest.raises(DataError, match="rewritten each time"), engine.one_state():
        raise AssertionError
    assert len(looks) == 18


def test_a_writer_who_waits_keeps_nobody_from_reading(server: str) -> None:
    """Behind one who waits for a lock, another lock of the table would be waited for in turn, for ever."""
    sql(server, f"CREATE TABLE loaded AS {ROWS}")
    engine = PostgreSQL(server, table="loaded")
    with ThreadPoolExecutor(1) as thread:
        with engine.one_state():
            done = thread.submit(sql, server, *LOADS["truncated"][1])
            waited(server)
            assert [exact(PLAN, engine) for _ in range(2)] == [[[100]]] * 2
            assert not done.done()
        done.result()
    assert exact(PLAN, engine) == [[100]]


@pytest.mark.parametrize("part", ["a table", "a foreign table"])
def test_a_part_that_is_attached_meanwhile_is_another_state(server: str, part: str) -> None:
    """Its rows would be of some answers alone; a foreign one's could stop a statement."""
    sql(
        server,
        *LOADS["another part"][0],
        "CREATE EXTENSION IF NOT EXISTS file_fdw",
        "DROP SERVER IF EXISTS beyond CASCADE",
        "CREATE SERVER beyond FOREIGN DATA WRAPPER file_fdw",
        "CREATE TABLE loaded_2 (x float8)"
        if part == "a table"
        else "CREATE FOREIGN TABLE loaded_2 (x float8) SERVER beyond OPTIONS (filename '/etc/hostname')",
    )
    engine = PostgreSQL(server, table="loaded")
    with engine.one_state():
        assert exact(PLAN, engine) == [[100]]
        sql(server, "ALTER TABLE loaded ATTACH PARTITION loaded_2 FOR VALUES IN (2)")
        with pytest.raises(DataError, match="replaced or altered"):
            exact(PLAN, engine)
    if part == "a table":  # once more, as a release does
        assert in_one_state(engine, lambda: exact(PLAN, engine)) == [[100]]
    sql(server, "DROP SERVER beyond CASCADE")


def test_threads_do_not_wait_for_each_others_second_connection(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = partial(create_engine, pool_size=2, max_overflow=0, pool_timeout=1.0)
    monkeypatch.setattr(postgresql, "create_engine", few)
    sql(server, f"CREATE TABLE loaded AS {ROWS}")
    engine, all_there = PostgreSQL(server, table="loaded"), Barrier(2, timeout=20)

    def count() -> list[list[int]]:
        with engine.one_state():
            all_there.wait()
            return exact(PLAN, engine)

    with ThreadPoolExecutor(2) as threads:
        asked = [threads.submit(count) for _ in range(2)]
        assert [one.result() for one in asked] == [[[100]]] * 2


def test_a_role_with_one_connection_is_refused_when_the_table_is_opened(server: str) -> None:
    sql(
        server,
        "DROP ROLE IF EXISTS alone",
        f"CREATE TABLE loaded AS {ROWS}",
        "CREATE ROLE alone LOGIN CONNECTION LIMIT 1",
        "GRANT SELECT ON loaded TO alone",
    )
    with pytest.raises(DataError, match="lets leakcap have no second connection"):
        PostgreSQL(server.replace("leakcap@", "alone@"), table="loaded")
    sql(server, "DROP OWNED BY alone", "DROP ROLE alone")
