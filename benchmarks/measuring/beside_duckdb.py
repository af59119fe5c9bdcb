"""leakcap beside plain queries of DuckDB about one Parquet file: count + sum by groups, in time and memory.

A script names its `Actions`, a table of them for each comparison, and calls `answered_memory`, `parquet` and
`compare`. Memory is that of a fresh process, for which the script is started again.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
from measuring.process import Action, answer_of, in_turn, peak_mib

from leakcap.release import PrivateTable, Query, attach, load_policy
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.statements import select_of

__all__ = [
    "GROUPS",
    "QUERIES",
    "SEED",
    "Actions",
    "answered_memory",
    "compare",
    "parquet",
    "plain",
    "policy",
    "release",
    "rows_asked",
    "statement",
]

Actions = dict[str, dict[str, Callable[[str], Action]]]
"""By comparison and competitor: from the file's path to what is measured. Ratios are to the first one."""

GROUPS = 1_000
SEED = "5eed" * 16
QUERIES = [
    Query(name="rows", statistic="count", by=("g",), epsilon=0.5),
    Query(name="total", statistic="sum", column="x", by=("g",), epsilon=0.5),
]


def policy(**changes: Any) -> Any:
    columns = {"x": {"bounds": [0.0, 100.0]}, "g": {"keys": list(range(GROUPS))}}
    base = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6}, "columns": columns}
    return load_policy({**base, **changes})


def plain(path: str, query: str) -> Action:
    """The query, with `{source}` where the file is read."""
    connection = duckdb.connect()
    text = query.format(source=f"read_parquet('{path}')")
    return lambda: connection.execute(text).fetchall()


def statement(path: str, rules: Any) -> Action:
    """The one statement that is run for both queries, without ledger and noise."""
    engine = attach(path)
    written = engine.write(select_of([plan_query(query, rules) for query in QUERIES], SEED))
    return lambda: engine.run(written)


def release(path: str, rules: Any) -> Action:
    """All of it: plan, price, ledger in a file, statement, noise, answers."""
    ledger = Path(path).with_name(f"{time.monotonic_ns()}.db")
    table = PrivateTable(path, policy=rules, ledger=ledger)
    return lambda: table.release(QUERIES, fresh=True)


def rows_asked() -> int:
    return int(sys.argv[1]) if sys.argv[1:] else 10_000_000


@contextmanager
def parquet(query: str, rows: int) -> Iterator[str]:
    """The path of a temporary Parquet file with what the query says."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/people.parquet"
        duckdb.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
        size = Path(path).stat().st_size / 2**20
        print(f"{rows:,} rows, {size:.0f} MiB of Parquet, DuckDB {duckdb.__version__}")
        yield path


def answered_memory(actions: Actions) -> bool:
    """Whether this is the fresh process that `compare` started: it then prints the MiB of one action."""
    if sys.argv[1:2] != ["--memory"]:
        return False
    title, name, path = sys.argv[2:]
    actions[title][name](path)()
    print(json.dumps(peak_mib()))
    return True


def compare(path: str, actions: Actions, runs: Callable[[str], int]) -> None:
    """A table for each comparison, of so many runs."""
    for title, makers in actions.items():
        print(f"\n{title:<46}{'wall s':>9}{'ratio':>7}{'CPU s':>9}{'ratio':>7}{'MiB':>8}{'ratio':>7}")
        times = in_turn({name: make(path) for name, make in makers.items()}, runs(title))
        peaks = {name: float(answer_of("--memory", title, name, path)) for name in makers}
        first = next(iter(makers))
        for name, (wall, used) in times.items():
            ratios = (wall / times[first][0], used / times[first][1], peaks[name] / peaks[first])
            shown = zip((wall, used, peaks[name]), (9, 9, 8), (3, 3, 0), ratios, strict=True)
            print(f"  {name:<44}" + "".join(f"{v:{w}.{d}f}{r:7.2f}" for v, w, d, r in shown), flush=True)
