"""Steps of Gaussian noise on samples: one step by its formula, many full steps by theirs, edges by bounds."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import pytest

from leakcap.accounting import SampledSteps
from leakcap.errors import InvalidParameter


def told(mu: mpmath.mpf, gamma: mpmath.mpf) -> mpmath.mpf:
    """∫(N(μ,1) − γN(0,1))₊. Source: Balle & Wang 2018, theorem 8."""
    if gamma <= 0:
        return 1 - gamma
    at = mpmath.log(gamma) / mu
    return mpmath.ncdf(mu / 2 - at) - gamma * mpmath.ncdf(-mu / 2 - at)


def one_step(noise: Fraction, rate: Fraction, epsilon: float) -> mpmath.mpf:
    """The larger of both directions' δ(ε), by the change of ε that a sample makes."""
    mu = mpmath.mpf(noise.denominator) / noise.numerator
    q, gamma = mpmath.mpf(rate.numerator) / rate.denominator, mpmath.exp(mpmath.mpf(epsilon))
    rest = 1 - gamma * (1 - q)
    back = rest * told(mu, gamma * q / rest) if rest > 0 else mpmath.mpf(0)
    return max(q * told(mu, 1 + (gamma - 1) / q), back)


@pytest.mark.parametrize("noise", [Fraction(1, 4), Fraction(1), Fraction(7, 2)])
@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(1, 3), Fraction(1)])
@pytest.mark.parametrize("delta", [1e-9, 1e-4])
def test_one_sampled_step_by_its_formula(noise: Fraction, rate: Fraction, delta: float) -> None:
    found = SampledSteps(noise, rate, 1).epsilon(delta)
    with mpmath.workdps(40):
        nearly = mpmath.mpf(10) ** -12
        assert one_step(noise, rate, found.upper) <= delta * (1 + nearly)
        assert found.lower == 0.0 or one_step(noise, rate, found.lower) >= delta * (1 - nearly)
    assert found.width <= 1e-3 * found.upper


@pytest.mark.parametrize("replaced", [False, True])
def test_full_steps_are_one_step_of_less_noise(replaced: bool) -> None:
    """√T of it less, and half as much between two contents."""
    found = SampledSteps(Fraction(6), Fraction(1), 9, replaced).epsilon(1e-6)
    with mpmath.workdps(40):
        noise = Fraction(1) if replaced else Fraction(2)
        assert one_step(noise, Fraction(1), found.upper) <= mpmath.mpf(1e-6) * (1 + mpmath.mpf(10) ** -9)
        assert one_step(noise, Fraction(1), found.lower) >= mpmath.mpf(1e-6) * (1 - mpmath.mpf(10) ** -9)


def test_the_curve_bounds_what_it_is_the_curve_of() -> None:
    """Sampled steps are never above full ones, two contents never below presence, orders only grow; and ε
    between two contents is above that of presence, since they can be one."""
    orders = (0.5, 1.0, 1.25, 2.0, 8.0, 300.0)
    for noise, rate in itertools.product(
        (Fraction(1, 100), Fraction(1, 9), Fraction(1), Fraction(900)), (Fraction(1, 10**6), Fraction(1, 2))
    ):
        steps, full = SampledSteps(noise, rate, 7), SampledSteps(noise, Fraction(1), 7)
        two = SampledSteps(noise, rate, 7, replaced=True)
        curve = [steps.renyi(order) for order in orders]
        assert curve == sorted(curve)
        for order, nats in zip(orders, curve, strict=True):
            assert 0.0 < nats <= full.renyi(order) * (1 + 1e-12)
            assert nats <= two.renyi(order)
        assert steps.epsilon(1e-6).upper <= two.epsilon(1e-6).upper
        assert math.isfinite(two.epsilon(1e-6).upper)


@pytest.mark.parametrize(("noise", "steps"), [(Fraction(50), 100), (Fraction(1, 2), 1)])
def test_a_sample_that_tells_less_than_delta_costs_nothing(noise: Fraction, steps: int) -> None:
    """Where no test's advantage is above δ no ε is needed, and a smaller δ needs one: of many quiet steps by
    the central limit, of one loud step exactly."""
    found = SampledSteps(noise, Fraction(1, 10**6), steps)
    mu = 1 / float(noise)
    advantage = (
        1e-6 * math.erf(mu / math.sqrt(8))
        if steps == 1
        else 1e-6 * math.sqrt(steps * math.expm1(mu * mu) / (2 * math.pi))
    )
    assert found.epsilon(1.3 * advantage).upper == 0.0
    assert found.epsilon(advantage / 3).lower > 0.0


@pytest.mark.parametrize(
    ("noise", "rate", "steps", "says"),
    [
        (Fraction(0), Fraction(1), 1, "`noise_multiplier` of `SampledSteps` must be positive"),
        (Fraction(1), Fraction(0), 1, "`rate` of `SampledSteps` must be a probability above 0"),
        (Fraction(1), Fraction(1), 0, "`steps` of `SampledSteps` must lie between 1 and"),
        (Fraction(1), Fraction(1), 10**13, "`steps` of `SampledSteps` must lie between 1 and"),
    ],
)
def test_what_is_no_run_is_refused(noise: Fraction, rate: Fraction, steps: int, says: str) -> None:
    with pytest.raises(InvalidParameter, match=says):
        SampledSteps(noise, rate, steps)
    with pytest.raises(InvalidParameter, match=r"must lie in \(0, 1\)"):
        SampledSteps(Fraction(1), Fraction(1), 1).epsilon(0.0)


@pytest.mark.parametrize("rate", ["1e-150", "1e-160", "1e-170", "1e-300", "1e-330"])
def test_the_rarest_sample_tells_something(rate: str) -> None:
    """The squares of such rates are no doubles. The curve is above the truth: q²(e^(μ²) − 1)/2·α nearly."""
    found = SampledSteps(Fraction(1), Fraction(rate), 3)
    with mpmath.workdps(30):
        q = mpmath.mpf(rate)
        for alpha in (1.0, 2.0, 8.0):
            nearly = 3 * alpha / 2 * q**2 * (mpmath.e - 1)
            assert found.presence(alpha) >= nearly * (1 - mpmath.mpf(10) ** -9)
            assert 0.0 < found.presence(alpha) < 1e-290
