"""Long work: models and tables, always as jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leakcap.service.api.curator import Curator
from leakcap.service.authorization import Action
from leakcap.service.identity.principal import Principal
from leakcap.service.store.jobs import Job

__all__ = ["WORKS", "work_asked"]

WORKS: Mapping[str, Action] = {"fit": Action.FIT, "tables": Action.RELEASE_TABLES}
"""The kinds of long work, which are operations of the engine, and what has to be allowed."""


def work_asked(
    curator: Curator, principal: Principal, dataset: str, kind: str, body: Mapping[str, Any], *, key: str
) -> Job:
    """The job, one for each idempotency key. Where some questions wait for approval, this one does: what it
    costs is known only when it is planned."""
    curator.allow(principal, WORKS[kind], dataset)
    curator.require_open(dataset)
    if curator.store.jobs.of_key(principal.subject, key) is None:
        curator.ask("work", principal, dataset, {"kind": kind, "asked": dict(body)})
    approval = curator.configuration.data[dataset].approval
    needed = 0 if approval is None else approval.approvers
    # What is approved of is the question under this policy: under another it may cost and tell more.
    terms = {"policy": curator.ask("describe", principal, dataset)["fingerprint"]} if needed else {}
    job, _ = curator.store.jobs.create(
        principal.subject,
        dataset,
        kind,
        body,
        key=key,
        needed=needed,
        terms=terms,
        most=curator.most_jobs(needed),
    )
    return job
