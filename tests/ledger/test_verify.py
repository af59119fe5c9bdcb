"""Whoever edits the file is found out, and at which row."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from leakcap.errors import LedgerError
from leakcap.ledger import Ledger

SWAP = (
    "UPDATE leakcap_event SET seq = 100 WHERE seq = 3",
    "UPDATE leakcap_event SET seq = 3 WHERE seq = 4",
    "UPDATE leakcap_event SET seq = 4 WHERE seq = 100",
)
COPY = (
    "INSERT INTO leakcap_event SELECT 9, format, kind, time, 9, batch, query, text, analyst, details, "
    "epsilon, delta, nats_person, nats_table, nats_level, rho, curve, data, data_version, memo, answer, "
    "slot, event, slot_use, software, shown, salt, previous, hash FROM leakcap_event WHERE seq = 7"
)


@pytest.fixture
def ledger(opened: Any, charge: Any) -> Ledger:
    """Rows: 1 open, 2-6 reserved, 7-8 released."""
    ledger: Ledger = opened()
    for _ in range(5):
        ledger.reserve([charge()])
    ledger.mark_released([1, 2])
    assert ledger.verify() == ledger.head()
    return ledger


def edited(column: str, value: str, seq: int = 4) -> tuple[str, ...]:
    return (f"UPDATE leakcap_event SET {column} = {value} WHERE seq = {seq}",)


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (edited("epsilon", "1"), "Row 4 .* was edited"),
        (edited("epsilon", "'much'"), "Row 4 .* was edited"),
        (edited("nats_table", "5"), "Row 4 .* was edited"),
        (edited("query", "'other'"), "Row 4 .* was edited"),
        (edited("time", "'2020-01-01T00:00:00.000000+00:00'"), "Row 4 .* was edited"),
        (edited("details", "x'ff'"), "Row 4 .* was edited"),
        (edited("salt", "'00'"), "Row 4 .* was edited"),
        (edited("shown", "'00'"), "Row 4 .* was edited"),
        (edited("hash", "'00'"), "Row 4 .* was edited"),
        (edited("entry", "5", 8), "Row 8 .* was edited"),
        (edited("details", "'{}'", 1), "Row 1 .* was edited"),
        (("DELETE FROM leakcap_event WHERE seq = 4",), "Row 4 .* is missing"),
        (("DELETE FROM leakcap_event WHERE seq = 1",), "Row 1 .* is missing"),
        (("DELETE FROM leakcap_event WHERE seq = 8",), "last row .* 8, is missing"),
        (("DELETE FROM leakcap_event",), "last row .* 8, is missing"),
        (SWAP, "Row 3 .* was edited"),
        ((COPY,), "Row 9 .* was edited"),
        (("UPDATE leakcap_state SET epsilon = 0",), "state of ledger .* was edited"),
        (("UPDATE leakcap_state SET caps = '{}'",), "state of ledger .* was edited"),
        (("DELETE FROM leakcap_state",), "state of ledger .* was edited"),
        (("DROP TABLE leakcap_event",), "lacks one of its tables"),
    ],
)
def test_tampering_is_found_at_its_row(
    ledger: Ledger, sql: Any, statements: tuple[str, ...], message: str
) -> None:
    sql(*statements)
    with pytest.raises(LedgerError, match=message):
        ledger.verify()


@pytest.mark.parametrize(
    "statement", ["UPDATE leakcap_state SET epsilon = 0", "DELETE FROM leakcap_event WHERE seq = 8"]
)
def test_nothing_can_be_spent_from_an_edited_state(
    ledger: Ledger, sql: Any, charge: Any, statement: str
) -> None:
    sql(statement)
    with pytest.raises(LedgerError, match="backup"):
        ledger.reserve([charge()])


def rehash(row: dict[str, Any]) -> str:
    """SHA-256 of canonical JSON, written a second time."""
    return hashlib.sha256(json.dumps(row, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


AMOUNTS = ("epsilon", "delta", "nats_person", "nats_table", "nats_level", "rho", "curve")
SHOWN = ("format", "seq", "kind", *AMOUNTS, "slot", "event", "shown", "previous")


def chained(row: dict[str, Any]) -> str:
    """A row's hash as docs/ledger.md describes it, written a second time."""
    rest = rehash({name: row[name] for name in row if name not in (*SHOWN, "hash")})
    return rehash({**{name: row[name] for name in SHOWN}, "day": row["time"][:10], "rest": rest})


def rows(sql: Any, table: str) -> list[dict[str, Any]]:
    names = [column[1] for column in sql(f"PRAGMA table_info({table})")]
    return [dict(zip(names, row, strict=True)) for row in sql(f"SELECT * FROM {table}")]


def test_the_documented_hash_is_the_one_stored(ledger: Ledger, sql: Any) -> None:
    previous = "0" * 64
    for row in rows(sql, "leakcap_event"):
        stored = row.pop("hash")
        assert row["previous"] == previous
        assert chained(row) == stored
        previous = stored
    assert ledger.head().hash == previous


def reseal(sql: Any, **changes: Any) -> None:
    (state,) = rows(sql, "leakcap_state")
    state |= changes | {"seal": None}
    pairs = ", ".join(f"{name} = {value!r}" for name, value in changes.items())
    sql(f"UPDATE leakcap_state SET {pairs}, seal = '{rehash(state)}'")


@pytest.mark.parametrize("changes", [{"epsilon": 0}, {"queries": 4}, {"time": "2020"}])
def test_resealed_totals_that_do_not_add_up(ledger: Ledger, sql: Any, changes: dict[str, Any]) -> None:
    reseal(sql, **changes)
    with pytest.raises(LedgerError, match="do not add up"):
        ledger.verify()


@pytest.mark.parametrize(
    "changes", [{"caps": '{"epsilon":9000000000000}'}, {"dataset": "other"}, {"policy": "ff"}]
)
def test_resealed_caps_that_are_not_the_first_rows(ledger: Ledger, sql: Any, changes: dict[str, Any]) -> None:
    reseal(sql, **changes)
    with pytest.raises(LedgerError, match=r"data set, policy or caps .* were edited"):
        ledger.verify()


def rehash_row(sql: Any, row: dict[str, Any]) -> None:
    row["hash"] = chained(row)
    values = f"previous = '{row['previous']}', hash = '{row['hash']}'"
    sql(f"UPDATE leakcap_event SET {values} WHERE seq = {row['seq']}")


def relink(sql: Any, start: int) -> None:
    """What a forger with the source code can do: compute every hash anew."""
    chain = rows(sql, "leakcap_event")
    for before, row in zip(chain[start - 2 :], chain[start - 1 :], strict=False):
        row["previous"] = before["hash"]
        rehash_row(sql, row)
    reseal(sql, head=chain[-1]["hash"])


def test_a_row_put_in_with_a_good_hash_breaks_its_neighbours_link(ledger: Ledger, sql: Any) -> None:
    sql("UPDATE leakcap_event SET epsilon = epsilon + 1 WHERE seq = 4")
    rehash_row(sql, rows(sql, "leakcap_event")[3])
    with pytest.raises(LedgerError, match=r"Row 5 .* does not follow"):
        ledger.verify()


def test_a_forged_chain_needs_forged_totals_and_falls_to_an_anchor(ledger: Ledger, sql: Any) -> None:
    anchor = ledger.head().hash
    assert ledger.verify(anchor=anchor).hash == anchor
    sql("UPDATE leakcap_event SET epsilon = 0, event = '' WHERE seq = 4")
    relink(sql, 4)
    with pytest.raises(LedgerError, match="do not add up"):
        ledger.verify()
    reseal(sql, epsilon=4 * 10**11)
    ledger.verify()  # the chain alone cannot know
    with pytest.raises(LedgerError, match=r"No row of ledger .* chain was rewritten"):
        ledger.verify(anchor=anchor)


def test_a_pseudonym_that_is_another_analysts_is_found_though_all_hashes_are_good(
    ledger: Ledger, sql: Any
) -> None:
    """Of a chain whose certificate would put a charge on the wrong account."""
    sql(f"UPDATE leakcap_event SET shown = '{'0' * 32}' WHERE seq = 4")
    for row in rows(sql, "leakcap_event")[3:4]:
        rehash_row(sql, row)
    relink(sql, 5)
    with pytest.raises(LedgerError, match=r"Row 4 .* shows another analyst"):
        ledger.verify()


def test_an_older_copy_falls_to_an_anchor(
    ledger: Ledger, charge: Any, file: Path, tmp_path: Path, sql: Any
) -> None:
    sql(f"VACUUM INTO '{tmp_path}/copy.db'")
    ledger.reserve([charge()])
    with Ledger.read(f"sqlite:///{tmp_path}/copy.db") as copy:
        copy.verify()
        with pytest.raises(LedgerError, match="older copy"):
            copy.verify(anchor=ledger.head().hash)
