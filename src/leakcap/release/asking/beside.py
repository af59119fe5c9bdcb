"""What a table releases beside its queries, paid in the same commit: tables that share one budget, say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from leakcap.ledger import Charge

__all__ = ["Beside"]

T = TypeVar("T")


class Beside(ABC, Generic[T]):
    """A release of another kind than a query's; `charge` is what it costs."""

    charge: Charge

    @abstractmethod
    def prepare(self, *, paid: bool = False) -> Callable[[], Any]:
        """Whatever may still be refused; then what reads the table, once it is paid. Where it is `paid` for
        already, no cap refuses it.

        All that is paid for together is read in one state of the table, which a server keeps for it: what
        takes long without reading is left to `finished`.
        """

    @abstractmethod
    def finished(self, read: Any) -> tuple[T, Any]:
        """From what was read the answer, with its noise, and the released values as the ledger remembers
        them. The table's state is let go of by then."""
