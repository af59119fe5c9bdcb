"""What has been spent, durably: caps that hold across processes, crashes and years.

    Spend, Caps, Limits, Charge    what an answer gives away, the most that may be, one query's price
    Ledger                         open or read it; check, reserve, mark_released; balances, entries, verify
    Entry, Balance, ...            what it gives back
    export                         the audit trail as CSV or JSON

Importing this room imports SQLAlchemy.
"""

from __future__ import annotations

from leakcap.ledger.caps import Caps, Limits
from leakcap.ledger.export import export
from leakcap.ledger.ledger import Ledger
from leakcap.ledger.values import Account, Answer, Balance, Charge, Entry, Head, Spend, Totals

__all__ = [
    "Account",
    "Answer",
    "Balance",
    "Caps",
    "Charge",
    "Entry",
    "Head",
    "Ledger",
    "Limits",
    "Spend",
    "Totals",
    "export",
]
