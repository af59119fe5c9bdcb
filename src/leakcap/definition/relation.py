"""From add/remove-one to replace-one: the explicit edge between neighbourhoods."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import singledispatch
from typing import TypeVar, cast

from leakcap.definition.approximate import ApproxDP, DeltaDP
from leakcap.definition.base import Definition, Neighbourhood, Relation
from leakcap.definition.gaussian import GaussianDP
from leakcap.definition.pure import PureDP
from leakcap.definition.renyi import RenyiDP, ZeroConcentratedDP
from leakcap.errors import InvalidParameter, NoRoute

__all__ = ["to_replace_one"]

T = TypeVar("T", bound=Definition)


def to_replace_one(definition: T) -> T:
    """What a guarantee for adding or removing a record says about replacing one: two steps away.

    ε-DP doubles; (ε, δ) becomes (2ε, (1+e^ε)δ); δ doubles; ρ becomes 4ρ; μ becomes 2μ; RDP halves its
    order. KL-DP, MI-DP and capacities have no such rule and raise `NoRoute`.
    Source: Dwork & Roth 2014, thm 2.2; Bun & Steinke 2016, prop. 1.9; Dong, Roth & Su 2022, thm 2.14.

    >>> here = Neighbourhood(Relation.ADD_REMOVE_ONE)
    >>> to_replace_one(PureDP(0.5, neighbours=here))
    PureDP(epsilon=1.0, neighbours='replace-one' of one row)
    """
    stated = definition.neighbours
    if stated is None or stated.relation is not Relation.ADD_REMOVE_ONE:
        raise InvalidParameter(
            f"`definition` of `to_replace_one` must be stated for add/remove-one. Got {definition!r}. "
            "Give it `neighbours=Neighbourhood(Relation.ADD_REMOVE_ONE)`."
        )
    doubled = _two_steps(definition)
    # Each rule gives back the kind that it was given, which `singledispatch` cannot say: hence the cast.
    return cast(T, replace(doubled, neighbours=Neighbourhood(Relation.REPLACE_ONE, stated.unit)))


@singledispatch
def _two_steps(definition: Definition) -> Definition:
    raise NoRoute(
        f"{definition!r} says nothing about two steps: two entries whose comparison is shown with "
        "probability δ leak δ ln 2 nats each, and without bound together (Cuff & Yu 2016, Ex. 5.1). "
        "Convert from ε, δ, ρ or μ instead."
    )


@_two_steps.register
def _(definition: PureDP) -> PureDP:
    return PureDP(2.0 * definition.epsilon)


@_two_steps.register
def _(definition: ApproxDP) -> ApproxDP:
    delta = definition.delta * (1.0 + math.exp(definition.epsilon)) if definition.delta > 0.0 else 0.0
    return ApproxDP(2.0 * definition.epsilon, min(delta, 1.0))


@_two_steps.register
def _(definition: DeltaDP) -> DeltaDP:
    return DeltaDP(min(2.0 * definition.delta, 1.0))


@_two_steps.register
def _(definition: ZeroConcentratedDP) -> ZeroConcentratedDP:
    return ZeroConcentratedDP(4.0 * definition.rho)


@_two_steps.register
def _(definition: GaussianDP) -> GaussianDP:
    return GaussianDP(2.0 * definition.mu)


@_two_steps.register
def _(definition: RenyiDP) -> RenyiDP:
    # D_a(P‖Q) ≤ (a−½)/(a−1)·D_{2a}(P‖R) + D_{2a−1}(R‖Q) with 2a = α: Mironov 2017, weak triangle inequality.
    if math.isinf(definition.alpha):
        return RenyiDP(math.inf, 2.0 * definition.epsilon)
    a = 0.5 * definition.alpha
    if a <= 1.0:
        raise NoRoute(
            f"{definition!r} says nothing about two steps: its order must exceed 2. Ask at a higher order."
        )
    return RenyiDP(a, definition.epsilon * (1.0 + (a - 0.5) / (a - 1.0)))
