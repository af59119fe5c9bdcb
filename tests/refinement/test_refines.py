"""Refinement: witnesses are checked here again, in exact arithmetic where they separate."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import leakcap.refinement as room
from blind_factors import Blind
from leakcap.channel import Channel
from leakcap.errors import InvalidChannel
from leakcap.leakage import bayes_capacity, g_leakage
from leakcap.numeric import programs
from leakcap.refinement import Refinement, refines
from strange_channels import GEOMETRIC, RESPONSE, strange_channels


def exactly(channel: Channel, answer: Refinement) -> Fraction:
    """V_g under the witness prior, from the doubles as the rationals they are."""
    assert answer.witness_gain is not None
    assert answer.witness_prior is not None
    table = [[Fraction(float(g)) for g in row] for row in answer.witness_gain.table]
    prior = [Fraction(float(p)) for p in answer.witness_prior]
    columns = [
        [p * Fraction(float(c)) for p, c in zip(prior, column, strict=True)] for column in channel.matrix.T
    ]
    values = [max(sum(g * v for g, v in zip(row, c, strict=True)) for row in table) for c in columns]
    if not answer.max_case:
        return sum(values, Fraction(0))
    return max(v / sum(c) for v, c in zip(values, columns, strict=True) if sum(c) > 0)


def check(a: Channel, b: Channel, answer: Refinement) -> None:
    if answer.holds:
        assert answer.witness_post is not None
        if answer.max_case:
            assert answer.witness_post.inputs == b.outputs
            posteriors = [np.array([c / c.sum() if c.sum() else c for c in m.matrix.T]) for m in (a, b)]
            live = b.matrix.sum(axis=0) > 0
            assert np.abs(answer.witness_post.matrix @ posteriors[0] - posteriors[1])[live].max() <= 1e-8
        else:
            assert np.abs((a >> answer.witness_post).matrix - b.matrix).max() <= 1e-8
    if answer.holds is False:
        assert answer.witness_gain is not None
        assert answer.witness_gain.nonnegative
        assert exactly(b, answer) > exactly(a, answer)
        assert float(exactly(b, answer) - exactly(a, answer)) == pytest.approx(answer.margin, rel=1e-3)


@pytest.mark.parametrize("max_case", [False, True])
def test_post_processing_refines(max_case: bool) -> None:
    rng = np.random.default_rng(0)
    for a, _ in strange_channels(25, seed=41, largest=5):
        post = Channel(rng.dirichlet(np.full(4, 0.6), a.shape[1]))
        answer = refines(a, a >> post, max_case=max_case)
        assert answer.holds is True
        assert answer
        check(a, a >> post, answer)


@pytest.mark.parametrize("max_case", [False, True])
def test_every_answer_carries_evidence(max_case: bool) -> None:
    channels = [c for c, _ in strange_channels(60, seed=42, largest=4)]
    counts = {True: 0, False: 0, None: 0}
    for a, b in zip(channels, channels[7:] + channels[:7], strict=True):
        if a.shape[0] == b.shape[0]:
            answer = refines(a, b, max_case=max_case)
            check(a, b, answer)
            counts[answer.holds] += 1
    assert counts[False] >= 8
    assert counts[True] >= 2
    assert counts[None] <= 1


def test_geometric_and_response_do_not_refine_each_other() -> None:
    """Neither order: each leaks more to somebody (Fernandes, McIver & Sadeghi 2022, §III-C)."""
    for a, b in ((GEOMETRIC, RESPONSE), (RESPONSE, GEOMETRIC)):
        for max_case in (False, True):
            answer = refines(a, b, max_case=max_case)
            assert answer.holds is False
            assert not answer
            check(a, b, answer)
            gain, prior = answer.witness_gain, answer.witness_prior
            assert gain is not None
            assert prior is not None
            more, less = (g_leakage(c, prior, gain, max_case=max_case) for c in (b, a))
            assert more > less


def test_the_max_case_order_is_weaker() -> None:
    """Doubling how often the worst output happens leaks more on average, not in the worst case."""
    a = Channel([[0.9, 0.1, 0.0], [0.9, 0.0, 0.1]])
    b = Channel([[0.8, 0.2, 0.0], [0.8, 0.0, 0.2]])
    assert refines(a, b).holds is False
    answer = refines(a, b, max_case=True)
    assert answer.holds is True
    check(a, b, answer)
    assert bayes_capacity(b).upper > bayes_capacity(a).upper


def test_all_and_nothing() -> None:
    everything, nothing = Channel(np.eye(4)), Channel(np.full((4, 3), 1 / 3))
    for max_case in (False, True):
        assert refines(everything, nothing, max_case=max_case).holds is True
        assert refines(nothing, everything, max_case=max_case).holds is False
        assert refines(everything, everything, max_case=max_case).holds is True


def test_a_tiny_difference_is_still_seen() -> None:
    """1e-6 more than A is separated, 1e-12 more is within the stated tolerance."""
    a = Channel([[0.75, 0.25], [0.25, 0.75]])
    for extra, holds in ((1e-6, False), (1e-12, True)):
        b = Channel([[0.75 + extra, 0.25 - extra], [0.25 - extra, 0.75 + extra]])
        answer = refines(a, b)
        assert answer.holds is holds
        check(a, b, answer)


def test_fractions_are_decided_exactly() -> None:
    third, half = Fraction(1, 3), Fraction(1, 2)
    a = Channel([[half, third, Fraction(1, 6)], [Fraction(1, 7), Fraction(2, 7), Fraction(4, 7)]])
    post = Channel([[third, Fraction(2, 3)], [half, half], [Fraction(9, 10), Fraction(1, 10)]])
    answer = refines(a, a >> post)
    assert (answer.holds, answer.residual, answer.tolerance) == (True, 0.0, 0.0)
    assert answer.witness_post is not None
    assert (a >> answer.witness_post) == (a >> post)
    # A part in 10¹² more than A: within the tolerance for doubles, seen in fractions.
    tiny = Fraction(1, 10**12)
    plain = Channel([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]])
    more = Channel(
        [[Fraction(3, 4) + tiny, Fraction(1, 4) - tiny], [Fraction(1, 4) - tiny, Fraction(3, 4) + tiny]]
    )
    answer = refines(plain, more)
    assert (answer.holds, answer.tolerance) == (False, 0.0)
    assert 0 < answer.margin <= 2e-12
    assert refines(more, plain).holds is True


def test_a_solver_that_fails_gives_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "ColumnFactors", Blind)
    monkeypatch.setattr(room, "minimise_linear", lambda *args, **options: None)
    for max_case in (False, True):
        answer = refines(GEOMETRIC, RESPONSE, max_case=max_case)
        assert answer.holds is None
        assert not answer


def test_a_solver_that_lies_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a solution with the wrong post-processing and a direction that separates nothing."""

    def liar(cost: np.ndarray, **options: object) -> programs.LinearSolution:
        equal = options["equal"]
        size = len(equal[1])
        return programs.LinearSolution(np.ones(len(cost)), 0.0, np.zeros(0), np.zeros(size))

    monkeypatch.setattr(room, "ColumnFactors", Blind)
    monkeypatch.setattr(room, "minimise_linear", liar)
    assert refines(GEOMETRIC, RESPONSE).holds is None
    assert refines(RESPONSE, GEOMETRIC, max_case=True).holds is None


def test_what_is_refused() -> None:
    with pytest.raises(InvalidChannel, match="same inputs"):
        refines(GEOMETRIC, Channel(np.eye(2)))
