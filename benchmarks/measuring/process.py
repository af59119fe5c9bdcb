"""What a process took: wall and CPU seconds of actions that take turns, and the most memory that it held."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["Action", "answer_of", "in_turn", "peak_mib", "turns"]

Action = Callable[[], object]


def in_turn(actions: Mapping[str, Action], runs: int) -> dict[str, tuple[float, float]]:
    """The least wall and CPU seconds of each, the actions taking turns so that all see the same machine."""
    return {name: (min(wall), min(used)) for name, (wall, used) in _times(actions, runs).items()}


def _times(actions: Mapping[str, Action], runs: int) -> dict[str, tuple[list[float], list[float]]]:
    found: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in actions}
    for _ in range(runs):
        for name, (wall, used) in zip(actions, turns(actions), strict=True):
            found[name][0].append(wall)
            found[name][1].append(used)
    return found


def turns(actions: Mapping[str, Action]) -> list[tuple[float, float]]:
    """Wall and CPU seconds of each, one after another, once."""
    found = []
    for action in actions.values():
        wall, used = time.perf_counter(), time.process_time()
        action()
        found.append((time.perf_counter() - wall, time.process_time() - used))
    return found


def peak_mib() -> float:
    """MiB that this process held at most. Not ru_maxrss, which it inherits from the one that started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def answer_of(*words: str) -> Any:
    """What a fresh process of this script prints as JSON when it is given these words."""
    command = [sys.executable, sys.argv[0], *words]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
