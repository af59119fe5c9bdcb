"""Signing in at a provider: the browser goes there with what it keeps of it, and comes back with a code."""

from __future__ import annotations

import secrets

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from leakcap.service.api.verbs import identity as verbs
from leakcap.service.console.entering import address_within, entrance
from leakcap.service.console.session import (
    begun_of,
    drop_begun,
    drop_cookie,
    keep_begun,
    keep_cookie,
    session_of,
)
from leakcap.service.console.visiting import Console, console_of
from leakcap.service.identity.authenticate import SessionCookie
from leakcap.service.identity.code_flow import BegunSignIn
from leakcap.service.identity.fetching import FetchFailed
from leakcap.service.identity.principal import Unauthenticated
from leakcap.service.store.errors import Forbidden

__all__ = ["routes"]

routes = APIRouter()
_NO_LONGER = "You are no longer signed in at your provider. Sign in again."
# What a provider answers instead of showing a page (OpenID Connect Core 3.1.2.6).
_GONE = ("login_required", "interaction_required", "consent_required", "account_selection_required")
_FAILED = "Signing in did not succeed. Nobody was signed in. Begin again."


@routes.get("/sign-in/{alias}")
def depart_page(request: Request, alias: str) -> Response:
    """To the provider's page; only from a page of the console's own, so that no other site begins it. With
    `again` the provider is asked whether it still knows whoever is signed in here, and shows nothing."""
    console = console_of(request)
    flow = verbs.code_flow(console.curator, alias)
    to = address_within(request.query_params.get("to", ""))
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return RedirectResponse("/sign-in", 303)
    since = int(console.curator.store.clock().timestamp())
    silent = "again" in request.query_params
    # The session's cookie does not come along when the provider sends the browser back; its number does.
    session = _session_at(request, console, alias) if silent else ""
    begun = BegunSignIn(secrets.token_urlsafe(32), alias, since, to, session)
    try:
        answer = RedirectResponse(flow.address(begun, silent=silent), 303)
    except FetchFailed:
        wrong = "The provider cannot be reached. Try again in a moment."
        return entrance(console, {"to": to, "wrong": wrong}, 503)
    keep_begun(answer, console.curator.configuration, begun)
    return answer


@routes.get("/sign-in/{alias}/callback")
def arrive_page(request: Request, alias: str) -> Response:
    """Back from the provider: a new session, whatever this browser had before."""
    console = console_of(request)
    curator, configuration = console.curator, console.curator.configuration
    flow, begun = verbs.code_flow(curator, alias), begun_of(request, configuration)
    answered = request.query_params.multi_items()
    if begun is not None and flow.answers(answered, begun, curator.store.clock()):
        # Only then is the provider asked. To count what any page can send here would shut out a whole office.
        console.entrances.count("", request.client.host if request.client else "")
    try:
        holder = curator.holder(request)
        issued = verbs.begin_session_by_code(curator, flow, answered, begun, holder=holder)
    except Unauthenticated:
        gone = dict(answered).get("error") in _GONE and begun is not None
        to = address_within(begun.to) if gone and begun is not None else ""
        answer = entrance(console, {"to": to, "wrong": _NO_LONGER if gone else _FAILED}, 401)
    except Forbidden as error:
        answer = entrance(console, {"to": "", "wrong": str(error)}, 403)
        if begun is not None and begun.session:
            drop_cookie(answer, configuration)
    else:
        # A page that goes on by itself: after a redirect from elsewhere browsers would keep the session's
        # cookie to themselves, which goes to pages that this site's own pages lead to (`SameSite=Strict`).
        answer = console.page("arrived", {"to": address_within(begun.to if begun else "") or "/"})
        keep_cookie(answer, configuration, issued.secret)
    drop_begun(answer, configuration)
    return answer


def _session_at(request: Request, console: Console, alias: str) -> str:
    """The number of this browser's session at this provider; empty where it has none."""
    text = session_of(request, console.curator.configuration)
    try:
        found = console.curator.known(request, SessionCookie(text) if text else None)
    except Unauthenticated:
        return ""
    return found.session or "" if found.provider == alias else ""
