"""Attacks on records that depend on each other, exact for thousands: `python benchmarks/attack_records.py`.

Process time of each, once, and what it got against what theory allows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from leakcap.attack import (
    Finding,
    correlated_record,
    cousins,
    equal_copies,
    genomes,
    markov_chain,
    sampled_record,
    siblings,
    textbook_timing,
    timing,
    under_entropy_floor,
    unsure_of,
)


def line(what: str, run: Callable[[], Finding]) -> None:
    start = time.process_time()
    found = run()
    seconds = time.process_time() - start
    print(f"{what:46} got {found.got:.6f}   at most {found.at_most:.6f}   {seconds:.3f} s")


def main() -> None:
    generator = np.random.default_rng(20261121)
    coins = generator.integers(2, size=(2000, 3000))
    tied = coins.copy()
    tied[:, :1500] = tied[:, :1]
    line("5000 equal records, ε = 0.1", lambda: correlated_record(equal_copies(5000), 0.1))
    line("a chain of 5000, staying 0.99, ε = 0.5", lambda: correlated_record(markov_chain(5000, 0.99), 0.5))
    line("a child among 6 relatives, ε = 1", lambda: correlated_record(genomes(siblings(4), 2, 0.3), 1.0))
    family = cousins(3, 2)
    line("250 families of 14, ε = 1", lambda: correlated_record(genomes(family, 4, 0.3, families=250), 1.0))
    line("a parent of 100 children, ε = 1", lambda: correlated_record(genomes(siblings(100), 0, 0.3), 1.0))
    line("2000 draws of 3000 coins, ε = 1", lambda: sampled_record(coins, 1.0, generator=generator))
    line("the same, half of them equal", lambda: sampled_record(tied, 1.0, generator=generator))
    line("unsure of 1000 others, 0.5 nats, ε = 1", lambda: unsure_of(1000, 0.5, 1.0))
    floor = 1000 * math.log(2.0) - 0.1
    line("1000 records, all but 0.1 nats unknown, ε = 1", lambda: under_entropy_floor(1000, floor, 1.0))
    line("coin flips counted, ε = 0.1", lambda: textbook_timing(0.1))
    line("leakcap's random bytes counted, ε = 0.1", lambda: timing(0.1))


if __name__ == "__main__":
    main()
