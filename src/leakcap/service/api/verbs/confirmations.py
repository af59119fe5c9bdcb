"""What waits for another administrator: listed, confirmed, refused, withdrawn."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from leakcap.errors import LeakcapError
from leakcap.service.api.bodies import WordBody
from leakcap.service.api.curator import Curator
from leakcap.service.api.told import told_of_request
from leakcap.service.authorization import Action, permitted
from leakcap.service.engine.calling import EngineFailed
from leakcap.service.identity.principal import Principal
from leakcap.service.store.confirmations import PendingAct
from leakcap.service.store.confirmed import AMEND
from leakcap.service.store.errors import NotFound, StateConflict

__all__ = ["decide_on_request", "list_requests", "withdraw_request"]

_GIVEN_UP = timedelta(minutes=10)
"""After which no engine is at work any more on what it was asked."""


def list_requests(curator: Curator, principal: Principal) -> list[dict[str, Any]]:
    """All requests, for administrators; for others their own. The newest hundred."""
    curator.allow(principal, Action.SEE_REQUESTS)
    every = permitted(principal, curator.grants(principal), Action.SEE_PEOPLE)
    listed = curator.store.confirmations.list(by=None if every else principal.subject)
    return [told_of_request(_looked_after(curator, one)) for one in listed]


def decide_on_request(curator: Curator, principal: Principal, number: str, given: WordBody) -> dict[str, Any]:
    """The request after an administrator's word; what was confirmed by as many as it needs is done."""
    curator.allow(principal, Action.CONFIRM)
    book = curator.store.confirmations
    _looked_after(curator, book.find(number))
    if given.verdict == "refuse":
        if book.find(number).by == principal.subject:
            return withdraw_request(curator, principal, number)
        return told_of_request(book.refuse(number, principal.subject, given.reason))
    if book.find(number).act == AMEND:
        _require_same_policy(curator, book.find(number))
    found = book.confirm(number, principal.subject)
    if found.state == "begun":
        found = _amended(curator, found)
    return told_of_request(found)


def withdraw_request(curator: Curator, principal: Principal, number: str) -> dict[str, Any]:
    """The request of one's own, ended. Raises `NotFound` for another's."""
    curator.allow(principal, Action.WITHDRAW)
    book = curator.store.confirmations
    if book.find(number).by != principal.subject:
        raise NotFound("There is no such request of yours.")
    return told_of_request(book.refuse(number, principal.subject))


def _amended(curator: Curator, found: PendingAct) -> PendingAct:
    """The amendment, made in the name of who asked; the ledger's chain has who confirmed it."""
    body = {"policy": found.body["policy"], "reason": _reason(found), "preview": False}
    try:
        _require_same_policy(curator, found)
    except (LeakcapError, EngineFailed):
        curator.store.confirmations.settle(found.id, done=False)
        raise
    try:
        curator.engine.call("amend", found.dataset, found.by, body)
    except (LeakcapError, EngineFailed) as error:
        # Out of time the engine may still be at it: then nobody knows yet that it was not made.
        over = not (isinstance(error, EngineFailed) and error.kind == "time")
        settled = _settled(curator, found, over=over)
        if settled.state == "done":
            return settled
        raise
    return curator.store.confirmations.settle(found.id, done=True)


def _reason(found: PendingAct) -> str:
    """The reason in the ledger's chain, by which the amendment of this request is found again."""
    return f"{found.body['reason']} [confirmed by {', '.join(found.confirmed)}; request {found.id}]"


def _looked_after(curator: Curator, found: PendingAct) -> PendingAct:
    """The request; of an amendment whose end nobody saw, what the ledger says became of it."""
    if found.state != "begun" or found.last_word is None:
        return found
    late = max(_GIVEN_UP, timedelta(seconds=4 * curator.configuration.limits.seconds))
    return _settled(curator, found, over=curator.store.clock() - found.last_word >= late)


def _settled(curator: Curator, found: PendingAct, *, over: bool) -> PendingAct:
    """Settled by the ledger's chain, which has the amendment or not. Where it has not, and the engine's work
    may not be `over`, or the ledger cannot be asked, the request is left begun."""
    try:
        chain = curator.engine.call("ledger", found.dataset, found.by)["amendments"]
    except (LeakcapError, EngineFailed):
        return found
    made = any((one["by"], one["reason"]) == (found.by, _reason(found)) for one in chain)
    return curator.store.confirmations.settle(found.id, done=made) if made or over else found


def _require_same_policy(curator: Curator, found: PendingAct) -> None:
    """Raise `StateConflict` where another policy governs than when the amendment was asked for."""
    now = curator.engine.call("describe", found.dataset, found.by)["fingerprint"]
    if now != found.body["before"]:
        raise StateConflict(
            "The policy was amended since this was asked for: what was meant to change is another one. "
            "Nothing changed. Refuse it; it can be asked for anew."
        )
