"""What follows from Gaussian differential privacy: one pair of normal laws says it all."""

from __future__ import annotations

import math

from leakcap.arrays import np
from leakcap.definition.approximate import ApproxDP, DeltaDP
from leakcap.definition.gaussian import GaussianDP
from leakcap.definition.graph import implies
from leakcap.definition.information import KLDP, MIDP
from leakcap.definition.normal import log_normal_profile, normal_profile
from leakcap.definition.renyi import RenyiDP, ZeroConcentratedDP
from leakcap.definition.theorems.pure import at_least_two
from leakcap.numeric.rounding import product_up
from leakcap.numeric.search import bracket

GAUSSIAN = "the Gaussian mechanism"


@implies(formula="ρ = μ²/2", citation="Dong, Roth & Su 2022, Cor. B.6", attained_by=GAUSSIAN, error=0.0)
def gaussian_to_zcdp(source: GaussianDP) -> ZeroConcentratedDP:
    """D_α of the pair is αμ²/2."""
    return ZeroConcentratedDP(_half_square(source.mu))


@implies(formula="αμ²/2", citation="Dong, Roth & Su 2022, Cor. B.6", attained_by=GAUSSIAN, error=0.0)
def gaussian_to_renyi(source: GaussianDP, *, alpha: float) -> RenyiDP:
    """Every order, below one too."""
    if source.mu == 0.0 or math.isinf(alpha):
        return RenyiDP(alpha, math.inf if source.mu > 0.0 else 0.0)
    return RenyiDP(alpha, product_up(0.5, alpha, source.mu, source.mu))


@implies(formula="μ²/2", citation="Dong, Roth & Su 2022, Cor. B.6", attained_by=GAUSSIAN, error=0.0)
def gaussian_to_kl(source: GaussianDP) -> KLDP:
    """Order one."""
    return KLDP(_half_square(source.mu))


def _half_square(mu: float) -> float:
    return product_up(0.5, mu, mu)


@implies(formula="2Φ(μ/2) − 1", citation="Dong, Roth & Su 2022, Cor. 2.13", attained_by=GAUSSIAN)
def gaussian_to_total_variation(source: GaussianDP) -> DeltaDP:
    """Total variation of the pair."""
    return DeltaDP(math.erf(source.mu / math.sqrt(8.0)))


@implies(
    formula="δ = Φ(−ε/μ+μ/2) − e^ε Φ(−ε/μ−μ/2)",
    citation="Dong, Roth & Su 2022, Cor. 2.13",
    attained_by=GAUSSIAN,
    error=1e-12,
)
def gaussian_to_delta_at(source: GaussianDP, *, epsilon: float) -> ApproxDP:
    """The profile of the pair."""
    return ApproxDP(epsilon, normal_profile(source.mu, epsilon))


@implies(
    formula="the ε with δ = Φ(−ε/μ+μ/2) − e^ε Φ(−ε/μ−μ/2)",
    citation="Dong, Roth & Su 2022, Cor. 2.13; Balle & Wang 2018",
    attained_by=GAUSSIAN,
    error=1e-12,
)
def gaussian_to_epsilon_at(source: GaussianDP, *, delta: float) -> ApproxDP | None:
    """The profile of the pair, read the other way."""
    mu = source.mu
    if mu == 0.0 or delta >= 1.0:
        return ApproxDP(0.0, delta)
    if delta <= 0.0 or math.isinf(mu):
        return None
    goal = math.log(delta)
    if log_normal_profile(mu, 0.0) <= goal - 1e-12:
        return ApproxDP(0.0, delta)
    # δ ≤ Φ(−ε/μ+μ/2) ≤ e^{−(ε/μ−μ/2)²/2} brings the root below this.
    top = mu * (0.5 * mu + math.sqrt(-2.0 * goal)) + mu
    # The profile's logarithm is good to 10⁻¹² (in the tests), and falls: a root of it plus as much is above.
    return ApproxDP(bracket(lambda e: log_normal_profile(mu, e) - goal + 1e-12, 0.0, top)[1], delta)


@implies(
    formula="KL(N(μ,1) ‖ N(μ,1)/k + (1−1/k) N(0,1))",
    citation="mixture argument, in docs/theory/conversions.md",
    attained_by="the Gaussian mechanism on a record with two values (k = 2)",
    error=1e-12,
)
def gaussian_to_mi(source: GaussianDP, *, values: int) -> MIDP:
    """Binary-input Gaussian capacity for k = 2; μ²/2 as k grows."""
    return MIDP(normal_against_mixture(source.mu, at_least_two(values)))


def normal_against_mixture(mu: float, k: int) -> float:
    """KL(N(μ,1) ‖ M), M = N(μ,1)/k + (1−1/k)N(0,1), by the trapezoid rule on an entire integrand's strip.

    >>> round(normal_against_mixture(1.0, 2), 9)
    0.111421482
    """
    if mu >= 20.0:  # short of ln k by less than e^{−μ²/8}
        return math.log(k)
    step = min(0.05, 0.25 / max(mu, 1.0))
    z = np.arange(-14.0 - mu, 14.0 + mu, step)
    other = 0.5 * mu * mu - mu * z
    near_one = -np.log1p((1.0 - 1.0 / k) * np.expm1(np.minimum(other, 1.0)))
    log_ratio = np.where(other < 1.0, near_one, -np.logaddexp(-math.log(k), math.log1p(-1.0 / k) + other))
    # P·L − P + M, whose terms are not negative, with its series where they cancel.
    density = np.exp(-0.5 * (z - mu) ** 2) / math.sqrt(2.0 * math.pi)
    mixture = density / k + (1.0 - 1.0 / k) * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
    near = np.where(np.abs(log_ratio) < 1e-2, log_ratio, 0.0)
    series = density * near**2 * (0.5 - near / 6 + near**2 / 24 - near**3 / 120 + near**4 / 720)
    far = density * log_ratio - density + mixture
    return float(step * np.sum(np.where(np.abs(log_ratio) < 1e-2, series, far)))
