"""What the curator answers, for the OpenAPI document; the ledger's records are those of `leakcap schema`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from leakcap.service.store.job_states import JobState

__all__ = [
    "About",
    "ActsTold",
    "DatasetsTold",
    "GrantTold",
    "GrantsTold",
    "IssuedTold",
    "JobTold",
    "JobsTold",
    "MeTold",
    "OneTimeTold",
    "PeopleTold",
    "PersonTold",
    "RequestTold",
    "RequestsTold",
    "TokensTold",
]


class _Told(BaseModel):
    model_config = ConfigDict(extra="forbid")


class About(_Told):
    """What this is, and how to sign in."""

    name: str
    version: str
    api: Literal["v1"]
    local_accounts: bool
    providers: list[dict[str, Any]]


class TokenTold(_Told):
    """A token without its secret."""

    id: str
    label: str
    scopes: list[str] | None
    datasets: list[str] | None
    agent: bool
    created: str
    expires: str
    revoked: str | None
    last_used: str | None


class IssuedTold(TokenTold):
    """A new token, with its secret."""

    token: str


class TokensTold(_Told):
    """One's own tokens."""

    tokens: list[TokenTold]


class MeTold(_Told):
    """Who asks, and their roles by data set and on the curator."""

    subject: str
    agent: bool
    scopes: list[str] | None
    roles: dict[str, list[str]]
    curator: list[str]


class DatasetTold(_Told):
    """A data set in which one has a role."""

    name: str
    title: str
    roles: list[str]
    paused: bool


class DatasetsTold(_Told):
    """The data sets in which one has a role."""

    datasets: list[DatasetTold]


class DecidedTold(_Told):
    """What one approver said."""

    subject: str
    verdict: Literal["approve", "refuse"]
    reason: str
    time: str


class JobTold(_Told):
    """A job: what was asked, under which policy where it was approved, and its entries to who asked."""

    id: str
    dataset: str
    subject: str
    kind: str
    asked: dict[str, Any]
    policy: str | None
    state: JobState
    needed: int
    decisions: list[DecidedTold]
    progress: str
    created: str
    updated: str
    problem: dict[str, Any] | None
    entries: list[int] | None = None


class JobsTold(_Told):
    """Jobs, the newest first."""

    jobs: list[JobTold]


class GrantTold(_Told):
    """A role that somebody has."""

    subject: str
    role: str
    dataset: str
    by: str
    time: str


class GrantsTold(_Told):
    """Roles in a data set."""

    grants: list[GrantTold]


class PersonTold(_Told):
    """A person, without anything secret."""

    subject: str
    display: str
    agent: bool
    has_password: bool
    one_time: str | None
    certificates: list[str]
    created: str
    removed: str | None


class RequestTold(_Told):
    """An act that waits for another administrator, or waited."""

    id: str
    act: str
    by: str
    subject: str
    dataset: str
    role: str | None
    thumbprint: str | None
    reason: str | None
    paused: str | None
    policy: dict[str, Any] | None
    needed: int
    confirmed: list[str]
    state: Literal["waits", "expired", "begun", "done", "failed", "refused", "withdrawn"]
    created: str
    expires: str


class RequestsTold(_Told):
    """Acts that wait, and those that waited, the newest first."""

    requests: list[RequestTold]


class OneTimeTold(_Told):
    """A one-time password, which is shown this once. Either `until` when it is good, or the request that
    another administrator has to confirm before it is."""

    subject: str
    password: str
    until: str | None
    request: RequestTold | None


class PeopleTold(_Told):
    """Who is known."""

    people: list[PersonTold]


class ActTold(_Told):
    """One administrative act in its chain."""

    seq: int
    time: str
    by: str
    act: str
    subject: str | None
    dataset: str | None
    details: dict[str, Any]
    hash: str


class ActsTold(_Told):
    """Acts, with the checked end of their whole chain."""

    rows: int
    head: str
    acts: list[ActTold]
