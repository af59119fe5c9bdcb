"""Jobs: what waits, works or is done; one of them with its answer; and the queue of those who approve."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from leakcap.errors import InvalidQuery, LeakcapError
from leakcap.report.records.previews import PreviewRecord
from leakcap.service.api.bodies import DecisionBody
from leakcap.service.api.verbs import datasets
from leakcap.service.api.verbs import jobs as verbs
from leakcap.service.authorization import Action, permitted
from leakcap.service.console.answering import answer_content, downloaded
from leakcap.service.console.fields import body_of
from leakcap.service.console.reach import require_page
from leakcap.service.console.visiting import Sent, Visit, Visitor
from leakcap.service.store.job_states import UNFINISHED, JobState
from leakcap.statement.record import LineRecord, StatementRecord

__all__ = ["routes"]

routes = APIRouter()


@routes.get("/jobs")
def jobs_page(visit: Visit) -> Response:
    """One's own jobs, and those of data sets that one looks after."""
    require_page(visit.curator, visit.principal, "/jobs")
    return visit.page("jobs", {"jobs": verbs.list_jobs(visit.curator, visit.principal)})


@routes.get("/jobs/{number}")
def job_page(visit: Visit, number: str) -> Response:
    """One job, with its answer to who asked."""
    job = verbs.tell_of_job(
        visit.curator, visit.principal, verbs.find_job(visit.curator, visit.principal, number)
    )
    own = job["subject"] == visit.principal.subject
    done = own and job["state"] == JobState.DONE and job["kind"] == "release"
    answer = answer_content(verbs.answer_of_job(visit.curator, visit.principal, number)) if done else {}
    content: dict[str, Any] = {
        "job": job,
        "own": own,
        "unfinished": job["state"] in UNFINISHED,
        "may_decide": not own and job["state"] == JobState.AWAITING_APPROVAL and _approves(visit, job),
        "releases": (),
        **answer,
    }
    return visit.page("job", content)


@routes.get("/jobs/{number}/answer.{kind}")
def job_file(visit: Visit, number: str, kind: str) -> Response:
    """The answer of a job of one's own, as a file."""
    return downloaded(verbs.answer_of_job(visit.curator, visit.principal, number), kind)


@routes.post("/jobs/{number}/cancel")
def cancel_form(sent: Sent, number: str) -> Response:
    """End a job of one's own."""
    verbs.cancel_job(sent.curator, sent.principal, number)
    return RedirectResponse(f"/jobs/{number}", 303)


@routes.get("/queue")
def queue_page(visit: Visit) -> Response:
    """What awaits approval."""
    require_page(visit.curator, visit.principal, "/queue")
    return visit.page("queue", {"jobs": verbs.list_awaiting(visit.curator, visit.principal)})


@routes.get("/queue/{number}")
def waiting_page(visit: Visit, number: str) -> Response:
    """One question that awaits approval: its price, its preview and what it tells."""
    return _waiting(visit, number)


@routes.post("/queue/{number}")
def decide_form(sent: Sent, number: str) -> Response:
    """Approve or refuse."""
    try:
        content: dict[str, object] = {name: sent.fields.text(name) for name in ("verdict", "reason")}
        given = body_of(DecisionBody, content)
        verbs.decide_on_job(sent.curator, sent.principal, number, given.verdict, given.reason)
    except LeakcapError as error:
        return _waiting(sent, number, problem=str(error))
    return RedirectResponse(f"/queue/{number}", 303)


def _waiting(visit: Visitor, number: str, *, problem: str = "") -> Response:
    told = verbs.price_of_job(visit.curator, visit.principal, number)
    job = verbs.tell_of_job(
        visit.curator, visit.principal, verbs.find_job(visit.curator, visit.principal, number)
    )
    decided = [one["subject"] for one in job["decisions"]]
    content = {
        "job": job,
        "preview": PreviewRecord.model_validate_json(json.dumps(told)),
        "own": job["subject"] == visit.principal.subject,
        "waits": job["state"] == JobState.AWAITING_APPROVAL,
        "decided": visit.principal.subject in decided,
        "approved": sum(one["verdict"] == "approve" for one in job["decisions"]),
        "so_far": _so_far(visit, job["dataset"]),
        "problem": problem,
    }
    return visit.page("waiting", content, status=409 if problem else 200)


def _so_far(visit: Visitor, dataset: str) -> tuple[LineRecord, ...]:
    """What all answers of the data set tell together; nothing where there are none."""
    try:
        told = datasets.see_statement(visit.curator, visit.principal, dataset, everyone=True)
    except InvalidQuery:
        return ()
    return StatementRecord.model_validate_json(json.dumps(told)).lines


def _approves(visit: Visitor, job: dict[str, Any]) -> bool:
    grants = visit.curator.grants(visit.principal)
    return permitted(visit.principal, grants, Action.DECIDE, job["dataset"])
