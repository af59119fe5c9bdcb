"""From what a request presents to a `Principal`, or `Unauthenticated`, which says the same for every reason.

    authenticate(Bearer(text) | SessionCookie(text), store, providers, now)
    sign_in(name, password, address, store)     a local account's session
    choose_password(name, password, chosen, …)  another password, and a session under it
    sign_in_by_code(flow, answer, begun, store) a session of whom a provider verified
    certificate_holder(headers, secret, store)  whose certificate the proxy verified
    require_holder(holder, subject)             that it is the certificate of who asks

The reason of a refusal goes to the log, by kind alone: no name, no token, nothing of what was presented.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NoReturn, TypeAlias

from leakcap.errors import InvalidParameter
from leakcap.service.identity.client_certificates import thumbprint_of
from leakcap.service.identity.code_flow import BegunSignIn, CodeFlow
from leakcap.service.identity.oidc import TOKEN_DAYS
from leakcap.service.identity.principal import Principal, Unauthenticated
from leakcap.service.identity.providers import Providers
from leakcap.service.identity.refusals import Refusal, Refused
from leakcap.service.store.errors import Forbidden, NotFound, StateConflict
from leakcap.service.store.store import Store
from leakcap.service.store.subjects import LOCAL, local_subject, provider_of, provider_subject
from leakcap.service.store.tokens import SESSION, TOKEN, Issued, looks_like_token

__all__ = [
    "Bearer",
    "Credentials",
    "SessionCookie",
    "authenticate",
    "certificate_holder",
    "choose_password",
    "require_holder",
    "sign_in",
    "sign_in_by_code",
]

_LOG = logging.getLogger("leakcap.service.identity")
_LONGEST = 8192
_SESSION = timedelta(hours=12)
# Whoever the provider lets go is out by then; the console asks it again at half of this time.
_PROVIDER_SESSION = timedelta(hours=2)


@dataclass(frozen=True)
class Bearer:
    """What stands after `Authorization: Bearer`: a token, a session or a provider's access token."""

    text: str = field(repr=False)


@dataclass(frozen=True)
class SessionCookie:
    """What the console's cookie holds: a session, and nothing else."""

    text: str = field(repr=False)


Credentials: TypeAlias = Bearer | SessionCookie
"""What a request can present."""


def authenticate(
    credentials: Credentials | None, store: Store, providers: Providers, now: datetime
) -> Principal:
    """Who this is. Raises `Unauthenticated`, in one sentence for every reason."""
    try:
        if credentials is None:
            raise Refused(Refusal.NOTHING)
        if len(credentials.text) > _LONGEST or not credentials.text.isascii():
            raise Refused(Refusal.MALFORMED)
        if isinstance(credentials, SessionCookie) or looks_like_token(credentials.text):
            return _by_token(credentials, store, providers, now)
        return _by_provider(credentials.text, store, providers, now)
    except Refused as refused:
        _refuse(refused.kind)


def certificate_holder(headers: Iterable[tuple[bytes, bytes]], secret: str, store: Store) -> str:
    """Whose certificate the proxy verified, which has to have this secret. Raises `Unauthenticated`."""
    try:
        holder = store.certificates.holder(thumbprint_of(headers, secret))
        if holder is None:
            raise Refused(Refusal.CERTIFICATE)
    except Refused as refused:
        _refuse(refused.kind)
    return holder


def require_holder(holder: str | None, subject: str) -> None:
    """Raise `Unauthenticated` unless the certificate is this person's; None where none is asked for."""
    if holder is not None and holder != subject:
        _refuse(Refusal.CERTIFICATE)


def sign_in(name: str, password: str, address: str | None, store: Store) -> Issued:
    """A session of a local account. `address` is where the request came from, None where that is no address.

    Raises `Unauthenticated` for a wrong name or password, which take equally long, `TooManyAttempts`, for any
    name, where it was tried too often, and `OneTimePassword` for the right one of that kind.
    """
    subject, verified = _verified(name, password, address, store)
    try:
        return store.tokens.issue(subject, lifetime=_SESSION, kind=SESSION, password=verified)
    except (NotFound, StateConflict):  # removed, or the password changed, since it was looked at
        _refuse(Refusal.PASSWORD)


def choose_password(
    name: str, password: str, chosen: str, address: str | None, store: Store, *, end_tokens: bool = False
) -> Issued:
    """Another password for a local account, in place of its own or of a one-time one; a session under it.

    All other sessions end, and with `end_tokens` the personal access tokens. Raises what `sign_in` raises,
    and `InvalidParameter` for a weak password, which says nothing of the one that was given.
    """
    subject, verified = _verified(name, password, address, store)
    try:
        kept = store.passwords.change(subject, verified, chosen, end_tokens=end_tokens)
        return store.tokens.issue(subject, lifetime=_SESSION, kind=SESSION, password=kept)
    except (NotFound, StateConflict):
        _refuse(Refusal.PASSWORD)


def sign_in_by_code(
    flow: CodeFlow,
    answer: Iterable[tuple[str, str]],
    begun: BegunSignIn | None,
    store: Store,
    *,
    holder: str | None = None,
) -> Issued:
    """A session of whom the provider verified, who comes back with these parameters to what they began; where
    certificates are asked for, with the one of this `holder`.

    Raises `Unauthenticated`, in one sentence for every reason, and `Forbidden` for somebody verified whom
    nobody has added, who is told under which name to be; and where the provider was asked about the person of
    a session and knows another one: that session ends.
    """
    try:
        if begun is None:
            raise Refused(Refusal.STATE)
        sub = flow.subject(answer, begun, store.clock())
        subject = provider_subject(flow.provider.alias, sub)
        person = store.people.find(subject)
        if person is not None and person.removed is not None:
            raise Refused(Refusal.REMOVED)
        if person is not None and holder not in (None, subject):
            raise Refused(Refusal.CERTIFICATE)
    except InvalidParameter:
        _refuse(Refusal.SUBJECT)
    except Refused as refused:
        _refuse(refused.kind)
    if begun.session and not store.tokens.goes_on(begun.session, subject):
        raise Forbidden("Your provider does not know the person who was signed in here. Sign in again.")
    try:
        return store.tokens.issue(subject, lifetime=_PROVIDER_SESSION, kind=SESSION, vouched=True)
    except NotFound:
        raise Forbidden(
            f"You are verified as `{subject}`, whom nobody has added here. Tell an administrator this name."
        ) from None


def _verified(name: str, password: str, address: str | None, store: Store) -> tuple[str, str]:
    """The subject of this name and password, and the hash that is kept; counted as an attempt."""
    try:
        subject, counted = local_subject(name), name
    except InvalidParameter:
        # No such account can be; it is counted as one name, and takes as long as any other.
        subject, counted = "", "?"
    store.attempts.begin(counted, address)
    verified = store.passwords.verified(subject, password)
    if verified is None:
        _refuse(Refusal.PASSWORD)
    store.attempts.succeed(counted, address)
    return subject, verified


def _by_token(credentials: Credentials, store: Store, providers: Providers, now: datetime) -> Principal:
    found = store.tokens.find(credentials.text, now)
    if found is None:
        raise Refused(Refusal.TOKEN)
    token, of_agent, vouched = found
    if isinstance(credentials, SessionCookie) and token.kind != SESSION:
        raise Refused(Refusal.KIND)
    known = {LOCAL, *(one.alias for one in providers)}
    if token.kind == SESSION and provider_of(token.subject) not in known:
        raise Refused(Refusal.PROVIDER)
    if token.kind == TOKEN and provider_of(token.subject) != LOCAL:
        days = {one.alias: one.token_days for one in providers}.get(provider_of(token.subject), TOKEN_DAYS)
        if now - vouched > timedelta(days=days):
            raise Refused(Refusal.VOUCHED)
    return Principal(
        token.subject,
        provider_of(token.subject),
        token.scopes,
        token.datasets,
        token.id if token.kind == TOKEN else None,
        token.agent or of_agent,
        token.created,
        token.id if token.kind == SESSION else None,
    )


def _by_provider(text: str, store: Store, providers: Providers, now: datetime) -> Principal:
    """A provider's verified subject. Nobody has to have added it, and without a role it sees nothing."""
    alias, sub = providers.verify(text, now)
    try:
        subject = provider_subject(alias, sub)
    except InvalidParameter:
        raise Refused(Refusal.SUBJECT) from None
    person = store.people.find(subject)
    if person is not None and person.removed is not None:
        raise Refused(Refusal.REMOVED)
    if person is not None:
        store.people.note_vouched(person, now)
    return Principal(subject, alias, agent=person is not None and person.agent)


def _refuse(kind: Refusal) -> NoReturn:
    _LOG.info("credentials refused: %s", kind.value, extra={"refusal": kind.value})
    raise Unauthenticated from None
