"""Refinement of channels, yes and no, beside qif where that is installed: `python benchmarks/refinement.py`.

Each line is the least process time of five runs in turn. `dependent` channels have a ninth of the dimensions:
post-processings are not unique. Exits with 1 where an answer is wrong or a target is missed.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import time
from collections.abc import Callable

import numpy as np

from leakcap.channel import Channel
from leakcap.refinement import refines

TARGETS = {20: 0.05, 80: 0.05, 150: 0.5}
"""Seconds, by the number of secrets and outputs."""


def pairs(size: int) -> dict[str, tuple[Channel, Channel, bool]]:
    rng = np.random.default_rng(size)
    a, post = (Channel(rng.dirichlet(np.ones(size), size)) for _ in range(2))
    few = size // 9
    low = Channel(rng.dirichlet(np.ones(few), size) @ rng.dirichlet(np.ones(size), few))
    return {
        "yes": (a, a >> post, True),
        "no": (a >> post, a, False),
        "dependent, yes": (low, low >> post, True),
        "dependent, no": (low >> post, low, False),
    }


def least(actions: list[Callable[[], object]]) -> list[float]:
    found = [math.inf for _ in actions]
    for _ in range(5):
        for at, action in enumerate(actions):
            start = time.process_time()
            action()
            found[at] = min(found[at], time.process_time() - start)
    return found


def main() -> None:
    missed = False
    peer = importlib.import_module("qif").refinement.refined_by if importlib.util.find_spec("qif") else None
    for size, target in TARGETS.items():
        for name, (a, b, holds) in pairs(size).items():
            answer = refines(a, b)
            actions = [lambda a=a, b=b: refines(a, b)]
            if peer is not None:
                actions.append(lambda a=a, b=b: peer(a.matrix.copy(), b.matrix.copy()))
            seconds = least(actions)
            beside = f"{seconds[1] * 1e3:9.3f} ms by qif" if peer is not None else ""
            print(f"{size:>4} × {size:<4} {name:<16} {seconds[0] * 1e3:9.3f} ms {beside}")
            missed |= answer.holds is not holds or seconds[0] > target
    if missed:
        sys.exit("a wrong answer, or a target that was missed")


if __name__ == "__main__":
    main()
