"""Many guarantees as one: each definition adds up in its own algebra."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import singledispatch
from typing import TypeVar, cast

import numpy as np

from leakcap.accounting.finite import finite_loss
from leakcap.accounting.loss import PrivacyLoss
from leakcap.accounting.normal import GaussianLoss
from leakcap.accounting.part import LossComponent
from leakcap.definition import (
    KLDP,
    MIDP,
    ApproxDP,
    Centre,
    Definition,
    DeltaDP,
    GaussianDP,
    InformationPrivacy,
    LevelCapacity,
    MaximalLeakage,
    Neighbourhood,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
    convert,
)
from leakcap.errors import InvalidParameter, NoRoute, require
from leakcap.numeric.rounding import float_down, float_up, hypot_up, product_up, sum_up, up
from leakcap.numeric.search import maximise

__all__ = ["best_orders", "compose", "compose_approximate", "dominating_loss", "one_kind", "whole_table"]

D = TypeVar("D", bound=Definition)

_MOST_EXACT = 64
"""So many δ are multiplied as fractions, whose digits add up."""


def compose(definitions: Sequence[D]) -> D:
    """What queries that keep these guarantees keep together, chosen adaptively, with fresh noise.

    ε, ρ, κ and capacities add up; μ as squares; δ as 1 − Π(1−δ_i) (reached by erasures); level-α capacities
    add up while 1/(α−1) = Σ 1/(α_i−1); RDP at the least order. All must be of one kind and one
    neighbourhood: convert first, or state it. For the optimal (ε, δ) see `compose_approximate`.
    Noise that is used twice is no fresh noise: Y₁ = X⊕U and Y₂ = U tell nothing each and all together.
    Source: Cuff & Yu 2016, corollaries 5 and 6 and example 4.3; Mironov 2017; Bun & Steinke 2016;
    Dong, Roth & Su 2022; Kairouz, Oh & Viswanath 2015; Issa, Wagner & Kamath 2020.

    >>> compose([PureDP(0.5), PureDP(0.25)])
    PureDP(epsilon=0.75)
    >>> compose([MIDP(0.1)] * 3).nats
    0.30000000000000004
    """
    neighbours = one_kind(definitions, "compose")
    bare = [replace(d, neighbours=None) for d in definitions]
    total = _compose(bare[0], bare)
    return cast(D, replace(total, neighbours=neighbours))


def one_kind(definitions: Sequence[Definition], verb: str) -> Neighbourhood | None:
    """The one neighbourhood of guarantees of one kind; `InvalidParameter` where they are mixed.

    >>> one_kind([PureDP(1.0)], "example") is None
    True
    """
    require(len(definitions) > 0, "definitions", verb, "hold at least one guarantee", list(definitions))
    kinds = sorted({type(d).__name__ for d in definitions})
    if len(kinds) > 1:
        raise InvalidParameter(
            f"`definitions` of `{verb}` must be of one kind. Got {', '.join(kinds)}. `convert` them first."
        )
    stated = {d.neighbours for d in definitions}
    if len(stated) > 1:
        raise InvalidParameter(
            f"`definitions` of `{verb}` must be stated for one neighbourhood and unit. Got {len(stated)} "
            f"different "
            "ones. See `to_replace_one`, and state the neighbourhood of each."
        )
    return definitions[0].neighbours


def _sum(definitions: Sequence[Definition]) -> float:
    return sum_up(d.threshold for d in definitions)


@singledispatch
def _compose(first: Definition, definitions: Sequence[Definition]) -> Definition:
    raise NoRoute(
        f"{type(first).__name__} does not compose: it speaks of one belief, and the first answer changes it. "
        "Compose PureDP or MIDP instead."
    )


def _adds_up(first: Definition, definitions: Sequence[Definition]) -> Definition:
    return first.with_threshold(_sum(definitions))


for _kind in (PureDP, KLDP, MIDP, MaximalLeakage, ZeroConcentratedDP):
    _compose.register(_kind, _adds_up)


def union(deltas: Sequence[float]) -> float:
    """1 − Π(1 − δ_i), rounded up.

    >>> union([0.5, 0.5])
    0.75
    """
    if max(deltas) >= 1.0:
        return 1.0
    if len(deltas) <= _MOST_EXACT:
        return float_up(1 - math.prod((1 - Fraction(d) for d in deltas), start=Fraction(1)))
    return min(up(-math.expm1(math.fsum(math.log1p(-d) for d in deltas)), 8), 1.0)


@_compose.register
def _(first: DeltaDP, definitions: Sequence[DeltaDP]) -> DeltaDP:
    return DeltaDP(union([d.delta for d in definitions]))


@_compose.register
def _(first: ApproxDP, definitions: Sequence[ApproxDP]) -> ApproxDP:
    return ApproxDP(sum_up(d.epsilon for d in definitions), union([d.delta for d in definitions]))


@_compose.register
def _(first: GaussianDP, definitions: Sequence[GaussianDP]) -> GaussianDP:
    return GaussianDP(hypot_up([d.mu for d in definitions]))


@_compose.register
def _(first: RenyiDP, definitions: Sequence[RenyiDP]) -> RenyiDP:
    # D_α grows with α: a guarantee at a higher order holds at the least one.
    return RenyiDP(min(d.alpha for d in definitions), _sum(definitions))


@_compose.register
def _(first: LevelCapacity, definitions: Sequence[LevelCapacity]) -> LevelCapacity:
    if {d.centre for d in definitions} == {Centre.SIBSON}:
        # The product of the centres is a centre: the radii add up at one order.
        return LevelCapacity(min(d.alpha for d in definitions), _sum(definitions), centre=Centre.SIBSON)
    if any(d.centre is Centre.SIBSON for d in definitions):
        raise InvalidParameter("level capacities to compose must have one centre. Got both.")
    if len(definitions) == 1:
        return first
    if any(d.alpha < 1.0 for d in definitions):
        raise NoRoute("level capacities compose at orders α ≥ 1 only. Ask at such an order.")
    if any(d.alpha == 1.0 for d in definitions):
        return LevelCapacity(1.0, _sum(definitions))
    finite = (Fraction(d.alpha) for d in definitions if math.isfinite(d.alpha))
    slack = sum((1 / (alpha - 1) for alpha in finite), start=Fraction(0))
    # The order is rounded down: a guarantee at a lower one says less.
    return LevelCapacity(float_down(1 + 1 / slack) if slack > 0 else math.inf, _sum(definitions))


@_compose.register
def _(first: InformationPrivacy, definitions: Sequence[InformationPrivacy]) -> InformationPrivacy:
    beliefs = {(d.records, d.extent) for d in definitions}
    if len(beliefs) > 1 or (first.records > 1 and math.isfinite(first.extent)):
        raise NoRoute(
            "information privacy composes for one class of beliefs without a bound on the dependence "
            "extent: the "
            "extent would be counted once a query. Compose PureDP, then `convert` with `records=` and "
            "`extent=`."
        )
    return replace(first, epsilon=_sum(definitions))


@singledispatch
def dominating_loss(definition: Definition) -> PrivacyLoss:
    """The privacy loss that dominates every mechanism with this guarantee, where there is one.

    Randomised response for ε; with probability δ everything for (ε, δ); two Gaussians for μ.
    Source: Kairouz, Oh & Viswanath 2015, theorem 3.4 on; Dong, Roth & Su 2022.

    >>> dominating_loss(PureDP(1.0)).queries
    1
    """
    raise NoRoute(
        f"no single pair of rows dominates all mechanisms with {definition!r}. `convert` it to ApproxDP "
        f"first."
    )


@dominating_loss.register
def _(definition: PureDP) -> PrivacyLoss:
    return _of_approximate(definition.epsilon, 0.0)


@dominating_loss.register
def _(definition: DeltaDP) -> PrivacyLoss:
    return _of_approximate(0.0, definition.delta)


@dominating_loss.register
def _(definition: ApproxDP) -> PrivacyLoss:
    return _of_approximate(definition.epsilon, definition.delta)


@dominating_loss.register
def _(definition: GaussianDP) -> PrivacyLoss:
    part: LossComponent = GaussianLoss(definition.mu) if definition.mu > 0 else finite_loss([1.0], [1.0])
    return PrivacyLoss(((part, 1),))


def _of_approximate(epsilon: float, delta: float) -> PrivacyLoss:
    rest, small = 1.0 - delta, math.exp(-epsilon)
    p = np.array([delta, rest / (1.0 + small), rest * small / (1.0 + small), 0.0])
    return PrivacyLoss(((finite_loss(p, p[::-1]), 1),))


def compose_approximate(
    definitions: Sequence[Definition], *, delta: float | None = None, epsilon: float | None = None
) -> ApproxDP:
    """The least (ε, δ) that follows for all queries together, at a given δ or a given ε: the optimum.

    Takes PureDP, DeltaDP, ApproxDP and GaussianDP, mixed, of one neighbourhood: their dominating pairs
    are composed exactly, and randomised responses attain the result.
    Source: Kairouz, Oh & Viswanath 2015, theorem 3.3; Murtagh & Vadhan 2016 for the heterogeneous case.

    >>> round(compose_approximate([PureDP(0.1)] * 100, delta=1e-6).epsilon, 6)
    4.774568
    """
    require(len(definitions) > 0, "definitions", "compose_approximate", "hold at least one guarantee", [])
    if (delta is None) == (epsilon is None):
        raise InvalidParameter(
            "`compose_approximate` needs one of `delta=` and `epsilon=`. Got both or neither."
        )
    if len({d.neighbours for d in definitions}) > 1:
        raise InvalidParameter("`definitions` of `compose_approximate` must be stated for one neighbourhood.")
    total = PrivacyLoss.of([dominating_loss(d) for d in definitions])
    stated = definitions[0].neighbours
    if delta is not None:
        found = total.epsilon(delta).upper
        if math.isinf(found):
            raise NoRoute(
                f"no finite ε holds with δ = {delta!r}: the queries' own δ are {total.infinite!r} together. "
                "Ask at a larger δ."
            )
        return ApproxDP(found, delta, neighbours=stated)
    assert epsilon is not None
    return ApproxDP(epsilon, total.delta(epsilon).upper, neighbours=stated)


def best_orders(definitions: Sequence[Definition], alpha: float) -> tuple[LevelCapacity, tuple[float, ...]]:
    """The least level-α capacity of all queries together over the orders α_i, and those orders.

    Each guarantee must convert to a level capacity at any order (PureDP does). With weights w_i = 1/(α_i−1)
    that sum to 1/(α−1), capacities at α_i add up; pairs of weights are traded until nothing is gained. Any
    weights give a valid bound. Source: the broken-wifi article, composition rule.

    >>> best_orders([PureDP(0.5), PureDP(0.5)], 2.0)[1]
    (3.0, 3.0)
    """
    require(1 < alpha < math.inf, "alpha", "best_orders", "lie above 1 and be finite", alpha)
    neighbours = one_kind(definitions, "best_orders")
    kinds = list(dict.fromkeys(replace(d, neighbours=None) for d in definitions))
    counts = [sum(1 for d in definitions if replace(d, neighbours=None) == kind) for kind in kinds]

    def price(kind: int, weight: float) -> float:
        order = 1.0 + 1.0 / weight if weight > 0.0 else math.inf
        return product_up(counts[kind], convert(kinds[kind], LevelCapacity, alpha=order).nats)

    weights = _traded(price, counts, 1.0 / (alpha - 1.0))
    total = sum_up(price(i, w) for i, w in enumerate(weights))
    place = {kind: 1.0 + 1.0 / w if w > 0.0 else math.inf for kind, w in zip(kinds, weights, strict=True)}
    orders = tuple(place[replace(d, neighbours=None)] for d in definitions)
    return LevelCapacity(alpha, total, neighbours=neighbours), orders


def _traded(price: Callable[[int, float], float], counts: list[int], total: float) -> list[float]:
    size = len(counts)
    weights = [total / sum(counts)] * size
    for _ in range(4):
        for i in range(size - 1):
            pot = counts[i] * weights[i] + counts[i + 1] * weights[i + 1]

            def gain(share: float, i: int = i, pot: float = pot) -> float:
                return -price(i, share * pot / counts[i]) - price(i + 1, (1.0 - share) * pot / counts[i + 1])

            now = counts[i] * weights[i] / pot
            share = max((maximise(gain, 0.0, 1.0, steps=30), now), key=gain)
            weights[i], weights[i + 1] = share * pot / counts[i], (1.0 - share) * pot / counts[i + 1]
        if size == 1:
            break
    return weights


def whole_table(definitions: Sequence[MIDP]) -> float:
    """Nats about the whole table from queries on disjoint parts: they add up, where per person they do not.

    Source: the broken-wifi article: attacks run on all rows at once.

    >>> whole_table([MIDP(0.25), MIDP(0.5)])
    0.75
    """
    one_kind(definitions, "whole_table")
    return _sum(definitions)
