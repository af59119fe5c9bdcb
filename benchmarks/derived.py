"""Groups by derived columns beside plain expressions and stored columns: `derived.py [rows]`.

A table of dates, ages and codes is made in DuckDB, and is grouped in five ways, by turns:

- **bare**: the query that an analyst would write, bounds included, with nothing clamped;
- **careful**: the same without the two rules of DuckDB's optimiser by which some rows can decide how others
  are read, as leakcap asks;
- **by hand**: the bare query with each value clamped to its bounds and rounded to the grid, in the cheapest
  of several ways to write that, which is what a sum without float noise needs whoever asks it;
- **stored**: leakcap's statistic by a stored column that has the derived one's values, as whole numbers;
- **derived**: leakcap's statistic by the derived column.

A derived column is held against the plain expression in the query by hand: at most 1.1 times that is the
target. Beside it stand derived over careful, over stored, which saves the expression itself, too, and over
bare. CPU seconds, the least of them; DuckDB's own settings but for what is said.
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

RUNS = 11
TARGET = 1.1
TABLE = """
CREATE TABLE stays AS WITH made AS (
  SELECT DATE '2023-01-01' + CAST(hash(i) % 731 AS INTEGER) AS admitted,
    (hash(i + 7) % 1200) / 10.0 AS age, (hash(i + 5) % 1000003) / 100.03 AS cost,
    chr(CAST(65 + hash(i + 9) % 26 AS INTEGER)) || hash(i) % 100 AS code
  FROM range({rows}) AS r (i))
SELECT *, year(admitted) * 12 + month(admitted) AS month_stored,
  CAST(floor((admitted - DATE '0001-01-01') / 7) AS BIGINT) AS week_stored,
  isodow(admitted) AS weekday_stored, year(admitted) AS year_stored,
  CASE WHEN age < 18 THEN 0 WHEN age < 65 THEN 1 ELSE 2 END AS band_stored,
  CASE WHEN code[1] = 'C' THEN 0 WHEN code[1] IN ('S', 'T') THEN 1 END AS chapter_stored
FROM made
"""
WITHIN = " WHERE admitted BETWEEN DATE '2023-01-01' AND DATE '2024-12-31'"
KEYS = {
    "month": "date_trunc('month', admitted)",
    "week": "date_trunc('week', admitted)",
    "weekday": "isodow(admitted)",
    "year": "year(admitted)",
    "band": "CASE WHEN age < 18 THEN '0-17' WHEN age < 65 THEN '18-64' ELSE '65+' END",
    "chapter": "CASE WHEN code[1] = 'C' THEN 'Neoplasms' WHEN code[1] IN ('S', 'T') THEN 'Injuries' END",
}
CLAMPED = "CASE WHEN cost < 0 THEN 0 WHEN cost > 10000 THEN 10000 ELSE cost END"
STEPS = (
    f"CAST({CLAMPED} * 524288 AS BIGINT)",
    "CAST(GREATEST(LEAST(cost, 10000), 0) * 524288 AS BIGINT)",
    "ROUND(GREATEST(LEAST(cost, 10000), 0) * 524288)",
    "((GREATEST(LEAST(cost, 1e4), 0e0) * 524288e0 + 6755399441055744e0) - 6755399441055744e0)",
    f"((({CLAMPED}) * 524288e0 + 6755399441055744e0) - 6755399441055744e0)",
)
"""Ways to clamp a cost and to count its steps of 2⁻¹⁹: by casts, by ROUND, and by adding 1.5·2⁵²."""
ASKED = (
    *((by, "count") for by in KEYS),
    ("month", "sum"), ("weekday", "sum"), ("year", "sum"), ("weekday", "mean"), ("band", "sum"),
)  # fmt: skip


def plain(by: str, *totals: str) -> str:
    """An analyst's query."""
    return (
        f"SELECT {KEYS[by]} AS k, {', '.join(totals)} FROM stays{'' if by in UNDATED else WITHIN} GROUP BY k"
    )


UNDATED = ("band", "chapter")


def bare(by: str, statistic: str) -> str:
    """Of the values as they are."""
    return plain(by, {"count": "COUNT(*)", "sum": "SUM(cost)", "mean": "AVG(cost)"}[statistic])


def by_hand(by: str, statistic: str) -> list[str]:
    """Of values that are clamped and rounded, in several ways; a mean is a sum and a count."""
    if statistic == "count":
        return [bare(by, statistic)]
    counted = ["COUNT(cost)"] if statistic == "mean" else []
    return [plain(by, f"SUM({steps})", *counted) for steps in STEPS]


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
            "month_stored": {"keys": list(range(2023 * 12 + 1, 2025 * 12 + 1))},
            "week_stored": {"keys": list(range(105499, 105499 + 106))},
            "weekday_stored": {"keys": list(range(1, 8))},
            "year_stored": {"keys": [2023, 2024]},
            "band_stored": {"keys": [0, 1, 2]},
            "chapter_stored": {"keys": [0, 1]},
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
        analyst = duckdb.connect(str(path), read_only=True)
        careful = duckdb.connect()
        careful.execute("SET disabled_optimizers = 'statistics_propagation,filter_pushdown'")
        careful.execute(f"ATTACH '{path}' AS held (READ_ONLY); USE held")
        engine = attach(path, table="stays")

        def ours(by: str, statistic: str) -> Callable[[], object]:
            asked = (
                {"statistic": "count"} if statistic == "count" else {"statistic": statistic, "column": "cost"}
            )
            query = query_from({"name": "q", **asked, "by": by, "epsilon": 1.0})
            return partial(engine.run, engine.write(select_of([plan_query(query, POLICY)])))

        def theirs(text: str, connection: duckdb.DuckDBPyConnection = analyst) -> Callable[[], object]:
            return lambda: connection.execute(text).fetchall()

        print(f"{rows:,} rows, {RUNS} runs, {os.cpu_count()} cores; CPU seconds")
        heads = (
            "bare",
            "careful",
            "by hand",
            "stored",
            "derived",
            "/ by hand",
            "/ careful",
            "/ stored",
            "/ bare",
        )
        print(f"{'':14}" + "".join(f"{head:>10}" for head in heads))
        for by, statistic in ASKED:
            ways = [
                [theirs(bare(by, statistic))],
                [theirs(bare(by, statistic), careful)],
                [theirs(text) for text in by_hand(by, statistic)],
                [ours(f"{by}_stored", statistic)],
                [ours(by, statistic)],
            ]
            least = [math.inf] * len(ways)
            for _ in range(RUNS):
                for place, own in enumerate(ways):
                    least[place] = min(least[place], *map(seconds, own))
            *others, derived = least
            ratios = [derived / others[place] for place in (2, 1, 3, 0)]
            missed = "" if ratios[0] <= TARGET else f"   above the target of {TARGET}"
            name = f"{by}, {statistic}"
            print(f"{name:14}" + "".join(f"{one:10.3f}" for one in least)
                  + "".join(f"{one:10.2f}" for one in ratios) + missed)  # fmt: skip


if __name__ == "__main__":
    main()
