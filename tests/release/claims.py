"""Claims of ε and of coverage against many releases, with the false-alarm probability that a test states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow
import pytest
from numpy.typing import NDArray
from scipy.stats import beta, binom

from leakcap.release import PrivateTable, Release, query_from
from leakcap.release import table as asked
from leakcap.release.plan import Plan
from release.world import COLUMNS, policy_of, table
from seeded import ALARM, SeededSource

Bits = NDArray[np.bool_]


def released(
    rows: list[dict[str, Any]], *, runs: int, seed: int, delta: float | None = None, **query: Any
) -> Release:
    """So many independent answers about copies of the same rows, each a group of its own, in one release.

    Under add/remove-one a group has the noise that an answer without groups has.
    """
    columns = {**COLUMNS, "run": {"keys": list(range(runs))}}
    caps = {"epsilon": 100.0} | ({} if delta is None else {"delta": delta})
    policy = policy_of(columns=columns, caps=caps)
    one = table(rows)
    copies = pyarrow.concat_tables([one] * runs)
    data = copies.append_column("run", pyarrow.array(np.repeat(np.arange(runs), len(rows))))
    private = PrivateTable(data, policy=policy, ledger="sqlite://", source=SeededSource(seed))
    return private.release([query_from({"name": "q", "by": "run", **query})])[0]


def noisy_numbers(rows: list[dict[str, Any]], *, runs: int, seed: int, **query: Any) -> NDArray[np.float64]:
    """The noisy integers of such answers, before they become values, as (run, number)."""
    seen: list[Any] = []
    original = asked.release_of  # type: ignore[attr-defined]

    def noted(plan: Plan, price: Any, totals: Any, codes: Any) -> Any:
        seen.append(totals)
        return original(plan, price, totals, codes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asked, "release_of", noted)
        released(rows, runs=runs, seed=seed, **query)
    return np.array(seen[0], dtype=np.float64).T


def beaten(left: Sequence[Bits], right: Sequence[Bits], epsilon: float) -> list[int]:
    """Which events prove that left and right are not within e^ε: Clopper–Pearson, Bonferroni over them."""
    level = ALARM / (4 * len(left))
    proofs = []
    for index, (a, b) in enumerate(zip(left, right, strict=True)):
        for p, q in ((a, b), (b, a)):
            if _lowest(p, level) > math.exp(epsilon) * _highest(q, level):
                proofs.append(index)
    return proofs


def _lowest(event: Bits, level: float) -> float:
    hits = int(event.sum())
    return float(beta.ppf(level, hits, event.size - hits + 1)) if hits else 0.0


def _highest(event: Bits, level: float) -> float:
    hits = int(event.sum())
    return float(beta.ppf(1 - level, hits + 1, event.size - hits)) if hits < event.size else 1.0


def covers(hits: int, runs: int, level: float = 0.95) -> bool:
    """Whether so many hits are believable of intervals that cover with probability `level` or more."""
    return bool(binom.cdf(hits, runs, level) > ALARM)
