"""Capacities over priors and gains against grids, brute force and the bounds that must enclose them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from leakcap import gain
from leakcap.adversary import AllPriors, Neighbours
from leakcap.capacities import capacity
from leakcap.channel import Channel
from leakcap.divergence import Renyi
from leakcap.errors import InvalidParameter
from leakcap.leakage import (
    additive,
    additive_bayes_capacity,
    additive_gain_capacity,
    bayes_capacity,
    bayes_vulnerability,
    g_capacity,
    g_leakage,
    gain_capacity,
    lift,
    lift_capacity,
    over_priors,
)
from leakcap.numeric import columns
from strange_channels import GEOMETRIC, RESPONSE, strange_channels


def simplex(count: int, steps: int) -> list[np.ndarray]:
    """All priors over `count` secrets in steps of 1/steps."""
    cuts = itertools.combinations(range(steps + count - 1), count - 1)
    return [np.diff([-1, *c, steps + count - 1]) / steps - 1 / steps for c in cuts]


def test_bayes_and_lift_capacity_are_the_radius_and_the_diameter_at_infinity() -> None:
    for channel, _ in strange_channels(30, seed=31):
        radius = capacity(channel, Renyi(math.inf), AllPriors())
        assert math.log(bayes_capacity(channel).upper) == pytest.approx(radius.upper, abs=1e-12)
        diameter = capacity(channel, Renyi(math.inf), Neighbours())
        assert math.log(lift_capacity(channel).upper) == pytest.approx(diameter.upper, abs=1e-12)


def test_lift_capacity_is_approached_by_priors_that_gather_on_the_witness() -> None:
    channel = GEOMETRIC
    bound = lift_capacity(channel)
    _, gathered = bound.witness
    prior = np.full(3, 1e-9)
    prior[gathered] = 1 - 2e-9
    assert lift(channel, prior) == pytest.approx(bound.upper, rel=1e-8)
    assert math.isinf(lift_capacity(Channel([[1.0, 0.0], [0.5, 0.5]])).upper)


def test_capacity_over_gains_is_attained_by_its_witness() -> None:
    for channel, prior in strange_channels(40, seed=32):
        for max_case in (False, True):
            bound = gain_capacity(channel, prior, max_case=max_case)
            reached = g_leakage(channel, prior, bound.witness, max_case=max_case)
            assert reached == pytest.approx(bound.upper, rel=1e-12)


def test_additive_capacity_over_gains_is_attained_by_the_likelier_event() -> None:
    for channel, prior in strange_channels(20, seed=33):
        q = prior @ channel.matrix
        table = np.array(
            [(column > mass).astype(float) for column, mass in zip(channel.matrix.T, q, strict=True)]
        )
        table = table - (table @ prior)[:, None]
        reached = g_leakage(channel, prior, gain.matrix(table), additive=True)
        assert additive_gain_capacity(channel, prior).upper == pytest.approx(reached, abs=1e-12)


def test_additive_bayes_capacity_is_not_beaten_by_any_prior_of_a_grid() -> None:
    priors = simplex(3, 24)
    assert len(priors) == 325
    for channel, _ in strange_channels(40, seed=34, largest=5):
        if channel.shape[0] != 3:
            continue
        best = max(bayes_vulnerability(channel, p) - p.max() for p in priors)
        bound = additive_bayes_capacity(channel)
        # 24 is a multiple of 1, 2 and 3: every prior uniform on a set is on the grid.
        assert bound.upper == pytest.approx(best, abs=1e-12)
        prior = np.asarray(bound.witness)
        assert bayes_vulnerability(channel, prior) - prior.max() == pytest.approx(bound.lower, abs=1e-12)


def test_additive_bayes_capacity_needs_fewer_secrets_than_all() -> None:
    """Two secrets told apart and four that look alike: guessing among two improves by ½, among six less."""
    rows = [[1, 0], [0, 1], *[[0.5, 0.5]] * 4]
    bound = additive_bayes_capacity(Channel(rows))
    assert bound.upper == 0.5
    assert np.asarray(bound.witness).tolist() == [0.5, 0.5, 0, 0, 0, 0]


def test_the_bracket_for_many_secrets_holds_the_exact_value(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [channel for channel, _ in strange_channels(40, seed=35)]
    exact = [additive_bayes_capacity(channel).upper for channel in cases]
    monkeypatch.setattr(additive, "_ENUMERATED", 0)
    for channel, truth in zip(cases, exact, strict=True):
        bound = additive_bayes_capacity(channel)
        assert bound.lower - 1e-12 <= truth <= bound.upper + 1e-12
        assert "not exact" in bound.method
        prior = np.asarray(bound.witness)
        assert bayes_vulnerability(channel, prior) - prior.max() == pytest.approx(bound.lower, abs=1e-12)


def test_many_secrets_are_answered_quickly() -> None:
    rows = np.random.default_rng(0).dirichlet(np.full(60, 0.1), 50)
    bound = additive_bayes_capacity(Channel(rows))
    assert 0 < bound.lower <= bound.upper < 1


def goals(count: int) -> list[gain.Gain]:
    line = [[abs(w - x) for x in range(count)] for w in range(count)]
    odd = gain.property_of([x % 2 for x in range(count)])
    return [
        gain.k_guesses(count, 2),
        odd,
        gain.distance(line),
        gain.matrix([[1.0] * count, [2.0] + [0.1] * (count - 1)]),
    ]


@pytest.mark.parametrize("vertices", [20_000, 0])
def test_capacity_of_one_gain_encloses_every_prior_of_a_grid(
    vertices: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By all vertices, and by local search and programs, which must agree with them."""
    channels = [c for c, _ in strange_channels(60 if vertices else 10, seed=36, largest=4)]
    cases = [(c, goal) for c in channels for goal in goals(c.shape[0])]
    exact = [g_capacity(c, goal).upper for c, goal in cases]
    monkeypatch.setattr(over_priors, "_VERTICES", vertices)
    for (channel, goal), truth in zip(cases, exact, strict=True):
        priors = np.array([p for p in simplex(channel.shape[0], 8) if (goal.table @ p).max() > 0])
        # Of each prior the best action's worth after each output, over that of the best before any.
        after = np.einsum("px,wx,xy->pyw", priors, goal.table, channel.matrix).max(axis=2).sum(axis=1)
        told = after / (priors @ goal.table.T).max(axis=1)
        best = told.max()
        assert g_leakage(channel, priors[told.argmax()], goal) == pytest.approx(best, rel=1e-12)
        bound = g_capacity(channel, goal)
        assert best <= truth * (1 + 1e-12)
        assert truth == pytest.approx(bound.lower, rel=1e-6)
        assert truth <= bound.upper * (1 + 1e-9)
        assert g_leakage(channel, np.asarray(bound.witness), goal) == pytest.approx(bound.lower, rel=1e-9)
        assert bound.upper <= bayes_capacity(channel).upper * (1 + 1e-12)
        assert bound.is_sharp or not vertices


def test_capacity_of_one_gain_between_two_secrets_is_exact() -> None:
    for channel, _ in strange_channels(40, seed=37, largest=4):
        two = Channel(channel.matrix[:2])
        goal = gain.matrix([[1.0, 0.0], [0.0, 2.0], [0.6, 0.9]])
        bound = g_capacity(two, goal)
        assert bound.is_sharp
        values = [g_leakage(two, [p, 1 - p], goal) for p in np.linspace(0, 1, 401)]
        assert max(values) <= bound.upper + 1e-12
        assert bound.upper - max(values) <= 0.02


def test_one_guess_has_the_bayes_capacity_whatever_it_is_worth() -> None:
    for worth in ([1.0, 1.0, 1.0], [1.0, 5.0, 0.2]):
        bound = g_capacity(RESPONSE, gain.matrix(np.diag(worth)))
        assert bound.lower <= 9 / 5 + 1e-12
        assert bound.upper == pytest.approx(9 / 5, abs=1e-9)
        assert bound.lower == pytest.approx(9 / 5, abs=1e-9)
    prior = 1 / np.array([1.0, 5.0, 0.2])
    diagonal = gain.distribution_reciprocal(prior / prior.sum())
    assert g_capacity(RESPONSE, diagonal).upper == pytest.approx(9 / 5, abs=1e-12)


def test_many_actions_fall_back_on_the_bayes_capacity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(over_priors, "_PRICED", 0)
    monkeypatch.setattr(over_priors, "_VERTICES", 0)
    goal = gain.k_guesses(3, 2)
    bound = g_capacity(GEOMETRIC, goal)
    assert bound.upper == pytest.approx(5 / 3, abs=1e-12)


def test_gains_without_a_capacity_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="g ≥ 0"):
        g_capacity(GEOMETRIC, gain.negative_distance(np.ones((3, 3))))
    with pytest.raises(InvalidParameter, match="positive somewhere"):
        g_capacity(GEOMETRIC, gain.matrix(np.zeros((2, 3))))


def test_the_worst_output_for_one_guess_over_a_grid_of_priors() -> None:
    """A prior uniform (in worth) on a set is best: 12 steps hold every set of three equal worths."""
    for channel, _ in strange_channels(40, seed=38, largest=3):
        count = channel.shape[0]
        goal = gain.identity(count)
        bound = g_capacity(channel, goal, max_case=True)
        best = max(g_leakage(channel, p, goal, max_case=True) for p in simplex(count, 12))
        assert bound.upper == pytest.approx(best, rel=1e-9)
        assert bound.upper <= lift_capacity(channel).upper * (1 + 1e-12)
        reached = g_leakage(channel, np.asarray(bound.witness), goal, max_case=True)
        assert reached == pytest.approx(bound.upper, rel=1e-9)
    for channel, worst in ((GEOMETRIC, 12 / 7), (RESPONSE, 9 / 5)):
        assert g_capacity(channel, gain.identity(3), max_case=True).upper == pytest.approx(worst, abs=1e-12)


def test_the_worst_output_for_guesses_of_unequal_worth() -> None:
    rng = np.random.default_rng(9)
    for channel, _ in strange_channels(20, seed=39, largest=5):
        count = channel.shape[0]
        goal = gain.distribution_reciprocal(rng.dirichlet(np.ones(count)))
        bound = g_capacity(channel, goal, max_case=True)
        tries = [g_leakage(channel, p, goal, max_case=True) for p in rng.dirichlet(np.full(count, 0.4), 300)]
        assert max(tries) <= bound.upper * (1 + 1e-12)
        reached = g_leakage(channel, np.asarray(bound.witness), goal, max_case=True)
        assert reached == pytest.approx(bound.upper, rel=1e-9)


def test_the_worst_output_for_other_gains_is_bracketed() -> None:
    rng = np.random.default_rng(10)
    for channel, _ in strange_channels(20, seed=40, largest=4):
        count = channel.shape[0]
        for goal in [*goals(count), gain.matrix(np.diag([0.0, *[1.0] * (count - 1)]))]:
            bound = g_capacity(channel, goal, max_case=True)
            tries = [g_leakage(channel, p, goal, max_case=True) for p in rng.dirichlet(np.ones(count), 30)]
            assert max(tries) <= bound.upper * (1 + 1e-12)
            assert bound.lower >= 1.0


def test_large_matrices_are_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_PIECE", 5)
    rows = np.random.default_rng(4).random((23, 7))
    weights = np.arange(23.0)
    assert np.array_equal(gain.identity(23).best(weights, rows), (weights[:, None] * rows).max(axis=0))
