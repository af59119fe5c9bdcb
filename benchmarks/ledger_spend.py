"""The time of one checked, committed spend with 100 and with 100,000 entries, all kinds of caps set.

`keyed` is a spend under the key of a request, `again` the same request asked again. Medians of wall time;
beside a spend its mean CPU time, since a commit waits where a machine is busy.

Run: python benchmarks/ledger_spend.py [postgresql+psycopg://user@host/an-empty-database]
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from leakcap.errors import BudgetExceeded
from leakcap.ledger import Caps, Charge, Ledger, Limits, Request, Spend

SPENDS = 200
BATCH = 5_000
ANALYSTS = 20


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        print(f"one write and fsync of 4 KiB here: {_fsync(directory):.2f} ms")
        titles = ("spend", "its CPU", "worst", "keyed", "again", "release", "recall", "refusal", "verify")
        print(f"{'entries':>8} " + " ".join(f"{title:>9}" for title in titles))
        if sys.argv[1:]:
            _row(sys.argv[1], 100_000)
            return
        for entries in (100, 100_000):
            _row(f"sqlite:///{Path(directory, f'{entries}.db')}", entries)


def _row(url: str, entries: int) -> None:
    most = (entries + 2 * SPENDS) / 10
    caps = Caps(
        most,
        nats_level=most,
        alpha=2.0,
        queries=entries + 2 * SPENDS,
        each_analyst=Limits(epsilon=most),
        each_period=Limits(epsilon=most),
        period="year",
    )
    with Ledger.open(url, dataset="patients", policy="0" * 8, caps=caps) as ledger:
        for start in range(0, entries, BATCH):
            ledger.reserve([_charge(start + n) for n in range(min(BATCH, entries - start))], data="monday")
        used = time.process_time()
        spends = [
            _milliseconds(lambda n=n: ledger.reserve([_charge(n)], data="monday")) for n in range(SPENDS)
        ]
        used = (time.process_time() - used) * 1000 / SPENDS
        keyed, again = (
            [_milliseconds(lambda n=n: _reserve_once(ledger, n)) for n in range(SPENDS)] for _ in range(2)
        )
        releases = [
            _milliseconds(lambda n=n: ledger.mark_released([n], answers={n: [[1, 0, 2]]}))
            for n in range(1, 101)
        ]
        recalls = [
            _milliseconds(lambda n=n: ledger.recall([_charge(n)], data="monday")) for n in range(SPENDS)
        ]
        refusals = [_refusal(ledger, _charge(0)) for _ in range(SPENDS)]
        verify = _milliseconds(ledger.verify)
    middle = [statistics.median(times) for times in (spends, keyed, again, releases, recalls, refusals)]
    times = (middle[0], used, max(spends), *middle[1:])
    print(f"{entries:>8,} " + " ".join(f"{one:>6.2f} ms" for one in times) + f" {verify:>7.0f} ms")


def _reserve_once(ledger: Ledger, number: int) -> None:
    ledger.reserve([_charge(number)], data="monday", request=Request.of("ann", str(number), "count"))


def _charge(number: int) -> Charge:
    spend = Spend(epsilon=0.1, nats_person=0.00125, nats_table=1.0, nats_level=0.01)
    return Charge("malignant", f"count where age > {number}", spend, f"analyst {number % ANALYSTS}")


def _refusal(ledger: Ledger, charge: Charge) -> float:
    def attempt() -> None:
        try:
            ledger.reserve([charge])
        except BudgetExceeded:
            return
        raise AssertionError("the cap was passed")

    return _milliseconds(attempt)


def _milliseconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def _fsync(directory: str) -> float:
    with Path(directory, "probe").open("wb", buffering=0) as file:

        def once() -> None:
            file.write(b"\0" * 4096)
            os.fsync(file.fileno())

        return statistics.median(_milliseconds(once) for _ in range(50))


if __name__ == "__main__":
    main()
