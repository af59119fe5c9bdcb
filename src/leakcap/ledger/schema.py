"""The tables, and the version that says how to read them.

`leakcap_event` is only ever appended to; `leakcap_state` is one row that is always the sum of the events, and
`leakcap_account` has such sums for each analyst and period that is capped; `leakcap_schema` is one number,
`leakcap_secret` one seed, `leakcap_policy` the public text of each policy that governed. A ledger of any
other schema is refused.
"""

from __future__ import annotations

import secrets
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Dialect,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    inspect,
    select,
    text,
)
from sqlalchemy.schema import CreateIndex, CreateTable

from leakcap.errors import LedgerError
from leakcap.ledger.ticks import AMOUNTS

__all__ = [
    "ACCOUNT",
    "EVENT",
    "METADATA",
    "POLICY",
    "SCHEMA",
    "SECRET",
    "STATE",
    "VALUES_AT_ONCE",
    "VERSION",
    "create",
    "plant_secret",
    "require_version",
]

VERSION = 11
"""The schema that this leakcap reads and writes."""
VALUES_AT_ONCE = 500
"""With one statement at most: old SQLites take no more than 999."""

METADATA = MetaData()
_NUMBER = BigInteger().with_variant(Integer, "sqlite")
_CREATION_LOCK = 0x1EA6CA9


def _amounts() -> list[Column[Any]]:
    """The currencies in ticks, NULL where no bound is known, and the curve as text: see `curve_text`."""
    return [*(Column(name, BigInteger) for name in AMOUNTS), Column("curve", Text, nullable=False)]


SCHEMA = Table("leakcap_schema", METADATA, Column("version", Integer, nullable=False))

EVENT = Table(
    "leakcap_event",
    METADATA,
    Column("seq", _NUMBER, primary_key=True, autoincrement=False),
    Column("format", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("time", Text, nullable=False),
    Column("entry", BigInteger, nullable=False),
    Column("batch", BigInteger, nullable=False),
    Column("query", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("analyst", Text, nullable=False),
    Column("details", Text, nullable=False),
    *_amounts(),
    Column("data", Text, nullable=False),
    Column("data_version", BigInteger, nullable=False),
    Column("memo", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("slot", Text, nullable=False),
    Column("event", Text, nullable=False),
    Column("slot_use", BigInteger, nullable=False),
    Column("software", Text, nullable=False),
    Column("shown", Text, nullable=False),
    Column("salt", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
)

REVISING = ("revise", "withdraw")
"""The kinds of rows that say what became of an entry's answer."""
OF_AN_ENTRY = ("release", "repeat", "acknowledge", "progress", *REVISING)
"""The kinds of rows about an entry that an earlier row reserved."""

# An entry is reserved, released and acknowledged once; a repeat carries its own row's number as its batch.
Index("leakcap_event_once_only", EVENT.c.kind, EVENT.c.entry, EVENT.c.batch, unique=True)
for _name in ("memo", "data", "analyst", "slot"):
    Index(f"leakcap_event_{_name}", EVENT.c[_name], EVENT.c.seq)

STATE = Table(
    "leakcap_state",
    METADATA,
    Column("id", _NUMBER, primary_key=True, autoincrement=False),
    Column("dataset", Text, nullable=False),
    Column("policy", Text, nullable=False),
    Column("caps", Text, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("time", Text, nullable=False),
    Column("head", Text, nullable=False),
    Column("data_versions", BigInteger, nullable=False),
    *_amounts(),
    Column("queries", BigInteger, nullable=False),
    Column("seal", Text, nullable=False),
)

ACCOUNT = Table(
    "leakcap_account",
    METADATA,
    Column("scope", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    *_amounts(),
    Column("queries", BigInteger, nullable=False),
    Column("seal", Text, nullable=False),
)


# Beside the seed, while a ledger arrives from elsewhere, the key that its predecessor's last row locks.
SECRET = Table(
    "leakcap_secret",
    METADATA,
    Column("id", _NUMBER, primary_key=True, autoincrement=False),
    Column("seed", Text, nullable=False),
)

# A text needs no seal: it is what its fingerprint, which the chain holds, is of.
POLICY = Table(
    "leakcap_policy",
    METADATA,
    Column("fingerprint", Text, primary_key=True),
    Column("text", Text, nullable=False),
)


def plant_secret(connection: Connection) -> None:
    """Draw the secret, 128 bits, by which rows of people with too many are chosen. Never exported."""
    connection.execute(SECRET.insert(), {"id": 1, "seed": secrets.token_hex(16)})


def create(connection: Connection) -> bool:
    """Make the tables in an empty database; False where they already stand. Runs in the caller's transaction.

    Raises `LedgerError` for an SQLite file that holds another program's tables: a ledger has its own.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _CREATION_LOCK})
    tables = inspect(connection).get_table_names()
    if SCHEMA.name in tables:
        return False
    if tables and connection.dialect.name == "sqlite":
        raise LedgerError(
            f"The ledger's file already holds other tables (`{tables[0]}`). Give the ledger its own file."
        )
    for name, statements in _definitions(connection.dialect).items():
        for statement in statements if name not in tables else ():
            connection.exec_driver_sql(statement)
    connection.execute(SCHEMA.insert(), {"version": VERSION})
    plant_secret(connection)
    return True


def _definitions(dialect: Dialect) -> dict[str, list[str]]:
    """What makes each table and its indexes: put together once, which takes longer than to run it."""
    if dialect.name not in _WRITTEN:
        _WRITTEN[dialect.name] = {
            table.name: [
                str(CreateTable(table).compile(dialect=dialect)),
                *(str(CreateIndex(index).compile(dialect=dialect)) for index in _indexes(table)),
            ]
            for table in METADATA.sorted_tables
        }
    return _WRITTEN[dialect.name]


def _indexes(table: Table) -> list[Index]:
    return sorted(table.indexes, key=lambda index: str(index.name))


_WRITTEN: dict[str, dict[str, list[str]]] = {}


def require_version(connection: Connection, label: str) -> None:
    """Raise `LedgerError` for a database without a ledger, or with one of another schema."""
    if not inspect(connection).has_table(SCHEMA.name):
        raise LedgerError(
            f"There is no ledger in `{label}`. Check the URL; a first release creates a ledger."
        )
    found = connection.execute(select(SCHEMA.c.version)).scalars().all()
    if len(found) != 1:
        raise LedgerError(f"The ledger `{label}` does not say which schema it has. Restore it from a backup.")
    if found[0] == VERSION:
        return
    remedy = "It was written by a newer leakcap: upgrade leakcap."
    if found[0] < 1:
        remedy = "No leakcap ever wrote such a schema: restore it from a backup."
    elif found[0] < VERSION:
        remedy = (
            "It was written before leakcap's first release. Open a ledger of its own for what is asked from "
            "now on, with caps lower by what the old one has spent."
        )
    raise LedgerError(f"The ledger `{label}` has schema {found[0]}, this leakcap reads {VERSION}. {remedy}")
