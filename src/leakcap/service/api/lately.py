"""What was found a moment ago, for whoever asks again: nobody without a credential keeps the engine busy."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

__all__ = ["Lately"]


class Lately:
    """What a function found, for a second; of many who ask at once one looks, and all are told.

    >>> found = iter([True, False])
    >>> ready = Lately(lambda: next(found))
    >>> ready(), ready()
    (True, True)
    """

    def __init__(
        self, look: Callable[[], bool], *, seconds: float = 1.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._look, self._seconds, self._clock = look, seconds, clock
        self._found, self._until = False, float("-inf")
        self._lock = threading.Lock()

    def __call__(self) -> bool:
        """What it found."""
        with self._lock:
            if self._clock() >= self._until:
                self._found = self._look()
                self._until = self._clock() + self._seconds
            return self._found
