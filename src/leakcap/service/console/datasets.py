"""The data sets, and one of them: what is public of it, what is left, and whether it is paused."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from leakcap.policy import load_policy
from leakcap.report.words.promises import assumptions, caps_in_words, not_counted, protects
from leakcap.service.api.bodies import PauseBody
from leakcap.service.api.verbs import datasets as verbs
from leakcap.service.api.verbs import owning
from leakcap.service.authorization import Action, permitted
from leakcap.service.console.fields import body_of
from leakcap.service.console.reach import require_page
from leakcap.service.console.visiting import Sent, Visit, Visitor
from leakcap.service.console.wording import accounts, approval_words

__all__ = ["routes"]

routes = APIRouter()
_UNCHECKED = "An analyst's name is not checked"
_CHECKED = "Who asks has signed in: caps on an analyst bound what that person was told."


@routes.get("/")
def datasets_page(visit: Visit) -> Response:
    """The data sets in which one has a role."""
    require_page(visit.curator, visit.principal, "/")
    return visit.page("datasets", {"datasets": verbs.list_datasets(visit.curator, visit.principal)})


@routes.get("/datasets/{dataset}")
def dataset_page(visit: Visit, dataset: str) -> Response:
    """One data set."""
    told = verbs.describe_dataset(visit.curator, visit.principal, dataset)
    budget = verbs.see_budget(visit.curator, visit.principal, dataset)
    policy = load_policy(told["policy"])
    content: dict[str, Any] = {
        "dataset": dataset,
        "title": told["title"],
        "paused": told["paused"],
        "approval": approval_words(visit.curator.configuration.data[dataset].approval),
        "policy": policy,
        "protects": protects(policy),
        "not_counted": not_counted(policy),
        "caps": caps_in_words(policy),
        "assumptions": [_CHECKED if x.startswith(_UNCHECKED) else x for x in assumptions(policy)],
        "accounts": accounts(budget),
        "may": _may(visit, dataset),
    }
    return visit.page("dataset", content)


@routes.post("/datasets/{dataset}/pause")
def pause_form(sent: Sent, dataset: str) -> Response:
    """Nobody is answered until the data set is resumed."""
    given = body_of(PauseBody, {"reason": sent.fields.text("reason")})
    owning.pause_dataset(sent.curator, sent.principal, dataset, given.reason)
    return RedirectResponse(f"/datasets/{dataset}", 303)


@routes.post("/datasets/{dataset}/resume")
def resume_form(sent: Sent, dataset: str) -> Response:
    """Questions are answered again."""
    waits = owning.resume_dataset(sent.curator, sent.principal, dataset)
    return RedirectResponse(f"/datasets/{dataset}" if waits is None else "/requests", 303)


def _may(visit: Visitor, dataset: str) -> dict[str, bool]:
    """What is offered on the page; whether it is allowed is asked again when it is done."""
    grants = visit.curator.grants(visit.principal)
    offered = {
        "ask": Action.PREVIEW,
        "pause": Action.PAUSE,
        "audit": Action.SEE_LEDGER,
        "grants": Action.SEE_GRANTS,
    }
    return {name: permitted(visit.principal, grants, one, dataset) for name, one in offered.items()}
