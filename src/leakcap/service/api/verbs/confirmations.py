"""What waits for another administrator: listed, confirmed, refused, withdrawn."""

from __future__ import annotations

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


def list_requests(curator: Curator, principal: Principal) -> list[dict[str, Any]]:
    """All requests, for administrators; for others their own. The newest hundred."""
    curator.allow(principal, Action.SEE_REQUESTS)
    every = permitted(principal, curator.grants(principal), Action.SEE_PEOPLE)
    book = curator.store.confirmations
    return [told_of_request(one) for one in book.list(by=None if every else principal.subject)]


def decide_on_request(curator: Curator, principal: Principal, number: str, given: WordBody) -> dict[str, Any]:
    """The request after an administrator's word; what was confirmed by as many as it needs is done."""
    curator.allow(principal, Action.CONFIRM)
    book = curator.store.confirmations
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
    words = f"{found.body['reason']} [confirmed by {', '.join(found.confirmed)}]"
    body = {"policy": found.body["policy"], "reason": words, "preview": False}
    try:
        _require_same_policy(curator, found)
        curator.engine.call("amend", found.dataset, found.by, body)
    except (LeakcapError, EngineFailed):
        curator.store.confirmations.settle(found.id, done=False)
        raise
    return curator.store.confirmations.settle(found.id, done=True)


def _require_same_policy(curator: Curator, found: PendingAct) -> None:
    """Raise `StateConflict` where another policy governs than when the amendment was asked for."""
    now = curator.engine.call("describe", found.dataset, found.by)["fingerprint"]
    if now != found.body["before"]:
        raise StateConflict(
            "The policy was amended since this was asked for: what was meant to change is another one. "
            "Nothing changed. Refuse it; it can be asked for anew."
        )
