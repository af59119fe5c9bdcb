"""Calls from a web worker to the engine."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from typing import Any

from leakcap.errors import LeakcapError, LedgerUnavailable
from leakcap.service.engine.messages import receive, send
from leakcap.service.tracing import CURRENT
from leakcap.wire import error_of

__all__ = ["PATIENCE", "EngineClient", "EngineFailed"]

PATIENCE = 10.0
"""Seconds for which a process of the engine that is being started is waited for."""
_PAUSE = 0.05


class EngineFailed(Exception):
    """The engine gave no answer: it ended, took too long, or failed. Whether something was spent, only a
    repetition of the same request tells, which pays nothing twice."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class EngineClient:
    """The engine on a socket, a connection for each call."""

    def __init__(self, path: str, *, seconds: float) -> None:
        self._path, self._seconds = path, seconds

    def call(
        self,
        operation: str,
        dataset: str,
        analyst: str,
        body: Mapping[str, Any] | None = None,
        *,
        request: str = "",
        begun: float | None = None,
        seconds: float | None = None,
    ) -> Any:
        """The result of an operation. Raises what the library raised, or `EngineFailed`.

        Of a job `begun` is its start on the monotonic clock, from which its times are counted, and `seconds`
        how long after it nothing is answered any more.

        Where a process of the engine ends in the middle, another one is asked once more: a question under a
        request's number pays nothing twice, and other operations spend nothing.
        """
        message: dict[str, Any] = {
            "operation": operation,
            "dataset": dataset,
            "analyst": analyst,
            "body": dict(body or {}),
            "request": request,
        }
        if CURRENT.get():
            message["trace"] = CURRENT.get()
        started, most = time.monotonic(), self._seconds
        if begun is not None and seconds is not None:
            message["begun"], started, most = begun, begun, seconds
        again = operation != "amend" and (operation != "release" or bool(request))
        told = self._told(message)
        if told is None and time.monotonic() - started >= most:
            # It was ended for the time that it took, and would be again.
            raise EngineFailed("time")
        interrupted = told is None
        if interrupted and again:
            told = self._told(message)
        if told is None:
            raise EngineFailed("ended")
        if "problem" not in told:
            return told["result"]
        if str(told["problem"].get("type", "")).endswith(":internal"):
            raise EngineFailed("internal")
        error: LeakcapError = error_of(told["problem"])
        if isinstance(error, LedgerUnavailable):
            # Where the ledger is nobody who asks needs to know. Whether something was spent only it tells.
            raise EngineFailed("ledger") from error
        if interrupted and request and not error.committed:
            # The process that ended may have spent: that nothing was is known of the second one alone.
            raise EngineFailed("ended") from error
        raise error

    def _told(self, message: Mapping[str, Any]) -> Any:
        """What the engine says; None where it ended before it said anything."""
        with self._connected() as connection:
            try:
                send(connection, message)
                return receive(connection)
            except TimeoutError:
                raise EngineFailed("time") from None
            except OSError:
                return None

    def _connected(self) -> socket.socket:
        deadline = time.monotonic() + PATIENCE
        while True:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.settimeout(self._seconds + PATIENCE)
            try:
                connection.connect(self._path)
            except OSError:
                connection.close()
                # It is being started again.
                if time.monotonic() > deadline:
                    raise EngineFailed("unreachable") from None
                time.sleep(_PAUSE)
                continue
            return connection
