"""The auditor: run a mechanism on two neighbouring inputs, and certify what the outputs tell of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.audit.certify import (
    Holdout,
    certify_curve,
    certify_epsilon,
    certify_gain,
    certify_variation,
)
from leakcap.audit.judge import judge, refutable
from leakcap.audit.outcomes import OutcomeReader, Outcomes
from leakcap.audit.plan import AuditPlan, TrainingCounts, make_plan
from leakcap.audit.sources import Runner, runner
from leakcap.audit.value import Audit, Verdict
from leakcap.bound import Bound
from leakcap.definition import ApproxDP, Definition
from leakcap.errors import InvalidInput, require
from leakcap.progress import Progress, progress

__all__ = ["AuditSettings", "audit", "audit_samples"]

METHOD = "samples"
GRID = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0)
"""Values of ε at which a claim that covers all of them may be tested."""
EARLY = 0.2
"""The part of the error level that goes to the looks before the last one."""
FIRST_LOOK = 500
LEARN_LEAST, LEARN_MOST = 1000, 200_000
"""Trials to learn from, whatever their part of the whole (but never above a quarter)."""
OVERFLOW = 1 / 500
"""The part of the error level for fair labels that ask one side for more samples than were given."""


@dataclass(frozen=True)
class AuditSettings:
    """How an audit is done.

    `confidence` of each bound; `learn`: the part of the samples that rules are learned on; `tolerance`: how
    far beyond the claim an event may reach and be called consistent; `bits`: whether the binary expansion of
    floats counts as output, as it does for an attacker.
    """

    claim: Definition | None = None
    confidence: float = 0.95
    learn: float = 0.1
    tolerance: float = 0.1
    bits: bool = True

    def __post_init__(self) -> None:
        require(
            0 < self.confidence < 1, "confidence", "audit", "lie strictly between 0 and 1", self.confidence
        )
        require(0 < self.learn < 1, "learn", "audit", "lie strictly between 0 and 1", self.learn)
        require(0 <= self.tolerance < math.inf, "tolerance", "audit", "be finite and ≥ 0", self.tolerance)
        if self.claim is not None:
            refutable(self.claim)


def audit(
    mechanism: object,
    first: Any,
    second: Any,
    *,
    samples: int = 10_000,
    claim: Definition | None = None,
    confidence: float = 0.95,
    learn: float = 0.1,
    tolerance: float = 0.1,
    bits: bool = True,
    early: bool = True,
    watch: Callable[[Audit], bool] | None = None,
    seed: int | None = None,
) -> Audit:
    """Run `mechanism` about `samples` times on each of two neighbouring inputs, and certify what leaks.

    `mechanism` is a function of one input, a `Batch`, a `Command` or a leakcap mechanism; its runs must be
    independent. Rules are learned on the part `learn` of the runs and certified on the rest, so that each
    bound holds with probability `confidence` whatever the mechanism. A fair coin chooses each run's input.

    With a `claim`, there are looks at n/4, n/16, … runs too, and a violation ends the audit: all looks
    together keep the confidence, by a union bound that leaves 80 % of the error level to the last one.
    `watch` gets what each look finds and may end the audit by returning True; `early=False` spends
    everything on one look. `seed` settles the coins, not the mechanism's noise.

    Raises `InvalidParameter` for settings out of range or a mechanism that fails on every run of both inputs.
    Source: Jagielski, Ullman & Oprea 2020 (auditing from samples); Steinke, Nasr & Jagielski 2023.

    >>> from leakcap.mechanism import RandomisedResponse
    >>> found = audit(RandomisedResponse(2, 1.0), 0, 1, samples=2000, seed=0)
    >>> 0.7 < found.epsilon.lower < 1.1
    True
    """
    _require_samples(samples)
    settings = AuditSettings(claim, confidence, learn, tolerance, bits)
    looking = early and (claim is not None or watch is not None)
    sizes = _looks(2 * samples) if looking else [2 * samples]
    with progress("Auditing") as tick:
        trials = Trials(runner(mechanism), first, second, np.random.default_rng(seed), tick, sizes[-1])
        for look, size in enumerate(sizes):
            level = _level(1.0 - confidence, look, len(sizes))
            found = replace(_look(trials, size, settings, level), looks=look + 1, pair=(first, second))
            stopped = watch is not None and watch(found)
            if stopped or (early and found.verdict is Verdict.VIOLATED):
                break
    return found


def audit_samples(
    first: Sequence[Any] | NDArray[Any],
    second: Sequence[Any] | NDArray[Any],
    *,
    claim: Definition | None = None,
    confidence: float = 0.95,
    learn: float = 0.1,
    tolerance: float = 0.1,
    bits: bool = True,
    seed: int | None = None,
) -> Audit:
    """The same from outputs that were drawn already: independent ones on each of two neighbouring inputs.

    Their order is of no account. A few are left out at random, so that labels are fair coins.

    >>> coin = np.random.default_rng(0)
    >>> audit_samples(coin.random(2000) < 0.5, coin.random(2000) < 0.9, seed=0).epsilon.lower > 1.0
    True
    """
    settings = AuditSettings(claim, confidence, learn, tolerance, bits)
    generator = np.random.default_rng(seed)
    reader = OutcomeReader()
    given = [reader.read(outputs) for outputs in (first, second)]
    least = min(map(len, given))
    _require_samples(least)
    error = 1.0 - confidence
    # Hoeffding: half the trials plus this many are on one side with chance OVERFLOW·error at most.
    size = int(2 * least - math.sqrt(4 * least * math.log(2.0 / (OVERFLOW * error))))
    pools = [_shuffled(outcomes, generator) for outcomes in given]
    trials = Samples(reader, (pools[0], pools[1]), generator)
    return _look(trials, size, settings, error * (1.0 - OVERFLOW))


def _require_samples(samples: int) -> None:
    require(samples >= 50, "samples", "audit", "be at least 50 a side", samples)


def _shuffled(outcomes: Outcomes, generator: np.random.Generator) -> Outcomes:
    return outcomes[generator.permutation(len(outcomes))]


def _looks(size: int) -> list[int]:
    """Numbers of runs at which to look: the last is `size`, each a quarter of the next."""
    sizes = [size]
    while sizes[0] >= 8 * FIRST_LOOK:
        sizes.insert(0, sizes[0] // 4)
    return sizes


def _level(error: float, look: int, looks: int) -> float:
    """The part of the error level of one look: halves of `EARLY` backwards, the rest for the last."""
    if looks == 1:
        return error
    if look == looks - 1:
        return error * (1.0 - EARLY)
    return error * EARLY * 0.5 ** (looks - 1 - look) / (1.0 - 0.5 ** (looks - 1))


class Samples:
    """Samples of both inputs, in the order in which trials with fair labels take them."""

    def __init__(
        self, reader: OutcomeReader, pools: tuple[Outcomes, Outcomes], generator: np.random.Generator
    ) -> None:
        self.reader, self._pools, self._generator = reader, pools, generator
        self._marks: dict[int, int] = {0: 0}
        """How many of the first so many trials were runs on the first input."""

    def upto(self, trials: int) -> None:
        """Make sure that so many trials were run."""

    def firsts(self, trials: int) -> int:
        """How many of the first trials are on the first input; between two known ones, hypergeometric."""
        if trials not in self._marks:
            before = max(t for t in self._marks if t < trials)
            later = [t for t in self._marks if t > trials]
            if later:
                after = min(later)
                ones = self._marks[after] - self._marks[before]
                zeros = after - before - ones
                more = (
                    int(self._generator.hypergeometric(ones, zeros, trials - before)) if after > before else 0
                )
            else:
                more = int(self._generator.binomial(trials - before, 0.5))
            self._marks[trials] = self._marks[before] + more
        return self._marks[trials]

    def part(self, start: int, stop: int) -> tuple[Outcomes, Outcomes]:
        """The outcomes of trials `start` to `stop` on each input."""
        low, high = self.firsts(start), self.firsts(stop)
        return self._pools[0][low:high], self._pools[1][start - low : stop - high]


class Trials(Samples):
    """The same, run when they are needed, in chunks on either input in turn."""

    def __init__(
        self,
        run: Runner,
        first: Any,
        second: Any,
        generator: np.random.Generator,
        tick: Progress,
        most: int,
    ) -> None:
        self._run, self._inputs, self._tick, self._most = run, (first, second), tick, most
        self._chunk = 64
        empty = Outcomes(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool), np.zeros((0, 0)))
        super().__init__(OutcomeReader(), (empty, empty), generator)

    def upto(self, trials: int) -> None:
        """Run what is missing; each chunk takes some tenths of a second, so that progress shows."""
        ones = self.firsts(trials)
        wanted = ones, trials - ones
        parts = [[self._pools[0]], [self._pools[1]]]
        done = [len(pool) for pool in self._pools]
        while done[0] < wanted[0] or done[1] < wanted[1]:
            start = time.monotonic()
            for side in (0, 1):
                size = min(self._chunk, wanted[side] - done[side])
                if size > 0:
                    parts[side].append(self._outcomes(side, size))
                    done[side] += size
            self._tick(sum(done) / self._most, f"{sum(done):,} runs")
            if time.monotonic() - start < 0.2:
                self._chunk *= 4
        self._pools = Outcomes.joined(parts[0]), Outcomes.joined(parts[1])

    def _outcomes(self, side: int, size: int) -> Outcomes:
        outcomes = self.reader.read(self._run(self._inputs[side], size))
        if len(outcomes) != size:
            raise InvalidInput(
                f"`mechanism` of `audit` must give one output a run. Got {len(outcomes)} for {size} runs."
            )
        return outcomes


def _look(trials: Samples, size: int, settings: AuditSettings, level: float) -> Audit:
    """All bounds from the first `size` trials."""
    trials.upto(size)
    learned = min(max(int(settings.learn * size), min(LEARN_LEAST, size // 4)), LEARN_MOST)
    half = learned // 2
    early, late, rest = trials.part(0, half), trials.part(half, learned), trials.part(learned, size)
    failures = _failures(trials.reader, [early, late, rest])
    parts = TrainingCounts((early[0], late[0]), (early[1], late[1]), size - learned)
    tested, plan = _plan(parts, trials.reader, settings)
    fresh = Holdout(*rest)
    epsilon = certify_epsilon(fresh, plan, level)
    nats = certify_gain(fresh, *plan.decoder, plan.spread, level)
    variation = certify_variation(fresh, *plan.decoder, level)
    judged = settings.claim is not None and tested is not None
    return Audit(
        epsilon=Bound(epsilon.lower, math.inf, METHOD, witness=epsilon.evidence),
        information=Bound(min(nats.lower, math.log(2.0)), math.log(2.0), METHOD),
        maximal_leakage=Bound(math.log1p(variation.lower), math.log(2.0), METHOD),
        curve=certify_curve(fresh, plan, level),
        evidence=epsilon.evidence,
        confidence=settings.confidence,
        samples=(trials.firsts(size), size - trials.firsts(size)),
        failures=failures,
        judgement=judge(settings.claim, tested, fresh, plan, level, settings.tolerance)
        if judged and settings.claim is not None and tested is not None
        else None,
    )


def _plan(
    learned: TrainingCounts, reader: OutcomeReader, settings: AuditSettings
) -> tuple[Definition | None, AuditPlan]:
    """The plan, and the claim in the form in which it is tested."""
    if settings.claim is None:
        return None, make_plan(learned, reader.names, bits=settings.bits)
    # Beyond this ε even an event that never came says nothing of δ.
    most = math.log(max(learned.certifying / 1000.0, 1.0))
    options = {refutable(settings.claim, epsilon) for epsilon in GRID if epsilon <= most}
    ats = tuple(o.epsilon for o in options if isinstance(o, ApproxDP))
    plan = make_plan(learned, reader.names, bits=settings.bits, ats=ats)
    if not ats:
        return next(iter(options)), plan

    # A claim that covers every ε is tested where the learned samples promise most beyond it.
    def promise(option: ApproxDP) -> float:
        event = plan.claim_tests[option.epsilon][1]
        return (event.forecast - option.delta) / event.spread

    return max((o for o in options if isinstance(o, ApproxDP)), key=promise), plan


def _failures(reader: OutcomeReader, parts: list[tuple[Outcomes, Outcomes]]) -> dict[str, tuple[int, int]]:
    """How often each kind of exception came on each input. Raises when there is nothing else on either."""
    found: dict[str, tuple[int, int]] = {}
    for name, code in reader.raised().items():
        counts = [sum(int((part[side].kinds == code).sum()) for part in parts) for side in (0, 1)]
        found[name] = counts[0], counts[1]
    runs = sum(len(part[side]) for part in parts for side in (0, 1))
    if len(found) == 1 and sum(map(sum, found.values())) == runs:
        raise InvalidInput(
            f"`mechanism` of `audit` must run on the two inputs. Every run of both {next(iter(found))}."
        )
    return found
