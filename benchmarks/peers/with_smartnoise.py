"""SmartNoise SQL: SQL over a pandas frame, row privacy. Reading the Parquet file into pandas is counted."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pandas as pd
import snsql
from clock import EACH, GROUPS, HIGH, LOW, Answer, main

warnings.simplefilter("ignore")
QUERY = "SELECT g, COUNT(*) AS n, SUM(x) AS s FROM S.T GROUP BY g"


def release(path: str, rows: int) -> Callable[[], Answer]:
    columns = {"g": {"type": "int", "lower": 0, "upper": GROUPS - 1}}
    columns |= {"x": {"type": "float", "lower": LOW, "upper": HIGH}}
    metadata = {"": {"S": {"T": {"row_privacy": True, "rows": rows, **columns}}}}

    def ask() -> Answer:
        frame = pd.read_parquet(path, columns=["g", "x"])
        # ε is of each column of the answer. δ is asked for although nothing here needs it.
        privacy = snsql.Privacy(epsilon=EACH, delta=1e-9)
        found = snsql.from_connection(frame, privacy=privacy, metadata=metadata).execute(QUERY)[1:]
        return float(sum(row[1] for row in found)), float(sum(row[2] for row in found))

    return ask


if __name__ == "__main__":
    main(release)
