"""What grows with rows and with groups: `python benchmarks/scale.py [rows …]`, 10⁶ and 10⁷ by default.

For each number of rows, and of groups, a Parquet file is made, and a fresh process answers count + sum from
it: the plain query, then leakcap's whole release. CPU and wall seconds are the least of three, memory is the
most that the process held.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

GROUPS = (1_000, 1_000_000)
MAKE = """
COPY (SELECT (hash(7 * i + 1) % {groups})::INTEGER AS g, (hash(13 * i + 5) % 1000003) / 10000.03 AS x
      FROM range({rows}) AS t (i)) TO '{path}' (FORMAT parquet)
"""


def plain(path: str, groups: int) -> Callable[[], object]:
    connection = duckdb.connect()
    return lambda: connection.execute(f"SELECT g, COUNT(*), SUM(x) FROM '{path}' GROUP BY g").fetchall()


def release(path: str, groups: int) -> Callable[[], object]:
    from leakcap.release import PrivateTable, Query

    columns = {"x": {"bounds": [0.0, 100.0]}, "g": {"keys": list(range(groups))}}
    policy = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6}, "columns": columns}
    table = PrivateTable(path, policy=policy, ledger=str(Path(path).with_suffix(".db")))
    queries = [
        Query(name="rows", statistic="count", by=("g",), epsilon=0.5),
        Query(name="total", statistic="sum", column="x", by=("g",), epsilon=0.5),
    ]
    return lambda: table.release(queries, fresh=True)


def measured(kind: str, path: str, groups: int) -> dict[str, float]:
    """In this process, which has done nothing else."""
    action = (plain if kind == "plain" else release)(path, groups)
    walls, used = [], []
    for _ in range(3):
        wall, cpu = time.perf_counter(), time.process_time()
        action()
        walls.append(time.perf_counter() - wall)
        used.append(time.process_time() - cpu)
    # Not ru_maxrss, which a process inherits from the one that started it.
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    return {"wall": min(walls), "cpu": min(used), "mib": int(peak.split()[1]) / 1024}


def in_a_process(kind: str, path: str, groups: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", kind, path, str(groups)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main() -> None:
    if sys.argv[1:2] == ["--measure"]:
        kind, path, groups = sys.argv[2:]
        print(json.dumps(measured(kind, path, int(groups))))
        return
    print(f"{'rows':>14}{'groups':>11}{'':>10}{'wall s':>9}{'CPU s':>9}{'ratio':>7}{'MiB':>8}{'ratio':>7}")
    for rows in map(int, sys.argv[1:] or ("1000000", "10000000")):
        for groups in GROUPS:
            with tempfile.TemporaryDirectory() as folder:
                path = f"{folder}/rows.parquet"
                duckdb.execute(MAKE.format(rows=rows, groups=groups, path=path))
                found = {kind: in_a_process(kind, path, groups) for kind in ("plain", "leakcap")}
            for kind, one in found.items():
                first = found["plain"]
                print(
                    f"{rows:14,}{groups:11,}{kind:>10}{one['wall']:9.3f}{one['cpu']:9.3f}"
                    f"{one['cpu'] / first['cpu']:7.2f}{one['mib']:8.0f}{one['mib'] / first['mib']:7.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
