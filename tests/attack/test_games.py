"""Every attack twice, and the lecture's regression: with leakcap's guard the promise is kept."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import laplace

from leakcap.attack import Finding, Played, games, lecture_regression, reused_noise, ridge_regression
from leakcap.errors import InvalidParameter
from seeded import SeededSource


@pytest.fixture(scope="module")
def pairs() -> tuple[tuple[Finding, Finding], ...]:
    return games(0.5, rounds=500, generator=np.random.default_rng(1), source=SeededSource(1))


def spread(found: Finding) -> float:
    """Five standard deviations of a played game, false alarm below 3·10⁻⁷; reconstruction has 60 bits."""
    if isinstance(found, Played):
        return 5 * found.spread
    return 5 * 0.5 / math.sqrt(60) if "reconstruction" in found.attack else 1e-12


def test_without_the_guard_each_gets_what_nobody_may(pairs: tuple[tuple[Finding, Finding], ...]) -> None:
    assert len(pairs) == 10
    for without, guarded in pairs:
        assert without.got > without.at_most + spread(without), without.attack
        assert without.got > guarded.got, without.attack


def test_with_the_guard_each_stays_within_it(pairs: tuple[tuple[Finding, Finding], ...]) -> None:
    assert len(pairs) == 10
    for _, guarded in pairs:
        assert guarded.got <= guarded.at_most + spread(guarded), guarded.attack


def test_pads_of_their_own_tell_nothing() -> None:
    assert reused_noise(4, fresh=True).got == pytest.approx(0.0, abs=1e-14)
    assert reused_noise(4).got == pytest.approx(math.log(4.0))


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("people", [10, 1000])
def test_the_regression_by_integrating_densities(epsilon: float, people: int) -> None:
    """Success by SciPy's Laplace law at the midpoint of the two minimisers."""
    claimed = 2 * (1.0 + 1.0 * 0.01**2) / people
    found = lecture_regression(epsilon, people=people)
    assert found.claimed == pytest.approx(claimed)
    assert found.moved == 2.0
    assert found.got == pytest.approx(laplace.cdf(1.0, scale=claimed / epsilon), abs=1e-12)
    assert found.epsilon_really == pytest.approx(epsilon * 2.0 / claimed)
    assert found.got > found.at_most
    safe = ridge_regression(epsilon, people=people)
    theta = 0.01 * 1.0 / (0.01**2 + 0.1 * people)  # the quotient by hand
    assert safe.moved == pytest.approx(2 * theta, rel=1e-12)
    assert safe.got == pytest.approx(laplace.cdf(theta, scale=safe.claimed / epsilon), abs=1e-12)
    assert safe.got <= safe.at_most
    assert safe.epsilon_really <= epsilon


def test_the_regression_by_playing() -> None:
    """2000 releases behind Laplace noise of the lecture's scale: the side of zero names the table."""
    found, generator = lecture_regression(0.01), np.random.default_rng(2)
    truth = generator.choice([-1.0, 1.0], size=2000)
    noisy = truth + generator.laplace(scale=found.claimed / found.epsilon, size=2000)
    assert abs((np.sign(noisy) == truth).mean() - found.got) < 5 * 0.5 / math.sqrt(2000)
    assert found.got > 0.99


def test_bad_parameters() -> None:
    for call in (
        lambda: games(0.0, generator=np.random.default_rng(0)),
        lambda: games(0.5, rounds=0, generator=np.random.default_rng(0)),
        lambda: lecture_regression(0.0),
        lambda: lecture_regression(1.0, people=0),
        lambda: ridge_regression(1.0, ridge=-1.0),
    ):
        with pytest.raises(InvalidParameter):
            call()
