"""A sparse channel, 100,000 × 100,000 with 10 non-zeros a row: every closed form, and Shannon capacity.

Run: python benchmarks/sparse.py [secrets]
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from measuring.process import peak_mib
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
    gain,
    leakage,
)

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
    print(f"{size:,} × {size:,}, {NONZEROS} non-zeros a row; every row: time, largest memory, value")
    channel = timed("channel checked and frozen", lambda: random_channel(size))
    prior = np.full(size, 1.0 / size)
    uniform = GivenPrior(prior)
    ring = Neighbours(tuple((x, (x + 1) % size) for x in range(size)))
    widest, belief = Renyi(math.inf), AllPriors()
    timed("ε, all pairs", lambda: capacity(channel, widest))
    timed("maximal leakage", lambda: capacity(channel, widest, belief))
    timed("log-lift, entropy floor of 5 nats", lambda: capacity(channel, widest, EntropyFloor(5.0)))
    for alpha in (0.5, 1.0, 2.0, math.inf):
        timed(f"Sibson information of order {alpha:g}", lambda a=alpha: capacity(channel, Renyi(a), uniform))
    timed(f"total variation, {size:,} pairs", lambda: capacity(channel, TotalVariation(), ring))
    timed(f"Rényi 0.5, {size:,} pairs", lambda: capacity(channel, Renyi(0.5), ring))
    plain: tuple[Callable[..., float], ...] = (
        leakage.mutual_information,
        leakage.lift,
        leakage.log_lift,
        leakage.local_information_privacy,
        leakage.bayes_vulnerability,
        leakage.bayes_risk,
        leakage.posterior_guessing_entropy,
        leakage.inferential_privacy,
        leakage.information_privacy,
        leakage.relative_entropy_privacy,
        leakage.mutual_information_privacy,
    )
    for measure in plain:
        timed(measure.__name__, lambda m=measure: float(m(channel, prior)))
    timed("pointwise maximal leakage", lambda: float(leakage.pointwise_maximal_leakage(channel, prior).max()))
    for name, order in (
        ("sibson", leakage.sibson),
        ("arimoto", leakage.arimoto),
        ("joint", leakage.joint_renyi),
    ):
        timed(f"{name}, α = 3", lambda f=order: float(f(channel, prior, alpha=3.0)))
    for name, bound in (("bayes", leakage.bayes_capacity), ("lift", leakage.lift_capacity)):
        timed(f"{name} capacity", lambda f=bound: f(channel))
    timed("gain capacity", lambda: leakage.gain_capacity(channel, prior))
    timed("additive gain capacity", lambda: leakage.additive_gain_capacity(channel, prior))
    goals = {
        "one guess": gain.identity(size),
        "three guesses": gain.k_guesses(size, 3),
        "a property": gain.property_of([x % 7 for x in range(size)]),
        "reciprocal": gain.distribution_reciprocal(prior),
    }
    for name, goal in goals.items():
        for worst in (False, True):
            label = f"g-leakage, {name}, {'worst' if worst else 'average'}"
            timed(label, lambda g=goal, w=worst: leakage.g_leakage(channel, prior, g, max_case=w))
    timed("g-leakage over priors, one guess", lambda: leakage.g_capacity(channel, goals["one guess"]))
    timed("outputs merged where proportional", lambda: channel.reduced())
    timed("cascade with itself", lambda: channel >> channel)
    shannon = timed("Shannon capacity", lambda: capacity(channel, Renyi(1.0), belief))
    print(f"  its interval is {shannon.width:.1e} nats wide")
    print(f"largest memory of any {max(PEAKS):.2f} GiB of {LIMIT_GIB:g}")
    if max(PEAKS) > LIMIT_GIB:
        sys.exit("above the limit")


PEAKS: list[float] = []


def timed(name: str, work: Callable[[], Result]) -> Result:
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    peak = peak_mib() / 1024
    PEAKS.append(peak)
    value = result.upper if isinstance(result, Bound) else result
    shown = f"{value:.9g}" if isinstance(value, float) else str(value)
    print(f"{name:<38} {seconds:>8.3f} s {peak:>6.2f} GiB   {shown}", flush=True)
    return result


if __name__ == "__main__":
    main()
