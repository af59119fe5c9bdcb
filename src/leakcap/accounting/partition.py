"""Queries on disjoint parts of the data, and guarantees for groups of records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from functools import singledispatch
from typing import TypeVar, cast

from leakcap.accounting.algebra import one_kind
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
    LocalInformationPrivacy,
    MaximalLeakage,
    PureDP,
    Relation,
    RenyiDP,
    ZeroConcentratedDP,
    convert,
)
from leakcap.errors import InvalidParameter, NoRoute, require
from leakcap.numeric.rounding import product_up, up

__all__ = ["Partition", "group", "parallel"]

D = TypeVar("D", bound=Definition)


class Partition(StrEnum):
    """What decides in which part a record is."""

    PUBLIC_INDEX = "public index"
    """Something that does not change when the record's value does: its position, its owner's id."""
    BY_VALUE = "by value"
    """The record itself, as in GROUP BY: another value may be in another part."""


def parallel(definitions: Sequence[D], *, partition: Partition | None = None) -> D:
    """What queries on disjoint parts of the data keep together: the weakest of their guarantees.

    Under add/remove-one a record is in one part, whatever decides which. Under replace-one it may move
    between parts when its value decides, and then two parts change: `partition` must say which it
    is, and `Partition.BY_VALUE` is refused (state the guarantees for add/remove-one, whose maximum
    `to_replace_one` then doubles). Source: McSherry 2009, theorem 4; Cuff & Yu 2016, corollary 7.

    >>> parallel([PureDP(0.5), PureDP(0.25)], partition=Partition.PUBLIC_INDEX)
    PureDP(epsilon=0.5)
    """
    neighbours = one_kind(definitions, "parallel")
    relation = neighbours.relation if neighbours is not None else None
    if relation is not Relation.ADD_REMOVE_ONE:
        _require_public(partition)
    bare = [replace(d, neighbours=None) for d in definitions]
    return cast(D, replace(_weakest(bare[0], bare), neighbours=neighbours))


def _require_public(partition: Partition | None) -> None:
    if partition is None:
        raise InvalidParameter(
            "`parallel` must be told what decides the part of a record: "
            "`partition=Partition.PUBLIC_INDEX` or "
            "`Partition.BY_VALUE`. Got None, for guarantees not stated for add/remove-one."
        )
    if Partition(partition) is Partition.BY_VALUE:
        raise NoRoute(
            "a replaced record may leave one part and enter another, which changes two parts and their "
            "sizes: a "
            "guarantee for replace-one says nothing about that. State the guarantees for add/remove-one, "
            "take their "
            "maximum, then `to_replace_one`."
        )


@singledispatch
def _weakest(first: Definition, definitions: Sequence[Definition]) -> Definition:
    return first.with_threshold(max(d.threshold for d in definitions))


@_weakest.register
def _(first: ApproxDP, definitions: Sequence[ApproxDP]) -> ApproxDP:
    return ApproxDP(max(d.epsilon for d in definitions), max(d.delta for d in definitions))


@_weakest.register
def _(first: RenyiDP, definitions: Sequence[RenyiDP]) -> RenyiDP:
    return RenyiDP(min(d.alpha for d in definitions), max(d.epsilon for d in definitions))


@_weakest.register
def _(first: LevelCapacity, definitions: Sequence[LevelCapacity]) -> LevelCapacity:
    if len({d.centre for d in definitions}) > 1:
        raise InvalidParameter("level capacities side by side must have one centre. Got both.")
    return replace(first, alpha=min(d.alpha for d in definitions), nats=max(d.nats for d in definitions))


@_weakest.register
def _(first: InformationPrivacy, definitions: Sequence[InformationPrivacy]) -> InformationPrivacy:
    if any(d.records > 1 for d in definitions):
        raise NoRoute(
            "dependent records may be in different parts, and information privacy of each part does not "
            "say what "
            "they tell together. Take the maximum of PureDP, then `convert` with `records=`."
        )
    return replace(first, epsilon=max(d.epsilon for d in definitions))


@_weakest.register
def _(first: LocalInformationPrivacy, definitions: Sequence[Definition]) -> Definition:
    raise NoRoute("LocalInformationPrivacy speaks of one record under one belief; use PureDP.")


def group(definition: D, k: int, *, values: float = math.inf, outputs: float = math.inf) -> D:
    """What the guarantee for one record says about `k` records at once.

    kε; kδ; (kε, δ(e^{kε}−1)/(e^ε−1)); k²ρ; kμ; RDP at a lower order. MI-DP, KL-DP, maximal leakage and
    capacities at finite levels have no such rule: `NoRoute`, unless `values` (of one record) or `outputs` is
    finite, which makes MI-DP κ → (0, δ) → kδ → kδ·ln of the smaller alphabet.
    Source: Dwork & Roth 2014; Bun & Steinke 2016; Dong, Roth & Su 2022; Mironov 2017, proposition 2;
    Cuff & Yu 2016, example 5.1 and corollary 8; Wu, Xia & He 2017, section 5.

    >>> group(PureDP(0.5), 3)
    PureDP(epsilon=1.5)
    """
    whole = isinstance(k, int) and not isinstance(k, bool) and k >= 1
    require(whole, "k", "group", "be an integer of at least 1", k)
    for name, size in (("values", values), ("outputs", outputs)):
        require(size >= 1, name, "group", "be at least 1", size)
    if k == 1:
        return definition
    bare = replace(definition, neighbours=None)
    found = _group_by_alphabet(bare, k, values, outputs) if isinstance(bare, MIDP) else _group(bare, k)
    return cast(D, replace(found, neighbours=definition.neighbours))


_COMPARED = (
    "two entries of many values; with probability δ the output tells whether they are equal and, if so, "
    "their value. Knowing one, the other leaks δ ln 2 nats; both together leak without bound "
    "(Cuff & Yu 2016, example 5.1)"
)


@singledispatch
def _group(definition: Definition, k: int) -> Definition:
    raise NoRoute(
        f"{definition!r} says nothing about {k} records at once. Use PureDP, ApproxDP, zCDP or GDP."
    )


def _refuse(definition: Definition, k: int) -> Definition:
    raise NoRoute(
        f"{definition!r} says nothing about {k} records at once: {_COMPARED}. Use PureDP, ApproxDP, zCDP "
        f"or GDP, or "
        "MIDP with `values=` of a record."
    )


for _kind in (MaximalLeakage, KLDP):
    _group.register(_kind, _refuse)


@_group.register
def _(definition: PureDP, k: int) -> PureDP:
    return PureDP(product_up(k, definition.epsilon))


@_group.register
def _(definition: DeltaDP, k: int) -> DeltaDP:
    return DeltaDP(min(product_up(k, definition.delta), 1.0))


@_group.register
def _(definition: ApproxDP, k: int) -> ApproxDP:
    epsilon = definition.epsilon
    if epsilon == 0.0 or definition.delta == 0.0:
        delta = product_up(k, definition.delta)
    elif k * epsilon >= 700.0:
        delta = 1.0
    else:
        # A rounding of the exponent k·ε is k·ε roundings of its power.
        roundings = 8 + math.ceil(k * epsilon)
        delta = up(definition.delta * (math.expm1(k * epsilon) / math.expm1(epsilon)), roundings)
    return ApproxDP(product_up(k, epsilon), min(delta, 1.0))


@_group.register
def _(definition: ZeroConcentratedDP, k: int) -> ZeroConcentratedDP:
    return ZeroConcentratedDP(product_up(k * k, definition.rho))


@_group.register
def _(definition: GaussianDP, k: int) -> GaussianDP:
    return GaussianDP(product_up(k, definition.mu))


@_group.register
def _(definition: RenyiDP, k: int) -> RenyiDP:
    if math.isinf(definition.alpha):
        return RenyiDP(math.inf, product_up(k, definition.epsilon))
    doublings = (k - 1).bit_length()
    if definition.alpha < 2.0 ** (doublings + 1):
        raise NoRoute(
            f"{definition!r} says nothing about {k} records: its order must be at least "
            f"{2 ** (doublings + 1)}. Ask at a higher order."
        )
    return RenyiDP(definition.alpha / 2.0**doublings, product_up(3**doublings, definition.epsilon))


@_group.register
def _(definition: InformationPrivacy, k: int) -> InformationPrivacy:
    if definition.records > 1:
        raise NoRoute(f"{definition!r} already speaks of dependent records; take `group` of PureDP.")
    return InformationPrivacy(product_up(k, definition.epsilon))


@_group.register
def _(definition: LevelCapacity, k: int) -> LevelCapacity:
    # The same comparison has level capacity ln(1−δ+δ2^{α−1})/(α−1) for one entry when α < 2, whatever the
    # number of values, and at least ln(1−δ+δm^{β−1})/(β−1) for both.
    if math.isinf(definition.alpha) and definition.centre is Centre.MARGINAL:
        return replace(definition, nats=product_up(k, definition.nats))
    return cast(LevelCapacity, _refuse(definition, k))


def _group_by_alphabet(definition: MIDP, k: int, values: float, outputs: float) -> MIDP:
    alphabet = min(k * math.log(values) if math.isfinite(values) else math.inf, _log(outputs))
    if math.isinf(alphabet):
        return cast(MIDP, _refuse(definition, k))
    delta = convert(definition, DeltaDP).delta
    return MIDP(up(min(product_up(k, delta), 1.0) * alphabet, 8))


def _log(size: float) -> float:
    return math.log(size) if math.isfinite(size) else math.inf
