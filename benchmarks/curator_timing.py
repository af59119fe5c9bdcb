"""What the time of a curator's answer tells: `python benchmarks/curator_timing.py [N [TICK]]`.

Two curators of neighbouring data sets run side by side: in one of them a person has 200,000 rows more, of
which one is used. N fresh counts (2,100) are asked of each in turn, with the clock (TICK seconds, 0.1), and
300 with next to none, the planted failure. What the times tell is bounded below by the library's audit of
them, in hundredths of a second. What the rungs tell is bounded above: with a share of at most p of all
answers later than the first rung, at p · ln 2 nats (Clopper and Pearson's bound on p, 95 % over both worlds).
Target: at most 0.001 nats an answer. Where a question takes longer than the tick, the clock hides little: the
tick has to be longer than the slowest question that is to be hidden.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pyarrow
import pyarrow.parquet
from scipy.stats import beta

from leakcap.audit import audit_samples

sys.path.insert(0, str(Path(__file__).parent / "curating"))
from service import Curated, asked, post, running, written

PEOPLE, MORE_ROWS = 2_000, 200_000
QUESTION = {"queries": [{"name": "n", "statistic": "count", "epsilon": 0.001}], "fresh": True}
OFF = 0.0005


def table(more: int) -> pyarrow.Table:
    """People with a row each, the first of whom has so many more."""
    ids = [*range(PEOPLE), *([0] * more)]
    return pyarrow.table(
        {
            "id": pyarrow.array(ids, pyarrow.int64()),
            "age": pyarrow.array([float(i % 90) for i in range(len(ids))]),
            "ward": pyarrow.array(["abc"[i % 3] for i in range(len(ids))]),
        }
    )


def begun(folder: Path, more: int, tick: float) -> Path:
    """A curator's files, of one of the two worlds."""
    folder.mkdir()
    options = f"tick = {tick}\n[limits]\nrequests_per_minute = 1000000\n"
    file = written(folder, rows=1, epsilon=1e6, more=options)
    pyarrow.parquet.write_table(table(more), folder / "ward.parquet")
    return file


def seconds_of(curated: Curated, number: int) -> float:
    request = post("/v1/datasets/ward/releases", QUESTION, curated.tokens[0], f"k{number}")
    (told,) = asyncio.run(asked(curated.port, [request], 1))
    assert told.status == 200, told
    return told.seconds


def times(tick: float, count: int) -> tuple[list[float], list[float]]:
    """Seconds of so many answers in each world, asked in turn, so that the machine's load is the same."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        worlds = []
        for world, more in (("without", 0), ("with", MORE_ROWS)):
            folder = Path(name) / world
            file = begun(folder, more, tick)
            stores = {
                "ledger": f"sqlite:///{folder / 'ward.db'}",
                "store": f"sqlite:///{folder / 'store.db'}",
            }
            worlds.append(stack.enter_context(running(file, people=1, **stores)))
        for warm in range(5):
            for one in worlds:
                seconds_of(one, -1 - warm)
        found: tuple[list[float], list[float]] = ([], [])
        for number in range(count):
            for one, seconds in zip(worlds, found, strict=True):
                seconds.append(seconds_of(one, number))
        return found


def most(found: tuple[list[float], list[float]], tick: float) -> tuple[list[int], float]:
    """Answers on another rung than the first, in each world, and what the rungs tell at most, in nats."""
    late = [sum(one >= 1.25 * tick for one in seconds) for seconds in found]
    p = max(
        1.0 if k == len(seconds) else float(beta.ppf(0.975, k + 1, len(seconds) - k))
        for k, seconds in zip(late, found, strict=True)
    )
    return late, p * math.log(2)


def told(title: str, tick: float, count: int) -> None:
    found = times(tick, count)
    audit = audit_samples(*([round(one * 100) for one in seconds] for seconds in found), seed=0)
    late, bound = most(found, tick)
    middle = [sorted(seconds)[len(seconds) // 2] * 1000 for seconds in found]
    print(f"{title}: {count} answers a world, median {middle[0]:.1f} ms without, {middle[1]:.1f} with them")
    print(f"  at least {audit.information.lower:.5f} nats an answer by the audit")
    print(f"  on a later rung {late[0]} and {late[1]}: at most {bound:.5f} nats an answer by rungs")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2_100
    tick = float(sys.argv[2]) if len(sys.argv) > 2 else 0.1
    print(f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    told(f"clock of {tick} s", tick, count)
    told("next to no clock", OFF, 300)
    print(f"load of the machine {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
