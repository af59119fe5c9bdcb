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
    """Which blocks are being run, by all threads, and whether the collector ran before the first."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._blocks: set[object] = set()
        self._ran = False

    def begin(self, block: object) -> None:
        with self._lock:
            if not self._blocks:
                self._ran = gc.isenabled()
            # First the block, which `end` looks for: Ctrl-C may come between any two of these lines.
            self._blocks.add(block)
            gc.disable()

    def end(self, block: object) -> None:
        with self._lock:
            if block not in self._blocks:
                return  # it did not begin; and a process that was forked in a block knows of none
            self._blocks.remove(block)
            if not self._blocks and self._ran:
                gc.enable()

    def forget(self) -> None:
        """In a new process, which has none of the threads that were in a block but the one that forked."""
        if self._blocks and self._ran:
            gc.enable()
        self._lock, self._blocks, self._ran = Lock(), set(), False


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
    block = object()
    try:
        _PAUSE.begin(block)
        yield
    finally:
        _PAUSE.end(block)
