"""What the curator knows of people, tokens, roles, jobs and decisions: `Store.open(url)`."""

from __future__ import annotations

from leakcap.service.store.acts import Act, VerifiedActs
from leakcap.service.store.confirmations import PendingAct
from leakcap.service.store.decisions import APPROVE, REFUSE, Decided
from leakcap.service.store.errors import (
    Forbidden,
    KeyReused,
    NameTaken,
    NotFound,
    OneTimePassword,
    StateConflict,
    StoreError,
    TooManyAttempts,
    TooManyJobs,
)
from leakcap.service.store.grants import Grant
from leakcap.service.store.job_states import UNFINISHED, JobState
from leakcap.service.store.jobs import Job
from leakcap.service.store.pauses import Pause
from leakcap.service.store.people import Person
from leakcap.service.store.roles import EVERYWHERE, Role
from leakcap.service.store.scopes import TokenScope
from leakcap.service.store.store import Store
from leakcap.service.store.subjects import local_subject, provider_subject, require_subject
from leakcap.service.store.tokens import SESSION, TOKEN, Issued, Token

__all__ = [
    "APPROVE",
    "EVERYWHERE",
    "REFUSE",
    "SESSION",
    "TOKEN",
    "UNFINISHED",
    "Act",
    "Decided",
    "Forbidden",
    "Grant",
    "Issued",
    "Job",
    "JobState",
    "KeyReused",
    "NameTaken",
    "NotFound",
    "OneTimePassword",
    "Pause",
    "PendingAct",
    "Person",
    "Role",
    "StateConflict",
    "Store",
    "StoreError",
    "Token",
    "TokenScope",
    "TooManyAttempts",
    "TooManyJobs",
    "VerifiedActs",
    "local_subject",
    "provider_subject",
    "require_subject",
]
