"""A loss as curves, against closed forms, the likelihood-ratio test of listed outcomes, and itself."""

from __future__ import annotations

import math

import altair
import numpy as np
import pytest
from mpmath import mp, mpf

from accounting.truth import gaussian, hockey_stick, listed
from leakcap.accounting import PrivacyLoss, guess_success, power
from leakcap.accounting.power import powers
from leakcap.errors import InvalidParameter
from leakcap.mechanism import Gaussian, Laplace

NORMAL = PrivacyLoss.of_mechanism(Gaussian(20.0)) ** 400
P, Q = [0.6, 0.3, 0.0, 0.1], [0.2, 0.5, 0.3, 0.0]
LEVELS = (0.0, 1e-6, 1e-3, 0.05, 0.2, 0.5, 0.7, 0.95, 1.0)


def normal_power(level: float) -> mpf:
    if level in (0.0, 1.0):
        return mpf(level)
    return mp.ncdf(mp.sqrt(2) * mp.erfinv(2 * mpf(level) - 1) + 1)


def listed_power(p: list[float], q: list[float], times: int, level: float) -> float:
    """Outcomes by their ratio, largest first, until the level is spent."""
    outcomes = sorted(listed([(p, q)] * times), key=lambda o: o[0] / o[1] if o[1] else math.inf, reverse=True)
    found, spent = 0.0, 0.0
    for a, b in outcomes:
        share = 1.0 if b == 0.0 else min(1.0, max(0.0, (level - spent) / b))
        found, spent = found + share * a, spent + share * b
    return found


def test_true_positives_of_gaussians() -> None:
    found = NORMAL.profile(tolerance=1e-5).true_positives(LEVELS)
    for level, bound in zip(LEVELS, found, strict=True):
        assert bound.lower <= normal_power(level) <= bound.upper, level
        assert bound.width <= 1e-5 * bound.upper


@pytest.mark.parametrize("times", [1, 3])
def test_true_positives_of_rows_in_both_directions(times: int) -> None:
    loss = PrivacyLoss.of_rows(P, Q) ** times
    both, forward, back = (
        profile.true_positives(LEVELS)
        for profile in (loss.profile(), loss.profile().forward, loss.profile().backward)
    )
    for place, level in enumerate(LEVELS):
        there, here = listed_power(P, Q, times, level), listed_power(Q, P, times, level)
        for found, truth in ((forward, there), (back, here), (both, max(there, here))):
            assert found[place].lower - 1e-12 <= truth <= found[place].upper + 1e-12, level
            assert found[place].width <= 1e-4
    misses = loss.profile().trade_off(LEVELS)
    assert misses[4].lower <= 1.0 - both[4].upper + 1e-12


def test_a_planted_bug_in_the_chords_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the chords, the least over the nodes alone is no lower end."""
    plain = power._least

    def least_at_nodes(*given: np.ndarray) -> tuple[np.ndarray, ...]:
        _, most, place = plain(*given)
        return most, most, place

    monkeypatch.setattr(power, "_least", least_at_nodes)
    low, _ = powers(NORMAL.parts, np.array(LEVELS[1:-1]), 1e-5)
    assert any(found > normal_power(level) for found, level in zip(low, LEVELS[1:-1], strict=True))


def test_deltas_and_epsilons_of_both_directions() -> None:
    places = [-0.5, 0.0, 0.3, 1.0, 2.0]
    found = (PrivacyLoss.of_rows(P, Q) ** 2).profile().delta(places)
    for place, bound in zip(places, found, strict=True):
        truth = max(hockey_stick(listed([pair] * 2), place) for pair in ((P, Q), (Q, P)))
        assert bound.lower - 1e-12 <= truth <= bound.upper + 1e-12
    steps = PrivacyLoss.of_mechanism(Gaussian(1.0)).sampled(0.01) ** 1000
    for delta, bound in zip((1e-7, 1e-5), steps.profile().epsilon([1e-7, 1e-5]), strict=True):
        alone = steps.epsilon_both(delta)
        assert bound.lower <= alone.upper
        assert alone.lower <= bound.upper
    deltas = NORMAL.profile().delta(np.linspace(-2.0, 8.0, 200))
    for place, bound in zip(deltas.at.tolist(), deltas, strict=True):
        assert bound.lower <= gaussian(1.0, place) <= bound.upper
        assert bound.width <= 1e-4 * bound.upper


def test_advantage_reconstruction_and_the_guesser_agree() -> None:
    loss = PrivacyLoss.of_mechanism(Laplace(1.0)) ** 3
    profile = loss.profile()
    assert profile.advantage.midpoint == pytest.approx(2 * guess_success(loss).midpoint - 1, abs=1e-9)
    power = profile.true_positives(np.linspace(0.0, 1.0, 21))
    assert 0.95 * profile.advantage.upper <= (power.lower - power.at).max() <= profile.advantage.upper
    found = profile.reconstruction([1e-6, 0.1])
    assert found[0].upper <= math.exp(3.0) * 1e-6 * (1 + 1e-4)  # pure ε: e^ε times the prior's
    assert found[0].lower >= math.exp(3.0) * 1e-6 * (1 - 1e-3)
    assert found[1].upper < 1.0


@pytest.mark.parametrize("loss", [NORMAL, PrivacyLoss.of_rows(P, Q)])
def test_the_plot_is_vega_lite(loss: PrivacyLoss) -> None:
    drawn = loss.profile().plot()
    altair.Chart.from_dict(drawn)
    names = {row["curve"] for row in drawn["data"]["values"]}
    assert "δ" in names
    assert len(names) == (2 if loss.is_symmetric else 3)


@pytest.mark.parametrize("bad", [[math.nan], [[0.1]], [], [-0.1], [1.1], math.inf])
def test_refusals(bad: object) -> None:
    profile = PrivacyLoss.of_rows(P, Q).profile()
    for ask in (profile.true_positives, profile.trade_off, profile.reconstruction, profile.epsilon):
        with pytest.raises(InvalidParameter, match="`Profile`"):
            ask(bad)
    for wrong in (math.nan, math.inf, []):
        with pytest.raises(InvalidParameter, match="`epsilon` of `Profile`"):
            profile.delta(wrong)
    with pytest.raises(InvalidParameter, match="tolerance"):
        PrivacyLoss.of_rows(P, Q).profile(tolerance=0.0)
