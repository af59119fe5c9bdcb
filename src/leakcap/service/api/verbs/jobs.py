"""Jobs and their answers, and the queue of those who approve."""

from __future__ import annotations

from typing import Any, Literal

from leakcap.service.api.curator import Curator
from leakcap.service.api.told import told_of_job
from leakcap.service.authorization import Action, datasets_of, permitted, require_job
from leakcap.service.identity.principal import Principal
from leakcap.service.requests import request_number
from leakcap.service.store.errors import StateConflict
from leakcap.service.store.job_states import JobState
from leakcap.service.store.jobs import Job

__all__ = [
    "answer_of_job",
    "cancel_job",
    "decide_on_job",
    "find_job",
    "list_awaiting",
    "list_jobs",
    "price_of_job",
    "tell_of_job",
]


def find_job(
    curator: Curator, principal: Principal, number: str, action: Action = Action.SEE_OWN_JOBS
) -> Job:
    """The job, if it is one's own or of a data set that one looks after. Raises `NotFound`."""
    job = curator.store.jobs.find(number)
    require_job(principal, curator.grants(principal), job.subject, job.dataset, action)
    return job


def tell_of_job(curator: Curator, principal: Principal, job: Job) -> dict[str, Any]:
    """A job that may be seen, with what was decided on it."""
    decisions = curator.store.decisions.of(job.id)
    return told_of_job(job, own=job.subject == principal.subject, decided=decisions)


def list_jobs(curator: Curator, principal: Principal) -> list[dict[str, Any]]:
    """One's own jobs, and those of the data sets that one looks after; the newest hundred of each."""
    curator.allow(principal, Action.LIST_DATASETS)
    grants, jobs = curator.grants(principal), curator.store.jobs
    found = {
        job.id: job
        for job in jobs.list(subject=principal.subject)
        if permitted(principal, grants, Action.SEE_OWN_JOBS, job.dataset)
    }
    for dataset in datasets_of(principal, grants):
        if permitted(principal, grants, Action.SEE_JOBS, dataset):
            found |= {job.id: job for job in jobs.list(dataset=dataset)}
    newest = sorted(found.values(), key=lambda job: (job.created, job.id), reverse=True)
    return [tell_of_job(curator, principal, job) for job in newest]


def answer_of_job(curator: Curator, principal: Principal, number: str) -> dict[str, Any]:
    """What a job of one's own released, from the ledger; it costs nothing more."""
    job = find_job(curator, principal, number, Action.CANCEL_OWN_JOB)
    if job.state != JobState.DONE:
        raise StateConflict(f"Job {job.id} is {job.state}: it has no answer yet.")
    request = request_number(job.subject, job.dataset, job.key)
    return dict(curator.ask(job.kind, principal, job.dataset, job.body, request=request))


def cancel_job(curator: Curator, principal: Principal, number: str) -> dict[str, Any]:
    """A job of one's own, ended; what it has spent by then stays spent."""
    job = find_job(curator, principal, number, Action.CANCEL_OWN_JOB)
    return tell_of_job(curator, principal, curator.store.jobs.cancel(job.id))


def list_awaiting(curator: Curator, principal: Principal) -> list[dict[str, Any]]:
    """What awaits approval in the data sets that one approves of."""
    curator.allow(principal, Action.LIST_DATASETS)
    grants = curator.grants(principal)
    return [
        tell_of_job(curator, principal, job)
        for dataset in datasets_of(principal, grants)
        if permitted(principal, grants, Action.SEE_APPROVALS, dataset)
        for job in curator.store.jobs.list(dataset=dataset, state=JobState.AWAITING_APPROVAL)
    ]


def price_of_job(curator: Curator, principal: Principal, number: str) -> dict[str, Any]:
    """What the question of a job would cost and tell, as its asker sees it; for those who approve."""
    job = find_job(curator, principal, number)
    curator.allow(principal, Action.SEE_APPROVALS, job.dataset)
    return dict(curator.engine.call("preview", job.dataset, job.subject, job.body))


def decide_on_job(
    curator: Curator,
    principal: Principal,
    number: str,
    verdict: Literal["approve", "refuse"],
    reason: str,
) -> dict[str, Any]:
    """The job after an approval or a refusal."""
    job = find_job(curator, principal, number)
    curator.allow(principal, Action.DECIDE, job.dataset)
    made = curator.store.decisions.decide(job.id, principal.subject, verdict, reason)
    return tell_of_job(curator, principal, made)
