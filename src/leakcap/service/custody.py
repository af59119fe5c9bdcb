"""A curator's backup, and what is put back from it: the store and all ledgers, each as it was at one moment.

The store is copied first: what a ledger knows that the store does not is found again under its request's
number; the other way round a job would be done without its answer.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from leakcap.errors import InvalidParameter
from leakcap.ledger import BackedUp, Restored, backup, restore
from leakcap.ledger.anchors import Anchor
from leakcap.report.records import LedgerAnchorRecord
from leakcap.service.configuration import Configuration
from leakcap.service.store import Store
from leakcap.service.store.acts import VerifiedActs

__all__ = ["CuratorBackup", "CuratorRestored", "back_up", "put_back"]

_STORE = "store.backup"


@dataclass(frozen=True)
class CuratorBackup:
    """What was copied: the acts of the store, None where it is on a server, and each ledger by data set."""

    folder: Path
    acts: VerifiedActs | None
    ledgers: Mapping[str, BackedUp]


@dataclass(frozen=True)
class CuratorRestored:
    """What was put back. `ended` is how many tokens and sessions that ended, None where the store was left as
    it stands; `ledgers` what became of each."""

    ended: int | None
    ledgers: Mapping[str, Restored]


def back_up(configuration: Configuration, folder: Path, *, by: str) -> CuratorBackup:
    """Copy store and ledgers into a folder that only its owner can read, while the curator runs.

    Beside them stand `<data set>.anchor.json`, which belong elsewhere. Raises `InvalidParameter` for a folder
    that others can read, `LedgerError` and `StoreError` where a chain does not hold.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        raise InvalidParameter(
            f"`{folder}` may be opened by others, and a backup holds answers and hashes of secrets. "
            f"Run `chmod 700 {folder}`."
        )
    store = _store_file(configuration)
    acts = None if store is None else _copied(store, folder / _STORE)
    ledgers = {}
    for name, one in configuration.data.items():
        ledgers[name] = backup(one.ledger, folder / f"{name}.backup", by=by)
        told = {"anchor": LedgerAnchorRecord.of(ledgers[name].anchor).to_dict()}
        _written(folder / f"{name}.anchor.json", json.dumps(told, indent=1))
    return CuratorBackup(folder, acts, ledgers)


def put_back(
    configuration: Configuration,
    folder: Path,
    *,
    anchors: Mapping[str, Anchor],
    by: str,
    book_lost: bool = False,
    reason: str = "",
    preview: bool = False,
) -> CuratorRestored:
    """Put store and ledgers back where the configuration has them.

    Nothing is written unless all of it can be: `LedgerError` names the ledger that lacks spends which its
    anchor knows, unless `book_lost` books them. A store that stands is left. In one that is put back all
    tokens, sessions, one-time passwords and requests to administrators end, because some may have been ended
    since; people and roles are as they were.
    """
    unknown = set(anchors) - set(configuration.data)
    if unknown:
        raise InvalidParameter(f"`--anchor` names no data set of this curator: `{min(unknown)[:80]}`.")
    store, kept = _store_file(configuration), folder / _STORE
    missing = store is not None and not store.exists()
    if missing and not kept.is_file():
        raise InvalidParameter(f"There is no backup of the store in `{folder}`.")

    def ledgers(*, only_look: bool) -> dict[str, Restored]:
        return {
            name: restore(
                f"sqlite:///{(folder / f'{name}.backup').absolute()}",
                one.ledger,
                anchor=anchors.get(name),
                book_lost=book_lost,
                reason=reason,
                by=by,
                preview=only_look,
            )
            for name, one in configuration.data.items()
        }

    found, ended = ledgers(only_look=True), None
    if preview:
        return CuratorRestored(0 if missing else None, found)
    if missing and store is not None:
        made = datetime.fromtimestamp(kept.stat().st_mtime, UTC)
        rule = configuration.second_administrator
        ended = _store_put_back(kept, store, by=by, made=made, second_administrator=rule)
    return CuratorRestored(ended, ledgers(only_look=False))


def _store_put_back(kept: Path, store: Path, *, by: str, made: datetime, second_administrator: bool) -> int:
    """It stands in its place only once its tokens have ended."""
    part = _part(store)
    try:
        _copied(kept, part)
        with Store.open(f"sqlite:///{part.absolute()}", create=False) as opened:
            opened.confirmations.note_rule(second_administrator, by=by)
            ended = opened.note_restored(made, by=by)
        with closing(sqlite3.connect(part)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE").close()
        os.replace(part, store)
    finally:
        part.unlink(missing_ok=True)
    return ended


def _store_file(configuration: Configuration) -> Path | None:
    scheme, _, path = configuration.store.partition(":///")
    return Path(path) if scheme == "sqlite" else None


def _copied(source: Path, target: Path) -> VerifiedActs:
    """One moment of a store in another file, whole or not there; the acts whose chain holds in it."""
    if not source.is_file():
        raise InvalidParameter(f"There is no store in `{source}`.")
    part = _part(target)
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as old,
            closing(sqlite3.connect(part)) as new,
        ):
            old.backup(new)
            new.execute("PRAGMA journal_mode = DELETE").close()
        with Store.open(f"sqlite:///{part.absolute()}", create=False) as opened:
            acts = opened.verify_acts()
        with closing(sqlite3.connect(part)) as new:
            new.execute("PRAGMA journal_mode = DELETE").close()
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    return acts


def _part(target: Path) -> Path:
    return target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")


def _written(file: Path, text: str) -> None:
    part = _part(file)
    with open(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as out:
        out.write(text)
    os.replace(part, file)
