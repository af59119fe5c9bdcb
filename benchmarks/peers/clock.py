"""What all peers share: the job they are given, and how it is timed. Runs in each peer's own environment.

A peer's script is called as `with_<peer>.py release <parquet> <rows> <runs>`, and where it has them with
`one`, `noise` and `laplace <draws>`. It prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

GROUPS = 1_000
LOW, HIGH = 0.0, 100.0
# ε of the count and of the sum.
EACH = 0.5

Answer = tuple[float, float]
"""All counts added up, and all sums: what shows that the answer was one."""

_TICK = os.sysconf("SC_CLK_TCK")


def _used() -> float:
    """CPU seconds of this process, to the microsecond, and of what it started, to the tick: Spark's Java."""
    return time.process_time() + sum(map(_of, _children(str(os.getpid()))))


def _of(process: str) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICK + sum(map(_of, _children(process)))


def _children(process: str) -> list[str]:
    try:
        return Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []


def timed(action: Callable[[], object], runs: int) -> dict[str, object]:
    """The least wall and CPU seconds of so many runs, and what the last of them answered."""
    walls, used = [], []
    answer: object = None
    for _ in range(runs):
        wall, before = time.perf_counter(), _used()
        answer = action()
        walls.append(time.perf_counter() - wall)
        used.append(_used() - before)
    return {"wall": min(walls), "cpu": min(used), "first": walls[0], "answer": answer}


def main(
    release: Callable[[str, int], Callable[[], Answer]],
    *,
    one: Callable[[], None] | None = None,
    noise: Callable[[], object] | None = None,
    laplace: Callable[[Sequence[int]], list[float]] | None = None,
) -> None:
    """Do what the command line says."""
    job, *rest = sys.argv[1:]
    if job == "release":
        path, rows, runs = rest
        print(json.dumps(timed(release(path, int(rows)), int(runs))))
    elif job == "one" and one is not None:
        one()
        print(json.dumps(timed(one, 5)))
    elif job == "noise" and noise is not None:
        print(json.dumps(timed(lambda: bool(noise() is None), 3)))
    elif job == "laplace" and laplace is not None:
        bits = [place % 2 for place in range(int(rest[0]))]
        print(json.dumps([value.hex() for value in laplace(bits)]))
    else:
        sys.exit(f"this peer has no `{job}`")
