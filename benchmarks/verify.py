"""What it takes to check certificates: 240 of Shannon's, and ten thousand that were changed.

    python benchmarks/verify.py [MUTANTS]

Seconds are those of the processor, of the checker alone.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

import leakcap as lc
from leakcap.accounting import PrivacyLoss
from leakcap.mechanism import Gaussian

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "verify"), str(ROOT / "tests"), str(ROOT / "tests" / "verify")]

import test_finite as finite  # noqa: E402

import leakcap_verify as verify  # noqa: E402
from certificate_mutants import mutants, too_much  # noqa: E402


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


if __name__ == "__main__":
    shannon()
    composed()
    changed(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
