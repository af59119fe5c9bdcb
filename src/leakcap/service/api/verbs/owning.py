"""What owners do with a data set, and auditors with its ledger and the log of acts."""

from __future__ import annotations

from typing import Any

from leakcap.certificate import bundle
from leakcap.service.api.bodies import AmendmentBody
from leakcap.service.api.curator import Curator
from leakcap.service.api.verbs.people import ask_for_word
from leakcap.service.authorization import Action
from leakcap.service.identity.principal import Principal
from leakcap.service.store.confirmed import AMEND, RESUME
from leakcap.service.store.times import stored_time

__all__ = [
    "amend_policy",
    "certify_ledger",
    "pause_dataset",
    "resume_dataset",
    "see_acts",
    "see_ledger",
    "take_anchor",
    "verify_ledger",
]

_MOST = 1000


def pause_dataset(curator: Curator, principal: Principal, dataset: str, reason: str) -> None:
    """Nobody is answered until the data set is resumed."""
    curator.allow(principal, Action.PAUSE, dataset)
    curator.store.pauses.pause(dataset, by=principal.subject, reason=reason)


def resume_dataset(curator: Curator, principal: Principal, dataset: str) -> dict[str, Any] | None:
    """Questions are answered again; where the curator asks for a second administrator, the request for it."""
    curator.allow(principal, Action.RESUME, dataset)
    pause = curator.store.pauses.of(dataset)
    if curator.configuration.second_administrator and pause is not None:
        # Of this pause: whoever confirms it says nothing of one that begins later, for another reason.
        body = {"paused": stored_time(pause.time), "reason": pause.reason}
        return ask_for_word(curator, principal, RESUME, dataset=dataset, body=body)
    curator.store.pauses.resume(dataset, by=principal.subject)
    return None


def amend_policy(
    curator: Curator, principal: Principal, dataset: str, given: AmendmentBody
) -> dict[str, Any]:
    """Another policy governs from here on; all that was spent counts against its caps. Where the curator asks
    for a second administrator, the request for it, once a preview has found nothing to refuse."""
    curator.allow(principal, Action.AMEND, dataset)
    if given.preview or not curator.configuration.second_administrator:
        return dict(curator.ask("amend", principal, dataset, given.model_dump()))
    before = curator.ask("describe", principal, dataset)["fingerprint"]
    curator.ask("amend", principal, dataset, {**given.model_dump(), "preview": True})
    body = {"policy": given.policy, "reason": given.reason, "before": before}
    return ask_for_word(curator, principal, AMEND, dataset=dataset, body=body)


def see_ledger(curator: Curator, principal: Principal, dataset: str) -> dict[str, Any]:
    """Who asked what, what it cost, and what is left."""
    curator.allow(principal, Action.SEE_LEDGER, dataset)
    return dict(curator.ask("ledger", principal, dataset))


def verify_ledger(curator: Curator, principal: Principal, dataset: str, anchor: str | None) -> dict[str, Any]:
    """The chain, walked and each charge computed again; with an anchor that was kept elsewhere, find it."""
    curator.allow(principal, Action.VERIFY_LEDGER, dataset)
    return dict(curator.ask("verify", principal, dataset, {"anchor": anchor}))


def take_anchor(curator: Curator, principal: Principal, dataset: str) -> dict[str, Any]:
    """The chain's end, to be kept where nobody who runs the curator can write."""
    curator.allow(principal, Action.ANCHOR_LEDGER, dataset)
    return dict(curator.ask("anchor", principal, dataset))


def certify_ledger(curator: Curator, principal: Principal, dataset: str, delta: float = 1e-9) -> str:
    """The certificate of all that everybody was told, at this δ: the text of the file that `leakcap budget
    --certificate` writes beside the ledger, byte for byte, so that both have one hash."""
    curator.allow(principal, Action.CERTIFY_LEDGER, dataset)
    return bundle([curator.ask("certify", principal, dataset, {"delta": delta})])


def see_acts(
    curator: Curator, principal: Principal, dataset: str | None = None, *, after: int | None = 0
) -> dict[str, Any]:
    """The log of administrative acts, a thousand at a time, with the checked end of its whole chain; of one
    data set, for those who look after it, or of all for administrators. Without `after` the newest."""
    curator.allow(principal, Action.SEE_ACTS, dataset)
    checked = curator.store.verify_acts()
    begin = max(0, checked.rows - _MOST) if after is None else after
    return {
        "rows": checked.rows,
        "head": checked.head,
        "acts": [
            {
                "seq": one.seq,
                "time": one.time.isoformat(),
                "by": one.by,
                "act": one.act,
                "subject": one.subject,
                "dataset": one.dataset,
                "details": dict(one.details),
                "hash": one.hash,
            }
            for one in curator.store.acts.all(dataset=dataset, after=begin)
        ],
    }
