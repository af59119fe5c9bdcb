"""What it costs to start: `python benchmarks/startup.py`.

CPU seconds (user and system) of whole processes, the least of nine after one that does not count: `import
leakcap`, `leakcap --help` and `leakcap preview` of the hospital, beside a Python that does nothing and one
that loads what a preview needs of Typer, Pydantic, Rich and sqlglot and no line of leakcap. Bytecode is kept,
as it is where leakcap is installed. The targets are those of a quiet machine; on a busy one all take up to
twice as much.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 9
EXAMPLE = Path(__file__).parents[1] / "examples" / "hospital" / "release.toml"
LEAKCAP = "from leakcap_command import run; run()"
LIBRARIES = """import gc; gc.set_threshold(200_000, 20, 20)
import typer, pydantic, rich.console, rich.table, sqlglot
pydantic.TypeAdapter(int)
sqlglot.parse_one("a > 3", dialect="duckdb")
gc.freeze()"""
ASKED: dict[str, tuple[list[str], float | None]] = {
    "python": (["pass"], None),
    "import leakcap": (["import leakcap"], 0.05),
    "leakcap --help": ([LEAKCAP, "--help"], 0.25),
    "the libraries of a preview alone": ([LIBRARIES], None),
    "leakcap preview, of the hospital": ([LEAKCAP, "preview", str(EXAMPLE)], 0.5),
}


def cpu_seconds(code: str, *words: str) -> float:
    """Of one process from its start to its end."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryFile() as shown:
        subprocess.run([sys.executable, "-c", code, *words], check=True, env=kept, stdout=shown)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """One line for each, the rounds by turns, so that a busy minute meets all of them."""
    taken = [{name: cpu_seconds(*asked) for name, (asked, _) in ASKED.items()} for _ in range(1 + RUNS)][1:]
    print(f"CPU seconds, the least of {RUNS}; {os.cpu_count()} processors")
    for name, (_, target) in ASKED.items():
        least = min(one[name] for one in taken)
        verdict = "" if target is None else f"   target {target:.2f}: {'met' if least < target else 'MISSED'}"
        print(f"{least:8.3f}  {name}{verdict}")


if __name__ == "__main__":
    main()
