"""How many requests one credential, or one address without any, may send in a minute, to one worker; and how
many questions of one person its engine may have at a time."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from leakcap.errors import LeakcapError

__all__ = ["AtOnce", "Rates", "TooManyRequests"]

_MOST = 10_000
_AT_ONCE = 8


class TooManyRequests(LeakcapError):
    """More requests in a minute than the owner allows."""


class Rates:
    """A bucket for each credential, that fills evenly; the least recently used are forgotten.

    >>> rates = Rates(2, clock=lambda: 0.0)
    >>> rates.count("a", ""), rates.count("a", ""), rates.count("b", "")
    (None, None, None)
    >>> rates.count("a", "")
    Traceback (most recent call last):
    leakcap.service.api.rates.TooManyRequests: More than 2 requests in a minute. Wait a moment.
    """

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = per_minute, clock
        self._left: dict[bytes, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def count(self, credential: str, address: str) -> None:
        """One request. Raises `TooManyRequests`."""
        key = hashlib.sha256((credential or f"address {address}").encode("utf-8", "replace")).digest()
        now = self._clock()
        with self._lock:
            left, then = self._left.pop(key, (float(self._most), now))
            left = min(float(self._most), left + (now - then) * self._most / 60)
            self._left[key] = (max(0.0, left - 1.0), now)
            if len(self._left) > _MOST:
                del self._left[next(iter(self._left))]
        if left < 1.0:
            raise TooManyRequests(f"More than {self._most:,} requests in a minute. Wait a moment.")


class AtOnce:
    """How many questions of each person are being answered, so that nobody's fill the queue of the engine;
    or how many streams are open, so that nobody's take all connections.

    >>> with AtOnce(1).one("local:ada"):
    ...     print("answered")
    answered
    """

    def __init__(self, most: int = _AT_ONCE, *, what: str = "questions are being answered") -> None:
        self._most, self._what = most, what
        self._now, self._lock = Counter[str](), threading.Lock()

    @contextmanager
    def one(self, subject: str) -> Iterator[None]:
        """One question of this person. Raises `TooManyRequests`."""
        with self._lock:
            if self._now[subject] >= self._most:
                raise TooManyRequests(f"{self._most} of your {self._what}. Wait for one.")
            self._now[subject] += 1
        try:
            yield
        finally:
            with self._lock:
                self._now[subject] -= 1
                if not self._now[subject]:
                    del self._now[subject]
