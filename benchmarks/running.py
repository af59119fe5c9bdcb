"""Running totals: the worst step in units of one count's noise, and the time of a step.

    python benchmarks/running.py

Target: over 365 days the worst running total errs by 2.944 units within 1 %. Beside it stands a binary tree,
which adds up one noisy node a level: a row is in one node of each of its levels, and a total needs as many.
"""

from __future__ import annotations

import datetime
import math
import time

import numpy as np
import pyarrow

from leakcap.release import PrivateTable
from leakcap.running import RunningQuestion, SquareRootFactor, release_running

FIRST, DAYS, ROWS = datetime.date(2026, 1, 1), 365, 1_000_000


def tree(steps: int) -> float:
    """√levels for a row's reach, times √(most nodes that a total needs)."""
    levels = math.ceil(math.log2(steps)) + 1
    nodes = max(bin(step).count("1") for step in range(1, steps + 1))
    return math.sqrt(levels * nodes)


def main() -> None:
    worst = SquareRootFactor(DAYS).worst
    verdict = "kept" if abs(worst / 2.944 - 1) <= 0.01 else "MISSED"
    print(f"{DAYS} days: the worst total errs by {worst:.6f} units: {verdict}")
    print(f"  a binary tree by {tree(DAYS):.2f}")
    draw = np.random.default_rng(1)
    days = np.datetime64(FIRST) + draw.integers(0, DAYS, ROWS).astype("timedelta64[D]")
    policy = {
        "dataset": "visits",
        "neighbours": "add-remove-one",
        "caps": {"epsilon": 1.0, "delta": 1e-6},
        "columns": {
            "day": {"dates": ["2026-01-01", "2026-12-31"]},
            "date": {"from": "day", "truncate": "day"},
        },
    }
    question = RunningQuestion(name="visits", period="date", first="2026-01-01", steps=DAYS, rho=0.01)
    with PrivateTable(pyarrow.table({"day": days}), policy=policy, ledger="sqlite://") as table:
        start = time.perf_counter()
        for number in range(30):
            day = (FIRST + datetime.timedelta(days=number)).isoformat()
            release_running(table, question, through=day)
        each = (time.perf_counter() - start) / 30
        start = time.perf_counter()
        found = release_running(table, question, through="2026-12-31")
        rest = time.perf_counter() - start
    print(f"{ROWS:,} rows: {1000 * each:.0f} ms a step, the first 30")
    print(f"  {rest:.1f} s for the other {found.new} at once")


if __name__ == "__main__":
    main()
