"""When an answer leaves: on a rung of a ladder of times, so that how long it took tells little.

The first rung is the tick; each further one is a tenth later. How long an answer took is then one of few
numbers, ⌈log(T / tick) / log 1.1⌉ + 1 of them within T seconds, and tells at most the logarithm of that, in
nats (`timing`). What it tells in truth the timing audit measures (`benchmarks/curator_timing.py`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = ["FASTER", "RATIO", "LadderClock", "Pace", "on_the_clock", "rung", "rungs"]

RATIO = 1.1
"""How much later the next rung is. An answer waits for at most a tenth of the time that it took."""
FASTER = 8.0
"""How much faster the clock is that keeps the engine busy: others wait for no longer than they must."""


def rung(elapsed: float, tick: float) -> float:
    """The first rung at or after so many seconds.

    >>> rung(0.02, 0.1), rung(0.11, 0.1)
    (0.1, 0.11000000000000001)
    """
    if elapsed <= tick:
        return tick
    steps = math.ceil(math.log(elapsed / tick) / math.log(RATIO) - 1e-9)
    found = tick * RATIO**steps
    return found if found >= elapsed else found * RATIO


@dataclass
class Pace:
    """Whether what is done has rested on a rung since it last read data: what follows takes as long whatever
    the data are, and need not wait for another rung."""

    rested: bool = False


@contextmanager
def on_the_clock(tick: float) -> Iterator[Pace]:
    """Whatever is done within, also where it fails, ends on a rung, unless it has rested on one."""
    begun, pace = time.monotonic(), Pace()
    try:
        yield pace
    finally:
        if not pace.rested:
            elapsed = time.monotonic() - begun
            time.sleep(rung(elapsed, tick) - elapsed)


def rungs(seconds: float, tick: float) -> int:
    """How many rungs there are for what takes no longer than `seconds`.

    >>> rungs(30.0, 0.1), rungs(0.1, 0.1)
    (61, 1)
    """
    return 1 + max(0, math.ceil(math.log(seconds / tick) / math.log(RATIO)))


class LadderClock:
    """The clock of one answer that is waited for: what it writes into the ledger is written on a rung.

    `shown` says whether somebody may see the ledger before the answer leaves.
    """

    def __init__(self, tick: float, *, shown: bool = True) -> None:
        self._tick, self._begun, self._shown = tick, time.monotonic(), shown
        self.rested = False
        """Whether an answer was held back: what was computed before is on a rung."""

    def before_spend(self) -> None:
        """Hold back what is spent, where rows were read before it: its time stays in the ledger."""
        self._wait()

    def before_release(self) -> None:
        """Hold back an answer that was computed, where that is shown before it leaves."""
        if self._shown:
            self._wait()
            self.rested = True

    def _wait(self) -> None:
        elapsed = time.monotonic() - self._begun
        time.sleep(rung(elapsed, self._tick) - elapsed)
