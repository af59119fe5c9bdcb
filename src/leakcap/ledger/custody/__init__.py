"""The care of a ledger: moved to another database, kept as a backup, and put back."""

from __future__ import annotations

from leakcap.ledger.custody.backing import backup
from leakcap.ledger.custody.moving import move
from leakcap.ledger.custody.restoring import restore

__all__ = ["backup", "move", "restore"]
