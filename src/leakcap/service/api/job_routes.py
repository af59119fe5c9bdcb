"""Jobs, their progress, and the queue of those who approve."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from leakcap.service.api.bodies import DecisionBody
from leakcap.service.api.curator import Curator
from leakcap.service.api.told import told_of_job
from leakcap.service.authorization import Action, datasets_of, permitted, require_job
from leakcap.service.identity.principal import Principal
from leakcap.service.requests import request_number
from leakcap.service.store.errors import StateConflict
from leakcap.service.store.job_states import UNFINISHED, JobState
from leakcap.service.store.jobs import Job

__all__ = ["job_routes"]

_PAUSE = 0.5
_LONGEST = 600


def job_routes(curator: Curator) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1", tags=["jobs"])
    store = curator.store

    def seen(principal: Principal, number: str, action: Action = Action.SEE_OWN_JOBS) -> Job:
        job = store.jobs.find(number)
        require_job(principal, curator.grants(principal), job.subject, job.dataset, action)
        return job

    def told(principal: Principal, job: Job) -> dict[str, Any]:
        return told_of_job(job, own=job.subject == principal.subject, decided=store.decisions.of(job.id))

    @routes.get("/jobs")
    def jobs(request: Request) -> dict[str, Any]:
        """One's own jobs, and those of the data sets that one looks after; the newest hundred of each."""
        principal = curator.who(request)
        curator.allow(principal, Action.LIST_DATASETS)
        grants = curator.grants(principal)
        found = {job.id: job for job in store.jobs.list(subject=principal.subject)}
        for dataset in datasets_of(principal, grants):
            if permitted(principal, grants, Action.SEE_JOBS, dataset):
                found |= {job.id: job for job in store.jobs.list(dataset=dataset)}
        listed = sorted(found.values(), key=lambda job: (job.created, job.id), reverse=True)
        return {"jobs": [told(principal, job) for job in listed]}

    @routes.get("/jobs/{number}")
    def job(request: Request, number: str) -> dict[str, Any]:
        """One job; once it is done, ask again under its idempotency key for the answers."""
        principal = curator.who(request)
        return told(principal, seen(principal, number))

    @routes.get("/jobs/{number}/answer")
    def answer(request: Request, number: str) -> dict[str, Any]:
        """What a job of one's own released, from the ledger; it costs nothing more."""
        principal = curator.who(request)
        found = seen(principal, number, Action.CANCEL_OWN_JOB)
        if found.state != JobState.DONE:
            raise StateConflict(f"Job {found.id} is {found.state}: it has no answer yet.")
        number = request_number(found.subject, found.dataset, f"job {found.id}")
        return dict(curator.ask(found.kind, principal, found.dataset, found.body, request=number))

    @routes.delete("/jobs/{number}")
    def cancel(request: Request, number: str) -> dict[str, Any]:
        """End a job; what it has spent by then stays spent."""
        principal = curator.who(request)
        found = seen(principal, number, Action.CANCEL_OWN_JOB)
        return told(principal, store.jobs.cancel(found.id))

    @routes.get(
        "/jobs/{number}/events",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    )
    async def events(request: Request, number: str) -> StreamingResponse:
        """The job as it goes on, as server-sent events, until it ends."""
        principal = await run_in_threadpool(curator.who, request)
        await run_in_threadpool(seen, principal, number)

        async def stream() -> AsyncIterator[str]:
            last = ""
            for _ in range(int(_LONGEST / _PAUSE)):
                job = await run_in_threadpool(store.jobs.find, number)
                text = json.dumps(told_of_job(job, own=job.subject == principal.subject))
                if text != last:
                    last = text
                    yield f"event: job\ndata: {text}\n\n"
                if job.state not in UNFINISHED or await request.is_disconnected():
                    return
                await asyncio.sleep(_PAUSE)

        return StreamingResponse(stream(), media_type="text/event-stream")

    @routes.get("/approvals")
    def approvals(request: Request) -> dict[str, Any]:
        """What awaits approval in the data sets that one approves of."""
        principal = curator.who(request)
        curator.allow(principal, Action.LIST_DATASETS)
        grants = curator.grants(principal)
        waiting = [
            job
            for dataset in datasets_of(principal, grants)
            if permitted(principal, grants, Action.SEE_APPROVALS, dataset)
            for job in store.jobs.list(dataset=dataset, state=JobState.AWAITING_APPROVAL)
        ]
        return {"jobs": [told(principal, job) for job in waiting]}

    @routes.get("/approvals/{number}/preview")
    def priced(request: Request, number: str) -> dict[str, Any]:
        """What the question would cost and tell, as its asker sees it."""
        principal = curator.who(request)
        found = store.jobs.find(number)
        require_job(principal, curator.grants(principal), found.subject, found.dataset)
        curator.allow(principal, Action.SEE_APPROVALS, found.dataset)
        return dict(curator.engine.call("preview", found.dataset, found.subject, found.body))

    @routes.post("/approvals/{number}")
    def decide(request: Request, number: str, given: DecisionBody) -> dict[str, Any]:
        """Approve or refuse."""
        principal = curator.who(request)
        found = store.jobs.find(number)
        require_job(principal, curator.grants(principal), found.subject, found.dataset)
        curator.allow(principal, Action.DECIDE, found.dataset)
        decided = store.decisions.decide(found.id, principal.subject, given.verdict, given.reason)
        return told(principal, decided)

    return routes
