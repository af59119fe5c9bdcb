"""All of a ledger, from one database into another: rows, sums, texts and seed, as they are; and what stands
in a place already."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import PurePath

from sqlalchemy import Connection, inspect, select

from leakcap.errors import LedgerError
from leakcap.ledger.database import absent, connect
from leakcap.ledger.schema import EVENT, METADATA, SCHEMA, require_version

__all__ = ["copied", "emptied", "knows", "require_ledger_name", "standing"]

_AT_ONCE = 1000
_OTHERS = frozenset(
    f".{ending}"
    for ending in (
        *("csv", "ddb", "duckdb", "htm", "html", "ipynb", "json", "md", "parquet", "pq", "py", "sql"),
        *("toml", "tsv", "xlsx", "yaml", "yml"),
    )
)
"""Endings of files that are read or written as something else than a ledger."""
_HEAD = select(EVENT.c.hash).order_by(EVENT.c.seq.desc()).limit(1)


def require_ledger_name(place: str, what: str) -> None:
    """Raise `LedgerError` for a file whose ending says that it is a policy, data or a report: under that name
    nobody would find the ledger again.

    >>> require_ledger_name("sqlite:///stays.db", "The ledger")
    """
    ending = PurePath(place.partition("?")[0]).suffix.lower()
    server = "://" in place and not place.startswith("sqlite")
    if ending in _OTHERS and not server:
        raise LedgerError(
            f"{what} may not end in `{ending}`, as other files than ledgers do. Name it `.db` or `.backup`."
        )


def copied(source: Connection, target: Connection) -> None:
    """Copy every table into the tables of an empty ledger."""
    for table in METADATA.sorted_tables:
        if table is SCHEMA:
            continue
        with source.execute(select(table).execution_options(yield_per=_AT_ONCE)) as result:
            for rows in result.mappings().partitions(_AT_ONCE):
                target.execute(table.insert(), [dict(row) for row in rows])


def emptied(connection: Connection) -> None:
    """Take everything out of a ledger, in the caller's transaction."""
    for table in METADATA.sorted_tables:
        if table is not SCHEMA:
            connection.execute(table.delete())


@contextmanager
def standing(target: str) -> Iterator[Connection | None]:
    """Look at the ledger in a place, and make nothing; None where there is none.

    Raises `LedgerError` where that cannot be seen, and where the file was renamed without its log.
    """
    if absent(target):
        yield None
        return
    with closing(connect(target, read_only=True)) as database, database.reading() as here:
        if not inspect(here).has_table(SCHEMA.name):
            yield None
            return
        require_version(here, database.label)
        head = here.execute(_HEAD).scalar()
        if head is not None:
            database.require_no_lost_log(head)
        yield here


def knows(connection: Connection, head: str) -> bool:
    """Whether the chain has a row with this hash."""
    return connection.execute(select(EVENT.c.seq).where(EVENT.c.hash == head)).first() is not None
