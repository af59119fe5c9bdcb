"""A ledger on PostgreSQL: what it refuses, and what happens when the server goes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError

from leakcap.errors import BudgetExceeded, LedgerError, LedgerUnavailable
from leakcap.ledger import Caps, Charge, Ledger, Spend
from ledger.server import execute

OWNER: dict[str, Any] = {"dataset": "patients", "policy": "ab12cd34", "caps": Caps(epsilon=0.9)}
TENTH = [Charge("q", "count", Spend(epsilon=0.1, nats_person=0.00125, nats_table=0.5))]


def test_the_same_ledger_as_in_a_file(database: str) -> None:
    with Ledger.open(database, **OWNER) as ledger:
        for _ in range(9):
            (entry,) = ledger.reserve(TENTH, data="monday")
            ledger.mark_released([entry.id], answers={entry.id: [[212, 182, 242]]})
        with pytest.raises(BudgetExceeded, match=r"0 left of 0\.9, 0\.1 asked"):
            ledger.reserve(TENTH)
        (answer,) = ledger.recall(TENTH, data="monday")
        assert answer is not None
        assert (answer.entry, answer.values) == (9, [[212, 182, 242]])
        assert ledger.verify() == ledger.head()
    with Ledger.read(database) as book:
        assert (book.totals().epsilon, book.unreleased()) == (0.9, [])
        with pytest.raises(LedgerError, match="opened for reading"):
            book.reserve(TENTH)


def test_a_server_that_is_not_there_and_a_database_that_is_not_there(server: str) -> None:
    for opening in (lambda url: Ledger.open(url, **OWNER), Ledger.read):
        with pytest.raises(LedgerUnavailable, match="cannot be reached") as refusal:
            opening("postgresql+psycopg://ng:secret@127.0.0.1:1/x?connect_timeout=2")
        assert "secret" not in str(refusal.value)
        assert "\n" not in str(refusal.value)
        with pytest.raises(LedgerError) as refusal:
            opening(f"{server}/nothing_here")
        assert "\n" not in str(refusal.value)


def test_reading_creates_nothing(database: str) -> None:
    with pytest.raises(LedgerError, match="There is no ledger in"):
        Ledger.read(database)
    assert execute(database, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == []


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE leakcap_event SET epsilon = 1 WHERE seq = 2", "Row 2 .* was edited"),
        ("DELETE FROM leakcap_event WHERE seq = 2", "Row 2 .* is missing"),
        ("UPDATE leakcap_state SET epsilon = 0", "state of ledger .* was edited"),
        ("DROP TABLE leakcap_event", "is not as leakcap made it"),
        ("UPDATE leakcap_schema SET version = 1000", "newer leakcap"),
    ],
)
def test_tampering_is_found(database: str, statement: str, message: str) -> None:
    with Ledger.open(database, **OWNER) as ledger:
        ledger.reserve(TENTH * 3)
    execute(database, statement)
    with pytest.raises(LedgerError, match=message) as refusal, Ledger.read(database) as ledger:
        ledger.verify()
    assert "\n" not in str(refusal.value)


def test_a_foreign_policy_is_refused(database: str) -> None:
    with Ledger.open(database, **OWNER | {"policy": "ee" * 8}) as unused:
        seed = unused.seed
    with Ledger.open(database, **OWNER) as ledger:  # nothing was spent: it takes the corrected policy
        ledger.reserve(TENTH, data="monday")
        assert ledger.seed == seed
        assert ledger.verify().rows == 2
        assert ledger.state_of(1) == "monday"
        assert ledger.version_asked(TENTH, data="tuesday") is None  # paid for, and never answered
    with pytest.raises(LedgerError, match="another policy"):
        Ledger.open(database, **OWNER | {"policy": "ff" * 8})


def test_a_read_only_user_can_look_and_not_spend(database: str) -> None:
    with Ledger.open(database, **OWNER) as ledger:
        ledger.reserve(TENTH)
    reader = database.rpartition("/")[2] + "_reader"
    execute(
        database, f"CREATE ROLE {reader} LOGIN", f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {reader}"
    )
    url = database.replace("//leakcap@", f"//{reader}@")
    with Ledger.read(url) as book:
        assert book.verify().rows == 2
    with (
        pytest.raises(LedgerError, match="cannot be written: the user may only look"),
        Ledger.open(url, **OWNER) as book,
    ):
        book.reserve(TENTH)


def test_a_connection_that_was_cut_is_made_again(database: str) -> None:
    with Ledger.open(database, **OWNER) as ledger:
        ledger.reserve(TENTH)
        me = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
        execute(database, f"{me} AND pid <> pg_backend_pid()")
        ledger.reserve(TENTH)
        assert ledger.verify().rows == 3


@pytest.mark.parametrize("ask", [Ledger.balances, Ledger.entries, lambda book: book.check(TENTH)])
def test_a_connection_that_was_cut_reads_as_if_nothing_had_been(database: str, ask: Any) -> None:
    """Planted: a pool's own connection, at which nobody looked, fails."""
    me = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
    with Ledger.open(database, **OWNER) as ledger:
        ledger.reserve(TENTH)
        before = ask(ledger)
        execute(database, f"{me} AND pid <> pg_backend_pid()")
        assert ask(ledger) == before
    engine = create_engine(database)
    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT 1")
    execute(database, f"{me} AND pid <> pg_backend_pid()")
    with engine.connect() as connection, pytest.raises(DBAPIError):
        connection.exec_driver_sql("SELECT 1")
    engine.dispose()


def test_a_cut_in_the_middle_of_a_spend_leaves_no_trace(database: str) -> None:
    def clock() -> Any:  # called within the transaction, after the state's row was locked
        if armed:
            me = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
            execute(database, f"{me} AND pid <> pg_backend_pid() AND state = 'idle in transaction'")
        return datetime.now(UTC)

    armed = False
    with Ledger.open(database, clock=clock, **OWNER) as ledger:
        ledger.reserve(TENTH)
        armed = True
        with pytest.raises(LedgerUnavailable) as refusal:
            ledger.reserve(TENTH)
        assert "\n" not in str(refusal.value)
        armed = False
        assert ledger.totals().epsilon == 0.1
        ledger.reserve(TENTH)
        assert ledger.verify().rows == 3
