"""What stands before every route: host, size, kind of body, number of the request, headers, and the clock.

A name that is not the curator's is refused, so that no page of another site reaches it under a rebound name.
What changes anything comes as JSON under `/v1`, which no form of another site can send, and elsewhere as a
form of the console's own pages.
"""

from __future__ import annotations

import asyncio
import html
import json
import logging
import re
import secrets
import time
from collections.abc import Callable, Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leakcap.service.api.rates import Rates, TooManyRequests
from leakcap.service.faults import where_raised
from leakcap.service.ticks import rung
from leakcap.service.tracing import METHODS, NO_ROUTE, NOBODY, Tracer, is_trace_address
from leakcap.web.serving.arriving import host_name, replayed, single_headers, whole_body, with_headers
from leakcap.web.serving.guard import HEADERS
from leakcap.wire import PREFIX

__all__ = ["CuratorGuard", "problem_of"]

_log = logging.getLogger("leakcap.curator")
_METHODS = METHODS[:-1]
_JSON = ("application/json", "application/json; charset=utf-8")
_FORM = (
    "application/x-www-form-urlencoded",
    "application/x-www-form-urlencoded; charset=utf-8",
    "application/x-www-form-urlencoded;charset=utf-8",
)
_MONITORED = ("/healthz", "/readyz", "/metrics")
_PAGE = (
    "<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
    "<title>{0}</title><link rel='stylesheet' href='/static/style.css'>"
    "<main class='refusal'><h1>{0}</h1><p>{1}</p><p><a href='/'>To the data sets</a></p></main></html>"
)


def problem_of(status: int, kind: str, title: str, detail: str) -> dict[str, object]:
    """Problem details (RFC 9457) of what the guard itself refuses.

    >>> problem_of(404, "not-found", "Not found", "There is no such address.")["type"]
    'urn:leakcap:problem:not-found'
    """
    return {"type": f"{PREFIX}{kind}", "title": title, "status": status, "detail": detail}


class CuratorGuard:
    """The ASGI application with the guard before it; `timed` says which methods and addresses answer on the
    clock, `names` the host names under which the curator is asked for."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        names: frozenset[str],
        most: int,
        tick: float,
        timed: re.Pattern[str],
        rates: Rates,
        observe: Callable[[str, str, int, float], None],
        tracer: Tracer = NOBODY,
        parents: bool = False,
    ) -> None:
        self._app, self._names, self._most, self._tick, self._timed = app, names, most, tick, timed
        self._rates, self._observe = rates, observe
        self._tracer, self._parents = tracer, parents

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or say why not."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        number = secrets.token_hex(8)
        scope.setdefault("state", {})["request"] = number
        if scope["path"] in _MONITORED:
            await self._answer(scope, receive, send, number)
            return
        with self._tracer.span("request", parent=self._parent(scope), request=number) as span:
            try:
                await self._answer(scope, receive, send, number)
            finally:
                method, route = _method_of(scope), _route_of(scope)
                span.call(f"{method} {route}")
                dataset = str(scope.get("path_params", {}).get("dataset", ""))
                status = scope["state"].get("status", 0)
                span.say(method=method, route=route, status=status, dataset=dataset)

    def _parent(self, scope: Scope) -> str:
        """The span of a proxy's, where the owner says that it writes it; never what a client says."""
        given = single_headers(scope).get("traceparent", "") if self._parents else ""
        return given if is_trace_address(given) else ""

    async def _answer(self, scope: Scope, receive: Receive, send: Send, number: str) -> None:
        arrived, path = time.monotonic(), scope["path"]
        outgoing = self._noting(with_headers(send, {**HEADERS, "x-request-id": number}), scope, arrived)
        headers = single_headers(scope)
        refusal = self._refusal(scope, headers) or self._too_many(scope, headers)
        if refusal is not None:
            await _refuse(outgoing, *refusal, path=path)
            return
        body = await whole_body(receive, headers.get("content-length", "0"), self._most)
        if isinstance(body, tuple):
            await _refuse(outgoing, body[0], "too-much", "Not taken", body[1], path=path)
            return
        timed = self._timed.fullmatch(f"{scope['method']} {path}") is not None
        leaving = self._on_the_clock(outgoing, arrived) if timed else outgoing
        started = [False]
        try:
            await self._app(scope, replayed(body, receive), _started(leaving, started))
        except Exception as error:
            # Never its text: it could hold a value.
            _log.error("request %s failed: %s", number, where_raised(error))
            if not started[0]:
                detail = "What failed is in the curator's log, under this request's number."
                await _refuse(leaving, 500, "internal", "The curator failed", detail, path=path)

    def _refusal(self, scope: Scope, headers: Mapping[str, str]) -> tuple[int, str, str, str] | None:
        method, path = scope["method"], scope["path"]
        name = host_name(headers.get("host", ""))
        if name not in self._names and not (path in _MONITORED and name is not None):
            return 421, "misdirected", "Not here", "This host name is not the curator's."
        if method not in _METHODS:
            return 405, "method-not-allowed", "Not so", "The curator is read with GET and asked with POST."
        if "transfer-encoding" in headers and "content-length" in headers:
            return 400, "ambiguous", "Not taken", "A request has a length or comes in chunks, not both."
        if not _is_page(path):
            return _foreign_json(headers) if method == "POST" else None
        return _foreign_form(headers) if method == "POST" else _embedded(headers)

    def _too_many(self, scope: Scope, headers: Mapping[str, str]) -> tuple[int, str, str, str] | None:
        if scope["path"] in _MONITORED:
            return None
        near = scope.get("client")
        try:
            self._rates.count(_credential(headers), near[0] if near else "")
        except TooManyRequests as error:
            return 429, "too-many-requests", "Too many requests", str(error)
        return None

    def _noting(self, send: Send, scope: Scope, arrived: float) -> Send:
        """One line in the log for each answer: the request's number, method, route and status, and who asked;
        no query and no body."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                method, route = _method_of(scope), _route_of(scope)
                scope["state"]["status"] = message["status"]
                self._observe(method, route, message["status"], time.monotonic() - arrived)
                told = {
                    "request": scope["state"]["request"],
                    "method": method,
                    "route": route,
                    "status": message["status"],
                    "who": scope["state"].get("who", ""),
                }
                _log.info("%s", json.dumps(told))
            await send(message)

        return sending

    def _on_the_clock(self, send: Send, arrived: float) -> Send:
        """Nothing of the answer leaves before the next rung of the clock."""
        waited = [False]

        async def sending(message: Message) -> None:
            if not waited[0]:
                waited[0] = True
                elapsed = time.monotonic() - arrived
                await asyncio.sleep(rung(elapsed, self._tick) - elapsed)
            await send(message)

        return sending


def _method_of(scope: Scope) -> str:
    return scope["method"] if scope["method"] in _METHODS else METHODS[-1]


def _route_of(scope: Scope) -> str:
    """The route's template, never the address that was asked for."""
    return getattr(scope.get("route"), "path", NO_ROUTE)


def _credential(headers: Mapping[str, str]) -> str:
    """What is presented, however its header is spelled: spaces and letters make no second credential."""
    scheme, _, text = headers.get("authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""


def _is_page(path: str) -> bool:
    return not (path == "/v1" or path.startswith("/v1/") or path in _MONITORED)


def _foreign_json(headers: Mapping[str, str]) -> tuple[int, str, str, str] | None:
    if headers.get("content-type", "").lower() not in _JSON:
        return 415, "not-json", "Not taken", "Send JSON: `Content-Type: application/json`."
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return 403, "other-site", "Not from there", "The curator does not answer other sites."
    return None


def _foreign_form(headers: Mapping[str, str]) -> tuple[int, str, str, str] | None:
    host = headers.get("host", "")
    own = headers.get("origin", "") in (f"http://{host}", f"https://{host}")
    if not own or headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        detail = "A form counts only when it is sent from the curator's own page."
        return 403, "other-site", "Not from there", detail
    if headers.get("content-type", "").lower() not in _FORM:
        return 415, "not-a-form", "Not taken", "A form must be sent as forms are, in UTF-8."
    return None


def _embedded(headers: Mapping[str, str]) -> tuple[int, str, str, str] | None:
    """What another site embeds or reads; a link that somebody follows is answered."""
    followed = headers.get("sec-fetch-dest", "document") == "document"
    followed = followed and headers.get("sec-fetch-mode") == "navigate"
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin") or followed:
        return None
    return 403, "other-site", "Not from there", "The curator does not answer other sites."


def _started(send: Send, started: list[bool]) -> Send:
    async def sending(message: Message) -> None:
        started[0] = True
        await send(message)

    return sending


async def _refuse(send: Send, status: int, kind: str, title: str, detail: str, *, path: str) -> None:
    """A problem, to whoever reads JSON; a page, to whoever reads pages."""
    if _is_page(path):
        text = _PAGE.format(html.escape(title), html.escape(detail).replace("`", "")).encode()
    else:
        text = json.dumps(problem_of(status, kind, title, detail)).encode()
    headers = [
        (b"content-type", b"text/html; charset=utf-8" if _is_page(path) else b"application/problem+json"),
        (b"content-length", str(len(text)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
