"""From the learned samples to a plan: which partitions and rules are to be certified on the others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from leakcap.audit.candidates import Candidate, candidates
from leakcap.audit.outcomes import Outcomes
from leakcap.audit.partition import CellPartition
from leakcap.audit.rules import (
    BOLD,
    CAUTION,
    Decoder,
    GuessRule,
    TailEvent,
    choose_decoder,
    choose_guess,
    choose_pure,
    choose_test,
)
from leakcap.numeric.logspace import Floats

__all__ = ["AuditPlan", "TrainingCounts", "make_plan"]

Z = 1.645
CURVE = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Where on the way from ε = 0 to the forecast of ε an event of the δ(ε) curve is chosen."""


@dataclass(frozen=True)
class TrainingCounts:
    """The learned samples: two parts of each input's, one for partitions and one for rules."""

    first: tuple[Outcomes, Outcomes]
    second: tuple[Outcomes, Outcomes]
    certifying: int
    """How many samples of both inputs there are beside the learned ones."""


@dataclass(frozen=True)
class _Tried:
    """A partition with the counts that may judge it, in two halves."""

    partition: CellPartition
    first: tuple[Floats, Floats]
    second: tuple[Floats, Floats]

    @property
    def counts(self) -> tuple[Floats, Floats]:
        return self.first[0] + self.first[1], self.second[0] + self.second[1]

    def growth(self, certifying: int) -> float:
        """Certifying samples for each one that judged this partition."""
        return max(certifying, 1) / max(float(sum(c.sum() for c in self.counts)), 1.0)


@dataclass(frozen=True)
class AuditPlan:
    """What is certified: guesses (a cautious, a bold and a pure one), events of the curve, a decoder."""

    guesses: tuple[tuple[CellPartition, GuessRule], ...]
    tests: tuple[tuple[CellPartition, TailEvent], ...]
    claim_tests: Mapping[float, tuple[CellPartition, TailEvent]]
    """By ε, for claims on δ(ε)."""
    decoder: tuple[CellPartition, Decoder]
    spread: float
    """Standard deviation of what the decoder gains in a trial, as learned."""


def make_plan(
    learned: TrainingCounts, names: Sequence[str], *, bits: bool, ats: Sequence[float] = ()
) -> AuditPlan:
    """Try all candidates on the learned samples; `ats` are the ε of claims on δ(ε)."""
    tried = [
        _try(candidate, learned)
        for candidate in candidates(learned.first[0], learned.second[0], names, bits=bits)
    ]
    guesses = (
        _best_guess(tried, learned.certifying, CAUTION),
        _best_guess(tried, learned.certifying, BOLD),
        _best_pure(tried),
    )
    top = max(guesses[0][1].forecast, guesses[1][1].forecast, 0.1)
    chosen = {at: _best_test(tried, learned.certifying, at) for at in {*ats, *(s * top for s in CURVE)}}
    curve = [chosen[share * top] for share in CURVE]
    partition, decoder, spread = _best_decoder(tried, learned.certifying)
    return AuditPlan(
        guesses=guesses,
        tests=tuple({_key(p, t): (p, t) for p, t in curve if len(t.cells)}.values()),
        claim_tests={at: chosen[at] for at in ats},
        decoder=(partition, decoder),
        spread=spread,
    )


def _key(partition: CellPartition, test: TailEvent) -> tuple[int, bytes, bool]:
    return id(partition), np.sort(test.cells).tobytes(), test.forward


def _try(candidate: Candidate, learned: TrainingCounts) -> _Tried:
    part = candidate.partition
    pairs = []
    for early, late in (learned.first, learned.second):
        if candidate.blind:
            pairs.append((part.counts(early), part.counts(late)))
        else:
            half = len(late) // 2
            pairs.append((part.counts(late[:half]), part.counts(late[half:])))
    return _Tried(part, *pairs)


def _best_guess(tried: list[_Tried], certifying: int, caution: float) -> tuple[CellPartition, GuessRule]:
    options = [
        (
            t.partition,
            choose_guess(t.partition.order, *t.counts, growth=t.growth(certifying), z=Z, caution=caution),
        )
        for t in tried
    ]
    return max(options, key=lambda option: option[1].forecast)


def _best_pure(tried: list[_Tried]) -> tuple[CellPartition, GuessRule]:
    options = [(t, choose_pure(t.partition.order, *t.counts)) for t in tried]
    # Partitions are judged by different numbers of samples: parts of these are compared.
    best, guess = max(
        options, key=lambda o: o[1].forecast / max(float(sum(c.sum() for c in o[0].counts)), 1.0)
    )
    return best.partition, guess


def _best_test(tried: list[_Tried], certifying: int, epsilon: float) -> tuple[CellPartition, TailEvent]:
    options = [
        (
            t.partition,
            choose_test(t.partition.order, *t.counts, epsilon, growth=t.growth(certifying), z=Z),
        )
        for t in tried
    ]
    return max(options, key=lambda option: option[1].forecast)


def _best_decoder(tried: list[_Tried], certifying: int) -> tuple[CellPartition, Decoder, float]:
    """The partition whose decoder, learned on one half, does best on the other; then learned on both."""

    def promise(t: _Tried) -> tuple[float, float]:
        decoder = choose_decoder(t.partition.order, t.first[0], t.second[0])
        mean, spread, trials = gain(decoder, t.first[1], t.second[1])
        return mean - spread * (2.45 / math.sqrt(t.growth(certifying)) + 1.0) / math.sqrt(
            max(trials, 1.0)
        ), spread

    ranked = [(promise(t), t) for t in tried]
    (_, spread), best = max(ranked, key=lambda pair: pair[0][0])
    return best.partition, choose_decoder(best.partition.order, *best.counts), spread


def gain(decoder: Decoder, first: Floats, second: Floats) -> tuple[float, float, float]:
    """Mean and deviation of the decoder's gain in a trial with an even label, and the number of trials."""
    n, m = max(float(first.sum()), 1.0), max(float(second.sum()), 1.0)
    prior = decoder.prior
    mean = float(prior * (first @ decoder.first) / n + (1 - prior) * (second @ decoder.second) / m)
    square = 2 * (
        prior**2 * float(first @ decoder.first**2) / n
        + (1 - prior) ** 2 * float(second @ decoder.second**2) / m
    )
    return mean, math.sqrt(max(square - mean**2, 1e-12)), n + m
