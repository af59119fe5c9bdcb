"""Who is known: people are added by an administrator, and a name is never given out twice.

A removed person stays as a tombstone without password, tokens, certificates and roles. A name that differs
from one that is or was taken in case alone is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, select
from sqlalchemy.exc import IntegrityError

from leakcap.ledger.chain import require_line, require_text
from leakcap.service.store.acts import append_act
from leakcap.service.store.database import StoreDatabase
from leakcap.service.store.errors import NameTaken, NotFound
from leakcap.service.store.job_states import UNFINISHED, JobState
from leakcap.service.store.schema import CERTIFICATES, GRANTS, JOBS, PEOPLE, TOKENS
from leakcap.service.store.subjects import provider_of, require_subject
from leakcap.service.store.thresholds import given_back_unbegun
from leakcap.service.store.times import Clock, moment_of, stored_time

__all__ = ["Directory", "Person", "require_known"]


@dataclass(frozen=True)
class Person:
    """Somebody known to the curator, or a program that asks for itself (`agent`).

    `one_time` is until when a password that somebody else gave is good for choosing another; None for a
    password of their own, and for none.
    """

    subject: str
    provider: str
    display: str
    agent: bool
    has_password: bool
    created: datetime
    removed: datetime | None
    one_time: datetime | None = None
    vouched: datetime | None = None
    """When a provider last vouched for them, to the day."""


class Directory:
    """The people that the curator knows."""

    def __init__(self, database: StoreDatabase, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def add(self, subject: str, *, by: str, display: str = "", agent: bool = False) -> Person:
        """Make a person known. Raises `NameTaken` for a name that is or was taken, or looks like one."""
        require_subject(subject)
        require_text(display, "display", "person")
        require_line(display, "display", "person")
        now = self._clock()
        row: dict[str, Any] = {
            "subject": subject,
            "folded": subject.casefold(),
            "provider": provider_of(subject),
            "display": display,
            "agent": agent,
            "created": stored_time(now),
        }
        try:
            with self._database.writing() as connection:
                _require_free(connection, subject)
                connection.execute(PEOPLE.insert().values(row))
                details = {"display": display, "agent": agent}
                append_act(connection, now, by, "add person", subject=subject, details=details)
        except IntegrityError:  # another process was faster
            raise NameTaken(f"`{subject}` is taken. Choose another name.") from None
        return Person(subject, row["provider"], display, agent, False, now, None)

    def note_vouched(self, person: Person, time: datetime) -> None:
        """Remember that a provider vouches for somebody, which costs one write a day."""
        if person.vouched is None or person.vouched.date() < time.date():
            with self._database.writing() as connection:
                known = PEOPLE.c.subject == person.subject
                connection.execute(PEOPLE.update().where(known).values(vouched=stored_time(time)))

    def remove(self, subject: str, *, by: str) -> None:
        """Take away a person's password, tokens, certificates, roles and unfinished jobs, for good; the name
        stays taken.

        Raises `NotFound` for somebody who is not known or was removed before.
        """
        now = self._clock()
        time = stored_time(now)
        with self._database.writing() as connection:
            require_known(connection, subject, lock=True)
            person = PEOPLE.c.subject == subject
            connection.execute(PEOPLE.update().where(person).values(removed=time, password=None))
            live = (TOKENS.c.subject == subject) & TOKENS.c.revoked.is_(None)
            connection.execute(TOKENS.update().where(live).values(revoked=time))
            connection.execute(delete(GRANTS).where(GRANTS.c.subject == subject))
            connection.execute(delete(CERTIFICATES).where(CERTIFICATES.c.subject == subject))
            open_ = (JOBS.c.subject == subject) & JOBS.c.state.in_(UNFINISHED)
            connection.execute(JOBS.update().where(open_).values(state=JobState.CANCELLED, updated=time))
            given_back_unbegun(connection, JOBS.c.subject == subject)
            append_act(connection, now, by, "remove person", subject=subject)

    def find(self, subject: str) -> Person | None:
        """The person, also one who was removed; None for a name that nobody has or had."""
        with self._database.reading() as connection:
            row = connection.execute(select(PEOPLE).where(PEOPLE.c.subject == subject)).one_or_none()
        return None if row is None else _person(row)

    def list(self, *, removed: bool = False) -> tuple[Person, ...]:
        """All people by name; those who were removed only with `removed`."""
        asked = select(PEOPLE).order_by(PEOPLE.c.subject)
        if not removed:
            asked = asked.where(PEOPLE.c.removed.is_(None))
        with self._database.reading() as connection:
            return tuple(_person(row) for row in connection.execute(asked))


def require_known(connection: Connection, subject: str, *, lock: bool = False) -> None:
    """Raise `NotFound` unless this person is known and not removed; with `lock` nobody removes them now."""
    asked = select(PEOPLE.c.subject).where(PEOPLE.c.subject == subject, PEOPLE.c.removed.is_(None))
    if connection.execute(asked.with_for_update() if lock else asked).one_or_none() is None:
        raise NotFound(f"Nobody here is called {subject[:80]!a}. Add them first.")


def _require_free(connection: Connection, subject: str) -> None:
    asked = select(PEOPLE.c.subject, PEOPLE.c.removed).where(PEOPLE.c.folded == subject.casefold())
    found = connection.execute(asked).one_or_none()
    if found is None:
        return
    if found.subject != subject:
        raise NameTaken(f"`{subject}` looks like `{found.subject}`, which is taken. Choose another name.")
    if found.removed is not None:
        raise NameTaken(f"`{subject}` was removed, and a name is never given out again. Choose another name.")
    raise NameTaken(f"`{subject}` is taken. Choose another name.")


def _person(row: Any) -> Person:
    return Person(
        row.subject,
        row.provider,
        row.display,
        row.agent,
        row.password is not None,
        moment_of(row.created),
        None if row.removed is None else moment_of(row.removed),
        None if row.one_time is None or row.password is None else moment_of(row.one_time),
        None if row.vouched is None else moment_of(row.vouched),
    )
