"""A browser's session: its cookie, and what its forms carry.

The cookie holds a session of the store and nothing else. Everything that a form must prove is made of the
session's secret, so that any worker knows it again and nobody else can make it:

- the form's token says that a page of this session made the form;
- the seal of a promise says that this question was previewed, under this policy and this idempotency key.

A second cookie is there while somebody signs in at a provider, for ten minutes at most: the `BegunSignIn`
of this browser. It comes along when the provider sends the browser back (`SameSite=Lax`), and opens nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import Response

from leakcap.keyed import keyed_digest
from leakcap.service.configuration import Configuration
from leakcap.service.identity.code_flow import BegunSignIn

__all__ = [
    "begun_of",
    "cookie_name",
    "digest_of",
    "drop_begun",
    "drop_cookie",
    "form_token",
    "keep_begun",
    "keep_cookie",
    "seal",
    "session_of",
]

_SECONDS = 12 * 60 * 60
_SECONDS_TO_ENTER = 10 * 60
_BEGUN = re.compile(
    r"([A-Za-z0-9_-]{43}):([a-z0-9-]{1,32}):([0-9]{1,12}):([A-Za-z0-9_.~%-]{0,900})(?::([0-9a-f]{16}))?"
)


def cookie_name(configuration: Configuration) -> str:
    """The cookie's name; over https one that browsers take from this host alone, and never in the open."""
    return "__Host-leakcap" if _secure(configuration) else f"leakcap_{configuration.address[1]}"


def session_of(request: Request, configuration: Configuration) -> str:
    """What the cookie holds; empty where there is none."""
    return request.cookies.get(cookie_name(configuration), "")


def keep_cookie(response: Response, configuration: Configuration, session: str) -> None:
    """Have the browser keep a session, and send it to the console's own pages alone."""
    sent = _sent(configuration, "strict")
    response.set_cookie(cookie_name(configuration), session, max_age=_SECONDS, **sent)


def drop_cookie(response: Response, configuration: Configuration) -> None:
    """Have the browser forget it."""
    response.delete_cookie(cookie_name(configuration), **_sent(configuration, "strict"))


def keep_begun(response: Response, configuration: Configuration, begun: BegunSignIn) -> None:
    """Have the browser keep what ties the provider's answer to it."""
    told = (begun.secret, begun.alias, str(begun.since), quote(begun.to, ""), begun.session)
    fields = ":".join(told if begun.session else told[:-1])
    sent = _sent(configuration, "lax")
    response.set_cookie(_name_of_begun(configuration), fields, max_age=_SECONDS_TO_ENTER, **sent)


def begun_of(request: Request, configuration: Configuration) -> BegunSignIn | None:
    """What this browser began at a provider; None where it began nothing."""
    found = _BEGUN.fullmatch(request.cookies.get(_name_of_begun(configuration), ""))
    if found is None:
        return None
    secret, alias, since, to, session = found.groups()
    return BegunSignIn(secret, alias, int(since), unquote(to), session or "")


def drop_begun(response: Response, configuration: Configuration) -> None:
    """Have the browser forget it: what was begun is answered once."""
    response.delete_cookie(_name_of_begun(configuration), **_sent(configuration, "lax"))


def form_token(session: str) -> str:
    """What every form of a session carries."""
    return _made(session, "form")


def seal(session: str, *told: str) -> str:
    """What says that these words were put together in this session, and none was changed since."""
    return _made(session, "promise", *told)


def digest_of(content: Mapping[str, Any]) -> str:
    """A digest of a document, whatever the order of its fields.

    >>> digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _name_of_begun(configuration: Configuration) -> str:
    return f"{cookie_name(configuration)}-entering"


def _made(session: str, *told: str) -> str:
    return keyed_digest(session.encode(), *told).hex()


def _sent(configuration: Configuration, within: Literal["strict", "lax"]) -> dict[str, Any]:
    """Where a browser sends a cookie, which no script reads."""
    return {"path": "/", "secure": _secure(configuration), "httponly": True, "samesite": within}


def _secure(configuration: Configuration) -> bool:
    return configuration.origin.startswith("https://")
