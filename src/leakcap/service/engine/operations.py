"""What the web workers may ask of the engine, each operation a function of plain values.

`analyst` is a verified subject: the web workers have seen to who asks and may ask; the engine sees to what
may be asked, and to what it costs. Nothing is returned but what was released and what is public.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from math import isfinite
from typing import Any, TypeAlias, TypeVar

from leakcap.errors import InvalidQuery
from leakcap.ledger.paying import Next, Payment, Stage, pay_alone
from leakcap.policy import Policy, load_policy
from leakcap.release import PrivateTable, Query, amend, amendment, exposure_so_far, preview, query_from
from leakcap.release.planning.adding import added_up
from leakcap.release.results.exposure import exposure_of_entry
from leakcap.release.sql.select import SelectStatement, StatementTerms, select_statement
from leakcap.report.records.amendments import AmendRecord
from leakcap.report.records.base import CapRecord
from leakcap.report.records.custody import LedgerAnchorRecord
from leakcap.report.records.ledger import AccountRecord, BudgetRecord, EntryRecord, VerifyRecord
from leakcap.report.records.previews import PreviewRecord
from leakcap.service.engine.call import EngineCall
from leakcap.service.engine.larger import model_fitted, require_work, tabled
from leakcap.service.engine.tables import governing
from leakcap.statement import statement_of
from leakcap.web.releasing.ledger_view import RememberedAnswer, has_rows, remembered_rows
from leakcap.wire import answer_on_wire

T = TypeVar("T")

__all__ = ["OPERATIONS", "Operation", "answering", "public_policy"]

_TERMS = ("epsilon", "rho", "error", "delta", "weights", "objective", "noise")
_MOST_QUERIES = 1000
_MOST_SQL = 20_000


Operation: TypeAlias = Callable[[EngineCall], dict[str, Any]]


def public_policy(policy: Policy, analyst: str) -> dict[str, Any]:
    """The policy as somebody who asks sees it: other people's names and caps are left out. Columns keep the
    owner's order."""
    content: dict[str, Any] = json.loads(policy.text())
    content["columns"] = {name: content["columns"][name] for name in policy.columns}
    caps = content["caps"]
    own = {name: one for name, one in caps.get("analysts", {}).items() if name == analyst}
    caps.pop("analysts", None)
    if own:
        caps["analysts"] = own
    groups = {
        name: {**one, "members": [analyst]}
        for name, one in caps.pop("groups", {}).items()
        if analyst in one.get("members", ())
    }
    if groups:
        caps["groups"] = groups
    return content


def describe(call: EngineCall) -> dict[str, Any]:
    """The public policy, and the fingerprint of the whole of it, which each answer names."""
    policy = call.asked(lambda table: table.policy)
    return {
        "dataset": call.dataset,
        "policy": public_policy(policy, call.analyst),
        "fingerprint": policy.fingerprint(),
    }


def fits_data(call: EngineCall) -> dict[str, Any]:
    """Whether data, policy and ledger fit: before the curator says that it is ready."""
    columns, policy = call.asked(lambda table: (table.engine.columns(), table.policy))
    return {"columns": sorted(columns), "policy": policy.fingerprint()}


def previews(call: EngineCall) -> dict[str, Any]:
    """What questions would cost and tell; neither data nor ledger are touched."""

    def ask(table: PrivateTable) -> dict[str, Any]:
        queries, statement = _asked(call, table)
        policy = table.policy
        found = preview(queries, policy=policy) if statement is None else statement.previews(policy)
        record = PreviewRecord.of(policy, found).to_dict()
        return {**record, "policy": public_policy(policy, call.analyst)}

    return call.asked(ask)


def unpaid_prices(call: EngineCall) -> dict[str, Any]:
    """What questions would cost just now, in ε and in ρ (None without a bound), nothing for what is known;
    and the members of each group of the policy that the asker is in, which is for the web worker alone."""

    def ask(table: PrivateTable) -> dict[str, Any]:
        queries, _ = _asked(call, table)
        fresh = call.body.get("fresh", False) is True
        release = replace(call, operation="release")  # under whose name the ledger knows the request
        prices = table.unpaid(queries, fresh=fresh, request=release.paid_once)
        groups: Mapping[str, Any] = getattr(table.policy.caps, "groups", {}) or {}
        return {
            "epsilon": _bounded(added_up(one.epsilon for one in prices)),
            "rho": _bounded(added_up(one.rho for one in prices)),
            "groups": [sorted(one.members) for one in groups.values() if call.analyst in one.members],
        }

    return call.asked(ask)


def answered(call: EngineCall) -> dict[str, Any]:
    """Answers, each as the ledger remembers it and as a record; what is left of the caps on everything."""
    return call.asked(lambda table: pay_alone(answering(call, table)))


def answering(call: EngineCall, table: PrivateTable) -> Payment[dict[str, Any]]:
    """`answered` in the stages of its payment."""
    call.require_approved_policy(table)
    queries, statement = _asked(call, table)
    fresh = call.body.get("fresh", False) is True
    found = yield from table.releasing(queries, fresh=fresh, request=call.paid_once, most=call.most)
    balances = table.ledger.balances()
    yield Next(Stage.TELL)
    answers = {
        "dataset": call.dataset,
        "policy": table.policy.fingerprint(),
        "answers": [answer_on_wire(one, entry) for one, entry in found],
        "caps": [CapRecord.of(one).to_dict() for one in balances],
    }
    if call.body.get("minimal") is True:
        return answers
    releases = [one for one, _ in found]
    shown = releases if statement is None else statement.shown(releases, table.policy)
    return {**answers, "releases": [one.to_dict() for one in shown]}


def budget(call: EngineCall) -> dict[str, Any]:
    """What all have spent and what is left; of the accounts of analysts and groups the asker's own."""

    def ask(table: PrivateTable) -> dict[str, Any]:
        whole, *others = table.ledger.accounts()
        groups = _groups_of(table.policy, call.analyst)
        own = [
            one
            for one in others
            if one.scope not in ("analyst", "group")
            or (one.scope == "analyst" and one.name == call.analyst)
            or (one.scope == "group" and one.name in groups)
        ]
        mine = [one for one in table.ledger.entries() if one.analyst == call.analyst]
        return {
            "dataset": call.dataset,
            "caps": [CapRecord.of(one).to_dict() for one in whole.balances],
            "accounts": [AccountRecord.of(one).to_dict() for one in own],
            "entries": [EntryRecord.of(one).to_dict() for one in mine],
        }

    return call.asked(ask)


def statement(call: EngineCall) -> dict[str, Any]:
    """What was told so far: to the asker alone, or with `everyone` to all together."""

    def ask(table: PrivateTable) -> dict[str, Any]:
        everyone = call.body.get("everyone", False) is True
        entries = [one for one in table.ledger.entries() if everyone or one.analyst == call.analyst]
        if not entries:
            raise InvalidQuery("Nothing was released yet: there is nothing to state.")
        return statement_of(exposure_so_far(entries, table.policy)).record().to_dict()

    return call.asked(ask)


def own_entry(call: EngineCall) -> dict[str, Any]:
    """One entry of the asker's: what was asked and paid, the first numbers of its answer as the ledger
    remembers them, and what it alone tells."""

    def ask(table: PrivateTable) -> dict[str, Any]:
        number, book = call.body.get("entry"), table.ledger
        mine = [one for one in book.entries() if one.id == number and one.analyst == call.analyst]
        if not mine:
            raise InvalidQuery("There is no such entry of yours.")
        answer = book.answer(mine[0].id) if has_rows(mine[0]) else None
        rows = RememberedAnswer() if answer is None else remembered_rows(answer)
        told = statement_of(exposure_of_entry(mine[0], table.policy))
        return {
            "dataset": call.dataset,
            "entry": EntryRecord.of(mine[0]).to_dict(),
            "count": rows.count,
            "places": rows.places,
            "rows": [asdict(one) for one in rows.rows],
            "statement": told.record().to_dict(),
        }

    return call.asked(ask)


def ledger(call: EngineCall) -> dict[str, Any]:
    """Everything that the ledger tells, for those who audit it."""
    return call.asked(lambda table: BudgetRecord.of_ledger(table.ledger, table.policy).to_dict())


def verify(call: EngineCall) -> dict[str, Any]:
    """The chain, walked from its first row and each charge computed again."""

    def ask(table: PrivateTable) -> dict[str, Any]:
        anchor = call.body.get("anchor")
        head = table.ledger.verify(anchor=anchor if isinstance(anchor, str) else None)
        return VerifyRecord.made(
            rows=head.rows, entries=table.ledger.totals().entries, head=head.hash, anchored=anchor is not None
        ).to_dict()

    return call.asked(ask)


def anchor(call: EngineCall) -> dict[str, Any]:
    """The chain's end, to be kept elsewhere."""
    return call.asked(lambda table: LedgerAnchorRecord.of(table.ledger.anchor()).to_dict())


def certified(call: EngineCall) -> dict[str, Any]:
    """That all charges of everybody come to so much ε but for δ, and passed no cap: for those who audit the
    ledger, and for the checker that needs nothing else."""
    delta = call.body.get("delta")
    if not isinstance(delta, int | float) or isinstance(delta, bool):
        raise InvalidQuery("`delta` must be a number above 0 and below 1.")
    return call.asked(lambda table: table.ledger.certificate(float(delta)))


def amended(call: EngineCall) -> dict[str, Any]:
    """Another policy governs from here on; with `preview` what would change."""
    policy, reason = call.body.get("policy"), call.body.get("reason")
    if not isinstance(policy, Mapping) or not isinstance(reason, str):
        raise InvalidQuery("An amendment needs a `policy` and a `reason`.")
    new = load_policy(policy)
    url, before = call.where.ledger, governing(call.where)
    if call.body.get("preview") is True:
        planned = amendment(new, url, reason=reason or "a preview", by=call.analyst, before=before)
        return AmendRecord.of(call.dataset, planned.amendment, planned.after, preview=True).to_dict()
    made = amend(new, url, reason=reason, by=call.analyst, before=before)
    assert call.tables is not None
    call.tables.forget(call.dataset)
    left = call.asked(lambda table: table.budget())
    return AmendRecord.of(call.dataset, made, left, preview=False).to_dict()


OPERATIONS: Mapping[str, Operation] = {
    "fit": model_fitted,
    "tables": tabled,
    "amend": amended,
    "anchor": anchor,
    "budget": budget,
    "certify": certified,
    "check": fits_data,
    "describe": describe,
    "entry": own_entry,
    "ledger": ledger,
    "preview": previews,
    "release": answered,
    "statement": statement,
    "unpaid": unpaid_prices,
    "work": require_work,
    "verify": verify,
}


def _asked(call: EngineCall, table: PrivateTable) -> tuple[list[Query], SelectStatement | None]:
    """The queries of a body, and the statement where it is SQL, whose table the curator's name means too."""
    body = call.body
    text, listed = body.get("sql"), body.get("queries")
    if (text is None) == (listed is None):
        raise InvalidQuery("Ask with `queries` or with `sql`, one of them.")
    if text is not None:
        if not isinstance(text, str) or len(text) > _MOST_SQL:
            raise InvalidQuery(f"`sql` must be text of at most {_MOST_SQL:,} characters.")
        terms = StatementTerms(**{name: body[name] for name in _TERMS if body.get(name) is not None})
        found = select_statement(text, table.policy, terms, (call.dataset,))
        return found.queries, found
    if not isinstance(listed, Sequence) or isinstance(listed, str) or not 0 < len(listed) <= _MOST_QUERIES:
        raise InvalidQuery(f"`queries` must be a list of 1 to {_MOST_QUERIES:,} queries.")
    if not all(isinstance(one, Mapping) for one in listed):
        raise InvalidQuery("Each of `queries` must be an object with the fields of a query.")
    return [query_from(one) for one in listed], None


def _bounded(amount: float) -> float | None:
    return amount if isfinite(amount) else None


def _groups_of(policy: Policy, analyst: str) -> set[str]:
    groups: Mapping[str, Any] = getattr(policy.caps, "groups", {}) or {}
    return {name for name, one in groups.items() if analyst in one.members}
