"""Every edge of the implication graph over the whole range of its parameters, against exact channels.

A channel's tightest source guarantee, taken at 320 bits and rounded up to a double, goes through the edge.
What comes out may not be below what the channel measures of the target, not even by a rounding. Where an edge
claims to be attained, a channel reaches it. A new edge, definition or parameter is in this by existing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb

from laws.exact_measures import MEASURES, Rows, exact, measure
from laws.test_definition_attained import ELIGIBLE, EXACT
from leakcap.definition import (
    Centre,
    Definition,
    DeltaDP,
    Implication,
    LocalInformationPrivacy,
    PureDP,
    RenyiDP,
    convert,
    edges,
)

Free = dict[str, Any]

RANGES: dict[str, tuple[Any, ...]] = {
    "alpha": (0.001, 0.1, 0.3, 0.5, 0.7, 0.9, 1 - 1e-9, 1.0, 1 + 1e-9, 1.5, 2.0, 3.0, 17.0, 1e3, math.inf),
    "epsilon": (0.0, 1e-9, 0.01, 0.2, 1.0, 3.0, 20.0),
    "delta": (1e-12, 1e-6, 0.05, 0.4, 0.9),
    "centre": tuple(Centre),
}


def rows_of(weights: list[list[float]]) -> Rows:
    """Exact rows that add up to one, from weights."""
    found = [[Fraction(float(w)) for w in row] for row in weights]
    return tuple(tuple(w / sum(row) for w in row) for row in found)


def binary(a: float, b: float) -> Rows:
    return tuple((Fraction(p), 1 - Fraction(p)) for p in (a, b))


def response(epsilon: float, k: int = 2) -> Rows:
    a = Fraction(math.exp(epsilon))
    return tuple(tuple((a if i == j else Fraction(1)) / (a + k - 1) for j in range(k)) for i in range(k))


def erasure(delta: float, k: int) -> Rows:
    d = Fraction(delta)
    return tuple((*(d if i == j else Fraction(0) for j in range(k)), 1 - d) for i in range(k))


def channels() -> Iterator[Rows]:
    """Symmetric, lopsided, tiny, huge and vanishing; noiseless, useless; more values; random."""
    for epsilon in (1e-9, 1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 300.0):
        yield response(epsilon)
    grid = (0.0, 1e-300, 1e-9, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1 - 1e-9, 1.0)
    yield from (binary(a, b) for a, b in itertools.combinations(grid, 2))
    yield binary(0.3, 0.3)
    yield from (binary(0.3, 0.3 + shift) for shift in (2.0**-40, 1e-6))
    yield from (erasure(delta, k) for delta in (1e-9, 0.1, 0.9) for k in (2, 4))
    yield from (response(epsilon, k) for epsilon in (1e-3, 1.0, 6.0) for k in (3, 6))
    rng = np.random.default_rng(12)
    for x, y in ((2, 3), (2, 5), (3, 3), (4, 3)):
        for spread in (0.1, 1.0, 30.0):
            yield rows_of(rng.dirichlet(np.full(y, spread), size=x).clip(1e-200).tolist())


CHANNELS = tuple(channels())
FEW = CHANNELS[1:9:3] + CHANNELS[10::13]


def kinds(source: type[Definition]) -> list[Definition]:
    """The definition at each setting of its fields beside the threshold."""
    names = [f.name for f in fields(source) if f.name in RANGES and f.name != source.threshold_name()]
    if source is LocalInformationPrivacy:
        return [source(0.0)]
    start = source.examples()[0].with_threshold(0.0)
    settings = (
        dict(zip(names, values, strict=True)) for values in itertools.product(*map(RANGES.__getitem__, names))
    )
    return [
        type(start)(**{**{f.name: getattr(start, f.name) for f in fields(start)}, **setting})
        for setting in settings
    ]


def choices(edge: Implication, rows: Rows) -> Iterator[Free]:
    """Every keyword that the edge takes, over its range; a record's values are the channel's."""
    size = len(rows) if edge.target is LocalInformationPrivacy else min(len(rows), len(rows[0]))
    known = {**RANGES, "values": (max(size, 2),)}
    names = [name for name in edge.keywords if name in known]
    for values in itertools.product(*(known[name] for name in names)):
        yield dict(zip(names, values, strict=True))


def double_above(value: arb) -> float:
    """The least double that is certainly not below."""
    if not value.is_finite():
        return math.inf
    high = float(value.upper())
    while exact(Fraction(high)) < value.upper():
        high = math.nextafter(high, math.inf)
    return high


def source_of(kind: Definition, rows: Rows) -> Definition | None:
    """The tightest guarantee; None where it would be none at all."""
    top = double_above(measure(kind, rows)[1])
    name = kind.threshold_name()
    return kind.with_threshold(min(top, 1.0) if name == "delta" else top)


def broken(target: Definition, rows: Rows) -> bool:
    """Whether the channel certainly breaks it, were it by the last bit."""
    if math.isinf(target.threshold):
        return False
    return bool(measure(target, rows)[0] > exact(Fraction(target.threshold)))


def walk(edge: Implication, chosen: tuple[Rows, ...]) -> tuple[int, list[str]]:
    tested, faults = 0, []
    for rows in chosen:
        for kind in kinds(edge.source):
            source = source_of(kind, rows)
            for free in choices(edge, rows):
                target = edge(source, **free)
                if target is None:
                    continue
                tested += 1
                if broken(target, rows):
                    faults.append(
                        f"{source} -> {target} with {free} on {[[float(a) for a in r] for r in rows]}"
                    )
    return tested, faults


def test_every_definition_has_an_exact_measure() -> None:
    assert {e.source for e in edges()} | {e.target for e in edges()} == set(MEASURES)


@pytest.mark.parametrize("edge", edges(), ids=lambda e: e.name)
def test_no_edge_is_below_a_channel(edge: Implication) -> None:
    tested, faults = walk(edge, FEW)
    assert faults == [], f"{len(faults)} of {tested}"
    assert tested >= 5


@pytest.mark.slow
@pytest.mark.parametrize("edge", edges(), ids=lambda e: e.name)
def test_no_edge_is_below_any_channel(edge: Implication) -> None:
    tested, faults = walk(edge, CHANNELS)
    assert faults == [], f"{len(faults)} of {tested}"
    assert tested >= 30


THRESHOLDS = (1e-9, 1e-3, 0.05, 0.24022901, 0.5, 0.9, 1.0, 3.0, 12.0)
NO_EQUALITY = {"pure_to_approximate", "approximate_to_pure"}
"""What they claim is that a threshold is the same, which `test_definition_attained` sees to."""


def shortfalls(name: str, shrink: float = 1.0) -> tuple[int, list[str]]:
    """Where the channel that is said to attain an edge does not, over thresholds and orders."""
    edge = next(e for e in edges() if e.name == name)
    build, usual = EXACT[name]
    eligible = ELIGIBLE.get(name, lambda source: True)
    tested, faults = 0, []
    orders = RANGES["alpha"] if "alpha" in edge.keywords and edge.source is PureDP else (usual.get("alpha"),)
    for kind, threshold, alpha in itertools.product(kinds(edge.source), THRESHOLDS, orders):
        if kind.threshold_name() == "delta" and threshold > 1.0:
            continue
        example = kind.with_threshold(threshold)
        free = usual if alpha is None else {**usual, "alpha": alpha}
        near_one = 1.0 < getattr(kind, "alpha", 0.0) < 1.0 + 1e-4  # taken as one, where optima are searched
        if not eligible(example) or near_one:
            continue
        rows = rows_of(build(example, free).matrix.tolist())
        source = source_of(kind, rows)
        target = edge(source, **free)
        if target is None:
            continue
        tested += 1
        reached = float(measure(target, rows)[0])
        if abs(reached - shrink * target.threshold) > 1e-9 * max(reached, 1e-3):
            faults.append(f"{source} -> {target} with {free}, reached {reached!r}")
    return tested, faults


@pytest.mark.parametrize("name", sorted(set(EXACT) - NO_EQUALITY))
def test_tight_edges_are_attained_over_the_range(name: str) -> None:
    tested, faults = shortfalls(name)
    assert faults == [], f"{len(faults)} of {tested}"
    assert tested >= 3


def test_a_smaller_value_would_be_seen() -> None:
    assert shortfalls("renyi_to_total_variation", shrink=1 - 1e-6)[1] != []
    edge = next(e for e in edges() if e.name == "renyi_to_total_variation")
    planted = replace(edge, rule=lambda source: DeltaDP(0.999999999 * edge.rule(source).threshold), error=0.0)
    assert walk(planted, FEW)[1] != []


@pytest.mark.parametrize(
    ("alpha", "level"), [(0.5, 0.24022901), (0.7, 0.33415), (0.3, 0.143209), (0.9, 0.42161)]
)
def test_randomised_response_is_not_below_its_own_total_variation(alpha: float, level: float) -> None:
    """At ε = 1 its total variation is tanh(1/2) = .4621, whatever the order that says so."""
    rows = response(1.0)
    source = source_of(RenyiDP(alpha, 0.0), rows)
    assert source.threshold == pytest.approx(level, abs=5e-6)
    assert convert(source, DeltaDP).delta == pytest.approx(math.tanh(0.5), rel=1e-9)
    assert not broken(convert(source, DeltaDP), rows)
