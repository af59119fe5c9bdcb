"""Many processes at one cap: exactly as many succeed as fit, and the sum is the cap."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leakcap.ledger import Caps, Ledger

OWNER = {"dataset": "patients", "policy": "ab12cd34ef56ab78"}
ATTEMPTS = """
from leakcap.errors import BudgetExceeded
print("ready", flush=True)
sys.stdin.readline()
done, longest = 0, 0.0
for _ in range({attempts}):
    start = time.perf_counter()
    try:
        entry, = ledger.reserve([Charge("q", "count", Spend(epsilon=0.1), "ng")])
        done += 1
    except BudgetExceeded:
        pass
    longest = max(longest, time.perf_counter() - start)
print(done, longest, flush=True)
"""


def crowd(started: Any, processes: int, attempts: int, caps: str, url: str) -> tuple[int, float]:
    code = ATTEMPTS.format(attempts=attempts)
    running = [started(code, caps, url) for _ in range(processes)]
    for process in running:
        assert process.stdout.readline() == "ready\n"
    for process in running:
        process.stdin.write("go\n")
        process.stdin.flush()
    results = [process.communicate()[0].split() for process in running]
    return sum(int(done) for done, _ in results), max(float(longest) for _, longest in results)


def require_spent(url: str, epsilon: float, entries: int) -> None:
    with Ledger.open(url, caps=Caps(epsilon=epsilon), **OWNER) as ledger:
        assert ledger.totals().epsilon == epsilon
        assert len(ledger.entries()) == entries
        ledger.verify()


def test_eight_processes_spend_a_hundred_exactly(started: Any, url: str) -> None:
    done, _ = crowd(started, 8, 25, "Caps(epsilon=10.0)", url)
    assert done == 100
    require_spent(url, 10.0, 100)


@pytest.mark.parametrize(
    "caps",
    [
        "Caps(queries=30)",
        "Caps(each_analyst=Limits(epsilon=3.0))",
        "Caps(period='year', each_period=Limits(queries=30))",
    ],
)
@pytest.mark.slow
def test_the_other_accounts_hold_in_a_crowd(started: Any, url: str, caps: str) -> None:
    done, _ = crowd(started, 4, 15, caps, url)
    assert done == 30
    with Ledger.read(url) as ledger:
        assert ledger.totals().epsilon == 3.0
        ledger.verify()


@pytest.mark.slow
def test_thirty_two_processes_spend_a_thousand_exactly(started: Any, url: str) -> None:
    done, longest = crowd(started, 32, 200, "Caps(epsilon=100.0)", url)
    assert done == 1000
    require_spent(url, 100.0, 1000)
    assert longest < 5.0


FIRST = """
ledger.close()
for round in range({rounds}):
    go, children = time.time() + 0.02, []
    for _ in range(6):
        children.append(os.fork())
        if children[-1] == 0:
            time.sleep(max(0.0, go - time.time()))
            url = f"sqlite:///{directory}/{{round}}.db"
            ledger = Ledger.open(url, dataset="d", policy="0" * 8, caps=Caps(epsilon=1.0))
            ledger.reserve([Charge("q", "", Spend(epsilon=0.1))])
            os._exit(0)
    assert all(os.waitpid(child, 0)[1] == 0 for child in children)
    with Ledger.read(f"sqlite:///{directory}/{{round}}.db") as ledger:
        print(ledger.verify().rows)
"""


def test_processes_that_create_the_ledger_at_once_make_one(started: Any, tmp_path: Path) -> None:
    process = started(FIRST.format(rounds=10, directory=tmp_path), url="sqlite://")
    assert process.communicate()[0].split() == ["7"] * 10


def test_processes_that_create_the_ledger_on_a_server_at_once_make_one(started: Any, database: str) -> None:
    children = [started("ledger.reserve([Charge('q', '', Spend(0.1))])", url=database) for _ in range(6)]
    assert [child.wait() for child in children] == [0] * 6
    with Ledger.read(database) as ledger:
        assert (ledger.verify().rows, ledger.totals().epsilon) == (7, 0.6)
