"""Signing in at a provider: the browser goes there with what it keeps of it, and comes back with a code."""

from __future__ import annotations

import secrets

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from leakcap.service.api.verbs import identity as verbs
from leakcap.service.console.entering import address_within, entrance
from leakcap.service.console.session import drop_proof, keep_cookie, keep_proof, proof_of
from leakcap.service.console.visiting import console_of
from leakcap.service.identity.code_flow import BegunSignIn
from leakcap.service.identity.fetching import FetchFailed
from leakcap.service.identity.principal import Unauthenticated
from leakcap.service.store.errors import Forbidden

__all__ = ["routes"]

routes = APIRouter()
_FAILED = "Signing in did not succeed. Nobody was signed in. Begin again."


@routes.get("/sign-in/{alias}")
def depart_page(request: Request, alias: str) -> Response:
    """To the provider's page; only from a page of the console's own, so that no other site begins it."""
    console = console_of(request)
    flow = verbs.code_flow(console.curator, alias)
    to = address_within(request.query_params.get("to", ""))
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return RedirectResponse("/sign-in", 303)
    begun = int(console.curator.store.clock().timestamp())
    proof = BegunSignIn(secrets.token_urlsafe(32), alias, begun, to)
    try:
        answer = RedirectResponse(flow.address(proof), 303)
    except FetchFailed:
        wrong = "The provider cannot be reached. Try again in a moment."
        return entrance(console, {"to": to, "wrong": wrong}, 503)
    keep_proof(answer, console.curator.configuration, proof)
    return answer


@routes.get("/sign-in/{alias}/callback")
def arrive_page(request: Request, alias: str) -> Response:
    """Back from the provider: a new session, whatever this browser had before."""
    console = console_of(request)
    curator, configuration = console.curator, console.curator.configuration
    flow, proof = verbs.code_flow(curator, alias), proof_of(request, configuration)
    console.entrances.count("", request.client.host if request.client else "")
    try:
        issued = verbs.begin_session_by_code(curator, flow, request.query_params.multi_items(), proof)
    except Unauthenticated:
        answer = entrance(console, {"to": "", "wrong": _FAILED}, 401)
    except Forbidden as error:
        answer = entrance(console, {"to": "", "wrong": str(error)}, 403)
    else:
        # A page that goes on by itself: after a redirect from elsewhere browsers would keep the session's
        # cookie to themselves, which goes to pages that this site's own pages lead to (`SameSite=Strict`).
        answer = console.page("arrived", {"to": address_within(proof.to if proof else "") or "/"})
        keep_cookie(answer, configuration, issued.secret)
    drop_proof(answer, configuration)
    return answer
