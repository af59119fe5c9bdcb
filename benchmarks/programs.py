"""Programs as channels, CPU time and peak memory, each in a fresh process: `python benchmarks/programs.py`.

The largest has 100,000 secrets and as many outputs, 75 GiB as a dense matrix. Exits with 1 where one takes
more than 4 GiB, or misses a number that is known.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from itertools import permutations
from typing import Any

from measuring.process import answer_of, peak_mib

from leakcap import leakage
from leakcap.channel import Channel
from leakcap.program import Program, Run

LIMIT_MIB = 4096
LARGE = 100_000


def passwords() -> tuple[Channel, float]:
    word = "abcdefgh"

    def early_exit(password: str, run: Run) -> Any:
        return next((at for at, letter in enumerate(word) if password[at] != letter), None)

    return Program(early_exit, ["".join(p) for p in permutations(word)]).channel(), 8.0


def cryptographers() -> tuple[Channel, float]:
    def dining(payer: int, run: Run) -> Any:
        coins = [run.flip() for _ in range(10)]
        return tuple((coins[at] != coins[at - 1]) != (payer == at) for at in range(10))

    return Program(dining, range(10)).channel(), 1.0


def crowd() -> tuple[Channel, float]:
    members, honest = 60, 50

    def step(holder: int, run: Run) -> Any:
        receiver = run.uniform(range(members))
        if receiver >= honest:
            return run.stop(holder)
        return receiver if run.flip(0.75) else run.stop(None)

    other = 10 / members * 0.75 / (members - 0.75 * honest)
    caught = 10 / members + honest * other
    program = Program(lambda initiator, run: run.loop(step, initiator), range(honest))
    return program.channel(), honest * (10 / members + other) + 1 - caught


def exponents() -> tuple[Channel, float]:
    return Program(lambda e, run: e.bit_count(), range(1 << 16)).channel(), 17.0


def function() -> tuple[Channel, float]:
    return Channel.of_function(lambda x: 7 * x % LARGE, range(LARGE)), float(LARGE)


def noisy() -> tuple[Channel, float]:
    program = Program(lambda x, run: (x + run.uniform(range(10))) % LARGE, range(LARGE))
    return program.channel(), LARGE / 10


ASKED: dict[str, Callable[[], tuple[Channel, float]]] = {
    "password, early exit": passwords,
    "dining cryptographers": cryptographers,
    "crowds, no bound": crowd,
    "ones of an exponent": exponents,
    "of_function, 10^5": function,
    "ten neighbours, 10^5": noisy,
}


def one(name: str) -> None:
    start = time.process_time()
    channel, known = ASKED[name]()
    found = leakage.bayes_capacity(channel).upper
    right = math.isclose(found, known, rel_tol=1e-9)
    print(json.dumps([channel.shape, time.process_time() - start, peak_mib(), found, right]))


def main() -> None:
    missed = False
    for name in ASKED:
        shape, seconds, peak, found, right = answer_of(name)
        print(f"{name:<22} {shape[0]:>7,} × {shape[1]:<7,} {seconds:>7.2f} s {peak:>6.0f} MiB   {found:.9g}")
        missed |= peak > LIMIT_MIB or not right
    if missed:
        sys.exit("above the limit, or a wrong number")


if __name__ == "__main__":
    one(sys.argv[1]) if len(sys.argv) > 1 else main()
