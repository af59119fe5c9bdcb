"""leakcap: all pairs released for one charge, or so many chosen (a third word), and a file drawn.

The table is read from its Parquet file, as with `leakcap synthesize`.
Beside all pairs single columns are asked for, with three times the weight, whatever the table.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
from job import Codes, main

from leakcap.release import PrivateTable
from leakcap.synthesis import release_chosen_tables
from leakcap.synthesis import synthesize as drawn
from leakcap.tables import TablesQuestion, release_tables
from leakcap.tables.question import TableAsked


def synthesize(codes: Codes, sizes: dict[str, int], rho: float) -> np.ndarray:
    policy = {
        "dataset": "benchmark",
        "neighbours": "add-remove-one",
        "caps": {"rho": rho},
        "columns": {column: {"keys": list(range(size))} for column, size in sizes.items()},
    }
    with PrivateTable(Path(sys.argv[1]) / "codes.parquet", policy=policy, ledger="sqlite://") as table:
        if sys.argv[3:]:
            asked = TablesQuestion(columns=tuple(sizes), ways=2, rho=rho)
            found = release_chosen_tables(table, asked, int(sys.argv[3]))
        else:
            pairs = [TableAsked(columns=pair) for pair in itertools.combinations(sizes, 2)]
            single = [TableAsked(columns=(column,), weight=3.0) for column in sizes]
            found = release_tables(table, TablesQuestion(tables=(*pairs, *single), rho=rho))
    file = drawn(found, rows=len(next(iter(codes.values()))))
    return np.column_stack([file.codes[column] for column in sizes])


if __name__ == "__main__":
    main(synthesize)
