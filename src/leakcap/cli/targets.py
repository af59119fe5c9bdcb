"""What a command may write to, and spend from: checked before anything is spent."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from leakcap.apart import apart, sqlite_path
from leakcap.errors import InvalidQuery

if TYPE_CHECKING:
    from leakcap.models.files import ModelFile
    from leakcap.release import QueryFile

__all__ = ["files_of", "require_durable", "require_target"]


def require_target(
    target: Path, what: str, endings: Sequence[str] = (), kept: Iterable[Path | str] = ()
) -> None:
    """Refuse a file that cannot be written, or that would replace one of `kept`, which the command rests on.

    A report over the ledger's log would take back the spend after the answer left. Nothing is made here.
    """
    if endings and target.suffix.lower() not in endings:
        listed = " or ".join([", ".join(endings[:-1]), endings[-1]] if len(endings) > 1 else endings)
        raise InvalidQuery(
            f"{what} must be a file that ends in {listed}. Got `{target}`. Nothing was spent or written."
        )
    if "\0" in str(target):
        raise InvalidQuery(f"{what} must be a path without null characters. Nothing was spent or written.")
    if not apart(target, kept):
        raise InvalidQuery(
            f"{what} may not replace `{target}`, which the command needs. Name another file. "
            "Nothing was spent or written."
        )
    place = target
    while not place.exists() and place != place.parent:
        place = place.parent
    usable = not target.is_dir() and (place == target or place.is_dir()) and os.access(place, os.W_OK)
    if not usable:
        raise InvalidQuery(f"{what} cannot be written to `{target}`. Nothing was spent or written.")


def files_of(asked: QueryFile | ModelFile, ledger: str | None = None) -> list[Path | str]:
    """The files that a query file or a model file names."""
    tables = getattr(asked, "tables", {})
    return [asked.policy, asked.data, *tables.values(), asked.ledger, *([ledger] if ledger else [])]


def require_durable(ledger: str) -> str:
    """The ledger's URL, unless it is one that forgets when the command ends.

    >>> require_durable("hospital.db")
    'sqlite:///hospital.db'
    """
    text = ledger.strip()
    url = text if "://" in text else f"sqlite:///{text}"
    path = sqlite_path(url)
    if path is not None and (not path.strip() or path.startswith(":memory:")):
        raise InvalidQuery(
            f"A ledger in memory forgets what was spent when the command ends. Got `{ledger}`. Name a file."
        )
    return url
