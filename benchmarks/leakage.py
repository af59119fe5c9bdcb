"""Closed-form leakages against the pass or product they contain: `python benchmarks/leakage.py`.

Every line is a ratio of process times in one process, each the least of many runs in groups of five that take
turns, so that all find the machine and its caches alike: measure over floor. The floor of a closed form is
`numpy.max` along an axis of the same matrix, that of a g-vulnerability the matrix product.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from leakcap import gain, leakage
from leakcap.adversary import Neighbours
from leakcap.capacities import capacity
from leakcap.channel import Channel
from leakcap.divergence import Renyi


def least(actions: list[Callable[[], object]], turns: int) -> list[float]:
    """The least process time of each, measured in turn so that all see the same machine."""
    result = [math.inf for _ in actions]
    for _ in range(turns):
        for at, action in enumerate(actions):
            for _ in range(5):
                start = time.process_time()
                action()
                result[at] = min(result[at], time.process_time() - start)
    return result


def report(
    title: str,
    target: float,
    turns: int,
    floor: Callable[[], object],
    measures: dict[str, Callable[[], object]],
) -> None:
    base, *rest = least([floor, *measures.values()], turns)
    print(f"{title}: {base * 1e3:.3f} ms (target {target}×)")
    for name, seconds in zip(measures, rest, strict=True):
        print(f"  {name:28} {seconds * 1e3:9.3f} ms  {seconds / base:6.2f}×")


def closed_forms(size: int) -> None:
    rng = np.random.default_rng(0)
    channel = Channel(rng.dirichlet(np.ones(size), size))
    rows = channel.matrix
    prior, uniform = rng.dirichlet(np.ones(size)), np.full(size, 1 / size)
    guess = gain.identity(size)
    report(
        f"numpy.max along an axis, {size}×{size}",
        2.0,
        20_000 // size,
        lambda: rows.max(axis=0),
        {
            "ε": lambda: capacity(channel, Renyi(math.inf), Neighbours()),
            "lift": lambda: leakage.lift(channel, prior),
            "lift capacity": lambda: leakage.lift_capacity(channel),
            "Bayes capacity": lambda: leakage.bayes_capacity(channel),
            "max-case guess, uniform": lambda: leakage.g_leakage(channel, uniform, guess, max_case=True),
            "max-case guess, any prior": lambda: leakage.g_leakage(channel, prior, guess, max_case=True),
            "Bayes vulnerability": lambda: leakage.bayes_vulnerability(channel, prior),
        },
    )


def actions(size: int, count: int) -> None:
    rng = np.random.default_rng(1)
    channel = Channel(rng.dirichlet(np.ones(size), size))
    table, prior = rng.random((count, size)), rng.dirichlet(np.ones(size))
    goal = gain.matrix(table)
    report(
        f"matrix product, {count} actions, {size}×{size}",
        1.2,
        4,
        lambda: table @ channel.matrix,
        {
            "posterior g-vulnerability": lambda: leakage.posterior_vulnerability(channel, prior, goal),
            "g-leakage, max-case": lambda: leakage.g_leakage(channel, prior, goal, max_case=True),
        },
    )


if __name__ == "__main__":
    closed_forms(1000)
    closed_forms(3000)
    actions(1000, 1000)
