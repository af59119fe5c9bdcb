"""Vulnerabilities, lifts and guessing against exact rational arithmetic done by brute force."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from leakcap import gain
from leakcap.channel import Channel
from leakcap.errors import InvalidChannel, InvalidParameter, InvalidPrior
from leakcap.gain import Gain
from leakcap.leakage import (
    Hyper,
    bayes_capacity,
    bayes_risk,
    bayes_vulnerability,
    dalenius,
    factorise,
    g_leakage,
    g_vulnerability,
    guessing_entropy,
    lift,
    lift_capacity,
    local_information_privacy,
    log_lift,
    pointwise_maximal_leakage,
    posterior_guessing_entropy,
    posterior_vulnerability,
)
from strange_channels import GEOMETRIC, RESPONSE, strange_channels

UNIFORM = [1 / 3, 1 / 3, 1 / 3]

Table = list[list[Fraction]]


def rational(values: object) -> list[Fraction]:
    return [Fraction(float(v)) for v in np.asarray(values)]


def joint_of(channel: Channel, prior: object) -> Table:
    return [[p * c for c in rational(row)] for p, row in zip(rational(prior), channel.matrix, strict=True)]


def worth(table: Table, column: list[Fraction]) -> Fraction:
    return max(sum((g * v for g, v in zip(row, column, strict=True)), Fraction(0)) for row in table)


def gains_for(prior: np.ndarray) -> list[tuple[Gain, Table]]:
    """Each gain beside its table, written from its definition here."""
    n = len(prior)
    one = [[Fraction(int(w == x)) for x in range(n)] for w in range(n)]
    pairs = [[Fraction(int(x in s)) for x in range(n)] for s in itertools.combinations(range(n), 2)]
    parity = [[Fraction(int(x % 2 == w)) for x in range(n)] for w in range(2)]
    line = [[abs(w - x) for x in range(n)] for w in range(n)]
    near = [[1 - Fraction(d, n - 1) for d in row] for row in line]
    close = [[Fraction(int(d <= 1)) for d in row] for row in line]
    bets = [[Fraction(1), *[Fraction(1, 4)] * (n - 1)], [Fraction(1, 2)] * n]
    surprise = [
        [1 / Fraction(float(prior[x])) if w == x and prior[x] > 0 else Fraction(0) for x in range(n)]
        for w in range(n)
    ]
    return [
        (gain.identity(n), one),
        (gain.k_guesses(n, 2), pairs),
        (gain.property_of([x % 2 for x in range(n)]), parity),
        (gain.distance(line), near),
        (gain.within(line, 1), close),
        (gain.distribution_reciprocal(prior), surprise),
        (gain.matrix([[float(v) for v in row] for row in bets]), bets),
    ]


def test_every_gain_against_fractions() -> None:
    seen = 0
    for channel, prior in strange_channels(25, seed=1, largest=6):
        joint = joint_of(channel, prior)
        columns = [[row[y] for row in joint] for y in range(channel.shape[1])]
        live = [c for c in columns if sum(c) > 0]
        for goal, table in gains_for(prior):
            before = worth(table, rational(prior))
            average = sum(worth(table, c) for c in live)
            worst = max(worth(table, c) / sum(c) for c in live)
            assert g_vulnerability(prior, goal) == pytest.approx(float(before), rel=1e-12)
            assert posterior_vulnerability(channel, prior, goal) == pytest.approx(float(average), rel=1e-12)
            assert posterior_vulnerability(channel, prior, goal, max_case=True) == pytest.approx(
                float(worst), rel=1e-12
            )
            assert g_leakage(channel, prior, goal) == pytest.approx(float(average / before), rel=1e-12)
            assert g_leakage(channel, prior, goal, max_case=True) == pytest.approx(
                float(worst / before), rel=1e-12
            )
            assert g_leakage(channel, prior, goal, additive=True) == pytest.approx(
                float(average - before), abs=1e-12
            )
            assert np.allclose(goal.table, np.array(table, dtype=float), rtol=1e-15, atol=0)
            best = goal.best_actions(prior, channel.matrix)
            taken = np.array([goal.table[w] @ (prior * channel.matrix[:, y]) for y, w in enumerate(best)])
            assert taken == pytest.approx(goal.best(prior, channel.matrix), rel=1e-12, abs=1e-300)
            assert len(goal.actions) == len(goal.table)
            seen += 1
    assert seen == 175


def test_lifts_against_fractions() -> None:
    for channel, prior in strange_channels(40, seed=2):
        joint, weights = joint_of(channel, prior), rational(prior)
        q = [sum(row[y] for row in joint) for y in range(channel.shape[1])]
        ratios = [
            [joint[x][y] / weights[x] / q[y] for x in range(len(weights)) if weights[x] > 0] if q[y] else None
            for y in range(channel.shape[1])
        ]
        live = [r for r in ratios if r]
        top = max(map(max, live))
        assert lift(channel, prior) == pytest.approx(float(top), rel=1e-12)
        assert log_lift(channel, prior) == pytest.approx(math.log(top), abs=1e-12)
        for y, value in enumerate(pointwise_maximal_leakage(channel, prior)):
            assert value == pytest.approx(math.log(max(ratios[y])) if ratios[y] else 0.0, abs=1e-12)
        low = min(map(min, live))
        both = math.inf if low == 0 else max(math.log(top), -math.log(low))
        assert local_information_privacy(channel, prior) == pytest.approx(both, abs=1e-12)


def test_guessing_against_fractions() -> None:
    for channel, prior in strange_channels(40, seed=3):
        joint = joint_of(channel, prior)
        columns = [sorted((row[y] for row in joint), reverse=True) for y in range(channel.shape[1])]
        right = sum(c[0] for c in columns)
        missed = sum(sum(c[1:]) for c in columns)
        number = sum((i + 1) * v for c in columns for i, v in enumerate(c))
        before = sum((i + 1) * v for i, v in enumerate(sorted(rational(prior), reverse=True)))
        assert bayes_vulnerability(channel, prior) == pytest.approx(float(right), rel=1e-12)
        assert bayes_risk(channel, prior) == pytest.approx(float(missed), rel=1e-12, abs=1e-300)
        assert posterior_guessing_entropy(channel, prior) == pytest.approx(float(number), rel=1e-12)
        assert guessing_entropy(prior) == pytest.approx(float(before), rel=1e-12)


def test_a_tiny_risk_keeps_its_digits() -> None:
    channel = Channel([[1 - 1e-20, 1e-20], [0, 1]])
    assert bayes_risk(channel, [0.5, 0.5]) == pytest.approx(5e-21, rel=1e-15)


def test_reference_values_of_the_motivating_example() -> None:
    """R leaks more to these guessers though its ε is smaller (Fernandes, McIver & Sadeghi 2022, §I-A)."""
    guess = gain.identity(3)
    for channel, average, worst, epsilon in ((GEOMETRIC, 5 / 3, 12 / 7, 4), (RESPONSE, 9 / 5, 9 / 5, 3)):
        assert bayes_capacity(channel).upper == pytest.approx(average, abs=1e-12)
        assert g_leakage(channel, UNIFORM, guess) == pytest.approx(average, abs=1e-12)
        assert g_leakage(channel, UNIFORM, guess, max_case=True) == pytest.approx(worst, abs=1e-12)
        assert lift_capacity(channel).upper == pytest.approx(epsilon, abs=1e-12)
    # log-lift under the uniform prior, the b = ln n end of the entropy floor in theory §5.
    assert log_lift(GEOMETRIC, UNIFORM) == pytest.approx(0.5389965, abs=5e-8)


def test_the_distribution_reciprocal_gain_leaks_the_lift() -> None:
    for channel, prior in strange_channels(60, seed=4):
        goal = gain.distribution_reciprocal(prior)
        assert g_vulnerability(prior, goal) == pytest.approx(1.0, abs=1e-12)
        assert g_leakage(channel, prior, goal, max_case=True) == pytest.approx(
            lift(channel, prior), rel=1e-12
        )


def test_leakage_about_a_correlated_secret() -> None:
    joint = np.array([[0.2, 0.2, 0.1], [0.05, 0.05, 0.4]])
    prior, correlation = factorise(joint, secrets=["ill", "well"], inputs=["y", "m", "n"])
    channel = Channel(GEOMETRIC.matrix, inputs=["y", "m", "n"])
    about_z = joint.T[:, :, None] * channel.matrix[:, None, :]
    truth = max(
        about_z[:, z, y].sum() / joint[z].sum() / about_z[:, :, y].sum() for z in range(2) for y in range(3)
    )
    assert dalenius(lift, channel, correlation, prior) == pytest.approx(truth, rel=1e-12)
    assert factorise([[0.0, 0.0], [0.5, 0.5]])[1].matrix.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    with pytest.raises(InvalidChannel, match="cascade"):
        dalenius(lift, GEOMETRIC, correlation, prior)


def test_hypers_keep_the_prior_and_the_vulnerability() -> None:
    for channel, prior in strange_channels(30, seed=6):
        hyper = Hyper(channel, prior)
        assert hyper.prior == pytest.approx(prior, abs=1e-12)
        goal = gain.identity(len(prior))
        assert hyper.vulnerability(goal) == pytest.approx(bayes_vulnerability(channel, prior), rel=1e-10)
        worst = posterior_vulnerability(channel, prior, goal, max_case=True)
        assert hyper.vulnerability(goal, max_case=True) == pytest.approx(worst, rel=1e-10)
        twice = hyper.push(channel)
        assert twice.vulnerability(goal) == pytest.approx(
            bayes_vulnerability(channel & channel, prior), rel=1e-9
        )
        assert sum(p for p, _ in twice) == pytest.approx(1.0, abs=1e-12)


def test_hypers_merge_equal_posteriors_and_drop_what_never_happens() -> None:
    split = Channel([[0.3, 0.3, 0.0, 0.4], [0.1, 0.1, 0.0, 0.8]])
    assert len(Hyper(split, [0.5, 0.5])) == 2
    assert len(Hyper(Channel([[1.0, 0.0], [0.0, 1.0]]), [1.0, 0.0])) == 1
    with pytest.raises(InvalidChannel, match="own secrets"):
        Hyper(split, [0.5, 0.5]).push(GEOMETRIC)


def test_what_is_refused() -> None:
    negative = gain.negative_distance([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    with pytest.raises(InvalidParameter, match="g ≥ 0"):
        g_leakage(GEOMETRIC, UNIFORM, negative)
    assert g_leakage(GEOMETRIC, UNIFORM, negative, additive=True) == pytest.approx(1 / 9, abs=1e-12)
    with pytest.raises(InvalidParameter, match="worth something"):
        g_leakage(GEOMETRIC, [1.0, 0.0, 0.0], gain.matrix([[0, 1, 1]]))
    with pytest.raises(InvalidParameter, match="one column a secret"):
        g_leakage(GEOMETRIC, UNIFORM, gain.identity(2))
    with pytest.raises(InvalidParameter, match="name the secrets"):
        g_leakage(GEOMETRIC, UNIFORM, gain.identity(["y", "m", "n"]))
    with pytest.raises(InvalidPrior):
        g_vulnerability([0.5, 0.6], gain.identity(2))
    with pytest.raises(InvalidPrior):
        guessing_entropy([])
