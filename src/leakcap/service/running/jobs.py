"""What does the jobs, one after another: it holds no data, and asks an engine's process of its own."""

from __future__ import annotations

import logging
import math
import os
import secrets
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from leakcap.errors import LeakcapError
from leakcap.service.api.guard import problem_of
from leakcap.service.configuration import Configuration
from leakcap.service.engine.calling import EngineClient, EngineFailed
from leakcap.service.faults import where_raised
from leakcap.service.job_times import JobClock
from leakcap.service.requests import request_number
from leakcap.service.store.errors import StateConflict, StoreError
from leakcap.service.store.jobs import Job
from leakcap.service.store.store import Store
from leakcap.service.tracing import NOBODY, Tracer
from leakcap.wire import as_problem

__all__ = ["work"]

_log = logging.getLogger("leakcap.curator")
_PAUSE = 0.2
_BEAT = 2.0
_SILENT = timedelta(seconds=15)


def work(
    store: Store,
    engine: EngineClient,
    configuration: Configuration,
    *,
    going: Callable[[], bool] = lambda: True,
    tracer: Tracer = NOBODY,
) -> None:
    """Claim one job after another, for as long as `going` says so."""
    name = f"{os.getpid()}-{secrets.token_hex(4)}"
    looked = -math.inf
    while going():
        if time.monotonic() - looked > _BEAT:
            # Each look is a write, for which whoever signs in would wait.
            store.jobs.requeue_stale(_SILENT)
            looked = time.monotonic()
        job = store.jobs.claim(name)
        if job is None:
            time.sleep(_PAUSE)
        elif job.dataset in configuration.data:
            with tracer.span(f"job {job.kind}", dataset=job.dataset, operation=job.kind) as span:
                span.say(outcome=_do(job, store, engine, configuration))
        else:
            detail = f"The data set `{job.dataset}` is no longer served. Nothing was spent."
            problem = problem_of(404, "not-found", "Not there", detail)
            _failed(job, store, problem, store.clock(), unspent=True)


def _do(job: Job, store: Store, engine: EngineClient, configuration: Configuration) -> str:
    """The work of one job, and how it ended; told of every two seconds, so that nobody else takes it.

    It ends at one of its times, and the next job begins then: everybody sees when a job ended, and when
    theirs begins. The engine waits for that time before it writes an answer into the ledger; where the engine
    itself has ended, this waits.
    """
    ended = threading.Event()
    times = configuration.times_of_jobs(job.dataset)
    started, begun = store.clock(), time.monotonic()
    clock = JobClock(times, begun)

    def at() -> datetime:
        return started + timedelta(seconds=times.reached(clock.elapsed))

    def beat() -> None:
        while not ended.wait(_BEAT):
            store.jobs.heartbeat(job, times.told(clock.elapsed))

    beating = threading.Thread(target=beat, daemon=True)
    beating.start()
    try:
        number = request_number(job.subject, job.dataset, job.key)
        told = engine.call(
            job.kind, job.dataset, job.subject, job.body, request=number, begun=begun, seconds=times.last
        )
        entries = [one["entry"] for one in told["answers"]]
        return _answered(job, store, entries, at())
    except LeakcapError as error:
        _failed(job, store, as_problem(error), at(), unspent=not error.committed)
        return "refused"
    except EngineFailed as error:
        if error.kind not in ("internal", "ledger"):  # these it has said itself, at one of the times
            clock.before_end()
        detail = f"The engine gave no answer ({error.kind}). What was spent stays spent."
        _failed(job, store, problem_of(503, "engine", "No answer", detail), at())
        return "failed"
    finally:
        ended.set()
        beating.join()


def _answered(job: Job, store: Store, entries: list[int], at: datetime) -> str:
    """How it ended. Where the store cannot take it, it was paid for, and did not fail: the job is silent from
    here on, is queued again, and finds its answer in the ledger."""
    try:
        store.jobs.finish(job, result=entries, at=at)
    except StateConflict:
        _log.info("job %s was cancelled", job.id)
        return "cancelled"
    except StoreError as error:
        _log.error("job %s was answered, which the store did not take: %s", job.id, where_raised(error))
        return "failed"
    return "answered"


def _failed(
    job: Job, store: Store, problem: dict[str, object], at: datetime, *, unspent: bool = False
) -> None:
    try:
        store.jobs.finish(job, problem=problem, at=at, unspent=unspent)
    except StateConflict:
        _log.info("job %s was cancelled", job.id)
