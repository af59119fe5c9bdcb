"""What follows from Rényi and zero-concentrated differential privacy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from leakcap.definition.approximate import ApproxDP, DeltaDP
from leakcap.definition.binary import divergence_profile
from leakcap.definition.graph import implies
from leakcap.definition.hyperbolic import renyi_of_pure
from leakcap.definition.information import KLDP, Centre, LevelCapacity
from leakcap.definition.pure import PureDP
from leakcap.definition.renyi import RenyiDP, ZeroConcentratedDP
from leakcap.numeric.rounding import product_up, up
from leakcap.numeric.search import bracket

GAUSSIAN = "the Gaussian mechanism"
PAIR = "the best pair of Bernoulli laws"


@implies(
    formula="ε (α ≥ 1)",
    citation="Mironov 2017, monotone in the order",
    attained_by="any mechanism, at α = 1",
    error=0.0,
)
def renyi_to_kl(source: RenyiDP) -> KLDP | None:
    """Rényi divergence increases with the order."""
    return KLDP(source.epsilon) if source.alpha >= 1.0 else None


@implies(
    formula="ε for α' ≤ α; times α'/(1−α') for α' < ½ ≤ …; times α'(1−α)/(α(1−α')) for α < α' < 1",
    citation="van Erven & Harremoës 2014, Thm 3, Thm 16 and skew symmetry",
    error=0.0,
)
def renyi_to_other_order(source: RenyiDP, *, alpha: float) -> RenyiDP | None:
    """A lower order; below one also a higher one, since all orders in (0,1) are equivalent."""
    if alpha > source.alpha:
        if source.alpha >= 1.0 or alpha >= 1.0:
            return None
        known, asked = Fraction(source.alpha), Fraction(alpha)
        return RenyiDP(alpha, product_up(asked * (1 - known) / (known * (1 - asked)), source.epsilon))
    return RenyiDP(alpha, product_up(skew(source.alpha, alpha), source.epsilon))


def skew(known: float, asked: float) -> Fraction:
    """min(1, α'/(1−α')) where order 1−α' is covered: D_α'(P‖Q) = α'/(1−α')·D_{1−α'}(Q‖P)."""
    if asked >= 0.5 or (known < 1.0 and 1 - Fraction(asked) > Fraction(known)):
        return Fraction(1)
    return Fraction(asked) / (1 - Fraction(asked))


@implies(formula="ε (α = ∞)", citation="Mironov 2017, definition", attained_by="any mechanism", error=0.0)
def renyi_to_pure(source: RenyiDP) -> PureDP | None:
    """Order ∞ is pure privacy."""
    return PureDP(source.epsilon) if math.isinf(source.alpha) else None


@implies(
    formula="ε (diameter ≥ capacity)",
    citation="the broken-wifi article, 2022; Cuff & Yu 2016, Sec. 7",
    error=0.0,
)
def renyi_to_level(
    source: RenyiDP, *, alpha: float, centre: Centre = Centre.MARGINAL
) -> LevelCapacity | None:
    """Quasi-convexity of Rényi divergence in its second argument."""
    return LevelCapacity(alpha, source.epsilon, centre=centre) if alpha <= source.alpha else None


@implies(
    formula="tanh(ε₀/2), ε₀ with ln[cosh((2α−1)ε₀/2)/cosh(ε₀/2)]/(α−1) = ε",
    citation="joint range of Rényi divergence both ways and total variation, in docs/theory/conversions.md",
    attained_by="binary randomised response",
)
def renyi_to_total_variation(source: RenyiDP) -> DeltaDP:
    """The pairs at D_α ≤ ε both ways form a convex and symmetric set, so the best pair is symmetric."""
    return DeltaDP(math.tanh(0.5 * response_of_renyi(source.alpha, source.epsilon)))


def response_of_renyi(alpha: float, level: float) -> float:
    """The ε₀ ≥ level at which binary randomised response has D_α = level, to a few roundings."""
    if level == 0.0 or math.isinf(level) or math.isinf(alpha):
        return level
    high = max(2.0 * level, 1.0)
    while renyi_of_pure(high, alpha) < level:
        high *= 2.0
    low = level * min(1.0, 0.5 / alpha)
    while renyi_of_pure(low, alpha) > level:
        low *= 0.5
    return bracket(lambda e: renyi_of_pure(e, alpha) - level, low, high)[1]


@implies(
    formula="max of p − e^{ε'} q over Bernoulli laws with D_α ≤ ε both ways",
    citation="Asoodeh et al. 2021, with both directions kept; docs/theory/conversions.md",
    attained_by=PAIR,
)
def renyi_to_delta_at(source: RenyiDP, *, epsilon: float) -> ApproxDP | None:
    """The least δ that one order allows: two outcomes suffice, and the set of pairs is convex."""
    if source.alpha < 1.0:
        return None
    exact = divergence_profile(source.alpha, source.epsilon, epsilon).upper
    return ApproxDP(epsilon, min(exact, _published(source.alpha, source.epsilon, epsilon)))


@implies(
    formula="δ = e^{(α−1)(ε−ε')}(1−1/α)^{α−1}/α",
    citation="Canonne, Kamath & Steinke 2020, Prop. 12",
    loose=True,
)
def renyi_to_delta_published(source: RenyiDP, *, epsilon: float) -> ApproxDP | None:
    """The closed form."""
    if source.alpha <= 1.0 or math.isinf(source.alpha):
        return None
    return ApproxDP(epsilon, _published(source.alpha, source.epsilon, epsilon))


def _published(alpha: float, level: float, epsilon: float) -> float:
    """Canonne, Kamath & Steinke's δ, rounded up; one where it says nothing."""
    if alpha <= 1.0 or math.isinf(alpha) or math.isinf(level):
        return 1.0
    t, less = alpha - 1.0, math.log1p(-1.0 / alpha)
    log_delta = up(
        t * (level - epsilon + less) - math.log(alpha), 8, t * (level + epsilon - less) + math.log(alpha)
    )
    return min(max(up(math.exp(min(log_delta, 0.0)), 2), 5e-324), 1.0)


@implies(
    formula="ε' = ε + ln(1−1/α) + (ln(1/δ) − ln α)/(α−1)",
    citation="Canonne, Kamath & Steinke 2020, Prop. 12",
    error=0.0,
)
def renyi_to_epsilon_at(source: RenyiDP, *, delta: float) -> ApproxDP | None:
    """The closed form, read the other way."""
    alpha = source.alpha
    if alpha <= 1.0 or delta <= 0.0 or math.isinf(source.epsilon):
        return None
    if math.isinf(alpha):
        return ApproxDP(source.epsilon, delta)
    less, order, rare = (
        math.log1p(-1.0 / alpha),
        math.log(alpha) / (alpha - 1.0),
        math.log(delta) / (alpha - 1.0),
    )
    epsilon = up(source.epsilon + less - rare - order, 8, source.epsilon - less - rare + order)
    return ApproxDP(max(epsilon, 0.0), delta) if math.isfinite(epsilon) else None


def epsilon_of_curve(curve: Mapping[float, float], delta: float) -> float:
    """The least ε that one order of a Rényi curve proves for this δ, in nats, rounded up.

    `curve` holds D_α by its order α. ∞ where no order above 1 is bounded.

    >>> round(epsilon_of_curve({order: order / 50 for order in (8, 16, 24, 32)}, 1e-6), 4)
    0.8999
    """
    levels = (RenyiDP(alpha, nats) for alpha, nats in curve.items())
    found = (renyi_to_epsilon_at(level, delta=delta) for level in levels)
    return min((one.epsilon for one in found if isinstance(one, ApproxDP)), default=math.inf)


@implies(formula="ε' = ε + ln(1/δ)/(α−1)", citation="Mironov 2017, Prop. 3", loose=True)
def renyi_to_epsilon_textbook(source: RenyiDP, *, delta: float) -> ApproxDP | None:
    """By Markov's inequality."""
    if source.alpha <= 1.0 or delta <= 0.0 or math.isinf(source.epsilon):
        return None
    return ApproxDP(source.epsilon - math.log(delta) / (source.alpha - 1.0), delta)


@implies(
    formula="αρ for α > 1; ρ·min(1, α/(1−α)) for α ≤ 1",
    citation="Bun & Steinke 2016, definition",
    attained_by=GAUSSIAN,
    error=0.0,
)
def zcdp_to_renyi(source: ZeroConcentratedDP, *, alpha: float) -> RenyiDP:
    """The definition, and its limit at order one."""
    if alpha > 1.0:
        return RenyiDP(alpha, product_up(source.rho, alpha))
    return RenyiDP(alpha, product_up(source.rho, skew(1.0, alpha)))


@implies(formula="ρ", citation="Bun & Steinke 2016, definition, as α → 1", attained_by=GAUSSIAN, error=0.0)
def zcdp_to_kl(source: ZeroConcentratedDP) -> KLDP:
    """The limit at order one."""
    return KLDP(source.rho)


@implies(formula="ε' = ρ + 2√(ρ ln(1/δ))", citation="Bun & Steinke 2016, Prop. 1.3", loose=True)
def zcdp_to_epsilon_textbook(source: ZeroConcentratedDP, *, delta: float) -> ApproxDP | None:
    """Markov's inequality at the best order."""
    if delta <= 0.0 or math.isinf(source.rho):
        return None
    return ApproxDP(source.rho + 2.0 * math.sqrt(source.rho * -math.log(delta)), delta)
