"""The release engine against the plain query: `python benchmarks/release.py [rows]`, 10⁷ rows by default.

Every statistic there is, by every kind of key and with filters, beside the SQL that a person would write
(`measuring/by_hand.py`, `measuring/walk.py`): medians of five runs that take turns in one process, three
where a long line's verdict is clear. Ratios are to the SQL by hand, in wall and in CPU time; the target is
for all of a release, in CPU time. Then count + sum by many groups, with memory, as the least of fifteen runs;
one row; and Spark. `--walk` stops before these, `--only mean,sum --keys none,text,filters` walks a part,
`--json` writes what was measured and `--table` prints that as Markdown. `release.py 1000000` is a quick look,
in which what does not grow with the rows weighs ten times as much.
"""

from __future__ import annotations

import argparse
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
    statement,
)
from measuring.by_hand import KEYS
from measuring.process import Action, answer_of, in_turn
from measuring.walk import kept_file, read, table_of, walk

from leakcap.release import PrivateTable, Query, preview
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.statements import select_of

PROCESSES = 5
PEOPLE = """
SELECT (hash(i) % ({rows} // 4))::BIGINT AS id, (hash(7 * i + 1) % {groups})::INTEGER AS g,
       (hash(13 * i + 5) % 1000003) / 10000.03 AS x
FROM range({rows}) AS t (i)
"""
COUNT_AND_SUM = "SELECT g, COUNT(*), SUM(x) FROM {source} GROUP BY g"
ACTIONS: Actions = {
    f"count + sum by {GROUPS:,} groups": {
        "plain DuckDB": lambda path: plain(path, COUNT_AND_SUM),
        "leakcap's statement": lambda path: statement(path, policy()),
        "leakcap, end to end": lambda path: release(path, policy()),
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
    written = engine.write(select_of([plan_query(query, policy()) for query in QUERIES]))
    text = COUNT_AND_SUM.format(source="plain_source")
    actions: dict[str, Action] = {
        "plain": lambda: session.sql(text).collect(),
        "leakcap": lambda: engine.run(written),
    }
    in_turn(actions, 12)  # until Java has compiled what it will compile
    print(json.dumps([wall for wall, _ in in_turn(actions, 15).values()]))


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rows", nargs="?", type=int, default=10_000_000)
    parser.add_argument("--only", default="", help="statistics, with commas between: walk these and stop")
    parser.add_argument("--keys", default="", help=f"kinds of key, among {', '.join(KEYS)}, filters")
    parser.add_argument("--walk", action="store_true", help="walk every statistic and stop")
    parser.add_argument("--json", type=Path, help="where to write what was measured")
    parser.add_argument("--table", type=Path, help="print the table of such a file and stop")
    parser.add_argument("--data", type=Path, default=Path("build/benchmarks"), help="where Parquet is kept")
    return parser.parse_args()


def main() -> None:
    if sys.argv[1:2] == ["--spark"]:
        return spark_once(sys.argv[2])
    if answered_memory(ACTIONS):
        return
    given = asked()
    if given.table:
        return print(table_of(read(given.table)))
    only, keys = ([word for word in text.split(",") if word] for text in (given.only, given.keys))
    walk(kept_file(given.data, given.rows), given.rows, only, keys, json=given.json)
    if given.walk or only or keys:
        return
    with parquet(PEOPLE.format(rows=given.rows, groups=GROUPS), given.rows) as path:
        compare(path, ACTIONS, lambda _title: 15)
        one_row(str(Path(path).parent))
        spark(path)


if __name__ == "__main__":
    main()
