"""Signing in and out, oneself, and personal access tokens."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from leakcap.service.api.bodies import NewTokenBody, PasswordBody, SignInBody
from leakcap.service.api.curator import Curator
from leakcap.service.api.told import told_of_token
from leakcap.service.authorization import Action, datasets_of, roles_on
from leakcap.service.configuration import LOCAL
from leakcap.service.identity.authenticate import choose_password, require_holder, sign_in, sign_in_by_code
from leakcap.service.identity.code_flow import BegunSignIn, CodeFlow
from leakcap.service.identity.principal import Principal, Unauthenticated
from leakcap.service.store.errors import Forbidden, NotFound, StateConflict
from leakcap.service.store.tokens import Issued

__all__ = [
    "begin_session",
    "begin_session_by_code",
    "change_password",
    "code_flow",
    "end_session",
    "issue_token",
    "list_tokens",
    "revoke_token",
    "tell_of_oneself",
]


def begin_session(curator: Curator, given: SignInBody, address: str | None, *, holder: str | None) -> Issued:
    """A session of a local account, for twelve hours; where certificates are asked for, of their `holder`
    alone. Raises `Unauthenticated` and `TooManyAttempts`."""
    if not curator.configuration.local_accounts:
        raise Unauthenticated
    # Before the password is looked at: nobody guesses it with another's certificate.
    require_holder(holder, f"{LOCAL}:{given.name}")
    return sign_in(given.name, given.password, address, curator.store)


def change_password(
    curator: Curator, given: PasswordBody, address: str | None, *, holder: str | None
) -> Issued:
    """Another password for a local account, whose other sessions end; a session under it. The old password is
    the permission, as for `begin_session`, beside a certificate where they are asked for: no token takes its
    place. Raises what that raises."""
    if not curator.configuration.local_accounts:
        raise Unauthenticated
    require_holder(holder, f"{LOCAL}:{given.name}")
    return choose_password(
        given.name, given.password, given.chosen, address, curator.store, end_tokens=given.end_tokens
    )


def code_flow(curator: Curator, alias: str) -> CodeFlow:
    """How people sign in at this provider from the console. Raises `NotFound` where they do not."""
    for one in curator.providers:
        if one.alias == alias and one.console_client_id:
            return CodeFlow(one, f"{curator.configuration.origin}/sign-in/{alias}/callback")
    raise NotFound("Nobody signs in there. Choose another way to sign in.")


def begin_session_by_code(
    curator: Curator,
    flow: CodeFlow,
    answer: Iterable[tuple[str, str]],
    begun: BegunSignIn | None,
    *,
    holder: str | None,
) -> Issued:
    """A session of whom the provider verified, for two hours. Raises `Unauthenticated` and `Forbidden`."""
    return sign_in_by_code(flow, answer, begun, curator.store, holder=holder)


def end_session(curator: Curator, principal: Principal, text: str) -> None:
    """End the session, or the token, with this text."""
    curator.allow(principal, Action.SEE_ONESELF)
    found = curator.store.tokens.find(text)
    if found is not None:
        curator.store.tokens.revoke(principal.subject, found[0].id, by=principal.subject)


def tell_of_oneself(curator: Curator, principal: Principal) -> dict[str, Any]:
    """Who asks, and their roles."""
    curator.allow(principal, Action.SEE_ONESELF)
    grants = curator.grants(principal)
    return {
        "subject": principal.subject,
        "agent": principal.agent,
        "scopes": None if principal.scopes is None else sorted(principal.scopes),
        "roles": {name: sorted(roles_on(principal, grants, name)) for name in datasets_of(principal, grants)},
        "curator": sorted(roles_on(principal, grants, None)),
    }


def list_tokens(curator: Curator, principal: Principal) -> list[dict[str, Any]]:
    """One's own tokens, without their secrets."""
    curator.allow(principal, Action.SEE_TOKENS)
    return [told_of_token(one) for one in curator.store.tokens.list(principal.subject)]


def issue_token(curator: Curator, principal: Principal, given: NewTokenBody) -> Issued:
    """A new token; its secret is shown this once. Raises `Unauthenticated` where the session that asks ends
    before the token is made, and `Forbidden` where their provider has not been asked for an hour: whom it let
    go makes nothing that lasts."""
    curator.allow(principal, Action.ISSUE_TOKEN)
    if not principal.known_lately(curator.store.clock()):
        raise Forbidden(
            "You signed in at your provider more than an hour ago. No token was made. Load the page again, "
            "which asks the provider, and then make it."
        )
    try:
        return curator.store.tokens.issue(
            principal.subject,
            lifetime=timedelta(days=given.days),
            label=given.label,
            scopes=given.scopes,
            datasets=given.datasets,
            agent=given.agent or principal.agent,
            session=principal.session,
        )
    except StateConflict:
        raise Unauthenticated from None


def revoke_token(curator: Curator, principal: Principal, number: str) -> None:
    """End a token at once."""
    curator.allow(principal, Action.REVOKE_TOKEN)
    curator.store.tokens.revoke(principal.subject, number, by=principal.subject)
