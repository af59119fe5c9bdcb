"""Requests to an ASGI application without a client between: a thousand of them in a second or two."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp

__all__ = ["Said", "request"]


@dataclass(frozen=True)
class Said:
    """What was answered."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def told(self) -> Any:
        """The answer's JSON."""
        return json.loads(self.content)


async def request(
    app: ASGIApp,
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: Any = None,
    host: str = "127.0.0.1:8422",
) -> Said:
    """One request, with a body that is JSON unless it is bytes."""
    content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    place, _, query = path.partition("?")
    sent = {"host": host, **headers}
    if body is not None:
        sent = {"content-type": "application/json", "content-length": str(len(content)), **sent}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(place),
        "raw_path": place.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in sent.items()],
        "client": ("127.0.0.1", 40000),
        "server": ("127.0.0.1", 8422),
    }
    given = [{"type": "http.request", "body": content, "more_body": False}]
    messages: list[Any] = []

    async def receive() -> Any:
        return given.pop() if given else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        messages.append(message)

    await app(scope, receive, send)
    start = messages[0]
    told = {name.decode().lower(): value.decode() for name, value in start.get("headers", [])}
    return Said(start["status"], told, b"".join(one.get("body", b"") for one in messages[1:]))
