"""Whose certificate is whose: the thumbprints that administrators registered.

A thumbprint is the SHA-256 of the certificate (DER), as `openssl x509 -fingerprint -sha256` says it. Nothing
that stands in a certificate is read: two subjects may look alike, two thumbprints do not. One certificate is
one person's; a person may have several, so that a new one is registered before the old one ends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, select
from sqlalchemy.exc import IntegrityError

from leakcap.errors import require
from leakcap.service.store.acts import append_act
from leakcap.service.store.database import StoreDatabase
from leakcap.service.store.errors import NotFound, StateConflict
from leakcap.service.store.people import require_known
from leakcap.service.store.schema import CERTIFICATES, PEOPLE
from leakcap.service.store.times import Clock, stored_time

__all__ = ["CertificateBook", "certificate_registered", "require_thumbprint"]

_FORM = re.compile(r"[0-9a-f]{64}")
_TAKEN = "This certificate is registered already. Withdraw it first, or register another one."


class CertificateBook:
    """The certificates that were registered."""

    def __init__(self, database: StoreDatabase, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def register(self, subject: str, thumbprint: str, *, by: str) -> None:
        """From here on this certificate is this person's. Raises `NotFound` for somebody who is not known,
        `StateConflict` for a certificate that is registered already, whoever has it."""
        require_thumbprint(thumbprint)
        with self._database.writing() as connection:
            certificate_registered(connection, subject, thumbprint, self._clock(), by=by)

    def require_may_wait(self, subject: str, thumbprint: str) -> None:
        """What `register` would refuse is refused."""
        require_thumbprint(thumbprint)
        taken = select(CERTIFICATES.c.subject).where(CERTIFICATES.c.thumbprint == thumbprint)
        with self._database.reading() as connection:
            require_known(connection, subject)
            if connection.execute(taken).first() is not None:
                raise StateConflict(_TAKEN)

    def withdraw(self, subject: str, thumbprint: str, *, by: str) -> None:
        """It lets nobody in any more. Raises `NotFound` for one that this person does not have."""
        require_thumbprint(thumbprint)
        theirs = (CERTIFICATES.c.thumbprint == thumbprint) & (CERTIFICATES.c.subject == subject)
        with self._database.writing() as connection:
            if not connection.execute(delete(CERTIFICATES).where(theirs)).rowcount:
                raise NotFound("This certificate is not registered for this person. Nothing changed.")
            details = {"thumbprint": thumbprint}
            append_act(
                connection, self._clock(), by, "withdraw certificate", subject=subject, details=details
            )

    def holder(self, thumbprint: str) -> str | None:
        """Whose it is; None for one that nobody has who is still known."""
        asked = (
            select(CERTIFICATES.c.subject)
            .join(PEOPLE, PEOPLE.c.subject == CERTIFICATES.c.subject)
            .where(CERTIFICATES.c.thumbprint == thumbprint, PEOPLE.c.removed.is_(None))
        )
        with self._database.reading() as connection:
            return connection.execute(asked).scalar_one_or_none()

    def by_subject(self) -> Mapping[str, tuple[str, ...]]:
        """Each person's certificates, the first one registered first; nobody without any."""
        asked = select(CERTIFICATES).order_by(CERTIFICATES.c.time, CERTIFICATES.c.thumbprint)
        found: dict[str, tuple[str, ...]] = {}
        with self._database.reading() as connection:
            for row in connection.execute(asked):
                found[row.subject] = (*found.get(row.subject, ()), row.thumbprint)
        return found


def certificate_registered(
    connection: Connection,
    subject: str,
    thumbprint: str,
    now: datetime,
    *,
    by: str,
    more: Mapping[str, Any] | None = None,
) -> None:
    """The certificate, registered in the caller's transaction; the log of acts tells `more` of it."""
    require_known(connection, subject, lock=True)
    row = {"thumbprint": thumbprint, "subject": subject, "by": by, "time": stored_time(now)}
    try:
        connection.execute(CERTIFICATES.insert().values(row))
    except IntegrityError:
        raise StateConflict(_TAKEN) from None
    details = {"thumbprint": thumbprint, **(more or {})}
    append_act(connection, now, by, "register certificate", subject=subject, details=details)


def require_thumbprint(thumbprint: str) -> None:
    """Raise `InvalidParameter` for what is no thumbprint.

    >>> require_thumbprint("ab" * 32)
    >>> require_thumbprint("AB:CD")
    Traceback (most recent call last):
    leakcap.errors.InvalidParameter: `thumbprint` of `certificate` must be 64 digits and letters a to f: ...
    """
    good = isinstance(thumbprint, str) and _FORM.fullmatch(thumbprint) is not None
    rule = "be 64 digits and letters a to f: its SHA-256"
    require(good, "thumbprint", "certificate", rule, ascii(thumbprint[:80])[1:-1] if thumbprint else "")
