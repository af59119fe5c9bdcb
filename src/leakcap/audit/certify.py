"""Bounds from counts on samples that no rule has seen."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from leakcap.audit.outcomes import Outcomes
from leakcap.audit.partition import CellPartition, Cells
from leakcap.audit.plan import AuditPlan
from leakcap.audit.rules import Decoder, GuessRule, TailEvent
from leakcap.audit.tails import fraction_lower, fraction_upper, log_odds_lower, mean_lower
from leakcap.audit.value import CurvePoint, Evidence
from leakcap.numeric.logspace import Floats

__all__ = [
    "Holdout",
    "LeakLimits",
    "certify_curve",
    "certify_delta",
    "certify_epsilon",
    "certify_gain",
    "certify_variation",
]

SHARES = (0.85, 0.1, 0.05)
"""How the error level is shared among the cautious, the bold and the pure guessing rule."""


@dataclass(frozen=True)
class LeakLimits:
    """A lower limit on a leak; an upper limit on what the same rule shows; its estimate; the evidence."""

    lower: float
    upper: float
    estimate: float
    evidence: tuple[Evidence, ...] = ()


class Holdout:
    """Samples that no rule has seen; their cell counts are kept by partition.

    Each trial's label was a fair coin, so that an output under which ε-DP lets the inputs differ by e^ε
    leaves a label that can be guessed with probability e^ε/(1+e^ε) at most, whatever happened to the others.
    """

    def __init__(self, first: Outcomes, second: Outcomes) -> None:
        self.first, self.second = first, second
        self.sizes = len(first), len(second)
        self._kept: dict[int, tuple[Floats, Floats]] = {}

    def counts(self, partition: CellPartition) -> tuple[Floats, Floats]:
        """How often each cell came under each input."""
        if id(partition) not in self._kept:
            self._kept[id(partition)] = partition.counts(self.first), partition.counts(self.second)
        return self._kept[id(partition)]

    def evidence(self, partition: CellPartition, cells: Cells, speaks_for: str) -> Evidence:
        """The counts of one event."""
        first, second = self.counts(partition)
        return Evidence(
            partition.describe([int(c) for c in cells]),
            speaks_for,
            int(first[cells].sum()),
            int(second[cells].sum()),
            *self.sizes,
        )


def certify_epsilon(fresh: Holdout, plan: AuditPlan, level: float) -> LeakLimits:
    """The ε of pure DP, exact: under ε-DP right guesses are at most Bin(guesses, e^ε/(1+e^ε)).

    The guessing rule is fixed beforehand, outputs may have any law, and both directions count at once.
    Source: Steinke, Nasr & Jagielski 2023, section 4 (their argument with one canary a run).
    """
    found = [
        _guessed(fresh, partition, guess, level * share, level)
        for (partition, guess), share in zip(plan.guesses, SHARES, strict=True)
    ]
    best = max(found, key=lambda limits: limits.lower)
    # The cautious rule says where the event lies unless another certifies more.
    return found[0] if best.lower <= found[0].lower else best


def _guessed(
    fresh: Holdout, partition: CellPartition, guess: GuessRule, level: float, above: float
) -> LeakLimits:
    first, second = fresh.counts(partition)
    right = int(first[guess.first].sum() + second[guess.second].sum())
    wrong = int(second[guess.first].sum() + first[guess.second].sum())
    evidence = tuple(
        fresh.evidence(partition, cells, name)
        for cells, name in ((guess.first, "first"), (guess.second, "second"))
        if len(cells)
    )
    lower = log_odds_lower(right, right + wrong, level)
    upper = -log_odds_lower(wrong, right + wrong, above)
    estimate = math.log((right + 0.5) / (wrong + 0.5))
    return LeakLimits(max(lower, 0.0), max(upper, 0.0), max(estimate, 0.0), evidence)


def certify_curve(fresh: Holdout, plan: AuditPlan, level: float) -> tuple[CurvePoint, ...]:
    """Events with limits of both probabilities, all together at the level: Clopper–Pearson, Bonferroni."""
    share = level / max(2 * len(plan.tests), 1)
    points = []
    for partition, test in plan.tests:
        first, second = (float(c[test.cells].sum()) for c in fresh.counts(partition))
        (n, m), (hits, misses) = fresh.sizes, (first, second)
        if not test.forward:
            (n, m), (hits, misses) = (m, n), (misses, hits)
        points.append(
            CurvePoint(
                fraction_lower(int(hits), n, share) if n else 0.0,
                fraction_upper(int(misses), m, share) if m else 1.0,
                fresh.evidence(partition, test.cells, "first" if test.forward else "second"),
            )
        )
    return tuple(points)


def certify_delta(
    fresh: Holdout, partition: CellPartition, test: TailEvent, epsilon: float, level: float
) -> LeakLimits:
    """δ(ε) by one event: the mean over trials of 2·1{event, likely input} − 2e^ε·1{event, unlikely input}."""
    first, second = (float(c[test.cells].sum()) for c in fresh.counts(partition))
    hits, misses = (first, second) if test.forward else (second, first)
    trials = float(sum(fresh.sizes))
    factor = 2.0 * math.exp(min(epsilon, 700.0))
    values = np.array([2.0, -factor, 0.0])
    counts = np.array([hits, misses, trials - hits - misses])
    evidence = (fresh.evidence(partition, test.cells, "first" if test.forward else "second"),)
    found = _mean_limits(values, counts, test.spread, level, evidence)
    return LeakLimits(found.lower, min(found.upper, 1.0), found.estimate, evidence)


def certify_gain(
    fresh: Holdout, partition: CellPartition, decoder: Decoder, spread: float, level: float
) -> LeakLimits:
    """Mutual information at the decoder's prior: the mean of ln(posterior/prior) of the truth.

    Source: Barber & Agakov 2003.
    """
    values = np.concatenate([2 * decoder.prior * decoder.first, 2 * (1 - decoder.prior) * decoder.second])
    counts = np.concatenate(fresh.counts(partition))
    return _mean_limits(values, counts, spread, level)


def _mean_limits(
    values: Floats, counts: Floats, spread: float, level: float, evidence: tuple[Evidence, ...] = ()
) -> LeakLimits:
    """Two one-sided limits of a mean; the stake is best for the learned spread."""
    trials = max(float(counts.sum()), 1.0)
    mean = float(values @ counts) / trials
    bet = math.sqrt(2.0 * math.log(1.0 / level) / trials) / spread
    lower = mean_lower(values, counts, level, bet=bet)
    upper = -mean_lower(-values, counts, level, bet=bet)
    return LeakLimits(max(lower, 0.0), max(upper, 0.0), max(mean, 0.0), evidence)


def certify_variation(fresh: Holdout, partition: CellPartition, decoder: Decoder, level: float) -> LeakLimits:
    """Total variation, exact: all labels are guessed, right ones are Bin(runs, (1 + advantage)/2)."""
    first, second = fresh.counts(partition)
    ours = decoder.first > decoder.second
    right = int(first[ours].sum() + second[~ours].sum())
    trials = max(sum(fresh.sizes), 1)
    lower = 2.0 * fraction_lower(right, trials, level) - 1.0
    upper = 2.0 * fraction_upper(right, trials, level) - 1.0
    return LeakLimits(max(lower, 0.0), max(upper, 0.0), max(2.0 * right / trials - 1.0, 0.0))
