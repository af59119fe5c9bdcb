"""The release engine against the plain query: `python benchmarks/release.py [rows]`, 10⁷ rows by default.

Every statistic there is, by every kind of key and with filters, beside the SQL that a person would write
(`measuring/by_hand.py`): medians of five runs that take turns in one process, in wall time; the CPU time of
all of a release, too. Ratios are to the SQL by hand; the target is for the release. Then count + sum by many
groups, with memory, as the least of fifteen runs; one row; and Spark. `release.py 1000000` is a quick look,
in which what does not grow with the rows weighs ten times as much.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import sys
import tempfile
import warnings
from pathlib import Path

from measuring.beside_duckdb import (
    GROUPS,
    QUERIES,
    SEED,
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
from measuring.by_hand import FILTERS, KEYS, TABLE, Case, cases
from measuring.by_hand import rules as policy_for
from measuring.process import Action, answer_of, in_turn, medians

from leakcap.release import PrivateTable, Query, attach, preview
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.statements import statement_of

RUNS, PROCESSES = 5, 5
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


def every_statistic(path: str) -> None:
    """Each by every kind of key, and by an integer with every filter."""
    print(f"\n{'':48}{'by hand':>9}{'statement':>10}{'release':>9}{'its CPU':>9}{'target':>8}")
    for name, case in cases().items():
        for kind, by in KEYS.items():
            _row(path, f"{name} by {kind}" if by else name, name, case, by, "")
        for filter_ in filter(None, FILTERS):
            _row(path, f"{name} by integer where {filter_}", name, case, KEYS["integer"], filter_)


def _row(path: str, title: str, name: str, case: Case, by: tuple[str, ...], filter_: str) -> None:
    """The medians of runs that take turns: the query by hand, our statement, and all of a release."""
    where, rules = FILTERS[filter_], policy_for(people=case.people)
    query = Query(name="q", statistic=name, epsilon=1.0, by=by, where=where, **case.asked)
    engine = attach(path)
    written = engine.write(statement_of([plan_query(query, rules)], SEED))
    with tempfile.TemporaryDirectory() as folder:
        table = PrivateTable(path, policy=rules, ledger=f"{folder}/ledger.db")
        actions: dict[str, Action] = {
            "by hand": plain(path, case.sql(by, where)),
            "statement": lambda: engine.run(written),
            "release": lambda: table.release([query], fresh=True),
        }
        found = medians(actions, RUNS)
        table.ledger.close()
    hand, ours, all_of_it = found.values()
    target = case.target(by)
    missed = "" if all_of_it[0] <= target * hand[0] else "  missed"
    ratios = f"{ours[0] / hand[0]:10.2f}{all_of_it[0] / hand[0]:9.2f}{all_of_it[1] / hand[1]:9.2f}"
    print(f"{title:48}{hand[0] * 1e3:6.0f} ms{ratios}{target:8.2f}{missed}", flush=True)


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
    text = COUNT_AND_SUM.format(source="plain_source")
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
    with parquet(TABLE.format(rows=rows), rows) as path:
        every_statistic(path)
    with parquet(PEOPLE.format(rows=rows, groups=GROUPS), rows) as path:
        compare(path, ACTIONS, lambda _title: 15)
        one_row(str(Path(path).parent))
        spark(path)


if __name__ == "__main__":
    main()
