"""Certified Shannon capacity against its floor and against peers: `python benchmarks/capacity.py`.

The floor is what every method must do once: one W·ln W pass and two matrix–vector products. All times of
leakcap are process times (all threads together), the least of several runs taken in turn with the floor,
so that ratios hold on a busy machine; the last column is wall time. Peers run in a process of their own
under a time limit and are asked for 1e-9 nats too; a peer that is not installed is skipped with a line
that says so.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakcap.bound import Bound
from leakcap.capacities.solvers.shannon import shannon_capacity

Matrix = NDArray[np.float64]
GAP = 1e-9


@dataclass(frozen=True)
class Case:
    name: str
    rows: Matrix
    target: str
    """The largest ratio to the floor, or time; empty where there is none."""


def dirichlet(size: int) -> Matrix:
    return np.random.default_rng(0).dirichlet(np.ones(size), size=size)


def geometric(size: int, decay: float) -> Matrix:
    """The truncated geometric mechanism: P(y|x) ∝ e^{−decay·|x−y|}, what falls outside moved to the ends."""
    distance = np.abs(np.arange(size)[:, None] - np.arange(size))
    rows = np.exp(-decay * distance) * math.tanh(decay / 2)
    rows[:, [0, -1]] /= -math.expm1(-decay)
    return rows / rows.sum(axis=1, keepdims=True)


def shuffled(rows: Matrix) -> Matrix:
    """The same channel with its labels mixed up: nothing in its order helps."""
    rng = np.random.default_rng(1)
    return np.ascontiguousarray(rows[rng.permutation(len(rows))][:, rng.permutation(rows.shape[1])])


def cases() -> list[Case]:
    return [
        Case("Dirichlet 1000×1000", dirichlet(1000), "3×"),
        Case("geometric 100×100", geometric(100, 0.1), "30×"),
        Case("geometric 1000×1000", geometric(1000, 0.1), "30×"),
        Case("  100×100, shuffled", shuffled(geometric(100, 0.1)), ""),
        Case("  1000×1000, shuffled", shuffled(geometric(1000, 0.1)), ""),
        Case("Dirichlet 3000×3000", dirichlet(3000), "1 s"),
    ]


def floor(rows: Matrix) -> float:
    weights = np.full(len(rows), 1.0 / len(rows))
    energy = (rows * np.log(rows)).sum(axis=1)
    return float((energy + rows @ np.log(weights @ rows))[0])


def timed(action: Callable[[], object]) -> tuple[float, float, object]:
    cpu, wall = time.process_time(), time.perf_counter()
    result = action()
    return time.process_time() - cpu, time.perf_counter() - wall, result


def measure(case: Case, repeats: int) -> tuple[float, float, float, Bound]:
    """The least process time of floor and solver, the least wall time of the solver, and its answer."""
    least, cpu, wall = math.inf, math.inf, math.inf
    for _ in range(repeats):
        # Short ones want many runs before one of them is left alone by the rest of the machine.
        for _ in range(5):
            least = min(least, timed(lambda: floor(case.rows))[0])
        for _ in range(5 if case.rows.size <= 10**6 else 1):
            spent, passed, bound = timed(lambda: shannon_capacity(case.rows, gap=GAP))
            cpu, wall = min(cpu, spent), min(wall, passed)
    assert isinstance(bound, Bound)
    return least, cpu, wall, bound


def ask_qif(rows: Matrix, answer: multiprocessing.SimpleQueue[tuple[float, float]]) -> None:
    import qif

    start = time.process_time()
    value, _ = qif.measure.shannon.add_capacity(rows, GAP * math.log2(math.e))
    answer.put((time.process_time() - start, float(value) * math.log(2.0)))


def ask_dit(rows: Matrix, answer: multiprocessing.SimpleQueue[tuple[float, float]]) -> None:
    from dit.algorithms.channelcapacity import channel_capacity

    start = time.process_time()
    value, _ = channel_capacity(rows, rtol=1e-9, atol=GAP)
    answer.put((time.process_time() - start, float(value) * math.log(2.0)))


PEERS: dict[str, Callable[..., None]] = {"qif": ask_qif, "dit": ask_dit}


def ask(peer: str, case: Case, limit: float, ours: float, bound: Bound) -> str:
    context = multiprocessing.get_context("spawn")
    answer = context.SimpleQueue()
    process = context.Process(target=PEERS[peer], args=(case.rows, answer))
    process.start()
    process.join(limit)
    if process.is_alive():
        process.terminate()
        process.join()
        return f"{peer}: no answer in {limit:.0f} s (> {limit / ours:,.0f}×)"
    if process.exitcode:
        return f"{peer}: failed with exit code {process.exitcode}"
    spent, value = answer.get()
    error = max(bound.lower - value, value - bound.upper, 0.0)
    verdict = "inside our interval" if error == 0.0 else f"off by {error:.1e} nats"
    return f"{peer}: {spent:.3f} s ({spent / ours:,.0f}×), {value:.9f}, {verdict}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for one peer and one channel")
    options = parser.parse_args()
    peers = [name for name in PEERS if importlib.util.find_spec(name)]
    for name in sorted(set(PEERS) - set(peers)):
        print(f"{name} is not installed: skipped")
    print(
        f"{'channel':22}{'floor ms':>10}{'ours ms':>10}{'ratio':>8}{'target':>10}{'gap':>10}{'wall ms':>10}"
    )
    for case in cases():
        least, cpu, wall, bound = measure(case, options.repeats)
        print(
            f"{case.name:22}{1e3 * least:10.3f}{1e3 * cpu:10.2f}{cpu / least:7.1f}×{case.target:>10}"
            f"{bound.width:10.1e}{1e3 * wall:10.1f}"
        )
        for peer in peers:
            print("    " + ask(peer, case, options.limit, cpu, bound))


if __name__ == "__main__":
    main()
