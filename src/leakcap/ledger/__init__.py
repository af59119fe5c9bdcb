"""What has been spent, durably: caps that hold across processes, crashes and years.

    Spend, Caps, Limits, Charge    what an answer gives away, the most that may be, one query's price
    Ledger                         open or read it; check, reserve, mark_released; balances, entries, verify
    Proposed, Planned, Amendment   another policy for the same accounts: asked for, previewed, made
    Entry, Balance, ...            what it gives back
    export                         the audit trail as CSV or JSON

Importing this room imports SQLAlchemy.
"""

from __future__ import annotations

import logging

from leakcap.ledger.amending import Planned, Proposed
from leakcap.ledger.caps import MOST_LEVELS, Caps, Limits
from leakcap.ledger.export import export
from leakcap.ledger.ledger import Ledger
from leakcap.ledger.values import (
    Account,
    Amendment,
    Answer,
    Balance,
    Change,
    Charge,
    Entry,
    Head,
    Spend,
    Step,
    Told,
    Totals,
)

__all__ = [
    "MOST_LEVELS",
    "Account",
    "Amendment",
    "Answer",
    "Balance",
    "Caps",
    "Change",
    "Charge",
    "Entry",
    "Head",
    "Ledger",
    "Limits",
    "Planned",
    "Proposed",
    "Spend",
    "Step",
    "Told",
    "Totals",
    "export",
]

# What a library logs is shown where the program says so, and nowhere else.
logging.getLogger("leakcap").addHandler(logging.NullHandler())
