"""What follows from (ε, δ)-DP and from (0, δ)-DP.

The dominating pair of (ε, δ) reveals the secret with probability δ and is randomised response of ε
otherwise (Kairouz, Oh & Viswanath 2015), which settles everything about one pair of neighbours.
"""

from __future__ import annotations

import math

from leakcap.definition.approximate import ApproxDP, DeltaDP
from leakcap.definition.graph import implies
from leakcap.definition.hyperbolic import binary_gain_of_pure
from leakcap.definition.information import MIDP, MaximalLeakage
from leakcap.definition.pure import PureDP
from leakcap.definition.theorems.pure import at_least_two, epsilon_left
from leakcap.numeric.entropy import binary_entropy

LEAKY = "randomised response that reveals all with probability δ"
ERASURE = "the erasure channel"


@implies(
    formula="δ' = 1−(e^{ε'}+1)(1−δ)/(e^ε+1) for ε' ≤ ε, else δ",
    citation="Cuff & Yu 2016, Prop. 3",
    attained_by=LEAKY,
)
def approximate_to_delta_at(source: ApproxDP, *, epsilon: float) -> ApproxDP:
    """The profile of the dominating pair."""
    return ApproxDP(epsilon, _delta_at(source, epsilon))


def _delta_at(source: ApproxDP, epsilon: float) -> float:
    if epsilon >= source.epsilon:
        return source.delta
    drop = -math.expm1(epsilon - source.epsilon) / (1.0 + math.exp(-source.epsilon))
    return source.delta + (1.0 - source.delta) * drop


@implies(
    formula="ε' = ln((1−δ')(e^ε+1)/(1−δ) − 1)₊ for δ' ≥ δ",
    citation="Cuff & Yu 2016, Prop. 3",
    attained_by=LEAKY,
    error=0.0,
)
def approximate_to_epsilon_at(source: ApproxDP, *, delta: float) -> ApproxDP | None:
    """The profile of the dominating pair, read the other way; nothing for a smaller δ."""
    if delta < source.delta:
        return None
    if delta == source.delta:
        return source if delta < 1.0 else ApproxDP(0.0, delta)
    return ApproxDP(epsilon_left(source.epsilon, (delta - source.delta) / (1.0 - source.delta)), delta)


@implies(formula="1 − 2(1−δ)/(e^ε+1)", citation="Cuff & Yu 2016, Prop. 3", attained_by=LEAKY)
def approximate_to_total_variation(source: ApproxDP) -> DeltaDP:
    """The profile of the dominating pair at ε' = 0."""
    return DeltaDP(_delta_at(source, 0.0))


@implies(
    formula="ε, when δ = 0", citation="Dwork et al. 2006, definition", attained_by="any mechanism", error=0.0
)
def approximate_to_pure(source: ApproxDP) -> PureDP | None:
    """Only without δ: with it, everything may be revealed."""
    return PureDP(source.epsilon) if source.delta == 0.0 else None


@implies(
    formula="δ ln 2 + (1−δ)(ln 2 − h(e^ε/(1+e^ε)))",
    citation="Kairouz, Oh & Viswanath 2015, dominating pair",
    attained_by=LEAKY,
)
def approximate_to_mi_binary(source: ApproxDP, *, values: int) -> MIDP | None:
    """A record with two values."""
    if at_least_two(values) != 2:
        return None
    return MIDP(source.delta * math.log(2.0) + (1.0 - source.delta) * binary_gain_of_pure(source.epsilon))


@implies(
    formula="δ ln k + (1−δ)·KL(R ‖ R/k + (1−1/k)R'), R and R' the rows of randomised response",
    citation="mixture argument, in docs/theory/conversions.md; sharpens Cuff & Yu 2016, Prop. 3 with Lem. 3",
)
def approximate_to_mi(source: ApproxDP, *, values: int) -> MIDP:
    """Each secret against the mixture of all is a pair that the dominating pair dominates."""
    k = at_least_two(values)
    spread = response_against_mixture(source.epsilon, k)
    return MIDP(source.delta * math.log(k) + (1.0 - source.delta) * spread)


def response_against_mixture(epsilon: float, k: int) -> float:
    """KL(R ‖ R/k + (1−1/k)R') for the rows R, R' of binary randomised response.

    >>> round(response_against_mixture(1.0, 2), 12)
    0.110944071672
    """
    decay = math.exp(-epsilon)
    likely, unlikely = 1.0 / (1.0 + decay), decay / (1.0 + decay)
    # R/M − 1 at each output, from R' = e^{∓ε} R there: M = R(1/k + (1−1/k)e^{∓ε}).
    share = 1.0 - 1.0 / k
    down = -math.log1p(share * math.expm1(-epsilon))
    over = (
        -(epsilon + math.log(decay + share * -math.expm1(-epsilon)))
        if epsilon > 1.0
        else -math.log1p(share * math.expm1(epsilon))
    )
    if epsilon > 1e-2:
        return likely * down + unlikely * over
    # Near zero both logarithms cancel to second order: sum the terms R·L − R + M instead.
    return likely * _rest(down) + unlikely * _rest(over)


def _rest(log_ratio: float) -> float:
    """L − 1 + e^{−L} by its series, for small L."""
    total, term = 0.0, 1.0
    for n in range(1, 20):
        term *= -log_ratio / n
        total += term if n > 1 else 0.0
    return total


@implies(formula="(0, δ)", citation="definition", attained_by="any mechanism", error=0.0)
def total_variation_to_approximate(source: DeltaDP) -> ApproxDP:
    """(0, δ)-DP is δ-DP."""
    return ApproxDP(0.0, source.delta)


@implies(
    formula="(ε, δ)",
    citation="definition",
    attained_by="the channel that reveals all with probability δ",
    error=0.0,
)
def total_variation_to_delta_at(source: DeltaDP, *, epsilon: float) -> ApproxDP:
    """A larger ε does not help: what is revealed stays revealed."""
    return ApproxDP(epsilon, source.delta)


@implies(
    formula="δ ln k, k = min(|X|, |Y|)",
    citation="chord of r ln r, in docs/theory/conversions.md; generalises Lin 1991",
    attained_by=ERASURE,
)
def total_variation_to_mi(source: DeltaDP, *, values: int) -> MIDP:
    """D(P_x‖M) ≤ TV(P_x, M)·ln(1/π_x)/(1−π_x) ≤ δ ln(1/π_x)."""
    return MIDP(source.delta * math.log(at_least_two(values)))


@implies(formula="2h(δ) + 2δ ln(k+1)", citation="Cuff & Yu 2016, Lem. 3", loose=True)
def total_variation_to_mi_published(source: DeltaDP, *, values: int) -> MIDP:
    """The paper's; its entropy term is capped at one bit where it turns."""
    peak = binary_entropy(min(source.delta, 0.5))
    return MIDP(2.0 * peak + 2.0 * source.delta * math.log(at_least_two(values) + 1))


@implies(formula="h(δ) + δ ln(k−1), δ ≤ 1 − 1/k", citation="Zhang 2007; Alhejji & Smith 2019", loose=True)
def total_variation_to_mi_by_continuity(source: DeltaDP, *, values: int) -> MIDP:
    """Continuity of entropy; ln k beyond its range."""
    k, delta = at_least_two(values), source.delta
    if delta >= 1.0 - 1.0 / k:
        return MIDP(math.log(k))
    return MIDP(binary_entropy(delta) + delta * math.log(k - 1))


@implies(
    formula="ln(1 + (k−1)δ)",
    citation="Bayes capacity of rows at distance δ, in docs/theory/conversions.md",
    attained_by=ERASURE,
)
def total_variation_to_leakage(source: DeltaDP, *, values: int) -> MaximalLeakage:
    """Σ_y max_x C_xy ≤ 1 + Σ_{x≠x₀} TV(row_x, row_x₀)."""
    return MaximalLeakage(math.log1p((at_least_two(values) - 1) * source.delta))


@implies(
    formula="δ = min(e^L − 1, 1)",
    citation="Bayes capacity of two rows is 1 + TV, in docs/theory/conversions.md",
    attained_by="the binary erasure channel, for L ≤ ln 2",
)
def leakage_to_total_variation(source: MaximalLeakage) -> DeltaDP:
    """Two rows alone already leak ln(1 + TV)."""
    return DeltaDP(min(math.expm1(min(source.nats, 1.0)), 1.0))
