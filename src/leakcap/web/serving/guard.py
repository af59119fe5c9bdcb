"""What stands before every page: host, origin, session, size, time, and the headers of every answer.

The pages are local, but a browser is not: any site that its user visits can send requests to 127.0.0.1, and
with a rebound name read the answers too. So a request counts only under a host name that is ours; one that
changes anything must come from our own pages; and where a token is asked for, its cookie never leaves for
another site.
"""

from __future__ import annotations

import html
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Receive, Scope, Send

from leakcap.keyed import same_text
from leakcap.web.serving.arriving import (
    host_name,
    is_address,
    replayed,
    single_headers,
    whole_body,
    with_headers,
)
from leakcap.web.serving.settings import Settings, is_loopback

__all__ = ["HEADERS", "MOST_BODY", "Guard", "Keys"]

MOST_BODY = 512 * 1024
_LARGER = {"/method/own": 4 * 1024 * 1024 + 8 * 1024}
"""Pages that take more: a perturbation table, 2 MiB for 750 counts at 256 keys, and the form around it."""
_OPEN = ("/enter", "/static/")
_SAFE = ("GET", "HEAD")
_MOST_ENTRY = 4 * 1024
# A form's text is UTF-8: the parser would follow any other codec that the sender names, however slow.
_FORM = re.compile(
    r"(?:application/x-www-form-urlencoded|multipart/form-data; ?boundary=[^;]{1,80})(?:; ?charset=utf-8)?",
    re.IGNORECASE,
)

HEADERS: Mapping[str, str] = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Keys:
    """The secrets of one run: what lets a browser in, what its cookie says, what its forms carry."""

    token: str | None = field(repr=False)
    cookie: str
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    form: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    def opens(self, token: str) -> bool:
        """Whether this is the token, compared in constant time."""
        return self.token is not None and same_text(token, self.token)

    def known(self, cookies: str) -> bool:
        """Whether a Cookie header holds this session."""
        # Cookies know no ports: whatever other programs of this machine have set comes along, sound or not.
        pairs = (pair.strip().partition("=") for pair in cookies.split(";"))
        return any(name == self.cookie and same_text(value, self.session) for name, _, value in pairs)

    def ours(self, form: str) -> bool:
        """Whether a form was sent from a page of this run."""
        return same_text(form, self.form)


class Guard:
    """The ASGI application with the guard before it."""

    def __init__(self, app: ASGIApp, settings: Settings, keys: Keys) -> None:
        self._app = app
        self._keys = keys
        self._names = _names(settings)
        self._any_address = settings.host in ("0.0.0.0", "::", "")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or say why not."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = single_headers(scope)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _refuse(send, *refusal, head=scope["method"] == "HEAD")
            return
        most = _LARGER.get(scope["path"], MOST_BODY)
        body = await whole_body(receive, headers.get("content-length", "0"), most)
        if isinstance(body, tuple):
            await _refuse(send, *body, head=False)
            return
        if scope["path"] == "/enter" and len(body) > _MOST_ENTRY:
            await _refuse(send, 413, "That is no token.", head=False)
            return
        try:
            await self._app(scope, replayed(body, receive), with_headers(send, HEADERS))
        except Exception:
            # The answer has been given. A traceback in the server's log might hold data.
            if os.environ.get("LEAKCAP_DEBUG"):
                raise

    def _refusal(self, scope: Scope, headers: Mapping[str, str]) -> tuple[int, str] | None:
        method, path = scope["method"], scope["path"]
        host = headers.get("host", "")
        if not self._is_ours(host):
            return 421, "This name is not one of the explorer's. Open it under the address that it printed."
        if method not in (*_SAFE, "POST"):
            return 405, "The explorer is read with GET and asked with POST."
        site = headers.get("sec-fetch-site", "none")
        if method == "POST":
            if headers.get("origin", "") not in (f"http://{host}", f"https://{host}"):
                return 403, "A form counts only when it is sent from the explorer's own page."
            if site not in ("same-origin", "none"):
                return 403, "A form counts only when it is sent from the explorer's own page."
            if not _FORM.fullmatch(headers.get("content-type", "")):
                return 415, "A form must be sent as forms are, in UTF-8."
        elif site in ("cross-site", "same-site") and not _followed(headers):
            return 403, "The explorer does not answer other sites."
        free = self._keys.token is None or path.startswith(_OPEN)
        if not free and not self._keys.known(headers.get("cookie", "")):
            return 401, "Open the address with the token that `leakcap serve` printed, or go to /enter."
        return None

    def _is_ours(self, host: str) -> bool:
        name = host_name(host)
        return name is not None and (name in self._names or (self._any_address and is_address(name)))


def _followed(headers: Mapping[str, str]) -> bool:
    """Whether somebody followed a link to here, rather than a page embedding or reading ours."""
    shown = headers.get("sec-fetch-dest", "document") == "document"
    return shown and headers.get("sec-fetch-mode") == "navigate"


def _names(settings: Settings) -> frozenset[str]:
    names = {name.lower() for name in settings.names}
    if is_loopback(settings.host) or settings.host in ("0.0.0.0", "::", ""):
        names |= {"localhost", "127.0.0.1", "::1"}
    return frozenset(names | {settings.host.lower()}) - {"", "0.0.0.0", "::"}


def _marked(reason: str) -> str:
    """One of the reasons above as HTML: what stands in backticks as code, the way in as a link.

    >>> _marked("Read what `leakcap serve` printed, or go to /enter.")
    'Read what <code>leakcap serve</code> printed, or go to <a href="/enter">/enter</a>.'
    """
    coded = re.sub("`([^`]*)`", r"<code>\1</code>", html.escape(reason))
    return coded.replace(" /enter", ' <a href="/enter">/enter</a>')


async def _refuse(send: Send, status: int, reason: str, *, head: bool) -> None:
    page = (
        "<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' "
        "content='width=device-width'><title>leakcap</title><link rel='stylesheet' href='/static/style.css'>"
        f"<main class='refusal'><h1>Not shown</h1><p>{_marked(reason)}</p></main></html>"
    ).encode()
    headers = {**HEADERS, "content-type": "text/html; charset=utf-8", "content-length": str(len(page))}
    headers |= {"connection": "close"}
    listed = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": listed})
    await send({"type": "http.response.body", "body": b"" if head else page})
