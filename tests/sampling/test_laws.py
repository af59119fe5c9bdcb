"""Samples against the exact laws; every test of fit is shown to catch planted bugs.

Seeds are fixed; a test of fit fails below p = 10⁻⁶, a moment beyond 5 standard errors (p < 6·10⁻⁷).
"""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from leakcap.sampling import bernoulli_exp, discrete_gaussian, discrete_laplace, uniform_below
from leakcap.sampling.bernoulli import whole_nats
from seeded import ALARM, SeededSource, discrete_gaussian_chi_square, discrete_laplace_chi_square

COUNT = 200_000
SCALES = [
    Fraction(1),
    Fraction(10),
    Fraction(10, 3),
    Fraction(1, 3),
    Fraction(7, 2),
    Fraction(1000),
    Fraction(123_456_789, 1 << 20),
    Fraction((1 << 60) - 1, 1 << 51),
    Fraction(10 << 32),
    Fraction(1 << 45),
]
VARIANCES = [
    Fraction(100),
    Fraction(1),
    Fraction(1, 4),
    Fraction(50, 7),
    Fraction(1 << 40),
    Fraction(10**21, 3),
]


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_discrete_laplace_has_its_law(scale: Fraction) -> None:
    assert discrete_laplace_chi_square(discrete_laplace(scale, COUNT, SeededSource(1)), scale) > ALARM


def test_a_tiny_scale_gives_no_noise() -> None:
    """At 1/1000 anything but 0 has probability below 10⁻⁴³³."""
    assert not discrete_laplace(Fraction(1, 1000), COUNT, SeededSource(2)).any()


def test_a_scale_of_a_tenth_is_rarely_off_zero() -> None:
    """P(Z ≠ 0) = 2q/(1+q), q = e⁻¹⁰: 90.8 of a million, standard deviation 9.5."""
    assert 43 < np.count_nonzero(discrete_laplace(Fraction(1, 10), 1_000_000, SeededSource(3))) < 139


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_discrete_laplace_moments(scale: Fraction) -> None:
    """E Z = 0; E Z² = 2q/(1−q)²; E Z⁴ = 2q(1 + 11q + 11q² + q³)/((1+q)(1−q)⁴), from the series Σ k⁴ qᵏ."""
    with mpmath.workdps(60):
        q = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        second = float(2 * q / (1 - q) ** 2)
        fourth = float(2 * q * (1 + 11 * q + 11 * q**2 + q**3) / ((1 + q) * (1 - q) ** 4))
    samples = discrete_laplace(scale, COUNT, SeededSource(4)).astype(float)
    assert abs(samples.mean()) < 5 * (second / COUNT) ** 0.5
    assert abs((samples**2).mean() - second) < 5 * ((fourth - second**2) / COUNT) ** 0.5


@pytest.mark.parametrize("scale", [Fraction(10 << 32), Fraction((1 << 60) - 1, 1 << 20)], ids=str)
def test_low_order_bits_are_uniform(scale: Fraction) -> None:
    """At scales above 2³⁵ the residue modulo 64 is uniform to 10⁻⁹: nothing shows below the noise."""
    counts = np.bincount(discrete_laplace(scale, COUNT, SeededSource(5)) % 64, minlength=64)
    assert chi2.sf(((counts - COUNT / 64) ** 2).sum() / (COUNT / 64), 63) > ALARM


def test_consecutive_draws_are_independent() -> None:
    """Correlation of neighbours, within and across blocks, is below 5 standard errors."""
    samples = discrete_laplace(Fraction(10), COUNT, SeededSource(6)).astype(float)
    assert abs(np.corrcoef(samples[1:], samples[:-1])[0, 1]) < 5 / COUNT**0.5
    assert abs(np.corrcoef(abs(samples[1:]), abs(samples[:-1]))[0, 1]) < 5 / COUNT**0.5


def test_single_draws_have_the_law_too() -> None:
    source = SeededSource(7)
    samples = np.concatenate([discrete_laplace(Fraction(7, 2), 1, source) for _ in range(5000)])
    assert discrete_laplace_chi_square(samples, Fraction(7, 2)) > ALARM


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_discrete_gaussian_has_its_law(variance: Fraction) -> None:
    assert (
        discrete_gaussian_chi_square(discrete_gaussian(variance, COUNT // 2, SeededSource(8)), variance)
        > ALARM
    )


def test_small_and_large_integers_give_the_gaussian_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The route through Python integers, forced where 64 bits would do."""
    monkeypatch.setattr("leakcap.sampling.gaussian._MAX_ROOT", -1)
    assert (
        discrete_gaussian_chi_square(discrete_gaussian(Fraction(100), COUNT // 4, SeededSource(9)), 100)
        > ALARM
    )


@pytest.mark.parametrize(
    ("numerator", "denominator"), [(1, 3), (3, 3), (7, 3), (0, 5), (1, 1 << 62), (5 << 59, 1 << 62)]
)
@pytest.mark.parametrize("dtype", [np.int64, object])
def test_bernoulli_exp_frequency(numerator: int, denominator: int, dtype: type) -> None:
    coins = bernoulli_exp(np.full(COUNT, numerator, dtype=dtype), denominator, SeededSource(10))
    p = float(mpmath.exp(-mpmath.mpf(numerator) / denominator))
    assert abs(coins.mean() - p) <= 5 * (p * (1 - p) / COUNT) ** 0.5 + 1e-15


def test_bernoulli_exp_keeps_each_probability_with_its_entry() -> None:
    numerators = np.tile(np.arange(20), COUNT // 20)
    means = bernoulli_exp(numerators, 8, SeededSource(11)).reshape(-1, 20).mean(axis=0)
    p = np.exp(-np.arange(20) / 8)
    assert (abs(means - p) <= 5 * (p * (1 - p) / (COUNT // 20)) ** 0.5).all()


def test_whole_nats_are_geometric() -> None:
    nats = whole_nats(COUNT, SeededSource(12))
    p = np.exp(-np.arange(1, 9))
    share = np.array([(nats >= k).mean() for k in range(1, 9)])
    assert (abs(share - p) < 5 * (p * (1 - p) / COUNT) ** 0.5).all()


def test_uniform_below_takes_a_bound_for_each() -> None:
    bounds = np.tile(np.array([1, 2, 3, 10, 3 << 60]), COUNT // 5)
    draws = uniform_below(bounds, COUNT, SeededSource(13)).reshape(-1, 5)
    assert (draws >= 0).all()
    assert (draws < bounds[:5]).all()
    counts = np.bincount(draws[:, 3], minlength=10)
    assert chi2.sf(((counts - COUNT / 50) ** 2).sum() / (COUNT / 50), 9) > ALARM
    assert abs((draws[:, 4] < 1 << 60).mean() - 1 / 3) < 5 * (2 / 9 / (COUNT / 5)) ** 0.5


# Planted bugs.


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_a_halved_scale_is_caught(scale: Fraction) -> None:
    half = discrete_laplace(scale / 2, COUNT, SeededSource(18))
    assert discrete_laplace_chi_square(half, scale) < ALARM


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_a_sign_bias_of_five_in_a_hundred_is_caught(scale: Fraction) -> None:
    samples = discrete_laplace(scale, COUNT, SeededSource(14))
    flip = (samples > 0) & (np.random.default_rng(14).random(COUNT) < 0.1)
    assert discrete_laplace_chi_square(np.where(flip, -samples, samples), scale) < ALARM


def two_sided_geometric(scale: float, zero_twice: bool) -> NDArray[np.int64]:
    """The textbook sampler in floats, with the classical bug of counting 0 with both signs, or without."""
    rng = np.random.default_rng(15)
    magnitude = rng.geometric(1 - np.exp(-1 / scale), 2 * COUNT) - 1
    sign = rng.integers(0, 2, 2 * COUNT) * 2 - 1
    kept = np.full(2 * COUNT, True) if zero_twice else (magnitude > 0) | (sign > 0)
    return (sign * magnitude)[kept]


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(10, 3), Fraction(10)], ids=str)
def test_counting_zero_twice_is_caught(scale: Fraction) -> None:
    assert discrete_laplace_chi_square(two_sided_geometric(float(scale), zero_twice=False), scale) > ALARM
    assert discrete_laplace_chi_square(two_sided_geometric(float(scale), zero_twice=True), scale) < ALARM


def test_skipping_the_remainder_coin_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole nats with a uniform remainder have nearly the right variance, and the wrong law."""
    monkeypatch.setattr("leakcap.sampling.laplace.bernoulli_exp", lambda n, d, source: np.full(n.shape, True))
    assert discrete_laplace_chi_square(discrete_laplace(Fraction(10), COUNT, SeededSource(16)), 10) < ALARM


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_a_wrong_sigma_is_caught(variance: Fraction) -> None:
    wrong = discrete_gaussian(variance * Fraction(11, 10), COUNT, SeededSource(17))
    assert discrete_gaussian_chi_square(wrong, variance) < ALARM
