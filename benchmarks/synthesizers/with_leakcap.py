"""leakcap: all pairs released for one charge, or so many chosen (a third word), and a file drawn."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow
from job import Codes, main

from leakcap.release import PrivateTable
from leakcap.synthesis import release_chosen_tables
from leakcap.synthesis import synthesize as drawn
from leakcap.tables import TablesQuestion, release_tables


def synthesize(codes: Codes, sizes: dict[str, int], rho: float) -> np.ndarray:
    policy = {
        "dataset": "benchmark",
        "neighbours": "add-remove-one",
        "caps": {"rho": rho},
        "columns": {column: {"keys": list(range(size))} for column, size in sizes.items()},
    }
    data = pyarrow.table({column: pyarrow.array(own) for column, own in codes.items()})
    with PrivateTable(data, policy=policy, ledger="sqlite://") as table:
        asked = TablesQuestion(columns=tuple(sizes), ways=2, rho=rho)
        chosen = int(sys.argv[3]) if sys.argv[3:] else 0
        found = release_chosen_tables(table, asked, chosen) if chosen else release_tables(table, asked)
    file = drawn(found, rows=len(data))
    return np.column_stack([file.codes[column] for column in sizes])


if __name__ == "__main__":
    main(synthesize)
