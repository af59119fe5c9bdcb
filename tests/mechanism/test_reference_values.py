"""Closed forms against fifty-digit integrals and sums, published values and enumeration."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import mpmath as mp
import numpy as np
import pytest

from leakcap.adversary import AllPriors, Neighbours
from leakcap.capacities import capacity
from leakcap.channel import Channel
from leakcap.divergence import HockeyStick, Renyi, TotalVariation
from leakcap.errors import InvalidParameter
from leakcap.mechanism import (
    BinaryErasure,
    BinarySymmetric,
    BitVector,
    CuffYuExample51,
    DiscreteGaussian,
    Exponential,
    Gaussian,
    HadamardResponse,
    Laplace,
    Mechanism,
    OneTimePadPair,
    PermuteAndFlip,
    PlanarGeometric,
    PlanarLaplace,
    RandomisedResponse,
    Staircase,
    SubsetSelection,
    TruncatedGeometric,
    TwoSidedGeometric,
    ZChannel,
)
from leakcap.mechanism.orders import bounded_range_capacity

ORDERS = (0.3, 0.5, 1 - 1e-9, 1 + 1e-12, 1 + 1e-6, 1.5, 2.0, 8.0, 64.0)
INFINITE = Renyi(math.inf)


def near(found: float, expected: mp.mpf, relative: float = 1e-12) -> bool:
    return bool(abs(found - expected) <= relative * abs(expected))


def diameter(mechanism: Mechanism, alpha: float) -> float:
    return capacity(mechanism, Renyi(alpha)).upper


# theory.md


def test_the_geometric_channel_and_randomised_response_of_fernandes_mciver_and_sadeghi() -> None:
    g, r = TruncatedGeometric(2, math.log(2)), RandomisedResponse(3, math.log(3))
    assert capacity(g, INFINITE).upper == pytest.approx(math.log(4), abs=1e-15)
    assert capacity(g, INFINITE, AllPriors()).upper == pytest.approx(math.log(5 / 3), abs=1e-14)
    assert capacity(r, INFINITE, AllPriors()).upper == pytest.approx(math.log(9 / 5), abs=1e-14)
    assert abs(capacity(r, Renyi(1), AllPriors()).upper - 0.1483417494) < 1e-10
    shannon = capacity(g, Renyi(1), AllPriors())
    exact = 2 / 3 * math.log(8 / 5) + 1 / 6 * math.log(2 / 5)  # the two end rows, 0.16062063085
    assert shannon.lower - 1e-12 <= exact <= shannon.upper + 1e-12
    assert shannon.width < 1e-8


def test_two_sided_geometric_at_shift_one_is_binary_randomised_response() -> None:
    for epsilon in (0.1, 1.0, 4.0):
        noise, coin = TwoSidedGeometric(1 / epsilon), RandomisedResponse(2, epsilon)
        for order in Renyi.examples():
            for adversary in (Neighbours(), AllPriors()):
                a, b = capacity(noise, order, adversary), capacity(coin, order, adversary)
                assert a.upper == pytest.approx(b.upper, rel=1e-12, abs=1e-15)


def test_laplace_kl_and_capacity_at_one() -> None:
    assert abs(capacity(Laplace(1.0), Renyi(1)).upper - 0.36787944117144233) < 1e-15
    assert abs(capacity(Laplace(1.0), Renyi(1), AllPriors()).upper - 0.0885196402) < 1e-9


def test_bounded_range_capacity_reproduces_the_table() -> None:
    table = {0.1: 0.00124982643, 0.5: 0.03114209226, 1: 0.12330156148, 2: 0.47447464707, 4: 1.66984963351}
    assert all(abs(bounded_range_capacity(Renyi(1), e) - v) < 1e-11 for e, v in table.items())
    second = {0.5: 0.06185960725, 1: 0.24022901392, 4: 2.65000549472}
    assert all(abs(bounded_range_capacity(Renyi(2), e) - v) < 1e-11 for e, v in second.items())
    assert abs(bounded_range_capacity(Renyi(8), 1) - 0.63545939857) < 1e-11


def test_subset_selection_attains_the_bounded_range_capacity_as_k_grows() -> None:
    d = 1 / -math.expm1(-1.0)
    sizes = range(300_000, 700_000, 2_000)
    best = max(capacity(SubsetSelection(10**6, s, 1.0), Renyi(1), AllPriors()).upper for s in sizes)
    assert best <= d - 1 - math.log(d) + 1e-15
    assert best == pytest.approx(d - 1 - math.log(d), rel=1e-5)


def test_erasure_is_tight_for_total_variation() -> None:
    for delta in (0.1, 0.5):
        erasure = BinaryErasure(1 - delta)
        assert capacity(erasure, TotalVariation()).upper == pytest.approx(delta, abs=1e-15)
        assert capacity(erasure, Renyi(1), AllPriors()).upper == pytest.approx(delta * math.log(2), abs=1e-15)


def test_cuff_and_yu_example_5_1_protects_one_and_not_two() -> None:
    for m in (2, 4, 8):
        example = CuffYuExample51(m, 0.25)
        for known in (0, m - 1):
            alone = capacity(example.entry(known), Renyi(1), AllPriors())
            assert alone.lower <= 0.25 * math.log(2) + 1e-9
            assert alone.upper >= 0.25 * math.log(2) - 1e-9
        both = capacity(example.channel(), Renyi(1), AllPriors())
        assert abs(both.lower - 0.25 * math.log(m + 1)) < 1e-9
        assert capacity(example, HockeyStick(1.0), example.replace_one()).upper == pytest.approx(0.25)
    assert 0.25 * math.log(2) in CuffYuExample51(10**6, 0.25).entry_capacity()


def test_the_pad_leaks_nothing_twice_and_all_together() -> None:
    pad = OneTimePadPair(4)
    full = pad.channel().matrix.reshape(4, 4, 4)
    assert np.array_equal(full.sum(axis=2), pad.first().matrix)
    assert np.array_equal(full.sum(axis=1), pad.second().matrix)
    assert capacity(pad.first() & pad.second(), Renyi(1), AllPriors()).upper < 1e-9
    assert capacity(pad, Renyi(1), AllPriors()).upper == pytest.approx(math.log(4), abs=1e-15)


# fifty digits


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 5.0, 300.0])
@pytest.mark.parametrize("alpha", ORDERS)
def test_laplace_renyi(alpha: float, epsilon: float) -> None:
    with mp.workdps(60):
        a, e = mp.mpf(alpha), mp.mpf(epsilon)
        if alpha == 0.5:
            moment = (1 + e / 2) * mp.exp(-e / 2)
        else:
            moment = (a * mp.exp((a - 1) * e) + (a - 1) * mp.exp(-a * e)) / (2 * a - 1)
        assert near(diameter(Laplace(1.0, epsilon), alpha), mp.log(moment) / (a - 1))


def test_laplace_renyi_by_integration() -> None:
    with mp.workdps(30):
        for alpha, e in ((0.25, 1), (2, 1), (8, 2)):
            moment = mp.quad(
                lambda y, a=alpha, e=e: mp.exp(-a * abs(y) - (1 - a) * abs(y - e)) / 2,
                [-mp.inf, 0, e, mp.inf],
            )
            assert near(diameter(Laplace(1.0, e), alpha), mp.log(moment) / (mp.mpf(alpha) - 1))


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.3, 1.0, 5.0, 20.0, 1000.0])
@pytest.mark.parametrize("t", [-3.0, -0.5, -1e-9, 0.0, 1e-9, 0.1, 1.0, 3.0, 30.0, 300.0])
def test_gaussian_hockey_stick(mu: float, t: float) -> None:
    gamma = math.exp(t)
    with mp.workdps(80):
        m, g = mp.mpf(mu), mp.mpf(gamma)
        s = mp.log(g)
        expected = mp.ncdf(m / 2 - s / m) - g * mp.ncdf(-m / 2 - s / m)
        found = capacity(Gaussian(1.0, mu), HockeyStick(gamma)).upper
        assert abs(found - expected) <= 1e-12 * abs(expected) + mp.mpf("1e-300")


def test_gaussian_curves() -> None:
    assert diameter(Gaussian(2.0, 3.0), 5.0) == pytest.approx(5 * 2.25 / 2, rel=1e-15)
    assert math.isinf(capacity(Gaussian(1.0), INFINITE).lower)
    with mp.workdps(30):
        top = mp.log(1 + 1 / mp.sqrt(2 * mp.pi))
        assert near(capacity(Gaussian(1.0), INFINITE, AllPriors()).upper, top)


@pytest.mark.parametrize("sigma", [0.05, 0.3, 0.7, 1.0, 3.0])
@pytest.mark.parametrize("alpha", [*ORDERS, 1.0])
def test_discrete_gaussian_renyi(alpha: float, sigma: float) -> None:
    with mp.workdps(60):
        a, s = mp.mpf(alpha), mp.mpf(sigma)
        reach = range(-int(alpha + 30 * sigma) - 20, 40 + int(30 * sigma))
        logs = [(-(mp.mpf(y) ** 2) / (2 * s * s), -((mp.mpf(y) - 1) ** 2) / (2 * s * s)) for y in reach]
        total = mp.fsum(mp.exp(p) for p, _ in logs)
        if alpha == 1.0:
            expected = mp.fsum(mp.exp(p) * (p - q) for p, q in logs) / total
        else:
            expected = mp.log(mp.fsum(mp.exp(a * p + (1 - a) * q) for p, q in logs) / total) / (a - 1)
        assert near(diameter(DiscreteGaussian(sigma), alpha), expected, 1e-11)


@pytest.mark.parametrize(("sigma", "shift"), [(0.3, 1), (1.0, 1), (4.0, 3), (20.0, 1)])
def test_discrete_gaussian_hockey_stick(sigma: float, shift: int) -> None:
    with mp.workdps(40):
        s = mp.mpf(sigma)
        reach = range(-int(45 * sigma) - 20, int(45 * sigma) + 20)
        p = {y: mp.exp(-(mp.mpf(y) ** 2) / (2 * s * s)) for y in range(reach.start - shift, reach.stop)}
        total = mp.fsum(p.values())
        for gamma in (0.0, 0.25, 1.0, 1.5, math.e, 20.0, 1e6):
            expected = mp.fsum(max(p[y] - gamma * p[y - shift], 0) for y in reach) / total
            found = capacity(DiscreteGaussian(sigma, shift), HockeyStick(gamma)).upper
            assert abs(found - expected) <= 1e-11 * expected + 5e-324


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 2.5, 16.0, 300.0])
@pytest.mark.parametrize("alpha", [*ORDERS, 1.0])
def test_planar_laplace_renyi_is_a_sum_of_bessel_functions(alpha: float, epsilon: float) -> None:
    with mp.workdps(60):
        c, a = mp.mpf(epsilon) / 2, mp.mpf(alpha)
        k0, k1, kappa = mp.besselk(0, c), mp.besselk(1, c), (2 * a - 1) * c
        if alpha == 1.0:
            expected = 2 * c * c * (k1 * mp.besseli(1, c) + k0 * mp.besseli(2, c))
        else:
            ratio = mp.besseli(1, kappa) / kappa if kappa else mp.mpf("0.5")
            expected = mp.log(c * k1 * mp.besseli(0, kappa) + c * c * k0 * ratio) / (a - 1)
        assert near(diameter(PlanarLaplace(1.0, epsilon), alpha), expected)


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 16.0, 300.0])
def test_planar_laplace_total_variation_is_the_chance_of_the_nearer_half_plane(epsilon: float) -> None:
    with mp.workdps(20):
        h = mp.mpf(epsilon) / 2
        points = mp.linspace(0, mp.pi / 2, 9)
        far = mp.quad(lambda v: (1 + h / mp.cos(v)) * mp.exp(-h / mp.cos(v)), points) / mp.pi
        found = capacity(PlanarLaplace(epsilon), TotalVariation()).upper
        assert abs(found - (1 - 2 * far)) < 1e-13


def test_planar_laplace_maximal_leakage_over_a_disc() -> None:
    with mp.workdps(30):
        r = mp.mpf("1.5")
        outside = mp.quad(lambda v: mp.exp(-(v - r)) * v, [r, mp.inf])
        found = capacity(PlanarLaplace(1.0, 3.0), INFINITE, AllPriors()).upper
        assert near(found, mp.log(r * r / 2 + outside))


def test_z_channel_capacity() -> None:
    for p in (0.1, 0.5, 0.9):
        with mp.workdps(30):
            q = mp.mpf(p)
            expected = mp.log(1 + (1 - q) * q ** (q / (1 - q)))
            assert near(capacity(ZChannel(p), Renyi(1), AllPriors()).upper, expected)
            assert near(capacity(ZChannel(p), INFINITE, AllPriors()).upper, mp.log(2 - q))


def test_binary_symmetric_is_randomised_response() -> None:
    rr = RandomisedResponse(2, 1.0)
    bsc = BinarySymmetric(1 / (1 + math.e))
    assert np.allclose(rr.channel().matrix, bsc.channel().matrix, rtol=1e-15)
    assert bsc.claim() == pytest.approx(1.0, rel=1e-15)


def test_rappor_and_optimised_unary_encoding() -> None:
    assert BitVector.rappor(4, 0.5).epsilon == pytest.approx(2 * math.log(3), rel=1e-15)
    bits = BitVector(3, math.log(3), True).channel().matrix[0].reshape(2, 2, 2)
    assert np.allclose(bits.sum(axis=(1, 2)), [0.5, 0.5])
    assert np.allclose(bits.sum(axis=(0, 1)), [0.75, 0.25])
    assert BitVector(1000, 1.0).exact(Renyi(1), AllPriors()).upper < 0.1233015615


@pytest.mark.parametrize("losses", [(0, 1, 2), (0, 0, 3, 1), (2, 0, 1, 1, 5)])
def test_permute_and_flip_by_enumeration(losses: tuple[int, ...]) -> None:
    p = [Fraction(1, 2) ** loss for loss in losses]
    law = [Fraction(0)] * len(p)
    orders = list(permutations(range(len(p))))
    for order in orders:
        left = Fraction(1, len(orders))
        for y in order:
            law[y] += left * p[y]
            left *= 1 - p[y]
    scores = (tuple(-v for v in losses), tuple(-v for v in losses))
    found = PermuteAndFlip(scores, 2 * math.log(2), 1).channel().matrix[0]
    assert np.allclose(found, [float(v) for v in law], rtol=1e-13)


def test_permute_and_flip_never_scores_worse_than_exponential() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        scores = tuple(map(tuple, rng.normal(size=(3, 6)).round(3).tolist()))
        flip, soft = PermuteAndFlip(scores, 1.0).channel().matrix, Exponential(scores, 1.0).channel().matrix
        assert ((flip * scores).sum(axis=1) >= (soft * scores).sum(axis=1) - 1e-12).all()


def test_staircase_is_optimal_at_its_own_step() -> None:
    def expected_noise(gamma: float) -> float:
        s, steps = math.exp(-1.0), range(60)
        a = (1 - s) / (2 * (gamma + s * (1 - gamma)))
        parts = ((s**k, k, k + gamma, k + 1) for k in steps)
        return sum(a * w * ((m * m - lo * lo) + s * (hi * hi - m * m)) for w, lo, m, hi in parts)

    best = expected_noise(Staircase(1.0).step)
    assert best < expected_noise(Staircase(1.0).step + 0.01)
    assert best < expected_noise(Staircase(1.0).step - 0.01)
    assert best < 1.0  # Laplace noise of the same ε
    # Geng & Viswanath 2014, theorem 4: e^(ε/2)/(e^ε − 1).
    assert best == pytest.approx(math.exp(0.5) / (math.e - 1), rel=1e-12)


def test_planar_geometric_keeps_its_metric_privacy() -> None:
    for mechanism in PlanarGeometric.examples():
        channel = mechanism.channel()
        logs = np.log(channel.matrix)
        cells = np.array(channel.inputs, dtype=float)
        distance = np.hypot(*(cells[:, None] - cells).transpose(2, 0, 1))
        gap = np.abs(logs[:, None] - logs).max(axis=2)
        assert (gap <= mechanism.epsilon * distance * (1 + 1e-9) + 1e-12).all()


def test_geometric_listed_pairs_are_those_of_the_farthest() -> None:
    mechanism = TruncatedGeometric(6, 0.4)
    for pairs in (((0, 1),), ((2, 3), (5, 3)), ((4, 4),), ((6, 1), (0, 2))):
        for ruler in (*Renyi.examples(), *HockeyStick.examples(), TotalVariation()):
            found = capacity(mechanism, ruler, Neighbours(pairs))
            expected = capacity(mechanism.channel(), ruler, Neighbours(pairs))
            assert found.upper == pytest.approx(expected.upper, rel=1e-9, abs=1e-13)
    with pytest.raises(InvalidParameter):
        capacity(mechanism, INFINITE, Neighbours(((0, 7),)))


def test_a_whole_table_of_ten_thousand_people_does_not_overflow() -> None:
    table = TwoSidedGeometric(1.0, 10_000)
    with mp.workdps(40):
        n, s = 10_000, mp.exp(-1)
        a = mp.mpf(2)
        terms = [mp.exp(-(a * j + (1 - a) * (n - j))) * (1 - s) / (1 + s) for j in range(1, n)]
        ends = [mp.exp(-(1 - a) * n) / (1 + s), mp.exp(-a * n) / (1 + s)]
        assert near(diameter(table, 2.0), mp.log(mp.fsum(terms + ends)))
    assert capacity(table, INFINITE).upper == 10_000.0
    assert capacity(table, TotalVariation()).upper == pytest.approx(1.0)


def test_wide_discrete_gaussian_noise_stays_certified() -> None:
    for sigma, shift in ((2e5, 1000), (1e8, 10**8), (1e6, 1)):
        noise, smooth = DiscreteGaussian(sigma, shift), Gaussian(sigma, float(shift))
        for gamma in (0.5, 1.0, 1.5, math.e):
            found, limit = capacity(noise, HockeyStick(gamma)), capacity(smooth, HockeyStick(gamma)).upper
            # The laws differ by half a step at most, a change of less than 0.4·(1+γ)/σ.
            assert found.width < 1e-10
            assert found.lower - (1 + gamma) / sigma <= limit <= found.upper + (1 + gamma) / sigma
        for order in Renyi.examples():
            both = capacity(noise, order, AllPriors())
            assert 0 <= both.lower <= both.upper <= math.log1p(shift / sigma)


def test_the_wide_formula_meets_the_sum() -> None:
    noise = DiscreteGaussian(9e4, 50_000)
    for gamma in (0.7, 1.0, 1.3):
        low, high = noise._by_distribution_function(gamma)
        found = capacity(noise, HockeyStick(gamma))
        assert low <= found.lower <= found.upper <= high


def test_orders_of_a_table_too_large_to_solve() -> None:
    large = TwoSidedGeometric(1.0, 5000)
    shannon = capacity(large, Renyi(1), AllPriors())
    for order in Renyi.examples():
        found = capacity(large, order, AllPriors())
        assert 0 < found.lower <= found.upper <= capacity(large, INFINITE, AllPriors()).upper + 1e-9
        if order.alpha > 1:
            assert found.lower >= shannon.lower * (1 - 1e-9)


BAD = [
    lambda: RandomisedResponse(1, 1.0),
    lambda: RandomisedResponse(2, 0.0),
    lambda: RandomisedResponse(2, math.nan),
    lambda: RandomisedResponse(2, 1e4),
    lambda: TruncatedGeometric(0, 1.0),
    lambda: TwoSidedGeometric(-1.0),
    lambda: TwoSidedGeometric(1.0, 0),
    lambda: Laplace(0.0),
    lambda: Laplace(1.0, 1e4),
    lambda: Gaussian(math.inf),
    lambda: Gaussian(-1.0),
    lambda: DiscreteGaussian(math.nan),
    lambda: Staircase(1.0, gamma=1.5),
    lambda: SubsetSelection(4, 4, 1.0),
    lambda: BitVector(1, 1.0),
    lambda: BitVector(30, 1.0).channel(),
    lambda: BitVector.rappor(3, 0.0),
    lambda: SubsetSelection(60, 30, 1.0).channel(),
    lambda: Exponential((), 1.0),
    lambda: Exponential(((1.0,), (1.0, 2.0)), 1.0),
    lambda: Exponential(((math.nan, 0.0),), 1.0),
    lambda: Exponential(((1.0, 1.0),), 1.0),
    lambda: BinaryErasure(1.1),
    lambda: BinarySymmetric(math.nan),
    lambda: ZChannel(-0.1),
    lambda: CuffYuExample51(1, 0.5),
    lambda: OneTimePadPair(1),
    lambda: PlanarLaplace(0.0),
    lambda: PlanarGeometric(1, 1, 1.0),
    lambda: PlanarGeometric(3, 3, 0.001),
    lambda: PlanarGeometric(100, 100, 1.0).channel(),
    lambda: RandomisedResponse(10**6, 1.0).channel(),
    lambda: HadamardResponse(10**6, 1.0).channel(),
    lambda: TwoSidedGeometric(1.0, 10**6).channel(),
    lambda: CuffYuExample51(10**4, 0.5).channel(),
    lambda: OneTimePadPair(10**4).channel(),
    lambda: Laplace(1.0).channel(),
    lambda: DiscreteGaussian(1.0).channel(),
]


@pytest.mark.parametrize("build", BAD)
def test_bad_parameters_are_refused(build: object) -> None:
    with pytest.raises(InvalidParameter, match=r"must|has no"):
        build()


def test_a_channel_of_the_statistic_is_a_channel() -> None:
    assert isinstance(TwoSidedGeometric(2.0, 3).channel(), Channel)
    assert TwoSidedGeometric(2.0, 3).statistic(np.array([-5, 2, 9])).tolist() == [0, 2, 3]
