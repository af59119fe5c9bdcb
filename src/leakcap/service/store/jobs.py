"""Long work: who asked for what, how far it is, and which process is at it.

A job is created once for a subject's idempotency key. Processes claim queued jobs, one process a job at a
time, and tell every few seconds that they are still at it (`heartbeat`); a job whose process fell silent is
queued again, three times at most. The next turn is of whoever had the fewest lately.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import IntegrityError

from leakcap.errors import require
from leakcap.service.requests import TERMS
from leakcap.service.store.database import StoreDatabase
from leakcap.service.store.errors import KeyReused, NotFound, StateConflict, TooManyJobs
from leakcap.service.store.job_states import UNFINISHED, JobState
from leakcap.service.store.people import require_known
from leakcap.service.store.schema import JOBS, PAUSES, UNAPPROVED
from leakcap.service.store.thresholds import given_back_unbegun, place_given_back
from leakcap.service.store.times import Clock, moment_of, stored_time

__all__ = ["Job", "JobQueue", "job_of", "locked_job"]

_MOST_ATTEMPTS = 3
_LATELY = timedelta(hours=1)
_KEY = frozenset(map(chr, range(33, 127)))


@dataclass(frozen=True)
class Job:
    """One piece of work. `needed` approvals let it run; `result` is the numbers of its ledger entries.

    `body` is what was asked, `problem` an RFC 9457 problem where it failed or was refused, both as JSON.
    `attempt` counts how often it was claimed, `place` is where its price is counted without approval.
    """

    id: str
    subject: str
    dataset: str
    kind: str
    body: Any
    key: str
    state: JobState
    needed: int
    attempt: int
    progress: str
    result: tuple[int, ...] | None
    problem: Mapping[str, Any] | None
    created: datetime
    updated: datetime
    claimed_by: str | None
    heartbeat: datetime | None
    place: str | None


class JobQueue:
    """The jobs: people take turns, and of each the first asked is the first done; those of a paused data set
    wait."""

    def __init__(self, database: StoreDatabase, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def create(
        self,
        subject: str,
        dataset: str,
        kind: str,
        body: Any,
        *,
        key: str,
        needed: int = 0,
        terms: Mapping[str, Any] | None = None,
        place: str | None = None,
        most: int | None = None,
    ) -> tuple[Job, bool]:
        """The job of this subject and key, and whether it is new. It waits for `needed` approvals.

        `terms` are those on which it was let pass, kept in its body, and `place` is where its price is
        counted; a job that is there keeps its own. `most` is how many a person may have that wait for
        approval, or else that are queued or running; beyond it a new one is `TooManyJobs`. Raises `KeyReused`
        where the key came with something else before, `NotFound` for an unknown subject.
        """
        require(
            0 < len(key) <= 128 and set(key) <= _KEY,
            "key", "job", "be 1 to 128 printable ASCII characters", key[:80],
        )  # fmt: skip
        require(needed >= 0, "needed", "job", "not be negative", needed)
        time = stored_time(self._clock())
        row = {
            "id": secrets.token_hex(10),
            "subject": subject,
            "dataset": dataset,
            "kind": kind,
            "body": _written({**body, **(terms or {})}),
            "key": key,
            "state": JobState.AWAITING_APPROVAL if needed else JobState.QUEUED,
            "needed": needed,
            "attempt": 0,
            "progress": "",
            "place": place,
            "created": time,
            "updated": time,
        }
        same = (JOBS.c.subject == subject) & (JOBS.c.key == key)
        try:
            with self._database.writing() as connection:
                require_known(connection, subject, lock=True)
                found = connection.execute(select(JOBS).where(same)).one_or_none()
                if found is None:
                    _require_room(connection, subject, str(row["state"]), most)
                    connection.execute(JOBS.insert().values(row))
        except IntegrityError:
            found = None
        with self._database.reading() as connection:
            job = connection.execute(select(JOBS).where(same)).one()
        asked = (job.dataset, job.kind, _asked(json.loads(job.body)))
        if asked != (dataset, kind, _asked(body)):
            raise KeyReused("This idempotency key came with another request before. Use a new one.")
        return job_of(job), bool(job.id == row["id"])

    def claim(self, worker: str) -> Job | None:
        """The oldest queued job of whoever had the fewest turns within the last hour, now claimed by this
        process; None where there is none to do. Its price counts without approval from now on."""
        now = self._clock()
        time = stored_time(now)
        paused, turns = select(PAUSES.c.dataset), JOBS.alias()
        lately = (turns.c.attempt > 0) & (turns.c.updated > stored_time(now - _LATELY))
        had = select(func.count()).select_from(turns).where(turns.c.subject == JOBS.c.subject, lately)
        asked = (
            select(JOBS)
            .where(JOBS.c.state == JobState.QUEUED, JOBS.c.dataset.not_in(paused))
            .order_by(had.correlate(JOBS).scalar_subquery(), JOBS.c.number)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        with self._database.writing() as connection:
            row = connection.execute(asked).one_or_none()
            if row is None:
                return None
            taken = {
                "state": JobState.RUNNING,
                "attempt": row.attempt + 1,
                "claimed_by": worker,
                "heartbeat": time,
                "updated": time,
            }
            connection.execute(JOBS.update().where(JOBS.c.number == row.number).values(taken))
            if row.place is not None:
                connection.execute(UNAPPROVED.update().where(UNAPPROVED.c.id == row.place).values(time=time))
            return _again(connection, row.id)

    def heartbeat(self, job: Job, progress: str = "") -> bool:
        """Tell that the claimed job is being worked on; False where it is no longer this process's: stop."""
        time = stored_time(self._clock())
        told = {"heartbeat": time, "updated": time, "progress": progress[:200]}
        with self._database.writing() as connection:
            return connection.execute(JOBS.update().where(_claim_of(job)).values(told)).rowcount == 1

    def finish(
        self,
        job: Job,
        *,
        result: Sequence[int] | None = None,
        problem: Mapping[str, Any] | None = None,
        at: datetime | None = None,
        unspent: bool = False,
    ) -> Job:
        """The claimed job, done with these ledger entries or failed with this problem, now, or at a moment
        that says less of how long it took. Where nothing was spent by it, at its first attempt, its price
        counts no longer; at a later one the first may have spent.

        Raises `StateConflict` where it was cancelled, or given to another process, meanwhile.
        """
        require((result is None) != (problem is None), "result", "job", "be given, or else a problem", result)
        told = {
            "state": JobState.DONE if problem is None else JobState.FAILED,
            "result": None if result is None else json.dumps([int(one) for one in result]),
            "problem": None if problem is None else json.dumps(dict(problem), sort_keys=True),
            "progress": "",
            "updated": stored_time(at or self._clock()),
        }
        with self._database.writing() as connection:
            if connection.execute(JOBS.update().where(_claim_of(job)).values(told)).rowcount != 1:
                raise StateConflict(f"Job {job.id} is no longer this process's. Drop what it made.")
            if unspent and job.attempt == 1:
                place_given_back(connection, job.place)
            return _again(connection, job.id)

    def requeue_stale(self, silent: timedelta) -> int:
        """Queue jobs anew whose process was silent for so long; how many. After three attempts they fail."""
        now = self._clock()
        stale = (JOBS.c.state == JobState.RUNNING) & (JOBS.c.heartbeat < stored_time(now - silent))
        worn = stale & (JOBS.c.attempt >= _MOST_ATTEMPTS)
        problem = json.dumps({"title": "Job failed", "detail": "Its process ended three times."})
        time = stored_time(now)
        with self._database.writing() as connection:
            failed = {"state": JobState.FAILED, "problem": problem, "progress": "", "updated": time}
            connection.execute(JOBS.update().where(worn).values(failed))
            again = {"state": JobState.QUEUED, "claimed_by": None, "heartbeat": None, "progress": ""}
            again["updated"] = time
            return connection.execute(JOBS.update().where(stale).values(again)).rowcount

    def cancel(self, id_: str) -> Job:
        """End a job, as its process learns at the next heartbeat; the price of one that was never begun
        counts no longer. Raises `StateConflict` for an ended one."""
        with self._database.writing() as connection:
            row = locked_job(connection, id_)
            if row.state not in UNFINISHED:
                raise StateConflict(f"Job {row.id} is {row.state}, and can no longer be cancelled.")
            told = {"state": JobState.CANCELLED, "progress": "", "updated": stored_time(self._clock())}
            connection.execute(JOBS.update().where(JOBS.c.number == row.number).values(told))
            given_back_unbegun(connection, JOBS.c.number == row.number)
            return _again(connection, row.id)

    def find(self, id_: str) -> Job:
        """The job. Raises `NotFound` where there is none."""
        with self._database.reading() as connection:
            row = connection.execute(select(JOBS).where(JOBS.c.id == id_)).one_or_none()
        if row is None:
            raise NotFound("There is no such job.")
        return job_of(row)

    def of_key(self, subject: str, key: str) -> Job | None:
        """The job of this subject and idempotency key; None where there is none."""
        with self._database.reading() as connection:
            same = (JOBS.c.subject == subject) & (JOBS.c.key == key)
            row = connection.execute(select(JOBS).where(same)).one_or_none()
        return None if row is None else job_of(row)

    def list(
        self,
        *,
        subject: str | None = None,
        dataset: str | None = None,
        state: JobState | None = None,
        most: int = 100,
    ) -> tuple[Job, ...]:
        """The newest jobs, at most `most`: of a subject, of a data set, in a state."""
        asked = select(JOBS).order_by(JOBS.c.number.desc()).limit(most)
        for column, value in ((JOBS.c.subject, subject), (JOBS.c.dataset, dataset), (JOBS.c.state, state)):
            asked = asked if value is None else asked.where(column == value)
        with self._database.reading() as connection:
            return tuple(job_of(row) for row in connection.execute(asked))


def _written(body: Mapping[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _asked(body: Mapping[str, Any]) -> str:
    """What was asked, without the terms on which it was let pass."""
    return _written({name: value for name, value in body.items() if name not in TERMS})


def _require_room(connection: Connection, subject: str, state: str, most: int | None) -> None:
    """Raise `TooManyJobs` where the person, whose row the caller locked, has as many such jobs as allowed."""
    if most is None:
        return
    waits = state == JobState.AWAITING_APPROVAL
    states = (state,) if waits else (JobState.QUEUED, JobState.RUNNING)
    alike = (JOBS.c.subject == subject) & JOBS.c.state.in_(states)
    if connection.execute(select(func.count()).select_from(JOBS).where(alike)).scalar_one() >= most:
        what = "wait for approval" if waits else "are queued or running"
        raise TooManyJobs(
            f"As many of your jobs {what} as one person may have, {most:,}. Wait for one of them, or cancel "
            "one. Nothing was spent."
        )


def locked_job(connection: Connection, id_: str) -> Any:
    """The job's row, which nobody else changes in this transaction. Raises `NotFound` where there is none."""
    row = connection.execute(select(JOBS).where(JOBS.c.id == id_).with_for_update()).one_or_none()
    if row is None:
        raise NotFound("There is no such job.")
    return row


def job_of(row: Any) -> Job:
    """A job from its row."""
    return Job(
        id=row.id,
        subject=row.subject,
        dataset=row.dataset,
        kind=row.kind,
        body=json.loads(row.body),
        key=row.key,
        state=JobState(row.state),
        needed=row.needed,
        attempt=row.attempt,
        progress=row.progress,
        result=None if row.result is None else tuple(json.loads(row.result)),
        problem=None if row.problem is None else json.loads(row.problem),
        created=moment_of(row.created),
        updated=moment_of(row.updated),
        claimed_by=row.claimed_by,
        heartbeat=None if row.heartbeat is None else moment_of(row.heartbeat),
        place=row.place,
    )


def _again(connection: Connection, id_: str) -> Job:
    return job_of(connection.execute(select(JOBS).where(JOBS.c.id == id_)).one())


def _claim_of(job: Job) -> Any:
    """The row, as long as it is claimed as it was then: by this process, at this attempt."""
    same = (JOBS.c.id == job.id) & (JOBS.c.state == JobState.RUNNING)
    return same & (JOBS.c.claimed_by == job.claimed_by) & (JOBS.c.attempt == job.attempt)
