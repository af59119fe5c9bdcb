"""One run with canaries: what each bound certifies, and how often it is above the truth.

python benchmarks/canaries.py [path to jax_privacy/auditing.py]

The file of jax-privacy (google-deepmind/jax_privacy) is read as it is, if given; of dp-accounting it asks for
the σ of a Gaussian mechanism alone, which is computed here.
"""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from leakcap.audit import audit_canaries, audit_gaussian_canaries

DELTA = 1e-5
Trained = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


def delta_of(mu: float, epsilon: float) -> float:
    """δ(ε) of μ-GDP."""
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


def gaussian(mu: float) -> Trained:
    """Scores of normal noise."""

    def run(generator: np.random.Generator, m: int) -> tuple[np.ndarray, np.ndarray]:
        inside = generator.random(m) < 0.5
        return mu * inside + generator.normal(size=m), inside

    return run


def response(epsilon: float) -> Trained:
    """Coins told by randomised response."""

    def run(generator: np.random.Generator, m: int) -> tuple[np.ndarray, np.ndarray]:
        inside = generator.random(m) < 0.5
        return (inside ^ (generator.random(m) > 1 / (1 + math.exp(-epsilon)))).astype(float), inside

    return run


def laplace(epsilon: float) -> Trained:
    """Scores of Laplace noise."""

    def run(generator: np.random.Generator, m: int) -> tuple[np.ndarray, np.ndarray]:
        inside = generator.random(m) < 0.5
        return inside + generator.laplace(scale=1 / epsilon, size=m), inside

    return run


def jax_privacy(path: Path) -> Any:
    """Their file as a module."""
    accounting = types.ModuleType("dp_accounting")
    accounting.get_sigma_gaussian = lambda epsilon, delta: (  # type: ignore[attr-defined]
        1.0 / brentq(lambda mu: delta_of(mu, epsilon) - delta, 1e-9, 60.0)
    )
    sys.modules.setdefault("dp_accounting", accounting)
    module = types.ModuleType("their_auditing")
    sys.modules["their_auditing"] = module
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    return module


def main() -> None:
    """One line for each training: mean certified ε at δ, and the share of runs in which it is too large."""
    theirs = jax_privacy(Path(sys.argv[1])) if len(sys.argv) > 1 else None
    cases: list[tuple[str, float, Trained]] = [
        *(
            (f"Gaussian, μ = {mu}", brentq(lambda e, mu=mu: delta_of(mu, e) - DELTA, 0, 100), gaussian(mu))
            for mu in (1, 2, 4)
        ),
        *((f"randomised response, ε = {e}", float(e), response(e)) for e in (1, 2, 4)),
        *((f"Laplace, ε = {e}", float(e), laplace(e)) for e in (1, 2)),
    ]
    print(f"{'training':32}{'m':>7}{'true':>8}  mean ε (share of runs above the truth)")
    for name, true, run in cases:
        for m in (1000, 10_000):
            found: dict[str, list[float]] = {}
            for seed in range(20):
                scores, inside = run(np.random.default_rng(seed), m)
                told = {"(ε, δ)": audit_canaries(scores, inside, delta=DELTA).epsilon.lower}
                if name.startswith("Gaussian"):
                    told["by μ"] = audit_gaussian_canaries(scores, inside).epsilon_if_gaussian(DELTA)
                if theirs is not None:
                    auditor = theirs.CanaryScoreAuditor(scores[inside], scores[~inside])
                    told["jax one_run"] = auditor.epsilon_one_run(0.05, DELTA)
                    told["jax one_run_fdp"] = auditor.epsilon_one_run_fdp(0.05, DELTA)
                for what, epsilon in told.items():
                    found.setdefault(what, []).append(epsilon)
            shown = "; ".join(
                f"{what} {np.mean(e):.2f} ({np.mean(np.array(e) > true):.0%})" for what, e in found.items()
            )
            print(f"{name:32}{m:>7}{true:8.2f}  {shown}", flush=True)


if __name__ == "__main__":
    main()
