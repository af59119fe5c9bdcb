"""Jobs, their progress, and the queue of those who approve."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from leakcap.errors import LeakcapError
from leakcap.service.api.answers import JobsTold, JobTold
from leakcap.service.api.bodies import DecisionBody
from leakcap.service.api.curator import Curator
from leakcap.service.api.told import told_of_job
from leakcap.service.api.verbs import jobs as verbs
from leakcap.service.store.job_states import UNFINISHED
from leakcap.service.store.jobs import Job

__all__ = ["job_routes"]

_PAUSE = 0.5
_LONGEST = 600


def _still(curator: Curator, request: Request, number: str) -> Job:
    """The job, for who may see it now."""
    return verbs.find_job(curator, curator.who(request), number)


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
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    )
    async def events(request: Request, number: str) -> StreamingResponse:
        """The job as it goes on, as server-sent events, until it ends."""
        principal = await run_in_threadpool(curator.who, request)
        await run_in_threadpool(verbs.find_job, curator, principal, number)

        async def stream() -> AsyncIterator[str]:
            last = ""
            for _ in range(int(_LONGEST / _PAUSE)):
                try:
                    job = await run_in_threadpool(_still, curator, request, number)
                except LeakcapError:  # signed out, or no longer theirs to see
                    return
                text = json.dumps(told_of_job(job, own=job.subject == principal.subject))
                if text != last:
                    last = text
                    yield f"event: job\ndata: {text}\n\n"
                if job.state not in UNFINISHED or await request.is_disconnected():
                    return
                await asyncio.sleep(_PAUSE)

        return StreamingResponse(stream(), media_type="text/event-stream")

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
