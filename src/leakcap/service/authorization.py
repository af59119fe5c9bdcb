"""What each role may do: one table, and nothing that does not stand in it.

    require(principal, grants, action, dataset)     Forbidden, or NotFound for a data set without a role
    require_job(principal, grants, asker, dataset)  a job of one's own, or of one's data sets

A data set in which a principal has no role is not found, as one that is not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NoReturn

from leakcap.service.identity.principal import Principal
from leakcap.service.store.errors import Forbidden, NotFound
from leakcap.service.store.grants import Grant
from leakcap.service.store.roles import EVERYWHERE, Role
from leakcap.service.store.scopes import TokenScope

__all__ = [
    "ANYONE",
    "CURATOR_WIDE",
    "MATRIX",
    "NEVER_BY_AGENTS",
    "NEVER_BY_TOKENS",
    "SCOPES",
    "Action",
    "datasets_of",
    "permitted",
    "require",
    "require_job",
    "roles_on",
]


class Action(StrEnum):
    """What can be asked of a curator, in words that follow "may"."""

    SEE_ONESELF = "see oneself"
    SEE_TOKENS = "see own tokens"
    ISSUE_TOKEN = "issue a token"
    REVOKE_TOKEN = "revoke a token"
    LIST_DATASETS = "list data sets"
    SEE_DATASET = "see the public policy"
    SEE_BUDGET = "see the budget"
    PREVIEW = "preview"
    RELEASE = "ask for a release"
    FIT = "fit a model"
    SYNTHESIZE = "make a synthetic file"
    RELEASE_TABLES = "ask for tables"
    SEE_OWN_STATEMENT = "see the statement on own answers"
    SEE_STATEMENT = "see the statement on all answers"
    SEE_OWN_JOBS = "see own jobs"
    CANCEL_OWN_JOB = "cancel an own job"
    SEE_JOBS = "see jobs of others"
    SEE_APPROVALS = "see what awaits approval"
    DECIDE = "approve or refuse"
    SEE_LEDGER = "see the ledger"
    VERIFY_LEDGER = "verify the ledger"
    EXPORT_LEDGER = "export the ledger"
    ANCHOR_LEDGER = "take an anchor"
    CERTIFY_LEDGER = "certify the ledger"
    PAUSE = "pause a data set"
    RESUME = "resume a data set"
    AMEND = "amend the policy"
    SEE_GRANTS = "see roles"
    GIVE_ROLE = "give a role"
    TAKE_ROLE = "take a role"
    SEE_PEOPLE = "see people"
    ADD_PERSON = "add a person"
    REMOVE_PERSON = "remove a person"
    SET_PASSWORD = "set another's password"
    SET_CERTIFICATE = "register or withdraw a certificate"
    CONFIRM = "confirm what another one asks"
    SEE_REQUESTS = "see own requests to administrators"
    WITHDRAW = "withdraw an own request to administrators"
    SEE_ACTS = "see administrative acts"


_OWNER, _ANALYST, _APPROVER, _AUDITOR, _ADMIN = (
    Role.OWNER, Role.ANALYST, Role.APPROVER, Role.AUDITOR, Role.ADMIN,
)  # fmt: skip
_OF_A_DATASET = (_OWNER, _ANALYST, _APPROVER, _AUDITOR)

_ALLOWED: dict[Action, tuple[Role, ...]] = {
    Action.SEE_DATASET: _OF_A_DATASET,
    Action.SEE_BUDGET: _OF_A_DATASET,
    Action.PREVIEW: (_OWNER, _ANALYST),
    Action.RELEASE: (_ANALYST,),
    Action.FIT: (_ANALYST,),
    Action.SYNTHESIZE: (_ANALYST,),
    Action.RELEASE_TABLES: (_ANALYST,),
    Action.SEE_OWN_STATEMENT: (_ANALYST,),
    Action.SEE_STATEMENT: (_OWNER, _APPROVER, _AUDITOR),
    Action.SEE_OWN_JOBS: (_ANALYST,),
    Action.CANCEL_OWN_JOB: (_ANALYST,),
    Action.SEE_JOBS: (_OWNER, _APPROVER),
    Action.SEE_APPROVALS: (_APPROVER,),
    Action.DECIDE: (_APPROVER,),
    Action.SEE_LEDGER: (_OWNER, _AUDITOR),
    Action.VERIFY_LEDGER: (_OWNER, _AUDITOR),
    Action.EXPORT_LEDGER: (_OWNER, _AUDITOR),
    Action.ANCHOR_LEDGER: (_OWNER, _AUDITOR),
    # Its rows are everybody's charges: whoever knows their own would read the others' beside them.
    Action.CERTIFY_LEDGER: (_OWNER, _AUDITOR),
    Action.PAUSE: (_OWNER,),
    Action.RESUME: (_OWNER,),
    Action.AMEND: (_OWNER,),
    Action.SEE_GRANTS: (_OWNER, _ADMIN),
    Action.GIVE_ROLE: (_OWNER, _ADMIN),
    Action.TAKE_ROLE: (_OWNER, _ADMIN),
    Action.SEE_PEOPLE: (_ADMIN,),
    Action.ADD_PERSON: (_ADMIN,),
    Action.REMOVE_PERSON: (_ADMIN,),
    Action.SET_PASSWORD: (_ADMIN,),
    Action.SET_CERTIFICATE: (_ADMIN,),
    Action.CONFIRM: (_ADMIN,),
    Action.SEE_ACTS: (_OWNER, _AUDITOR, _ADMIN),
}

MATRIX: Mapping[Action, frozenset[Role]] = MappingProxyType(
    {action: frozenset(roles) for action, roles in _ALLOWED.items()}
)
"""Which roles may do what. An action that is neither here nor in `ANYONE` is nobody's."""

ANYONE = frozenset(
    {
        Action.SEE_ONESELF, Action.SEE_TOKENS, Action.ISSUE_TOKEN, Action.REVOKE_TOKEN, Action.LIST_DATASETS,
        Action.SEE_REQUESTS, Action.WITHDRAW,
    }
)  # fmt: skip
"""What whoever signed in may do, for themselves alone and without a role."""

CURATOR_WIDE = frozenset(
    {
        Action.SEE_PEOPLE, Action.ADD_PERSON, Action.REMOVE_PERSON, Action.SET_PASSWORD,
        Action.SET_CERTIFICATE, Action.CONFIRM,
    }
)  # fmt: skip
"""What concerns no data set."""

NEVER_BY_TOKENS = frozenset(
    {
        Action.ISSUE_TOKEN, Action.REVOKE_TOKEN, Action.SET_PASSWORD, Action.SET_CERTIFICATE,
        Action.ADD_PERSON, Action.REMOVE_PERSON, Action.CONFIRM, Action.WITHDRAW,
    }
)  # fmt: skip
"""What takes signing in: a token that leaked makes no other one, and lets nobody else in."""

NEVER_BY_AGENTS = NEVER_BY_TOKENS | {Action.DECIDE, Action.AMEND, Action.GIVE_ROLE, Action.TAKE_ROLE}
"""What a program that asks for itself never does, whatever its roles: a person decides."""

_SCOPED = {
    TokenScope.ASK: {
        Action.RELEASE, Action.FIT, Action.SYNTHESIZE, Action.RELEASE_TABLES, Action.CANCEL_OWN_JOB,
    },
    TokenScope.APPROVE: {Action.SEE_APPROVALS, Action.DECIDE, Action.SEE_JOBS},
    TokenScope.AUDIT: {
        Action.SEE_LEDGER, Action.VERIFY_LEDGER, Action.EXPORT_LEDGER, Action.ANCHOR_LEDGER,
        Action.CERTIFY_LEDGER, Action.SEE_STATEMENT, Action.SEE_ACTS,
    },
    TokenScope.OWN: {
        Action.PAUSE, Action.RESUME, Action.AMEND, Action.SEE_GRANTS, Action.GIVE_ROLE, Action.TAKE_ROLE,
        Action.SEE_PEOPLE, Action.ADD_PERSON, Action.REMOVE_PERSON, Action.SET_PASSWORD,
        Action.SET_CERTIFICATE, Action.CONFIRM, Action.SEE_REQUESTS, Action.WITHDRAW,
    },
}  # fmt: skip

SCOPES: Mapping[Action, TokenScope] = MappingProxyType(
    dict.fromkeys(Action, TokenScope.READ)
    | {action: scope for scope, actions in _SCOPED.items() for action in actions}
)
"""The scope that a token needs for each action."""


def roles_on(principal: Principal, grants: Iterable[Grant], dataset: str | None) -> frozenset[Role]:
    """The principal's roles on a data set, and on the whole curator; of a token those that it reaches."""
    own = [grant for grant in grants if grant.subject == principal.subject]
    reached = principal.datasets is None
    wide = {grant.role for grant in own if grant.dataset == EVERYWHERE and reached} & {Role.ADMIN}
    if dataset is None or dataset == EVERYWHERE or not (reached or dataset in (principal.datasets or ())):
        return frozenset(wide)
    return frozenset(wide | ({grant.role for grant in own if grant.dataset == dataset} - {Role.ADMIN}))


def datasets_of(principal: Principal, grants: Iterable[Grant]) -> tuple[str, ...]:
    """The data sets in which the principal has a role, in order."""
    grants = tuple(grants)
    names = {grant.dataset for grant in grants} - {EVERYWHERE}
    return tuple(sorted(name for name in names if roles_on(principal, grants, name) - {Role.ADMIN}))


def permitted(
    principal: Principal, grants: Iterable[Grant], action: Action, dataset: str | None = None
) -> bool:
    """Whether `require` lets it pass."""
    try:
        require(principal, grants, action, dataset)
    except (Forbidden, NotFound):
        return False
    return True


def require(
    principal: Principal, grants: Iterable[Grant], action: Action, dataset: str | None = None
) -> None:
    """Raise `Forbidden` unless the principal may do this, `NotFound` for a data set without a role."""
    if action not in ANYONE:
        _require_role(principal, grants, action, dataset)
    if principal.scopes is not None and SCOPES[action] not in principal.scopes:
        raise Forbidden(f"The token lacks the scope `{SCOPES[action]}`. Sign in, or use another token.")
    if principal.token is not None and action in NEVER_BY_TOKENS:
        raise Forbidden(f"To {action}, sign in. A token cannot.")
    if principal.agent and action in NEVER_BY_AGENTS:
        raise Forbidden(f"To {action} takes a person. An agent cannot.")


def require_job(
    principal: Principal,
    grants: Iterable[Grant],
    asker: str,
    dataset: str,
    action: Action = Action.SEE_OWN_JOBS,
) -> None:
    """Raise `NotFound` unless the job is the principal's own or, to see it, of a data set they look after.

    `Forbidden` where it is their own and the token's scopes do not suffice.
    """
    grants = tuple(grants)
    if asker == principal.subject and Role.ANALYST in roles_on(principal, grants, dataset):
        require(principal, grants, action, dataset)
    elif action is not Action.SEE_OWN_JOBS or not permitted(principal, grants, Action.SEE_JOBS, dataset):
        raise NotFound("There is no such job.")


def _require_role(principal: Principal, grants: Iterable[Grant], action: Action, dataset: str | None) -> None:
    allowed = MATRIX.get(action, frozenset())
    wide = action in CURATOR_WIDE
    roles = roles_on(principal, grants, None if wide else dataset)
    if roles & allowed:
        return
    if not wide and dataset is not None and not roles - {Role.ADMIN}:
        _not_found(dataset)
    raise Forbidden(f"To {action} takes the role {_listed(allowed)}. Ask an owner or an administrator.")


def _not_found(dataset: str) -> NoReturn:
    raise NotFound(f"There is no data set {dataset[:80]!a}, or you have no role in it.")


def _listed(roles: Iterable[Role]) -> str:
    return " or ".join(f"`{role}`" for role in Role if role in set(roles)) or "that nobody has"
