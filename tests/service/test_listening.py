"""Web workers share their connections: none takes all that wait, and as many may wait as before."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import pytest

from leakcap.service.running.listening import AT_A_TIME, SharedListener

CLIENTS = 24


@contextlib.contextmanager
def knocking(listener: socket.socket, seconds: float = 10.0) -> Iterator[list[socket.socket]]:
    """Connections that wait to be taken; each may take so many seconds to be made."""
    with contextlib.ExitStack() as opened:
        yield [
            opened.enter_context(socket.create_connection(listener.getsockname(), timeout=seconds))
            for _ in range(CLIENTS)
        ]


def bound(kind: type[socket.socket]) -> socket.socket:
    found = kind(socket.AF_INET, socket.SOCK_STREAM)
    found.bind(("127.0.0.1", 0))
    found.setblocking(False)
    return found


async def taken_by_two(first: socket.socket, at_a_time: int) -> tuple[int, int]:
    """How many connections that wait each of two workers takes, where both wake at once."""
    counts = [0, 0]

    class Counting(asyncio.Protocol):
        def __init__(self, worker: int) -> None:
            counts[worker] += 1

    loop, second = asyncio.get_running_loop(), first.dup()
    first.listen(CLIENTS)
    with knocking(first):
        servers = [
            await loop.create_server(lambda worker=worker: Counting(worker), sock=one, backlog=at_a_time)
            for worker, one in enumerate((first, second))
        ]
        for _ in range(20 * CLIENTS):
            await asyncio.sleep(0)
        for one in servers:
            one.close()
    return counts[0], counts[1]


def test_workers_take_one_connection_at_a_time() -> None:
    counts = asyncio.run(taken_by_two(bound(SharedListener), AT_A_TIME))
    assert sum(counts) == CLIENTS
    assert min(counts) > CLIENTS // 4
    # As asyncio does by itself, the first to wake has them all.
    assert min(asyncio.run(taken_by_two(bound(socket.socket), 100))) == 0


@pytest.mark.parametrize("kind", [SharedListener, socket.socket])
def test_as_many_may_wait_as_before(kind: type[socket.socket]) -> None:
    """asyncio gives the number that it takes at a time to `listen`, too."""
    with bound(kind) as listener:
        listener.listen(AT_A_TIME)
        if kind is SharedListener:
            with knocking(listener) as waiting:
                assert len(waiting) == CLIENTS
        else:
            with pytest.raises(TimeoutError), knocking(listener, seconds=0.3):
                pass
