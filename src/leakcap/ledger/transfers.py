"""What it says when a ledger was moved, backed up or restored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from leakcap.ledger.anchors import Anchor

__all__ = ["BackedUp", "CustodyEvent", "Moved", "Restored"]


@dataclass(frozen=True)
class CustodyEvent:
    """That a ledger was moved, put back from a backup, closed, or shared with another data set.

    `kind` is ``moved``, ``arrived``, ``restored``, ``lost`` (what it lacks since was booked), ``closed``,
    ``admitted``, or ``backup`` in a file that is one; `what` says it in words, `reason` why; `hash` is its
    link in the chain.
    """

    time: datetime
    by: str
    kind: str
    what: str
    reason: str
    hash: str = ""


@dataclass(frozen=True)
class Moved:
    """A ledger that lives elsewhere now: where it was, where it is, and how long its chain is there."""

    dataset: str
    source: str
    target: str
    rows: int
    entries: int
    head: str


@dataclass(frozen=True)
class BackedUp:
    """A backup: of which ledger, in which file, and the ledger's anchor at that moment."""

    source: str
    file: str
    anchor: Anchor


@dataclass(frozen=True)
class Restored:
    """A ledger that was put back from a backup.

    `lost` is how many spends it lacks, None where that is not known; `booked` is what was booked for them, in
    words, and empty where that is nothing; `unreleased` are the entries whose answers may not leave any more;
    `closed` says that it is only a record.
    """

    dataset: str
    backup: str
    target: str
    anchor: Anchor
    unreleased: tuple[int, ...]
    lost: int | None
    closed: bool
    booked: str = ""
