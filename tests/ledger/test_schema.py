"""The tables are made from statements that are put together once; they are those of SQLAlchemy's own walk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, create_engine

from leakcap.ledger.schema import METADATA, create


def made(make: Callable[[Connection], Any]) -> set[tuple[str, str]]:
    with create_engine("sqlite://").begin() as connection:
        make(connection)
        found = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {(name, sql) for name, sql in found}


def test_every_table_and_index_is_made_as_declared() -> None:
    found = made(create)
    assert found == made(METADATA.create_all)
    assert (
        len(found) == len(METADATA.tables) + sum(len(one.indexes) for one in METADATA.tables.values()) >= 11
    )
    assert made(create) == found  # from what was put together before


def test_an_index_that_is_left_out_is_seen() -> None:
    """Planted: one index less."""

    def without(connection: Connection) -> None:
        create(connection)
        connection.exec_driver_sql("DROP INDEX leakcap_event_once_only")

    assert made(without) != made(METADATA.create_all)
