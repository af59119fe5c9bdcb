"""A curator in the test's own process, asked through the client: HTTP without a socket."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import httpx
from starlette.testclient import TestClient

from leakcap.client import Connection
from leakcap.service.api.app import create_curator
from leakcap.service.api.curator import Curator
from service.direct import PASSWORD, curator_in

HOME = "http://127.0.0.1:8422"
Changed = Callable[[httpx.Request], httpx.Response | None]


class InProcess(httpx.BaseTransport):
    """Requests that the application answers at once; `before` may answer in its place, or fail.

    `requests` are all that were sent, those that it answered too.
    """

    def __init__(self, curator: Curator, before: Changed = lambda request: None) -> None:
        self._curator = curator
        self.before, self.requests = before, list[httpx.Request]()
        self.after: Callable[[httpx.Request, httpx.Response], httpx.Response] = lambda _, answer: answer

    @cached_property
    def _web(self) -> TestClient:
        """Made when it is first asked: many tests answer in its place."""
        return TestClient(create_curator(self._curator), base_url=HOME, raise_server_exceptions=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        found = self.before(request)
        if found is not None:
            return _streamed(found)
        told = self._web.request(
            request.method,
            str(request.url),
            headers=dict(request.headers),
            content=request.content,
            follow_redirects=False,
        )
        answer = httpx.Response(told.status_code, headers=dict(told.headers), content=told.content)
        return _streamed(self.after(request, answer))


def _streamed(answer: httpx.Response) -> httpx.Response:
    """The answer as a network brings it: not read yet."""
    return httpx.Response(answer.status_code, headers=answer.headers, stream=httpx.ByteStream(answer.content))


def token_of(curator: Curator, name: str, **narrowed: Any) -> str:
    """A personal access token of somebody."""
    from datetime import timedelta

    return curator.store.tokens.issue(f"local:{name}", lifetime=timedelta(days=1), **narrowed).secret


def connected(curator: Curator, name: str = "ada", **more: Any) -> tuple[Connection, InProcess]:
    """A connection of somebody's, and what carries it."""
    transport = InProcess(curator)
    return Connection(HOME, token_of(curator, name), transport=transport, **more), transport


__all__ = ["HOME", "PASSWORD", "InProcess", "connected", "curator_in", "token_of"]
