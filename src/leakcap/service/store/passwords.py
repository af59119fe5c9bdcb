"""Passwords of local accounts: argon2id, and as much work for a name that nobody has.

How often a password may be tried is said in `attempts`.
"""

from __future__ import annotations

import secrets
import threading
import unicodedata
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import select

from leakcap.errors import InvalidParameter
from leakcap.ledger.chain import storable
from leakcap.service.store.acts import append_act
from leakcap.service.store.database import StoreDatabase
from leakcap.service.store.people import require_known
from leakcap.service.store.schema import PEOPLE, TOKENS
from leakcap.service.store.subjects import LOCAL, provider_of
from leakcap.service.store.times import Clock, stored_time

__all__ = ["HASHER", "PasswordBook"]

HASHER = PasswordHasher()
"""RFC 9106's choice for little memory: 64 MiB, three passes."""

_SHORTEST, _LONGEST = 12, 256
# Each takes 64 MiB: a crowd of attempts waits instead of filling the memory.
_AT_ONCE = threading.BoundedSemaphore(4)


class PasswordBook:
    """The passwords of local accounts."""

    def __init__(self, database: StoreDatabase, clock: Clock, hasher: PasswordHasher = HASHER) -> None:
        self._database, self._clock, self._hasher = database, clock, hasher

    def set(self, subject: str, password: str, *, by: str) -> None:
        """Give a local account a password and end its sessions. Raises `InvalidParameter` for a weak one."""
        _require_strong(subject, password)
        prepared = _prepared(password)
        with _AT_ONCE:
            hashed = self._hasher.hash(prepared)
        with self._database.writing() as connection:
            require_known(connection, subject, lock=True)
            person = PEOPLE.c.subject == subject
            connection.execute(PEOPLE.update().where(person).values(password=hashed))
            own = (TOKENS.c.subject == subject) & (TOKENS.c.kind == "session")
            now = self._clock()
            connection.execute(
                TOKENS.update().where(own & TOKENS.c.revoked.is_(None)).values(revoked=stored_time(now))
            )
            append_act(connection, now, by, "set password", subject=subject)

    def verify(self, subject: str, password: str) -> bool:
        """Whether this is the person's password. A name without one takes as long as one with another."""
        return self.verified(subject, password) is not None

    def verified(self, subject: str, password: str) -> str | None:
        """The hash that is kept of the person's password, if this is it; None otherwise, as `verify` says."""
        asked = select(PEOPLE.c.password).where(PEOPLE.c.subject == subject, PEOPLE.c.removed.is_(None))
        with self._database.reading() as connection:
            stored = connection.execute(asked).scalar_one_or_none()
        # What is longer than any password, or no text that could be one, is compared as another one is.
        given = _prepared(password) if len(password) <= _LONGEST and storable(password) else ""
        with _AT_ONCE:
            right = _matches(self._hasher, stored or _nobody(self._hasher), given)
        if not right or stored is None:
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
