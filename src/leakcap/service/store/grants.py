"""Who has which role on which data set. Without one a person sees and does nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, select

from leakcap.ledger.chain import require_line, require_text
from leakcap.service.store.acts import append_act
from leakcap.service.store.database import StoreDatabase
from leakcap.service.store.errors import Forbidden, NotFound
from leakcap.service.store.job_states import UNFINISHED, JobState
from leakcap.service.store.people import require_known
from leakcap.service.store.roles import EVERYWHERE, Role, named_role, require_role_fits
from leakcap.service.store.schema import GRANTS, JOBS
from leakcap.service.store.thresholds import given_back_unbegun
from leakcap.service.store.times import Clock, moment_of, stored_time

__all__ = ["OF_SUBJECT", "Grant", "GrantBook", "role_given"]

_IN_ORDER = select(GRANTS).order_by(GRANTS.c.dataset, GRANTS.c.subject, GRANTS.c.role)
OF_SUBJECT = _IN_ORDER.where(GRANTS.c.subject == bindparam("who"))


@dataclass(frozen=True)
class Grant:
    """A role of a person; `dataset` is `EVERYWHERE` for a role on the whole curator."""

    subject: str
    dataset: str
    role: Role
    by: str
    time: datetime


class GrantBook:
    """The roles that were given and not taken back."""

    def __init__(self, database: StoreDatabase, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def give(self, subject: str, role: Role | str, dataset: str = EVERYWHERE, *, by: str) -> Grant:
        """Give a known person a role; nothing changes where they have it.

        Raises `NotFound` for somebody who is not known, `Forbidden` for a role that one gives oneself.
        """
        role = _require_fine(subject, role, dataset, by)
        with self._database.writing() as connection:
            return role_given(connection, subject, role, dataset, self._clock(), by=by)

    def require_may_wait(self, subject: str, role: Role | str, dataset: str, *, by: str) -> Grant | None:
        """What `give` would refuse is refused; the role, where the person has it, and None otherwise."""
        role = _require_fine(subject, role, dataset, by)
        with self._database.reading() as connection:
            require_known(connection, subject)
            found = connection.execute(select(GRANTS).where(_is(subject, role, dataset))).one_or_none()
        return None if found is None else _grant(found)

    def take(self, subject: str, role: Role | str, dataset: str = EVERYWHERE, *, by: str) -> None:
        """Take a role back. Raises `NotFound` where the person does not have it.

        Whoever is no longer an analyst of a data set has no unfinished jobs there: they are cancelled.
        """
        role = named_role(role)
        now = self._clock()
        with self._database.writing() as connection:
            taken = connection.execute(delete(GRANTS).where(_is(subject, role, dataset))).rowcount
            if not taken:
                raise NotFound(f"{subject[:80]!a} does not have the role `{role}` here. Nothing changed.")
            details = {"role": role.value}
            append_act(connection, now, by, "take role", subject=subject, dataset=dataset, details=details)
            if role is Role.ANALYST:
                own = (JOBS.c.subject == subject) & (JOBS.c.dataset == dataset)
                open_ = own & JOBS.c.state.in_(UNFINISHED)
                ended = {"state": JobState.CANCELLED, "updated": stored_time(now)}
                connection.execute(JOBS.update().where(open_).values(ended))
                given_back_unbegun(connection, own)

    def of(self, subject: str) -> tuple[Grant, ...]:
        """A person's roles."""
        return self._found(OF_SUBJECT, who=subject)

    def of_dataset(self, dataset: str) -> tuple[Grant, ...]:
        """Who has which role on a data set."""
        return self._found(_IN_ORDER.where(GRANTS.c.dataset == dataset))

    def all(self) -> tuple[Grant, ...]:
        """All roles that anybody has."""
        return self._found(_IN_ORDER)

    def _found(self, asked: Select[Any], **words: str) -> tuple[Grant, ...]:
        return tuple(map(_grant, self._database.rows(asked, **words)))


def role_given(
    connection: Connection,
    subject: str,
    role: Role,
    dataset: str,
    now: datetime,
    *,
    by: str,
    more: Mapping[str, Any] | None = None,
) -> Grant:
    """The role, given in the caller's transaction; the log of acts tells `more` of it."""
    require_known(connection, subject, lock=True)
    found = connection.execute(select(GRANTS).where(_is(subject, role, dataset))).one_or_none()
    if found is not None:
        return _grant(found)
    row = {"subject": subject, "dataset": dataset, "role": role.value, "by": by, "time": stored_time(now)}
    connection.execute(GRANTS.insert().values(row))
    details = {"role": role.value, **(more or {})}
    append_act(connection, now, by, "give role", subject=subject, dataset=dataset, details=details)
    return Grant(subject, dataset, role, by, now)


def _require_fine(subject: str, role: Role | str, dataset: str, by: str) -> Role:
    role = named_role(role)
    require_role_fits(role, dataset)
    require_text(dataset, "dataset", "grant")
    require_line(dataset, "dataset", "grant")
    if by == subject:
        raise Forbidden(f"Nobody gives a role to themselves. Ask another administrator or owner ({role}).")
    return role


def _is(subject: str, role: Role, dataset: str) -> Any:
    return (GRANTS.c.subject == subject) & (GRANTS.c.dataset == dataset) & (GRANTS.c.role == role.value)


def _grant(row: Any) -> Grant:
    return Grant(row.subject, row.dataset, Role(row.role), row.by, moment_of(row.time))
