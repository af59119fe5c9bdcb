"""Whether a file that is about to be written is one that something rests on.

Two names are one file through links, through a file system that does not tell upper from lower case, and
through folders that are themselves links. SQLite and DuckDB keep part of a database in files beside it, and
a file that is replaced in one piece is first written beside its old self.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

__all__ = ["apart", "sqlite_path"]

_BESIDE = ("", "-wal", "-shm", "-journal", ".wal", ".new")
_SQLITE = re.compile(r"sqlite(?:\+\w+)?:(?://)?/?(.*)", re.DOTALL)


def apart(target: Path, kept: Iterable[Path | str]) -> bool:
    """Whether writing to `target` leaves every one of `kept`, and what databases keep beside it, as it is.

    A server's URL is no file; an SQLite URL is that of its file.

    >>> apart(Path("report.html"), ["visits.parquet", "sqlite:///visits.db"])
    True
    >>> apart(Path("./folder/../visits.db-wal"), ["visits.parquet", "sqlite:///visits.db"])
    False
    """
    places = {_place(f"{name}{end}") for one in kept for name in _names(one) for end in _BESIDE}
    return _place(str(target)) not in places


def sqlite_path(url: str) -> str | None:
    """The path in an SQLite URL, empty where the database is in memory; None for what is no such URL.

    >>> sqlite_path("sqlite:///a.db"), sqlite_path("sqlite+pysqlite:////srv/a.db"), sqlite_path("sqlite://")
    ('a.db', '/srv/a.db', '')
    """
    found = _SQLITE.fullmatch(url)
    return None if found is None else found[1]


def _names(one: Path | str) -> list[str]:
    """The path as it is given and where its links lead, beside which SQLite keeps its log."""
    path = str(one)
    if isinstance(one, str) and "://" in one:
        path = sqlite_path(one) or ""
    return [path, os.path.realpath(path)] if path and "\0" not in path else []


def _place(path: str) -> tuple[int, int, tuple[str, ...]]:
    """The nearest thing on the way that exists, and the names below it, without regard to case."""
    here = Path(os.path.realpath(path))
    below: list[str] = []
    while True:
        try:
            found = here.stat()
        except OSError:
            if here == here.parent:
                return -1, -1, tuple(below)
            below.append(unicodedata.normalize("NFC", here.name).casefold())
            here = here.parent
            continue
        return found.st_dev, found.st_ino, tuple(below)
