"""Passwords of local accounts: argon2id, and as much work for a name that nobody has.

    book.set(subject, password, by=…)           a password that stays
    book.give_one_time(subject, password, by=…) one that somebody else knows: good for choosing another
    book.change(subject, verified, password)    what its person chooses

How often a password may be tried is said in `attempts`.
"""

from __future__ import annotations

import secrets
import threading
import unicodedata
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import Connection, select

from leakcap.errors import InvalidParameter
from leakcap.ledger.chain import storable
from leakcap.service.store.acts import append_act
from leakcap.service.store.database import StoreDatabase
from leakcap.service.store.errors import StateConflict
from leakcap.service.store.people import require_known
from leakcap.service.store.schema import PEOPLE, TOKENS
from leakcap.service.store.subjects import LOCAL, provider_of
from leakcap.service.store.times import Clock, stored_time
from leakcap.service.store.tokens import SESSION, TOKEN

__all__ = ["HASHER", "ONE_TIME", "PasswordBook", "drawn_password", "one_time_given"]

HASHER = PasswordHasher()
"""RFC 9106's choice for little memory: 64 MiB, three passes."""

ONE_TIME = timedelta(days=7)
"""How long a password that somebody else gave is good for choosing another."""

_WORDS = "abcdefghjkmnpqrstuvwxyz23456789"
_SHORTEST, _LONGEST = 12, 256
# Each takes 64 MiB: a crowd of attempts waits instead of filling the memory.
_AT_ONCE = threading.BoundedSemaphore(4)


class PasswordBook:
    """The passwords of local accounts."""

    def __init__(self, database: StoreDatabase, clock: Clock, hasher: PasswordHasher = HASHER) -> None:
        self._database, self._clock, self._hasher = database, clock, hasher

    def set(self, subject: str, password: str, *, by: str) -> None:
        """Give a local account a password and end its sessions. Raises `InvalidParameter` for a weak one."""
        hashed = self.hashed(subject, password)
        with self._database.writing() as connection:
            require_known(connection, subject, lock=True)
            now = self._clock()
            _keep(connection, subject, now, password=hashed, kinds=(SESSION,))
            append_act(connection, now, by, "set password", subject=subject)

    def give_one_time(self, subject: str, password: str, *, by: str) -> datetime:
        """Give a local account a password that lets nobody in, only its person choose another; until when.

        Their sessions and tokens end: whoever forgot a password, or lost it to somebody, cannot say which
        tokens are theirs. Raises `InvalidParameter` for a weak one.
        """
        hashed = self.hashed(subject, password)
        with self._database.writing() as connection:
            return one_time_given(connection, subject, hashed, self._clock(), by=by)

    def change(self, subject: str, verified: str, password: str, *, end_tokens: bool = False) -> str:
        """Keep the password that a person chose in place of the one whose hash was `verified`; its hash.

        All their sessions end, and with `end_tokens` their tokens. Raises `InvalidParameter` for a weak
        password or the same one, `StateConflict` where it was changed meanwhile.
        """
        hashed = self.hashed(subject, password)
        with _AT_ONCE:
            same = _matches(self._hasher, verified, _prepared(password))
        if same:
            raise InvalidParameter("The new password must be another one. Choose another.")
        with self._database.writing() as connection:
            require_known(connection, subject, lock=True)
            asked = select(PEOPLE.c.password).where(PEOPLE.c.subject == subject)
            if connection.execute(asked).scalar_one() != verified:
                raise StateConflict("The password was changed meanwhile. Nothing was done. Sign in again.")
            now, kinds = self._clock(), (SESSION, TOKEN) if end_tokens else (SESSION,)
            ended = _keep(connection, subject, now, password=hashed, kinds=kinds)
            details = {"tokens too": end_tokens, "ended": ended}
            append_act(connection, now, subject, "change password", subject=subject, details=details)
        return hashed

    def hashed(self, subject: str, password: str) -> str:
        """The hash of a new password of this account. Raises `InvalidParameter` for a weak one."""
        _require_strong(subject, password)
        prepared = _prepared(password)
        with _AT_ONCE:
            return self._hasher.hash(prepared)

    def verify(self, subject: str, password: str) -> bool:
        """Whether this is the person's password. A name without one takes as long as one with another."""
        return self.verified(subject, password) is not None

    def verified(self, subject: str, password: str) -> str | None:
        """The hash that is kept of the person's password, if this is it; None otherwise, as `verify` says."""
        asked = select(PEOPLE.c.password, PEOPLE.c.one_time).where(
            PEOPLE.c.subject == subject, PEOPLE.c.removed.is_(None)
        )
        with self._database.reading() as connection:
            row = connection.execute(asked).one_or_none()
        stored, until = (None, None) if row is None else (row.password, row.one_time)
        # What is longer than any password, or no text that could be one, is compared as another one is.
        given = _prepared(password) if len(password) <= _LONGEST and storable(password) else ""
        with _AT_ONCE:
            right = _matches(self._hasher, stored or _nobody(self._hasher), given)
        if not right or stored is None or (until is not None and until <= stored_time(self._clock())):
            return None
        if self._hasher.check_needs_rehash(stored):
            return self._hash_again(subject, stored, given)
        return str(stored)

    def _hash_again(self, subject: str, stored: str, given: str) -> str:
        """Keep the password as today's parameters ask, unless it was changed meanwhile."""
        same = (PEOPLE.c.subject == subject) & (PEOPLE.c.password == stored)
        with _AT_ONCE:
            anew = self._hasher.hash(given)
        with self._database.writing() as connection:
            kept = connection.execute(PEOPLE.update().where(same).values(password=anew)).rowcount
        return anew if kept else stored


def drawn_password() -> str:
    """A password of some 99 random bits, to be read out or typed.

    >>> len(drawn_password())
    23
    """
    return "-".join("".join(secrets.choice(_WORDS) for _ in range(5)) for _ in range(4))


def one_time_given(
    connection: Connection,
    subject: str,
    hashed: str,
    now: datetime,
    *,
    by: str,
    more: Mapping[str, Any] | None = None,
) -> datetime:
    """Keep the hash of a one-time password, in the caller's transaction; until when it is good. The log of
    acts tells `more` of it."""
    require_known(connection, subject, lock=True)
    until = now + ONE_TIME
    ended = _keep(connection, subject, now, password=hashed, kinds=(SESSION, TOKEN), one_time=until)
    details = {"until": stored_time(until), "ended": ended, **(more or {})}
    append_act(connection, now, by, "give one-time password", subject=subject, details=details)
    return until


def _keep(
    connection: Connection,
    subject: str,
    now: datetime,
    *,
    password: str,
    kinds: Collection[str],
    one_time: datetime | None = None,
) -> int:
    """Keep a hash, and end the person's credentials of these kinds; how many there were."""
    kept = {"password": password, "one_time": None if one_time is None else stored_time(one_time)}
    connection.execute(PEOPLE.update().where(PEOPLE.c.subject == subject).values(kept))
    own = (TOKENS.c.subject == subject) & TOKENS.c.kind.in_(kinds) & TOKENS.c.revoked.is_(None)
    live = own & (TOKENS.c.expires > stored_time(now))
    return connection.execute(TOKENS.update().where(live).values(revoked=stored_time(now))).rowcount


def _matches(hasher: PasswordHasher, stored: str, given: str) -> bool:
    try:
        return hasher.verify(stored, given)
    except (VerificationError, InvalidHashError):
        return False


@cache
def _nobody(hasher: PasswordHasher) -> str:
    """The hash of a password that nobody knows."""
    return hasher.hash(secrets.token_hex())


def _prepared(password: str) -> str:
    """One form of what keyboards write in several (RFC 8265), in bytes that can be hashed."""
    return unicodedata.normalize("NFC", password)


def _require_strong(subject: str, password: str) -> None:
    name = subject.partition(":")[2]
    if provider_of(subject) != LOCAL:
        raise InvalidParameter(f"{subject!a} signs in at its provider. Only local accounts have passwords.")
    if not _SHORTEST <= len(password) <= _LONGEST:
        raise InvalidParameter(f"A password must have {_SHORTEST} to {_LONGEST} characters. Choose another.")
    if not storable(password):
        raise InvalidParameter("A password must be text without null characters. Choose another.")
    if len(set(password)) < 5 or (len(name) > 3 and name in password.lower()):
        raise InvalidParameter(
            "A password must have five different characters and not contain the name. Choose another."
        )
