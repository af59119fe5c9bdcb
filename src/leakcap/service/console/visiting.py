"""Who looks at a page or sends a form. A handler that takes a `Visit` is for those who signed in; one that
takes a `Sent` is for a form of their own session, and its fields have been read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.responses import Response

from leakcap.keyed import same_text
from leakcap.service.api.curator import Curator
from leakcap.service.api.rates import Rates
from leakcap.service.console.drawing import PageDrawing
from leakcap.service.console.fields import Fields, read_fields
from leakcap.service.console.reach import pages_for
from leakcap.service.console.session import form_token, session_of
from leakcap.service.identity.authenticate import SessionCookie
from leakcap.service.identity.principal import Principal
from leakcap.service.store.errors import Forbidden

__all__ = ["AskAgain", "Console", "Form", "Sent", "Visit", "Visitor", "console_of"]


_ENTRANCES = 30


@dataclass(frozen=True)
class Console:
    """The curator, what draws its pages, and how often an address may come back from a provider in a minute:
    each time the provider is asked."""

    curator: Curator
    drawing: PageDrawing
    entrances: Rates = field(default_factory=lambda: Rates(_ENTRANCES))

    def page(self, name: str, content: Mapping[str, Any], *, status: int = 200) -> Response:
        """A page for somebody who has not signed in."""
        about = {"who": "", "pages": (), "here": "", "token": "", "curator_name": self.name}
        return self.drawing.page(name, {**about, **content}, status=status)

    @property
    def name(self) -> str:
        """What the owner calls the curator."""
        return self.curator.configuration.name


@dataclass(frozen=True)
class Visitor:
    """Somebody who signed in, and what they sent."""

    request: Request
    console: Console
    principal: Principal
    session: str = field(repr=False)
    fields: Fields = field(default_factory=lambda: Fields([]), repr=False)

    @property
    def curator(self) -> Curator:
        """The curator."""
        return self.console.curator

    def page(self, name: str, content: Mapping[str, Any], *, status: int = 200) -> Response:
        """A page with the navigation that this person may see."""
        about = {
            "who": self.principal.subject,
            "pages": pages_for(self.curator, self.principal),
            "here": self.request.url.path,
            "token": form_token(self.session),
            "curator_name": self.console.name,
        }
        return self.console.drawing.page(name, {**about, **content}, status=status)


def console_of(request: Request) -> Console:
    """The console that this request came to."""
    found: Console = request.app.state.console
    return found


async def _fields(request: Request) -> Fields:
    return read_fields(await request.body())


Form = Annotated[Fields, Depends(_fields)]
"""The fields of a form that anybody may send."""


class AskAgain(Exception):
    """Whoever looks at a page signed in at a provider some time ago, which has to say that it knows them."""

    def __init__(self, alias: str) -> None:
        super().__init__(alias)
        self.alias = alias


def _signed_in(request: Request) -> Visitor:
    console = console_of(request)
    session = session_of(request, console.curator.configuration)
    principal = console.curator.known(request, SessionCookie(session) if session else None)
    return Visitor(request, console, principal, session)


def _visitor(request: Request) -> Visitor:
    found = _signed_in(request)
    principal = found.principal
    # A script looks at a job: it cannot go to the provider and back, and the next page does.
    page = request.headers.get("sec-fetch-dest", "document") == "document"
    if page and not principal.known_lately(found.curator.store.clock()):
        raise AskAgain(principal.provider)
    return found


def _sender(request: Request, fields: Form) -> Visitor:
    found = _signed_in(request)
    if not same_text(fields.get("form", ""), form_token(found.session)):
        raise Forbidden("This form is of another session. Nothing was done. Load its page again.")
    return Visitor(request, found.console, found.principal, found.session, fields)


Visit = Annotated[Visitor, Depends(_visitor)]
"""Somebody who signed in and looks at a page."""
Sent = Annotated[Visitor, Depends(_sender)]
"""Somebody who signed in and sends a form of that session."""
