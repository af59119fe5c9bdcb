"""The accountant against its targets: `python benchmarks/accounting.py`.

Process time on one core. Beside it dp-accounting, where it is installed: in this environment, or in the one
whose interpreter DP_ACCOUNTING_PYTHON names. At the end, what 1000 queries tell an attacker by four accounts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import leakcap
from leakcap.accounting import (
    PrivacyLoss,
    calibrate,
    compose,
    compose_approximate,
    guess_success,
    information_price,
    information_total,
    shannon_capacity,
)
from leakcap.bound import Bound
from leakcap.definition import PureDP
from leakcap.mechanism import Gaussian, Laplace

DELTA = 1e-6
ONE = PrivacyLoss.of_mechanism(Laplace(10.0))
STEP = PrivacyLoss.of_mechanism(Gaussian(1.0)).sampled(0.01)
SCALES = np.linspace(0.01, 0.1, 500).tolist()
KINDS = {PrivacyLoss.of_mechanism(Laplace(1.0 / e)): 20_000 for e in np.linspace(1e-4, 1e-2, 50).tolist()}
PLANS: dict[str, tuple[Callable[[], PrivacyLoss], float]] = {
    "1000 Laplace, ε₀ = 0.1": (lambda: ONE**1000, 18.9502874),
    "1000 Gaussian, σ = 30": (lambda: PrivacyLoss.of_mechanism(Gaussian(30.0)) ** 1000, 5.1890366),
    "10,000 sampled Gaussian, remove": (lambda: STEP**10_000, 6.9073845),
    "10,000 sampled Gaussian, add": (lambda: STEP.reverse**10_000, 6.2074844),
    "500 Laplace scales": (
        lambda: PrivacyLoss.of([PrivacyLoss.of_mechanism(Laplace(1.0 / e)) for e in SCALES]),
        6.8124374,
    ),
    "10⁶ Laplace of 50 kinds": (lambda: PrivacyLoss.of(KINDS), float("nan")),
}
PEER = """
import json, time
import numpy as np
import dp_accounting as d
from dp_accounting.pld import PLDAccountant
one = lambda e, n=1: d.SelfComposedDpEvent(d.LaplaceDpEvent(1 / e), n)
plans = [
    one(0.1, 1000),
    d.SelfComposedDpEvent(d.GaussianDpEvent(30.0), 1000),
    d.SelfComposedDpEvent(d.PoissonSampledDpEvent(0.01, d.GaussianDpEvent(1.0)), 10000),
    None,
    d.ComposedDpEvent([one(e) for e in np.linspace(0.01, 0.1, 500)]),
    None,
]
found = []
for plan in plans:
    start = time.process_time()
    found.append(plan and [PLDAccountant().compose(plan).get_epsilon(1e-6), time.process_time() - start])
print(json.dumps(found))
"""


ROUND_TRIP = """
from dp_accounting import dp_event as d
from dp_accounting.pld import privacy_loss_distribution as p
from leakcap.accounting import from_event, from_pld, to_event, to_pld
steps = d.SelfComposedDpEvent(d.PoissonSampledDpEvent(0.05, d.GaussianDpEvent(1.5)), 200)
plan = d.ComposedDpEvent([steps, d.LaplaceDpEvent(5.0), d.RandomizedResponseDpEvent(0.75, 4)])
here = from_event(plan)
back = from_event(to_event(here))
print(f"an event there and back: eps {here.epsilon(1e-5).upper:.9f} and {back.epsilon(1e-5).upper:.9f}")
one = p.from_gaussian_mechanism(1.0, value_discretization_interval=1e-4, sampling_prob=0.01)
theirs = one.self_compose(1000)
said, read = theirs.get_epsilon_for_delta(1e-5), from_pld(theirs).epsilon(1e-5).upper
print(f"its table of 1000 steps: eps {said:.9f} there, {read:.9f} read here")
sampled = d.PoissonSampledDpEvent(0.01, d.GaussianDpEvent(1.0))
ours = from_event(d.SelfComposedDpEvent(sampled, 1000))
ends = [to_pld(ours, 1e-4, pessimistic=side).get_epsilon_for_delta(1e-5) for side in (False, True)]
exact = ours.epsilon_both(1e-5).upper
print(f"ours read there: eps {ends[0]:.9f} and {ends[1]:.9f}, exactly {exact:.9f}")
"""


def timed(action: Callable[[], Bound]) -> tuple[Bound, float]:
    start = time.process_time()
    found = action()
    return found, time.process_time() - start


def elsewhere(script: str) -> subprocess.CompletedProcess[str]:
    python = os.environ.get("DP_ACCOUNTING_PYTHON", sys.executable)
    environment = {**os.environ, "PYTHONPATH": str(Path(leakcap.__file__).parents[1])}
    return subprocess.run(
        [python, "-c", script], capture_output=True, text=True, check=False, env=environment
    )


def peer() -> list[list[float] | None]:
    done = elsewhere(PEER)
    return json.loads(done.stdout) if done.returncode == 0 else [None] * len(PLANS)


def the_front_door() -> None:
    """A few sampled steps at the default tolerance, many points of one run, the noise that a target needs."""
    print("certified, at a relative width of 1e-4 or less; process time, target 1 s:")
    for times in (1, 10):
        for name, loss in (("remove", STEP), ("add", STEP.reverse)):
            bound, seconds = timed(lambda loss=loss, times=times: (loss**times).epsilon(1e-5))
            print(f"  {times:3} sampled steps, {name:6} ε in [{bound.lower:.7f}, {bound.upper:.7f}]", end="")
            print(f"  width {bound.width / bound.upper:.0e}  {seconds:.3f} s")
    rare = PrivacyLoss.of_mechanism(Gaussian(4.0)).sampled(0.001) ** 3
    bound, seconds = timed(lambda: rare.epsilon(1e-6))
    print(f"  3 steps at σ = 4, q = 0.001   ε in [{bound.lower:.9f}, {bound.upper:.9f}]  {seconds:.3f} s")
    start = time.process_time()
    found = (STEP**1000).profile().delta(np.linspace(0.0, 10.0, 200))
    widest = float(np.max((found.upper - found.lower) / found.upper))
    print(f"  200 points of δ(ε) of 1000 steps, both directions, widest {widest:.0e}", end="")
    print(f"  {time.process_time() - start:.3f} s")
    start = time.process_time()
    noise = calibrate(
        lambda s: PrivacyLoss.of_mechanism(Gaussian(s)).sampled(0.01) ** 1000, epsilon=(1.0, 1e-5)
    )
    print(
        f"  σ for (1, 1e-5) of 1000 steps: {noise.value:.6f}  {time.process_time() - start:.3f} s (no target)"
    )


def main() -> None:
    the_front_door()
    others = peer()
    if not any(others):
        print("dp-accounting: not installed")
    else:
        print(elsewhere(ROUND_TRIP).stdout.strip())
    for (name, (plan, known)), other in zip(PLANS.items(), others, strict=True):
        bound, seconds = timed(lambda plan=plan: plan().epsilon(DELTA))
        print(f"{name}\n  contour  ε = {bound.midpoint:.9f} ± {bound.width / 2:.1e}", end="")
        print(f"  {seconds * 1e3:8.1f} ms" + (f"   (known: {known})" if known == known else ""))
        if known == known:
            grid, seconds = timed(lambda plan=plan: plan().epsilon_by_grid(DELTA))
            print(f"  FFT      [{grid.lower:.7f}, {grid.upper:.7f}], width {grid.width:.1e}  {seconds:.2f} s")
        if other:
            print(f"  dp-accounting  {other[0]:.7f}  {other[1]:.2f} s")
    what_a_thousand_queries_tell()


def what_a_thousand_queries_tell() -> None:
    loss, price = ONE**1000, information_price(Laplace(10.0))
    optimal = compose_approximate([PureDP(0.1)] * 1000, delta=DELTA)
    total = information_total([price] * 1000).nats
    print("1000 Laplace queries of ε₀ = 0.1, one person:")
    print(f"  pure sum              ε = {compose([PureDP(0.1)] * 1000).epsilon:.1f}")
    print(f"  optimal (ε, δ)        ε = {optimal.epsilon:.6f} at δ = {DELTA:g} (any ε₀-DP queries)")
    print(f"  exactly               ε = {loss.epsilon(DELTA).upper:.6f} at δ = {DELTA:g}")
    print(f"  MI-DP                 {total:.6f} nats about a value in an interval")
    print(f"  exactly               {shannon_capacity(loss).upper:.6f} nats about one of two values")
    print(f"  the guesser's success {guess_success(loss).upper:.6f} of two equally likely values")


if __name__ == "__main__":
    main()
