"""Large answers are made without Python's cyclic collector looking through them again and again.

An answer of 10⁵ groups is some 10⁶ objects, none of which is in a cycle. Every few hundred new objects
start a collection, and each time the heap grows by a quarter a full one: two thirds of the time.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

__all__ = ["uncollected"]


class _Pause:
    """How many blocks are being run, by all threads, and whether the collector ran before the first."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._blocks = 0
        self._ran = False

    def begin(self) -> None:
        with self._lock:
            if not self._blocks:
                self._ran = gc.isenabled()
                gc.disable()
            self._blocks += 1

    def end(self) -> None:
        with self._lock:
            self._blocks = max(self._blocks - 1, 0)  # a process that was forked in a block knows of none
            if not self._blocks and self._ran:
                gc.enable()

    def forget(self) -> None:
        """In a new process, which has none of the threads that were in a block but the one that forked."""
        if self._blocks and self._ran:
            gc.enable()
        self._lock, self._blocks, self._ran = Lock(), 0, False


_PAUSE = _Pause()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_PAUSE.forget)


@contextmanager
def uncollected() -> Iterator[None]:
    """A block without collections, for code that makes many objects and keeps them. It may be nested, and run
    by several threads at once; a collector that was off before stays off.

    >>> with uncollected():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    _PAUSE.begin()
    try:
        yield
    finally:
        _PAUSE.end()
