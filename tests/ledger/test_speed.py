"""A spend costs the same at a hundred thousand entries: no statement reads the table of events through."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from leakcap.ledger import Caps, Charge, Entry, Ledger, Limits, Paid, Request, Spend
from leakcap.ledger.paying import Payment, pay_alone, paying
from leakcap.ledger.paying_together import pay_together
from leakcap.ledger.schema import EVENT, STATE

CAPS = Caps(
    1e5,
    nats_level=1e5,
    alpha=2.0,
    queries=10**6,
    each_analyst=Limits(epsilon=1e5),
    each_period=Limits(epsilon=1e5),
    period="year",
)


def charge(number: int) -> Charge:
    spend = Spend(epsilon=0.1, nats_person=0.00125, nats_table=1.0)
    return Charge("q", f"count where age > {number % 200}", spend, f"analyst {number % 20}")


def filled(url: str, entries: int) -> Ledger:
    ledger = Ledger.open(url, dataset="d", policy="0" * 8, caps=CAPS)
    for start in range(0, entries, 5000):
        count = min(5000, entries - start)
        ids = [e.id for e in ledger.reserve([charge(start + n) for n in range(count)], data="monday")]
        ledger.mark_released(ids[:200], answers={id_: [[1, 0, 2]] for id_ in ids[:200]})
    return ledger


def spend(ledger: Ledger, number: int) -> None:
    (entry,) = ledger.reserve([charge(number)], data="monday")
    ledger.mark_released([entry.id], answers={entry.id: [[1, 0, 2]]})
    assert ledger.recall([charge(number)], data="monday") != [None]
    assert ledger.recall([charge(number)], data="tuesday") == [None]
    ledger.mark_repeated([entry.id])
    ledger.reserve([charge(number)], data=f"day {number}")


def payment(ledger: Ledger, number: int, name: str, *, fresh: bool) -> Payment[list[Paid[None]]]:
    def computed(entries: Sequence[Entry]) -> list[tuple[None, list[list[int]]]]:
        return [(None, [[1, 0, 2]]) for _ in entries]

    asked = charge(number)
    request = Request.of(asked.analyst, name, name)
    return paying(
        ledger,
        [asked],
        lambda places, again: computed,
        data="monday",
        analyst=asked.analyst,
        fresh=fresh,
        request=request,
    )


def ask(ledger: Ledger, number: int) -> None:
    """Under requests' keys, alone: a new question, the same again under its key and another, a fresh one."""
    for name, fresh in (("a", False), ("a", False), ("b", False), ("c", True)):
        pay_alone(payment(ledger, 250 + number, f"{name}{number}", fresh=fresh))


def ask_together(ledger: Ledger, number: int) -> None:
    """The same, several in the same transactions."""
    for name, fresh in (("a", False), ("a", False), ("b", False), ("c", True)):
        several = [payment(ledger, 250 + i, f"{name}{number} {i}", fresh=fresh) for i in range(4)]
        for paid in pay_together(ledger, several, before_record=lambda: None):
            assert isinstance(paid, list), paid


def revise(ledger: Ledger, number: int) -> None:
    """An answer that is withdrawn is looked for by whoever asks for it."""
    (entry,) = ledger.reserve([charge(280 + number)], data="monday")
    ledger.mark_released([entry.id], answers={entry.id: [[1, 0, 2]]})
    ledger.withdraw([entry.id], reason="a mistake", by="owner")
    assert ledger.recall([charge(280 + number)], data="monday") != [None]


@pytest.mark.parametrize("use", [spend, ask, ask_together, revise])
def test_no_statement_of_a_spend_reads_all_events(tmp_path: Path, use: Callable[[Ledger, int], None]) -> None:
    seen: dict[str, Any] = {}

    def note(_c: object, _cursor: object, statement: str, parameters: Any, _x: object, many: bool) -> None:
        if EVENT.name in statement and not many and not statement.startswith("INSERT"):
            seen[statement] = parameters

    with filled(f"sqlite:///{tmp_path / 'l.db'}", 300) as ledger:
        event.listen(Engine, "before_cursor_execute", note)
        try:
            for number in range(3):
                use(ledger, number)
        finally:
            event.remove(Engine, "before_cursor_execute", note)
        with ledger._database.reading() as connection:
            asked = [*seen.items(), (f"SELECT * FROM {EVENT.name}", ())]
            *plans, whole = [
                [str(row[3]) for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", given)]
                for statement, given in asked
            ]
    assert any("SCAN" in step for step in whole)  # that is how reading all of it would look
    assert len(plans) >= 4
    for plan in plans:
        # The state is one row, which may be scanned.
        assert not [step for step in plan if "SCAN" in step and step != f"SCAN {STATE.name}"], plan


@pytest.mark.slow
def test_a_spend_at_a_hundred_thousand_entries(tmp_path: Path) -> None:
    """Under 5 ms of computing, and no longer than in a short ledger, whatever else the machine does."""
    with (
        filled(f"sqlite:///{tmp_path / 'l.db'}", 100_000) as long,
        filled(f"sqlite:///{tmp_path / 's.db'}", 100) as short,
    ):
        computing, times = [], []
        for number in range(100):
            begun, start = time.process_time(), time.perf_counter()
            long.reserve([charge(number)], data="monday")
            computing.append(time.process_time() - begun)
            between = time.perf_counter()
            short.reserve([charge(number)], data="monday")
            times.append((between - start, time.perf_counter() - between))
    assert statistics.median(computing) < 0.005
    # Both wait for the same disk and the same processor, one right after the other.
    assert statistics.median(one / other for one, other in times) < 2.0
