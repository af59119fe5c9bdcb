"""What may wait for a second administrator, who may ask for it, and how each is done once it is confirmed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from leakcap.errors import require
from leakcap.service.store.certificates import certificate_registered
from leakcap.service.store.errors import StateConflict
from leakcap.service.store.grants import role_given
from leakcap.service.store.passwords import one_time_given
from leakcap.service.store.pauses import pause_ended
from leakcap.service.store.roles import EVERYWHERE, Role, named_role
from leakcap.service.store.schema import GRANTS, PEOPLE

__all__ = [
    "ADMINISTRATORS",
    "AMEND",
    "CERTIFICATE",
    "ONE_TIME_PASSWORD",
    "RESUME",
    "ROLE",
    "done_now",
    "named_act",
    "require_asker",
]

ROLE, ONE_TIME_PASSWORD, CERTIFICATE, RESUME, AMEND = (
    "give role",
    "give one-time password",
    "register certificate",
    "resume",
    "amend the policy",
)
"""The acts that give somebody power, or let more be told: any role, since each new analyst has an account and
a threshold of their own. What takes power away waits for nobody."""

_ACTS = (ROLE, ONE_TIME_PASSWORD, CERTIFICATE, RESUME, AMEND)
# A program never confirms, whatever its roles are.
ADMINISTRATORS = (
    select(GRANTS.c.subject)
    .join(PEOPLE, PEOPLE.c.subject == GRANTS.c.subject)
    .where(
        GRANTS.c.role == Role.ADMIN.value,
        GRANTS.c.dataset == EVERYWHERE,
        PEOPLE.c.removed.is_(None),
        PEOPLE.c.agent.is_(False),
    )
)
"""The people who administer the curator now."""


def named_act(act: str) -> str:
    """The act of this name. Raises `InvalidParameter` for a name that is none.

    >>> named_act("resume")
    'resume'
    """
    require(act in _ACTS, "act", "confirmation", f"be one of {', '.join(_ACTS)}", act)
    return act


def require_asker(connection: Connection, row: Any) -> None:
    """Raise `StateConflict` where whoever asked, if they are a person, lost the role by which they asked."""
    if connection.execute(select(PEOPLE.c.subject).where(PEOPLE.c.subject == row.by)).first() is None:
        return
    admin = (GRANTS.c.role == Role.ADMIN.value) & (GRANTS.c.dataset == EVERYWHERE)
    owner = (GRANTS.c.role == Role.OWNER.value) & (GRANTS.c.dataset == row.dataset)
    allowed = {
        ROLE: admin if row.dataset == EVERYWHERE else admin | owner,
        ONE_TIME_PASSWORD: admin,
        CERTIFICATE: admin,
        RESUME: owner,
        AMEND: owner,
    }[row.act]
    asked = select(GRANTS.c.subject).where(GRANTS.c.subject == row.by, allowed).with_for_update()
    if connection.execute(asked).first() is None:
        raise StateConflict("Whoever asked for this can no longer ask for it. Refuse it.")


def done_now(connection: Connection, row: Any, now: datetime, details: Mapping[str, Any]) -> None:
    """Do what was asked, in the caller's transaction, in the name of who asked."""
    body = json.loads(row.body)
    if row.act == ROLE:
        role_given(
            connection, row.subject, named_role(body["role"]), row.dataset, now, by=row.by, more=details
        )
    elif row.act == ONE_TIME_PASSWORD:
        one_time_given(connection, row.subject, body["hash"], now, by=row.by, more=details)
    elif row.act == CERTIFICATE:
        certificate_registered(connection, row.subject, body["thumbprint"], now, by=row.by, more=details)
    else:
        # A request that does not say which pause it means ends none.
        paused = body.get("paused", "")
        pause_ended(connection, row.dataset, now, by=row.by, paused=paused, more=details)
