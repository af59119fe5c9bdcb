"""What follows from ε-DP, and what ε-DP follows from.

Everything that concerns one pair of neighbours is attained by binary randomised response, which
post-processes into every pair of ε-close distributions (Kairouz, Oh & Viswanath 2015). What concerns
many values of one record is governed by the bounded range of p(y|x)/q(y) instead.
"""

from __future__ import annotations

import math

from leakcap.definition.approximate import ApproxDP, DeltaDP
from leakcap.definition.gaussian import GaussianDP
from leakcap.definition.graph import implies
from leakcap.definition.hyperbolic import (
    binary_gain_of_pure,
    level_of_pure,
    level_of_response,
    renyi_of_pure,
    shannon_of_pure,
)
from leakcap.definition.information import KLDP, MIDP, Centre, LevelCapacity, MaximalLeakage
from leakcap.definition.normal import quantile_of_logit
from leakcap.definition.pure import PureDP
from leakcap.definition.renyi import RenyiDP, ZeroConcentratedDP
from leakcap.errors import require
from leakcap.numeric.rounding import down, up

RESPONSE = "binary randomised response"
SUBSETS = "the subset mechanism, as the number of values grows"


@implies(formula="ε·tanh(ε/2)", citation="Cuff & Yu 2016, Prop. 1", attained_by=RESPONSE)
def pure_to_kl(source: PureDP) -> KLDP:
    """KL of the dominating pair."""
    return KLDP(source.epsilon * math.tanh(0.5 * source.epsilon))


@implies(formula="min(ε, ε²/2)", citation="Cuff & Yu 2016, Prop. 1", loose=True)
def pure_to_kl_textbook(source: PureDP) -> KLDP:
    """The bound that is easy to remember."""
    return KLDP(min(source.epsilon, 0.5 * source.epsilon**2))


@implies(
    formula="D−1−ln D, D = ε/(1−e^{−ε})",
    citation="Dong, Durfee & Rogers 2020, bounded range",
    attained_by=SUBSETS,
)
def pure_to_mi(source: PureDP) -> MIDP:
    """p(y|x)/q(y) lies in an interval of ratio e^ε and has mean one; the worst case sits at its ends."""
    return MIDP(shannon_of_pure(source.epsilon))


@implies(
    formula="ln 2 − h(e^ε/(1+e^ε))",
    citation="Kairouz, Oh & Viswanath 2015, dominating pair",
    attained_by=RESPONSE,
)
def pure_to_mi_binary(source: PureDP, *, values: int) -> MIDP | None:
    """A record with two values (or a query with two outputs)."""
    return MIDP(binary_gain_of_pure(source.epsilon)) if at_least_two(values) == 2 else None


@implies(formula="ε·tanh(ε/2)", citation="Cuff & Yu 2016, Prop. 1 and Lem. 1", loose=True)
def pure_to_mi_by_divergence(source: PureDP) -> MIDP:
    """The paper's chain through KL-DP."""
    return MIDP(source.epsilon * math.tanh(0.5 * source.epsilon))


@implies(
    formula="[α S(αx) − S(x) − (α−1) S((α−1)x)]/(α−1), x = ε/2, S(x) = ln(sinh x/x)",
    citation="bounded range, as Dong, Durfee & Rogers 2020; sharpens Cuff & Yu 2016, Lem. 9",
    attained_by=SUBSETS,
    error=1e-13,
)
def pure_to_level(source: PureDP, *, alpha: float, centre: Centre = Centre.MARGINAL) -> LevelCapacity:
    """R_α(ε), the same for both centres."""
    return LevelCapacity(alpha, level_of_pure(source.epsilon, alpha), centre=centre)


@implies(formula="ε", citation="Cuff & Yu 2016, Lem. 9", loose=True, error=0.0)
def pure_to_level_published(
    source: PureDP, *, alpha: float, centre: Centre = Centre.MARGINAL
) -> LevelCapacity:
    """The paper's bound at every order."""
    return LevelCapacity(alpha, source.epsilon, centre=centre)


@implies(
    formula="ln 2 − H_α(e^ε/(1+e^ε)), Rényi entropy of order α",
    citation="Kairouz, Oh & Viswanath 2015, dominating pair",
    attained_by=RESPONSE,
    error=1e-13,
)
def pure_to_level_binary(
    source: PureDP, *, alpha: float, values: int, centre: Centre = Centre.MARGINAL
) -> LevelCapacity | None:
    """Two values and the best centre: the uniform prior is optimal by symmetry."""
    if at_least_two(values) != 2 or centre != Centre.SIBSON or alpha == 1.0:
        return None
    return LevelCapacity(alpha, level_of_response(source.epsilon, alpha), centre=centre)


@implies(
    formula="ln[cosh((2α−1)ε/2)/cosh(ε/2)]/(α−1)", citation="Mironov 2017, Prop. 6", attained_by=RESPONSE
)
def pure_to_renyi(source: PureDP, *, alpha: float) -> RenyiDP:
    """Mironov's (sinh αε − sinh((α−1)ε))/sinh ε with the common factor taken out."""
    return RenyiDP(alpha, renyi_of_pure(source.epsilon, alpha))


@implies(formula="min(ε, αε²/2)", citation="Bun & Steinke 2016, Prop. 3.3", loose=True)
def pure_to_renyi_textbook(source: PureDP, *, alpha: float) -> RenyiDP:
    """The bound that is easy to remember."""
    return RenyiDP(alpha, min(source.epsilon, 0.5 * max(alpha, 1.0) * source.epsilon**2))


@implies(
    formula="ρ = ε·tanh(ε/2)",
    citation="compare Harrison & Manurangsi 2025",
    attained_by=f"{RESPONSE}, as α → 1",
)
def pure_to_zcdp(source: PureDP) -> ZeroConcentratedDP:
    """D_α/α of the dominating pair decreases in α, so its supremum is KL."""
    return ZeroConcentratedDP(source.epsilon * math.tanh(0.5 * source.epsilon))


@implies(formula="ρ = ε²/2", citation="Bun & Steinke 2016, Prop. 1.4", loose=True)
def pure_to_zcdp_textbook(source: PureDP) -> ZeroConcentratedDP:
    """The bound that is easy to remember."""
    return ZeroConcentratedDP(0.5 * source.epsilon**2)


@implies(
    formula="μ = −2Φ⁻¹(1/(1+e^ε))",
    citation="Dong, Roth & Su 2022, by trade-off functions",
    attained_by=RESPONSE,
)
def pure_to_gaussian(source: PureDP) -> GaussianDP:
    """G_μ is convex and meets the kink of f_ε, so it lies below its two chords, which are f_ε."""
    return GaussianDP(2.0 * quantile_of_logit(source.epsilon))


@implies(formula="(ε, 0)", citation="Dwork et al. 2006, definition", attained_by="any mechanism", error=0.0)
def pure_to_approximate(source: PureDP) -> ApproxDP | None:
    """Pure privacy is approximate privacy with δ = 0."""
    return ApproxDP(source.epsilon, 0.0) if math.isfinite(source.epsilon) else None


@implies(formula="(e^ε − e^{ε'})₊/(1+e^ε)", citation="Cuff & Yu 2016, Prop. 3", attained_by=RESPONSE)
def pure_to_delta_at(source: PureDP, *, epsilon: float) -> ApproxDP:
    """The profile of the dominating pair."""
    if epsilon >= source.epsilon:
        return ApproxDP(epsilon, 0.0)
    gap = -math.expm1(epsilon - source.epsilon)
    return ApproxDP(epsilon, gap / (1.0 + math.exp(-source.epsilon)))


@implies(
    formula="ε' = ln(e^ε − δ(1+e^ε))₊", citation="Cuff & Yu 2016, Prop. 3", attained_by=RESPONSE, error=0.0
)
def pure_to_epsilon_at(source: PureDP, *, delta: float) -> ApproxDP | None:
    """The profile of the dominating pair, read the other way."""
    found = epsilon_left(source.epsilon, delta)
    return None if math.isinf(found) else ApproxDP(found, delta)


def epsilon_left(epsilon: float, drop: float) -> float:
    """ln(e^ε − drop·(1+e^ε))₊: the ε' at which randomised response of ε has δ = `drop`. Rounded up.

    >>> epsilon_left(1.0, 0.0) >= 1.0, epsilon_left(1.0, 0.5)
    (True, 0.0)
    """
    taken = down(drop * (1.0 + math.exp(-epsilon)), 8)
    if taken >= 1.0:
        return 0.0
    shift = math.log1p(-taken)
    return max(up(epsilon + shift, 4, epsilon - shift), 0.0) if drop > 0.0 else epsilon


@implies(formula="δ = tanh(ε/2)", citation="Cuff & Yu 2016, Prop. 3", attained_by=RESPONSE)
def pure_to_delta(source: PureDP) -> DeltaDP:
    """Total variation of the dominating pair."""
    return DeltaDP(math.tanh(0.5 * source.epsilon))


@implies(
    formula="ln Σ_y max_x P(y|x) ≤ ε",
    citation="Alvim et al. 2011; Issa, Wagner & Kamath 2020",
    attained_by="k-ary randomised response, as k → ∞",
    error=0.0,
)
def pure_to_leakage(source: PureDP) -> MaximalLeakage:
    """Any number of values."""
    return MaximalLeakage(source.epsilon)


@implies(
    formula="ln(k e^ε/(e^ε+k−1))",
    citation="Alvim et al. 2011",
    attained_by="k-ary randomised response",
)
def pure_to_leakage_of_values(source: PureDP, *, values: int) -> MaximalLeakage:
    """A column whose largest entry is M sums to at least M(1+(k−1)e^{−ε})."""
    k = at_least_two(values)
    # k/(1+(k−1)e^{−ε}) = 1 + (k−1)(1−e^{−ε})/(1+(k−1)e^{−ε})
    decay = math.exp(-source.epsilon)
    return MaximalLeakage(math.log1p((k - 1) * -math.expm1(-source.epsilon) / (1.0 + (k - 1) * decay)))


def at_least_two(values: int) -> int:
    """`values`, checked."""
    ok = not isinstance(values, bool) and values == int(values) and values >= 2
    require(
        ok, "values", "convert", "be an integer ≥ 2: how many values the record (or the query) has", values
    )
    return int(values)
