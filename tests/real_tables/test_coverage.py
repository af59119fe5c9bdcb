"""Real tables: 95 % intervals of counts, means, medians and histograms cover the exact answers that often.

Each statistic is released afresh many times and the covering intervals are counted; each group of a release
is a trial with noise of its own. False alarms, over the system's randomness: 10⁻⁶ for each test. The
same test must fail for intervals drawn together to half their width where they are to be just that wide
(counts, histograms), to a tenth where they are certificates that cover more often (means), and for medians
moved by their own width.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from leakcap.release import PrivateTable, Query
from real_tables.tables import TABLES, Real, clamped

pytestmark = pytest.mark.slow
ALARM, RUNS, BINS, LEVEL = 1e-6, 200, 8, 0.95
Interval = tuple[float, float]


@functools.cache
def opened(name: str) -> tuple[Real, PrivateTable, Any]:
    real = next(table for table in TABLES if table.name == name)
    return real, PrivateTable(real.load(), policy=real.policy, ledger="sqlite://"), real.frame()


def released(name: str, runs: int, **fields: Any) -> list[list[Interval]]:
    """The intervals of each run, group by group."""
    real, private, _ = opened(name)
    query = Query(**{"name": "q", "epsilon": real.epsilon, **fields})
    return [[row.interval for row in found.rows] for found in private.release([query] * runs, fresh=True)]


def covering(runs: list[list[Interval]], exact: list[float], shrink: float = 1.0) -> tuple[int, int]:
    """How many intervals, drawn together towards their middles, cover, and of how many."""
    hits = [
        abs(truth - (low + high) / 2) <= shrink * (high - low) / 2 + 1e-9 * abs(truth)
        for run in runs
        for (low, high), truth in zip(run, exact, strict=True)
    ]
    return sum(hits), len(hits)


def check(runs: list[list[Interval]], exact: list[float], *, shrunk: float) -> None:
    hits, trials = covering(runs, exact)
    least = binom.ppf(ALARM, trials, LEVEL)
    assert hits >= least, (hits, trials)
    assert covering(runs, exact, shrunk)[0] < least


NAMES = [table.name for table in TABLES]


@pytest.mark.parametrize("name", NAMES)
def test_counts(name: str) -> None:
    real, _, frame = opened(name)
    keys = real.columns[real.by]["keys"]
    exact = [float((frame[real.by] == key).sum()) for key in keys]
    check(released(name, RUNS, statistic="count", by=(real.by,)), exact, shrunk=0.5)


@pytest.mark.parametrize("name", NAMES)
def test_means(name: str) -> None:
    real, _, frame = opened(name)
    bounds, keys = real.columns[real.number]["bounds"], real.columns[real.by]["keys"]
    exact = [float(clamped(frame[real.number][frame[real.by] == key], bounds).mean()) for key in keys]
    runs = released(name, RUNS, statistic="mean", column=real.number, by=(real.by,))
    check(runs, exact, shrunk=0.1)


@pytest.mark.parametrize("name", NAMES)
def test_medians(name: str) -> None:
    real, _, frame = opened(name)
    exact = [float(np.median(clamped(frame[real.number], real.columns[real.number]["bounds"])))]
    runs = released(name, 60, statistic="median", column=real.number, bins=64)
    hits, trials = covering(runs, exact)
    assert hits >= binom.ppf(ALARM, trials, LEVEL)
    moved = [[(2 * high - low, 3 * high - 2 * low) for low, high in run] for run in runs]
    assert covering(moved, exact)[0] < binom.ppf(ALARM, trials, LEVEL)


@pytest.mark.parametrize("name", NAMES)
def test_histograms(name: str) -> None:
    real, _, frame = opened(name)
    bounds = real.columns[real.number]["bounds"]
    counted, _ = np.histogram(clamped(frame[real.number], bounds), bins=BINS, range=tuple(bounds))
    runs = released(name, RUNS, statistic="histogram", column=real.number, bins=BINS)
    check(runs, [float(count) for count in counted], shrunk=0.5)


def test_the_flights_are_all_there() -> None:
    _, private, frame = opened("flights")
    low, high = private.count(epsilon=1.0).interval
    assert len(frame) == 3_000_000
    assert low - 50 <= 3_000_000 <= high + 50
