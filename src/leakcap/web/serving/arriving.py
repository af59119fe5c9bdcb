"""What arrives at a server, read with suspicion: headers, host names, bodies; headers of what leaves."""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import Mapping

from starlette.types import Message, Receive, Scope, Send

__all__ = ["host_name", "is_address", "replayed", "single_headers", "whole_body", "with_headers"]

_BODY_SECONDS = 10.0
# A name, or an address of version 6 in brackets, and a port: nothing else, however a browser would read it.
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([0-9A-Za-z][0-9A-Za-z._-]{0,252}))(?::([0-9]{1,5}))?")
_MOST_PORT = 65535


def single_headers(scope: Scope) -> dict[str, str]:
    """Headers by name; one that comes twice counts as not there, host included."""
    found: dict[str, str] = {}
    twice: set[str] = set()
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1").lower()
        twice |= {name} if name in found else set()
        found[name] = value.decode("latin-1")
    return {name: value for name, value in found.items() if name not in twice}


def host_name(host: str) -> str | None:
    """The name or address in a Host header, in small letters; None where it is none.

    >>> host_name("Localhost:8421"), host_name("[::1]"), host_name("a b"), host_name("[localhost]")
    ('localhost', '::1', None, None)
    """
    found = _HOST.fullmatch(host)
    if found is None or int(found[3] or 0) > _MOST_PORT:
        return None
    name = (found[1] or found[2]).lower()
    if (found[1] is not None) != (is_address(name) and ":" in name):
        return None
    return name


def is_address(name: str) -> bool:
    """Whether this is an address, not a name. A rebound name is a name: an address cannot be one."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


async def whole_body(receive: Receive, length: str, most: int) -> bytes | tuple[int, str]:
    """The whole body, or the status and the reason why it was not taken."""
    too_much = 413, f"That is more than {most // 1024} KiB. Send less."
    if not length.isascii() or not length.isdigit() or len(length) > 12 or int(length) > most:
        return too_much
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return 400, "The request ended before it was whole."
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    return too_much
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        return 408, "The request took too long to arrive."


def replayed(body: bytes, receive: Receive) -> Receive:
    """A body that was read, as if it arrived now."""
    left = [body]

    async def once() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return once


def with_headers(send: Send, headers: Mapping[str, str]) -> Send:
    """What is sent, with these headers unless it has them."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", []))
            names = {name.lower() for name, _ in given}
            extra = [(n.encode(), v.encode()) for n, v in headers.items() if n.encode() not in names]
            message = {**message, "headers": given + extra}
        await send(message)

    return sending
