"""What a model needs of a `PrivateTable` beyond releases: its engine, the name of its state, who asks."""

from __future__ import annotations

from leakcap.models.budget import Account
from leakcap.release import PrivateTable
from leakcap.release.engine import Engine

__all__ = ["account_of", "engine_of", "state_of"]


def engine_of(table: PrivateTable) -> Engine:
    """The engine that holds the table."""
    return table._engine


def state_of(table: PrivateTable) -> str:
    """The public name of the table's present state."""
    return table._identity.now()


def account_of(table: PrivateTable, analyst: str) -> Account:
    """The table's policy and ledger, which count instead of the model's."""
    account = Account(table.policy, table.ledger, analyst or table._analyst)
    account.check_policy()
    return account
