"""Groups by derived columns beside the plain expressions that an analyst would write: `derived.py [rows]`.

A table of dates, ages and codes is made in DuckDB, and each is grouped and counted in two ways, by turns;
sums and means by parts of dates too.
The plain query asks the same, bounds included, with DuckDB's own settings. CPU seconds, the least of them.
"""

from __future__ import annotations

import datetime
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb

from leakcap.release import attach, load_policy, query_from
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.statements import select_of

RUNS = 7
TARGET = 1.1
TABLE = """
CREATE TABLE stays AS SELECT DATE '2023-01-01' + CAST(hash(i) % 731 AS INTEGER) AS admitted,
  (hash(i + 7) % 1200) / 10.0 AS age, (hash(i + 5) % 1000003) / 100.03 AS cost,
  chr(CAST(65 + hash(i + 9) % 26 AS INTEGER)) || hash(i) % 100 AS code
FROM range({rows}) AS r (i)
"""
WITHIN = "admitted BETWEEN DATE '2023-01-01' AND DATE '2024-12-31'"
PLAIN = {
    "month": f"SELECT date_trunc('month', admitted) AS k, COUNT(*) FROM stays WHERE {WITHIN} GROUP BY k",
    "week": f"SELECT date_trunc('week', admitted) AS k, COUNT(*) FROM stays WHERE {WITHIN} GROUP BY k",
    "weekday": f"SELECT isodow(admitted) AS k, COUNT(*) FROM stays WHERE {WITHIN} GROUP BY k",
    "year": f"SELECT year(admitted) AS k, COUNT(*) FROM stays WHERE {WITHIN} GROUP BY k",
    "band": "SELECT CASE WHEN age < 18 THEN '0-17' WHEN age < 65 THEN '18-64' ELSE '65+' END k,"
    " COUNT(*) FROM stays GROUP BY k",
    "month, sum": "SELECT date_trunc('month', admitted) AS k, SUM(cost) FROM stays "
    f"WHERE {WITHIN} GROUP BY k",
    "weekday, sum": f"SELECT isodow(admitted) AS k, SUM(cost) FROM stays WHERE {WITHIN} GROUP BY k",
    "year, sum": f"SELECT year(admitted) AS k, SUM(cost) FROM stays WHERE {WITHIN} GROUP BY k",
    "weekday, mean": f"SELECT isodow(admitted) AS k, AVG(cost) FROM stays WHERE {WITHIN} GROUP BY k",
    "chapter": "SELECT CASE WHEN code[1] = 'C' THEN 'Neoplasms' WHEN code[1] IN ('S', 'T') THEN 'Injuries' "
    "END AS k, COUNT(*) FROM stays GROUP BY k",
}
POLICY = load_policy(
    {
        "dataset": "stays",
        "neighbours": "add-remove-one",
        "caps": {"epsilon": 1.0},
        "columns": {
            "admitted": {"bounds": [datetime.date(2023, 1, 1), datetime.date(2024, 12, 31)]},
            "age": {"bounds": [0, 120]},
            "cost": {"bounds": [0, 10_000]},
            "code": {"keys": "private"},
            "month": {"from": "admitted", "truncate": "month"},
            "week": {"from": "admitted", "truncate": "week"},
            "weekday": {"from": "admitted", "part": "weekday"},
            "year": {"from": "admitted", "part": "year"},
            "band": {"from": "age", "cuts": [18, 65], "keys": ["0-17", "18-64", "65+"]},
            "chapter": {
                "from": "code",
                "prefix": 1,
                "groups": {"Neoplasms": ["C"], "Injuries": ["S", "T"]},
            },
        },
    }
)


def seconds(action: Callable[[], object]) -> float:
    """Of CPU, of one run."""
    start = time.process_time()
    action()
    return time.process_time() - start


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stays.duckdb"
        with duckdb.connect(str(path)) as made:
            made.execute(TABLE.format(rows=rows))
        plain = duckdb.connect(str(path), read_only=True)
        print(f"{rows:,} rows, {RUNS} runs, {os.cpu_count()} cores; CPU seconds")
        engine = attach(path, table="stays")
        for name, text in PLAIN.items():
            by, _, statistic = name.partition(", ")
            asked = {"statistic": statistic, "column": "cost"} if statistic else {"statistic": "count"}
            query = query_from({"name": name, **asked, "by": by, "epsilon": 1.0})
            ours = engine.write(select_of([plan_query(query, POLICY)]))
            by_hand, derived = math.inf, math.inf
            for _ in range(RUNS):
                by_hand = min(by_hand, seconds(partial(lambda one: plain.execute(one).fetchall(), text)))
                derived = min(derived, seconds(partial(engine.run, ours)))
            verdict = "" if derived <= TARGET * by_hand else f"   above the target of {TARGET}"
            print(f"{name:13} plain {by_hand:.3f}, derived {derived:.3f}: {derived / by_hand:.2f}{verdict}")


if __name__ == "__main__":
    main()
