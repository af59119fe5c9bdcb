"""People bounded to some rows and groups against the plain query that does the same: `bounding.py [rows]`.

A Parquet file of people with one to ten rows each, in no order, is made in a temporary directory. The plain
query numbers a person's rows and groups in the order of a hash, as anybody would write it by hand; it needs
no second order for rows whose hashes meet, which the sensitivity of a release does. Runs take turns in one
process (the least of them, wall and CPU); memory is the most that a fresh process held.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from leakcap.release import PrivateTable, Query, attach, load_policy
from leakcap.release.plan import plan_query
from leakcap.release.statements import statement_of

GROUPS = 1_000
ROWS_OF_ONE, GROUPS_OF_ONE = 5, 3
RUNS = 3
MAKE = """
COPY (SELECT id::BIGINT AS id, (hash(7 * id + 31 * r + 1) % {groups})::INTEGER AS g,
             (hash(13 * id + 77 * r + 5) % 1000003) / 10000.03 AS x
      FROM (SELECT p AS id, unnest(range(1 + p % 10)) AS r FROM range({people}) AS t (p))
      ORDER BY hash(10 * id + r)) TO '{path}' (FORMAT parquet)
"""
ANSWER = "SELECT g, COUNT(*), SUM(x) FROM ({rows}) GROUP BY g"
ROWS = (
    "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY hash(id, g, x), x) AS r"
    f" FROM {{source}}) WHERE r <= {ROWS_OF_ONE}"
)
# In one order for both, which takes half the time of the two orders that come to mind first.
BOTH = (
    "SELECT * FROM (SELECT *, DENSE_RANK() OVER (PARTITION BY id ORDER BY hash(id, g)) AS k,"
    " ROW_NUMBER() OVER (PARTITION BY id ORDER BY hash(id, g), hash(id, x)) AS r"
    f" FROM {{source}}) WHERE r <= {ROWS_OF_ONE} AND k <= {GROUPS_OF_ONE}"
)
TWO_ORDERS = BOTH.replace("hash(id, g), hash(id, x)) AS r", "hash(id, g, x)) AS r")
ONE_HASH = ROWS.replace("hash(id, g, x), x", "hash(id, g, x)")
QUERIES = [
    Query(name="rows", statistic="count", by=("g",), epsilon=0.5),
    Query(name="total", statistic="sum", column="x", by=("g",), epsilon=0.5),
]


def policy(**bounds: int) -> Any:
    return load_policy({
        "dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6},
        "unit": {"id": "id", **bounds},
        "columns": {"x": {"bounds": [0.0, 100.0]}, "g": {"keys": list(range(GROUPS))}},
    })  # fmt: skip


ROWS_ONLY = policy(max_rows=ROWS_OF_ONE)
BOUNDED = policy(max_rows=ROWS_OF_ONE, max_groups=GROUPS_OF_ONE)


def plain(path: str, rows: str) -> Callable[[], object]:
    connection = duckdb.connect()
    text = ANSWER.format(rows=rows.format(source=f"read_parquet('{path}')"))
    return lambda: connection.execute(text).fetchall()


def statement(path: str, rules: Any) -> Callable[[], object]:
    """The one statement that is run for both queries, without ledger and noise."""
    engine = attach(path)
    written = engine.write(statement_of([plan_query(query, rules) for query in QUERIES], "5eed"))
    return lambda: engine.run(written)


def release(path: str, rules: Any) -> Callable[[], object]:
    """All of it: plan, price, ledger in a file, statement, noise, answers."""
    ledger = Path(path).with_name(f"{time.monotonic_ns()}.db")
    table = PrivateTable(path, policy=rules, ledger=ledger)
    return lambda: table.release(QUERIES, fresh=True)


Maker = Callable[[str], Callable[[], object]]
ACTIONS: dict[str, dict[str, Maker]] = {
    f"at most {ROWS_OF_ONE} rows and {GROUPS_OF_ONE} groups of a person": {
        "plain DuckDB": lambda path: plain(path, BOTH),
        "plain DuckDB, rows in an order of their own": lambda path: plain(path, TWO_ORDERS),
        "leakcap's statement": lambda path: statement(path, BOUNDED),
        "leakcap, end to end": lambda path: release(path, BOUNDED),
    },
    f"at most {ROWS_OF_ONE} rows of a person": {
        "plain DuckDB": lambda path: plain(path, ROWS),
        "plain DuckDB, by the hash alone": lambda path: plain(path, ONE_HASH),
        "leakcap's statement": lambda path: statement(path, ROWS_ONLY),
        "leakcap, end to end": lambda path: release(path, ROWS_ONLY),
    },
}


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def in_turn(actions: dict[str, Callable[[], object]]) -> dict[str, tuple[float, float]]:
    """The least wall and CPU seconds of each."""
    best = {name: (float("inf"), float("inf")) for name in actions}
    for _ in range(RUNS):
        for name, action in actions.items():
            wall, used = time.perf_counter(), cpu()
            action()
            wall, used = time.perf_counter() - wall, cpu() - used
            best[name] = (min(best[name][0], wall), min(best[name][1], used))
    return best


def memory(title: str, name: str, path: str) -> float:
    """MiB that a fresh process held at most."""
    command = [sys.executable, __file__, "--memory", title, name, path]
    return float(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def compare(path: str) -> None:
    for title, makers in ACTIONS.items():
        print(f"\n{title:<46}{'wall s':>9}{'ratio':>7}{'CPU s':>9}{'ratio':>7}{'MiB':>8}{'ratio':>7}")
        times = in_turn({name: make(path) for name, make in makers.items()})
        peaks = {name: memory(title, name, path) for name in makers}
        first = next(iter(makers))
        for name, (wall, used) in times.items():
            ratios = (wall / times[first][0], used / times[first][1], peaks[name] / peaks[first])
            shown = zip((wall, used, peaks[name]), (9, 9, 8), (3, 3, 0), ratios, strict=True)
            print(f"  {name:<44}" + "".join(f"{v:{w}.{d}f}{r:7.2f}" for v, w, d, r in shown), flush=True)


def main() -> None:
    if sys.argv[1:2] == ["--memory"]:
        title, name, path = sys.argv[2:]
        ACTIONS[title][name](path)()
        # Not ru_maxrss, which a process inherits from the one that started it.
        peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
        print(json.dumps(int(peak.split()[1]) / 1024))
        return
    rows = int(sys.argv[1]) if sys.argv[1:] else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/people.parquet"
        duckdb.execute(MAKE.format(groups=GROUPS, path=path, people=round(rows / 5.5)))
        size = Path(path).stat().st_size / 2**20
        print(f"{rows:,} rows, {size:.0f} MiB of Parquet, DuckDB {duckdb.__version__}")
        compare(path)


if __name__ == "__main__":
    main()
