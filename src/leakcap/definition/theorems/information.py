"""What follows from MI-DP, KL-DP, capacities at a level, and maximal leakage."""

from __future__ import annotations

import math
from collections.abc import Callable

from leakcap.definition.approximate import ApproxDP, DeltaDP
from leakcap.definition.binary import divergence_profile, shannon_profile
from leakcap.definition.graph import implies
from leakcap.definition.hyperbolic import binary_gain
from leakcap.definition.information import KLDP, MIDP, Centre, LevelCapacity, MaximalLeakage
from leakcap.definition.pure import PureDP
from leakcap.definition.theorems.pure import RESPONSE, at_least_two
from leakcap.numeric.search import bracket

SYMMETRIC = "the binary symmetric channel"
PAIR = "the best pair of Bernoulli laws"


@implies(
    formula="1 − 2h⁻¹(ln 2 − κ) for κ < ln 2",
    citation="Cuff & Yu 2016, Lem. 2",
    attained_by=SYMMETRIC,
)
def mi_to_total_variation(source: MIDP) -> DeltaDP:
    """The δ with δ·atanh δ + ½ ln(1−δ²) = κ; one at κ ≥ ln 2."""
    return DeltaDP(_root(binary_gain, source.nats, source.nats >= math.log(2.0)))


def _root(rising: Callable[[float], float], level: float, full: bool) -> float:
    if full:
        return 1.0
    if level <= 0.0:
        return 0.0
    # In the logarithm, so that a tiny δ keeps its digits; the upper neighbour is the safe side.
    low = 0.25 * math.sqrt(level)
    return min(bracket(lambda d: rising(d) - level, low, 1.0)[1], 1.0)


@implies(formula="min(√(2κ), 1)", citation="Cuff & Yu 2016, Lem. 2", loose=True)
def mi_to_total_variation_published(source: MIDP) -> DeltaDP:
    """Pinsker's inequality on the way."""
    return DeltaDP(min(math.sqrt(2.0 * source.nats), 1.0))


@implies(
    formula="max of a − e^ε b over binary channels (a, b) of Shannon capacity ≤ κ",
    citation="Cuff & Yu 2016, (33), solved in docs/theory/conversions.md",
    attained_by="the maximising binary channel",
    error=0.0,
)
def mi_to_approximate(source: MIDP, *, epsilon: float) -> ApproxDP:
    """δ at a given ε, as a certified optimum."""
    return ApproxDP(epsilon, shannon_profile(source.nats, epsilon).upper)


@implies(formula="κ at level 1", citation="definition", attained_by="any mechanism, at level 1", error=0.0)
def mi_to_level(source: MIDP, *, alpha: float, centre: Centre = Centre.MARGINAL) -> LevelCapacity | None:
    """Both informations increase with the order, so Shannon's bounds those below it."""
    return LevelCapacity(alpha, source.nats, centre=centre) if alpha <= 1.0 else None


@implies(
    formula="κ",
    citation="Cuff & Yu 2016, Lem. 1",
    attained_by="k-ary randomised response with κ/ln k of truth, as k → ∞",
    error=0.0,
)
def kl_to_mi(source: KLDP) -> MIDP:
    """The radius is at most the diameter."""
    return MIDP(source.nats)


@implies(formula="ln k − ln(1+(k−1)e^{−κ})", citation="Haussler & Opper 1997, by the mixture bound")
def kl_to_mi_of_values(source: KLDP, *, values: int) -> MIDP:
    """KL(P ‖ Σ π_i Q_i) ≤ −ln Σ π_i e^{−KL(P‖Q_i)}, largest at the uniform prior."""
    k = at_least_two(values)
    decay = math.exp(-source.nats)
    return MIDP(math.log1p((k - 1) * -math.expm1(-source.nats) / (1.0 + (k - 1) * decay)))


@implies(
    formula="the δ with 2δ·atanh δ = κ",
    citation="joint range of KL both ways and total variation, in docs/theory/conversions.md",
    attained_by=RESPONSE,
)
def kl_to_total_variation(source: KLDP) -> DeltaDP:
    """By convexity and symmetry the best pair is a symmetric one."""
    return DeltaDP(
        _root(
            lambda d: 2.0 * d * math.atanh(d) if d < 1.0 else math.inf, source.nats, math.isinf(source.nats)
        )
    )


@implies(formula="min(√(κ/2), 1)", citation="Pinsker 1964", loose=True)
def kl_to_total_variation_pinsker(source: KLDP) -> DeltaDP:
    """Pinsker's inequality."""
    return DeltaDP(min(math.sqrt(0.5 * source.nats), 1.0))


@implies(formula="√(1−e^{−κ})", citation="Bretagnolle & Huber 1979", loose=True)
def kl_to_total_variation_large(source: KLDP) -> DeltaDP:
    """For large κ."""
    return DeltaDP(math.sqrt(-math.expm1(-source.nats)))


@implies(
    formula="max of p − e^ε q over Bernoulli laws with KL ≤ κ both ways",
    citation="joint range of f-divergences, in docs/theory/conversions.md",
    attained_by=PAIR,
    error=0.0,
)
def kl_to_approximate(source: KLDP, *, epsilon: float) -> ApproxDP:
    """Two outcomes suffice: merging the outputs where P > e^ε Q keeps δ and shrinks KL."""
    return ApproxDP(epsilon, divergence_profile(1.0, source.nats, epsilon).upper)


@implies(
    formula="nats (α ≥ 1)",
    citation="monotone in the order",
    attained_by="the noiseless channel (Sibson)",
    error=0.0,
)
def level_to_mi(source: LevelCapacity) -> MIDP | None:
    """Sibson's information of order α ≥ 1 is at least Shannon's, and the marginal centre at least that."""
    return MIDP(source.nats) if source.alpha >= 1.0 else None


@implies(
    formula="nats (α' ≤ α)",
    citation="monotone in the order",
    attained_by="the noiseless channel (Sibson)",
    error=0.0,
)
def level_to_lower_level(
    source: LevelCapacity, *, alpha: float, centre: Centre | None = None
) -> LevelCapacity | None:
    """A lower order, and from the marginal centre to the best one; at order one they are the same."""
    centre = source.centre if centre is None else Centre(centre)
    upgrade = source.centre is Centre.SIBSON and centre is Centre.MARGINAL
    if alpha > source.alpha or (upgrade and not alpha <= 1.0 <= source.alpha):
        return None
    return LevelCapacity(alpha, source.nats, centre=centre)


@implies(
    formula="ε (α = ∞, marginal centre)",
    citation="max-information is ε",
    attained_by="any mechanism",
    error=0.0,
)
def level_to_pure(source: LevelCapacity) -> PureDP | None:
    """At order ∞ the marginal centre's capacity is the diameter."""
    whole = math.isinf(source.alpha) and source.centre is Centre.MARGINAL
    return PureDP(source.nats) if whole else None


@implies(
    formula="nats (α = ∞)",
    citation="Sibson 1969; Verdú 2015",
    attained_by="any mechanism (Sibson)",
    error=0.0,
)
def level_to_leakage(source: LevelCapacity) -> MaximalLeakage | None:
    """Sibson's capacity of order ∞ is maximal leakage."""
    return MaximalLeakage(source.nats) if math.isinf(source.alpha) else None


@implies(formula="nats", citation="monotone in the order", attained_by="the noiseless channel", error=0.0)
def leakage_to_mi(source: MaximalLeakage) -> MIDP:
    """Sibson's information increases with the order."""
    return MIDP(source.nats)


@implies(formula="nats", citation="Sibson 1969; Verdú 2015", attained_by="the noiseless channel", error=0.0)
def leakage_to_level(
    source: MaximalLeakage, *, alpha: float, centre: Centre = Centre.SIBSON
) -> LevelCapacity | None:
    """Sibson's information increases with the order; at or below order one this bounds both centres."""
    if centre == Centre.MARGINAL and alpha > 1.0:
        return None
    return LevelCapacity(alpha, source.nats, centre=centre)
