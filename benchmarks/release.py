"""The release engine against the plain query: `python benchmarks/release.py [rows]`, 10⁷ rows by default.

A Parquet file of people with a few rows each is made in a temporary directory. Every comparison is of runs
that take turns in one process: the least of fifteen, wall and CPU, or of three where one takes a second.
Memory is the most that a fresh process held.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import sys
import warnings
from pathlib import Path

from measuring.beside_duckdb import (
    GROUPS,
    QUERIES,
    Actions,
    answered_memory,
    compare,
    parquet,
    plain,
    policy,
    release,
    rows_asked,
    statement,
)
from measuring.process import Action, answer_of, in_turn

from leakcap.release import PrivateTable, Query, preview
from leakcap.release.plan import plan_query
from leakcap.release.statements import statement_of

ROWS_OF_ONE, GROUPS_OF_ONE = 5, 3
PROCESSES = 5
TABLE = """
SELECT (hash(i) % ({rows} // 4))::BIGINT AS id, (hash(7 * i + 1) % {groups})::INTEGER AS g,
       (hash(13 * i + 5) % 1000003) / 10000.03 AS x
FROM range({rows}) AS t (i)
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
BOUNDED_POLICY = policy(unit={"id": "id", "max_rows": ROWS_OF_ONE})
CHOSEN_POLICY = policy(unit={"id": "id", "max_rows": ROWS_OF_ONE, "max_groups": GROUPS_OF_ONE})

ACTIONS: Actions = {
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
    """The median of fresh Java processes: what each compiles well, and when, is a matter of chance."""
    if importlib.util.find_spec("pyspark") is None:
        print("\nSpark: not installed")
        return
    found = [answer_of("--spark", path) for _ in range(PROCESSES)]
    ratios = sorted(ours / first for first, ours in found)
    shown = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    first, ours = (statistics.median(times) for times in zip(*found, strict=True))
    print(f"\nSpark, local[2]: plain {first:.3f} s, leakcap's statement {ours:.3f} s, ratio", end=" ")
    print(f"{statistics.median(ratios):.2f} ({PROCESSES} processes: {shown})")


def spark_once(path: str) -> None:
    """Print the seconds of the plain query and of ours."""
    warnings.simplefilter("ignore")
    from leakcap.release.engine.spark import Spark, local_session

    session = local_session(2)
    session.sparkContext.setLogLevel("OFF")
    session.conf.set("spark.sql.shuffle.partitions", "4")
    engine = Spark(session.read.parquet(path))
    session.read.parquet(path).createOrReplaceTempView("plain_source")
    written = engine.write(statement_of([plan_query(query, policy()) for query in QUERIES]))
    text = PLAIN.format(source="plain_source")
    actions: dict[str, Action] = {
        "plain": lambda: session.sql(text).collect(),
        "leakcap": lambda: engine.run(written),
    }
    in_turn(actions, 12)  # until Java has compiled what it will compile
    print(json.dumps([wall for wall, _ in in_turn(actions, 15).values()]))


def main() -> None:
    if sys.argv[1:2] == ["--spark"]:
        return spark_once(sys.argv[2])
    if answered_memory(ACTIONS):
        return
    rows = rows_asked()
    with parquet(TABLE.format(rows=rows, groups=GROUPS), rows) as path:
        compare(path, ACTIONS, lambda title: 3 if "same" in title else 15)
        one_row(str(Path(path).parent))
        spark(path)


if __name__ == "__main__":
    main()
