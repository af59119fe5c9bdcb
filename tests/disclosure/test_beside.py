"""Noise of the same error: its variance by sums, and what it tells by a binary channel and by plain sums."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from leakcap.disclosure.beside import noise_of_error
from leakcap.errors import InvalidParameter

K = np.arange(-400, 401)


def law(decays: np.ndarray) -> np.ndarray:
    weights = np.exp(-decays)
    return np.asarray(weights / weights.sum())


def capacity_of(p: np.ndarray, q: np.ndarray) -> float:
    """Over the prior, by a search of one number."""

    def told(prior: float) -> float:
        mixed = prior * p + (1 - prior) * q
        parts = ((prior, p), (1 - prior, q))
        return -sum(
            w * float(np.sum(r[r > 1e-200] * np.log(r[r > 1e-200] / mixed[r > 1e-200]))) for w, r in parts
        )

    return -float(minimize_scalar(told, bounds=(0.01, 0.99), method="bounded", options={"xatol": 1e-12}).fun)


@pytest.mark.parametrize(
    "variance", [Fraction(1, 10), Fraction(2, 3), Fraction(4, 3), Fraction(3), Fraction(40)]
)
def test_it_has_the_variance_and_tells_what_plain_sums_say(variance: Fraction) -> None:
    laplace, gaussian = noise_of_error(variance)
    scale, sigma = float(laplace.mechanism.scale), float(gaussian.mechanism.sigma)  # type: ignore[union-attr]
    laws = law(abs(K) / scale), law(K**2 / (2 * sigma**2))
    for risk, own in zip((laplace, gaussian), laws, strict=True):
        assert float(own @ K**2) == pytest.approx(float(variance), rel=1e-10)
        moved = np.roll(own, 1)
        wanted = capacity_of(own, moved)
        assert risk.capacity.lower - 1e-8 <= wanted <= risk.capacity.upper + 1e-8
        success = (1 + abs(own - moved).sum() / 2) / 2
        assert risk.success(1).lower - 1e-9 <= success <= risk.success(1).upper + 1e-9
    assert laplace.epsilon.upper == pytest.approx(math.acosh(1 + 1 / float(variance)))
    assert gaussian.epsilon.lower == math.inf


def test_reference_noise_beside_the_published_tables() -> None:
    """Variance 3 and 1: ε .795, 1.317; .0732, .1774 nats of Laplace, .0400, .1114 of Gaussian noise."""
    for variance, epsilon, nats in ((3, 0.795, (0.0732, 0.0400)), (1, 1.317, (0.1774, 0.1114))):
        risks = noise_of_error(Fraction(variance))
        assert round(risks[0].epsilon.upper, 3) == epsilon
        assert tuple(round(risk.capacity.upper, 4) for risk in risks) == nats


@pytest.mark.parametrize("squared", [Fraction(0), Fraction(1, 1000), -1, True, math.nan, math.inf, "3"])
def test_other_errors_are_refused(squared: Fraction) -> None:
    with pytest.raises(InvalidParameter, match=r"between 0\.01 and"):
        noise_of_error(squared)


@pytest.mark.parametrize("variance", [Fraction(1, 10), Fraction(3), Fraction(133, 2)])
def test_sure_after_so_many_and_not_after_one_fewer(variance: Fraction) -> None:
    for risk in noise_of_error(variance):
        for chance in (0.5, 0.75, 0.95):
            times = risk.until(chance)
            assert times is not None
            assert risk.success(times).lower >= chance
            assert times == 1 or risk.success(times - 1).lower < chance
