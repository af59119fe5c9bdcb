"""Tight edges that no channel attains: some approach the value, at a stated rate."""

from __future__ import annotations

import math

import pytest

from laws.definition_channels import Free, binned_normal, block, exceeds, hiding, response
from leakcap.definition import (
    Centre,
    GaussianDP,
    LevelCapacity,
    LocalInformationPrivacy,
    MaximalLeakage,
    PureDP,
    convert,
    edges,
)


def best_share(epsilon: float, alpha: float) -> float:
    """The share of secrets at the high likelihood in the worst case; theory's f."""
    a = math.exp(epsilon)
    if alpha == 1.0:
        return (a * epsilon - (a - 1)) / (a - 1) ** 2
    power = a**alpha
    return ((power - 1) - alpha * (a - 1)) / ((alpha - 1) * (a - 1) * (power - 1))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("alpha", [1.0, 2.0, 5.0])
def test_subset_mechanism_approaches_the_level_capacity(epsilon: float, alpha: float) -> None:
    """The share is rounded to 1/k, so the shortfall is O(1/k²)."""
    value = convert(PureDP(epsilon), LevelCapacity, alpha=alpha).nats
    for k in (40, 160):
        channel = block(epsilon, k, max(round(best_share(epsilon, alpha) * k), 1))
        reached = LevelCapacity(alpha, 0.0, centre=Centre.SIBSON).measure(channel).lower
        assert value * (1 - 25.0 * alpha**2 * math.exp(epsilon) / k**2) <= reached <= value * (1 + 1e-9)
        assert reached > 0.9 * value


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_many_values_approach_leakage_and_lift(epsilon: float) -> None:
    k = 2000
    share = (math.exp(epsilon) - 1) / k
    leakage = MaximalLeakage(0.0).measure(response(epsilon, k)).upper
    assert epsilon - share <= leakage <= epsilon * (1 + 1e-9)
    lift = LocalInformationPrivacy(0.0).measure(hiding(epsilon, k)).upper
    assert epsilon - 2 * (1 - math.exp(-epsilon)) / k <= lift <= epsilon * (1 + 1e-9)


def test_many_values_bring_capacity_to_divergence() -> None:
    """k-ary response with truth s, s·ln k = c: capacity over KL tends to one like 1/ln k."""
    ratios = []
    for exponent in (10, 40, 160):
        log_k = exponent * math.log(10.0)
        s = 0.5 / log_k
        divergence = s * (math.log(s) + log_k - math.log1p(-s)) - (1 - s) / 10.0**exponent * (log_k)
        capacity = log_k + s * math.log(s) + (1 - s) * math.log1p(-s) - (1 - s) * log_k
        ratios.append(capacity / divergence)
    assert all(r <= 1.0 for r in ratios)
    assert 1 - ratios[2] < (1 - ratios[0]) / 8
    assert ratios[2] > 0.9


@pytest.mark.parametrize("mu", [0.5, 2.0])
def test_finer_bins_approach_the_gaussian(mu: float) -> None:
    """Merging outputs into bins of width w loses O(w²); what is lost is below 10⁻⁴ at w = 0.01."""
    channel = binned_normal(mu, 0.01)
    tested = 0
    frees: dict[str, Free] = {
        "gaussian_to_renyi": {"alpha": 3.0},
        "gaussian_to_delta_at": {"epsilon": 0.7},
        "gaussian_to_epsilon_at": {"delta": 0.01},
        "gaussian_to_mi": {"values": 2},
        "zcdp_to_renyi": {"alpha": 3.0},
    }
    for edge in edges():
        if not edge.tight or not edge.name.startswith(("gaussian", "zcdp")):
            continue
        start = edge.source.examples()[0].with_threshold(
            mu if edge.name.startswith("gaussian") else mu * mu / 2
        )
        target = edge(start, **frees.get(edge.name, {}))
        assert target is not None
        reached = target.measure(channel).lower
        assert target.threshold * (1 - 1e-4) <= reached <= target.threshold * (1 + 1e-9), edge.name
        assert exceeds(target.with_threshold(0.9 * target.threshold), channel), edge.name
        tested += 1
    assert tested == 9
    assert abs(GaussianDP(0.0).tightest(channel).mu - mu) < 1e-6
