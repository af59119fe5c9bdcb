"""Audits of mechanisms whose leaks are known: the bounds hold, they are near, and lies are found."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

from audit.mechanisms import Known, erasure, laplace, response
from leakcap import mechanism
from leakcap.audit import Verdict, audit, audit_samples
from leakcap.audit.judge import refutable
from leakcap.audit.rules import CAUTION, choose_guess
from leakcap.definition import (
    MIDP,
    ApproxDP,
    DeltaDP,
    GaussianDP,
    MaximalLeakage,
    PureDP,
    ZeroConcentratedDP,
)

ALARM = 1e-6
"""Chance of a false alarm of each statistical test, over the choice of its seed."""

TRUE = {"Laplace": laplace, "randomised response": response, "erasure": erasure}


def test_a_claim_is_named_as_it_was_made() -> None:
    """An equal claim of before, made of an integer, does not take its place."""
    assert [repr(refutable(PureDP(one))) for one in (1, 1.0)] == ["PureDP(epsilon=1)", "PureDP(epsilon=1.0)"]


def broken(known: Known, runs: int, samples: int, seed: int) -> dict[str, int]:
    """How often each of the four bounds exceeded the truth."""
    count = dict.fromkeys(("epsilon", "information", "leakage", "curve"), 0)
    for i in range(runs):
        found = audit(known.batch, 0, 1, samples=samples, bits=False, seed=seed + i)
        count["epsilon"] += found.epsilon.lower > known.epsilon
        count["information"] += found.information.lower > known.information
        count["leakage"] += found.maximal_leakage.lower > math.log1p(known.variation)
        grid = np.linspace(0.0, min(known.epsilon, 5.0), 40)
        count["curve"] += any(found.delta(e) > known.profile(e) + 1e-12 for e in grid)
    return count


@pytest.mark.parametrize("name", TRUE)
def test_bounds_exceed_the_truth_at_most_as_often_as_said(name: str) -> None:
    runs = 80
    most = binom.isf(ALARM / 12, runs, 0.05)
    assert all(times <= most for times in broken(TRUE[name](11), runs, 600, 50).values())


@pytest.mark.slow
@pytest.mark.parametrize("samples", [500, 5000])
@pytest.mark.parametrize("name", TRUE)
def test_a_thousand_audits(name: str, samples: int) -> None:
    most = binom.isf(ALARM / 12, 1000, 0.05)
    assert all(times <= most for times in broken(TRUE[name](12), 1000, samples, 5000).values())


def test_that_test_has_power() -> None:
    """Bounds that hold with probability 60 % break the limit for 95 %."""
    runs, known = 80, response(13)
    most = binom.isf(ALARM / 12, runs, 0.05)
    over = sum(
        audit(known.batch, 0, 1, samples=600, confidence=0.6, seed=i).epsilon.lower > known.epsilon
        for i in range(runs)
    )
    assert over > most


CLOSE: dict[str, tuple[Callable[[int], Known], dict[int, float]]] = {
    "Laplace": (laplace, {10_000: 0.91, 100_000: 0.97, 1_000_000: 0.99}),
    "randomised response": (response, {10_000: 1.04, 100_000: 1.08, 1_000_000: 1.092}),
}


@pytest.mark.parametrize("name", CLOSE)
@pytest.mark.parametrize(("samples", "runs"), [(10_000, 25), (100_000, 3)])
def test_the_lower_bound_is_near(name: str, samples: int, runs: int) -> None:
    make, targets = CLOSE[name]
    known = make(3)
    found = [audit(known.batch, 0, 1, samples=samples, bits=False, seed=i) for i in range(runs)]
    assert np.mean([a.epsilon.lower for a in found]) >= targets[samples]
    assert np.mean([a.information.lower for a in found]) >= 0.75 * known.information
    assert np.mean([a.delta(0.0) for a in found]) >= 0.85 * known.variation


@pytest.mark.slow
@pytest.mark.parametrize("name", CLOSE)
def test_the_lower_bound_is_near_with_a_million(name: str) -> None:
    make, targets = CLOSE[name]
    known = make(4)
    found = [audit(known.batch, 0, 1, samples=1_000_000, bits=False, seed=i) for i in range(5)]
    assert np.mean([a.epsilon.lower for a in found]) >= targets[1_000_000]


CLAIMS = [
    (PureDP(1.02), PureDP(0.8)),
    (ApproxDP(0.5, 0.225), ApproxDP(0.5, 0.15)),
    (DeltaDP(0.4), DeltaDP(0.3)),
    (MIDP(0.09), MIDP(0.06)),
    (MaximalLeakage(0.335), MaximalLeakage(0.25)),
    (GaussianDP(1.6), GaussianDP(0.6)),
    (ZeroConcentratedDP(0.5), ZeroConcentratedDP(0.05)),
]


@pytest.mark.parametrize(("true", "false"), CLAIMS, ids=[type(t).__name__ for t, _ in CLAIMS])
def test_verdicts(true: object, false: object) -> None:
    known = laplace(5)
    lie = audit(known.batch, 0, 1, samples=60_000, claim=false, bits=False, seed=1)
    assert lie.verdict is Verdict.VIOLATED
    assert sum(lie.samples) < 120_000, "found early"
    held = audit(known.batch, 0, 1, samples=60_000, claim=true, bits=False, seed=1)
    assert held.verdict is Verdict.CONSISTENT
    assert held.judgement is not None
    assert held.judgement.floor <= held.judgement.claimed


def poor_choices(caution: float) -> int:
    """How many of 400 learned tables choose under a twentieth of the outputs, where all tails tell alike."""
    generator, places = np.random.default_rng(7), np.arange(-40, 42)
    laws = [weights / weights.sum() for weights in (np.exp(-abs(places - shift) / 3.0) for shift in (0, 1))]
    poor = 0
    for _ in range(400):
        first, second = (generator.multinomial(20_000, law).astype(float) for law in laws)
        rule = choose_guess(np.arange(82)[::-1], first, second, growth=18.0, z=1.645, caution=caution)
        covered = sum(float(law[cells].sum()) / 2 for law in laws for cells in (rule.first, rule.second))
        poor += covered < 0.05
    return poor


def test_a_lucky_tail_is_seldom_chosen() -> None:
    """If one in 100 is poor, over 12 of 400 are with chance 2.5·10⁻⁴. The caution of before is caught."""
    assert poor_choices(CAUTION) <= 12
    assert poor_choices(3.0) > 12


def test_too_few_samples_say_how_many_would_do() -> None:
    known = laplace(6)
    few = audit(known.batch, 0, 1, samples=300, claim=PureDP(0.9), bits=False, seed=3)
    assert few.verdict is Verdict.UNDECIDED
    assert few.judgement is not None
    assert few.judgement.needed is not None
    assert few.judgement.needed > 300
    assert f"{few.judgement.needed:,}" in str(few.judgement)
    enough = [
        audit(known.batch, 0, 1, samples=few.judgement.needed * 4, claim=PureDP(0.9), bits=False, seed=i)
        for i in range(5)
    ]
    assert sum(found.verdict is Verdict.UNDECIDED for found in enough) <= 1


def test_looks_on_the_way_do_not_spoil_the_confidence() -> None:
    runs, known = 60, response(7)
    over = sum(
        audit(known.batch, 0, 1, samples=4000, claim=PureDP(known.epsilon), seed=i).verdict
        is Verdict.VIOLATED
        for i in range(runs)
    )
    assert over <= binom.isf(ALARM, runs, 0.05)


def test_claims_of_nothing_and_of_everything() -> None:
    known = response(16)
    for claim in (PureDP(math.inf), ApproxDP(0.0, 1.0), MIDP(math.inf)):
        assert audit(known.batch, 0, 1, samples=500, claim=claim, seed=0).verdict is Verdict.CONSISTENT
    # Samples cannot show that what never comes has no probability at all.
    vast = audit(known.batch, 0, 1, samples=500, claim=ApproxDP(600.0, 0.0), seed=0)
    assert vast.verdict is Verdict.UNDECIDED
    assert audit(known.batch, 0, 1, samples=2000, claim=PureDP(0.0), seed=0).verdict is Verdict.VIOLATED


def test_whoever_watches_may_stop() -> None:
    known, seen = response(8), []

    def watch(found: object) -> bool:
        seen.append(found)
        return len(seen) == 2

    found = audit(known.batch, 0, 1, samples=20_000, watch=watch, seed=0)
    assert len(seen) == found.looks == 2
    assert sum(found.samples) == 10_000


def test_samples_that_are_there_already_may_come_sorted() -> None:
    known = laplace(9)
    over, near = 0, []
    for i in range(60):
        drawn = [np.sort(known.batch.function(x, 2000)) for x in (0, 1)]
        found = audit_samples(*drawn, bits=False, seed=i)
        over += found.epsilon.lower > 1.0
        near.append(found.epsilon.lower)
    assert over <= binom.isf(ALARM, 60, 0.05)
    assert np.mean(near) > 0.8


def test_rare_events_and_certain_ones() -> None:
    known = erasure(10, delta=0.01)
    found = audit(known.batch, 0, 1, samples=20_000, seed=1)
    assert found.epsilon.lower > 3.0
    assert 0.006 < found.delta(1.0) <= 0.01
    told = audit(lambda x: x, "a", "b", samples=2000, claim=PureDP(3.0), early=False, seed=1)
    assert told.verdict is Verdict.VIOLATED
    assert told.information.lower > 0.95 * math.log(2)
    silent = audit(lambda x: 0, 0, 1, samples=2000, claim=PureDP(0.1), seed=1)
    assert silent.epsilon.lower < 0.05


def test_floating_point_gives_itself_away() -> None:
    """Textbook Laplace noise on doubles: the lowest bits tell the exact answer (Mironov 2012)."""
    known = laplace(14)
    found = audit(known.batch, 0, 1, samples=20_000, claim=PureDP(1.0), early=False, seed=2)
    assert found.epsilon.lower >= 7.0
    assert "lowest bit" in found.evidence[0].event
    exact = audit(mechanism.TwoSidedGeometric(1.0), 0, 1, samples=5000, claim=PureDP(1.0), seed=2)
    assert exact.verdict is not Verdict.VIOLATED


def test_vectors_by_coordinates_and_by_learned_scores() -> None:
    generator = np.random.default_rng(15)

    def shifted(x: int, n: int) -> np.ndarray:
        return generator.normal(size=(n, 5)) + 0.6 * x

    def woven(x: int, n: int) -> np.ndarray:
        """Each coordinate alone says nothing: their product's sign does, three times in four."""
        rows = np.abs(generator.normal(size=(n, 2))) * generator.choice([-1, 1], size=(n, 2))
        flip = (np.sign(rows[:, 0] * rows[:, 1]) > 0) != (generator.random(n) < (0.75 if x else 0.25))
        rows[flip, 0] *= -1
        return rows

    from leakcap.audit import Batched

    for run, least in ((shifted, 0.25), (woven, 0.3)):
        found = audit(Batched(run), 0, 1, samples=8000, bits=False, seed=4)
        assert found.delta(0.0) > least
    # Five coordinates, 0.6 apart: total variation 2Φ(0.3·√5) − 1 = 0.4976.
    assert audit(Batched(shifted), 0, 1, samples=8000, bits=False, seed=5).delta(0.0) <= 0.4976
