"""What a release may write to, and spend from: checked before anything is spent."""

from __future__ import annotations

import os
from pathlib import Path

from leakcap.errors import InvalidQuery

__all__ = ["require_durable", "require_report", "require_sheet"]

_LEDGER_FILES = ("", "-wal", "-shm", "-journal")


def require_report(target: Path, ledger: str, *inputs: Path) -> None:
    """Refuse a report that cannot be written, or that would replace what the release rests on.

    A report over the ledger's log would take back the spend after the answer left. Nothing is made here.
    """
    if target.suffix.lower() not in {".html", ".htm"}:
        raise InvalidQuery(f"The report must be an .html file. Got `{target}`. Nothing was spent.")
    _require_writable(target, "report", ledger, *inputs)


def require_sheet(target: Path, ledger: str, *inputs: Path) -> None:
    """The same of a file of values."""
    if target.suffix.lower() != ".csv":
        raise InvalidQuery(f"`--csv` must be a .csv file. Got `{target}`. Nothing was spent.")
    _require_writable(target, "CSV", ledger, *inputs)


def _require_writable(target: Path, what: str, ledger: str, *inputs: Path) -> None:
    kept = [*inputs]
    if ledger.startswith("sqlite:///"):
        path = ledger.removeprefix("sqlite:///")
        kept += [Path(path + suffix) for suffix in _LEDGER_FILES]
    if target.resolve() in {path.resolve() for path in kept}:
        raise InvalidQuery(
            f"The {what} may not replace `{target}`, which the release needs. Nothing was spent."
        )
    place = target
    while not place.exists() and place != place.parent:
        place = place.parent
    usable = not target.is_dir() and (place == target or place.is_dir()) and os.access(place, os.W_OK)
    if not usable:
        raise InvalidQuery(f"The {what} cannot be written to `{target}`. Nothing was spent.")


def require_durable(ledger: str) -> str:
    """The ledger's URL, unless it is one that forgets when the command ends.

    >>> require_durable("hospital.db")
    'sqlite:///hospital.db'
    """
    text = ledger.strip()
    url = text if "://" in text else f"sqlite:///{text}"
    path = url.removeprefix("sqlite:///") if url.startswith("sqlite:///") else url
    if url.startswith("sqlite:") and (path in {"", "sqlite://", "sqlite:"} or path.startswith(":memory:")):
        raise InvalidQuery(
            f"A ledger in memory forgets what was spent when the command ends. Got `{ledger}`. Name a file."
        )
    return url
