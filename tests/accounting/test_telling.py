"""The most telling answers and guesses among many, by sorting outcomes and by fifty-digit arithmetic."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from leakcap.accounting import PrivacyLoss, guess_among, most_telling
from leakcap.errors import InvalidChannel
from leakcap.mechanism import Gaussian, RandomisedResponse

mp = mpmath.mp.clone()
mp.dps = 50


def phi(x: object) -> mpmath.mpf:
    return mp.ncdf(x)


def quantile(p: object) -> mpmath.mpf:
    return mp.sqrt(2) * mp.erfinv(2 * mp.mpf(p) - 1)


def sorted_out(p: NDArray[np.float64], q: NDArray[np.float64], share: float) -> float:
    """ln P(E)/Q(E), E taking outcomes by their ratio until P(E) is the share, the last in part."""
    got_p = got_q = 0.0
    for i in np.argsort(-p / q):
        part = min(1.0, (share - got_p) / p[i])
        got_p, got_q = got_p + part * p[i], got_q + part * q[i]
        if part < 1.0:
            break
    return math.log(share / got_q)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("share", [0.01, 0.05, 0.4])
def test_most_telling_by_sorting(seed: int, share: float) -> None:
    draw = np.random.default_rng(seed)
    p, q = draw.dirichlet(np.ones(6)), draw.dirichlet(np.ones(6))
    exact = sorted_out(p, q, share)
    found = most_telling(PrivacyLoss.of_rows(p, q), share)
    assert exact - 1e-12 <= found.upper <= exact + 1e-6


@pytest.mark.parametrize("mu", [1e-4, 0.3, 1.0, 5.0, 30.0])
def test_most_telling_of_gaussian_noise(mu: float) -> None:
    exact = float(mp.log(mp.mpf("0.05") / phi(-(mp.mpf(mu) - quantile("0.05")))))
    found = most_telling(PrivacyLoss.of_mechanism(Gaussian(1.0, mu)))
    assert exact * (1 - 1e-13) <= found.upper <= exact * (1 + 1e-9)


def test_where_doubles_end_the_bound_is_infinite() -> None:
    assert most_telling(PrivacyLoss.of_mechanism(Gaussian(1.0, 60.0))).upper == math.inf
    assert most_telling(PrivacyLoss.of_rows([0.5, 0.5], [0.0, 1.0])).upper == math.inf


@pytest.mark.parametrize("values", [2, 3, 20, 1000])
def test_guesses_of_randomised_response_attain_the_bound(values: int) -> None:
    noise = RandomisedResponse(values, 1.0)
    loss = PrivacyLoss.of_rows(
        [math.e / (1 + math.e), 1 / (1 + math.e)], [1 / (1 + math.e), math.e / (1 + math.e)]
    )
    assert guess_among(loss, values).upper == pytest.approx(float(np.max(noise.channel().matrix)), rel=1e-9)


@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("values", [2, 3, 10])
def test_guesses_through_gaussian_noise(mu: float, values: int) -> None:
    """Values a line apart are guessed right as often as integrals say; two of them attain the bound."""
    gap = mp.mpf(mu) / (values - 1)
    right = (1 + (values - 1) * (2 * phi(gap / 2) - 1)) / values
    found = guess_among(PrivacyLoss.of_mechanism(Gaussian(1.0, mu)), values)
    assert found.upper >= right
    if values == 2:
        assert found.upper == pytest.approx(float(right), rel=1e-9)


def test_a_guess_is_a_probability_that_a_test_between_two_values_attains() -> None:
    loss = PrivacyLoss.of_rows([0.75, 0.25], [0.25, 0.75])
    found = guess_among(loss, 2)
    assert found.unit == "probability"
    assert found.lower <= 0.75 <= found.upper
    assert found.width < 1e-12
    assert guess_among(loss, 4).lower == pytest.approx(1.5 / 4)


def test_rows_are_refused_for_what_is_wrong_with_them() -> None:
    with pytest.raises(InvalidChannel, match=r"must not be negative\. Got -1\.8e-17"):
        PrivacyLoss.of_rows([1.0, -1.8e-17], [0.5, 0.5])
    with pytest.raises(InvalidChannel, match="must be finite"):
        PrivacyLoss.of_rows([math.nan, 1.0], [0.5, 0.5])
    with pytest.raises(InvalidChannel, match="must sum to 1"):
        PrivacyLoss.of_rows([0.5, 0.6], [0.5, 0.5])
