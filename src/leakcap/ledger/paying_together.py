"""Several payments at once: each stage of all of them is one transaction.

A service with many who ask spends most of its time on transactions: each waits for its turn, is sent, and is
flushed to the disk. Payments that wait for the same stage share one. They stay what they are: each is checked
against the caps after those before it, each has its own key, and a refusal refuses one alone. Where anything
else goes wrong in a stage, its transaction leaves no trace, and those in it are asked again alone: under its
key each is paid for once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from leakcap.errors import BudgetExceeded, LeakcapError
from leakcap.ledger.paying import Next, Payment, Stage

if TYPE_CHECKING:
    from leakcap.ledger.ledger import Ledger

__all__ = ["Alone", "pay_together"]

T = TypeVar("T")


class Alone:
    """In the place of what a payment returns: nothing was settled, it has to be made by itself."""


Outcome: TypeAlias = T | Exception | Alone


def pay_together(
    ledger: Ledger, payments: Sequence[Payment[T]], *, before_record: Callable[[], None]
) -> list[Outcome[T]]:
    """What each payment returns or raises, or `Alone`. Each has a request of its own, and no two the same.

    `before_record` is called each time before answers are recorded, as `Ledger.held_back` would.
    """
    group = _Group[T](payments)
    while group.waiting:
        stage = min(waits.stage for waits in group.waiting.values())
        waiting = {place: waits for place, waits in group.waiting.items() if waits.stage is stage}
        places, foreseen = (
            list(waiting),
            [one.foreseen for one in waiting.values() if one.foreseen is not None],
        )
        if stage in (Stage.COMPUTE, Stage.TELL):
            for place in places:
                group.advance(place)
            continue
        if stage is Stage.RECORD:
            before_record()
        try:
            with ledger.one_transaction(writes=stage is not Stage.LOOK, foreseen=foreseen):
                for place in places:
                    group.advance(place, within=stage)
        except Exception:
            # It left no trace, or whether it did is not known; each one's key tells.
            for place in places:
                group.leave_alone(place)
    return group.outcomes


class _Group(Generic[T]):
    """Payments, and which stage each waits for."""

    def __init__(self, payments: Sequence[Payment[T]]) -> None:
        self._payments = payments
        self.outcomes: list[Outcome[T]] = [Alone() for _ in payments]
        self.waiting: dict[int, Next] = {}
        for place in range(len(payments)):
            self.advance(place)

    def advance(self, place: int, *, within: Stage | None = None) -> None:
        """Take a payment through its stage, `within` a transaction. Raises what undoes that: whatever may
        have been raised after something was written."""
        self.waiting.pop(place, None)
        try:
            self.waiting[place] = next(self._payments[place])
        except StopIteration as ended:
            self.outcomes[place] = ended.value
        except Exception as error:
            harmless = LeakcapError if within is Stage.LOOK else BudgetExceeded
            if within is not None and not isinstance(error, harmless):
                raise
            if isinstance(error, LeakcapError):
                # Where it was raised nobody asks, and what was computed there is not kept.
                error.__traceback__ = error.__context__ = None
            self.outcomes[place] = error

    def leave_alone(self, place: int) -> None:
        """Whatever a payment came to does not count."""
        self.waiting.pop(place, None)
        self._payments[place].close()
        self.outcomes[place] = Alone()
