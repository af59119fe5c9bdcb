"""Jobs, their progress, and the queue of those who approve."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from leakcap.service.api.answers import JobsTold, JobTold
from leakcap.service.api.bodies import DecisionBody
from leakcap.service.api.curator import Curator
from leakcap.service.api.job_events import JobEvents, event_id
from leakcap.service.api.told import told_of_job
from leakcap.service.api.verbs import jobs as verbs
from leakcap.service.store.job_states import UNFINISHED

__all__ = ["job_routes"]


def job_routes(curator: Curator) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1", tags=["jobs"])

    @routes.get("/jobs", response_model=JobsTold, response_model_exclude_unset=True)
    def jobs(request: Request) -> dict[str, Any]:
        """One's own jobs, and those of the data sets that one looks after; the newest hundred of each."""
        return {"jobs": verbs.list_jobs(curator, curator.who(request))}

    @routes.get("/jobs/{number}", response_model=JobTold, response_model_exclude_unset=True)
    def job(request: Request, number: str) -> dict[str, Any]:
        """One job; once it is done, ask again under its idempotency key for the answers."""
        principal = curator.who(request)
        return verbs.tell_of_job(curator, principal, verbs.find_job(curator, principal, number))

    @routes.get("/jobs/{number}/answer")
    def answer(request: Request, number: str) -> dict[str, Any]:
        """What a job of one's own released, from the ledger; it costs nothing more."""
        return verbs.answer_of_job(curator, curator.who(request), number)

    @routes.delete("/jobs/{number}", response_model=JobTold, response_model_exclude_unset=True)
    def cancel(request: Request, number: str) -> dict[str, Any]:
        """End a job; what it has spent by then stays spent."""
        return verbs.cancel_job(curator, curator.who(request), number)

    @routes.get(
        "/jobs/{number}/events",
        response_class=Response,
        responses={
            200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
            204: {"description": "It has ended, and that was told"},
        },
    )
    async def events(request: Request, number: str) -> Response:
        """The job as it goes on, as server-sent events, until it ends; `Last-Event-ID` goes on after it."""
        principal = await run_in_threadpool(curator.who, request)

        def told() -> dict[str, Any]:
            """As it is, to whoever may see it now."""
            job = verbs.find_job(curator, curator.who(request), number)
            return told_of_job(job, own=job.subject == principal.subject)

        first, since = await run_in_threadpool(told), request.headers.get("last-event-id", "")
        if since == event_id(first) and first["state"] not in UNFINISHED:
            return Response(status_code=204)
        return JobEvents(
            lambda: run_in_threadpool(told),
            since=since,
            gone=request.is_disconnected,
            subject=principal.subject,
            at_once=curator.streams,
        )

    @routes.get("/approvals", response_model=JobsTold, response_model_exclude_unset=True)
    def approvals(request: Request) -> dict[str, Any]:
        """What awaits approval in the data sets that one approves of."""
        return {"jobs": verbs.list_awaiting(curator, curator.who(request))}

    @routes.get("/approvals/{number}/preview")
    def priced(request: Request, number: str) -> dict[str, Any]:
        """What the question would cost and tell, as its asker sees it."""
        return verbs.price_of_job(curator, curator.who(request), number)

    @routes.post("/approvals/{number}", response_model=JobTold, response_model_exclude_unset=True)
    def decide(request: Request, number: str, given: DecisionBody) -> dict[str, Any]:
        """Approve or refuse."""
        return verbs.decide_on_job(curator, curator.who(request), number, given.verdict, given.reason)

    return routes
