"""What one was told, and what is left."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from leakcap.errors import InvalidQuery
from leakcap.service.api.verbs import datasets as verbs
from leakcap.service.authorization import Action
from leakcap.service.console.reach import datasets_for, require_page
from leakcap.service.console.visiting import Visit, Visitor
from leakcap.service.console.wording import accounts
from leakcap.statement.record import StatementRecord

__all__ = ["routes"]

routes = APIRouter()


@routes.get("/answers")
def answers_page(visit: Visit) -> Response:
    """One's own entries in each ledger, and what they tell together."""
    require_page(visit.curator, visit.principal, "/answers")
    names = datasets_for(visit.curator, visit.principal, Action.SEE_OWN_STATEMENT)
    return visit.page("answers", {"told": [_told(visit, name) for name in names]})


@routes.get("/answers/{dataset}/{number}")
def own_answer_page(visit: Visit, dataset: str, number: int) -> Response:
    """One of one's own answers, as the ledger remembers it."""
    told = verbs.see_own_entry(visit.curator, visit.principal, dataset, number)
    lines = StatementRecord.model_validate_json(json.dumps(told["statement"])).lines
    return visit.page("own_answer", {**told, "lines": lines})


@routes.get("/budgets")
def budgets_page(visit: Visit) -> Response:
    """What is left of each data set."""
    require_page(visit.curator, visit.principal, "/budgets")
    names = datasets_for(visit.curator, visit.principal, Action.SEE_BUDGET)
    found = [(name, accounts(verbs.see_budget(visit.curator, visit.principal, name))) for name in names]
    return visit.page("budgets", {"budgets": found})


def _told(visit: Visitor, dataset: str) -> dict[str, Any]:
    entries = verbs.see_budget(visit.curator, visit.principal, dataset)["entries"]
    try:
        stated = verbs.see_statement(visit.curator, visit.principal, dataset) if entries else None
    except InvalidQuery:
        stated = None
    lines = () if stated is None else StatementRecord.model_validate_json(json.dumps(stated)).lines
    return {"dataset": dataset, "entries": entries[::-1], "lines": lines}
