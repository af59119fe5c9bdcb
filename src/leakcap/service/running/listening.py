"""The socket on which the web workers wait for connections, each for the next one."""

from __future__ import annotations

import socket

__all__ = ["AT_A_TIME", "QUEUE", "SharedListener"]

QUEUE = 1024
"""How many connections wait at most until a worker takes them."""
AT_A_TIME = 1
"""How many connections a worker takes before it looks at those that it has: what asyncio calls `backlog`."""


class SharedListener(socket.socket):
    """A listening socket that several processes share.

    As many connections as may wait asyncio also takes at a time, so that the first worker to wake had nearly
    all of them, and the others none. A worker takes one at a time here, the more of them the less it has to
    do, and the queue stays as long as it was.
    """

    def listen(self, backlog: int = QUEUE, /) -> None:
        """Wait for connections, of which `QUEUE` may wait, whatever is asked for."""
        super().listen(QUEUE)
