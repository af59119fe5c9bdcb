"""Microdata beside other libraries: `python benchmarks/synthesis_peers.py [seconds] [table …]` (600, all).

Three tables, hospital, adult and stays, at ρ = 0.1: the error of a file of as many rows, seconds of the clock
and of CPU, and peak memory, each job in a process of its own. An error is Σ|file − exact| over the cells of a
table of two columns, each over its rows, on average over all pairs. leakcap releases all pairs, or those of
them that it chooses by a private score. The others run their AIM over all pairs in environments of their own
(`make peers`), on one thread, and are stopped after so many seconds; one that is not installed is named and
not counted. Targets: an error, a time and a memory no larger than theirs.

AIM by its own authors stands in their repository alone, not in the package `mbi`, and is not among them.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "synthesizers"))
from tables import TABLES, written

ROOT = Path(__file__).parent.parent / "build" / "peers-release"
PEERS = ("dpmm", "opendp-synthesis")
RHO = 0.1
# How many of the pairs leakcap chooses: half.
WAYS = {"leakcap": 1.0, "leakcap, half of the pairs": 0.5}
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def python_of(name: str) -> Path | None:
    """The library's own Python, where `make peers` could install it."""
    if name not in PEERS:
        return Path(sys.executable)
    return ROOT / name / "bin" / "python" if (ROOT / name / ".done").exists() else None


def error(sizes: Mapping[str, int], codes: Mapping[str, Any], rows: Any) -> float:
    """The mean distance of the tables of two columns."""
    off = []
    for first, second in itertools.combinations(range(len(sizes)), 2):
        names = list(sizes)
        cells = sizes[names[first]] * sizes[names[second]]
        exact = codes[names[first]] * sizes[names[second]] + codes[names[second]]
        drawn = rows[:, first] * sizes[names[second]] + rows[:, second]
        shares = [np.bincount(one, minlength=cells) / len(one) for one in (exact, drawn)]
        off.append(np.abs(shares[0] - shares[1]).sum())
    return float(np.mean(off))


def job(name: str, folder: Path, seconds: float, *words: object) -> dict[str, float] | str:
    """What the script of a library printed and drew, or why there is nothing."""
    script = Path(__file__).parent / "synthesizers" / f"with_{name.split('-')[0]}.py"
    command = [str(python_of(name)), str(script), str(folder), str(RHO), *map(str, words)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, env=os.environ | ONE_THREAD
        )
    except subprocess.TimeoutExpired:
        return f"stopped after {seconds:.0f} s"
    if done.returncode:
        return f"FAILED: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def main() -> None:
    words = sys.argv[1:]
    seconds = float(words.pop(0)) if words else 600.0
    there = [name for name in PEERS if python_of(name) is not None]
    for name in set(PEERS) - set(there):
        print(f"{name.upper()} IS NOT INSTALLED AND NOT COUNTED (`make peers` says why)")
    for table in words or TABLES:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            sizes, codes = written(table, folder)
            print(f"{table}, {len(next(iter(codes.values()))):,} rows, {len(sizes)} columns, ρ = {RHO}")
            ours: list[dict[str, float]] = []
            pairs = len(sizes) * (len(sizes) - 1) // 2
            for name in (*WAYS, *there):
                few = [int(pairs * WAYS[name])] if WAYS.get(name, 1.0) < 1.0 else []
                found = job("leakcap" if name in WAYS else name, folder, seconds, *few)
                if isinstance(found, str):
                    print(f"  {name:<28}{found}", flush=True)
                    continue
                found["error"] = error(sizes, codes, np.load(folder / "rows.npy"))
                wall, used, peak = (found[what] for what in ("wall", "cpu", "mib"))
                text = f"  {name:<28}error {found['error']:.4f}, "
                text += f"{wall:7.1f} s, CPU {used:7.1f} s, {peak:6.0f} MiB"
                if name in WAYS:
                    ours.append(found)
                else:
                    best = {what: min(one[what] for one in ours) for what in ("error", "cpu", "mib")}
                    missed = [what for what, least in best.items() if least > found[what]]
                    text += f"   MISSED: {', '.join(missed)}" if missed else "   kept"
                print(text, flush=True)


if __name__ == "__main__":
    main()
