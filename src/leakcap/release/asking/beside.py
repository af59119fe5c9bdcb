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
    def prepare(self) -> Callable[[], tuple[T, Any]]:
        """Whatever may still be refused; then what reads the table and draws noise, once it is paid.

        What is returned then is the answer, and the released values as the ledger remembers them.
        """
