"""What is told of jobs, decisions, people, roles and tokens, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leakcap.service.requests import TERMS
from leakcap.service.store.confirmations import PendingAct
from leakcap.service.store.decisions import Decided
from leakcap.service.store.grants import Grant
from leakcap.service.store.jobs import Job
from leakcap.service.store.people import Person
from leakcap.service.store.tokens import Token

__all__ = ["told_of_grant", "told_of_job", "told_of_person", "told_of_request", "told_of_token"]


def told_of_job(job: Job, *, own: bool, decided: Sequence[Decided] = ()) -> dict[str, Any]:
    """A job; to others than who asked nothing of its answers."""
    told: dict[str, Any] = {
        "id": job.id,
        "dataset": job.dataset,
        "subject": job.subject,
        "kind": job.kind,
        "asked": {name: value for name, value in job.body.items() if name not in TERMS},
        "policy": job.body.get("policy"),
        "state": str(job.state),
        "needed": job.needed,
        "decisions": [
            {
                "subject": one.subject,
                "verdict": one.verdict,
                "reason": one.reason,
                "time": one.time.isoformat(),
            }
            for one in decided
        ],
        "progress": job.progress,
        "created": job.created.isoformat(),
        "updated": job.updated.isoformat(),
        "problem": None if job.problem is None else dict(job.problem),
    }
    if own:
        told["entries"] = None if job.result is None else list(job.result)
    return told


def told_of_person(person: Person, certificates: Sequence[str] = ()) -> dict[str, Any]:
    """A person, without anything secret; certificates by their thumbprints."""
    return {
        "subject": person.subject,
        "display": person.display,
        "agent": person.agent,
        "has_password": person.has_password,
        "one_time": None if person.one_time is None else person.one_time.isoformat(),
        "certificates": list(certificates),
        "created": person.created.isoformat(),
        "removed": None if person.removed is None else person.removed.isoformat(),
    }


def told_of_request(pending: PendingAct) -> dict[str, Any]:
    """An act that waits for another administrator; never the hash of a password."""
    body = pending.body
    return {
        "id": pending.id,
        "act": pending.act,
        "by": pending.by,
        "subject": pending.subject,
        "dataset": pending.dataset,
        "role": body.get("role"),
        "thumbprint": body.get("thumbprint"),
        "reason": body.get("reason"),
        "paused": body.get("paused"),
        "policy": body.get("policy"),
        "needed": pending.needed,
        "confirmed": list(pending.confirmed),
        "state": pending.state,
        "created": pending.created.isoformat(),
        "expires": pending.expires.isoformat(),
    }


def told_of_grant(grant: Grant) -> dict[str, Any]:
    """A role that somebody has."""
    return {
        "subject": grant.subject,
        "role": str(grant.role),
        "dataset": grant.dataset,
        "by": grant.by,
        "time": grant.time.isoformat(),
    }


def told_of_token(token: Token) -> dict[str, Any]:
    """A token without its secret."""
    return {
        "id": token.id,
        "label": token.label,
        "scopes": None if token.scopes is None else sorted(token.scopes),
        "datasets": None if token.datasets is None else sorted(token.datasets),
        "agent": token.agent,
        "created": token.created.isoformat(),
        "expires": token.expires.isoformat(),
        "revoked": None if token.revoked is None else token.revoked.isoformat(),
        "last_used": token.last_used,
    }
