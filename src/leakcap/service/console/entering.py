"""Signing in and out."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from leakcap.errors import LeakcapError
from leakcap.service.api.bodies import SignInBody
from leakcap.service.api.verbs import identity as verbs
from leakcap.service.console.fields import body_of
from leakcap.service.console.passwords import choosing
from leakcap.service.console.session import drop_cookie, keep_cookie
from leakcap.service.console.visiting import Console, Form, Sent, console_of
from leakcap.service.store.errors import OneTimePassword
from leakcap.wire import as_problem

__all__ = ["address_within", "entrance", "routes"]

routes = APIRouter()


@routes.get("/sign-in")
def entrance_page(request: Request) -> Response:
    """Where one signs in."""
    return entrance(console_of(request), {"to": address_within(request.query_params.get("to", ""))})


@routes.post("/sign-in")
def enter_form(request: Request, fields: Form) -> Response:
    """Sign in with name and password."""
    console = console_of(request)
    to, name = address_within(fields.text("to")), fields.text("name")
    try:
        given = body_of(SignInBody, {"name": name, "password": fields.get("password", "")})
        address, holder = request.client.host if request.client else None, console.curator.holder(request)
        issued = verbs.begin_session(console.curator, given, address, holder=holder)
    except OneTimePassword:
        return choosing(request, name=name, first=True, status=403)
    except LeakcapError as error:
        problem = as_problem(error)
        wrong = _wrong(console) if problem["status"] == 401 else str(problem["detail"])
        return entrance(console, {"to": to, "wrong": wrong, "name": name[:300]}, int(problem["status"]))
    answer = RedirectResponse(to or "/", 303)
    keep_cookie(answer, console.curator.configuration, issued.secret)
    return answer


@routes.post("/sign-out")
def leave_form(sent: Sent) -> Response:
    """End the session."""
    verbs.end_session(sent.curator, sent.principal, sent.session)
    answer = RedirectResponse("/sign-in", 303)
    drop_cookie(answer, sent.curator.configuration)
    return answer


def _wrong(console: Console) -> str:
    if console.curator.configuration.client_certificates is None:
        return "Name or password is wrong."
    return "Name, password or certificate is wrong."


def entrance(console: Console, content: Mapping[str, str], status: int = 200) -> Response:
    """The page where one signs in."""
    configuration = console.curator.configuration
    providers = [
        {"alias": alias, "title": one.title or alias}
        for alias, one in sorted(configuration.identity.items())
        if one.console_client_id
    ]
    about = {
        "wrong": "",
        "name": "",
        "local": configuration.local_accounts,
        "providers": providers,
        **content,
    }
    return console.page("sign_in", about, status=status)


def address_within(address: str) -> str:
    """A page of the console's own to go on to; empty for any other address.

    >>> address_within("/queue"), address_within("//evil.example"), address_within("/\\\\evil.example"), address_within("https://a")
    ('/queue', '', '', '')
    """
    good = address.startswith("/") and address[1:2] not in ("/", "\\") and len(address) < 300
    return address if good and address.isascii() and address.isprintable() else ""
