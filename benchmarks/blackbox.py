"""Black boxes: how often the intervals hold over many runs, and how wide they are.

python benchmarks/blackbox.py [runs]              coverage on ten systems whose truth is known
python benchmarks/blackbox.py train.csv test.csv  a published example of F-BLEAU, its two files together

The files are `examples/geometric-4.*.csv` of github.com/gchers/fbleau. The published truth is a Bayes risk of
.456, F-BLEAU's estimate .473.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from leakcap.audit import BlackBox, black_box
from leakcap.gain import Gain, k_guesses

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class System:
    """A system, how it is sampled, and its truth: vulnerability after and before the output, information."""

    name: str
    draw: Callable[[np.random.Generator], tuple[Any, Any]]
    after: float
    before: float
    nats: float
    prior: Mapping[Any, float] | str | None = None
    gain: Gain | None = None


def truth(rows: Floats, prior: Floats, gain: Gain | None = None) -> tuple[float, float, float]:
    """By the definitions, from the matrix."""
    joint = prior[:, None] * rows
    table = np.eye(len(prior)) if gain is None else gain.table
    marginal = joint.sum(axis=0)
    some = joint > 0
    nats = (
        joint[some] * np.log((joint / (prior[:, None] * np.where(marginal > 0, marginal, 1)))[some])
    ).sum()
    return float((table @ joint).max(axis=0).sum()), float((table @ prior).max()), float(nats)


def finite(
    name: str,
    rows: Floats,
    prior: Floats,
    runs: int,
    *,
    known: bool,
    gain: Gain | None = None,
    even: bool = False,
) -> System:
    """A channel of a matrix; `even`: as many samples of each secret, whatever the prior."""
    sums = rows.cumsum(axis=1)

    def draw(generator: np.random.Generator) -> tuple[Any, Any]:
        law = None if even else prior
        secrets = generator.choice(len(prior), size=runs, p=law)
        if known:
            secrets[: 4 * len(prior)] = np.repeat(np.arange(len(prior)), 4)
        ends = sums[secrets]
        return secrets, np.minimum((generator.random(runs)[:, None] > ends).sum(axis=1), rows.shape[1] - 1)

    labels = dict(enumerate(prior.tolist()))
    return System(name, draw, *truth(rows, prior, gain), labels if known else None, gain)


def geometric(secrets: int, outputs: int, epsilon: float) -> Floats:
    """Two-sided geometric noise around evenly spaced secrets, cut off."""
    centres = np.linspace(0, outputs - 1, secrets)
    rows = np.exp(-epsilon * np.abs(np.arange(outputs)[None] - centres[:, None]))
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def normal_nats(distance: float) -> float:
    """Information of an even bit in normal noise whose means are so far apart."""

    def term(x: float) -> float:
        p = norm.pdf(x)
        return float(p * math.log(2.0 / (1.0 + math.exp(-distance * x - distance**2 / 2.0))))

    return float(quad(term, -12, 12)[0])


def systems() -> list[System]:
    """Ten of them."""
    generator = np.random.default_rng(42)
    flips = np.array([[0.75, 0.25], [0.25, 0.75]])
    rare = 0.7 ** np.arange(30)
    wide = generator.dirichlet(np.full(10_000, 0.02), size=5)
    equal = np.tile(wide[:1, :50] / wide[:1, :50].sum(), (10, 1))
    uneven, two = np.array([0.8, 0.15, 0.05]), k_guesses(3, 2)
    near = np.full((10, 10), 0.001 / 9)
    np.fill_diagonal(near, 0.999)

    def bit(g: np.random.Generator) -> tuple[Any, Any]:
        secrets = g.integers(2, size=1000)
        return secrets, 2.0 * secrets + g.normal(size=1000)

    def plane(g: np.random.Generator) -> tuple[Any, Any]:
        secrets = g.integers(4, size=1000)
        centres = 2.0 * np.stack([secrets % 2, secrets // 2], axis=1)
        return secrets, centres + g.normal(size=(1000, 2))

    once = float(norm.cdf(1.0))
    return [
        finite("a flipped bit", flips, np.full(2, 0.5), 1000, known=True),
        finite("a skewed prior", geometric(3, 5, 1.0), np.array([0.95, 0.04, 0.01]), 1000, known=False),
        finite("rare secrets", geometric(30, 60, 0.3), rare / rare.sum(), 1000, known=False),
        finite("10⁴ outputs", wide, np.full(5, 0.2), 2000, known=False),
        finite("next to no noise", near, np.full(10, 0.1), 1000, known=True),
        finite("rows that are equal", equal, np.full(10, 0.1), 1000, known=True),
        System("real outputs", bit, once, 0.5, normal_nats(2.0), "uniform"),
        System("points in the plane", plane, once**2, 0.25, 2 * normal_nats(2.0)),
        finite("100 secrets", geometric(100, 160, 0.1072), np.full(100, 0.01), 2000, known=True),
        finite("another prior", geometric(3, 6, 0.8), uneven, 1000, known=True, gain=two, even=True),
    ]  # fmt: skip


def missed(system: System, found: BlackBox) -> tuple[bool, bool, bool]:
    """Whether the vulnerability or what is made of it, or the information, lies outside; and the leakage."""
    around = 1e-12
    inside = found.vulnerability.lower - around <= system.after <= found.vulnerability.upper + around
    before = found.prior_vulnerability
    inside = inside and before.lower - around <= system.before <= before.upper + around
    ratio = math.log(max(1.0, system.after / system.before))
    leak = found.min_entropy_leakage
    return (
        not inside,
        not leak.lower - 1e-9 <= ratio <= leak.upper + 1e-9,
        not found.information.lower - 1e-9 <= system.nats <= found.information.upper + 1e-9,
    )


def coverage(runs: int) -> None:
    """One line a system: how often each interval fails, and its mean ends."""
    print(f"{'system':28}{'missed of ' + str(runs):>18}   V and I, each in its mean interval; CPU s a run")
    for system in systems():
        start, fails, ends = time.process_time(), np.zeros(3, dtype=int), []
        for seed in range(runs):
            secrets, outputs = system.draw(np.random.default_rng([seed, 7]))
            found = black_box(secrets, outputs, prior=system.prior, gain=system.gain, seed=seed)
            fails += missed(system, found)
            v, i = found.vulnerability, found.information
            ends.append((v.lower, v.upper, i.lower, i.upper))
        a, b, c, d = np.mean(ends, axis=0)
        spent = (time.process_time() - start) / runs
        print(
            f"{system.name:28}{'{} {} {}'.format(*fails):>18}   {system.after:.4f} in [{a:.4f}, {b:.4f}]; "
            f"{system.nats:.4f} in [{c:.4f}, {d:.4f}]; {spent:.3f}",
            flush=True,
        )


def a_hundred() -> None:
    """20,000 samples of 100 secrets, 240 outputs: what they say of themselves, and what is proved."""
    prior = np.full(100, 0.01)
    epsilon = brentq(lambda e: truth(geometric(100, 240, e), prior)[2] - 0.917, 0.005, 3.0)
    rows, generator = geometric(100, 240, epsilon), np.random.default_rng(0)
    secrets = generator.integers(100, size=20_000)
    outputs = (generator.random(20_000)[:, None] > rows.cumsum(axis=1)[secrets]).sum(axis=1)
    joint = np.zeros(rows.shape)
    np.add.at(joint, (secrets, outputs), 1 / 20_000)
    plain = truth(joint / joint.sum(axis=1, keepdims=True), joint.sum(axis=1))[2]
    for law in ("uniform", None):
        found = black_box(secrets, outputs, prior=law).information
        print(f"100 secrets, .917 nats; plug-in {plain:.3f}, {law}: [{found.lower:.3f}, {found.upper:.3f}]")


def published(*files: str) -> None:
    """F-BLEAU's example."""
    rows = np.vstack([np.loadtxt(Path(file), delimiter=",") for file in files])
    start = time.process_time()
    found = black_box(rows[:, 0].astype(int), rows[:, 1:])
    risk = found.bayes_risk
    print(
        f"{len(rows):,} samples: Bayes risk in [{risk.lower:.4f}, {risk.upper:.4f}]; true .456, F-BLEAU .473"
    )
    print(f"min-entropy leakage {found.min_entropy_leakage}; {time.process_time() - start:.1f} s of CPU")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        published(*sys.argv[1:])
    else:
        a_hundred()
        coverage(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
