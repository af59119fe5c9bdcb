"""Microdata beside the tables they come from: how far off, how long it takes, how much memory.

    python benchmarks/synthesis.py

All 2-way tables of twelve columns with the numbers of keys of the census extract "Adult" and as many rows, of
nine smaller ones, and of statsmodels' survey "fair" where it is installed; at ρ = 0.1 and 0.01. Printed is
Σ|file − exact| over the cells over the rows, on average over the tables: of the law that is fitted, of a file
of as many rows, of the released tables themselves, and of the exact single columns taken as independent.
Target: fitted and drawn within 60 seconds of CPU, and nearer to the data than what was released.
"""

from __future__ import annotations

import itertools
import resource
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent / "synthesizers"))
from three_tables import ADULT, classes

from leakcap.release import PrivateTable
from leakcap.synthesis import fit_generator, synthesize
from leakcap.tables import TablesQuestion, release_tables

SMALL = {f"c{place}": size for place, size in enumerate((2, 3, 4, 5, 6, 7, 8, 9, 10))}
SECONDS = 60.0
Codes = Mapping[str, NDArray[np.int64]]


def survey() -> dict[str, NDArray[np.int64]] | None:
    try:
        import statsmodels.api
    except ImportError:
        return None
    data = statsmodels.api.datasets.fair.load_pandas().data
    data["affairs"] = np.digitize(data["affairs"], [1e-9, 0.1, 0.3, 0.6, 1, 2, 5, 10])
    return {str(name): np.unique(data[name], return_inverse=True)[1] for name in data}


def compared(name: str, codes: Codes, rho: float) -> None:
    sizes = {column: int(own.max()) + 1 for column, own in codes.items()}
    rows = len(next(iter(codes.values())))
    policy: dict[str, Any] = {
        "dataset": name,
        "neighbours": "add-remove-one",
        "caps": {"rho": rho},
        "columns": {column: {"keys": list(range(size))} for column, size in sizes.items()},
    }
    data = pyarrow.table({column: pyarrow.array(own) for column, own in codes.items()})
    with PrivateTable(data, policy=policy, ledger="sqlite://") as table:
        found = release_tables(table, TablesQuestion(columns=tuple(sizes), ways=2, rho=rho))
    start = time.process_time()
    generator = fit_generator(found)
    fitted = time.process_time() - start
    file = synthesize(generator, rows=rows)
    took = time.process_time() - start
    off: list[tuple[float, float, float, float]] = []
    for pair in itertools.combinations(sizes, 2):
        exact = np.zeros([sizes[column] for column in pair])
        np.add.at(exact, tuple(codes[column] for column in pair), 1)
        apart = np.outer(exact.sum(axis=1), exact.sum(axis=0)) / rows
        others = (generator.shares(*pair) * rows, file.counts(*pair), found.table(*pair).values, apart)
        law, drawn, released, alone = (float(np.abs(one - exact).sum()) / rows for one in others)
        off.append((law, drawn, released, alone))
    law, drawn, released, alone = np.mean(off, axis=0)
    kept = took <= SECONDS and max(law, drawn) < released
    print(f"{name}, {rows:,} rows, {len(sizes)} columns, ρ = {rho}: {'kept' if kept else 'MISSED'}")
    print(
        f"  law {law:.4f}, file {drawn:.4f}; released tables {released:.4f}, independent columns {alone:.4f}"
    )
    print(f"  fitted in {generator.steps} steps, {fitted:.1f} s of CPU; with the file {took:.1f} s")


def main() -> None:
    tables = {
        "as large as Adult": classes(ADULT, 48_842, 1),
        "small": classes(SMALL, 10_000, 2),
        "fair": survey(),
    }
    for (name, codes), rho in itertools.product(tables.items(), (0.1, 0.01)):
        if codes is not None:
            compared(name, codes, rho)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
