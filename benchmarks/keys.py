"""Very many keys: `python benchmarks/keys.py [keys …]`, 10⁵ and 10⁶ by default.

A Parquet file has eight rows of each of so many text keys. A fresh process opens it under a policy in which
the keys are public, or private, and answers a count and a sum by them. CPU and wall seconds, and the most
that the process held.
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
MAKE = """
COPY (SELECT 'postal code ' || (i % {keys}) AS g, (hash(13 * i + 5) % 1000003) / 10000.03 AS x
      FROM range(8 * {keys}) AS t (i)) TO '{path}' (FORMAT parquet)
"""


def measured(kind: str, path: str, keys: int) -> dict[str, Any]:
    """In this process, which has done nothing else."""
    from leakcap.release import PrivateTable

    own = {"private": "text"} if kind == "private" else {"keys": [f"postal code {n}" for n in range(keys)]}
    policy = {
        "dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6, "delta": 0.5},
        "columns": {"x": {"bounds": [0.0, 100.0]}, "g": own},
    }  # fmt: skip
    found: dict[str, Any] = {}
    given: dict[str, Any] = {"delta": 1e-6} if kind == "private" else {}
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
    print(f"{'keys':>22}{'open CPU s':>12}{'count':>8}{'sum':>8}{'wall s':>9}{'MiB':>8}{'released':>11}")
    for keys in map(int, sys.argv[1:] or ("100000", "1000000")):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/keys.parquet"
            duckdb.execute(MAKE.format(keys=keys, path=path))
            for kind in ("public", "private") if keys <= MOST_PUBLIC else ("private",):
                found = answer_of("--measure", kind, path, str(keys))
                steps = [found[name] for name in ("open", "count", "sum")]
                used = "".join(f"{cpu:{width}.2f}" for (_, cpu), width in zip(steps, (12, 8, 8), strict=True))
                wall = sum(wall for wall, _ in steps)
                print(
                    f"{keys:14,} {kind}{used}{wall:9.1f}{found['mib']:8.0f}{found['released']:11,}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
