"""A ledger that is asked for all and pays for nothing: what is refused is refused before there is one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn, Self

from sqlalchemy import Connection

from leakcap.ledger.caps import Caps
from leakcap.ledger.ledger import Ledger
from leakcap.ledger.requests import Asked, Request
from leakcap.ledger.slots import SlotPlan, SlotUse
from leakcap.ledger.state import State
from leakcap.ledger.unbegun import UnbegunLedger
from leakcap.ledger.values import Charge

__all__ = ["NothingPaid", "UnpaidLedger"]


class NothingPaid(Exception):
    """What an `UnpaidLedger` raises in place of paying: nothing that is checked before payment refused it."""


class UnpaidLedger(Ledger):
    """A ledger in memory, in place of one that nobody has begun.

    Whoever asks gets every refusal that the new ledger would give; what would be paid is held to its caps,
    and then `NothingPaid` is raised, so that no noise is drawn.

    >>> from leakcap.ledger import Spend
    >>> own = {"dataset": "d", "policy": "ab12cd34", "caps": Caps(1.0)}
    >>> with UnpaidLedger.of(UnbegunLedger("sqlite:///new.db", plans=[], **own), **own) as ledger:
    ...     try:
    ...         ledger.reserve([Charge("sick", "count", Spend(epsilon=0.5))])
    ...     except NothingPaid:
    ...         ledger.totals().entries
    0
    """

    _unbegun: UnbegunLedger

    @classmethod
    def of(cls, unbegun: UnbegunLedger, *, dataset: str, policy: str, caps: Caps) -> Self:
        """One that stands in for `unbegun`."""
        found = cls.open("sqlite://", dataset=dataset, policy=policy, caps=caps)
        found._unbegun = unbegun
        return found

    def reserve(
        self, charges: Iterable[Charge], *, data: str = "", request: Request | None = None
    ) -> NoReturn:
        """Raise what a new ledger's `reserve` would, or `NothingPaid`."""
        self._unbegun.check(charges)
        raise NothingPaid

    def reserve_request(self, asked: Asked, *, data: str) -> NoReturn:
        """The same for a request, of which a new ledger knows none."""
        self._unbegun.check(asked.charges)
        raise NothingPaid

    def reserve_stream(self, charge: Charge) -> NoReturn:
        """Raise what a new ledger's `reserve_stream` would, or `NothingPaid`."""
        self._unbegun.check([charge])
        raise NothingPaid

    def _require_room(self, connection: Connection, state: State, batch: Sequence[Charge]) -> None:
        """What a new ledger has room for, which has its plans."""
        self._unbegun.check(batch)

    def slots(self) -> list[SlotUse]:
        """Those of the new ledger's plans, none used."""
        return self._unbegun.slots()

    def plan(self, plan: SlotPlan) -> NoReturn:
        """Raise `NothingPaid`: the plans of the new ledger were checked when it was described."""
        raise NothingPaid
