"""A publication of an office, eight tables with 429 cells, beside the plain SQL of all of it.

`python benchmarks/publication.py [rows]`, 10⁷ by default. A Parquet file of hospital stays is made in
`build/benchmarks`. Rows are the unit, and in a second walk patients, of whose rows five count in each table.
The plain SQL is eight statements that a person would write, bounds and known keys included, and in the second
walk numbers each patient's rows by a hash. Three actions take turns in one process: the plain SQL, leakcap's
statements, and all of a release (plan, price, ledger on disk, statements, noise, answers). The medians of
five turns, in seconds on the clock and of CPU, and which of a release's are above the target; `--each` also
takes the tables one by one.
"""

from __future__ import annotations

import argparse
import datetime
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
from measuring.beside_duckdb import SEED, plain
from measuring.process import Action, turns

from leakcap.release import PrivateTable, Query, attach, load_policy, query_from
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import scans_of

TARGET = 1.3
RUNS = 5
MAX_ROWS = 5
WARDS, DISTRICTS = 11, 16
TABLE = f"""
SELECT (hash(i) % greatest({{rows}} // 4, 1))::BIGINT AS patient,
       DATE '2025-01-01' + (hash(7 * i + 1) % 365)::INTEGER AS admitted,
       'ward ' || (hash(3 * i + 2) % {WARDS}) AS ward, (hash(11 * i + 7) % {DISTRICTS})::INTEGER AS district,
       CASE WHEN hash(17 * i + 9) % 2 = 0 THEN 'female' ELSE 'male' END AS sex,
       (hash(23 * i + 4) % 1000)::INTEGER / 10.0 AS age, (hash(29 * i + 6) % 3000)::INTEGER / 100.0 AS days,
       (hash(13 * i + 5) % 1000003) / 100.03 AS cost
FROM range({{rows}}) AS t (i)
"""
COLUMNS: dict[str, Any] = {
    "admitted": {"bounds": [datetime.date(2025, 1, 1), datetime.date(2025, 12, 31)]},
    "month": {"from": "admitted", "truncate": "month"},
    "ward": {"keys": [f"ward {n}" for n in range(WARDS)]},
    "district": {"keys": list(range(DISTRICTS))},
    "sex": {"keys": ["female", "male"]},
    "age": {"bounds": [0, 120]},
    "band": {"from": "age", "cuts": [15, 40, 65, 80]},
    "days": {"bounds": [0, 32]},
    "cost": {"bounds": [0, 10_000]},
}
_MONTH = "date_trunc('month', admitted)"
_YEAR = "admitted BETWEEN DATE '2025-01-01' AND DATE '2025-12-31'"
_BAND = "CASE WHEN age < 15 THEN 0 WHEN age < 40 THEN 1 WHEN age < 65 THEN 2 WHEN age < 80 THEN 3 ELSE 4 END"
_BIN = "least(greatest(floor(days / 2), 0), 15)::INTEGER"
PUBLICATION: Sequence[tuple[dict[str, Any], str]] = (
    (
        {"name": "stays by month", "statistic": "count", "by": "month"},
        f"SELECT {_MONTH} AS m, COUNT(*) FROM {{source}} WHERE {_YEAR} GROUP BY m",
    ),
    (
        {"name": "stays by ward", "statistic": "count", "by": "ward"},
        "SELECT ward, COUNT(*) FROM {source} GROUP BY ward",
    ),
    (
        {"name": "stays by ward and month", "statistic": "count", "by": ["ward", "month"]},
        f"SELECT ward, {_MONTH} AS m, COUNT(*) FROM {{source}} WHERE {_YEAR} GROUP BY ward, m",
    ),
    (
        {"name": "people by district", "statistic": "count", "by": ["district", "sex", "band"]},
        f"SELECT district, sex, {_BAND} AS b, COUNT(*) FROM {{source}} GROUP BY district, sex, b",
    ),
    (
        {"name": "cost by ward", "statistic": "mean", "column": "cost", "by": "ward"},
        "SELECT ward, AVG(cost) FROM {source} GROUP BY ward",
    ),
    (
        {"name": "days by district", "statistic": "sum", "column": "days", "by": "district"},
        "SELECT district, SUM(days) FROM {source} GROUP BY district",
    ),
    (
        {"name": "cost by ward and band", "statistic": "mean", "column": "cost", "by": ["ward", "band"]},
        f"SELECT ward, {_BAND} AS b, AVG(cost) FROM {{source}} GROUP BY ward, b",
    ),
    (
        {"name": "days by sex", "statistic": "histogram", "column": "days", "bins": 16, "by": "sex"},
        f"SELECT sex, {_BIN} AS b, COUNT(*) FROM {{source}} GROUP BY sex, b",
    ),
)
CELLS = 12 + 11 + 132 + 160 + 11 + 16 + 55 + 32


def policy(*, people: bool) -> Any:
    unit = {"unit": {"id": "patient", "max_rows": MAX_ROWS}} if people else {}
    base = {"dataset": "stays", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6}}
    return load_policy({**base, **unit, "columns": COLUMNS})


def queries() -> list[Query]:
    return [query_from({**asked, "epsilon": 0.5}) for asked, _ in PUBLICATION]


def chosen(text: str) -> str:
    """The plain query of at most five rows of a patient among those that it asks about."""
    read = [one for one in ("admitted", "ward", "district", "sex", "age", "days", "cost") if one in text]
    where = f" WHERE {_YEAR}" if "WHERE" in text else ""
    number = (
        f"ROW_NUMBER() OVER (PARTITION BY patient ORDER BY hash(patient, {', '.join(read)}), {read[0]}) AS r"
    )
    rows = f"(SELECT *, {number} FROM {{source}}{where})"
    return text.replace(f" WHERE {_YEAR}", "").replace("{source}", f"{rows} WHERE r <= {MAX_ROWS}")


def kept_file(folder: Path, rows: int) -> str:
    path = folder / f"stays-{rows}.parquet"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        duckdb.execute(f"COPY ({TABLE.format(rows=rows)}) TO '{path}.unfinished' (FORMAT parquet)")
        Path(f"{path}.unfinished").rename(path)
    return str(path)


def medians(actions: Mapping[str, Action], runs: int) -> dict[str, tuple[float, float]]:
    """Wall and CPU seconds of each, by turns, after one turn that does not count."""
    turns(actions)
    found = [turns(actions) for _ in range(runs)]
    return {
        name: (statistics.median(one[0] for one in own), statistics.median(one[1] for one in own))
        for name, own in zip(actions, zip(*found, strict=True), strict=True)
    }


def measured(path: str, asked: Sequence[Query], texts: Sequence[str], rules: Any, runs: int) -> str:
    """A line: CPU seconds of the plain SQL, and the ratios to it in wall and CPU time."""
    engine = attach(path)
    scans = scans_of([plan_query(query, rules) for query in asked], engine, SEED)
    by_hand = [plain(path, text) for text in texts]
    with tempfile.TemporaryDirectory() as folder:
        table = PrivateTable(path, policy=rules, ledger=f"{folder}/{time.monotonic_ns()}.db")
        actions: dict[str, Action] = {
            "plain": lambda: [one() for one in by_hand],
            "statements": lambda: [scan.run(engine) for scan in scans],
            "release": lambda: table.release(asked, fresh=True),
        }
        found = medians(actions, runs)
        table.ledger.close()
    first = found["plain"]
    ratios = [found[name][clock] / first[clock] for name in ("statements", "release") for clock in (0, 1)]
    missed = [word for word, ratio in zip(("clock", "CPU"), ratios[2:], strict=True) if ratio > TARGET]
    verdict = f"   release above {TARGET}: {', '.join(missed)}" if missed else ""
    return f"{first[1]:9.3f}" + "".join(f"{ratio:9.2f}" for ratio in ratios) + f"{len(scans):8}{verdict}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rows", nargs="?", type=int, default=10_000_000)
    parser.add_argument("--each", action="store_true", help="each table by itself too")
    parser.add_argument("--unit", choices=("rows", "people"), help="one of the two walks")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--data", type=Path, default=Path("build/benchmarks"), help="where Parquet is kept")
    given = parser.parse_args()
    path, asked = kept_file(given.data, given.rows), queries()
    cells = sum(plan_query(query, policy(people=False)).cells.size for query in asked)
    assert cells == CELLS, cells
    print(f"{given.rows:,} rows, {len(asked)} tables, {cells} cells, target {TARGET}")
    print(f"{'':32}{'plain':>9}{'statements':>18}{'release':>18}{'scans':>8}")
    print(f"{'':32}{'CPU s':>9}" + f"{'wall':>9}{'CPU':>9}" * 2)
    for unit in (given.unit,) if given.unit else ("rows", "people"):
        rules = policy(people=unit == "people")
        texts = [chosen(text) if unit == "people" else text for _, text in PUBLICATION]
        if given.each:
            for query, text in zip(asked, texts, strict=True):
                print(f"  {query.name:30}{measured(path, [query], [text], rules, given.runs)}", flush=True)
        print(f"{f'all, of {unit}':32}{measured(path, asked, texts, rules, given.runs)}", flush=True)


if __name__ == "__main__":
    main()
