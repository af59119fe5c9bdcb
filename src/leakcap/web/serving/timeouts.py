"""Connections that say nothing, and those that do not listen, are not waited for.

Each open connection takes one of the few that the explorer has. Uvicorn waits without end for the head of a
request, and for a reader that does not read.
"""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["PATIENCE", "PatientProtocol"]

PATIENCE = 20.0
"""Seconds for the head of a request to arrive, and for a full buffer to be read."""


class PatientProtocol(H11Protocol):
    """HTTP/1.1 with an end to waiting."""

    _head: asyncio.TimerHandle | None = None
    _reader: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request, not for ever."""
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """A head that has begun must end."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._wait_for_head()
        else:
            self._stop("_head")

    def pause_writing(self) -> None:
        """The reader has stopped reading."""
        super().pause_writing()
        if self._reader is None:
            self._reader = self.loop.call_later(PATIENCE, self.transport.abort)

    def resume_writing(self) -> None:
        """The reader goes on."""
        super().resume_writing()
        self._stop("_reader")

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._stop("_head")
        self._stop("_reader")
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        if self._head is None:
            self._head = self.loop.call_later(PATIENCE, self.transport.abort)

    def _stop(self, name: Literal["_head", "_reader"]) -> None:
        timer: asyncio.TimerHandle | None = getattr(self, name)
        if timer is not None:
            timer.cancel()
        setattr(self, name, None)
