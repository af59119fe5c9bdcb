"""The explorer on a socket."""

from __future__ import annotations

import asyncio
import errno
import gc
import secrets
import socket
from collections.abc import Callable
from dataclasses import replace

import uvicorn

from leakcap.errors import InvalidParameter
from leakcap.web.app import create_app
from leakcap.web.serving.settings import Settings
from leakcap.web.serving.timeouts import PatientProtocol

__all__ = ["address", "serve"]


def address(settings: Settings, port: int) -> str:
    """Where a browser on this machine finds the explorer, with the token where one is asked for.

    >>> address(Settings(), 8421)
    'http://127.0.0.1:8421/'
    """
    host = "127.0.0.1" if settings.host in ("0.0.0.0", "::", "") else settings.host
    shown = f"[{host}]" if ":" in host else host
    path = "" if settings.token is None else f"enter?token={settings.token}"
    return f"http://{shown}:{port}/{path}"


def _bind(listener: socket.socket, settings: Settings) -> None:
    """Take the address. Raises `InvalidParameter`, which says why it cannot be had."""
    where = f"{settings.host}:{settings.port}"
    try:
        listener.bind((settings.host, settings.port))
    except (OSError, UnicodeError) as error:
        remedies = {
            errno.EADDRINUSE: f"`--port` must be free, and another program uses {where}. Take another, or 0.",
            errno.EACCES: f"`--port` must be one that you may use. Got {settings.port}. Take one above 1023.",
        }
        unknown = f"`--host` must be an address of this machine. Got `{settings.host}`."
        raise InvalidParameter(remedies.get(getattr(error, "errno", None) or 0, unknown)) from None


def serve(settings: Settings, *, ready: Callable[[str], None]) -> None:
    """Listen until interrupted; `ready` is told the address once the socket is bound.

    Where a token is needed and none was given, it is made here: nothing is served without.
    """
    if settings.needs_token and not settings.token:
        settings = replace(settings, token=secrets.token_urlsafe(32))
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _bind(listener, settings)
        # From here on a browser's request waits instead of being refused.
        listener.listen(128)
        ready(address(settings, listener.getsockname()[1]))
        server = uvicorn.Server(
            uvicorn.Config(
                create_app(settings),
                log_level="error",
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,
                lifespan="off",
                http=PatientProtocol,
                ws="none",
                limit_concurrency=64,
                timeout_keep_alive=5,
                h11_max_incomplete_event_size=32 * 1024,
            )
        )
        # Modules live as long as the process: no redraw waits while they are searched for garbage.
        gc.freeze()
        try:
            asyncio.run(server.serve(sockets=[listener]))
        finally:
            gc.unfreeze()
