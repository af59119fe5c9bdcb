"""Fits with Gaussian noise have what (ε, δ) asks of continuous noise, and their charges say so."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from leakcap.ledger.measured import charge_covers
from leakcap.models import RidgeRegression
from leakcap.models.calibrate import exact_rho
from leakcap.models.moments import Moments
from leakcap.models.output import _spend
from leakcap.release.measurements.rho import largest_rho
from models.world import policy_of


def told(mu: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    """Balle & Wang 2018, theorem 8."""
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 16.0, 600.0])
@pytest.mark.parametrize("delta", [1e-15, 1e-6, 0.01])
def test_the_largest_rho_is_balle_and_wangs(epsilon: float, delta: float) -> None:
    """(ε, δ) holds, and would not for a millionth more; what holds for all ρ-zCDP allows less."""
    rho = exact_rho(epsilon, delta)
    with mpmath.workdps(60):
        mu = mpmath.sqrt(2 * mpmath.mpf(rho))
        assert told(mu, mpmath.mpf(epsilon)) <= mpmath.mpf(delta)
        assert told(mu * (1 + mpmath.mpf(10) ** -6), mpmath.mpf(epsilon)) > mpmath.mpf(delta)
    assert rho > largest_rho(epsilon, delta)


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 40.0])
def test_noise_and_charges_of_regressions(epsilon: float, replace: bool) -> None:
    """A variance less 16 steps² hides the sensitivity at μ; a charge that says less is refused."""
    kind: dict[str, Any] = {"neighbours": "replace-one", "rows": 30} if replace else {}
    policy = policy_of(**kind)
    ridge = RidgeRegression(epsilon=epsilon, delta=1e-6).noise(3, replace=replace)
    plan = Moments.plan([(-1.0, 1.0), (-3.0, 3.0)], policy, epsilon=epsilon, delta=1e-6)
    rho = exact_rho(epsilon, 1e-6)
    assert ridge.sensitivity / (2 * (ridge._parameter() - 16)) <= Fraction(rho)
    reach = 9 if replace else 6
    told = sum(
        Fraction(reach, len(plan.pairs))
        * (plan.largest[i] * plan.largest[j] * plan._finer(i, j)) ** 2
        / (2 * (plan._scale(i, j) - 16))
        for i, j in plan.pairs
    )
    assert Fraction(rho) * Fraction(999, 1000) < told <= Fraction(rho)
    for spend in (_spend(ridge, policy), plan.spend):
        event, ticks = json.loads(spend.event), spend.ticks(None)
        assert event["name"] == "GaussianDpEvent"
        assert float(Fraction(event["noise_multiplier"])) == pytest.approx(1 / math.sqrt(2 * rho), rel=1e-9)
        assert charge_covers(spend.event, ticks)
        assert not charge_covers(spend.event, ticks._replace(epsilon=(ticks.epsilon or 0) * 999 // 1000))
        assert not charge_covers(spend.event, ticks._replace(delta=(ticks.delta or 0) * 99 // 100))
