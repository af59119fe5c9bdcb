"""leakcap beside other libraries: `python benchmarks/release_peers.py [rows] [seconds]` (10⁷ and 600).

Count and sum by 1,000 groups at ε = 1 on one Parquet file; one row, asked and answered; 10⁶ discrete Laplace
draws. Each library works in an environment of its own (`make peers`), used as its documentation says, without
its import and without starting Spark; leakcap runs just before each of them and just after, and the ratio is
to the slower of these two, in wall time and in CPU time, that of children included. After so many seconds a
library is stopped. One that is not installed is named and not counted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb

HERE = Path(__file__).parent
ROOT = HERE.parent / "build" / "peers-release"
# How many runs, of which the fastest counts: more where they are short.
RUNS = {"opendp": 5, "diffprivlib": 3, "tumult": 2, "smartnoise": 1, "pipelinedp": 1}
TARGET = 10.0
MAKE = """
COPY (SELECT (hash(i) % ($rows // 4))::BIGINT AS id, (hash(7 * i + 1) % 1000)::INTEGER AS g,
             (hash(13 * i + 5) % 1000003) / 10000.03 AS x
      FROM range($rows) AS t (i)) TO '$path' (FORMAT parquet)
"""


def python_of(peer: str) -> Path | None:
    """The peer's own Python, where `make peers` could install it."""
    if peer == "leakcap":
        return Path(sys.executable)
    return ROOT / peer / "bin" / "python" if (ROOT / peer / ".done").exists() else None


def ask(peer: str, *words: object, seconds: float = 600.0) -> Any:
    """What the peer's script printed; None where it ran out of time."""
    command = [str(python_of(peer)), str(HERE / "peers" / f"with_{peer}.py"), *map(str, words)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        sys.exit(f"{peer} failed: {last}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def beside(peer: str, theirs: tuple[object, ...], ours: tuple[object, ...], seconds: float = 600.0) -> None:
    """One line: the peer, leakcap before and after it, and the ratios."""
    before, found, after = ask("leakcap", *ours), ask(peer, *theirs, seconds=seconds), ask("leakcap", *ours)
    wall, used = (max(before[unit], after[unit]) for unit in ("wall", "cpu"))
    if found is None:
        text = (
            f"> {seconds:7.0f} s               leakcap {wall:6.3f} s         over {seconds / wall:6.0f} times"
        )
    else:
        ratios = found["wall"] / wall, found["cpu"] / used
        text = (
            f"{found['wall']:9.3f} s, CPU {found['cpu']:6.2f}   leakcap {wall:6.3f} s, CPU {used:5.2f}"
            f"   {ratios[0]:6.1f} times, CPU {ratios[1]:6.1f}"
        )
        if theirs[0] == "release" and min(ratios) < TARGET:
            text += f"   MISSED: {TARGET:g}"
    print(f"  {peer:<12}{text}", flush=True)


def main() -> None:
    rows = int(sys.argv[1]) if sys.argv[1:] else 10_000_000
    seconds = float(sys.argv[2]) if sys.argv[2:] else 600.0
    there = [peer for peer in RUNS if python_of(peer) is not None]
    for peer in RUNS.keys() - set(there):
        print(f"{peer.upper()} IS NOT INSTALLED AND NOT COUNTED (`make peers` says why)")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/people.parquet"
        duckdb.execute(MAKE.replace("$rows", str(rows)).replace("$path", path))
        print(f"count + sum by 1,000 groups, ε = 1, {rows:,} rows: from the file to the answers")
        for peer in there:
            beside(peer, ("release", path, rows, RUNS[peer]), ("release", path, rows, 7), seconds)
    if "opendp" in there:
        print("one row, opened, asked and answered")
        beside("opendp", ("one",), ("one",))
        print("10⁶ draws of discrete Laplace noise of scale 1")
        beside("opendp", ("noise",), ("noise",))


if __name__ == "__main__":
    main()
