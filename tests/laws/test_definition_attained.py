"""Every tight edge of the implication graph is attained by a channel.

A twin of each whose value is ten per cent smaller must be caught.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from laws.definition_channels import Free, erasure, exceeds, hiding, leaky, pair, pairs, response
from leakcap.channel import Channel
from leakcap.definition import ApproxDP, Centre, Definition, Implication, PureDP, convert, edges
from leakcap.definition.binary import divergence_profile, shannon_profile


def shannon_pair(nats: float, epsilon: float) -> Channel:
    return pair(*shannon_profile(nats, epsilon).witness)


def divergence_pair(alpha: float, level: float, epsilon: float) -> Channel:
    return pair(*divergence_profile(alpha, level, epsilon).witness)


def bernoulli_of_gain(nats: float) -> float:
    delta = convert_delta(nats)
    return 0.5 * (1 + delta)


def convert_delta(nats: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(200):
        d = 0.5 * (low + high)
        value = math.log(2) - sum(-p * math.log(p) for p in (0.5 + d / 2, 0.5 - d / 2) if p > 0)
        low, high = (d, high) if value < nats else (low, d)
    return low


Attain = Callable[[Any, Free], Channel]


def randomised(source: Any, free: Free) -> Channel:
    return response(min(source.threshold, 30.0))


def any_response(source: Any, free: Free) -> Channel:
    return response(0.7, 3)


def noiseless(source: Any, free: Free) -> Channel:
    return Channel(np.eye(3))


def all_or_response(source: Any, free: Free) -> Channel:
    return leaky(source.epsilon, source.delta)


EXACT: dict[str, tuple[Attain, Free]] = {
    "pure_to_kl": (randomised, {}),
    "pure_to_mi_binary": (randomised, {"values": 2}),
    "pure_to_level_binary": (randomised, {"alpha": 3.0, "values": 2, "centre": Centre.SIBSON}),
    "pure_to_renyi": (randomised, {"alpha": 2.5}),
    "pure_to_zcdp": (randomised, {}),
    "pure_to_gaussian": (randomised, {}),
    "pure_to_approximate": (randomised, {}),
    "pure_to_delta_at": (randomised, {"epsilon": 0.05}),
    "pure_to_epsilon_at": (randomised, {"delta": 0.01}),
    "pure_to_delta": (randomised, {}),
    "pure_to_leakage_of_values": (lambda s, f: response(min(s.epsilon, 30.0), 5), {"values": 5}),
    "pure_to_information": (randomised, {}),
    "information_to_pure": (any_response, {}),
    "pure_to_local_information_of_values": (lambda s, f: hiding(min(s.epsilon, 30.0), 5), {"values": 5}),
    "local_information_to_pure": (lambda s, f: pairs(min(s.epsilon, 1.0)), {}),
    "approximate_to_delta_at": (all_or_response, {"epsilon": 0.0}),
    "approximate_to_epsilon_at": (all_or_response, {"delta": 0.3}),
    "approximate_to_total_variation": (all_or_response, {}),
    "approximate_to_pure": (any_response, {}),
    "approximate_to_mi_binary": (all_or_response, {"values": 2}),
    "total_variation_to_approximate": (any_response, {}),
    "total_variation_to_delta_at": (lambda s, f: erasure(s.delta, 2), {"epsilon": 3.0}),
    "total_variation_to_mi": (lambda s, f: erasure(s.delta, 5), {"values": 5}),
    "total_variation_to_leakage": (lambda s, f: erasure(s.delta, 5), {"values": 5}),
    "leakage_to_total_variation": (lambda s, f: erasure(min(math.expm1(s.nats), 1.0), 2), {}),
    "mi_to_total_variation": (
        lambda s, f: pair(bernoulli_of_gain(s.nats), 1 - bernoulli_of_gain(s.nats)),
        {},
    ),
    "mi_to_approximate": (lambda s, f: shannon_pair(s.nats, f["epsilon"]), {"epsilon": 0.5}),
    "mi_to_level": (any_response, {"alpha": 1.0}),
    "kl_to_total_variation": (lambda s, f: response(min(s.nats, 3.0)), {}),
    "kl_to_approximate": (lambda s, f: divergence_pair(1.0, s.nats, f["epsilon"]), {"epsilon": 0.5}),
    "level_to_mi": (noiseless, {}),
    "level_to_lower_level": (noiseless, {"alpha": 0.2}),
    "level_to_pure": (any_response, {}),
    "level_to_leakage": (noiseless, {}),
    "leakage_to_mi": (noiseless, {}),
    "leakage_to_level": (noiseless, {"alpha": 2.0}),
    "renyi_to_kl": (any_response, {}),
    "renyi_to_pure": (any_response, {}),
    "renyi_to_total_variation": (lambda s, f: response(min(s.epsilon, 3.0)), {}),
    "renyi_to_delta_at": (lambda s, f: divergence_pair(s.alpha, s.epsilon, f["epsilon"]), {"epsilon": 0.3}),
}
"""Edges whose value is attained: the channel for a source, and the keywords to try."""

ELIGIBLE: dict[str, Callable[[Any], bool]] = {
    "approximate_to_epsilon_at": lambda s: s.delta < 0.3 and s.epsilon >= 1.0,
    "level_to_mi": lambda s: s.centre is Centre.SIBSON and s.alpha >= 1.0,
    "level_to_lower_level": lambda s: s.centre is Centre.SIBSON,
    "level_to_leakage": lambda s: s.centre is Centre.SIBSON and math.isinf(s.alpha),
    "level_to_pure": lambda s: s.centre is Centre.MARGINAL and math.isinf(s.alpha),
    "leakage_to_total_variation": lambda s: s.nats <= math.log(2.0),
    "mi_to_total_variation": lambda s: s.nats < math.log(2.0) and s.nats > 1e-6,
    "mi_to_approximate": lambda s: 1e-3 < s.nats < math.log(2.0),
    "pure_to_epsilon_at": lambda s: s.epsilon >= 0.1,
    "information_to_pure": lambda s: s.records == 1,
    "renyi_to_kl": lambda s: s.alpha == 1.0,
    "renyi_to_pure": lambda s: math.isinf(s.alpha),
    "renyi_to_delta_at": lambda s: 1.0 <= s.alpha < math.inf,
    "local_information_to_pure": lambda s: s.prior is None,
}
"""Sources for which `attained_by` claims equality, where not all."""


def attained(edge: Implication, example: Definition) -> tuple[Definition, Channel] | None:
    build, free = EXACT[edge.name]
    channel = build(example, free)
    target = edge(example.tightest(channel), **free)
    return None if target is None else (target, channel)


def is_attained(edge: Implication, example: Definition, shrink: float = 1.0) -> bool | None:
    """Whether the channel reaches the value (shrunk: whether it does not break it)."""
    found = attained(edge, example)
    if found is None:
        return None
    target, channel = found
    reached = target.measure(channel).upper
    return abs(reached - shrink * target.threshold) <= 1e-9 * max(reached, 1e-3)


@pytest.mark.parametrize("name", sorted(set(EXACT) - {"approximate_to_pure", "pure_to_approximate"}))
def test_tight_edges_are_attained(name: str) -> None:
    edge = next(e for e in edges() if e.name == name)
    assert edge.tight
    eligible = ELIGIBLE.get(name, lambda s: True)
    tested = caught = 0
    for example in (e for e in edge.source.examples() if eligible(e)):
        verdict = is_attained(edge, example)
        assert verdict is not False, (name, example, attained(edge, example))
        if verdict is None:
            continue
        tested += 1
        found = attained(edge, example)
        assert found is not None
        shrunk = found[0].with_threshold(0.9 * found[0].threshold)
        if found[0].threshold > 1e-6:
            assert exceeds(shrunk, found[1]), f"a value of {name} ten per cent smaller went unnoticed"
            caught += 1
    assert tested >= 1, name
    assert caught >= 1, name


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_without_delta_pure_and_approximate_privacy_are_one(epsilon: float) -> None:
    channel = response(epsilon)
    there = convert(PureDP(0.0).tightest(channel), ApproxDP)
    assert there.delta == 0.0
    assert there.measure(channel).upper <= 1e-15
    assert ApproxDP(0.9 * there.epsilon, 0.0).measure(channel).lower > 1e-3
    assert convert(there, PureDP) == PureDP(there.epsilon)


LIMITS = {
    "pure_to_mi",
    "pure_to_level",
    "pure_to_leakage",
    "pure_to_local_information",
    "kl_to_mi",
    "zcdp_to_renyi",
    "zcdp_to_kl",
    "gaussian_to_zcdp",
    "gaussian_to_renyi",
    "gaussian_to_kl",
    "gaussian_to_total_variation",
    "gaussian_to_delta_at",
    "gaussian_to_epsilon_at",
    "gaussian_to_mi",
}
"""Edges attained in a limit, each with a test of its rate in `test_definition_limits`."""


def test_every_tight_edge_has_its_test() -> None:
    assert {e.name for e in edges() if e.tight} == set(EXACT) | LIMITS
    assert not any(e.tight and e.loose for e in edges())
