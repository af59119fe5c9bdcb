"""A pass in bins or shuffled: against quadrature, all orders of small tables, and samples."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pytest
from flint import acb, arb, ctx

from leakcap.accounting import LossBracket, PrivacyLoss, balls_in_bins, shuffled
from leakcap.errors import InvalidParameter
from leakcap.mechanism import Gaussian, Laplace


def noise(sigma: float) -> PrivacyLoss:
    return PrivacyLoss.of_mechanism(Gaussian(sigma))


@cache
def binned(sigma: float, bins: int) -> LossBracket:
    return balls_in_bins(noise(sigma), bins)


def two_bins(mu: float, epsilon: float, back: bool) -> arb:
    """E[(S − γ)₊], or E[(1 − γS)₊], for the mean S of two lognormals: the inner one in closed form.

    With a W of the inner one, E[(W − k)₊] is 1 − k for k ≤ 0, and less than k more for a k that is hardly
    larger: so from 10⁻¹² before the place where k is 0 on, which moves all of it by less than 10⁻²³.
    """
    with ctx.workprec(80):
        m, gamma, root = arb(mu), arb(epsilon).exp(), arb(2).sqrt()

        def inner(x: acb, positive: bool) -> acb:
            w = (m * x - m * m / 2).exp()
            k = 2 / gamma - w if back else 2 * gamma - w
            call = 1 - k
            if positive:
                near, far = ((k.log() / m + half) / root for half in (-m / 2, m / 2))
                call = (near.erfc() - k * far.erfc()) / 2
            told = gamma / 2 * (call - (1 - k)) if back else call / 2
            return (-x * x / 2).exp() / (2 * arb.pi()).sqrt() * told

        kink = ((2 / gamma if back else 2 * gamma).log() + m * m / 2) / m - arb(10) ** -12
        cut = min(kink, arb(12))
        parts = [(acb(-12), acb(cut), True), *([(acb(cut), acb(12), False)] if kink < 12 else [])]
        found = arb(0)
        for low, high, side in parts:
            told = acb.integral(lambda x, _, side=side: inner(x, side), low, high, abs_tol=arb(2) ** -60)
            found += told.real
        assert found.rad() < 1e-16
        return found


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("sigma", [0.8, 1.0, 2.0, 5.0])
def test_two_bins_by_quadrature(sigma: float, back: bool) -> None:
    found = binned(sigma, 2)
    found = found.reverse if back else found
    for epsilon in (-0.3, 0.0, 0.1, 0.5, 1.5):
        truth, bound = two_bins(1.0 / sigma, epsilon, back), found.delta(epsilon)
        assert bound.lower - 1e-15 <= truth <= bound.upper + 1e-15
        assert bound.width <= (1e-4 if sigma >= 1.0 else 1e-2)


def test_a_hundred_bins_by_samples_and_a_planted_bug() -> None:
    """4·10⁵ samples, six standard errors: a false alarm in 5·10⁸ for each of four places."""
    rng, mu, bins, size = np.random.default_rng(5), 1.0, 100, 400_000
    total = np.zeros(size)
    for _ in range(bins):
        total += np.exp(mu * rng.standard_normal(size) - mu * mu / 2)
    ratio = total / bins
    found, poisson = binned(1.0, bins), noise(1.0).sampled(1 / bins) ** bins
    caught = 0
    for epsilon in (0.0, 0.1, 0.2, 0.3):
        gains = np.maximum(ratio - math.exp(epsilon), 0.0)
        error = 6.0 * float(gains.std()) / math.sqrt(size)
        bound = found.delta(epsilon)
        assert bound.lower - error <= gains.mean() <= bound.upper + error
        assert bound.width <= 0.01 * bound.upper
        caught += not bound.lower <= poisson.delta(epsilon).midpoint <= bound.upper
    # The loss of Poisson samples is another one.
    assert caught == 4


def test_bins_lie_below_what_is_known_and_compose() -> None:
    one = binned(1.0, 100)
    found = one.epsilon(1e-5)
    assert found.width <= 2e-3 * found.upper
    assert found.upper < (noise(1.0).sampled(0.01) ** 100).epsilon(1e-5).lower
    ten = (one**10).epsilon(1e-5)
    assert ten.width <= 0.01 * ten.upper
    assert found.upper < ten.lower < 10 * found.upper
    both = (one & one & noise(3.0)).epsilon(1e-5)
    assert (one**2).epsilon(1e-5).upper < both.lower
    assert binned(1.0, 1).epsilon(1e-6).midpoint == noise(1.0).epsilon(1e-6).midpoint
    # Noise that one batch gives away is wide, and the interval says so; it never passes the noise's own.
    steep = binned(0.4, 1000)
    assert steep.epsilon_both(1e-6).upper <= noise(0.4).epsilon(1e-6).upper


PLANE = np.linspace(-9.0, 9.0, 721)


def orders(table: list[float | None], sigma: float) -> np.ndarray:
    """The density of two batches' noisy sums, over all orders of four records; None adds nothing."""
    law = np.zeros((PLANE.size, PLANE.size))
    splits = list(itertools.permutations(range(len(table))))
    for order in splits:
        values = [table[k] or 0.0 for k in order]
        means = (sum(values[:2]), sum(values[2:]))
        rows = [np.exp(-0.5 * ((PLANE - m) / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi)) for m in means]
        law += np.outer(*rows)
    return law / len(splits)


def test_all_orders_of_small_tables_lie_below_and_some_above() -> None:
    sigma, cell = 1.0, (PLANE[1] - PLANE[0]) ** 2
    found = shuffled(noise(sigma), 2)
    best: dict[tuple[bool, float], float] = {}
    for others in itertools.product((-1.0, 0.0, 1.0), repeat=3):
        with_me, without_me = (orders([*others, mine], sigma) for mine in (1.0, None))
        for back, (p, q) in ((False, (with_me, without_me)), (True, (without_me, with_me))):
            for epsilon in (0.0, 0.5, 1.0, 2.0):
                delta = float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum() * cell)
                best[back, epsilon] = max(best.get((back, epsilon), 0.0), delta)
    for (back, epsilon), delta in best.items():
        bound = (found.reverse if back else found).delta(epsilon)
        assert bound.lower - 1e-4 <= delta <= bound.upper + 1e-4, (back, epsilon)
        assert bound.lower > 0.3 * delta
    assert len(best) == 8


def test_shuffling_costs_nearly_as_much_as_no_shuffling_where_noise_is_small() -> None:
    found = shuffled(noise(0.5), 1000).epsilon_both(1e-6)
    assert found.upper == pytest.approx(noise(0.5).epsilon(1e-6).upper)
    assert found.lower > 0.99 * found.upper
    # Poisson samples of the same noise would be told less, which is why they may not be charged instead.
    assert (noise(0.5).sampled(0.001) ** 1000).epsilon_both(1e-6).upper < 0.6 * found.lower


def test_what_has_no_bracket_is_refused() -> None:
    for function, name in ((balls_in_bins, "bins"), (shuffled, "batches")):
        with pytest.raises(InvalidParameter, match=name):
            function(noise(1.0), 0)
        for wrong in (noise(1.0) ** 2, PrivacyLoss.of_mechanism(Laplace(1.0))):
            with pytest.raises(InvalidParameter, match="one query with Gaussian noise"):
                function(wrong, 5)
        with pytest.raises(InvalidParameter, match="4 standard deviations"):
            function(noise(0.2), 5)
    assert isinstance(binned(1.0, 3), LossBracket)
