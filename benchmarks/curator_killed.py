"""A curator whose processes are killed: `python benchmarks/curator_killed.py [kills] [--postgresql]`.

Eight clients ask, each question under a key of its own, and ask again under the same key until they are
answered, while web workers, engines, the process for jobs and (where ledger and store are in PostgreSQL) the
server's own processes end by kill −9 at 300 random moments. In the end every answer stands in the ledger as
it was told, each key was paid for once, and nothing was paid for that nobody asked. Target: nothing else, and
the service back within 10 seconds without a hand.
With `--plant` repeated requests have new keys, which is caught.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "curating"))
from leakcap.ledger import Ledger
from service import Curated, asked, databases, post, ready, running, written

CLIENTS, SEED, PRICE = 8, 20261127, 0.01
MORE = "workers = 2\nengines = 2\ntick = 0.005\n[limits]\nrequests_per_minute = 1000000\n"
PATH = "/v1/datasets/ward/releases"


class Asking:
    """Clients that ask until they are told to stop: what each key was told, however often."""

    def __init__(self, curated: Curated, *, planted: bool) -> None:
        self._curated, self._planted = curated, planted
        self.told: dict[str, list[object]] = {}
        self.refused: list[tuple[int, str]] = []
        self.stopped = False

    async def client(self, number: int) -> None:
        token, count = self._curated.tokens[number], 0
        while not self.stopped:
            key = f"c{number}-{count}"
            self.told[key] = []
            for attempt in range(200):
                sent = f"{key}-{attempt}" if self._planted else key
                where = f"age >= {number + count / 1000}"
                query = {"name": "n", "statistic": "count", "where": where, "epsilon": PRICE}
                body = {"queries": [query], "fresh": True}
                (found,) = await asked(self._curated.port, [post(PATH, body, token, sent)], 1)
                if found.status == 200:
                    self.told[key].append(found.json()["answers"][0])
                    break
                if found.status not in (0, 500, 503, 504):
                    self.refused.append((found.status, found.body.decode()[:300]))
                    break
                await asyncio.sleep(0.05)
            if count % 3 == 0 and self.told[key]:
                (again,) = await asked(self._curated.port, [post(PATH, body, token, sent)], 1)
                if again.status == 200:
                    self.told[key].append(again.json()["answers"][0])
            count += 1


async def killed(curated: Curated, kills: int, asking: Asking, rng: random.Random) -> list[float]:
    """Kill one process after another at random moments; how long the service was away each time."""
    away = []
    for _ in range(kills):
        await asyncio.sleep(rng.expovariate(1 / 0.15))
        children = curated.children()
        if not children:
            continue
        victim = rng.choice(sorted(children))
        os.kill(victim, signal.SIGKILL)
        if curated.ledger.startswith("postgresql") and rng.random() < 0.2:
            await asyncio.to_thread(kill_server, curated.ledger, rng)
        away.append(await asyncio.to_thread(ready, curated, seconds=30.0))
    asking.stopped = True
    return away


def kill_server(url: str, rng: random.Random) -> None:
    """Kill one of the server's processes, upon which it ends all others and recovers; or, every other time,
    end every session of the ledger's database but one's own, as an administrator would."""
    import psycopg

    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with (
        suppress(psycopg.OperationalError),
        psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as own,
    ):
        if rng.random() < 0.5:
            own.execute(f"SELECT pg_terminate_backend(pid) {others}")
            return
        found = [pid for (pid,) in own.execute(f"SELECT pid {others} ORDER BY pid").fetchall()]
        with suppress(ProcessLookupError):
            if found:
                os.kill(rng.choice(found), signal.SIGKILL)


def checked(curated: Curated, asking: Asking) -> list[str]:
    """What is not as it should be."""
    wrong = [f"refused: {one}" for one in asking.refused]
    answered = {key: told for key, told in asking.told.items() if told}
    with Ledger.read(curated.ledger) as ledger:
        entries = {entry.id: entry for entry in ledger.entries()}
        requests = ledger.requests()
        ledger.verify()
        for key, told in answered.items():
            numbers = {one["entry"] for one in told}  # type: ignore[index]
            if len(numbers) != 1:
                wrong.append(f"{key}: answered from several entries")
            values = {json.dumps(one["values"], sort_keys=True) for one in told}  # type: ignore[index]
            recorded = ledger.answer(min(numbers))
            if recorded is None or values != {json.dumps(recorded.values, sort_keys=True)}:
                wrong.append(f"{key}: told something else than what is recorded")
    paid = [number for one in requests for number in one.paid]
    if sorted(paid) != sorted(entries):
        wrong.append("entries that no request paid for, or that two paid for")
    if len(entries) > len(asking.told):
        wrong.append(f"{len(entries)} spends for {len(asking.told)} keys")
    return wrong


async def measured(curated: Curated, kills: int, *, planted: bool) -> tuple[Asking, list[float]]:
    """The clients and the one who kills, side by side."""
    asking = Asking(curated, planted=planted)
    clients = [asyncio.create_task(asking.client(number)) for number in range(CLIENTS)]
    away = await killed(curated, kills, asking, random.Random(SEED))
    await asyncio.gather(*clients)
    return asking, away


def run(kills: int, *, postgresql: bool = False, planted: bool = False) -> tuple[list[str], float, int]:
    """What is wrong after so many kills, how long the service was away at most, how many were answered."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with databases(folder, postgresql) as (ledger, store):
            file = written(folder, rows=90, epsilon=1e5, more=MORE, ledger=ledger)
            with running(file, people=CLIENTS, ledger=ledger, store=store) as curated:
                asking, away = asyncio.run(measured(curated, kills, planted=planted))
                answered = sum(map(bool, asking.told.values()))
                return checked(curated, asking), max(away, default=0.0), answered


def main() -> None:
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    planted = "--plant" in sys.argv
    kills = int(words[0]) if words else 300
    started = time.monotonic()
    wrong, away, answered = run(kills, postgresql="--postgresql" in sys.argv, planted=planted)
    print(
        f"{kills} kills in {time.monotonic() - started:.0f} s: {answered} questions answered, "
        f"away for {away:.1f} s at most; wrong: {len(wrong)}"
    )
    for one in wrong[:10]:
        print(" ", one)
    assert bool(wrong) == planted
    assert away < 10.0


if __name__ == "__main__":
    main()
