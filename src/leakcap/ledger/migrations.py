"""From an older schema to this one, one step for each version; the chain keeps its old hashes.

A step runs in the caller's transaction: all of it, or nothing. What a step adds to old rows has to follow
from them, since their hashes do not cover it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, MetaData, Table, select, text

from leakcap.ledger.chain import START
from leakcap.ledger.database import Database
from leakcap.ledger.events import migration_row, stamp, ticks_of
from leakcap.ledger.rules import rules_read
from leakcap.ledger.schema import EVENT, METADATA, POLICY, SCHEMA, SECRET, VERSION, plant, require_version
from leakcap.ledger.state import State, insert_state, load_state, replace_state
from leakcap.ledger.ticks import NOTHING, total
from leakcap.ledger.walk import walk

__all__ = ["STEPS", "migrate"]


def migrate(database: Database, clock: Callable[[], datetime]) -> tuple[int, int]:
    """Bring a ledger to this leakcap's schema: the version before and the one now.

    The chain is verified afterwards, before anything is committed; an edited ledger stays as it was.
    """
    with database.writing() as connection:
        old = require_version(connection, database.label, older=True)
        if old == VERSION:
            return old, old
        for version in range(old, VERSION):
            STEPS[version](connection)
        connection.execute(SCHEMA.update().values(version=VERSION))
        state = load_state(connection, database.label)
        database.require_no_lost_log(state.head)
        time = stamp(clock, state.time, database.label)
        row = migration_row(state, time, old, VERSION)
        connection.execute(EVENT.insert(), row)
        replace_state(connection, state, replace(state, rows=row["seq"], time=time, head=row["hash"]))
        walk(connection, database.label, None)
        return old, VERSION


def _to_2(connection: Connection) -> None:
    """More currencies, versions of the table, recorded answers; caps as text. Old rows have none of these."""
    before = {
        name: Table(name, MetaData(), autoload_with=connection) for name in ("leakcap_event", "leakcap_state")
    }
    old = before["leakcap_event"]
    rows = [dict(row) for row in connection.execute(select(old).order_by(old.c.seq)).mappings()]
    state = connection.execute(select(before["leakcap_state"])).mappings().one()
    for name in before:
        connection.execute(text(f"DROP TABLE {name}"))
    METADATA.create_all(connection)
    for row in rows:
        # Nobody capped a level, so that nobody's spend has one; there was one version of the table.
        level = None if row["kind"] == "reserve" else 0
        version = int(row["kind"] == "reserve")
        row |= {"format": 1, "nats_level": level, "data_version": version}
        row |= {"data": "", "memo": "", "answer": ""}
    connection.execute(EVENT.insert(), rows)
    insert_state(connection, _sum(state, rows))


def _to_3(connection: Connection) -> None:
    """A secret seed. Answers of before were about rows chosen in another order, and stay what they were."""
    SECRET.create(connection, checkfirst=True)
    plant(connection)


def _to_4(connection: Connection) -> None:
    """A place for the texts of policies. The present one's is kept when the ledger is next opened with it."""
    POLICY.create(connection, checkfirst=True)


def _sum(state: Any, rows: list[dict[str, Any]]) -> State:
    caps = {name: state[f"cap_{name}"] for name in ("epsilon", "delta", "nats_person", "nats_table")}
    return State(
        dataset=state["dataset"],
        policy=state["policy"],
        rules=rules_read(json.dumps(caps)),
        rows=state["rows"],
        time=state["time"],
        head=state["head"] or START,
        data_versions=max(row["data_version"] for row in rows),
        spent=total([NOTHING, *map(ticks_of, rows)]),
    )


STEPS: dict[int, Callable[[Connection], None]] = {1: _to_2, 2: _to_3, 3: _to_4}
"""What leads from each version to the next."""
