"""Secrets that let a program or a browser in: personal access tokens and the console's sessions.

A token is `lkc_<id>_<secret>`. The secret has 256 random bits, so that its SHA-256 is all that is kept; it is
shown once. A token may be narrowed to scopes and data sets, ends by itself, and can be revoked.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, select

from leakcap.errors import require
from leakcap.ledger.chain import require_line, require_text
from leakcap.service.store.acts import append_act
from leakcap.service.store.database import StoreDatabase
from leakcap.service.store.errors import NotFound, OneTimePassword, StateConflict
from leakcap.service.store.people import require_known
from leakcap.service.store.schema import PEOPLE, TOKENS
from leakcap.service.store.scopes import TokenScope, named_scopes
from leakcap.service.store.times import Clock, moment_of, stored_time

__all__ = [
    "OF_ID",
    "SESSION",
    "TOKEN",
    "FoundToken",
    "Issued",
    "Token",
    "TokenBook",
    "looks_like_token",
    "parts_of",
]

TOKEN, SESSION = "token", "session"
"""The kinds: what a person makes for a program, and what signing in makes."""

_FORM = re.compile(r"lkc_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
# Put together once, and not at each request.
OF_ID = (
    select(TOKENS, PEOPLE.c.agent.label("of_agent"), PEOPLE.c.vouched)
    .join(PEOPLE, PEOPLE.c.subject == TOKENS.c.subject)
    .where(TOKENS.c.id == bindparam("id_"), TOKENS.c.revoked.is_(None), PEOPLE.c.removed.is_(None))
)
_LONGEST = {TOKEN: timedelta(days=366), SESSION: timedelta(hours=24)}


@dataclass(frozen=True)
class Token:
    """A token without its secret. `scopes` and `datasets` are None where it is not narrowed."""

    id: str
    kind: str
    subject: str
    label: str
    scopes: frozenset[TokenScope] | None
    datasets: frozenset[str] | None
    agent: bool
    created: datetime
    expires: datetime
    revoked: datetime | None
    last_used: str | None


@dataclass(frozen=True)
class Issued:
    """A token that was just made, and the text to present, which is not kept."""

    token: Token
    secret: str

    def __repr__(self) -> str:
        return f"Issued(token={self.token!r}, secret='…')"


class FoundToken(NamedTuple):
    """A token that lets somebody in, whether that is an agent, and when a provider last vouched for them or,
    if that was later, they made it."""

    token: Token
    of_agent: bool
    vouched: datetime


class TokenBook:
    """The tokens and sessions that were issued."""

    def __init__(self, database: StoreDatabase, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def issue(
        self,
        subject: str,
        *,
        lifetime: timedelta,
        kind: str = TOKEN,
        label: str = "",
        scopes: Iterable[TokenScope | str] | None = None,
        datasets: Iterable[str] | None = None,
        agent: bool = False,
        password: str | None = None,
        session: str | None = None,
        vouched: bool = False,
    ) -> Issued:
        """Make a token of a known person. Raises `NotFound` for anybody else.

        With the hash of a `password` that was verified, `StateConflict` where it was changed meanwhile, and
        `OneTimePassword` where it lets in nobody. With the number of the `session` that asks, `StateConflict`
        where that has ended meanwhile: what ends a person's sessions leaves no token that is on its way.
        `vouched` says that a provider has just said who this is.
        """
        _require_asked(kind, lifetime, label)
        now = self._clock()
        token = Token(
            secrets.token_hex(8),
            kind,
            subject,
            label,
            None if scopes is None else named_scopes(scopes),
            None if datasets is None else frozenset(datasets),
            agent,
            now,
            now + lifetime,
            None,
            None,
        )
        secret = secrets.token_urlsafe(32)
        with self._database.writing() as connection:
            require_known(connection, subject, lock=True)
            if password is not None:
                _require_unchanged(connection, subject, password)
            if session is not None:
                _require_live(connection, subject, session, now)
            connection.execute(TOKENS.insert().values(_row(token, secret)))
            if vouched:
                person = PEOPLE.c.subject == subject
                connection.execute(PEOPLE.update().where(person).values(vouched=stored_time(now)))
            if kind == TOKEN:
                details = {"token": token.id, "label": label, "agent": agent}
                append_act(connection, now, subject, "issue token", subject=subject, details=details)
        return Issued(token, f"lkc_{token.id}_{secret}")

    def find(self, presented: str, now: datetime | None = None) -> FoundToken | None:
        """The token with this secret; None unless it lets its person in now.

        A wrong secret takes as long with a known id as with an unknown one.
        """
        id_, secret = parts_of(presented)
        row = next(iter(self._database.rows(OF_ID, id_=id_)), None)
        same = hmac.compare_digest(_hash(secret), "0" * 64 if row is None else row.hash)
        time = self._clock() if now is None else now
        if row is None or not same or moment_of(row.expires) <= time:
            return None
        self._note_day(row, time)
        vouched = max(row.created, row.vouched or "")
        return FoundToken(_token(row), bool(row.of_agent), moment_of(vouched))

    def _note_day(self, row: Any, time: datetime) -> None:
        """Remember the day of the last use, which costs one write a day."""
        day = stored_time(time)[:10]
        if row.last_used is None or row.last_used < day:
            with self._database.writing() as connection:
                connection.execute(TOKENS.update().where(TOKENS.c.id == row.id).values(last_used=day))

    def list(self, subject: str, *, kind: str = TOKEN) -> tuple[Token, ...]:
        """A person's tokens, also those that have ended, newest first."""
        asked = select(TOKENS).where(TOKENS.c.subject == subject, TOKENS.c.kind == kind)
        with self._database.reading() as connection:
            rows = connection.execute(asked.order_by(TOKENS.c.created.desc(), TOKENS.c.id)).all()
        return tuple(_token(row) for row in rows)

    def revoke(self, subject: str, id_: str, *, by: str) -> None:
        """End a person's token or session at once. Raises `NotFound` for one that they do not have."""
        now = self._clock()
        live = (TOKENS.c.id == id_) & (TOKENS.c.subject == subject) & TOKENS.c.revoked.is_(None)
        with self._database.writing() as connection:
            if not connection.execute(TOKENS.update().where(live).values(revoked=stored_time(now))).rowcount:
                raise NotFound("There is no such token, or it was revoked. Nothing changed.")
            append_act(connection, now, by, "revoke token", subject=subject, details={"token": id_})

    def end(self, presented: str) -> None:
        """Sign out: end the session with this secret; nothing happens where there is none."""
        found = self.find(presented)
        if found is not None and found[0].kind == SESSION:
            live = (TOKENS.c.id == found[0].id) & TOKENS.c.revoked.is_(None)
            with self._database.writing() as connection:
                connection.execute(TOKENS.update().where(live).values(revoked=stored_time(self._clock())))

    def goes_on(self, session: str, subject: str) -> bool:
        """Whether this session goes on and is this person's; where it is another's, it ends."""
        now = stored_time(self._clock())
        live = (TOKENS.c.id == session) & (TOKENS.c.kind == SESSION) & TOKENS.c.revoked.is_(None)
        with self._database.writing() as connection:
            theirs = live & (TOKENS.c.subject != subject)
            connection.execute(TOKENS.update().where(theirs).values(revoked=now))
            own = live & (TOKENS.c.subject == subject) & (TOKENS.c.expires > now)
            return connection.execute(select(TOKENS.c.id).where(own)).first() is not None

    def forget(self, before: datetime) -> int:
        """Delete sessions that ended before this moment; how many there were. Tokens stay in the list."""
        old = (TOKENS.c.kind == SESSION) & (TOKENS.c.expires < stored_time(before))
        with self._database.writing() as connection:
            return connection.execute(TOKENS.delete().where(old)).rowcount


def parts_of(presented: str) -> tuple[str, str]:
    """The id and the secret in what was presented; both empty where that has not a token's form."""
    found = _FORM.fullmatch(presented)
    return (found[1], found[2]) if found else ("", "")


def looks_like_token(presented: str) -> bool:
    """Whether this is meant as a token of the curator, not of a provider.

    >>> looks_like_token("lkc_ab"), looks_like_token("eyJhbGciOi.e30.x")
    (True, False)
    """
    return presented.startswith("lkc_")


def _require_asked(kind: str, lifetime: timedelta, label: str) -> None:
    require(kind in _LONGEST, "kind", "token", "be `token` or `session`", kind)
    longest = _LONGEST[kind]
    rule = f"be positive and at most {longest.days} days"
    require(timedelta(0) < lifetime <= longest, "lifetime", "token", rule, str(lifetime))
    require_text(label, "label", "token")
    require_line(label, "label", "token")


def _require_unchanged(connection: Connection, subject: str, password: str) -> None:
    asked = select(PEOPLE.c.password, PEOPLE.c.one_time).where(PEOPLE.c.subject == subject)
    row = connection.execute(asked).one()
    if row.password != password:
        raise StateConflict("The password was changed meanwhile. Sign in again.")
    if row.one_time is not None:
        raise OneTimePassword


def _require_live(connection: Connection, subject: str, session: str, now: datetime) -> None:
    """Raise `StateConflict` unless the session goes on; nobody ends it before this transaction has."""
    live = (TOKENS.c.revoked.is_(None)) & (TOKENS.c.expires > stored_time(now))
    own = (TOKENS.c.id == session) & (TOKENS.c.subject == subject) & (TOKENS.c.kind == SESSION)
    if connection.execute(select(TOKENS.c.id).where(own, live).with_for_update()).first() is None:
        raise StateConflict("You were signed out meanwhile. Nothing was done. Sign in again.")


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _row(token: Token, secret: str) -> dict[str, Any]:
    return {
        "id": token.id,
        "kind": token.kind,
        "subject": token.subject,
        "label": token.label,
        "hash": _hash(secret),
        "scopes": None if token.scopes is None else json.dumps(sorted(token.scopes)),
        "datasets": None if token.datasets is None else json.dumps(sorted(token.datasets)),
        "agent": token.agent,
        "created": stored_time(token.created),
        "expires": stored_time(token.expires),
    }


def _token(row: Any) -> Token:
    return Token(
        row.id,
        row.kind,
        row.subject,
        row.label,
        None if row.scopes is None else named_scopes(json.loads(row.scopes)),
        None if row.datasets is None else frozenset(json.loads(row.datasets)),
        bool(row.agent),
        moment_of(row.created),
        moment_of(row.expires),
        None if row.revoked is None else moment_of(row.revoked),
        row.last_used,
    )
