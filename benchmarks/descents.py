"""What gradient descents are charged, beside their exact losses: `python benchmarks/descents.py`.

First runs of different noise, rate and length: the ε that a ledger is charged, the interval of the exact
composed loss, and the ε of the best Rényi order. Then five runs of 11,760 steps (q = 256/50,000, σ = 1.1)
at δ = 10⁻⁶ each, in one ledger: what a cap on all answers together takes, and what the five cost if composed
exactly. A step of the five moves one parameter of four rows, since only the charges are looked at.
"""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np

from leakcap.accounting import PrivacyLoss
from leakcap.ledger import Ledger, PlannedDescent, Slot, SlotPlan
from leakcap.mechanism import Gaussian
from leakcap.models import PrivateGradientDescent, RenyiCurve
from leakcap.release import load_policy

RUNS = [
    (1.0, Fraction(1, 100), 1000, 1e-5, "1.83"),
    (1.1, Fraction(256, 50_000), 11_760, 1e-6, ""),
    (2.0, Fraction(1, 10), 50, 1e-6, ""),
    (0.8, Fraction(1, 1000), 20_000, 1e-6, ""),
    (4.0, Fraction(1), 100, 1e-6, ""),
]


def best_order(curve: RenyiCurve, delta: float) -> float:
    """The ε of the best Rényi order: Canonne, Kamath & Steinke 2020, proposition 12."""
    orders = [1.25, 1.5, 1.75, *range(2, 65), *range(72, 257, 8)]
    return min(
        curve.presence(a) - math.log(delta * a) / (a - 1) + math.log1p(-1 / a) for a in map(float, orders)
    )


def runs() -> None:
    print("   σ         q   steps       δ   charged          exact   best order  target  CPU s")
    for noise, rate, steps, delta, target in RUNS:
        start = time.process_time()
        curve = RenyiCurve(noise, rate, steps, replace=False)
        charged = curve.epsilon(delta)
        took = time.process_time() - start
        loss = PrivacyLoss.of_mechanism(Gaussian(noise)).sampled(float(rate)) ** steps
        exact = loss.epsilon_both(delta).upper
        print(
            f"{noise:4} {float(rate):9.5f} {steps:7,} {delta:7.0e} {charged:9.5f} {exact:14.9f} "
            f"{best_order(curve, delta):12.5f}  {target:6} {took:6.2f}"
        )


def trainings() -> None:
    rate, steps, delta = Fraction(256, 50_000), 11_760, 1e-6
    policy = load_policy(
        {
            "dataset": "d",
            "neighbours": "add-remove-one",
            "caps": {"epsilon": 20.0, "delta": 1e-5, "delta_of_answers": 5e-6},
            "columns": {"x": {"bounds": [0.0, 1.0]}},
        }
    )
    X, y = np.ones((4, 1)), np.ones(4)
    fingerprint, caps = policy.fingerprint(), policy.caps.ledger_caps()
    with Ledger.open("sqlite://", dataset="d", policy=fingerprint, caps=caps) as ledger:
        for _ in range(5):
            PrivateGradientDescent(
                policy=policy,
                ledger=ledger,
                delta=delta,
                noise_multiplier=1.1,
                sample_rate=rate,
                steps=steps,
                expected_rows=4,
                fit_intercept=False,
            ).fit(X, y)
        spent, added = ledger.balances()[0].spent, ledger.totals().epsilon
        ledger.verify()
    planned = SlotPlan("year", [Slot("trainings", 5, descent=PlannedDescent(1.1, rate, steps))], delta=5e-6)
    with Ledger.open("sqlite://", dataset="d", policy=fingerprint, caps=caps) as ledger:
        ledger.plan(planned)
        as_a_plan = ledger.totals().epsilon
    loss = PrivacyLoss.of_mechanism(Gaussian(1.1)).sampled(float(rate)) ** steps
    print(f"five trainings: as a plan {as_a_plan:.6f} (δ = 5·10⁻⁶)")
    print(
        f"five trainings: ε added up {added:.4f}; under a cap on all together {spent:.4f} (δ = 10⁻⁵ in all)"
    )
    for both in (5e-6, 1e-5):
        print(f"  composed exactly, δ = {both:g}: {(loss**5).epsilon_both(both).upper:.6f}")


if __name__ == "__main__":
    runs()
    trainings()
