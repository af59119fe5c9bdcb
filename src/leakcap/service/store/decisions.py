"""Approvals: so many different approvers as a job needs let it run, one refusal ends it.

Nobody decides on what they asked for themselves, or twice, nor on what was asked by whoever gave them the
role of an approver. An approval counts while its approver has the role.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, select

from leakcap.errors import require
from leakcap.ledger.chain import require_reason
from leakcap.service.store.acts import append_act
from leakcap.service.store.database import StoreDatabase
from leakcap.service.store.errors import Forbidden, StateConflict
from leakcap.service.store.job_states import JobState
from leakcap.service.store.jobs import Job, job_of, locked_job
from leakcap.service.store.roles import Role
from leakcap.service.store.schema import DECISIONS, GRANTS, JOBS
from leakcap.service.store.times import Clock, moment_of, stored_time

__all__ = ["APPROVE", "REFUSE", "Decided", "DecisionBook"]

APPROVE, REFUSE = "approve", "refuse"


@dataclass(frozen=True)
class Decided:
    """What one approver said about a job."""

    job: str
    subject: str
    verdict: str
    reason: str
    time: datetime


class DecisionBook:
    """The decisions on jobs that need approval."""

    def __init__(self, database: StoreDatabase, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def decide(self, job: str, approver: str, verdict: str, reason: str = "") -> Job:
        """Record a verdict and return the job, which may now be queued or refused. A refusal gives a reason.

        Raises `Forbidden` for who asked for the job, was made an approver by who asked, decided before or is
        no approver of its data set, `StateConflict` where it no longer waits.
        """
        require(verdict in (APPROVE, REFUSE), "verdict", "decision", "be `approve` or `refuse`", verdict)
        if verdict == REFUSE or reason:
            require_reason(reason, approver, "decision")
        now = self._clock()
        with self._database.writing() as connection:
            row = locked_job(connection, job)
            _require_allowed(connection, row, approver)
            said = {"job": job, "subject": approver, "verdict": verdict, "reason": reason}
            connection.execute(DECISIONS.insert().values(**said, time=stored_time(now)))
            details = {"job": job, "reason": reason}
            append_act(
                connection, now, approver, verdict, subject=row.subject, dataset=row.dataset, details=details
            )
            told = _consequence(connection, row, verdict, reason)
            if told:
                told["updated"] = stored_time(now)
                connection.execute(JOBS.update().where(JOBS.c.number == row.number).values(told))
            return job_of(connection.execute(select(JOBS).where(JOBS.c.id == job)).one())

    def of(self, job: str) -> tuple[Decided, ...]:
        """What was decided on a job, first ones first."""
        asked = (
            select(DECISIONS).where(DECISIONS.c.job == job).order_by(DECISIONS.c.time, DECISIONS.c.subject)
        )
        with self._database.reading() as connection:
            return tuple(
                Decided(row.job, row.subject, row.verdict, row.reason, moment_of(row.time))
                for row in connection.execute(asked)
            )


def _require_allowed(connection: Connection, row: Any, approver: str) -> None:
    if row.subject == approver:
        raise Forbidden("Nobody decides on what they asked for themselves. Ask another approver.")
    asked = select(GRANTS.c.by).where(
        GRANTS.c.subject == approver, GRANTS.c.dataset == row.dataset, GRANTS.c.role == Role.APPROVER
    )
    grant = connection.execute(asked.with_for_update()).one_or_none()
    if grant is None:
        raise Forbidden(f"Only an approver of the data set decides on job {row.id}.")
    if grant.by == row.subject:
        raise Forbidden("Whoever asked this made you an approver. Another one decides, whom others made one.")
    if row.state != JobState.AWAITING_APPROVAL:
        raise StateConflict(f"Job {row.id} is {row.state}, and waits for no decision.")
    before = select(DECISIONS.c.job).where(DECISIONS.c.job == row.id, DECISIONS.c.subject == approver)
    if connection.execute(before).one_or_none() is not None:
        raise Forbidden(f"You have decided on job {row.id} before. Another approver has to.")


def _consequence(connection: Connection, row: Any, verdict: str, reason: str) -> dict[str, Any]:
    """What becomes of the job: refused at once, queued with the last approval that it needs."""
    if verdict == REFUSE:
        problem = {"title": "Refused by an approver", "detail": reason}
        return {"state": JobState.REFUSED, "problem": json.dumps(problem)}
    standing = (
        select(func.count())
        .select_from(DECISIONS)
        .join(GRANTS, GRANTS.c.subject == DECISIONS.c.subject)
        .where(
            DECISIONS.c.job == row.id,
            DECISIONS.c.verdict == APPROVE,
            DECISIONS.c.subject != row.subject,
            GRANTS.c.dataset == row.dataset,
            GRANTS.c.role == Role.APPROVER,
            GRANTS.c.by != row.subject,
        )
    )
    approvals = connection.execute(standing).scalar_one()
    return {"state": JobState.QUEUED} if approvals >= row.needed else {}
