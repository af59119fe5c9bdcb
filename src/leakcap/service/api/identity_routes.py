"""Signing in, oneself, and personal access tokens."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

import leakcap
from leakcap.service.api.answers import About, IssuedTold, MeTold, TokensTold
from leakcap.service.api.bodies import NewTokenBody, PasswordBody, SignInBody
from leakcap.service.api.curator import Curator
from leakcap.service.api.told import told_of_token
from leakcap.service.api.verbs import identity as verbs
from leakcap.service.store.tokens import Issued

__all__ = ["identity_routes"]


def identity_routes(curator: Curator) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1", tags=["identity"])
    configuration = curator.configuration

    @routes.get("", response_model=About)
    def about() -> dict[str, Any]:
        """What this is, and how to sign in."""
        return {
            "name": configuration.name,
            "version": leakcap.__version__,
            "api": "v1",
            "local_accounts": configuration.local_accounts,
            "providers": [one.public() for one in curator.providers],
        }

    @routes.post("/session", status_code=201, response_model=IssuedTold)
    def signed_in(request: Request, given: SignInBody) -> dict[str, Any]:
        """Sign in with name and password; the token is good for twelve hours."""
        address, holder = _address(request), curator.holder(request)
        return _issued(verbs.begin_session(curator, given, address, holder=holder))

    @routes.post("/password", status_code=201, response_model=IssuedTold)
    def change(request: Request, given: PasswordBody) -> dict[str, Any]:
        """Choose another password; all sessions end but the new one. A one-time password lets in nobody
        before that."""
        address, holder = _address(request), curator.holder(request)
        return _issued(verbs.change_password(curator, given, address, holder=holder))

    @routes.delete("/session", status_code=204)
    def signed_out(request: Request) -> Response:
        """End the session that this request came with."""
        text = request.headers.get("authorization", "").partition(" ")[2].strip()
        verbs.end_session(curator, curator.who(request), text)
        return Response(status_code=204)

    @routes.get("/me", response_model=MeTold)
    def me(request: Request) -> dict[str, Any]:
        """Who asks, and their roles."""
        return verbs.tell_of_oneself(curator, curator.who(request))

    @routes.get("/tokens", response_model=TokensTold)
    def tokens(request: Request) -> dict[str, Any]:
        """One's own tokens, without their secrets."""
        return {"tokens": verbs.list_tokens(curator, curator.who(request))}

    @routes.post("/tokens", status_code=201, response_model=IssuedTold)
    def issue(request: Request, given: NewTokenBody) -> dict[str, Any]:
        """A new token; its secret is shown this once."""
        return _issued(verbs.issue_token(curator, curator.who(request), given))

    @routes.delete("/tokens/{number}", status_code=204)
    def revoke(request: Request, number: str) -> Response:
        """End a token at once."""
        verbs.revoke_token(curator, curator.who(request), number)
        return Response(status_code=204)

    return routes


def _address(request: Request) -> str | None:
    return request.client.host if request.client else None


def _issued(issued: Issued) -> dict[str, Any]:
    return {"token": issued.secret, **told_of_token(issued.token)}
