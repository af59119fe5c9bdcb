"""The ledger of a policy: opened, or begun where there is something to spend."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from leakcap.errors import LedgerError
from leakcap.ledger import Charge, Ledger
from leakcap.ledger.chain import text_hash
from leakcap.ledger.database import absent
from leakcap.ledger.unbegun import UnbegunLedger
from leakcap.ledger.unpaid import UnpaidLedger
from leakcap.policy.document import Policy

__all__ = ["begun_by", "opened_for", "require_begun", "unbegun", "unpaid"]


def opened_for(
    ledger: Ledger | str,
    policy: Policy,
    first: Callable[[], Iterable[Charge]] = tuple,
    *,
    fresh: bool = False,
) -> Ledger:
    """The ledger of a policy: a URL, the path of an SQLite file, or one that is open already.

    `first` are the charges that come first; `fresh` pays for each of them. Where the caps of a new ledger
    would not hold them, the file is not made: an empty ledger would look like one from which nothing was ever
    asked. Raises what `Ledger.open` and `Ledger.check` raise.
    """
    if isinstance(ledger, Ledger):
        caps = policy.caps.ledger_caps()
        ledger.require_owner(dataset=policy.dataset, policy=policy.fingerprint(), caps=caps)
        return _planned(ledger, policy)
    charges = tuple(first()) if begun_by(ledger) else ()
    if charges:
        # What is asked twice is paid for once.
        once = charges if fresh else {(one.text, one.asked): one for one in charges}.values()
        unbegun(ledger, policy).check(once)
    return _begun(_url(ledger), policy)


def begun_by(ledger: str) -> bool:
    """Whether to open it begins it: it is a file, and none is there."""
    return absent(_url(ledger))


def require_begun(ledger: Ledger | str, version: int) -> None:
    """Refuse a version of the table where there is no ledger that could know it, and begin none."""
    if isinstance(ledger, str) and begun_by(ledger):
        raise LedgerError(
            f"There is no ledger `{_url(ledger)}` yet, and so no version {version} of the table. Check where "
            "the ledger is, or leave out `--same-as` (in Python `same_as`)."
        )


def unbegun(ledger: str, policy: Policy) -> UnbegunLedger:
    """What a policy's ledger would be, of which there is none yet."""
    return UnbegunLedger(
        _url(ledger),
        dataset=policy.dataset,
        policy=policy.fingerprint(),
        caps=policy.caps.ledger_caps(),
        plans=[one.ledger_plan(policy.neighbours) for one in policy.plan],
    )


def unpaid(ledger: str, policy: Policy) -> UnpaidLedger:
    """A ledger that refuses what a policy's new ledger would, and pays for nothing; nothing is begun."""
    return UnpaidLedger.of(
        unbegun(ledger, policy),
        dataset=policy.dataset,
        policy=policy.fingerprint(),
        caps=policy.caps.ledger_caps(),
    )


def _url(ledger: str) -> str:
    return ledger if "://" in ledger else f"sqlite:///{ledger}"


def _begun(url: str, policy: Policy) -> Ledger:
    text, caps = policy.text(), policy.caps.ledger_caps()
    opened = Ledger.open(url, dataset=policy.dataset, policy=text_hash(text), caps=caps, text=text)
    try:
        return _planned(opened, policy)
    except BaseException:
        opened.close()
        raise


def _planned(ledger: Ledger, policy: Policy) -> Ledger:
    """The ledger, with the policy's plans paid for."""
    if policy.plan:
        known = {(one.plan, one.slot) for one in ledger.slots()}
        for plan in (one.ledger_plan(policy.neighbours) for one in policy.plan):
            if not known >= {(plan.name, slot) for slot in plan.slots}:
                ledger.plan(plan)
    return ledger
