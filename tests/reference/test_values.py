"""Reference values of the theory, each known from brute force or a published formula before the code was.

They are checked to 1e-9 (or to all the digits that are known), through the public names.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import leakcap as lc

G = lc.Channel([[2 / 3, 1 / 6, 1 / 6], [1 / 3, 1 / 3, 1 / 3], [1 / 6, 1 / 6, 2 / 3]])
"""Truncated geometric, ε = ln 4."""
R = lc.Channel([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
"""Three-ary randomised response, ε = ln 3."""
UNIFORM = [1 / 3] * 3
INF = math.inf


def test_epsilon_of_the_survey() -> None:
    assert lc.capacity(G, lc.Renyi(INF)).upper == pytest.approx(math.log(4), abs=1e-12)
    assert lc.capacity(R, lc.Renyi(INF)).upper == pytest.approx(math.log(3), abs=1e-12)


@pytest.mark.parametrize(("channel", "nats"), [(G, 0.1606206307), (R, 0.1483417494)])
def test_shannon_capacity(channel: lc.Channel, nats: float) -> None:
    bound = lc.capacity(channel, lc.Renyi(1), lc.AllPriors())
    assert bound.lower == pytest.approx(nats, abs=1e-9)
    assert bound.upper == pytest.approx(nats, abs=1e-9)
    assert bound.width < 1e-9


@pytest.mark.parametrize(("channel", "bayes", "max_case"), [(G, 5 / 3, 12 / 7), (R, 9 / 5, 9 / 5)])
def test_one_guess(channel: lc.Channel, bayes: float, max_case: float) -> None:
    guess = lc.gain.identity(3)
    assert lc.leakage.bayes_capacity(channel).upper == pytest.approx(bayes, abs=1e-12)
    assert lc.leakage.g_leakage(channel, UNIFORM, guess) == pytest.approx(bayes, abs=1e-12)
    assert lc.leakage.g_leakage(channel, UNIFORM, guess, max_case=True) == pytest.approx(max_case, abs=1e-12)
    assert lc.capacity(channel, lc.Renyi(INF), lc.AllPriors()).upper == pytest.approx(
        math.log(bayes), abs=1e-12
    )


@pytest.mark.parametrize(
    ("epsilon", "nats"),
    [(0.1, 0.00124982643), (0.5, 0.03114209226), (1, 0.12330156148), (2, 0.47447464707), (4, 1.66984963351)],
)
def test_pure_to_mutual_information(epsilon: float, nats: float) -> None:
    assert lc.convert(lc.PureDP(epsilon), lc.MIDP).nats == pytest.approx(nats, abs=1e-11)


@pytest.mark.parametrize(
    ("epsilon", "alpha", "nats"),
    [(0.5, 2, 0.06185960725), (1, 2, 0.24022901392), (4, 2, 2.65000549472), (1, 8, 0.63545939857)],
)
def test_pure_to_level_capacity(epsilon: float, alpha: float, nats: float) -> None:
    assert lc.convert(lc.PureDP(epsilon), lc.LevelCapacity, alpha=alpha).nats == pytest.approx(
        nats, abs=1e-10
    )


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0.439589), (0.5, 0.329776), (1, 0.276403), (2, 0.250165)])
def test_mutual_information_to_approximate(epsilon: float, delta: float) -> None:
    found = lc.convert(lc.MIDP(0.1), lc.ApproxDP, epsilon=epsilon)
    assert found.delta == pytest.approx(delta, abs=1e-6)
    if epsilon == 0:
        assert lc.convert(lc.MIDP(0.1), lc.DeltaDP).delta == pytest.approx(delta, abs=1e-6)


def test_pure_dp_by_its_formulas() -> None:
    for epsilon in (0.01, 0.1, 1.0, 3.0):
        a = math.exp(epsilon)
        h = -(a / (1 + a)) * math.log(a / (1 + a)) - (1 / (1 + a)) * math.log(1 / (1 + a))
        pure = lc.PureDP(epsilon)
        assert lc.convert(pure, lc.KLDP).nats == pytest.approx(epsilon * math.tanh(epsilon / 2), rel=1e-12)
        assert lc.convert(pure, lc.MIDP, values=2).nats == pytest.approx(math.log(2) - h, abs=1e-12)
        assert lc.convert(pure, lc.DeltaDP).delta == pytest.approx((a - 1) / (a + 1), rel=1e-12)
        assert lc.convert(pure, lc.ZeroConcentratedDP).rho == pytest.approx(epsilon * math.tanh(epsilon / 2))
        for alpha in (1.5, 2.0, 7.0):
            mironov = math.sinh(alpha * epsilon) - math.sinh((alpha - 1) * epsilon)
            expected = math.log(mironov / math.sinh(epsilon)) / (alpha - 1)
            found = lc.convert(pure, lc.RenyiDP, alpha=alpha).epsilon
            assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    ("floor", "nats", "digits"),
    [(0.0, 1.3862943611, 1e-10), (0.3, 1.3014367, 1e-7), (0.6, 1.1519655, 1e-7), (0.9, 0.9151029, 1e-7),
     (math.log(3), 0.5389965, 1e-7)],
)  # fmt: skip
def test_entropy_floor(floor: float, nats: float, digits: float) -> None:
    bound = lc.capacity(G, lc.Renyi(INF), lc.EntropyFloor(floor))
    assert bound.upper == pytest.approx(nats, abs=digits)


def test_laplace_capacity() -> None:
    bound = lc.capacity(lc.mechanism.Laplace(1.0), lc.Renyi(1), lc.AllPriors())
    assert bound.upper == pytest.approx(0.0885196402, abs=1e-9)
    for ratio, low, high in ((1.0, 0.1114210, 0.1114215), (4.0, 0.652867, 0.652873)):
        gaussian = lc.capacity(lc.mechanism.Gaussian(1.0, ratio), lc.Renyi(1), lc.AllPriors())
        assert low <= gaussian.lower <= gaussian.upper <= high
        assert gaussian.width <= 1e-8


def test_count_is_randomised_response() -> None:
    a = Fraction(math.e)
    keep = float(a / (1 + a))
    expected = math.log(2) + keep * math.log(keep) + (1 - keep) * math.log(1 - keep)
    count = lc.capacity(lc.mechanism.TwoSidedGeometric(1.0), lc.Renyi(1), lc.AllPriors())
    assert expected == pytest.approx(0.1109440717, abs=1e-9)
    assert count.upper == pytest.approx(expected, abs=1e-12)
