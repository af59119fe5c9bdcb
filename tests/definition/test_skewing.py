"""The skew under a level-α cap: no channel beyond the cap is claimed, and none within it is missed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from leakcap.adversary import AllPriorsJoint
from leakcap.bound import Bound
from leakcap.capacities import capacity
from leakcap.channel import Channel
from leakcap.definition import skewing
from leakcap.definition.skewing import outcome_skew
from leakcap.divergence import Renyi
from leakcap.errors import InvalidParameter

PRIORS = np.unique(np.concatenate([np.linspace(1e-6, 0.5, 3001), np.geomspace(1e-13, 1e-3, 3001)]))[:, None]
NATS = (1e-6, 1e-3, 0.05, 0.1, 0.3, 0.5, 0.69, 0.8, 2.0, 9.0)
ALPHAS = (0.05, 0.5, 0.999, 1.0, 1.001, 1.7, 2.0, 2.001, 3.0, 8.0, 30.0, 400.0)
FINE = [pytest.param(nats, ALPHAS, marks=pytest.mark.slow) for nats in NATS]


def searched(first: np.ndarray, second: np.ndarray, alpha: float) -> float:
    """max over many priors of D_α(P_XY ‖ P_X × P_Y), straight from the definition; good to 1e-13 or so."""
    best, t = -math.inf, alpha - 1.0
    for a, b in ((first, second), (second, first)):
        a, b = a[(a > 0) | (b > 0)], b[(a > 0) | (b > 0)]
        q = PRIORS * a + (1 - PRIORS) * b
        shift = t * float(np.abs(np.log(a[b > 0] / b[b > 0])).max()) if t > 20.0 else 0.0
        total = np.zeros(PRIORS.shape[0])
        for weight, row in ((PRIORS, a), (1 - PRIORS, b)):
            some = row > 0
            log = np.log(row[some]) - np.log(q[:, some])
            told = log if t == 0.0 else np.exp(t * log - shift) if shift else np.expm1(t * log)
            total += (weight * row[some] * told).sum(axis=1)
        most = float(total.max()) if t >= 0.0 else float(total.min())
        best = max(
            best, most if t == 0.0 else (math.log(most) + shift) / t if shift else math.log1p(most) / t
        )
    return best


def symmetric(p: float) -> Channel:
    return Channel([[p, 1.0 - p], [1.0 - p, p]])


@pytest.mark.parametrize(("nats", "alphas"), [(0.1, (0.5, 1.0, 2.0, 8.0)), (0.8, (3.0, 400.0)), *FINE])
def test_the_channel_keeps_the_cap_and_a_little_more_breaks_it(
    nats: float, alphas: tuple[float, ...]
) -> None:
    tested = 0
    for alpha in alphas:
        found = outcome_skew(alpha, nats)
        p = found.lower
        assert capacity(symmetric(p), Renyi(alpha), AllPriorsJoint()).upper <= nats
        assert searched(np.array([p, 1 - p]), np.array([1 - p, p]), alpha) <= nats + 1e-12
        more = found.upper + 1e-4 * (1.0 - found.upper) * (2.0 * found.upper - 1.0)
        if found.upper < 1.0 and more < 1.0:
            assert searched(np.array([more, 1 - more]), np.array([1 - more, more]), alpha) > nats
            tested += 1
        assert found.width <= 1e-6 + 1e-2 * (found.upper - 0.5) * (nats < 1e-5)
    assert tested >= min(len(alphas), 2)


@pytest.mark.parametrize(
    ("alpha", "nats"), [(0.5, 0.01), (1.0, 0.1), (2.0, 0.2), (3.0, 1.0), (math.inf, 0.5)]
)
def test_few_channels_are_asked(alpha: float, nats: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """By halves alone it takes 38 to 51, and those next to the cap take longest."""
    asked: list[float] = []

    def counted(channel: Channel, *others: Any) -> Bound:
        asked.append(float(channel.matrix[0, 0]))
        return capacity(channel, *others)

    monkeypatch.setattr(skewing, "capacity", counted)
    found = outcome_skew(alpha, nats)
    assert 5 < len(asked) < 25
    assert found.lower in asked
    assert found.upper in asked


@pytest.mark.parametrize(("alpha", "nats", "p"), [(8.0, 0.5, 0.7376), (math.inf, 0.5, 0.622459)])
def test_references(alpha: float, nats: float, p: float) -> None:
    found = outcome_skew(alpha, nats)
    digits = len(str(p)) - 2
    assert round(found.lower, digits) == round(found.upper, digits) == p


@pytest.mark.parametrize("alpha", [1e10, 1e300, math.inf])
def test_huge_levels_are_epsilon(alpha: float) -> None:
    for epsilon in (1e-3, 0.5, 1.0, 5.0):
        truth = 1 / (1 + math.exp(-epsilon))
        found = outcome_skew(alpha, epsilon)
        assert found.lower - 1e-12 <= truth <= found.upper + 1e-12
        assert found.width < 1e-8


def test_certainty_costs_ln_2_up_to_level_two_and_everything_beyond() -> None:
    for alpha in (0.5, 1.0, 2.0):
        assert outcome_skew(alpha, 0.6932).lower == 1.0
    for alpha in (2.5, 8.0, math.inf):
        assert outcome_skew(alpha, 0.6932).upper < 1.0
        assert outcome_skew(alpha, math.inf).lower == 1.0
    for alpha in (0.5, math.inf):
        assert outcome_skew(alpha, 0.0).lower == outcome_skew(alpha, 0.0).upper == 0.5


@pytest.mark.parametrize("alpha", [0.3, 1.0, 1.5, 3.0, 20.0])
def test_no_channel_tilts_more(alpha: float) -> None:
    """Random pairs of rows, lopsided and with many outputs: an even guess succeeds with (1 + TV)/2."""
    rng = np.random.default_rng(int(10 * alpha))
    for size in (2, 2, 2, 3, 6):
        rows = rng.dirichlet(np.full(size, 0.7), size=2)
        nats = searched(rows[0], rows[1], alpha)
        success = 0.5 + 0.25 * float(np.abs(rows[0] - rows[1]).sum())
        assert success <= outcome_skew(alpha, nats + 1e-12).upper


@pytest.mark.parametrize(
    ("alpha", "nats"), [(0.0, 0.1), (-1.0, 0.1), (math.nan, 0.1), (2.0, -0.1), (2.0, math.nan)]
)
def test_bad_numbers_are_named(alpha: float, nats: float) -> None:
    with pytest.raises(InvalidParameter, match="must be"):
        outcome_skew(alpha, nats)
