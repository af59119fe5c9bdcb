"""Questions of several people about one data set, answered in the same transactions of its ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from leakcap.errors import LeakcapError, LedgerError
from leakcap.ledger.paying_together import Alone, pay_together
from leakcap.service.engine.call import EngineCall
from leakcap.service.engine.operations import answering
from leakcap.service.engine.refused import refused

__all__ = ["answer_together"]


def answer_together(
    calls: Sequence[EngineCall], alone: Callable[[int], dict[str, Any]]
) -> list[dict[str, Any]]:
    """What is answered to each call: ``{"result": …}`` or ``{"problem": …}``. All are questions about one
    data set under requests' numbers of their own, with clocks that began together; `alone` answers the one at
    this place by itself, where it cannot share a transaction with others."""
    first = calls[0]
    assert first.tables is not None
    assert first.clock is not None
    try:
        asked = [first.tables.of(one.dataset, one.analyst) for one in calls]
    except LeakcapError:
        return [alone(place) for place in range(len(calls))]
    payments = [answering(call, table) for call, table in zip(calls, asked, strict=True)]
    found = pay_together(asked[0].ledger, payments, before_record=first.clock.before_release)
    return [_told(one, place, calls, alone) for place, one in enumerate(found)]


def _told(
    found: dict[str, Any] | Exception | Alone,
    place: int,
    calls: Sequence[EngineCall],
    alone: Callable[[int], dict[str, Any]],
) -> dict[str, Any]:
    if isinstance(found, dict):
        return {"result": found}
    if isinstance(found, Alone) or (isinstance(found, LedgerError) and not found.committed):
        # A policy that was amended meanwhile is opened anew there.
        return alone(place)
    return refused(calls[place].dataset, found)
