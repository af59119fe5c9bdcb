"""The time of one checked, committed spend in a file with 100 and with 100,000 entries.

Run: python benchmarks/ledger_spend.py
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from leakcap.errors import BudgetExceeded
from leakcap.ledger import Caps, Charge, Ledger, Spend

SPENDS = 200
BATCH = 5_000


def main() -> None:
    tenth = Charge(
        "malignant", "count where diagnosis = 'malignant'", Spend(epsilon=0.1, nats_person=0.00125)
    )
    with tempfile.TemporaryDirectory() as directory:
        print(f"one write and fsync of 4 KiB here: {_fsync(directory):.2f} ms")
        print(f"{'entries':>8} {'spend':>9} {'worst':>9} {'refusal':>9} {'verify':>9}")
        for entries in (100, 100_000):
            url = f"sqlite:///{Path(directory, f'{entries}.db')}"
            caps = Caps(epsilon=(entries + SPENDS) / 10)
            with Ledger.open(url, dataset="patients", policy="0" * 8, caps=caps) as ledger:
                for start in range(0, entries, BATCH):
                    ledger.reserve([tenth] * min(BATCH, entries - start))
                spends = [_spend(ledger, tenth) for _ in range(SPENDS)]
                refusals = [_refusal(ledger, tenth) for _ in range(SPENDS)]
                verify = _milliseconds(ledger.verify)
            middle, refused = statistics.median(spends), statistics.median(refusals)
            print(
                f"{entries:>8,} {middle:>6.2f} ms {max(spends):>6.2f} ms {refused:>6.2f} ms {verify:>6.0f} ms"
            )


def _spend(ledger: Ledger, charge: Charge) -> float:
    return _milliseconds(lambda: ledger.reserve([charge]))


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
