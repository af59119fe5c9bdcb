"""What has been spent, durably: caps that hold across processes, crashes and years.

    Spend, Caps, Limits, Charge    what an answer gives away, the most that may be, one query's price
    Ledger                         open or read it; check, reserve, mark_released; balances, entries, verify
    answer_once, Paid              the one way to pay: recall, or commit, compute and record
    Proposed, Planned, Amendment   another policy for the same accounts: asked for, previewed, made
    Slot, SlotPlan, PlannedDescent answers fixed beforehand, paid for together: ledger.plan
    Entry, Balance, ...            what it gives back
    export                         the audit trail as CSV or JSON

SQLAlchemy is imported with the ledger itself, when it is first asked for.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from leakcap.lazily import lazily
from leakcap.ledger.caps import MOST_LEVELS, Caps, Limits
from leakcap.ledger.export import export
from leakcap.ledger.gaussian_laws import PlannedDescent
from leakcap.ledger.paying import Paid, answer_once
from leakcap.ledger.slots import Slot, SlotPlan, SlotUse
from leakcap.ledger.values import (
    Account,
    Amendment,
    Answer,
    Balance,
    Change,
    Charge,
    Entry,
    Head,
    OdometerReading,
    ProgressStep,
    Spend,
    Totals,
)

if TYPE_CHECKING:
    from leakcap.ledger.amending import Planned, Proposed
    from leakcap.ledger.ledger import Ledger

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
    "OdometerReading",
    "Paid",
    "Planned",
    "PlannedDescent",
    "ProgressStep",
    "Proposed",
    "Slot",
    "SlotPlan",
    "SlotUse",
    "Spend",
    "Totals",
    "answer_once",
    "export",
]

__getattr__, __dir__ = lazily(
    __name__,
    {"leakcap.ledger.amending": ("Planned", "Proposed"), "leakcap.ledger.ledger": ("Ledger",)},
)

# What a library logs is shown where the program says so, and nowhere else.
logging.getLogger("leakcap").addHandler(logging.NullHandler())
