"""Closed forms against theory.md's printed values and against its formulas at 400 digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import flint
import mpmath as mp
import pytest

from leakcap.definition import (
    KLDP,
    MIDP,
    ApproxDP,
    DeltaDP,
    GaussianDP,
    InformationPrivacy,
    LevelCapacity,
    LocalInformationPrivacy,
    MaximalLeakage,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
    convert,
)

EPSILONS = (
    1e-12,
    1e-9,
    1e-6,
    1e-4,
    1e-3,
    0.01,
    0.1,
    0.3,
    0.7,
    1.0,
    1.5,
    1.999,
    2.001,
    3.0,
    6.5,
    10.0,
    40.0,
    300.0,
    700.0,
)
ORDERS = (
    0.3,
    0.5,
    0.9,
    1 - 1e-9,
    1 + 1e-12,
    1 + 1e-9,
    1 + 1e-4,
    1.1,
    1.5,
    2.0,
    2.001,
    3.0,
    8.0,
    100.0,
    1e4,
    1e6,
)
RELATIVE = 1e-11


@pytest.fixture(autouse=True)
def _digits() -> None:
    mp.mp.dps = 60


def wide(function: Callable[[], mp.mpf]) -> mp.mpf:
    """Evaluate with so many digits that cancellation and e^{−700} cannot touch the first thirty."""
    with mp.workdps(400):
        return function()


def close(got: float, want: mp.mpf, relative: float = RELATIVE) -> bool:
    return bool(abs(mp.mpf(got) - want) <= relative * abs(want))


@pytest.mark.parametrize(
    ("epsilon", "nats"),
    [(0.1, 0.00124982643), (0.5, 0.03114209226), (1, 0.12330156148), (2, 0.47447464707), (4, 1.66984963351)],
)
def test_pure_to_mi_as_printed(epsilon: float, nats: float) -> None:
    assert convert(PureDP(epsilon), MIDP).nats == pytest.approx(nats, abs=6e-12)


@pytest.mark.parametrize(
    ("epsilon", "alpha", "nats"),
    [(0.5, 2, 0.06185960725), (1, 2, 0.24022901392), (4, 2, 2.65000549472), (1, 8, 0.63545939857)],
)
def test_level_as_printed(epsilon: float, alpha: float, nats: float) -> None:
    # The page prints …0725 for R_2(½), whose true digits are …07240 (see the test at 400 digits below).
    assert convert(PureDP(epsilon), LevelCapacity, alpha=alpha).nats == pytest.approx(nats, abs=2e-11)


def level_two_point(epsilon: float, alpha: float) -> mp.mpf:
    a, order = mp.exp(mp.mpf(epsilon)), mp.mpf(alpha)
    power = a**order
    f = ((power - 1) - order * (a - 1)) / ((order - 1) * (a - 1) * (power - 1))
    return mp.log((1 + f * (power - 1)) / (1 + f * (a - 1)) ** order) / (order - 1)


@pytest.mark.parametrize("alpha", ORDERS)
def test_level_keeps_its_digits(alpha: float) -> None:
    for epsilon in EPSILONS:
        if alpha * epsilon > 1e6:
            continue
        want = wide(lambda e=epsilon: level_two_point(e, alpha))
        got = convert(PureDP(epsilon), LevelCapacity, alpha=alpha).nats
        assert close(got, want), (epsilon, alpha, got, want)


@pytest.mark.parametrize("alpha", ORDERS)
def test_renyi_keeps_its_digits(alpha: float) -> None:
    for epsilon in EPSILONS:
        if alpha * epsilon > 1e6:
            continue

        def mironov(e: float = epsilon) -> mp.mpf:
            x, a = mp.mpf(e), mp.mpf(alpha)
            return mp.log((mp.sinh(a * x) - mp.sinh((a - 1) * x)) / mp.sinh(x)) / (a - 1)

        want = wide(mironov)
        got = convert(PureDP(epsilon), RenyiDP, alpha=alpha).epsilon
        assert close(got, want), (epsilon, alpha, got, want)


def entropy_of(p: mp.mpf) -> mp.mpf:
    return -p * mp.log(p) - (1 - p) * mp.log(1 - p)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_consequences_of_pure_keep_their_digits(epsilon: float) -> None:
    def values() -> list[mp.mpf]:
        e = mp.mpf(epsilon)
        a = mp.exp(e)
        d = e / (1 - mp.exp(-e))
        return [
            d - 1 - mp.log(d),
            mp.log(2) - entropy_of(a / (1 + a)),
            e * (a - 1) / (a + 1),
            (a - 1) / (a + 1),
            mp.log(7 * a / (a + 6)),
            e + mp.log(1 - (1 - 1 / a) / 5),
        ]

    source = PureDP(epsilon)
    got = [
        convert(source, MIDP).nats,
        convert(source, MIDP, values=2).nats,
        convert(source, KLDP).nats,
        convert(source, DeltaDP).delta,
        convert(source, MaximalLeakage, values=7).nats,
        convert(source, LocalInformationPrivacy, values=5).epsilon,
    ]
    for g, w in zip(got, wide(values), strict=True):
        assert close(g, w), (g, w)
    assert convert(source, ZeroConcentratedDP).rho == got[2]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_pure_to_gaussian_meets_at_the_kink(epsilon: float) -> None:
    mu = convert(PureDP(epsilon), GaussianDP).mu
    with mp.workdps(400):
        # Φ(−μ/2) = 1/(1+e^ε); the relative error of μ is that of the logit divided by the slope.
        half = mp.mpf(mu) / 2
        inside = mp.erf(half / mp.sqrt(2)) if epsilon < 1 else mp.log(mp.erfc(half / mp.sqrt(2)) / 2)
        a = mp.exp(mp.mpf(epsilon))
        want = (a - 1) / (a + 1) if epsilon < 1 else -mp.log(1 + a)
        assert abs(inside - want) <= 1e-12 * abs(want)


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1.0, 5.0, 50.0])
@pytest.mark.parametrize("delta", [0.0, 1e-9, 0.1, 0.9])
def test_profiles_of_the_dominating_pair(epsilon: float, delta: float) -> None:
    a = wide(lambda: mp.exp(mp.mpf(epsilon)))
    for share in (0.0, 0.3, 0.999, 1.0, 2.0):
        at = share * epsilon
        b = mp.exp(mp.mpf(at))
        want = 1 - (b + 1) * (1 - mp.mpf(delta)) / (a + 1) if at < epsilon else mp.mpf(delta)
        got = convert(ApproxDP(epsilon, delta), ApproxDP, epsilon=at)
        assert got.epsilon == at
        assert abs(got.delta - want) <= 1e-14 + 1e-9 * abs(want) * (share == 0.999)
        if delta == 0.0:
            assert convert(PureDP(epsilon), ApproxDP, epsilon=at).delta == pytest.approx(got.delta, rel=1e-12)


@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.2])
def test_epsilon_at_delta_reads_the_profile_backwards(delta: float) -> None:
    for source in (PureDP(1.5), ApproxDP(1.5, 1e-10)):
        there = convert(source, ApproxDP, delta=delta)
        assert there.delta == delta
        assert convert(source, ApproxDP, epsilon=there.epsilon).delta == pytest.approx(delta, rel=1e-6)


def test_delta_to_mi_beside_the_published_bounds() -> None:
    assert convert(DeltaDP(0.1), MIDP, values=5).nats == pytest.approx(0.1 * math.log(5), rel=1e-15)


def test_information_privacy_takes_the_least_of_three() -> None:
    assert convert(PureDP(0.5), InformationPrivacy).epsilon == 0.5
    assert convert(PureDP(0.5), InformationPrivacy, records=4).epsilon == 2.0
    assert convert(PureDP(0.5), InformationPrivacy, records=4, extent=0.25).epsilon == 0.75
    assert convert(PureDP(0.5), InformationPrivacy, records=math.inf, extent=0.25).epsilon == 0.75
    assert convert(InformationPrivacy(0.7, records=4), PureDP).epsilon == 0.7
    assert convert(LocalInformationPrivacy(0.7), PureDP).epsilon == 1.4


@pytest.mark.parametrize("mu", [1e-6, 0.01, 0.5, 1.0, 3.0, 10.0, 30.0])
@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1e-3, 0.5, 1.0, 5.0, 20.0])
def test_gaussian_profile_keeps_its_tail(mu: float, epsilon: float) -> None:
    def profile() -> mp.mpf:
        m, e = mp.mpf(mu), mp.mpf(epsilon)
        return mp.ncdf(-e / m + m / 2) - mp.exp(e) * mp.ncdf(-e / m - m / 2)

    if epsilon / mu > 35:
        return  # beyond the range of doubles; see the test of underflow
    want = wide(profile)
    got = convert(GaussianDP(mu), ApproxDP, epsilon=epsilon).delta
    assert close(got, want, 1e-11), (mu, epsilon, got, want)
    if 1e-300 < want < 1:
        back = convert(GaussianDP(mu), ApproxDP, delta=float(want)).epsilon
        with mp.workdps(220):
            slope = mp.exp(mp.mpf(epsilon)) * mp.ncdf(-mp.mpf(epsilon) / mu - mp.mpf(mu) / 2)
            assert abs(back - epsilon) <= 1e-9 * (1 + epsilon) + 1e-11 * want / slope


def test_gaussian_profile_is_never_an_untrue_zero() -> None:
    assert convert(GaussianDP(0.01), ApproxDP, epsilon=50.0).delta > 0.0
    assert convert(GaussianDP(0.0), ApproxDP, epsilon=0.0).delta == 0.0


@pytest.mark.parametrize("mu", [1e-4, 0.3, 1.0, 4.0])
def test_other_consequences_of_gaussian(mu: float) -> None:
    source = GaussianDP(mu)
    assert close(convert(source, DeltaDP).delta, wide(lambda: 2 * mp.ncdf(mp.mpf(mu) / 2) - 1))
    assert convert(source, RenyiDP, alpha=3.0).epsilon == pytest.approx(1.5 * mu * mu, rel=1e-15)
    square = Fraction(mu) ** 2 / 2  # the least double that is not below it
    assert convert(source, KLDP).nats == convert(source, ZeroConcentratedDP).rho >= square
    assert math.nextafter(convert(source, KLDP).nats, 0.0) < square


@pytest.mark.parametrize("mu", [0.01, 1.0, 4.0, 12.0, 19.0])
@pytest.mark.parametrize("k", [2, 3, 50])
def test_gaussian_against_the_mixture(mu: float, k: int) -> None:
    """∫ p ln(p/(p/k + (1 − 1/k)q)) by balls; q/p = e^(m²/2 − mz)."""

    def integrand(z: flint.acb, analytic: bool) -> flint.acb:
        below = share + (1 - share) * (m * m / 2 - m * z).exp()
        return -(-(z - m) * (z - m) / 2).exp() * below.log(analytic=analytic)

    with flint.ctx.workprec(100):
        m, share = flint.arb(mu), 1 / flint.arb(k)
        ends = [flint.acb(m + off) for off in (-12, -4, -1, 0, 1, 4, 12)]
        parts = [flint.acb.integral(integrand, *some) for some in pairwise(ends)]
        found = sum(parts, start=flint.acb(0)).real / (2 * flint.arb.pi()).sqrt()
        assert found.rad() < 1e-12 * found
        want = mp.mpf(float(found))
    assert close(convert(GaussianDP(mu), MIDP, values=k).nats, want, 1e-10)


@pytest.mark.parametrize("epsilon", [1e-7, 1e-3, 0.5, 1.0, 4.0, 60.0])
@pytest.mark.parametrize("k", [2, 3, 10, 1000])
def test_approximate_to_mi_of_k_values(epsilon: float, k: int) -> None:
    def bound() -> mp.mpf:
        p = 1 / (1 + mp.exp(-mp.mpf(epsilon)))
        q = 1 - p
        share = mp.mpf(1) / k
        spread = p * mp.log(p / (share * p + (1 - share) * q)) + q * mp.log(q / (share * q + (1 - share) * p))
        return mp.mpf("0.2") * mp.log(k) + mp.mpf("0.8") * spread

    from leakcap.definition import implications

    edge = next(e for e in implications(ApproxDP, MIDP) if e.name == "approximate_to_mi")
    got = edge(ApproxDP(epsilon, 0.2), values=k)
    assert isinstance(got, MIDP)
    assert close(got.nats, wide(bound), 1e-12)
    zero = edge(ApproxDP(epsilon, 0.0), values=k)
    assert isinstance(zero, MIDP)
    with mp.workdps(220):
        assert close(zero.nats, (bound() - mp.mpf("0.2") * mp.log(k)) / mp.mpf("0.8"), 1e-11)
