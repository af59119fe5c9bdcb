"""From a URL to transactions on the store, with plain errors.

SQLite runs in WAL mode and a writer begins with ``BEGIN IMMEDIATE``, so that what it has read still holds
when it writes. On PostgreSQL the rows that decide are locked (``FOR UPDATE``).
"""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from sqlalchemy import URL, Connection, Engine, Select, create_engine, event, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    InvalidatePoolError,
    NoSuchModuleError,
    SQLAlchemyError,
)

from leakcap.credentials import shown_url
from leakcap.errors import InvalidParameter
from leakcap.ledger.database import begin_in_turn, in_turn
from leakcap.service.store.errors import StoreError

__all__ = ["LookedUp", "StoreDatabase", "database_at"]

_BUSY_SECONDS = 30
_RESTED = 0.1
# How many connections a process has at most. All are kept: for each new one a server begins a process, which
# takes longer than many questions. Whoever finds none free waits; nobody who has one waits for another.
_TO_A_SERVER, _TO_A_FILE = 8, 45
_QUIET = "leakcap-store"
_FORMS = "Write `sqlite:///store.db` or `postgresql+psycopg://user@host/database`."

# SQLAlchemy logs the rows that it reads, hashes of passwords among them, where a program has it log all.
logging.getLogger(f"sqlalchemy.engine.Engine.{_QUIET}").setLevel(logging.WARNING)

_PLAIN = (
    ("file is not a database", "is not an SQLite file. Check the URL; nothing in it was changed."),
    ("malformed", "is damaged. Restore it from a backup."),
    ("readonly", "cannot be written: the file or its directory is read-only."),
    ("no such column", "is not as leakcap made it. Restore it from a backup."),
    ("no such file", "cannot be opened. Check that its directory exists and that you may write there."),
    ("unable to open", "cannot be opened. Check that its directory exists and that you may write there."),
    ("is full", "cannot be written: the disk is full."),
    ("disk i/o", "cannot be written or read: the disk reports an error."),
    ("lock timeout", f"is busy: another process held it for more than {_BUSY_SECONDS} seconds. Try again."),
    ("locked", f"is busy: another process held it for more than {_BUSY_SECONDS} seconds. Try again."),
    ("no such table", "is not as leakcap made it. Restore it from a backup."),
    ("permission denied", "cannot be used: the user may only look, or not even that."),
    ("does not exist", "is not there, or not as leakcap made it. Check the URL, or restore it."),
    ("queuepool", f"is busy: all connections to it were taken for {_BUSY_SECONDS} seconds. Try again."),
    ("password", "cannot be opened: the server refuses the user or the password."),
    ("connect", "cannot be reached. Check the URL and that the server runs."),
)


LookedUp: TypeAlias = Mapping[tuple[Any, ...], Sequence[Any]]
"""The rows of statements with their words, which were looked up before they are asked for."""


class StoreDatabase:
    """The database of a store. `label` names it in messages, without a password."""

    def __init__(self, engine: Engine, label: str) -> None:
        self.label = label
        self._engine = engine
        self._process = os.getpid()
        # What was looked up for this thread's request, where it is at one.
        self._thread = threading.local()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one moment of the store."""
        with self._connected("REPEATABLE READ") as connection, connection.begin():
            yield connection

    def rows(self, asked: Select[Any], **words: str) -> Sequence[Any]:
        """The rows of one statement with these words, by itself or as they were foreseen."""
        foreseen: LookedUp = getattr(self._thread, "foreseen", {})
        found = foreseen.get((asked, *words.values()))
        if found is not None:
            return found
        with self._connected() as connection:
            return connection.execute(asked, words).all()

    @contextmanager
    def foreseen(self, found: LookedUp) -> Iterator[None]:
        """Within, this thread has these rows, which were looked up just now, until `forget_foreseen`."""
        self._thread.foreseen = found
        try:
            yield
        finally:
            self.forget_foreseen()

    def forget_foreseen(self) -> None:
        """What this thread reads from here on is of later moments: it waits for something, or writes."""
        self._thread.foreseen = {}

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that commits as a whole at the end, or, on any exception, leaves no trace."""
        self.forget_foreseen()
        with self._connected("READ COMMITTED", writes=True) as connection, connection.begin():
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = {_BUSY_SECONDS * 1000}")
            yield connection

    def close(self) -> None:
        """Let go of the file or the server, which whoever uses this again opens again."""
        self._engine.dispose()

    @contextmanager
    def _connected(self, isolation: str = "", *, writes: bool = False) -> Iterator[Connection]:
        """A connection; on a server its transactions are isolated so, and without a word statements are."""
        if os.getpid() != self._process:
            # Connections of the process that forked this one are its own.
            self._engine.dispose(close=False)
            self._process = os.getpid()
        with _translated(self.label), self._engine.connect() as connection:
            options: dict[str, Any] = {"leakcap_writes": writes}
            if isolation and connection.dialect.name == "postgresql":
                options["isolation_level"] = isolation
            yield connection.execution_options(**options)


def database_at(url: str, *, create: bool = True) -> StoreDatabase:
    """The database behind a URL; a new SQLite file is readable by its owner alone.

    >>> database_at("mysql://host/x")
    Traceback (most recent call last):
    leakcap.service.store.errors.StoreError: A store cannot live in `mysql`. Write `sqlite:///store.db` or ...
    """
    parsed = _parse(url)
    if parsed.get_backend_name() == "sqlite":
        path = Path(parsed.database or "").absolute()
        with _translated(f"sqlite:///{path}"):
            _require_private(path, create)
        engine = create_engine(
            URL.create("sqlite", database=str(path)),
            hide_parameters=True,
            logging_name=_QUIET,
            connect_args={"check_same_thread": False},
            pool_size=_TO_A_FILE,
            max_overflow=0,
            pool_timeout=_BUSY_SECONDS,
        )
        event.listen(engine, "connect", _configure)
        event.listen(engine, "begin", partial(begin_in_turn, seconds=_BUSY_SECONDS))
        return StoreDatabase(engine, f"sqlite:///{path}")
    label = shown_url(url)
    try:
        engine = create_engine(
            parsed,
            hide_parameters=True,
            logging_name=_QUIET,
            isolation_level="AUTOCOMMIT",
            pool_size=_TO_A_SERVER,
            max_overflow=0,
            pool_timeout=_BUSY_SECONDS,
        )
    except (ImportError, NoSuchModuleError):
        raise StoreError(
            f"The store `{label}` needs a driver that is not installed. Run "
            "`pip install 'leakcap[postgresql]'` and write `postgresql+psycopg://`."
        ) from None
    except (ArgumentError, TypeError, ValueError):
        raise StoreError(f"The URL of the store `{label}` has parameters that cannot be used.") from None
    for name in ("connect", "checkin"):
        event.listen(engine, name, _note_use)
    event.listen(engine, "checkout", partial(_require_awake, engine.dialect))
    return StoreDatabase(engine, label)


def _note_use(_connection: object, record: Any, *_: object) -> None:
    record.info["used"] = time.monotonic()


def _require_awake(dialect: Any, connection: Any, record: Any, *_: object) -> None:
    """A connection to a server that has rested is tried before it is used: the server may have begun anew. To
    try each one each time takes as long as a question to the store."""
    if time.monotonic() - record.info["used"] < _RESTED:
        return
    try:
        awake = dialect.do_ping(connection)
    except dialect.dbapi.Error:
        awake = False
    if not awake:
        raise InvalidatePoolError


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, ValueError):
        # The text may hold a password, so it is not repeated.
        raise StoreError(f"The store's URL cannot be read. {_FORMS}") from None
    if backend not in ("sqlite", "postgresql"):
        raise StoreError(f"A store cannot live in `{backend}`. {_FORMS}")
    if backend == "sqlite" and (parsed.query or parsed.host or parsed.drivername != "sqlite"):
        raise StoreError("A store's SQLite URL is `sqlite:///` and a path, nothing else.")
    if backend == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise StoreError(f"A store in memory would be another one in each process. {_FORMS}")
    return parsed


def _require_private(path: Path, create: bool) -> None:
    """Make the file, for its owner alone; refuse one that others may read, for it holds hashes of secrets."""
    if create and not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    if not path.is_file():
        raise StoreError(f"There is no store in `{path}`. Check the URL; `leakcap curator init` makes one.")
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        raise StoreError(
            f"The store `{path}` may be opened by others (mode {mode:04o}), and it holds hashes of secrets. "
            f"Run `chmod 600 {path}`."
        )


def _configure(connection: Any, _record: object) -> None:
    # None: the driver begins no transaction of its own, `begin_in_turn` does.
    connection.isolation_level = None
    for pragma in (f"busy_timeout = {_BUSY_SECONDS * 1000}", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}").close()
    if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        in_turn(connection, "PRAGMA journal_mode = WAL", _BUSY_SECONDS)


@contextmanager
def _translated(label: str) -> Iterator[None]:
    """Turn a database's errors into one plain line, which repeats no password."""
    try:
        yield
    except IntegrityError:  # for who asked, who knows what was there twice
        raise
    except (DataError, UnicodeEncodeError):
        raise InvalidParameter(
            "Text for the store must be without null characters and half characters. Write it anew."
        ) from None
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        told = str(error.orig if isinstance(error, DBAPIError) else error).lower()
        said = next((sentence for sign, sentence in _PLAIN if sign in told), "cannot be used. Check the URL.")
        raise StoreError(f"The store `{label}` {said}") from None
