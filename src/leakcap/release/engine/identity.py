"""Which table it is, and in which state, without looking at what is in it.

A digest of the contents would be a value of the data: whoever reads the ledger and can guess all but one
record could test the guesses, keyed or not, since the key would have to lie where the ledger's users are. So
the name of a state is made of what the file system says (which file, when it was last written), or of the
version that the owner gives. A wrong "changed" costs budget; a wrong "unchanged" repeats an answer that has
left already. Neither costs privacy: budgets belong to the people and carry over from version to version.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from leakcap.plain import plain
from leakcap.release.engine.locations import is_server

__all__ = ["Identity", "called_together", "together"]

_LONGEST = 200


class Identity:
    """The state of a table, named before the engine opens it.

    >>> by_hand = Identity(object(), version="2026-03")
    >>> by_hand.now() == Identity(object(), version="2026-03").now() != Identity(object()).now()
    True
    """

    def __init__(self, data: object, *, table: str | None = None, version: str | None = None) -> None:
        self._path = Path(data) if isinstance(data, str | Path) and version is None else None
        self._table = table
        self._called = _called(data, table, version)
        self._attached = self._file_state() if version is None else _digest("version", version, table)
        # Data frames, servers: this object is all that is known to stay the same.
        self._name = self._attached or secrets.token_hex(32)

    @property
    def called(self) -> str:
        """What the owner calls it: the name of a file without its folder, that of a stored table, the version
        that was given. Empty for a data frame. No address, and no folder of the machine, is in it.

        >>> Identity("/home/ada/stays.csv").called, Identity("postgresql://ada:pw@db/x", table="stays").called
        ('stays.csv', 'table stays')
        """
        return self._called

    @property
    def of_object(self) -> bool:
        """Whether it names a data frame, or is a name that was given: a file is known by what it is now."""
        return self._path is None

    def now(self) -> str:
        """The name of the state that a query asked now would see.

        A file that was written to since the engine opened it may be seen in either state, or between: it
        gets a name that never comes back.
        """
        if self._path is not None and self._attached is not None and self._file_state() != self._attached:
            return secrets.token_hex(32)
        return self._name

    def _file_state(self) -> str | None:
        if self._path is None:
            return None
        try:
            state = self._path.stat()
        except (OSError, ValueError):
            return None
        return _digest("file", state.st_ino, state.st_mtime_ns, self._table)


def called_together(named: Mapping[str, str]) -> str:
    """What several tables are called, the data first (under no name), in one line of bounded length.

    >>> called_together({"": "stays.csv", "wards": "wards.csv", "codes": "codes"})
    'stays.csv, wards: wards.csv, codes'
    """
    told = (text if name in ("", text) else f"{name}: {text}" for name, text in named.items() if text)
    line = plain(", ".join(told), keep="")
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def together(states: Sequence[str]) -> str:
    """The name of the state of several tables, which changes with each of theirs; one keeps its own.

    >>> together(["a"]), together(["a", "b"]) == together(["b", "a"])
    ('a', False)
    """
    return states[0] if len(states) == 1 else _digest("together", *states)


def _called(data: object, table: str | None, version: str | None) -> str:
    named = "" if table is None else f"table {table}"
    file = isinstance(data, Path) or (isinstance(data, str) and not is_server(data))
    told = (Path(str(data)).name if file else "", named, "" if version is None else f"version {version}")
    return ", ".join(text for text in told if text)


def _digest(*parts: str | int | None) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
