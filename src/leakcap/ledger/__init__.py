"""What has been spent, durably: caps that hold across processes, crashes and years.

    Spend, Caps, Charge     what an answer gives away, the most that may be, one query's price
    Ledger                  open or read it; check, reserve, mark_released; balances, entries, verify
    Entry, Balance, ...     what it gives back

Importing this room imports SQLAlchemy.
"""

from __future__ import annotations

from leakcap.ledger.ledger import Ledger
from leakcap.ledger.values import Balance, Caps, Charge, Entry, Head, Spend, Totals

__all__ = ["Balance", "Caps", "Charge", "Entry", "Head", "Ledger", "Spend", "Totals"]
