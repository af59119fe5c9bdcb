"""A backup: one moment of a ledger in a file from which nothing is ever spent."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection

from leakcap.errors import LedgerError
from leakcap.ledger.anchors import Anchor
from leakcap.ledger.chain import require_text
from leakcap.ledger.closed import closing_row
from leakcap.ledger.custody.copying import copied, emptied, knows, require_ledger_name
from leakcap.ledger.database import Database, connect
from leakcap.ledger.events import mark_row, stamp
from leakcap.ledger.schema import create, require_version
from leakcap.ledger.state import append, load_state
from leakcap.ledger.transfers import BackedUp
from leakcap.ledger.verification import proven_sums

__all__ = ["backup"]


def backup(
    source: str,
    file: Path | str,
    *,
    by: str = "",
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> BackedUp:
    """Write a backup of a ledger, as it is at one moment, while others go on spending.

    The backup is an SQLite file, whole or not there at all, that only its owner can read: it holds the
    released answers and the ledger's seed. It can be read and verified as a ledger can, and refuses spends. A
    file that is there is replaced only by a later backup of the same ledger. The `anchor` that is returned
    belongs elsewhere. Raises `LedgerError` where the chain does not verify.

    >>> import tempfile
    >>> from leakcap.ledger import Caps, Ledger
    >>> folder = tempfile.mkdtemp()
    >>> Ledger.open(f"sqlite:///{folder}/a.db", dataset="d", policy="ab12cd34", caps=Caps(0.9)).close()
    >>> backup(f"sqlite:///{folder}/a.db", f"{folder}/a.backup").anchor.rows
    1
    >>> Ledger.resume(f"sqlite:///{folder}/a.backup")
    Traceback (most recent call last):
    leakcap.errors.LedgerError: `sqlite:///...` is a backup, made at ... UTC, and nothing is spent from ...
    """
    require_text(by, "by", "backup")
    target = Path(file)
    require_ledger_name(str(target), "A backup")
    part = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
    with closing(connect(source, read_only=True)) as old:
        try:
            os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            with closing(connect(f"sqlite:///{part.absolute()}")) as new, old.reading() as there:
                anchor = _written(there, new, old, by, clock)
                _require_later(there, target)
            os.replace(part, target)
            _kept(target.absolute().parent)
        except OSError as error:
            raise LedgerError(f"The backup `{target}` cannot be written: {error.strerror}.") from None
        finally:
            part.unlink(missing_ok=True)
    return BackedUp(old.label, str(target), anchor)


def _written(
    there: Connection, new: Database, old: Database, by: str, clock: Callable[[], datetime]
) -> Anchor:
    require_version(there, old.label)
    state = proven_sums(there, old.label)[0]
    old.require_no_lost_log(state.head)
    if state.closed:
        # It says itself why: a backup of a backup, or of what lives elsewhere, would restore to two.
        told = closing_row(there, state.rows)
        what = "is a backup" if told["kind"] == "backup" else "is closed"
        raise LedgerError(f"`{old.label}` {what}: there is nothing to back up. Name the ledger itself.")
    with new.writing() as here:
        create(here)
        emptied(here)
        copied(there, here)
        row = mark_row(state, "backup", stamp(clock, state.time, old.label), {"of": old.whereabouts()}, by=by)
        append(here, state, [row])
        proven_sums(here, old.label)
    return Anchor.of(state.dataset, state.policy, state.rows, state.head, state.spent)


def _kept(folder: Path) -> None:
    """Have the disk keep the file's name; some systems open no directory, and keep it themselves."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _require_later(there: Connection, target: Path) -> None:
    """Raise `LedgerError` where the file is anything but an earlier backup of the ledger."""
    if not target.exists():
        return
    try:
        with closing(connect(f"sqlite:///{target.absolute()}", read_only=True)) as kept:
            with kept.reading() as here:
                require_version(here, kept.label)
                row = closing_row(here, load_state(here, kept.label).rows)
            earlier = row["kind"] == "backup" and knows(there, row["previous"])
    except LedgerError:
        earlier = False
    if not earlier:
        raise LedgerError(f"`{target}` is not an earlier backup of this ledger. Name another file.")
