"""One random channel with a prior, what the laws ask of it, and ≤ as the laws mean it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import leakcap as lc
from strange_channels import strange_channels

__all__ = ["INF", "Floats", "Law", "Sample", "below", "entropy", "h", "range_level", "samples", "violations"]

INF = math.inf
Floats = np.ndarray
Law = Callable[["Sample"], Iterator[bool]]


def below(low: float, high: float, slack: float = 1e-9) -> bool:
    """low ≤ high, but for solvers' gaps (1e-9) and rounding."""
    return low <= high + slack * max(1.0, abs(high)) if math.isfinite(high) else high > 0


def h(p: float) -> float:
    return -sum(v * math.log(v) for v in (p, 1.0 - p) if v > 0.0)


def entropy(prior: Floats) -> float:
    return -sum(float(v) * math.log(v) for v in prior if v > 0)


def range_level(epsilon: float, alpha: float) -> float:
    """R_α of the theory, from its two-point formula."""
    if epsilon < 1e-3:
        return alpha * epsilon**2 / 8 * (1 + epsilon)
    one, power = math.expm1(epsilon), math.expm1(alpha * epsilon)
    f = (power - alpha * one) / ((alpha - 1) * one * power)
    return (math.log1p(f * power) - alpha * math.log1p(f * one)) / (alpha - 1)


@dataclass
class Sample:
    channel: lc.Channel
    prior: Floats
    rng: np.random.Generator

    def ask(self, ruler: lc.Divergence, adversary: lc.Adversary | None = None) -> lc.Bound:
        return lc.capacity(self.channel, ruler, adversary)

    def of(self, channel: lc.Channel) -> Sample:
        """Another channel, asked in the same way."""
        return Sample(channel, np.full(channel.shape[0], 1.0 / channel.shape[0]), self.rng)

    @cached_property
    def epsilon(self) -> float:
        return self.ask(lc.Renyi(INF)).upper

    @cached_property
    def shannon(self) -> lc.Bound:
        return self.ask(lc.Renyi(1.0), lc.AllPriors())

    @cached_property
    def variation(self) -> float:
        return self.ask(lc.TotalVariation()).upper

    @cached_property
    def divergence(self) -> float:
        return self.ask(lc.Renyi(1.0)).upper

    @property
    def size(self) -> int:
        return self.channel.shape[0]

    @property
    def fewest(self) -> int:
        return min(self.channel.shape)

    def profile(self, epsilon: float) -> float:
        return self.ask(lc.HockeyStick(math.exp(epsilon))).upper


def samples(count: int, seed: int) -> Iterator[Sample]:
    """Random channels, the five awkward kinds in turn; what a law draws comes from the same seed."""
    rng = np.random.default_rng(seed)
    for channel, prior in strange_channels(count, seed=seed):
        yield Sample(channel, prior, rng)


def violations(law: Law, over: Iterable[Sample]) -> tuple[int, int, list[str]]:
    """How many channels had something to claim, how many claims were tested, and every one that failed."""
    channels, claims, found = 0, 0, []
    for k, sample in enumerate(over):
        answers = list(law(sample))
        channels += bool(answers)
        claims += len(answers)
        for place, holds in enumerate(answers):
            if not holds:
                matrix, prior = sample.channel.matrix, sample.prior
                found.append(f"{law.__name__}, claim {place}, channel {k}: {matrix!r}, {prior!r}")
    return channels, claims, found
