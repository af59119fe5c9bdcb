"""PostgreSQL: answers that are paid for together are about one state of a table to which others write."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from leakcap.errors import DataError
from leakcap.models import LinearRegression, LogisticRegression
from leakcap.release import PrivateTable, query_from
from leakcap.release.engine import Columns, SqlStatement
from leakcap.release.engine.base import in_one_state
from leakcap.release.engine.postgresql import PostgreSQL
from leakcap.running import RunningQuestion, release_running
from leakcap.tables import TablesQuestion
from leakcap.tables.reading import counts_of
from leakcap.tables.release import release_workloads
from release.world import exact, planned, policy_of

COLUMNS: dict[str, Any] = {"x": {"bounds": [0.0, 9.0]}, "d": {"keys": ["a", "b"]}, "k": {"keys": [1, 2]}}


def sql(server: str, *statements: str) -> None:
    with psycopg.connect(server.replace("+psycopg", ""), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture
def table(server: str) -> str:
    sql(
        server,
        "DROP TABLE IF EXISTS moving CASCADE",
        "DROP TABLE IF EXISTS moved CASCADE",
        "CREATE TABLE moving (id int8, x float8, d text, k int8)",
        "INSERT INTO moving SELECT i, 1, 'a', 1 FROM generate_series(1, 5) AS i",
    )
    return "moving"


class Written(PostgreSQL):
    """One to whose table somebody else adds a row after each reading."""

    server, runs, failing = "", 0, 0

    def run(self, statement: SqlStatement) -> Columns:
        found = super().run(statement)
        self.runs += 1
        sql(self.server, "INSERT INTO moving VALUES (100, 1, 'a', 1)")
        if self.runs == self.failing:
            raise DataError("The server ended it.")
        return found


def written(server: str, table: str, *, failing: int = 0) -> Written:
    engine = Written(server, table=table)
    engine.server, engine.failing = server, failing
    return engine


def opened(engine: Written, policy: Any) -> PrivateTable:
    private = PrivateTable(engine.server, table="moving", policy=policy, ledger="sqlite://")
    private._engine = engine
    return private


def test_what_is_read_together_is_one_state(server: str, table: str) -> None:
    engine = written(server, table)
    plan = planned(policy_of(columns=COLUMNS), statistic="count")
    together = in_one_state(engine, lambda: [exact(plan, engine) for _ in range(3)])
    assert together == [[[5]]] * 3
    # Each alone sees what was committed before it: this is what one state is held against.
    assert [exact(plan, engine) for _ in range(2)] == [[[8]], [[9]]]
    assert in_one_state(engine, lambda: in_one_state(engine, lambda: exact(plan, engine))) == [[10]]
    assert exact(plan, engine) == [[11]]


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_release_is_about_one_state_and_is_not_lost(server: str, table: str, failing: int) -> None:
    """Noise of scale 1/40 is 0 but with probability 10⁻¹⁷; a reading that fails once is begun again."""
    engine = written(server, table, failing=failing)
    private = opened(engine, policy_of(columns=COLUMNS))
    asked = [
        query_from({"name": "all", "statistic": "count", "epsilon": 40.0}),
        query_from({"name": "a", "statistic": "count", "where": "d = 'a' AND k = 1", "epsilon": 40.0}),
    ]
    found = [one.value for one in private.release(asked)]
    # All rows are in group a: two states would differ.
    assert engine.runs >= 2
    assert found == [5 + failing] * 2
    assert private.budget()[0].left == 20.0
    assert [one.value for one in private.release(asked)] == found


def test_queries_and_tables_of_one_payment_are_about_one_state(
    server: str, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, counted = written(server, table), list[int]()

    def noticed(*asked: Any) -> Any:
        counts = counts_of(*asked)
        counted.append(int(counts[()].sum()))
        return counts

    monkeypatch.setattr("leakcap.tables.release.counts_of", noticed)
    private = opened(engine, policy_of(columns=COLUMNS, caps={"epsilon": 99.0, "delta": 1e-6}))
    queries = [query_from({"name": "n", "statistic": "count", "epsilon": 40.0})]
    question = TablesQuestion(name="t", columns=("d", "k"), ways=2, rho=0.5)
    (count,), _ = release_workloads(private, queries, [question])
    assert engine.runs == 2
    assert (count.value, counted) == (5, [5])


def test_a_table_that_takes_the_name_meanwhile_is_not_read(server: str, table: str) -> None:
    """The transaction's lock keeps the table's own name; a schema's is not kept by it."""
    sql(
        server,
        "DROP SCHEMA IF EXISTS shelf CASCADE",
        "DROP SCHEMA IF EXISTS aside CASCADE",
        "CREATE SCHEMA shelf",
        "CREATE TABLE shelf.moving AS SELECT * FROM moving",
    )
    engine = PostgreSQL(server, table="shelf.moving")
    plan = planned(policy_of(columns=COLUMNS), statistic="count")
    with engine.one_state():
        assert exact(plan, engine) == [[5]]
        with pytest.raises(psycopg.errors.LockNotAvailable):
            sql(server, "SET lock_timeout = '50ms'", "ALTER TABLE shelf.moving RENAME TO gone")
        sql(server, "ALTER SCHEMA shelf RENAME TO aside", "CREATE SCHEMA shelf")
        sql(server, "CREATE TABLE shelf.moving AS SELECT * FROM moving WHERE false")
        with pytest.raises(DataError, match="replaced or altered since it was opened"):
            exact(plan, engine)
    with pytest.raises(DataError, match="replaced or altered since it was opened"), engine.one_state():
        raise AssertionError
    sql(server, "DROP SCHEMA shelf CASCADE", "DROP SCHEMA aside CASCADE")


def test_a_reading_that_fails_twice_is_said_and_leaves_no_transaction(server: str, table: str) -> None:
    engine = PostgreSQL(server, table=table)
    tries: list[int] = []

    def fails() -> None:
        tries.append(1)
        raise DataError("The server ended it.")

    with pytest.raises(DataError, match="ended it"):
        in_one_state(engine, fails)
    assert len(tries) == 2
    plan = planned(policy_of(columns=COLUMNS), statistic="count")
    sql(server, "INSERT INTO moving VALUES (6, 1, 'b', 2)")
    assert exact(plan, engine) == [[6]]
    with psycopg.connect(server.replace("+psycopg", ""), autocommit=True) as connection:
        idle = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
        assert connection.execute(idle).fetchall() == [(0,)]


DATED = {"day": {"dates": ["2026-01-01", "2026-01-31"]}, "date": {"from": "day", "truncate": "day"}}


@pytest.mark.parametrize("failing", [0, 1])
def test_a_running_count_is_not_lost_with_its_first_reading(server: str, table: str, failing: int) -> None:
    """Its noise is 0 but for a chance below 10⁻¹²: with ρ = 2000 one step's deviation is .016 people."""
    sql(server, "ALTER TABLE moving ADD day date NOT NULL DEFAULT '2026-01-01'")
    engine = written(server, table, failing=failing)
    policy = policy_of(columns={**COLUMNS, **DATED}, caps={"epsilon": 9999.0, "delta": 1e-6})
    question = RunningQuestion(
        name="n", period="date", first="2026-01-01", steps=1, rho=2000.0, rows_stay=True
    )
    found = release_running(opened(engine, policy), question, through="2026-01-01")
    assert engine.runs == 1 + failing
    assert round(found.count("2026-01-01").value) == 5 + failing


@pytest.mark.parametrize("failing", [0, 1])
@pytest.mark.parametrize(
    ("model", "target"),
    [
        (LinearRegression(epsilon=2.0), "y"),
        (LogisticRegression(epsilon=2.0, penalty=1.0, classes=("a", "b")), "d"),
    ],
)
def test_a_fit_is_not_lost_with_its_first_reading(
    server: str, table: str, model: Any, target: str, failing: int
) -> None:
    sql(server, "ALTER TABLE moving ADD y float8 NOT NULL DEFAULT 1")
    engine = written(server, table, failing=failing)
    columns = {**COLUMNS, "y": {"bounds": [0.0, 9.0]}}
    private = opened(engine, policy_of(columns=columns, caps={"epsilon": 2.0}))
    model.fit_table(private, features=["x"], target=target)
    assert engine.runs == 1 + failing
    assert private.budget()[0].left == 0.0


def test_a_reading_that_fails_twice_stays_paid(
    server: str, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = opened(written(server, table), policy_of(columns=COLUMNS, caps={"epsilon": 2.0}))

    def fails(*_: Any) -> Columns:
        raise DataError("The server ended it.")

    monkeypatch.setattr(Written, "run", fails)
    with pytest.raises(DataError, match="ended it"):
        LogisticRegression(epsilon=2.0, penalty=1.0, classes=("a", "b")).fit_table(
            private, features=["x"], target="d"
        )
    assert private.budget()[0].left == 0.0
