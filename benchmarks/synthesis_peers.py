"""Microdata beside other libraries: `python benchmarks/synthesis_peers.py [table …] [--runs N] [--only …]`.

    --seconds 600   how much CPU each run may take; one that is stopped says how much of ρ it had spent
    --size 80       how many MiB the models of the others may have: 80 as they come. AIM takes many hours so,
                    its authors' code says, and names 1 for a trial, 80 for comparisons
    --rounds N      AIM's own `rounds`, beside --size: 16 for each column as it comes; fewer end sooner
    --aim PATH      a copy of github.com/ryan112358/private-pgm, where AIM by its own authors stands

Three tables, hospital, adult and stays, at ρ = 0.1: the error of a file of as many rows, seconds of the clock
and of CPU, and peak memory, each job in a process of its own. An error is Σ|file − exact| over the cells of a
table of two columns, each over its rows, on average over all pairs. leakcap releases all pairs, or those of
them that it chooses by a private score. The others run their AIM over all pairs in environments of their own
(`make peers`), on one thread; one that is not installed is named and not counted. With `--runs` each job is
run so often, with new noise, and the mean error stands with its standard error. Targets: an error, a time and
a memory no larger than theirs.

Like for like: all count rows, of which one more or less is hidden (add/remove-one: a table of counts moves by
1), all spend ρ = 0.1 of zero-concentrated privacy, all know the keys beforehand, and every row has one in
each column. OpenDP draws as many rows as it estimates, the others as many as there are; the rows that it
draws are further off than its model, whose own error is printed beside and held against ours.

AIM by its own authors stands in their repository alone, not in the package `mbi`: without `--aim` it is left
out. It runs with the repository's own `mbi` (`src/mbi`) on a version of JAX of its time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "synthesizers"))
from three_tables import TABLES, written

ROOT = Path(__file__).parent.parent / "build" / "peers-release"
PEERS = ("dpmm", "opendp-synthesis", "aim")
RHO = 0.1
# How many of the pairs leakcap chooses: half.
WAYS = {"leakcap": 1.0, "leakcap, half of the pairs": 0.5}
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def python_of(name: str) -> Path | None:
    """The library's own Python, where `make peers` could install it."""
    if name not in PEERS:
        return Path(sys.executable)
    return ROOT / name / "bin" / "python" if (ROOT / name / ".done").exists() else None


def counted(sizes: Mapping[str, int], codes: Mapping[str, Any]) -> dict[str, Any]:
    """The table of each pair of columns, flat, by `first|second`."""
    found = {}
    for first, second in itertools.combinations(sizes, 2):
        cells = codes[first] * sizes[second] + codes[second]
        found[f"{first}|{second}"] = np.bincount(cells, minlength=sizes[first] * sizes[second])
    return found


def error(exact: Mapping[str, Any], found: Mapping[str, Any]) -> float:
    """The mean distance of the tables of two columns, each over its own total."""
    off = []
    for pair, table in exact.items():
        own = found[pair].ravel()
        off.append(np.abs(own / own.sum() - table / table.sum()).sum())
    return float(np.mean(off))


def job(name: str, folder: Path, seconds: int, *words: object) -> dict[str, float] | str:
    """What the script of a library printed and drew, or why there is nothing."""
    script = Path(__file__).parent / "synthesizers" / f"with_{name.split('-')[0]}.py"
    command = [str(python_of(name)), str(script), str(folder), str(RHO), *map(str, words)]
    limited = ["prlimit", f"--cpu={seconds}", *command] if shutil.which("prlimit") else command
    done = subprocess.run(limited, capture_output=True, text=True, env=os.environ | ONE_THREAD, check=False)
    last = (done.stderr.strip().splitlines() or [""])[-1]
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        far = f" in {last}" if last.startswith("round ") else ""
        return f"stopped after {seconds} s of CPU{far}"
    if done.returncode:
        return f"FAILED: {last or 'no message'}"
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def several(
    name: str, folder: Path, seconds: int, runs: int, exact: tuple[dict[str, int], Any], *words: object
) -> list[dict[str, float]] | str:
    """Each of several runs with its error, or why one has nothing. The errors go to stderr as they come."""
    found: list[dict[str, float]] = []
    for _ in range(runs):
        told = job(name, folder, seconds, *words)
        if isinstance(told, str):
            return told
        sizes, codes = exact
        rows = dict(zip(sizes, np.load(folder / "rows.npy").T, strict=True))
        tables = counted(sizes, codes)
        found.append(told | {"error": error(tables, counted(sizes, rows))})
        if (folder / "model.npz").exists():
            found[-1]["model"] = error(tables, np.load(folder / "model.npz"))
            (folder / "model.npz").unlink()
        if runs > 1:
            print(f"{name} {len(found)}: {found[-1]['error']:.4f}", file=sys.stderr, flush=True)
    return found


def mean_and_spread(runs: Sequence[Mapping[str, float]]) -> tuple[float, float]:
    """The mean error, and its standard error: ∞ of one run."""
    errors = [one["error"] for one in runs]
    spread = np.std(errors, ddof=1) / len(errors) ** 0.5 if len(errors) > 1 else np.inf
    return float(np.mean(errors)), float(spread)


def line(name: str, runs: Sequence[Mapping[str, float]]) -> str:
    """What all runs took on average, and their peak of memory."""
    mean, spread = mean_and_spread(runs)
    wall, used = (np.mean([one[what] for one in runs]) for what in ("wall", "cpu"))
    peak = max(one["mib"] for one in runs)
    shown = f"{mean:.4f}" + (f" ± {spread:.4f} ({len(runs)} runs)" if len(runs) > 1 else "")
    if "model" in runs[0]:
        shown += f" (of its model alone {_mean(runs, 'model'):.4f})"
    return f"  {name:<28}error {shown}, {wall:7.1f} s, CPU {used:7.1f} s, {peak:6.0f} MiB"


def verdict(ours: Sequence[Sequence[Mapping[str, float]]], theirs: Sequence[Mapping[str, float]]) -> str:
    """Which targets the better of ours misses, and how far its error is below theirs."""
    best = min(ours, key=lambda runs: mean_and_spread(runs)[0])
    missed = [what for what in ("cpu", "mib") if _mean(best, what) > _mean(theirs, what)]
    (mine, spread), (other, apart) = mean_and_spread(best), mean_and_spread(theirs)
    other = min(other, _mean(theirs, "model")) if "model" in theirs[0] else other
    if mine > other:
        missed.insert(0, "error")
    told = f"MISSED: {', '.join(missed)}" if missed else "kept"
    return f"{told}; ours is {other - mine:+.4f} ± {np.hypot(spread, apart):.4f} below"


def _mean(runs: Sequence[Mapping[str, float]], what: str) -> float:
    return float(np.mean([one[what] for one in runs]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []], default=list(TABLES))
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--size", type=float)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--aim", type=Path)
    parser.add_argument("--only", choices=[*WAYS, *PEERS], action="append")
    asked = parser.parse_args()
    copied = asked.aim is not None and (asked.aim / "mechanisms" / "aim.py").exists()
    there = [name for name in PEERS if python_of(name) is not None and (name != "aim" or copied)]
    if asked.aim is not None and not copied:
        parser.error(f"--aim must be a copy of the repository, with mechanisms/aim.py in it. Got {asked.aim}")
    for name in sorted({*PEERS[:2], *(["aim"] if copied else [])} - set(there)):
        print(f"{name.upper()} IS NOT INSTALLED AND NOT COUNTED (`make peers` says why)")
    for table in asked.tables:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            sizes, codes = written(table, folder)
            print(f"{table}, {len(next(iter(codes.values()))):,} rows, {len(sizes)} columns, ρ = {RHO}")
            ours: list[list[dict[str, float]]] = []
            pairs = len(sizes) * (len(sizes) - 1) // 2
            for name in (*WAYS, *there):
                if asked.only and name not in asked.only:
                    continue
                words: list[object] = [int(pairs * WAYS[name])] if WAYS.get(name, 1.0) < 1.0 else []
                words += [asked.aim] if name == "aim" else []
                words += [asked.size] if name in PEERS and asked.size is not None else []
                words += [asked.rounds] if name in PEERS and asked.size and asked.rounds else []
                library = "leakcap" if name in WAYS else name
                found = several(library, folder, asked.seconds, asked.runs, (sizes, codes), *words)
                if isinstance(found, str):
                    print(f"  {name:<28}{found}", flush=True)
                    continue
                text = line(name, found)
                if name in WAYS:
                    ours.append(found)
                elif ours:
                    text += f"   {verdict(ours, found)}"
                print(text, flush=True)


if __name__ == "__main__":
    main()
