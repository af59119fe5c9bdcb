"""Certified optima against duality and brute force at fifty digits."""

from __future__ import annotations

import math

import flint
import mpmath as mp
import numpy as np
import pytest

from leakcap.definition import KLDP, MIDP, ApproxDP, DeltaDP, RenyiDP, convert
from leakcap.definition.binary import divergence_profile, shannon_profile


@pytest.fixture(autouse=True)
def _digits() -> None:
    mp.mp.dps = 50


def kl(p: mp.mpf, q: mp.mpf) -> mp.mpf:
    return sum(a * mp.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)


def renyi(alpha: mp.mpf, p: mp.mpf, q: mp.mpf) -> mp.mpf:
    if alpha == 1:
        return kl(p, q)
    return mp.log(p**alpha * q ** (1 - alpha) + (1 - p) ** alpha * (1 - q) ** (1 - alpha)) / (alpha - 1)


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0.439589), (0.5, 0.329776), (1, 0.276403), (2, 0.250165)])
def test_values_as_printed(epsilon: float, delta: float) -> None:
    assert convert(MIDP(0.1), ApproxDP, epsilon=epsilon).delta == pytest.approx(delta, abs=5.1e-7)


def logit(p: mp.mpf) -> mp.mpf:
    return mp.log(p / (1 - p))


def centre(a: mp.mpf, b: mp.mpf) -> mp.mpf:
    """The q at equal divergence from both rows, by bisection."""
    low, high = b, a
    for _ in range(180):
        q = (low + high) / 2
        low, high = (q, high) if kl(a, q) > kl(b, q) else (low, q)
    return (low + high) / 2


def dual_bound(a: mp.mpf, b: mp.mpf, kappa: mp.mpf, big: mp.mpf) -> mp.mpf:
    """Lagrangian bound on max a − Ab with capacity ≤ κ, from a guessed optimum; valid for any guess."""
    q = centre(a, b)
    prior = (q - b) / (a - b)
    u = logit(a) - logit(q)
    weight = 1 / (u * prior)
    v = big / (weight * (1 - prior))

    def gap(x: mp.mpf) -> mp.mpf:
        s = 1 / (1 + mp.exp(-x - u))
        t = 1 / (1 + mp.exp(-x + v))
        return prior * s + (1 - prior) * t - 1 / (1 + mp.exp(-x))

    x = mp.findroot(gap, (logit(q), logit(q) + mp.mpf("1e-6")), tol=mp.mpf("1e-80"), maxsteps=100)
    s, t, m = 1 / (1 + mp.exp(-x - u)), 1 / (1 + mp.exp(-x + v)), 1 / (1 + mp.exp(-x))
    information = prior * kl(s, m) + (1 - prior) * kl(t, m)
    return s - big * t - weight * (information - kappa)


@pytest.mark.parametrize("kappa", [1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.69])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 0.1, 0.5, 1.0, 2.0])
def test_capacity_profile_is_enclosed_by_its_dual(kappa: float, epsilon: float) -> None:
    bound = shannon_profile(kappa, epsilon)
    a, b = (mp.mpf(w) for w in bound.witness)
    big = mp.exp(mp.mpf(epsilon))
    assert kl(a, centre(a, b)) <= mp.mpf(kappa) * (1 + mp.mpf("1e-6"))
    dual = dual_bound(a, b, mp.mpf(kappa), big)
    # The dual bounds every channel; our interval must reach it and may not be wider than rounding.
    assert bound.lower <= dual * (1 + mp.mpf("1e-13"))
    assert abs(bound.upper - dual) <= mp.mpf("1e-12") * dual + mp.mpf("3e-14") * a
    assert bound.upper >= dual * (1 - mp.mpf("1e-15"))


def test_capacity_profile_beats_no_channel_of_that_capacity() -> None:
    rng = np.random.default_rng(7)
    tested = 0
    for _ in range(60):
        a, b = sorted(rng.beta(0.5, 0.5, size=2), reverse=True)
        if a - b < 1e-6:
            continue
        q = centre(mp.mpf(a), mp.mpf(b))
        kappa = float(kl(mp.mpf(a), q))
        for epsilon in (0.0, 0.3, 1.5):
            assert a - math.exp(epsilon) * b <= shannon_profile(kappa, epsilon).upper * (1 + 1e-9)
            tested += 1
    assert tested > 100


def test_a_bit_is_vacuous_and_nothing_is_nothing() -> None:
    assert convert(MIDP(math.log(2.0)), ApproxDP, epsilon=1.0).delta == 1.0
    assert convert(MIDP(5.0), DeltaDP).delta == 1.0
    assert convert(MIDP(0.0), ApproxDP, epsilon=0.0).delta == 0.0


@pytest.mark.parametrize("kappa", [1e-12, 1e-4, 0.1, 0.6])
def test_total_variation_is_the_profile_at_zero(kappa: float) -> None:
    delta = convert(MIDP(kappa), DeltaDP).delta
    assert shannon_profile(kappa, 0.0).upper == pytest.approx(delta, rel=1e-12)
    p = (1 - mp.mpf(delta)) / 2
    assert abs(mp.log(2) + p * mp.log(p) + (1 - p) * mp.log(1 - p) - kappa) <= 1e-12 * kappa
    assert delta <= math.sqrt(2 * kappa)


@pytest.mark.parametrize("kappa", [1e-9, 0.1, 1.0, 5.0])
def test_divergence_to_total_variation_is_attained_by_randomised_response(kappa: float) -> None:
    delta = convert(KLDP(kappa), DeltaDP).delta
    p = (1 + mp.mpf(delta)) / 2
    assert abs(kl(p, 1 - p) - kappa) <= 1e-12 * kappa
    assert divergence_profile(1.0, kappa, 0.0).upper == pytest.approx(delta, rel=1e-11)
    assert delta <= min(math.sqrt(kappa / 2), math.sqrt(-math.expm1(-kappa)))


def brute(alpha: float, level: float, epsilon: float) -> mp.mpf:
    """Ternary search over logit q with an inner bisection, in balls: concavity is the only thing used."""

    def apart(p: flint.arb, q: flint.arb) -> flint.arb:
        if alpha == 1.0:
            return p * (p / q).log() + (1 - p) * ((1 - p) / (1 - q)).log()
        powers = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
        return powers.log() / (order - 1)

    def value(u: flint.arb) -> flint.arb:
        q = 1 / (1 + (-u).exp())
        low, high = u, u + 60
        for _ in range(70):
            middle = ((low + high) / 2).mid()
            p = 1 / (1 + (-middle).exp())
            fits = all(one.mid() <= cap for one in (apart(p, q), apart(q, p)))
            low, high = (middle, high) if fits else (low, middle)
        return 1 / (1 + (-low).exp()) - big * q

    with flint.ctx.workprec(120):
        order, cap, big = flint.arb(alpha), flint.arb(level), flint.arb(epsilon).exp()
        low, high = flint.arb(-20), flint.arb(5)
        for _ in range(48):
            one, two = (low + (high - low) / 3).mid(), (high - (high - low) / 3).mid()
            low, high = (one, high) if value(one).mid() < value(two).mid() else (low, two)
        mantissa, exponent = value(((low + high) / 2).mid()).mid().man_exp()
    return mp.ldexp(mp.mpf(int(mantissa)), int(exponent))


@pytest.mark.parametrize(
    ("alpha", "level", "epsilon"), [(1.0, 0.3, 0.5), (2.0, 0.5, 1.0), (8.0, 0.8, 1.0), (1.5, 0.05, 0.2)]
)
def test_one_order_profile_against_brute_force(alpha: float, level: float, epsilon: float) -> None:
    bound = divergence_profile(alpha, level, epsilon)
    want = brute(alpha, level, epsilon)
    assert bound.lower * (1 - 1e-11) <= want <= bound.upper * (1 + 1e-11)
    assert bound.width < 1e-13


@pytest.mark.parametrize("alpha", [1.01, 1.5, 2.0, 5.0, 32.0, 1000.0])
def test_one_order_profile_sharpens_the_published_one(alpha: float) -> None:
    for level in (1e-6, 0.01, 0.5, 3.0):
        for epsilon in (0.0, 0.1, 1.0, 5.0, 40.0):
            exact = convert(RenyiDP(alpha, level), ApproxDP, epsilon=epsilon).delta
            log_delta = (alpha - 1) * (level - epsilon + math.log1p(-1 / alpha)) - math.log(alpha)
            assert 0.0 < exact <= max(math.exp(min(log_delta, 0.0)) * (1 + 1e-9), 1e-323)


def test_pairs_at_any_order_stay_below_the_profile() -> None:
    rng = np.random.default_rng(11)
    tested = 0
    for _ in range(60):
        p, q = rng.beta(0.4, 0.4, size=2)
        for alpha in (1.0, 1.3, 2.0, 20.0):
            level = float(
                max(renyi(mp.mpf(alpha), mp.mpf(p), mp.mpf(q)), renyi(mp.mpf(alpha), mp.mpf(q), mp.mpf(p)))
            )
            if not 1e-9 < level < 100.0:
                continue
            epsilon = float(tested % 2)
            assert p - math.exp(epsilon) * q <= divergence_profile(alpha, level, epsilon).upper + 1e-12
            tested += 1
    assert tested > 200


@pytest.mark.parametrize("epsilon", [30.0, 100.0, 700.0])
def test_huge_epsilon_leaves_the_z_channel(epsilon: float) -> None:
    """With b = 0 the cap κ allows q = 1−e^{−κ} and the a with D(a‖q) = κ."""
    for kappa in (1e-6, 0.1, 0.5):
        q = 1 - mp.exp(-mp.mpf(kappa))
        low, high = q, mp.mpf(1)
        for _ in range(160):
            a = (low + high) / 2
            low, high = (a, high) if kl(a, q) <= kappa else (low, a)
        assert abs(shannon_profile(kappa, epsilon).upper - low) <= 1e-12 * low
