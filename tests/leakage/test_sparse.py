"""Sparse channels: the same numbers as dense ones, and a hundred thousand secrets without a dense matrix."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from leakcap import gain, leakage
from leakcap.channel import Channel
from strange_channels import strange_channels

ORDERS = (0.5, 1.0, 3.0, 1e6, math.inf)


def measures(channel: Channel, prior: np.ndarray) -> list[float]:
    size = len(prior)
    goals = [
        gain.identity(size),
        gain.k_guesses(size, 2),
        gain.property_of([x % 2 for x in range(size)]),
        gain.distribution_reciprocal(prior),
        gain.matrix(np.arange(3.0 * size).reshape(3, size)),
    ]
    values = [
        f(channel, prior, alpha=a)
        for f in (leakage.sibson, leakage.arimoto, leakage.joint_renyi)
        for a in ORDERS
    ]
    values += [leakage.g_leakage(channel, prior, g, max_case=m) for g in goals for m in (False, True)]
    values += [
        f(channel, prior)
        for f in (
            leakage.mutual_information,
            leakage.lift,
            leakage.log_lift,
            leakage.local_information_privacy,
            leakage.bayes_risk,
            leakage.bayes_vulnerability,
            leakage.posterior_guessing_entropy,
            leakage.inferential_privacy,
            leakage.relative_entropy_privacy,
        )
    ]
    bounds = [leakage.bayes_capacity(channel), leakage.lift_capacity(channel)]
    bounds += [leakage.gain_capacity(channel, prior, max_case=m) for m in (False, True)]
    bounds += [leakage.additive_gain_capacity(channel, prior)]
    values += [bound.upper for bound in bounds]
    return [*values, *leakage.pointwise_maximal_leakage(channel, prior)]


def test_sparse_and_dense_agree() -> None:
    for channel, prior in strange_channels(40, seed=71, largest=6):
        thin = Channel(sparse.csr_array(channel.matrix))
        assert thin.sparse is not None
        assert measures(thin, prior) == pytest.approx(measures(channel, prior), rel=1e-12, abs=1e-14)


def test_a_hundred_thousand_secrets() -> None:
    """Banded: secret x shows one of ten values from x on, each alike: every closed form is known."""
    size, width = 100_000, 10
    rows = np.repeat(np.arange(size), width)
    columns = (rows + np.tile(np.arange(width), size)) % size
    channel = Channel(sparse.csr_array((np.full(size * width, 0.1), (rows, columns)), shape=(size, size)))
    prior = np.full(size, 1 / size)
    assert leakage.bayes_capacity(channel).upper == pytest.approx(size / 10, rel=1e-12)
    assert math.isinf(leakage.lift_capacity(channel).upper)
    assert leakage.lift(channel, prior) == pytest.approx(size / 10, rel=1e-12)
    for alpha in ORDERS:
        for measure in (leakage.sibson, leakage.arimoto, leakage.joint_renyi):
            assert measure(channel, prior, alpha=alpha) == pytest.approx(math.log(size / 10), rel=1e-10)
    assert leakage.bayes_vulnerability(channel, prior) == pytest.approx(0.1, rel=1e-12)
    assert leakage.posterior_guessing_entropy(channel, prior) == pytest.approx(5.5, rel=1e-12)
    assert leakage.g_capacity(channel, gain.identity(size)).upper == pytest.approx(size / 10, rel=1e-12)
    three = gain.k_guesses(size, 3)
    assert leakage.posterior_vulnerability(channel, prior, three) == pytest.approx(0.3, rel=1e-12)
    assert leakage.relative_entropy_privacy(channel, prior) == pytest.approx(math.log(size / 10), rel=1e-10)


def test_fractions_are_rounded_once() -> None:
    third = Fraction(1, 3)
    channel = Channel([[third, third, third], [Fraction(1, 7), Fraction(2, 7), Fraction(4, 7)]])
    assert leakage.bayes_capacity(channel).upper == float(third + third + Fraction(4, 7))
    assert leakage.lift_capacity(channel).upper == float(Fraction(7, 3))
