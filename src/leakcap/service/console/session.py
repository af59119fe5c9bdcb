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
import hmac
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import Response

from leakcap.service.configuration import Configuration
from leakcap.service.identity.code_flow import BegunSignIn

__all__ = [
    "cookie_name",
    "digest_of",
    "drop_cookie",
    "drop_proof",
    "form_token",
    "keep_cookie",
    "keep_proof",
    "proof_of",
    "same",
    "seal",
    "session_of",
]

_SECONDS = 12 * 60 * 60
_SECONDS_TO_ENTER = 10 * 60
_PROOF = re.compile(r"([A-Za-z0-9_-]{43}):([a-z0-9-]{1,32}):([0-9]{1,12}):([A-Za-z0-9_.~%-]{0,900})")


def cookie_name(configuration: Configuration) -> str:
    """The cookie's name; over https one that browsers take from this host alone, and never in the open."""
    return "__Host-leakcap" if _secure(configuration) else f"leakcap_{configuration.address[1]}"


def session_of(request: Request, configuration: Configuration) -> str:
    """What the cookie holds; empty where there is none."""
    return request.cookies.get(cookie_name(configuration), "")


def keep_cookie(response: Response, configuration: Configuration, session: str) -> None:
    """Have the browser keep a session, and send it to the console's own pages alone."""
    response.set_cookie(
        cookie_name(configuration),
        session,
        max_age=_SECONDS,
        path="/",
        secure=_secure(configuration),
        httponly=True,
        samesite="strict",
    )


def drop_cookie(response: Response, configuration: Configuration) -> None:
    """Have the browser forget it."""
    response.delete_cookie(
        cookie_name(configuration),
        path="/",
        secure=_secure(configuration),
        httponly=True,
        samesite="strict",
    )


def keep_proof(response: Response, configuration: Configuration, proof: BegunSignIn) -> None:
    """Have the browser keep what ties the provider's answer to it."""
    fields = (proof.secret, proof.alias, str(proof.begun), quote(proof.to, ""))
    response.set_cookie(
        _proof_name(configuration),
        ":".join(fields),
        max_age=_SECONDS_TO_ENTER,
        path="/",
        secure=_secure(configuration),
        httponly=True,
        samesite="lax",
    )


def proof_of(request: Request, configuration: Configuration) -> BegunSignIn | None:
    """What this browser began at a provider; None where it began nothing."""
    found = _PROOF.fullmatch(request.cookies.get(_proof_name(configuration), ""))
    if found is None:
        return None
    secret, alias, begun, to = found.groups()
    return BegunSignIn(secret, alias, int(begun), unquote(to))


def drop_proof(response: Response, configuration: Configuration) -> None:
    """Have the browser forget it: what was begun is answered once."""
    response.delete_cookie(
        _proof_name(configuration),
        path="/",
        secure=_secure(configuration),
        httponly=True,
        samesite="lax",
    )


def form_token(session: str) -> str:
    """What every form of a session carries."""
    return _made(session, "form")


def seal(session: str, *told: str) -> str:
    """What says that these words were put together in this session, and none was changed since."""
    return _made(session, "promise", *told)


def same(given: str, wanted: str) -> bool:
    """Whether these are the same, compared in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def digest_of(content: Mapping[str, Any]) -> str:
    """A digest of a document, whatever the order of its fields.

    >>> digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _proof_name(configuration: Configuration) -> str:
    return f"{cookie_name(configuration)}-entering"


def _made(session: str, *told: str) -> str:
    text = "".join(f"{len(part)}:{part}" for part in told)
    return hmac.new(session.encode(), text.encode("utf-8", "replace"), "sha256").hexdigest()


def _secure(configuration: Configuration) -> bool:
    return configuration.origin.startswith("https://")
