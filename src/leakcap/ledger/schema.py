"""The three tables, and the version that says how to read them.

`leakcap_event` is only ever appended to; `leakcap_state` is one row that is always the sum of the events;
`leakcap_schema` is one number. A later schema gets its own step from the one before in `create`.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    inspect,
    select,
    text,
)

from leakcap.errors import LedgerError

__all__ = ["EVENT", "SCHEMA", "STATE", "VERSION", "create", "require_version"]

VERSION = 1
"""Of the schema that this leakcap reads and writes."""

_METADATA = MetaData()
_TICKS = BigInteger
_NUMBER = BigInteger().with_variant(Integer, "sqlite")
_CREATION_LOCK = 0x1EA6CA9

SCHEMA = Table("leakcap_schema", _METADATA, Column("version", Integer, nullable=False))

EVENT = Table(
    "leakcap_event",
    _METADATA,
    Column("seq", _NUMBER, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("time", Text, nullable=False),
    Column("entry", BigInteger, nullable=False),
    Column("batch", BigInteger, nullable=False),
    Column("query", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("analyst", Text, nullable=False),
    Column("details", Text, nullable=False),
    Column("epsilon", _TICKS, nullable=False),
    Column("delta", _TICKS, nullable=False),
    Column("nats_person", _TICKS, nullable=False),
    Column("nats_table", _TICKS, nullable=True),
    Column("software", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
    # An entry is reserved once and released once.
    UniqueConstraint("kind", "entry", name="leakcap_event_once"),
)

STATE = Table(
    "leakcap_state",
    _METADATA,
    Column("id", _NUMBER, primary_key=True, autoincrement=False),
    Column("dataset", Text, nullable=False),
    Column("policy", Text, nullable=False),
    Column("cap_epsilon", _TICKS),
    Column("cap_delta", _TICKS),
    Column("cap_nats_person", _TICKS),
    Column("cap_nats_table", _TICKS),
    Column("rows", BigInteger, nullable=False),
    Column("entries", BigInteger, nullable=False),
    Column("time", Text, nullable=False),
    Column("head", Text, nullable=False),
    Column("epsilon", _TICKS, nullable=False),
    Column("delta", _TICKS, nullable=False),
    Column("nats_person", _TICKS, nullable=False),
    Column("nats_table", _TICKS),
    Column("seal", Text, nullable=False),
)


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
    _METADATA.create_all(connection)
    connection.execute(SCHEMA.insert().values(version=VERSION))
    return True


def require_version(connection: Connection, label: str) -> None:
    """Refuse a database without a ledger, or with one of another schema."""
    if not inspect(connection).has_table(SCHEMA.name):
        raise LedgerError(
            f"There is no ledger in `{label}`. Check the URL; a first release creates a ledger."
        )
    found = connection.execute(select(SCHEMA.c.version)).scalars().all()
    if found == [VERSION]:
        return
    if len(found) != 1:
        raise LedgerError(f"The ledger `{label}` does not say which schema it has. Restore it from a backup.")
    older = found[0] < VERSION
    remedy = (
        "It was written by an older leakcap: go on with that release of leakcap."
        if older
        else "It was written by a newer leakcap: upgrade leakcap."
    )
    raise LedgerError(f"The ledger `{label}` has schema {found[0]}, this leakcap reads {VERSION}. {remedy}")
