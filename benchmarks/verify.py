"""What it takes to check certificates: 240 of Shannon's, a ledger of ten thousand rows, and those that were
changed.

    python benchmarks/verify.py [MUTANTS]

Seconds are those of the processor, of the checker alone.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import leakcap as lc
from leakcap.accounting import PrivacyLoss
from leakcap.ledger import Caps, Charge, Ledger, Limits, Spend
from leakcap.ledger.measured import guarantee
from leakcap.mechanism import Gaussian

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "verify"), str(ROOT / "tests"), str(ROOT / "tests" / "verify")]

import test_balances as balances  # noqa: E402
import test_filter as ledgers  # noqa: E402
import test_finite as finite  # noqa: E402

import leakcap_verify as verify  # noqa: E402
from certificate_mutants import mutants, too_much  # noqa: E402
from certified_chains import relinked  # noqa: E402


def shannon() -> None:
    random_, texts = np.random.default_rng(240), list[bytes]()
    for size in range(240):
        rows = random_.dirichlet(np.full(2 + size % 11, (0.1, 1.0, 10.0)[size % 3]), size=2 + size % 9)
        bound = lc.capacity(lc.Channel(rows), lc.Renyi(1.0), lc.AllPriors())
        texts.append(json.dumps(bound.certificate()).encode())
    start = time.process_time()
    found = Counter(verify.check(one).verdict for text in texts for one in verify.read(text))
    took = time.process_time() - start
    print(f"240 Shannon certificates: {dict(found)} in {took:.2f} s (target 5 s)")
    if found != {"proved": 240} or took > 5:
        sys.exit("missed")


def changed(most: int) -> None:
    every = [one for found in finite.EXAMPLES.values() for one in mutants(found, tuple(verify.KINDS))]
    some = random.Random(18).sample(every, min(most, len(every)))
    said = [(one, finite.verdict(one)) for one in some]
    wrong = [one for one, verdict in said if verdict == "proved" and too_much(one)]
    told = dict(Counter(verdict for _, verdict in said))
    print(f"{len(some)} mutants of {len(every)}: {told}; {len(wrong)} proved that claim too much (target 0)")
    if wrong:
        sys.exit("missed")


def composed() -> None:
    loss = PrivacyLoss.of_mechanism(Gaussian(1.1)).sampled(256 / 50_000)
    for name, one in (("a person leaves", loss), ("a person joins", loss.reverse)):
        bound = (one**11_760).epsilon(1e-6)
        text = json.dumps(bound.certificate()).encode()
        start = time.process_time()
        (found,) = map(verify.check, verify.read(text))
        took = time.process_time() - start
        print(
            f"11,760 sampled Gaussian steps, {name}: {found.verdict}, ε = {bound.upper:.9f}, "
            f"{bound.width:.1e} wide (target 1e-6) in {took:.2f} s (target 60 s)"
        )
        if found.verdict != "proved" or bound.width > 1e-6 or took > 60:
            sys.exit("missed")


def certificate_of_a_year(rows: int) -> bytes:
    """A ledger of so many rows: two hundred prices, ten analysts with caps of their own."""
    caps = Caps(1e5, 1e-6, each_analyst=Limits(1e5), each_period=Limits(1e5), period="month")
    charges = []
    for k in range(200):
        rate, steps = (f"{k + 1}/1000", 1) if k % 2 else (f"1/{(k + 1) * 1000}", 100)
        event = f'{{"name":"DiscreteLaplaceDpEvent","noise_parameter":"{rate}","sensitivity":{steps}}}'
        found = guarantee(event)
        spend = Spend(float(found.epsilon or 0), curve=found.curve, event=event)
        charges.append(Charge("n", "count", spend, f"analyst {k % 10}"))
    with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=caps) as book:
        for start in range(0, rows - 1, 200):
            book.reserve(charges[: min(200, rows - 1 - start)])
        return json.dumps(book.certificate()).encode()


def year() -> None:
    text = certificate_of_a_year(10_000)
    start = time.process_time()
    (found,) = verify.read(text)
    verdict = verify.check(found)
    took = time.process_time() - start
    rows, size = len(found["witness"]["rows"]), len(text) / 1e6
    said = f"{verdict.kind} {verdict.verdict} in {took:.2f} s (target 10 s)"
    print(f"A ledger of {rows:,} rows, {size:.0f} MB: {said}")
    if (verdict.kind, verdict.verdict) != ("filter", "proved") or took > 10:
        sys.exit("missed")


def touched(most: int) -> None:
    """Rows that were dropped, swapped and changed, as they are and linked anew; each field and digit."""
    every: list[dict[str, object]] = []
    for found in ledgers.FOUND.values():
        every += mutants(found, tuple(verify.KINDS))
        for rows in everywhere(ledgers.rows_of(found)):
            every.append(found | {"witness": {"rows": [json.dumps(row) for row in rows], "lines": {}}})
            anew = relinked(found, lambda old, new=rows: old.__setitem__(slice(None), new))
            every.append(anew | {"problem": found["problem"]})
    some = random.Random(19).sample(every, min(most, len(every)))
    said = [(one, ledgers.verdict(one)) for one in some]
    wrong = [one for one, verdict in said if verdict == "proved" and ledgers.claims_too_much(one)]
    told = Counter(v if v in ("proved", "refuted", "not proved") else "refused" for _, v in said)
    print(f"{len(some)} ledgers of {len(every)}: {dict(told)}")
    print(f"{len(wrong)} of them proved that claim too much (target 0)")
    if wrong:
        sys.exit("missed")


def balanced(most: int) -> None:
    """Every balance of every account of a ledger: each field and digit."""
    every = [one for _, found in balances.MADE.values() for one in mutants(found, tuple(verify.KINDS))]
    some = random.Random(20).sample(every, min(most, len(every)))
    said = [(one, ledgers.verdict(one)) for one in some]
    wrong = [one for one, verdict in said if verdict == "proved" and balances.too_much(one)]
    told = dict(Counter(verdict for _, verdict in said))
    print(f"{len(some)} balances of {len(every)}: {told}; {len(wrong)} proved that claim too much (target 0)")
    if wrong:
        sys.exit("missed")


def everywhere(rows: list[dict[str, object]]) -> Iterator[list[dict[str, object]]]:
    """Each row dropped, each two swapped, each amount a tick less."""
    for k, row in enumerate(rows):
        yield rows[:k] + rows[k + 1 :]
        yield [*rows[:k], *rows[k : k + 2][::-1], *rows[k + 2 :]]
        for name, value in row.items():
            if isinstance(value, int):
                yield [*rows[:k], row | {name: value - 1}, *rows[k + 1 :]]


if __name__ == "__main__":
    shannon()
    composed()
    year()
    touched(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
    balanced(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
    changed(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
