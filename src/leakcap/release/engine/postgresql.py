"""PostgreSQL over one stored table, by URL: `postgresql+psycopg://user@host/database`.

Every connection is read-only and sees the built-in functions and casts alone. A view, a foreign table (also
as a part of a stored one), a table with row-level security or a column computed at reading could raise errors
that hang on a row, and is refused: when it is opened, and again before each statement, under a lock that
keeps the name from coming to mean something else until the statement is done.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice
from threading import local
from typing import Any, TypeVar

from sqlalchemy import create_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlglot import exp

from leakcap.credentials import shown_url
from leakcap.errors import DataError
from leakcap.release.columns.typed import SOURCE, joined_source
from leakcap.release.engine.base import (
    READING,
    Cell,
    Columns,
    SqlStatement,
    handed,
    plain_cells,
    redact_library_errors,
)
from leakcap.release.engine.encodings import load_plainly, read_plainly, require_sendable
from leakcap.release.engine.lowering import seed_in
from leakcap.release.engine.postgresql_sql import PostgreSQL15

__all__ = ["PostgreSQL"]

T = TypeVar("T")

_TYPES = {
    **{"int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT", "numeric": "DECIMAL", "bool": "BOOLEAN"},
    **{
        "float4": "FLOAT",
        "float8": "DOUBLE",
        "text": "TEXT",
        "varchar": "TEXT",
        "date": "DATE",
        "timestamp": "TIMESTAMP",
        "timestamptz": "TIMESTAMP WITH TIME ZONE",
        "uuid": "UUID",
    },
}
# A statement alone sees what was committed before it: the second look at the table, after the lock, needs
# that, and the aggregate is one statement, so that it sees one state of the table. What a session's
# transactions are holds from the next one on: `read_plainly` ends the one in which this is said.
_ALONE = "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY, ISOLATION LEVEL READ COMMITTED; "
_TOGETHER = "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY, ISOLATION LEVEL REPEATABLE READ; "
_SETTINGS = "; ".join(
    (
        "SET row_security = off",
        "SET search_path = pg_catalog",
        "SET datestyle = 'ISO'",
        "SET standard_conforming_strings = on",
        "SET client_min_messages = error",
    )
)
_FIND = """
SELECT c.oid, n.nspname, c.relname, c.relkind::text, c.relrowsecurity, EXISTS (
  WITH RECURSIVE below (oid) AS (
    SELECT inhrelid FROM pg_catalog.pg_inherits WHERE inhparent = c.oid
    UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN below b ON i.inhparent = b.oid)
  SELECT 1 FROM below b JOIN pg_catalog.pg_class k ON k.oid = b.oid WHERE k.relkind NOT IN ('r', 'p'))
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = $1 AND n.nspname = $2 AND c.relkind IN ('r', 'p', 'm', 'v', 'f')
"""
# The table and its parts, and the file of each: to rewrite or to truncate is to begin another file.
_FILES = """
WITH RECURSIVE below (oid) AS (
  SELECT $1::oid UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN below b ON i.inhparent = b.oid)
SELECT c.oid, c.relfilenode FROM below b JOIN pg_catalog.pg_class c ON c.oid = b.oid ORDER BY c.oid
"""
_COLUMNS = """
SELECT a.attname, CASE WHEN a.attgenerated::text = 'v' THEN 'computed'
  WHEN t.typnamespace = 'pg_catalog'::regnamespace AND a.attndims = 0 THEN t.typname::text ELSE 'other' END
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_REPLACED = "The table was replaced or altered since it was opened. Open it anew."
_REWRITTEN = "The table was rewritten each time that it was about to be read. Ask when it is at rest."
_TRIES = 9
_ARITHMETIC = """
SELECT x::bigint, abs(x - 'NaN'::float8) > 2
FROM (VALUES (0.5::float8), (1.5), (2.5), (-0.5), (-1.5)) AS given (x)
"""


class PostgreSQL:
    """One table of a PostgreSQL server. `table` is its name, or schema.name; without a schema, `public`.
    `tables` are others, under the policy's names for them.

    Raises `DataError` where the server cannot be reached, or the table is not one that can be read safely.
    """

    dialect = "postgres"

    def __init__(self, url: str, *, table: str, tables: Mapping[str, str] | None = None) -> None:
        parsed = _url(url)
        self._where = shown_url(url)
        # Who reads within one state takes a second connection for moments: were they of one pool, threads
        # that have a first one could wait for each other's second.
        self._pool, self._beside = (
            _safely(
                lambda: create_engine(
                    parsed,
                    pool_pre_ping=True,
                    hide_parameters=True,
                    # Until the server has told its own.
                    connect_args={"client_encoding": "UTF8"},
                ),
                f"`{self._where}` needs the driver psycopg: pip install 'leakcap[postgresql]'.",
            )
            for _ in range(2)
        )
        for pool in (self._pool, self._beside):
            weakref.finalize(self, pool.dispose)
        self._held = local()
        self._codec = "ascii"
        self._found: dict[str, Cell] = {}
        self._sources: dict[str, exp.Expression] = {}
        for prefix, named in {"": table, **(tables or {})}.items():
            schema, _, name = named.rpartition(".")
            found = self._table(schema or "public", name)
            source = joined_source(prefix) if prefix else SOURCE
            self._sources[source] = exp.Table(this=_named(name), db=_named(schema or "public"))
            self._found[prefix] = found
        with self.one_state():  # also shows, before anything is paid, that a second connection is to be had
            computed = self._fetch(_ARITHMETIC)
        if computed != [(whole, True) for whole in (0, 2, 2, 0, -2)]:
            raise DataError("This PostgreSQL computes in a way that leakcap's proofs do not cover.")

    def _table(self, schema: str, name: str) -> Cell:
        """What the name means: oid, schema, name, kind and whether rows are secured."""
        found = self._fetch(
            _FIND, (name, schema), message=f"`{self._where}` cannot be reached, or is no PostgreSQL server."
        )
        if not self._codec:
            raise DataError(
                f"The text of `{self._where}` is in an encoding that Python does not have. Copy the table to "
                "a database in UTF8."
            )
        if not found:
            raise DataError(f"`{self._where}` has no table `{schema}.{name}`.")
        _, schema, name, kind, secured, foreign_part = found[0]
        if kind not in ("r", "p", "m"):
            raise DataError(f"`{schema}.{name}` is a view or a foreign table; only stored tables are read.")
        if foreign_part:
            raise DataError(f"`{schema}.{name}` has a partition or an heir that is a foreign table.")
        if secured:
            raise DataError(f"`{schema}.{name}` has row-level security, whose rules could tell rows apart.")
        return found[0]

    def columns(self) -> dict[str, str]:
        """Column names and types as DuckDB calls them; text is TEXT, which is read as text only."""
        types = {}
        for prefix, found in self._found.items():
            for name, type_ in self._fetch(_COLUMNS, (found[0],)):
                full = f"{prefix}.{name}" if prefix else str(name)
                types[full] = _TYPES.get(str(type_), str(type_).upper())
        return types

    def write(self, tree: exp.Expression) -> SqlStatement:
        """The statement for this table."""
        seed, width = seed_in(tree), len(tree.expressions)
        said = PostgreSQL15(self.columns(), self._sources)
        statement = SqlStatement(partial(said.text, tree), width, seed=seed)
        require_sendable(statement.text, self._codec)
        return statement

    def run(self, statement: SqlStatement) -> Columns:
        """The result of an aggregate, with integers for numerics."""
        return Columns.of(self.aggregate(statement.text, statement.seed), statement.width)

    def hand(self, statement: SqlStatement, take: Callable[[Columns], None]) -> None:
        """Some rows at a time, as the server sends them: the driver keeps none."""
        values = None if statement.seed is None else (statement.seed,)
        with ExitStack() as opened:
            cursor = _safely(lambda: opened.enter_context(self._cursor()), READING)
            if cursor is None or not self._codec:
                raise DataError(_REPLACED)
            found = cursor.stream(statement.text.encode(self._codec), values)
            opened.push(partial(_closed, found))

            def rows(most: int) -> list[Cell]:
                return plain_cells(_safely(lambda: [tuple(row) for row in islice(found, most)], READING))

            handed(rows, statement.width, take)

    def aggregate(self, statement: str, seed: int | None = None) -> list[Cell]:
        """Run a statement; raises `DataError` without PostgreSQL's words."""
        rows = self._fetch(statement, None if seed is None else (seed,))
        if not self._codec:  # no statement was sent
            raise DataError(_REPLACED)
        return plain_cells(rows)

    def _fetch(
        self, statement: str, values: tuple[Any, ...] | None = None, *, message: str = READING
    ) -> list[Cell]:
        rows = _safely(lambda: self._fetched(statement, values), message)
        if rows is None:
            raise DataError(_REPLACED)
        return rows

    def _fetched(self, statement: str, values: tuple[Any, ...] | None) -> list[Cell] | None:
        with self._cursor() as cursor:
            if cursor is None:
                return None
            if not self._codec:
                return []
            cursor.execute(statement.encode(self._codec), values)
            return [tuple(row) for row in cursor.fetchall()]

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        """What runs one statement over the table as it was opened; None where the name means another one."""
        # A raw cursor sends the text as it is, percent signs included; values stand beside it as $1, $2.
        from psycopg import RawCursor

        held = getattr(self._held, "driver", None)
        if held is not None:
            cursor = RawCursor(held)
            load_plainly(cursor, self._codec)
            yield cursor if self._state(cursor) == self._state_now() else None
            return
        connection = self._pool.raw_connection()
        try:
            driver: Any = connection.driver_connection
            cursor = RawCursor(driver)
            cursor.execute(_ALONE + _SETTINGS)
            self._codec = read_plainly(cursor)
            yield cursor if not self._codec or self._is_as_found(cursor) else None
        finally:
            connection.close()

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """What this thread runs within sees the table as it is now, whatever others write meanwhile: one
        transaction that reads only and repeatably. Raises `DataError` where the server cannot be reached, or
        the name means another table by now.
        """
        if getattr(self._held, "driver", None) is not None:
            yield
            return
        with ExitStack() as opened:
            connection = _safely(self._pool.raw_connection, READING)
            opened.callback(_safely, connection.close, READING)
            _safely(lambda: self._begin(connection.driver_connection), READING)
            self._held.driver = connection.driver_connection
            opened.callback(vars(self._held).pop, "driver")
            yield

    def _begin(self, driver: Any) -> None:
        """Begin a transaction that sees the table that was opened, under a lock that keeps it.

        What it sees is settled before the lock is waited for. A table that was rewritten or truncated in
        between would be seen empty, so that all begins once more, after the lock was had.
        """
        from psycopg import RawCursor

        for _ in range(_TRIES):
            driver.rollback()
            cursor = RawCursor(driver)
            cursor.execute(_TOGETHER + _SETTINGS)
            self._codec = read_plainly(cursor)
            if not self._codec or not self._is_as_found(cursor):
                raise DataError(_REPLACED)
            if self._state(cursor) == self._state_now():
                return
        raise DataError(_REWRITTEN)

    def _state_now(self) -> list[Cell]:
        """The state that a transaction which begins now sees, without a lock of any table of the user's."""
        from psycopg import RawCursor

        connection = _safely(
            self._beside.raw_connection, f"`{self._where}` lets leakcap have no second connection beside one."
        )
        try:
            driver: Any = connection.driver_connection
            cursor = RawCursor(driver)
            # A catalogue that is being rewritten would wait for the transaction that waits for this one.
            cursor.execute(_ALONE + _SETTINGS + "; SET lock_timeout = '5s'")
            read_plainly(cursor)
            return self._state(cursor)
        finally:
            connection.close()

    def _state(self, cursor: Any) -> list[Cell]:
        """What the names mean, and the files in which the rows of the table and its parts lie.

        While a lock keeps the table, a transaction that has the same state as one which begins now sees all
        rows that were committed when it began, and statements are read by the names that it sees.
        """
        state: list[Cell] = []
        for found in self._found.values():
            for asked, values in ((_FIND, (found[2], found[1])), (_FILES, (found[0],))):
                cursor.execute(asked, values)
                state += [tuple(row) for row in cursor.fetchall()]
        return state

    def _is_as_found(self, cursor: Any) -> bool:
        """Whether the name still means the table that was opened; if so it does until the transaction ends.

        To select no rows locks the table against renaming and altering. The look before keeps anything
        else from being planned, the look after finds what happened in between.
        """
        holds = [exp.select("1").from_(one.copy()).limit(0) for one in self._sources.values()]
        if not self._look(cursor):
            return False
        for hold in holds[: len(self._found)]:
            cursor.execute(hold.sql(dialect=self.dialect).encode(self._codec))
        return self._look(cursor)

    def _look(self, cursor: Any) -> bool:
        for found in self._found.values():
            cursor.execute(_FIND, (found[2], found[1]))
            if [tuple(row) for row in cursor.fetchall()] != [found]:
                return False
        return True


def _closed(found: Any, kind: type[BaseException] | None, *_: object) -> None:
    """Close what was not read to its end; what stopped the reading, if anything did, is the error."""
    try:
        _safely(found.close, READING)
    except DataError:
        if kind is None:
            raise


def _safely(action: Callable[[], T], message: str) -> T:
    return redact_library_errors(action, ("psycopg", "psycopg_pool", "sqlalchemy"), message)


def _url(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        parsed = None
    if parsed is None or parsed.get_backend_name() != "postgresql":
        raise DataError("`data` must be a URL like postgresql+psycopg://user@host/database.")
    return parsed.set(drivername="postgresql+psycopg")


def _named(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=True)
