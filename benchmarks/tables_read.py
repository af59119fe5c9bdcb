"""How long it takes to count many tables, beside DuckDB's own grouping sets by hand.

    python benchmarks/tables_read.py [rows]

All 66 tables of two of twelve columns with the numbers of keys of the census extract "Adult", texts where
there are at most twenty and whole numbers elsewhere, in one Parquet file of a million rows (or `rows`). The
plain query is `GROUP BY GROUPING SETS` with DuckDB's settings as they come, without public keys. Three take
turns in one process: the plain query, leakcap's counting, and all of a release (plan, price, ledger in
memory, noise). CPU time, medians. Target: 1.3 times the plain query for all of a release.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow
import pyarrow.parquet

from leakcap import PrivateTable
from leakcap.tables import TablesQuestion, release_tables
from leakcap.tables.reading import counts_of, statements_of_tables
from tables import ADULT

ROUNDS, FEW_KEYS, TARGET = 3, 20, 1.3


def keys_of(name: str) -> list[str] | list[int]:
    size = ADULT[name]
    return [f"{name} {key}" for key in range(size)] if size <= FEW_KEYS else list(range(size))


def write_table(path: Path, rows: int) -> None:
    """Columns by themselves, their first keys more often."""
    draw = np.random.default_rng(1)
    columns = {
        name: pyarrow.array(np.array(keys_of(name))[(size * draw.beta(1, 3, rows)).astype(int)])
        for name, size in ADULT.items()
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main(rows: int) -> None:
    policy = {
        "dataset": "census",
        "neighbours": "add-remove-one",
        "caps": {"epsilon": 100.0, "delta": 1e-9},
        "columns": {name: {"keys": keys_of(name)} for name in ADULT},
    }
    question = TablesQuestion(columns=tuple(ADULT), ways=2, rho=0.02)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "census.parquet"
        write_table(path, rows)
        pairs = list(itertools.combinations(ADULT, 2))
        sets = ", ".join(f"({a}, {b})" for a, b in pairs)
        text = f"SELECT {', '.join(ADULT)}, COUNT(*) FROM '{path}' GROUP BY GROUPING SETS ({sets})"
        with PrivateTable(path, policy=policy, ledger="sqlite://") as table, duckdb.connect() as plain:
            planned = question.planned(table.policy)
            statements = statements_of_tables(planned, table.engine)
            ways = {
                "plain": lambda: plain.execute(text).fetchnumpy(),
                "counting": lambda: counts_of(planned, statements, table.engine),
                "release": lambda: release_tables(table, question, fresh=True),
            }
            took: dict[str, list[float]] = {name: [] for name in ways}
            for _ in range(ROUNDS):
                for name, work in ways.items():
                    took[name].append(seconds(work))
            median = {name: statistics.median(own) for name, own in took.items()}
        print(f"{rows:,} rows, {len(pairs)} tables, plain query {median['plain']:.2f} s of CPU")
        for name in ("counting", "release"):
            ratio = median[name] / median["plain"]
            verdict = "kept" if ratio <= TARGET else "MISSED"
            print(f"  {name}: {median[name]:.2f} s, {ratio:.2f} times the plain query: {verdict}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10**6)
