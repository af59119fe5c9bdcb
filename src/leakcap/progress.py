"""One line on the terminal for what takes longer than a second; nothing at all otherwise.

    with progress("Shannon capacity") as tick:
        for step in range(steps):
            tick(step / steps, f"gap {gap:.0e}")

Rich draws the tables, not this: solvers call it at each step, and theory does not load Rich, whose bar takes
.09 s to import and nine times as long for each call (1.4 µs beside .15, where nothing is drawn).

It is drawn on standard error, only where that is a terminal, only after a second, by the outermost of nested
bars, and is wiped when the work ends, fails or is interrupted.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from types import TracebackType
from typing import Self, TextIO, TypeVar

__all__ = ["Progress", "progress", "tracked"]

Item = TypeVar("Item")

_PATIENCE = 1.0
"""Seconds before anything is drawn."""

_EVERY = 0.1
"""Seconds between two drawings."""

_WIDTH = 24
_WIPE = "\r\x1b[K"

_LINE = threading.Lock()
"""The terminal has one such line: whoever holds it draws, nested bars stay silent."""


class Progress:
    """Call it with a fraction done in [0, 1], or None where nobody knows, and a short note."""

    __slots__ = ("_clock", "_drawn", "_next", "_start", "_stream", "_title")

    def __init__(self, title: str, stream: TextIO | None, clock: Callable[[], float]) -> None:
        self._title, self._clock = title, clock
        self._stream: TextIO | None = stream if stream is not None and stream.isatty() else None
        self._start = self._next = 0.0
        self._drawn = False

    def __enter__(self) -> Self:
        """Take the line of the terminal, if there is one and nobody has it."""
        if self._stream is not None:
            if _LINE.acquire(blocking=False):
                self._start = self._clock()
                self._next = self._start + _PATIENCE
            else:
                self._stream = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wipe the line and give it back, whatever ended the work."""
        stream, self._stream = self._stream, None
        if stream is not None:
            try:
                if self._drawn:
                    stream.write(_WIPE)
                    stream.flush()
            finally:
                _LINE.release()

    def __call__(self, fraction: float | None = None, note: str = "") -> None:
        """Say how far the work is; costs one look at the clock, and nothing where no line is drawn."""
        if self._stream is None:
            return
        now = self._clock()
        if now >= self._next:
            self._next = now + _EVERY
            self._drawn = True
            self._stream.write(_WIPE + self._text(fraction, note, now - self._start))
            self._stream.flush()

    def _text(self, fraction: float | None, note: str, seconds: float) -> str:
        parts = [self._title]
        if fraction is not None:
            share = min(max(fraction, 0.0), 1.0)
            full = round(share * _WIDTH)
            parts.append(f"[{'#' * full}{'.' * (_WIDTH - full)}] {share:4.0%}")
        parts += [note] if note else []
        parts.append(f"{seconds:.0f} s")
        return "  ".join(parts)[: max(shutil.get_terminal_size().columns - 1, 10)]


def progress(
    title: str, *, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
) -> Progress:
    """A bar for a `with` block, on standard error unless another stream is given.

    >>> with progress("a second's work") as tick:
    ...     tick(0.5, "half way")
    """
    return Progress(title, sys.stderr if stream is None else stream, clock)


def tracked(items: Iterable[Item], title: str, total: int | None = None) -> Iterator[Item]:
    """The same items, with a bar for how many of `total` have passed.

    >>> sum(tracked([1, 2, 3], "adding"))
    6
    """
    size = len(items) if total is None and isinstance(items, Sized) else total
    with progress(title) as tick:
        for done, item in enumerate(items):
            tick(done / size if size else None, f"{done:,} of {size:,}" if size else f"{done:,}")
            yield item
