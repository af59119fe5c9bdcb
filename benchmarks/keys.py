"""Very many keys: `python benchmarks/keys.py [keys …]`, 10⁵ and 10⁶ by default.

A Parquet file has eight rows of each of so many text keys. A fresh process opens it under a policy in which
the keys are public, or private, and answers a count and a sum by them. "Seldom" keys are private ones, of
which a thousand have eight rows and all others one, so that hardly any other one is released: what grows
there is what is not released. CPU and wall seconds, and the most that the process held, beside those of
a process that asks DuckDB for the same count and sum and only passes over what comes back.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
from measuring.process import answer_of, peak_mib

MOST_PUBLIC = 10**6  # that one query may have
OFTEN = 1_000
MAKE = """
COPY (SELECT 'postal code ' || {key} AS g, (hash(13 * i + 5) % 1000003) / 10000.03 AS x
      FROM range({rows}) AS t (i)) TO '{path}' (FORMAT parquet)
"""
PLAIN = ("SELECT g, COUNT(*) FROM '{}' GROUP BY g", "SELECT g, SUM(x), COUNT(*) FROM '{}' GROUP BY g")


def measured(kind: str, path: str, keys: int) -> dict[str, Any]:
    """In this process, which has done nothing else."""
    from leakcap.release import PrivateTable

    if kind == "plain":
        connection = duckdb.connect()
        for text in PLAIN:
            found = connection.execute(text.format(path))
            while found.fetchmany(2**15):
                pass
        return {"mib": peak_mib()}
    private = kind != "public"
    own = {"private": "text"} if private else {"keys": [f"postal code {n}" for n in range(keys)]}
    policy = {
        "dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6, "delta": 0.5},
        "columns": {"x": {"bounds": [0.0, 100.0]}, "g": own},
    }  # fmt: skip
    found: dict[str, Any] = {}
    given: dict[str, Any] = {"delta": 1e-6} if private else {}
    before = time.perf_counter(), time.process_time()
    table = PrivateTable(path, policy=policy, ledger=str(Path(path).with_name(f"{kind}.db")))
    found["open"] = (time.perf_counter() - before[0], time.process_time() - before[1])
    for name, ask in (
        ("count", lambda: table.count(by="g", epsilon=4.0, **given)),
        ("sum", lambda: table.sum("x", by="g", epsilon=8.0, **given)),
    ):
        before = time.perf_counter(), time.process_time()
        release = ask()
        found[name] = (time.perf_counter() - before[0], time.process_time() - before[1])
        found["released"] = len(release.rows)
    return found | {"mib": peak_mib()}


def main() -> None:
    if sys.argv[1:2] == ["--measure"]:
        kind, path, keys = sys.argv[2:]
        return print(json.dumps(measured(kind, path, int(keys))))
    heads = f"{'keys':>22}{'open CPU s':>12}{'count':>8}{'sum':>8}{'wall s':>9}"
    print(f"{heads}{'MiB':>8}{'plain MiB':>11}{'released':>11}")
    for keys in map(int, sys.argv[1:] or ("100000", "1000000")):
        seldom = {"key": f"(CASE WHEN i < {keys} THEN i ELSE i % {OFTEN} END)", "rows": keys + 7 * OFTEN}
        each = {"key": f"(i % {keys})", "rows": 8 * keys}
        for made, kinds in ((each, ("public", "private")), (seldom, ("seldom",))):
            with tempfile.TemporaryDirectory() as folder:
                path = f"{folder}/keys.parquet"
                duckdb.execute(MAKE.format(path=path, **made))
                floor = answer_of("--measure", "plain", path, str(keys))["mib"]
                for kind in kinds:
                    if kind != "public" or keys <= MOST_PUBLIC:
                        print(_line(kind, path, keys, floor), flush=True)


def _line(kind: str, path: str, keys: int, floor: float) -> str:
    found = answer_of("--measure", kind, path, str(keys))
    steps = [found[name] for name in ("open", "count", "sum")]
    used = "".join(f"{cpu:{width}.2f}" for (_, cpu), width in zip(steps, (12, 8, 8), strict=True))
    wall = sum(wall for wall, _ in steps)
    held = f"{wall:9.1f}{found['mib']:8.0f}{floor:11.0f}"
    return f"{keys:14,} {kind:>7}{used}{held}{found['released']:11,}"


if __name__ == "__main__":
    main()
