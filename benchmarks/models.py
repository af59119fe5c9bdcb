"""Private regressions beside their plain fits: `python benchmarks/models.py`.

Accuracy on scikit-learn's `diabetes` (442 people, 10 features) and on a made table of 20,000 rows: R² on the
rows fitted, median of eleven fits. Time of a table's fit in DuckDB beside the plain aggregate over it. Public
for `diabetes`: features within ±0.2 and rows no longer than 0.45 (they come scaled), target in 0..350.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from sklearn.datasets import load_diabetes

from leakcap.ledger import Ledger
from leakcap.models import (
    LinearRegression,
    LogisticLoss,
    LogisticRegression,
    PrivateGradientDescent,
    RidgeRegression,
    lecture,
    noise_multiplier_for,
)
from leakcap.release import Policy, PrivateTable, load_policy

FITS = 11
EPSILONS = (1.0, 4.0, 16.0)
DELTA = 1e-5
RATE = Fraction(1, 5)


def policy_of(columns: dict[str, Any], rows: int) -> Policy:
    return load_policy(
        {
            "dataset": "bench",
            "neighbours": "add-remove-one",
            "max_rows": rows,
            "caps": {"epsilon": 1e6, "delta": 0.9},
            "columns": columns,
        }
    )


def opened(policy: Policy) -> Ledger:
    fingerprint, caps = policy.fingerprint(), policy.caps.ledger_caps()
    return Ledger.open("sqlite://", dataset="bench", policy=fingerprint, caps=caps)


def median(fit: Callable[[], float]) -> float:
    return statistics.median(fit() for _ in range(FITS))


def r2(y: Any, predicted: Any) -> float:
    return 1.0 - float(((y - predicted) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def regressions(name: str, X: Any, y: Any, public: dict[str, float]) -> None:
    n = X.shape[0]
    design = np.column_stack([np.ones(n), X])
    plain = r2(y, design @ np.linalg.lstsq(design, y, rcond=None)[0])
    print(f"{name}: n = {n}, {X.shape[1]} features; least squares R² {plain:.3f}")
    print("     ε   moments (ε,0) and (ε,δ)   output (ε,0) and (ε,δ)   descent (ε,δ)")
    policy = policy_of({"x": {"bounds": [0.0, 1.0]}}, n)
    with opened(policy) as ledger:
        shared: dict[str, Any] = {"policy": policy, "ledger": ledger}
        for epsilon in EPSILONS:
            row = [median(partial(_moments, X, y, public, epsilon, delta, shared)) for delta in (0.0, DELTA)]
            unit = X / public["norm"], (y - public["middle"]) / public["half"]
            row += [median(partial(_ridge, *unit, epsilon, delta, shared)) for delta in (0.0, DELTA)]
            noise = noise_multiplier_for(epsilon=epsilon, delta=DELTA, rate=RATE, steps=150)
            row.append(median(partial(_descent, *unit, noise, shared)))
            print(f"  {epsilon:4.0f} " + "  ".join(f"{value:10.3f}" for value in row))


def _moments(X: Any, y: Any, public: dict[str, float], epsilon: float, delta: float, shared: Any) -> float:
    bound, middle, half = (public[name] for name in ("bound", "middle", "half"))
    model = LinearRegression(
        **shared,
        epsilon=epsilon,
        delta=delta,
        bounds=(-bound, bound),
        target_bounds=(middle - half, middle + half),
    )
    return model.fit(X, y).score(X, y)


def _ridge(X: Any, y: Any, epsilon: float, delta: float, shared: Any) -> float:
    model = RidgeRegression(**shared, epsilon=epsilon, delta=delta, penalty=len(y) / 50, radius=2.0)
    return model.fit(X, y).score(X, y)


def _descent(X: Any, y: Any, noise: float, shared: Any) -> float:
    model = PrivateGradientDescent(
        **shared, delta=DELTA, noise_multiplier=noise, sample_rate=RATE, steps=150, learning_rate=2.0
    )
    return model.fit(X, y).score(X, y)


def three_ways() -> None:
    """The three linear ways over ε and n: one feature and no intercept, so that all fit the same."""
    print("three ways, y = 0.6·x + noise of 0.2 on x in ±1: median |error of the slope|")
    print("        n     ε   moments   output (Λ = n/50)   lecture's noise (not private)")
    for n in (1_000, 10_000, 100_000):
        generator = np.random.default_rng(n)
        X = generator.uniform(-1, 1, (n, 1))
        y = np.clip(0.6 * X[:, 0] + generator.normal(0, 0.2, n), -1, 1)
        policy = policy_of({"x": {"bounds": [0.0, 1.0]}}, n)
        bound = lecture.lecture_bound(k=1, n=n, M=1.0, N=1.0, P=1.0)
        with opened(policy) as ledger:
            shared: dict[str, Any] = {"policy": policy, "ledger": ledger}
            for epsilon in (0.1, 1.0, 10.0):
                own = lecture.minimiser(lecture.LectureTable(X[:, 0], y), P=1.0)
                noisy = [abs(own + generator.laplace(0, bound / epsilon) - 0.6) for _ in range(FITS)]
                row = [
                    median(partial(_slope, LinearRegression, X, y, epsilon, shared)),
                    median(partial(_slope, RidgeRegression, X, y, epsilon, shared)),
                    statistics.median(noisy),
                ]
                print(f"  {n:7,} {epsilon:5.1f} " + "  ".join(f"{value:12.5f}" for value in row))


def _slope(kind: Any, X: Any, y: Any, epsilon: float, shared: Any) -> float:
    options: dict[str, Any] = (
        {"bounds": (-1.0, 1.0), "target_bounds": (-1.0, 1.0), "fit_intercept": False}
        if kind is LinearRegression
        else {"penalty": X.shape[0] / 50, "radius": 1.0}
    )
    return float(abs(kind(**shared, epsilon=epsilon, **options).fit(X, y).coef_[0] - 0.6))


THEIRS = """
import statistics, sys, warnings
from diffprivlib.models import LinearRegression
from sklearn.datasets import load_diabetes
warnings.simplefilter("ignore")
X, y = load_diabetes(return_X_y=True)
for epsilon in map(float, sys.argv[1:]):
    fits = [LinearRegression(epsilon=epsilon, bounds_X=(-0.2, 0.2), bounds_y=(0, 350)).fit(X, y).score(X, y)
            for _ in range(11)]
    print(f"  {epsilon:4.0f} {statistics.median(fits):10.3f}")
"""


def beside_diffprivlib() -> None:
    """Its linear regression (functional mechanism) on `diabetes`, same bounds, where it is installed."""
    python = Path(__file__).parents[1] / "build/peers-release/diffprivlib/bin/python"
    if not python.exists():
        print("  diffprivlib is not installed in build/peers-release")
        return
    print("diabetes, diffprivlib's LinearRegression: median R² of eleven fits")
    words = [str(python), "-c", THEIRS, *map(str, EPSILONS)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    print(done.stdout.rstrip() or done.stderr.splitlines()[-1])


def classes(X: Any, y: Any) -> None:
    print(f"logistic: n = {X.shape[0]}, {X.shape[1]} features; share of right answers")
    policy = policy_of({"x": {"bounds": [0.0, 1.0]}}, X.shape[0])
    with opened(policy) as ledger:
        shared: dict[str, Any] = {"policy": policy, "ledger": ledger}
        best = LogisticRegression(**shared, epsilon=1e4, penalty=1.0).fit(X, y).score(X, y)
        print(f"  almost without noise {best:.3f}")
        print("     ε   objective (ε,0) and (ε,δ)   descent (ε,δ)")
        for epsilon in (0.02, 0.1, 1.0):
            row = [median(partial(_logistic, X, y, epsilon, delta, shared)) for delta in (0.0, DELTA)]
            row.append(median(partial(_classes_by_descent, X, y, epsilon, shared)))
            print(f"  {epsilon:4.2f} " + "  ".join(f"{value:10.3f}" for value in row))


def _logistic(X: Any, y: Any, epsilon: float, delta: float, shared: Any) -> float:
    return LogisticRegression(**shared, epsilon=epsilon, delta=delta).fit(X, y).score(X, y)


def _classes_by_descent(X: Any, y: Any, epsilon: float, shared: Any) -> float:
    noise = noise_multiplier_for(epsilon=epsilon, delta=DELTA, rate=RATE, steps=100)
    model = PrivateGradientDescent(
        **shared,
        loss=LogisticLoss(),
        delta=DELTA,
        noise_multiplier=noise,
        sample_rate=RATE,
        learning_rate=4.0,
    )
    return model.fit(X, y).score(X, y)


def table(rows: int) -> None:
    generator = np.random.default_rng(1)
    names = [f"x{i}" for i in range(5)]
    X = generator.uniform(-1, 1, (rows, 5))
    y = X @ np.arange(1, 6) / 5 + generator.normal(0, 0.5, rows)
    data = pyarrow.table({**{name: X[:, i] for i, name in enumerate(names)}, "y": y})
    columns = {name: {"bounds": [-1.0, 1.0]} for name in names} | {"y": {"bounds": [-4.0, 4.0]}}
    policy = policy_of(columns, rows)
    pairs = [(a, b) for i, a in enumerate([*names, "y"]) for b in [*names, "y"][i:]]
    statement = ", ".join(
        ["count(*)", *(f"sum({a})" for a in [*names, "y"]), *(f"sum({a}*{b})" for a, b in pairs)]
    )
    with opened(policy) as ledger:
        private = PrivateTable(data, policy=policy, ledger=ledger)
        engine = private.engine

        def fit() -> float:
            start = time.perf_counter()
            LinearRegression(epsilon=1.0).fit_table(private, features=names, target="y")
            return time.perf_counter() - start

        def plain() -> float:
            start = time.perf_counter()
            engine.aggregate(f"SELECT {statement} FROM leakcap_source")
            return time.perf_counter() - start

        fit(), plain()
        ours, theirs = (
            statistics.median(fit() for _ in range(3)),
            statistics.median(plain() for _ in range(3)),
        )
    print(f"table of {rows:,} rows, 5 features: plain sums {theirs:.3f} s, private fit {ours:.3f} s")


def main() -> None:
    three_ways()
    X, y = load_diabetes(return_X_y=True)
    public = {"bound": 0.2, "norm": 0.45, "middle": 175.0, "half": 175.0}
    regressions("diabetes", X, y, public)
    beside_diffprivlib()
    generator = np.random.default_rng(2)
    X = generator.uniform(-0.5, 0.5, (20_000, 4))
    y = X @ [1.0, -1.0, 0.5, 0.2] + generator.normal(0, 0.2, 20_000)
    regressions("made", X, y, {"bound": 0.5, "norm": 1.0, "middle": 0.0, "half": 2.0})
    odds = X @ [6.0, -6.0, 3.0, 1.0]
    classes(X, (generator.uniform(size=odds.size) < 1 / (1 + np.exp(-odds))).astype(int))
    for rows in (10_000, 2_000_000):
        table(rows)


if __name__ == "__main__":
    main()
