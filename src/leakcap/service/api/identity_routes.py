"""Signing in, oneself, and personal access tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from fastapi import APIRouter, Request, Response

import leakcap
from leakcap.service.api.bodies import NewTokenBody, SignInBody
from leakcap.service.api.curator import Curator
from leakcap.service.authorization import Action, datasets_of, roles_on
from leakcap.service.identity.authenticate import sign_in
from leakcap.service.identity.principal import Unauthenticated
from leakcap.service.store.tokens import Issued, Token

__all__ = ["identity_routes", "told_of_token"]


def identity_routes(curator: Curator) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1", tags=["identity"])
    configuration, store = curator.configuration, curator.store

    @routes.get("")
    def about() -> dict[str, Any]:
        """What this is, and how to sign in."""
        return {
            "name": configuration.name,
            "version": leakcap.__version__,
            "api": "v1",
            "local_accounts": configuration.local_accounts,
            "providers": [one.public() for one in curator.providers],
        }

    @routes.post("/session", status_code=201)
    def signed_in(request: Request, given: SignInBody) -> dict[str, Any]:
        """Sign in with name and password; the token is good for twelve hours."""
        if not configuration.local_accounts:
            raise Unauthenticated
        address = request.client.host if request.client else None
        return _issued(sign_in(given.name, given.password, address, store))

    @routes.delete("/session", status_code=204)
    def signed_out(request: Request) -> Response:
        """End the session that this request came with."""
        principal = curator.who(request)
        curator.allow(principal, Action.SEE_ONESELF)
        text = request.headers["authorization"].partition(" ")[2].strip()
        found = store.tokens.find(text)
        if found is not None:
            store.tokens.revoke(principal.subject, found[0].id, by=principal.subject)
        return Response(status_code=204)

    @routes.get("/me")
    def me(request: Request) -> dict[str, Any]:
        """Who asks, and their roles."""
        principal = curator.who(request)
        curator.allow(principal, Action.SEE_ONESELF)
        grants = curator.grants(principal)
        return {
            "subject": principal.subject,
            "agent": principal.agent,
            "scopes": None if principal.scopes is None else sorted(principal.scopes),
            "roles": {
                name: sorted(roles_on(principal, grants, name)) for name in datasets_of(principal, grants)
            },
            "curator": sorted(roles_on(principal, grants, None)),
        }

    @routes.get("/tokens")
    def tokens(request: Request) -> dict[str, Any]:
        """One's own tokens, without their secrets."""
        principal = curator.who(request)
        curator.allow(principal, Action.SEE_TOKENS)
        return {"tokens": [told_of_token(one) for one in store.tokens.list(principal.subject)]}

    @routes.post("/tokens", status_code=201)
    def issue(request: Request, given: NewTokenBody) -> dict[str, Any]:
        """A new token; its secret is shown this once."""
        principal = curator.who(request)
        curator.allow(principal, Action.ISSUE_TOKEN)
        return _issued(
            store.tokens.issue(
                principal.subject,
                lifetime=timedelta(days=given.days),
                label=given.label,
                scopes=given.scopes,
                datasets=given.datasets,
                agent=given.agent or principal.agent,
            )
        )

    @routes.delete("/tokens/{number}", status_code=204)
    def revoke(request: Request, number: str) -> Response:
        """End a token at once."""
        principal = curator.who(request)
        curator.allow(principal, Action.REVOKE_TOKEN)
        store.tokens.revoke(principal.subject, number, by=principal.subject)
        return Response(status_code=204)

    return routes


def _issued(issued: Issued) -> dict[str, Any]:
    return {"token": issued.secret, **told_of_token(issued.token)}


def told_of_token(token: Token) -> dict[str, Any]:
    """A token without its secret."""
    return {
        "id": token.id,
        "label": token.label,
        "scopes": None if token.scopes is None else sorted(token.scopes),
        "datasets": None if token.datasets is None else sorted(token.datasets),
        "agent": token.agent,
        "created": token.created.isoformat(),
        "expires": token.expires.isoformat(),
        "revoked": None if token.revoked is None else token.revoked.isoformat(),
        "last_used": token.last_used,
    }
