"""A job as it goes on, as server-sent events that live through proxies, and go on where they were cut.

An event's `id` is a digest of what it told. Whoever comes back with it (`Last-Event-ID`, as browsers send by
themselves) is told what changed since, and of a job that has ended and was told of, that nothing more comes:
204, after which a browser no longer returns. While nothing changes a comment is sent, so that no proxy takes
the silence for an end. What passes is told when it is seen, a moment after the job's own clock.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from leakcap.errors import LeakcapError
from leakcap.service.api.rates import AtOnce
from leakcap.service.store.job_states import UNFINISHED

__all__ = ["BEAT", "JobEvents", "event_id"]

BEAT = 15.0
"""Seconds after which a comment breaks the silence; proxies wait for a minute."""
_PAUSE = 0.5
_LONGEST = 600.0
_RETURN = 2000
_HEADERS = {"x-accel-buffering": "no", "cache-control": "no-store"}


def event_id(told: Mapping[str, Any]) -> str:
    """What a job's event is known by: the same for the same words, whenever they are told.

    >>> event_id({"state": "running", "updated": "1"}) == event_id({"state": "running", "updated": "2"})
    True
    """
    # Its process says every two seconds that it is still at it, which is no news.
    words = {name: value for name, value in told.items() if name != "updated"}
    return hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()[:16]


class JobEvents(StreamingResponse):
    """The stream, for ten minutes at most; `look` says what may be told now, and raises where nothing may.

    Nobody has more than so many at a time (`at_once`): each keeps one of the worker's connections.
    """

    def __init__(
        self,
        look: Callable[[], Awaitable[dict[str, Any]]],
        *,
        since: str,
        gone: Callable[[], Awaitable[bool]],
        subject: str,
        at_once: AtOnce,
    ) -> None:
        self._look, self._since, self._gone = look, since, gone
        self._subject, self._at_once = subject, at_once
        super().__init__(self._told(), media_type="text/event-stream", headers=_HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it. Raises `TooManyRequests` before anything is sent."""
        with self._at_once.one(self._subject):
            await super().__call__(scope, receive, send)

    async def _told(self) -> AsyncIterator[str]:
        begun = spoke = time.monotonic()
        last = self._since
        yield f"retry: {_RETURN}\n\n"
        while time.monotonic() - begun < _LONGEST:
            try:
                told = await self._look()
            except LeakcapError:  # signed out, or no longer theirs to see
                return
            now = event_id(told)
            if now != last:
                last, spoke = now, time.monotonic()
                yield f"id: {now}\nevent: job\ndata: {json.dumps(told)}\n\n"
            elif time.monotonic() - spoke >= BEAT:
                spoke = time.monotonic()
                yield ": still so\n\n"
            if told["state"] not in UNFINISHED or await self._gone():
                return
            await asyncio.sleep(_PAUSE)
