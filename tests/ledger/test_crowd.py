"""Many processes at one cap: exactly as many succeed as fit, and the sum is the cap."""

from __future__ import annotations

import json
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


CURRENCIES = {
    "epsilon": ("Caps(3.0)", 30),
    "composed": ("Caps(1.45, 1e-6, delta_of_answers=2e-7)", 0),
    "order": ("Caps(1.4, 1e-6, delta_of_answers=0.0, order=16.0)", 0),
    "delta": ("Caps(9.0, 1e-6, delta_of_answers=3e-8)", 30),
    "nats_person": ("Caps(nats_person=0.06)", 30),
    "nats_table": ("Caps(nats_table=30.0)", 30),
    "nats_level": ("Caps(nats_level=1.5, alpha=2.0)", 30),
    "rho": ("Caps(rho=0.149876)", 30),
    "queries": ("Caps(queries=30)", 30),
    "analyst": ("Caps(9.0, each_analyst=Limits(3.0))", 30),
    "analyst composed": ("Caps(9.0, 1e-6, each_analyst=Limits(1.45, 1e-6))", 0),
    "period": ("Caps(9.0, each_period=Limits(nats_person=0.06), period='year')", 30),
    "analyst rho": ("Caps(9.0, each_analyst=Limits(rho=0.149876))", 30),
    "period rho": ("Caps(9.0, each_period=Limits(rho=0.149876), period='year')", 30),
    "period composed": ("Caps(9.0, 1e-6, each_period=Limits(1.45, 1e-6), period='year')", 0),
    "group": ("Caps(9.0, groups={'ward': Group(3.0, members=('ng', 'bo', 'cy'))})", 30),
    "group composed": ("Caps(9.0, 1e-6, groups={'ward': Group(1.45, 1e-6, members=('ng', 'bo', 'cy'))})", 0),
    "slot": ("Caps(9.0, 1e-6, delta_of_answers=1e-6)", 30),
}
"""Caps by what they are on, and how many answers fit; 0 where a ledger that is alone says how many."""

TURNS = """
import json
from leakcap.errors import BudgetExceeded
print("ready", flush=True)
sys.stdin.readline()
found = {{}}
for name, (caps, _) in {currencies!r}.items():
    url = f"sqlite:///{folder}/{{name}}.db"
    limits = eval(caps)
    small = "composed" in name or name == "order"
    spend = Spend(
        0.05 if small else 0.1, 1e-9 if name == "delta" else 0.0,
        nats_person=0.002, nats_table=1.0, nats_level=0.05,
    )
    # Members of one group, each process as one of them.
    who = ("ng", "bo", "cy")[os.getpid() % 3] if name.startswith("group") else "ng"
    asked = [Charge("q", "count", spend, who, slot="s" if name == "slot" else "")]
    with Ledger.open(url, dataset="d", policy="ab12cd34", caps=limits) as own:
        if name == "slot":
            own.plan(SlotPlan("p", [Slot("s", 30, 0.1)]))
        done = 0
        for _ in range({attempts}):
            try:
                own.reserve(asked)
                done += 1
            except BudgetExceeded:
                pass
    found[name] = done
print(json.dumps(found), flush=True)
"""


def race(started: Any, folder: Path, processes: int, attempts: int) -> dict[str, int]:
    """In every currency, how many answers all processes got together."""
    folder.mkdir()
    code = TURNS.format(currencies=CURRENCIES, folder=folder, attempts=attempts)
    running = [started(code, "Caps(1.0)", f"sqlite:///{folder}/none.db") for _ in range(processes)]
    for process in running:
        assert process.stdout.readline() == "ready\n"
    for process in running:
        process.stdin.write("go\n")
        process.stdin.flush()
    found = [json.loads(process.communicate()[0]) for process in running]
    for name in CURRENCIES:
        with Ledger.read(f"sqlite:///{folder}/{name}.db") as ledger:
            ledger.verify()
            assert sum(entry.state != "planned" for entry in ledger.entries()) == sum(
                one[name] for one in found
            )
    return {name: sum(one[name] for one in found) for name in CURRENCIES}


def require_all_caps_reached(started: Any, folder: Path, processes: int, attempts: int) -> None:
    alone = race(started, folder / "alone", 1, 54)
    together = race(started, folder / "together", processes, attempts)
    assert together == alone
    for name, (_, fit) in CURRENCIES.items():
        assert 20 < together[name] < 54 <= processes * attempts, name
        assert fit in (0, together[name]), name


def test_every_cap_is_reached_and_none_is_passed_in_a_crowd(started: Any, tmp_path: Path) -> None:
    require_all_caps_reached(started, tmp_path, 3, 18)


@pytest.mark.slow
def test_thirty_two_processes_reach_every_cap(started: Any, tmp_path: Path) -> None:
    require_all_caps_reached(started, tmp_path, 32, 200)


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
