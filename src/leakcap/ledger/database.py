"""From a URL to transactions: SQLite as durable as it gets, PostgreSQL one URL apart, and plain errors.

SQLite runs in WAL mode with `synchronous=EXTRA` (a commit is on the disk before noise is drawn), and a
writer begins with ``BEGIN IMMEDIATE``, so that no two processes can read the same totals and both spend.
PostgreSQL gets the same from a lock on the state's row.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    Connection,
    Dialect,
    Engine,
    Pool,
    QueuePool,
    StaticPool,
    create_engine,
    event,
    make_url,
)
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from leakcap.credentials import may_hold_secret, shown_url, without_credentials
from leakcap.errors import LedgerError, LedgerUnavailable
from leakcap.ledger.place import READ_ONLY, Inode, Place
from leakcap.ledger.state import write_held_rows

__all__ = ["BUSY_SECONDS", "Database", "absent", "begin_in_turn", "connect", "in_turn", "translated"]

BUSY_SECONDS = 60
"""How long a writer waits for its turn."""

# SQLAlchemy logs the rows that it reads, answers and the seed among them, where a program has it log all.
_QUIET = "leakcap"
logging.getLogger(f"sqlalchemy.engine.Engine.{_QUIET}").setLevel(logging.WARNING)

_PAUSE_SECONDS = 0.002

# Waiters for a row are not served in the order in which they came; waiters for this lock are.
_SERVER_TURN = (
    f"SET LOCAL synchronous_commit = on; SET LOCAL lock_timeout = {BUSY_SECONDS * 1000}; "
    f"SELECT pg_advisory_xact_lock({0x1EA6CA8})"
)

_FORMS = "Write `sqlite:///ledger.db` or `postgresql+psycopg://user@host/database`."

_REFUSED = "cannot be used: the server or its driver refuses it. Check the URL and its parameters."

_PLAIN = (
    ("file is not a database", "is not an SQLite file. Check the URL; nothing in it was changed."),
    ("malformed", "is damaged. Restore it from a backup."),
    ("readonly", READ_ONLY),
    ("read-only", READ_ONLY),
    ("unable to open", "cannot be opened. Check that its directory exists and that you may write there."),
    ("is full", "cannot be written: the disk is full."),
    ("no space", "cannot be written: the disk is full."),
    ("disk i/o", "cannot be written or read: the disk reports an error."),
    ("lock timeout", f"is busy: another process held it for more than {BUSY_SECONDS} seconds. Try again."),
    ("locked", f"is busy: another process held it for more than {BUSY_SECONDS} seconds. Try again."),
    ("decode to utf-8", "was edited: it holds text that leakcap never writes. Restore it from a backup."),
    ("permission denied", "cannot be written: the user may only look, or not even that."),
    ("no such table", "lacks one of its tables. Restore it from a backup."),
    (
        "does not exist",
        "is not as leakcap made it, or not there. Check the URL, or restore it from a backup.",
    ),
    ("no such column", "lacks one of its columns. Restore it from a backup."),
    ("password", "cannot be opened: the server refuses the user or the password."),
    ("connect", "cannot be reached. Check the URL and that the server runs."),
)


class Database:
    """One ledger's database. `label` names it in messages, without a password."""

    def __init__(self, engine: Engine, label: str, *, memory: bool, place: Place | None = None) -> None:
        self.label = label
        self._place = place
        self._engine = engine
        self._memory = memory
        self._closed = False
        self._process = os.getpid()
        # Of this thread's `one_transaction`, where it is within one.
        self._shared = threading.local()
        # One connection serves all threads of an in-memory ledger: their transactions must take turns.
        self._turn = threading.RLock()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one moment of the ledger."""
        with self._transaction(writes=False) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that commits as a whole at the end, or, on any exception, leaves no trace."""
        with self._transaction(writes=True) as connection:
            yield connection

    @contextmanager
    def one_transaction(self, *, writes: bool) -> Iterator[Connection]:
        """Within, all that this thread reads and writes here is one transaction, which commits at the end or,
        on any exception, leaves no trace."""
        if getattr(self._shared, "connection", None) is not None:
            raise LedgerError(f"A transaction of the ledger `{self.label}` is under way here. End it first.")
        with self._transaction(writes=writes) as connection:
            self._shared.connection, self._shared.writes = connection, writes
            try:
                yield connection
            finally:
                self._shared.connection = None

    def use_wal(self) -> None:
        """Switch an SQLite file to write-ahead logging; the file remembers."""
        if self._engine.dialect.name != "sqlite" or self._memory:
            return
        with translated(self.label), self._engine.connect() as connection:
            raw = connection.connection
            if raw.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                # SQLite does not wait here: where another process has the file open it refuses at once.
                in_turn(raw, "PRAGMA journal_mode = WAL")

    def require_no_lost_log(self, head: str) -> None:
        """Raise `LedgerError` where a renamed file's log has rows after the row with this hash."""
        if self._place is not None:
            self._place.require_no_lost_log(head)

    def address(self) -> str:
        """The URL by which another process on this machine finds it, a file by its absolute path.

        Raises `LedgerError` where there is none, or where it would hold a password.
        """
        if self._memory:
            raise LedgerError(
                "A ledger in memory cannot be pickled: every copy would be money again. Open a file: "
                "`sqlite:///ledger.db`."
            )
        if self._place is not None:
            url = f"sqlite:///{self._place.path}"
            if make_url(url).database != str(self._place.path):
                raise LedgerError(f"The ledger `{self.label}` lies at a path that is no URL. Rename it.")
            return url
        url = self._engine.url.render_as_string(hide_password=False)
        if may_hold_secret(url):
            raise LedgerError(
                f"The URL of the ledger `{self.label}` holds a password, or a parameter that may be one, and "
                "a pickle would carry it. Leave it to `~/.pgpass` or the environment (`PGPASSWORD`)."
            )
        return url

    @property
    def in_memory(self) -> bool:
        """Whether it is gone when it is closed."""
        return self._memory

    def whereabouts(self) -> str:
        """The address, or where it would hold a password, what may be shown of it."""
        try:
            return self.address()
        except LedgerError:
            return self.label

    def close(self) -> None:
        """Let go of the file or the server, which whoever uses this again opens again. What was in memory is
        gone."""
        self._closed = True
        self._engine.dispose()

    @contextmanager
    def _transaction(self, *, writes: bool) -> Iterator[Connection]:
        shared: Connection | None = getattr(self._shared, "connection", None)
        if shared is not None:
            if writes and not self._shared.writes:
                raise LedgerError(f"The ledger `{self.label}` is read here, and nothing is written to it.")
            yield shared
            return
        self._after_fork()
        if self._closed and self._memory:
            raise LedgerError(
                f"The ledger `{self.label}` was in memory and was closed: it is gone. Close it last, "
                "or open a file: `sqlite:///ledger.db`."
            )
        with self._turn, translated(self.label), ExitStack() as held:
            try:
                connection = held.enter_context(self._begun(writes=writes))
            except DBAPIError as error:
                if not error.connection_invalidated:
                    raise
                # The server dropped it. Nothing was read or written: on another one it begins again.
                connection = held.enter_context(self._begun(writes=writes))
            if self._place is not None:
                raw = connection.connection.dbapi_connection
                self._place.require_same(getattr(raw, "file", None))
            yield connection

    @contextmanager
    def _begun(self, *, writes: bool) -> Iterator[Connection]:
        """A connection in a transaction, whose turn it is where it writes. To have the pool ask first whether
        the connection is still there would be one statement more for each that writes."""
        with self._engine.connect() as connection:
            options: dict[str, Any] = {"leakcap_writes": writes}
            server = connection.dialect.name == "postgresql"
            if server:
                options["isolation_level"] = "READ COMMITTED" if writes else "REPEATABLE READ"
            with connection.execution_options(**options).begin():
                if server:
                    # It shows, too, whether the connection is there still.
                    connection.exec_driver_sql(_SERVER_TURN if writes else "SELECT 1")
                yield connection

    def _after_fork(self) -> None:
        if os.getpid() == self._process:
            return
        if self._memory:
            # A copy of the money in every child would be spent once per child.
            raise LedgerError("A ledger in memory cannot follow a fork. Open a file: `sqlite:///ledger.db`.")
        self._engine.dispose(close=False)
        self._process, self._turn = os.getpid(), threading.RLock()


def connect(url: str, *, read_only: bool = False) -> Database:
    """The database behind a URL. Nothing is opened yet, and with `read_only` nothing is ever created.

    >>> connect("mysql://host/x")
    Traceback (most recent call last):
    leakcap.errors.LedgerError: A ledger cannot live in `mysql`. Write `sqlite:///ledger.db` or ...
    """
    parsed = _parse(url)
    if parsed.get_backend_name() == "sqlite":
        return _sqlite(parsed, read_only)
    label = shown_url(url)
    try:
        engine = create_engine(parsed, hide_parameters=True, logging_name=_QUIET)
    except (ImportError, NoSuchModuleError) as error:
        driver = getattr(error, "name", None) or parsed.drivername.partition("+")[2]
        raise LedgerError(
            f"The ledger `{label}` needs the driver `{driver}`, which is not installed. "
            "Run `pip install 'leakcap[postgresql]'` and write `postgresql+psycopg://`."
        ) from error
    except (ArgumentError, TypeError, ValueError):
        raise LedgerError(f"The URL of the ledger `{label}` has parameters that cannot be used.") from None
    event.listen(engine, "before_cursor_execute", write_held_rows)
    return Database(engine, label, memory=False)


def absent(url: str) -> bool:
    """Whether a URL names a file that is not there, which is not to say that it cannot be read.

    >>> absent("sqlite:////no/such.db"), absent("postgresql+psycopg://host/no")
    (True, False)
    """
    parsed = _parse(url)
    file = parsed.get_backend_name() == "sqlite" and parsed.database not in (None, "", ":memory:")
    return file and Place(Path(parsed.database or "").absolute(), url).absent


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, ValueError):
        # The text may hold a password, so it is not repeated, nor is what SQLAlchemy says of it.
        raise LedgerError(f"The ledger's URL cannot be read. {_FORMS}") from None
    if backend not in ("sqlite", "postgresql"):
        raise LedgerError(f"A ledger cannot live in `{backend}`. {_FORMS}")
    if backend == "sqlite" and (
        parsed.query or parsed.host or parsed.drivername not in ("sqlite", "sqlite+pysqlite")
    ):
        raise LedgerError("A ledger's SQLite URL is `sqlite:///` and a path, nothing else.")
    if backend == "sqlite" and without_credentials(url) != url:
        # A server's `host=… password=…` would become the name of a file.
        raise LedgerError(f"A ledger is a file or a URL, not a list of parameters. {_FORMS}")
    return parsed


def _sqlite(url: URL, read_only: bool) -> Database:
    memory, place = url.database in (None, "", ":memory:"), None
    if memory:
        engine = _sqlite_engine(StaticPool, url, ":memory:")
        label = "sqlite://"
    else:
        label = f"sqlite:///{url.database}"
        place = Place(Path(url.database or "").absolute(), label)
        place.require(read_only=read_only)
        # A file URI lets SQLite itself refuse to create, and to write.
        uri = f"{place.file.as_uri()}?mode={'ro' if read_only else 'rwc'}"
        if read_only and place.at_rest():
            uri += "&immutable=1"
        engine = _sqlite_engine(QueuePool, url, uri, place)
    event.listen(engine, "connect", _configure)
    event.listen(engine, "begin", begin_in_turn)
    event.listen(engine, "before_cursor_execute", write_held_rows)
    return Database(engine, label, memory=memory, place=place)


class _Connection(sqlite3.Connection):
    """A connection that knows which file it has open."""

    file: Inode | None = None


def _sqlite_engine(pool: type[Pool], url: URL, uri: str, place: Place | None = None) -> Engine:
    """An engine that shares what SQLite can do, and all compiled statements, with every other ledger's."""

    def opened() -> Any:
        before = None if place is None else place.inode()
        found = sqlite3.connect(uri, uri=uri != ":memory:", check_same_thread=False, factory=_Connection)
        if place is not None:
            found.file = place.inode()
            if before is not None:
                place.require_same(before)
        return found

    dialect, compiled = _sqlite_dialect()
    options = {"compiled_cache": compiled}
    return Engine(
        pool(opened, dialect=dialect),
        dialect,
        url,
        execution_options=options,
        hide_parameters=True,
        logging_name=_QUIET,
    )


@cache
def _sqlite_dialect() -> tuple[Dialect, dict[Any, Any]]:
    """The dialect, once it has asked SQLite what it can do, and an empty place for compiled statements.

    To compile a ledger's statements takes longer than to run them.
    """
    engine = create_engine("sqlite://", poolclass=StaticPool)
    engine.connect().close()
    engine.dispose()
    return engine.dialect, {}


def _configure(connection: Any, _record: object) -> None:
    # None: the driver begins no transaction of its own, `begin_in_turn` does.
    connection.isolation_level = None
    # EXTRA: without a log beside it, as in a copy that is being made, the directory is on the disk too.
    for pragma in (f"busy_timeout = {BUSY_SECONDS * 1000}", "synchronous = EXTRA", "fullfsync = ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def begin_in_turn(connection: Connection, seconds: int | None = None) -> None:
    """Begin a transaction on SQLite: one that writes as soon as no other process is in the way, within so
    many seconds, or `BUSY_SECONDS`.

    SQLite's own waiting asks ever more rarely, so that in a crowd who waits long waits longest.
    """
    if not connection.get_execution_options().get("leakcap_writes", False):
        connection.exec_driver_sql("BEGIN")
        return
    raw, waited = connection.connection, BUSY_SECONDS if seconds is None else seconds
    raw.execute("PRAGMA busy_timeout = 0").close()
    try:
        in_turn(raw, "BEGIN IMMEDIATE", waited)
    finally:
        raw.execute(f"PRAGMA busy_timeout = {waited * 1000}").close()


def in_turn(raw: Any, statement: str, seconds: int = BUSY_SECONDS) -> None:
    """Run a statement as soon as no other process is in the way, at most so many seconds from now."""
    give_up = time.monotonic() + seconds
    while True:
        try:
            raw.execute(statement).close()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
        time.sleep(_PAUSE_SECONDS)


@contextmanager
def translated(label: str) -> Iterator[None]:
    """Turn a database's errors into one plain line."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        told = str(error.orig if isinstance(error, DBAPIError) else error)
        if label.startswith("sqlite"):
            said = _plain(told, f"cannot be used: {told.partition(chr(10))[0]}.")
            raise LedgerUnavailable(f"The ledger `{label}` {said}") from error
        # A driver repeats what it cannot read, which may be the password.
        raise LedgerUnavailable(f"The ledger `{label}` {_plain(told, _REFUSED)}") from None


def _plain(message: str, unknown: str) -> str:
    lowered = message.lower()
    return next((sentence for sign, sentence in _PLAIN if sign in lowered), unknown)
