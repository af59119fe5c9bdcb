"""What the audits' tests audit: mechanisms whose leaks are known in closed form, seeded."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakcap.audit import Batched


@dataclass(frozen=True)
class Known:
    """A batch mechanism on inputs 0 and 1, and its exact leaks."""

    batch: Batched
    epsilon: float
    information: float
    variation: float
    profile: Callable[[float], float]


def laplace(seed: int, epsilon: float = 1.0) -> Known:
    """Laplace noise; `information` as theory.md has it for ε = 1 (secrets 0 and 1 attain it)."""
    generator = np.random.default_rng(seed)

    def run(x: Any, n: int) -> Any:
        return x + generator.laplace(scale=1 / epsilon, size=n)

    return Known(
        Batched(run),
        epsilon,
        0.0885196402 if epsilon == 1.0 else math.nan,
        1 - math.exp(-epsilon / 2),
        lambda e: max(0.0, 1 - math.exp((e - epsilon) / 2)),
    )


def response(seed: int, epsilon: float = math.log(3.0)) -> Known:
    """3-ary randomised response, seen on two of its inputs."""
    generator = np.random.default_rng(seed)
    keep = math.exp(epsilon) / (math.exp(epsilon) + 2)
    other = (1 - keep) / 2

    def run(x: Any, n: int) -> Any:
        return np.where(generator.random(n) < keep, x, (x + generator.integers(1, 3, n)) % 3)

    # The third output says nothing: what is left is a binary symmetric channel.
    p = keep / (keep + other)
    entropy = -p * math.log(p) - (1 - p) * math.log(1 - p)
    return Known(
        Batched(run),
        epsilon,
        (keep + other) * (math.log(2) - entropy),
        keep - other,
        lambda e: max(0.0, keep - math.exp(e) * other),
    )


def erasure(seed: int, delta: float = 0.3) -> Known:
    """Tells the secret with probability δ, else nothing: ε = ∞, information δ ln 2."""
    generator = np.random.default_rng(seed)

    def run(x: Any, n: int) -> Any:
        return np.where(generator.random(n) < delta, x, 7)

    return Known(Batched(run), math.inf, delta * math.log(2), delta, lambda e: delta)
