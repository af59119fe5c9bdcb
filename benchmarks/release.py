"""The release engine against the plain query: `python benchmarks/release.py [rows]`, 10⁷ rows by default.

A Parquet file of people with a few rows each is made in a temporary directory. Every comparison is of runs
that take turns in one process (the least of seven, wall and CPU); memory is the most that a fresh process
held.
"""

from __future__ import annotations

import importlib.util
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from leakcap.release import PrivateTable, Query, attach, load_policy, preview
from leakcap.release.plan import plan_query
from leakcap.release.statements import statement_of

GROUPS = 1_000
ROWS_OF_ONE, GROUPS_OF_ONE = 5, 3
MAKE = """
COPY (SELECT (hash(i) % ($rows // 4))::BIGINT AS id, (hash(7 * i + 1) % {groups})::INTEGER AS g,
             (hash(13 * i + 5) % 1000003) / 10000.03 AS x
      FROM range($rows) AS t (i)) TO '{path}' (FORMAT parquet)
"""
PLAIN = "SELECT g, COUNT(*), SUM(x) FROM {source} GROUP BY g"
# The rows of a person that count: the first ones by a keyed hash, as leakcap chooses them.
BY_ROW = "hash(hash(1, id, x, g)), x, g"
BY_GROUP = "hash(hash(2, id, g)), g"
BOUNDED = (
    f"SELECT g, COUNT(*), SUM(x) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY {BY_ROW}) AS r"
    f" FROM {{source}}) WHERE r <= {ROWS_OF_ONE} GROUP BY g"
)
CHOSEN = (
    "SELECT g, COUNT(*), SUM(x) FROM (SELECT *,"
    f" DENSE_RANK() OVER (PARTITION BY id ORDER BY {BY_GROUP}) AS k,"
    f" ROW_NUMBER() OVER (PARTITION BY id ORDER BY {BY_GROUP}, {BY_ROW}) AS r FROM {{source}})"
    f" WHERE r <= {ROWS_OF_ONE} AND k <= {GROUPS_OF_ONE} GROUP BY g"
)
# What no release may do, since the small values would be preferred: the price of the hash.
BY_VALUE = BOUNDED.replace(BY_ROW, "x, g")
QUERIES = [
    Query(name="rows", statistic="count", by=("g",), epsilon=0.5),
    Query(name="total", statistic="sum", column="x", by=("g",), epsilon=0.5),
]


def policy(**changes: Any) -> Any:
    columns = {"x": {"bounds": [0.0, 100.0]}, "g": {"keys": list(range(GROUPS))}}
    base = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6}, "columns": columns}
    return load_policy({**base, **changes})


SEED = "5eed" * 16
BOUNDED_POLICY = policy(unit={"id": "id", "max_rows": ROWS_OF_ONE})
CHOSEN_POLICY = policy(unit={"id": "id", "max_rows": ROWS_OF_ONE, "max_groups": GROUPS_OF_ONE})


def plain(path: str, query: str) -> Callable[[], object]:
    connection = duckdb.connect()
    text = query.format(source=f"read_parquet('{path}')")
    return lambda: connection.execute(text).fetchall()


def statement(path: str, rules: Any) -> Callable[[], object]:
    """The one statement that is run for both queries, without ledger and noise."""
    engine = attach(path)
    written = engine.write(statement_of([plan_query(query, rules) for query in QUERIES], SEED))
    return lambda: engine.run(written)


def release(path: str, rules: Any) -> Callable[[], object]:
    """All of it: plan, price, ledger in a file, statement, noise, answers."""
    ledger = Path(path).with_name(f"{rules.rows_per_unit}-{time.monotonic_ns()}.db")
    table = PrivateTable(path, policy=rules, ledger=ledger)
    return lambda: table.release(QUERIES, fresh=True)


ACTIONS: dict[str, dict[str, Callable[[str], Callable[[], object]]]] = {
    f"count + sum by {GROUPS:,} groups": {
        "plain DuckDB": lambda path: plain(path, PLAIN),
        "leakcap's statement": lambda path: statement(path, policy()),
        "leakcap, end to end": lambda path: release(path, policy()),
    },
    f"the same with at most {ROWS_OF_ONE} rows of a person": {
        "plain DuckDB": lambda path: plain(path, BOUNDED),
        "plain DuckDB, smallest values first": lambda path: plain(path, BY_VALUE),
        "leakcap's statement": lambda path: statement(path, BOUNDED_POLICY),
        "leakcap, end to end": lambda path: release(path, BOUNDED_POLICY),
    },
    f"the same with {ROWS_OF_ONE} rows and {GROUPS_OF_ONE} groups of a person": {
        "plain DuckDB": lambda path: plain(path, CHOSEN),
        "leakcap's statement": lambda path: statement(path, CHOSEN_POLICY),
        "leakcap, end to end": lambda path: release(path, CHOSEN_POLICY),
    },
}


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def in_turn(actions: dict[str, Callable[[], object]], runs: int) -> dict[str, tuple[float, float]]:
    """The least wall and CPU seconds of each, the actions taking turns."""
    best = {name: (float("inf"), float("inf")) for name in actions}
    for _ in range(runs):
        for name, action in actions.items():
            wall, used = time.perf_counter(), cpu()
            action()
            wall, used = time.perf_counter() - wall, cpu() - used
            best[name] = (min(best[name][0], wall), min(best[name][1], used))
    return best


def memory(title: str, name: str, path: str) -> float:
    """MiB that a fresh process held at most."""
    done = subprocess.run(
        [sys.executable, __file__, "--memory", title, name, path], capture_output=True, text=True, check=True
    )
    return float(json.loads(done.stdout))


def compare(path: str) -> None:
    for title, makers in ACTIONS.items():
        print(f"\n{title:<46}{'wall s':>9}{'ratio':>7}{'CPU s':>9}{'ratio':>7}{'MiB':>8}{'ratio':>7}")
        times = in_turn({name: make(path) for name, make in makers.items()}, 7 if "same" not in title else 3)
        peaks = {name: memory(title, name, path) for name in makers}
        first = next(iter(makers))
        for name, (wall, used) in times.items():
            ratios = (wall / times[first][0], used / times[first][1], peaks[name] / peaks[first])
            shown = zip((wall, used, peaks[name]), (9, 9, 8), (3, 3, 0), ratios, strict=True)
            print(f"  {name:<44}" + "".join(f"{v:{w}.{d}f}{r:7.2f}" for v, w, d, r in shown))


def one_row(folder: str) -> None:
    import pyarrow

    data = pyarrow.table({"x": [1.0], "g": [1]})

    def ask() -> object:
        return PrivateTable(data, policy=policy(), ledger=f"{folder}/one.db").count(epsilon=0.1, fresh=True)

    ask()
    wall, used = in_turn({"one": ask}, 20)["one"]
    print(f"\none row, opened, asked and answered: {wall * 1e3:.1f} ms wall, {used * 1e3:.1f} ms CPU")
    sums = preview([Query(name="s", statistic="sum", column="x", by=("g",), epsilon=1.0)], policy=policy())
    scale = sums[0].price.noise_scales["sum"]
    print(f"noise scale of a grouped sum of 0–100 at ε = 1, any number of rows: {scale:.6f}")


def spark(path: str) -> None:
    if importlib.util.find_spec("pyspark") is None:
        print("\nSpark: not installed")
        return
    warnings.simplefilter("ignore")
    from leakcap.release.engine.spark import Spark, local_session

    session = local_session(2)
    session.sparkContext.setLogLevel("OFF")
    session.conf.set("spark.sql.shuffle.partitions", "4")
    engine = Spark(session.read.parquet(path))
    session.read.parquet(path).createOrReplaceTempView("plain_source")
    written = engine.write(statement_of([plan_query(query, policy()) for query in QUERIES]))
    text = PLAIN.format(source="plain_source")
    actions: dict[str, Callable[[], object]] = {
        "plain": lambda: session.sql(text).collect(),
        "leakcap": lambda: engine.run(written),
    }
    in_turn(actions, 12)  # until Java has compiled what it will compile
    times = in_turn(actions, 7)
    first, ours = (wall for wall, _ in times.values())
    print(
        f"\nSpark, local[2]: plain {first:.3f} s, leakcap's statement {ours:.3f} s, ratio {ours / first:.2f}"
    )


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
        duckdb.execute(MAKE.format(groups=GROUPS, path=path).replace("$rows", str(rows)))
        size = Path(path).stat().st_size / 2**20
        print(f"{rows:,} rows, {size:.0f} MiB of Parquet, DuckDB {duckdb.__version__}")
        compare(path)
        one_row(folder)
        spark(path)


if __name__ == "__main__":
    main()
