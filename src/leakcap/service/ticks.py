"""When an answer leaves: on a rung of a ladder of times, so that how long it took tells little.

The first rung is the tick; each further one is a quarter later. How long an answer took is then one of few
numbers, ⌈log(T / tick) / log 1.25⌉ + 1 of them within T seconds, and tells at most the logarithm of that, in
nats. What it tells in truth the timing audit measures (`benchmarks/curator_timing.py`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["RATIO", "most_nats", "on_the_clock", "rung"]

RATIO = 1.25
"""How much later the next rung is. An answer waits for at most a quarter of the time that it took."""


def rung(elapsed: float, tick: float) -> float:
    """The first rung at or after so many seconds.

    >>> rung(0.02, 0.1), rung(0.11, 0.1)
    (0.1, 0.125)
    """
    if elapsed <= tick:
        return tick
    steps = math.ceil(math.log(elapsed / tick) / math.log(RATIO) - 1e-9)
    found = tick * RATIO**steps
    return found if found >= elapsed else found * RATIO


@contextmanager
def on_the_clock(tick: float) -> Iterator[None]:
    """Whatever is done within, also where it fails, ends on a rung."""
    begun = time.monotonic()
    try:
        yield
    finally:
        elapsed = time.monotonic() - begun
        time.sleep(rung(elapsed, tick) - elapsed)


def most_nats(seconds: float, tick: float) -> float:
    """What the time of one answer can tell at most, in nats, where none takes longer than `seconds`.

    >>> round(most_nats(30.0, 0.1), 4)
    3.2958
    """
    return math.log(1 + max(0, math.ceil(math.log(seconds / tick) / math.log(RATIO))))
