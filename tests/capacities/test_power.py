"""Power constraints: Shannon and Hartley's formula, its relatives of order α by quadrature and iteration."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from leakcap.adversary import AllPriors, InputCost, PowerConstraint
from leakcap.capacities import capacity
from leakcap.capacities.power import gaussian_power_capacity
from leakcap.channel import Channel
from leakcap.divergence import HockeyStick, Renyi
from leakcap.errors import InvalidParameter
from leakcap.mechanism import Gaussian, Laplace
from leakcap.models.curve import RenyiCurve


@pytest.mark.parametrize("ratio", [1e-12, 0.3, 3.0, 1e6])
@pytest.mark.parametrize("dimensions", [1, 7])
def test_shannon_and_hartley_at_fifty_digits(ratio, dimensions):
    with mpmath.workdps(50):
        truth = mpmath.mpf(dimensions) / 2 * mpmath.log1p(mpmath.mpf(ratio) / dimensions)
        bound = gaussian_power_capacity(1.0, ratio, dimensions)
        assert bound.lower <= truth <= bound.upper
        assert bound.width <= 1e-13 * float(truth)


def centred(alpha, ratio, theta):
    """E D_α(N(X, 1) ‖ N(0, θ)), E X² = ρ, from Gil, Alajaji & Linder 2013: linear in X²."""
    s = alpha * theta + 1 - alpha
    if alpha == math.inf:
        return mpmath.log(theta) / 2 + ratio / (2 * (theta - 1))
    return mpmath.log(theta) / 2 + mpmath.log(theta / s) / (2 * (alpha - 1)) + alpha * ratio / (2 * s)


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.999999, 1.000001, 2.0, 10.0, 1e5, math.inf])
@pytest.mark.parametrize("ratio", [1e-6, 0.5, 4.0, 300.0])
def test_the_best_gaussian_centre_at_fifty_digits(alpha, ratio):
    """The closed form is the least of E D_α over Gaussian centres: an upper bound by any of them."""
    with mpmath.workdps(50):
        rho, a = mpmath.mpf(ratio), mpmath.mpf(alpha)
        bound = gaussian_power_capacity(alpha, ratio)
        least = 1 if alpha <= 1 else 1 + mpmath.mpf(10) ** -40
        low, high = mpmath.mpf(least), 2 + 2 * rho
        golden = (mpmath.sqrt(5) - 1) / 2
        for _ in range(260):
            left, right = high - golden * (high - low), low + golden * (high - low)
            if centred(a, rho, left) < centred(a, rho, right):
                high = right
            else:
                low = left
        truth = centred(a, rho, (low + high) / 2)
        assert bound.lower <= truth * (1 + mpmath.mpf(10) ** -20)
        assert truth <= bound.upper
        assert bound.width <= 1e-12 * float(truth)


def test_the_divergence_behind_it_by_quadrature():
    with mpmath.workdps(20):
        for alpha, x, theta in ((0.5, 1.0, 2.0), (2.0, 1.5, 3.0), (4.0, 0.7, 1.8)):

            def inside(y, a=alpha, x=x, t=theta):
                first = -((y - x) ** 2) / 2
                second = -(y**2) / (2 * t) - mpmath.log(t) / 2
                return mpmath.exp(a * first + (1 - a) * second) / mpmath.sqrt(2 * mpmath.pi)

            value = mpmath.log(mpmath.quad(inside, [-40, -5, 0, 5, 40])) / (alpha - 1)
            assert abs(value - centred(mpmath.mpf(alpha), mpmath.mpf(x) ** 2, mpmath.mpf(theta))) < 1e-12


@pytest.mark.parametrize("alpha", [0.5, 2.0, 5.0])
def test_a_gaussian_secret_attains_it_by_augustins_iteration(alpha):
    """Discretised: min over all centres Q of E D_α(W_X ‖ Q), X Gaussian, by Augustin's fixed point."""
    ratio = 2.0
    x = np.linspace(-8.0, 8.0, 241) * math.sqrt(ratio)
    prior = np.exp(-(x**2) / (2 * ratio))
    prior /= prior.sum()
    y = np.linspace(-22.0, 22.0, 1201)
    step = y[1] - y[0]
    rows = np.exp(-((y - x[:, None]) ** 2) / 2) / math.sqrt(2 * math.pi) * step + 1e-300
    q, powers = prior @ rows, rows**alpha
    for _ in range(400):
        rest = q ** (1.0 - alpha)
        new = ((prior / (powers @ rest)) @ powers) * rest
        # For large orders the plain iteration swings: half a step in the exponent settles it.
        q = q ** (1 - 1 / max(alpha, 1.0)) * new ** (1 / max(alpha, 1.0))
        q /= q.sum()
    told = float(prior @ (np.log(powers @ q ** (1.0 - alpha)) / (alpha - 1.0)))
    assert abs(told - gaussian_power_capacity(alpha, ratio).upper) < 1e-6


def test_orders_rise_and_a_clipped_secret_is_told_less():
    before = 0.0
    for alpha in (0.1, 0.5, 1.0, 1.5, 4.0, 100.0, math.inf):
        bound = capacity(Gaussian(1.0), Renyi(alpha), PowerConstraint(2.0))
        assert bound.upper >= before
        before = bound.lower
    for reach in (0.5, 2.0, 8.0):
        # A secret in [0, 2C] about its middle is no longer than C.
        amplitude = capacity(Gaussian(1.0, 2 * reach), Renyi(1.0), AllPriors())
        assert amplitude.lower <= capacity(Gaussian(1.0), Renyi(1.0), PowerConstraint(reach**2)).upper


def test_units_and_nothing_to_tell():
    two = capacity(Gaussian(3.0), Renyi(2.0), PowerConstraint(18.0)).upper
    assert math.isclose(two, capacity(Gaussian(1.0), Renyi(2.0), PowerConstraint(2.0)).upper, rel_tol=1e-14)
    assert capacity(Gaussian(3.0), Renyi(2.0), PowerConstraint(0.0)).upper == 0.0
    many = capacity(Gaussian(1.0), Renyi(1.0), PowerConstraint(1.0, dimensions=10**6)).upper
    assert 0.4999 < many < 0.5


def test_laplace_noise_by_the_information_of_a_gaussian_secret():
    """I(X; X + N) = h(X + N) − h(N) with a Gaussian X, on a fine grid: between the two ends."""
    for power in (0.5, 2.0, 20.0):
        bound = capacity(Laplace(1.0), Renyi(1.0), PowerConstraint(power))
        z = np.linspace(-60.0, 60.0, 24_001)
        step = z[1] - z[0]
        noise = np.exp(-np.abs(z)) / 2
        secret = np.exp(-(z**2) / (2 * power)) / math.sqrt(2 * math.pi * power)
        output = np.convolve(secret, noise, mode="same") * step
        entropy = -float((output * np.log(np.maximum(output, 1e-300))).sum()) * step
        told = entropy - (1.0 + math.log(2.0))
        assert bound.lower - 1e-4 <= told <= bound.upper + 1e-4


def test_a_finite_channel_takes_squares_as_costs():
    rng = np.random.default_rng(2)
    rows = rng.dirichlet(np.ones(4), size=3)
    channel = Channel(rows, inputs=[-2, 0, 1])
    assert capacity(channel, Renyi(1.0), PowerConstraint(0.7)) == capacity(
        channel, Renyi(1.0), InputCost((4.0, 0.0, 1.0), 0.7)
    )


def test_what_a_step_of_gradient_descent_tells():
    """By hand: d/2·ln(1 + q/(dz²)) a step; no more than the divergence from absence where all take part."""
    curve = RenyiCurve(noise_multiplier=0.8, rate=Fraction(1), steps=50, replace=False)
    for dimensions in (1, 5, 200):
        truth = 50 * dimensions / 2 * math.log1p(1 / (dimensions * 0.64))
        assert truth <= curve.power_nats(dimensions) <= truth * (1 + 1e-9)
        assert curve.power_nats(dimensions) <= curve.presence(1.0) * (1 + 1e-9)
    rare = RenyiCurve(noise_multiplier=0.8, rate=Fraction(1, 100), steps=50, replace=False)
    assert rare.power_nats(5) >= 50 * 2.5 * math.log1p(0.01 / (5 * 0.64))
    assert rare.presence(1.0) < rare.power_nats(5)


def test_noise_on_a_lattice_tells_what_noise_on_the_reals_does():
    """Integers under discrete Gaussian noise, their squares priced: ½ ln(1 + P/σ²) but for a rounding."""
    sigma, power = 2.0, 9.0
    x = np.arange(-12, 13)
    y = np.arange(-45, 46)
    rows = np.exp(-((y - x[:, None]) ** 2) / (2 * sigma**2))
    channel = Channel(rows / rows.sum(axis=1, keepdims=True), inputs=x.tolist())
    told = capacity(channel, Renyi(1.0), PowerConstraint(power))
    formula = gaussian_power_capacity(1.0, power / sigma**2).upper
    assert formula - 1e-3 <= told.lower <= formula * (1 + 1e-12)


def test_what_is_refused():
    channel = Channel(np.eye(2), inputs=["a", "b"])
    with pytest.raises(InvalidParameter, match="finite numbers"):
        capacity(channel, Renyi(1.0), PowerConstraint(1.0))
    with pytest.raises(InvalidParameter, match="dimensions"):
        capacity(Channel(np.eye(2)), Renyi(1.0), PowerConstraint(1.0, 2))
    with pytest.raises(InvalidParameter, match="Renyi"):
        capacity(Gaussian(1.0), HockeyStick(1.0), PowerConstraint(1.0))
    with pytest.raises(InvalidParameter, match="mutual information"):
        capacity(Laplace(1.0), Renyi(2.0), PowerConstraint(1.0))
    with pytest.raises(InvalidParameter, match="power"):
        PowerConstraint(-1.0)
    with pytest.raises(InvalidParameter, match="dimensions"):
        PowerConstraint(1.0, 0)
