"""What the time of a curator's answer tells: `python benchmarks/curator_timing.py [N [TICK [JOBS [TIME]]]]`.

Two curators of neighbouring data sets run side by side: in one of them a person has 200,000 rows more, of
which one is used. N fresh sums (4,000) are asked of each, with the clock (TICK seconds, 0.5), and 300 with
next to none, the planted failure. The second is asked half a tick after the first, so that the machine's load
is the same and each is at work while the other waits.

Then questions that are slower than the tick: the person has 1,500,000 rows more. They are asked as the
curator answers at once, so that they leave on later rungs; as jobs (JOBS of them in each world, 4,000), seen
after TIME seconds (2), four times as long, or never; and as jobs with twenty times that come so early that
they hide little, the planted failure. While a job works, somebody else asks for the budget, which is free:
how long that takes is audited too.

What the times tell is bounded below by the library's audit of them, in hundredths of a second and in steps
of a quarter. What they tell is bounded above, with a share of at most p of all answers later than the first
of their times: of two worlds at p · ln 2 nats (Clopper and Pearson's bound on p, 95 % over both worlds),
whatever the data by the capacity of that channel. Target: at most 0.001 nats an answer.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
from scipy.stats import beta

from leakcap.audit import audit_samples
from leakcap.service.engine.calling import PATIENCE
from leakcap.service.ticks import RATIO, rungs
from leakcap.service.timing import late_nats

sys.path.insert(0, str(Path(__file__).parent / "curating"))
from service import Curated, asked, post, running, written

PEOPLE, MORE_ROWS, SLOW_ROWS = 2_000, 200_000, 1_500_000
QUESTION = {
    "queries": [{"name": "n", "statistic": "sum", "column": "age", "epsilon": 0.001}],
    "fresh": True,
}
OFF = 0.0005
SOON = [round(0.01 * 1.25**step, 4) for step in range(20)]
Times = tuple[list[float], list[float]]


def table(more: int) -> pyarrow.Table:
    """People with a row each, the first of whom has so many more."""
    ids = np.concatenate([np.arange(PEOPLE), np.zeros(more, dtype=np.int64)])
    rows = np.arange(len(ids))
    return pyarrow.table(
        {"id": ids, "age": (rows % 90).astype(float), "ward": np.array(list("abc"))[rows % 3]}
    )


def begun(folder: Path, more: int, tick: float, jobs: str) -> Path:
    """A curator's files, of one of the two worlds."""
    folder.mkdir()
    options = f"tick = {tick}\n[limits]\nrequests_per_minute = 1000000\n"
    file = written(folder, rows=1, epsilon=1e6, more=options)
    file.write_text(file.read_text() + jobs)
    pyarrow.parquet.write_table(table(more), folder / "ward.parquet")
    return file


@contextmanager
def worlds_of(more: int, tick: float, jobs: str = "") -> Iterator[list[Curated]]:
    """The two curators, which have answered a few questions."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        worlds = []
        for world, rows in (("without", 0), ("with", more)):
            folder = Path(name) / world
            file = begun(folder, rows, tick, jobs)
            stores = {
                "ledger": f"sqlite:///{folder / 'ward.db'}",
                "store": f"sqlite:///{folder / 'store.db'}",
            }
            worlds.append(stack.enter_context(running(file, people=2, **stores)))
        yield worlds


def waited(curated: Curated, key: str) -> float:
    """Seconds until an answer that is waited for."""
    request = post("/v1/datasets/ward/releases", QUESTION, curated.tokens[0], key)
    (told,) = asyncio.run(asked(curated.port, [request], 1))
    assert told.status == 200, told
    return told.seconds


def seen(curated: Curated, key: str, after: float, beside: list[float]) -> float:
    """Seconds until a job may be seen to have ended, looked at every hundredth of a second; and, `beside`,
    those that somebody else waits for the budget after so many seconds."""
    begun = time.monotonic()
    request = post("/v1/datasets/ward/releases", QUESTION, curated.tokens[0], key)
    (told,) = asyncio.run(asked(curated.port, [request], 1))
    assert told.status == 202, told
    time.sleep(after)
    free = time.monotonic()
    curated.get("/v1/datasets/ward/budget", curated.tokens[1])
    beside.append(time.monotonic() - free)
    while True:
        job = curated.get(f"/v1/jobs/{told.json()['id']}", curated.tokens[0])
        if job["state"] in ("done", "failed"):
            return time.monotonic() - begun
        time.sleep(0.01)


def times(
    worlds: list[Curated], count: int, apart: float, ask: Callable[[Curated, str, int], float]
) -> Times:
    """Seconds of so many answers in each world, side by side; the second begins so many seconds later."""
    for warm in range(5):
        for place, one in enumerate(worlds):
            ask(one, f"warm{warm}", place)

    def in_one(place: int) -> list[float]:
        time.sleep(place * apart)
        return [ask(worlds[place], f"k{number}", place) for number in range(count)]

    with ThreadPoolExecutor() as both:
        without, with_them = both.map(in_one, range(2))
    return without, with_them


def audited(found: Times) -> str:
    """What the audit proves, of hundredths of a second and of steps of a quarter: a busy machine scatters
    what is slow over many hundredths."""
    fine, coarse = (
        audit_samples(*([cut(one) for one in seconds] for seconds in found), seed=0).information.lower
        for cut in (lambda one: round(one * 100), lambda one: round(math.log(one) / math.log(1.25)))
    )
    return f"at least {fine:.5f} nats by the audit of hundredths, {coarse:.5f} by that of steps of a quarter"


def told(title: str, found: Times, first: float, outcomes: int) -> None:
    """What the times tell: `first` is when the first of so many ends is over."""
    late = [sum(one >= first for one in seconds) for seconds in found]
    p = max(
        1.0 if k == len(seconds) else float(beta.ppf(0.975, k + 1, len(seconds) - k))
        for k, seconds in zip(late, found, strict=True)
    )
    middle = [sorted(seconds)[len(seconds) // 2] * 1000 for seconds in found]
    print(f"{title}: {len(found[0])} answers a world")
    print(f"  median {middle[0]:.1f} ms without, {middle[1]:.1f} with them")
    print(f"  {audited(found)}")
    print(
        f"  late {late[0]} and {late[1]}: at most {p * math.log(2):.5f} nats an answer of two worlds, "
        f"{late_nats(outcomes, p):.5f} whatever the data",
        flush=True,
    )
    for where, seconds in zip(("without", "with them"), found, strict=True):
        which = [f"number {place} after {one:.3f} s" for place, one in enumerate(seconds) if one >= first]
        if 0 < len(which) <= 5:
            print(f"  late {where}: {', '.join(which)}", flush=True)


def at_once(title: str, tick: float, count: int, more: int = MORE_ROWS) -> None:
    with worlds_of(more, tick) as worlds:
        found = times(worlds, count, tick / 2, lambda one, key, place: waited(one, key))
    told(title, found, RATIO * tick, rungs(2 * (30.0 + PATIENCE), tick))


def as_jobs(title: str, job_times: list[float], count: int) -> None:
    settings = f'answers = "as jobs"\njob_times = {job_times}\n'
    beside: Times = ([], [])
    with worlds_of(SLOW_ROWS, 0.1, settings) as worlds:
        found = times(
            worlds, count, job_times[0] / 2, lambda one, key, place: seen(one, key, 0.05, beside[place])
        )
    # A job is claimed within a fifth of a second, and seen within some hundredths after its time.
    told(title, found, job_times[0] + 0.6, len(job_times) + 1)
    print(f"  the budget, asked for beside it: {audited((beside[0][5:], beside[1][5:]))}")


def main() -> None:
    given = [float(one) for one in sys.argv[1:]]
    count, tick, jobs, first = (*given, *(4_000, 0.5, 4_000, 2.0)[len(given) :])
    print(f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    at_once(f"clock of {tick} s", tick, int(count))
    at_once("next to no clock", OFF, min(300, int(count)))
    at_once("slower than a clock of .1 s", 0.1, min(300, int(jobs)), SLOW_ROWS)
    as_jobs(f"slower, as jobs seen after {first:g} s", [first, 4 * first], int(jobs))
    as_jobs("slower, as jobs with next to no clock", SOON, min(300, int(jobs)))
    print(f"load of the machine {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
