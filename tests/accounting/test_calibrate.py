"""How much noise a target needs, against roots at thirty digits."""

from __future__ import annotations

import math

import pytest
from mpmath import mp

from accounting.truth import gaussian, sampled_gaussian
from leakcap.accounting import PrivacyLoss, calibrate
from leakcap.errors import InvalidParameter
from leakcap.mechanism import Gaussian, Laplace, RandomisedResponse


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2, 0.3])
def test_the_least_sigma_of_one_gaussian(epsilon: float, delta: float) -> None:
    sigma = mp.mpf(calibrate(Gaussian, epsilon=(epsilon, delta), tolerance=1e-12).value)
    assert gaussian(1 / sigma, epsilon) <= delta < gaussian(1 / (sigma * (1 - mp.mpf("1e-11"))), epsilon)


def test_every_target_is_kept_and_nearly_met() -> None:
    tested = 0
    for target, truth in (
        ({"epsilon": (1.0, 1e-5)}, lambda s: gaussian(mp.sqrt(10) / s, 1.0) - mp.mpf(1e-5)),
        ({"advantage": 0.2}, lambda s: gaussian(mp.sqrt(10) / s, 0.0) - mp.mpf(0.2)),
        ({"nats": 0.3}, lambda s: 5 / s**2 - mp.mpf(0.3)),
        ({"rho": 0.3}, lambda s: 5 / s**2 - mp.mpf(0.3)),
    ):
        found = calibrate(lambda s: PrivacyLoss.of_mechanism(Gaussian(s)) ** 10, **target)
        assert found.found <= found.target
        assert truth(mp.mpf(found.value)) <= 0 < truth(mp.mpf(found.value) * (1 - mp.mpf("2e-6")))
        tested += 1
    assert tested == 4


def test_a_parameter_that_tells_more_as_it_grows() -> None:
    rate = calibrate(
        lambda q: PrivacyLoss.of_mechanism(Gaussian(1.0)).sampled(q), epsilon=(0.5, 1e-6), between=(1e-9, 1.0)
    ).value
    at = mp.mpf(0.5)
    assert sampled_gaussian(1.0, rate, at) <= 1e-6 < sampled_gaussian(1.0, rate * (1 + 2e-6), at)
    epsilon = calibrate(lambda e: RandomisedResponse(2, e), advantage=0.3, between=(1e-6, 100.0)).value
    assert epsilon == pytest.approx(math.log(1.3 / 0.7), rel=2e-6)


def test_where_the_measure_is_flat_both_ways_are_looked() -> None:
    """δ(50) of ε-DP is zero at ε = 1 and at 2; the target is met far above."""
    found = calibrate(lambda e: RandomisedResponse(2, e), epsilon=(5.0, 0.1), between=(1e-6, 100.0))
    assert found.value > 5.0
    assert found.loss.delta_both(5.0).upper <= 0.1


def test_laplace_in_every_currency() -> None:
    assert calibrate(Laplace, epsilon=(0.5, 0.0)).value == pytest.approx(2.0, rel=2e-6)
    nats = calibrate(Laplace, nats=0.1).value
    assert math.exp(-1 / nats) - 1 + 1 / nats == pytest.approx(0.1, rel=1e-5)  # KL of two Laplaces
    rho = calibrate(Laplace, rho=0.1).value

    def largest(scale: float) -> float:
        e = 1 / scale
        orders = [1 + 10 ** (k / 50 - 3) for k in range(300)]
        return max(
            math.log(a / (2 * a - 1) * math.exp(e * (a - 1)) + (a - 1) / (2 * a - 1) * math.exp(-e * a))
            / (a - 1)
            / a
            for a in orders
        )

    assert 0.975 * 0.1 <= largest(rho) <= 0.1


def test_a_run_of_sampled_steps() -> None:
    found = calibrate(
        lambda s: PrivacyLoss.of_mechanism(Gaussian(s)).sampled(0.01) ** 1000, epsilon=(1.0, 1e-5)
    )
    assert found.loss.delta_both(1.0).upper <= 1e-5
    less = PrivacyLoss.of_mechanism(Gaussian(found.value * (1 - 1e-4))).sampled(0.01) ** 1000
    assert less.delta_both(1.0).lower > 1e-5


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ({}, "one target"),
        ({"rho": 1.0, "nats": 1.0}, "one target"),
        ({"epsilon": 1.0}, "pair"),
        ({"epsilon": (math.nan, 0.1)}, "epsilon"),
        ({"epsilon": (1.0, 1.0)}, "delta"),
        ({"epsilon": (math.inf, 0.1)}, "epsilon"),
        ({"epsilon": (0.0, 0.0)}, "Ask for less"),
        ({"advantage": 0.0}, "advantage"),
        ({"rho": math.nan}, "rho"),
        ({"nats": -1.0}, "nats"),
        ({"nats": 1.0, "tolerance": 0.0}, "tolerance"),
        ({"nats": 1.0, "between": (2.0, 1.0)}, "between"),
        ({"nats": 1e-3, "between": (1.0, 2.0)}, "Ask for less"),
    ],
)
def test_refusals(target: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        calibrate(Gaussian, **target)


def test_rho_needs_bounded_losses() -> None:
    with pytest.raises(InvalidParameter, match="bounded"):
        calibrate(lambda s: PrivacyLoss.of_mechanism(Gaussian(s)).sampled(0.1), rho=1.0)
