"""A curator on a socket of this machine, as long as it is needed."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import uvicorn

from leakcap.service.api.app import create_curator
from leakcap.service.api.curator import Curator


@contextlib.contextmanager
def served(curator: Curator, **more: Any) -> Iterator[int]:
    """The curator on a free port, which is given."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_curator(curator), log_level="error", **more))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 20.0
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.02)
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(20.0)
        listener.close()
