"""One's own password: changed with the old one, by whoever is signed in, or comes with one that was given."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from leakcap.errors import InvalidParameter, LeakcapError
from leakcap.service.api.bodies import PasswordBody
from leakcap.service.api.verbs import identity as verbs
from leakcap.service.console.fields import Fields, body_of
from leakcap.service.console.session import keep_cookie, session_of
from leakcap.service.console.visiting import Console, Form, Visitor, console_of
from leakcap.service.identity.authenticate import SessionCookie
from leakcap.service.identity.principal import Unauthenticated
from leakcap.service.store.subjects import LOCAL, provider_of
from leakcap.wire import as_problem

__all__ = ["choosing", "routes"]

routes = APIRouter()


@routes.get("/password")
def password_page(request: Request) -> Response:
    """Where a password is changed, signed in or not: the old one is what it takes."""
    return choosing(request)


@routes.post("/password")
def change_form(request: Request, fields: Form) -> Response:
    """Another password, and a new session under it for this browser alone."""
    console, name = console_of(request), fields.text("name")
    try:
        given = body_of(PasswordBody, _content(fields))
        address, holder = request.client.host if request.client else None, console.curator.holder(request)
        issued = verbs.change_password(console.curator, given, address, holder=holder)
    except LeakcapError as error:
        problem = as_problem(error)
        wrong = "Name or old password is wrong." if problem["status"] == 401 else str(problem["detail"])
        return choosing(request, name=name, wrong=wrong, status=int(problem["status"]))
    principal = console.curator.known(request, SessionCookie(issued.secret))
    visitor = Visitor(request, console, principal, issued.secret)
    tokens = [one for one in verbs.list_tokens(console.curator, principal) if one["revoked"] is None]
    content = {"changed": True, "tokens": len(tokens), "name": name, "wrong": "", "first": False}
    answer = visitor.page("password", {**content, "local": True})
    keep_cookie(answer, console.curator.configuration, issued.secret)
    return answer


def choosing(
    request: Request, *, name: str = "", wrong: str = "", first: bool = False, status: int = 200
) -> Response:
    """The page, for `name` or whoever is signed in; `first` where a password that was given must go."""
    console = console_of(request)
    visitor = _visitor(request, console)
    own = "" if visitor is None else visitor.principal.subject
    if own and not name:
        name = own.partition(":")[2]
    content = {
        "name": name[:300],
        "wrong": wrong,
        "first": first,
        "changed": False,
        "local": console.curator.configuration.local_accounts and provider_of(own or LOCAL) == LOCAL,
    }
    page = console.page if visitor is None else visitor.page
    return page("password", content, status=status)


def _visitor(request: Request, console: Console) -> Visitor | None:
    session = session_of(request, console.curator.configuration)
    try:
        principal = console.curator.known(request, SessionCookie(session)) if session else None
    except Unauthenticated:
        return None
    return None if principal is None else Visitor(request, console, principal, session)


def _content(fields: Fields) -> dict[str, object]:
    if fields.get("chosen", "") != fields.get("again", ""):
        raise InvalidParameter("The new password was typed in two ways. Nothing was changed. Type it again.")
    return {
        "name": fields.text("name"),
        "password": fields.get("password", ""),
        "chosen": fields.get("chosen", ""),
        "end_tokens": fields.text("end_tokens") == "yes",
    }
