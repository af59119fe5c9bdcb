"""A geography of a million places: counted, released, fitted, made whole and given intervals, in seconds
and GiB.

    python benchmarks/hierarchies.py

Three million rows in 1,000,000 towns of 10,000 districts of 100 regions of a country, a third of the towns
empty. Each row has the number of its town, and the tree is read from a Parquet file. Targets: the whole of
it, from the files to the counts with their intervals at every level, within 60 seconds on two cores and 4
GiB. The shares of nodes that lie in their intervals are printed beside it.
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np

from leakcap import PrivateTable
from leakcap.tables.hierarchies import Hierarchy, HierarchyQuestion, release_hierarchy

TOWNS, ROWS, RHO = 1_000_000, 3_000_000, 0.5
SECONDS, GIBIBYTES = 60.0, 4.0


def files(folder: Path) -> None:
    """The tree and the rows, the same on every machine."""
    base = duckdb.connect()
    base.execute(
        f"COPY (SELECT i // 10000 AS region, i // 100 AS district, i AS town FROM range({TOWNS}) t(i)) "
        f"TO '{folder}/tree.parquet'"
    )
    base.execute(
        f"COPY (SELECT ((hash(i) % 2000003) * (hash(i + 7) % 1000003) % ({TOWNS} * 2 // 3) * 3 // 2)::BIGINT "
        f"AS town FROM range({ROWS}) t(i)) TO '{folder}/rows.parquet'"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files(folder)
        start = time.perf_counter()
        tree = Hierarchy.read(folder / "tree.parquet")
        read = time.perf_counter() - start
        policy = {
            "dataset": "land", "neighbours": "add-remove-one", "caps": {"epsilon": 9.0, "delta": 1e-6},
            "columns": {"town": {"keys": list(range(TOWNS))}},
        }  # fmt: skip
        spent = f"sqlite:///{folder}/spent.db"
        with PrivateTable(folder / "rows.parquet", policy=policy, ledger=spent) as table:
            found = release_hierarchy(table, HierarchyQuestion(hierarchy=tree, rho=RHO))
        released = time.perf_counter() - start
        levels = found.levels
        took = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        towns = duckdb.connect().execute(f"SELECT town FROM '{folder}/rows.parquet'").fetchnumpy()["town"]
    exact = np.bincount(np.asarray(towns), minlength=TOWNS)
    kept = took <= SECONDS and peak <= GIBIBYTES
    print(
        f"{tree.nodes:,} nodes, {ROWS:,} rows: {took:.1f} s and {peak:.2f} GiB: "
        f"{'kept' if kept else 'MISSED'}"
    )
    print(
        f"  tree read {read:.1f} s, released {released - read:.1f} s, fitted and made whole "
        f"{took - released:.1f} s"
    )
    for level in range(len(levels) - 1, -1, -1):
        own = levels[level]
        inside = float(((own.lower <= exact) & (exact <= own.upper)).mean())
        error = float(np.sqrt(np.mean((own.values - exact) ** 2.0)))
        parts = tree.added(level, own.values).tolist() == levels[level - 1].values.tolist() if level else True
        whole = bool((own.values >= 0).all()) and parts
        print(
            f"  {own.level}: {len(exact):,} nodes, {inside:.2%} in their intervals, error {error:.2f} "
            f"(root mean "
            f"square), whole and adding up: {whole}"
        )
        if level:
            exact = np.asarray(tree.added(level, exact))


if __name__ == "__main__":
    main()
