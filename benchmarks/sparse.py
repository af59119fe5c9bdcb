"""A sparse channel, 100,000 × 100,000 with 10 non-zeros a row: every closed form, and Shannon capacity.

Run: python benchmarks/sparse.py [secrets]
"""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from scipy import sparse

from leakcap import (
    AllPriors,
    Bound,
    Channel,
    EntropyFloor,
    GivenPrior,
    Neighbours,
    Renyi,
    TotalVariation,
    capacity,
)
from leakcap.capacities.given import log_lift

Result = TypeVar("Result")
NONZEROS = 10
LIMIT_GIB = 4.0


def random_channel(size: int) -> Channel:
    """Dirichlet rows on random columns."""
    rng = np.random.default_rng(0)
    columns = rng.integers(size, size=(size, NONZEROS))
    values = rng.dirichlet(np.ones(NONZEROS), size=size)
    places = (np.repeat(np.arange(size), NONZEROS), columns.ravel())
    return Channel(sparse.csr_array((values.ravel(), places), shape=(size, size)))


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    channel = timed("channel checked and frozen", lambda: random_channel(size))
    uniform = GivenPrior(np.full(size, 1.0 / size))
    ring = Neighbours(tuple((x, (x + 1) % size) for x in range(size)))
    timed("ε, all pairs", lambda: capacity(channel, Renyi(math.inf)))
    timed("maximal leakage (Bayes capacity)", lambda: capacity(channel, Renyi(math.inf), AllPriors()))
    timed("log-lift, uniform prior", lambda: log_lift(channel, np.array(uniform.prior)))
    timed("log-lift, entropy floor of 5 nats", lambda: capacity(channel, Renyi(math.inf), EntropyFloor(5.0)))
    for alpha in (0.5, 1.0, 2.0, math.inf):
        timed(f"Sibson information of order {alpha:g}", lambda a=alpha: capacity(channel, Renyi(a), uniform))
    timed(f"total variation, {size:,} pairs", lambda: capacity(channel, TotalVariation(), ring))
    timed(f"Rényi 0.5, {size:,} pairs", lambda: capacity(channel, Renyi(0.5), ring))
    timed("outputs merged where proportional", lambda: channel.reduced())
    timed("cascade with itself", lambda: channel >> channel)
    shannon = timed("Shannon capacity", lambda: capacity(channel, Renyi(1.0), AllPriors()))
    print(f"  its interval is {shannon.width:.1e} nats wide")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory {peak:.2f} GiB of {LIMIT_GIB:g}")


def timed(name: str, work: Callable[[], Result]) -> Result:
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    shown = result.upper if isinstance(result, Bound) else result
    print(
        f"{name:<36} {seconds:>8.3f} s   {shown if not isinstance(shown, float) else f'{shown:.9g}'}",
        flush=True,
    )
    return result


if __name__ == "__main__":
    main()
