"""The ledgers and the log of acts, for those who audit them."""

from __future__ import annotations

import json
import re
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from leakcap.errors import InvalidParameter
from leakcap.service.api.verbs import owning as verbs
from leakcap.service.authorization import Action, permitted
from leakcap.service.console.reach import datasets_for, require_page
from leakcap.service.console.visiting import Sent, Visit, Visitor
from leakcap.service.console.wording import account_rows
from leakcap.statement.record import StatementRecord

__all__ = ["routes"]

routes = APIRouter()
_ANCHOR = re.compile(r"[0-9a-f]{64}")
_MOST = 200


@routes.get("/audit")
def audits_page(visit: Visit) -> Response:
    """The data sets whose ledgers one audits; to administrators the whole log of acts."""
    require_page(visit.curator, visit.principal, "/audit")
    grants = visit.curator.grants(visit.principal)
    everywhere = permitted(visit.principal, grants, Action.SEE_ACTS)
    content = {
        "datasets": datasets_for(visit.curator, visit.principal, Action.SEE_LEDGER),
        "acts": verbs.see_acts(visit.curator, visit.principal, after=None) if everywhere else None,
    }
    return visit.page("audit", content)


@routes.get("/audit/{dataset}")
def ledger_page(visit: Visit, dataset: str) -> Response:
    """One ledger, with the acts that concern its data set."""
    return _page(visit, dataset)


@routes.post("/audit/{dataset}/verify")
def verify_form(sent: Sent, dataset: str) -> Response:
    """Walk the chain; with an anchor, find it."""
    anchor = sent.fields.text("anchor").lower()
    if anchor and not _ANCHOR.fullmatch(anchor):
        raise InvalidParameter("`anchor` must be the 64 hexadecimal digits of an anchor's `head`.")
    return _page(sent, dataset, verbs.verify_ledger(sent.curator, sent.principal, dataset, anchor or None))


@routes.get("/audit/{dataset}/anchor.json")
def anchor_file(visit: Visit, dataset: str) -> Response:
    """The chain's end, to be kept elsewhere."""
    return _file(_json(verbs.take_anchor(visit.curator, visit.principal, dataset)), f"{dataset}-anchor.json")


@routes.get("/audit/{dataset}/ledger.json")
def ledger_file(visit: Visit, dataset: str) -> Response:
    """All that the ledger tells, as a file."""
    return _file(_json(verbs.see_ledger(visit.curator, visit.principal, dataset)), f"{dataset}-ledger.json")


@routes.get("/audit/{dataset}/certificate.json")
def certificate_file_of_ledger(visit: Visit, dataset: str) -> Response:
    """What all answers told together and that no cap was passed, as a file that is checked elsewhere."""
    text = verbs.certify_ledger(visit.curator, visit.principal, dataset)
    return _file(text, f"{dataset}.certificate.json")


def _page(visit: Visitor, dataset: str, verified: dict[str, Any] | None = None) -> Response:
    told = verbs.see_ledger(visit.curator, visit.principal, dataset)
    stated = told.get("so_far")
    lines = () if not stated else StatementRecord.model_validate_json(json.dumps(stated)).lines
    entries = told["entries"][::-1]
    content = {
        "dataset": dataset,
        "entries": entries[:_MOST],
        "earlier": max(0, len(entries) - _MOST),
        "rows": account_rows(told["caps"]),
        "accounts": [(one["scope"], one["name"], account_rows(one["caps"])) for one in told["accounts"]],
        "lines": lines,
        "verified": verified,
        "acts": verbs.see_acts(visit.curator, visit.principal, dataset, after=None),
    }
    return visit.page("audit_dataset", content)


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False)


def _file(text: str, name: str) -> Response:
    headers = {
        "content-type": "application/json",
        "content-disposition": f'attachment; filename="{name}"',
    }
    return Response(text.encode(), headers=headers)
