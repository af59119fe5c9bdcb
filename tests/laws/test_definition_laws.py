"""The laws of the implication graph, on channels: every edge holds, every tight edge is attained.

Every edge that has enrolled itself is walked; what was tested is counted, and a law that tested nothing
fails. A twin of each tight edge whose value is ten per cent smaller must be caught.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from leakcap.bound import Bound
from leakcap.channel import Channel
from leakcap.definition import (
    ApproxDP,
    Centre,
    Definition,
    Implication,
    LevelCapacity,
    LocalInformationPrivacy,
    MaximalLeakage,
    PureDP,
    convert,
    edges,
    implications,
)
from leakcap.definition.binary import divergence_profile, shannon_profile

Free = dict[str, Any]

KEYWORDS: dict[str, tuple[Any, ...]] = {
    "alpha": (0.4, 1.0, 2.0, 9.0, math.inf),
    "epsilon": (0.0, 0.2, 1.0),
    "delta": (1e-6, 0.05, 0.4),
}


def response(epsilon: float, k: int = 2) -> Channel:
    """k-ary randomised response."""
    a = math.exp(epsilon)
    return Channel((np.ones((k, k)) + (a - 1) * np.eye(k)) / (a + k - 1))


def hiding(epsilon: float, k: int) -> Channel:
    """One value of k at the low likelihood, the others at e^ε times it."""
    a = math.exp(epsilon)
    return Channel((a * np.ones((k, k)) + (1 - a) * np.eye(k)) / (1 + a * (k - 1)))


def block(epsilon: float, k: int, size: int) -> Channel:
    """Likelihood e^ε on a cyclic block of `size` out of k secrets: the subset mechanism with k outputs."""
    high = sum(np.roll(np.eye(k), shift, axis=1) for shift in range(size))
    rows = 1.0 + (math.exp(epsilon) - 1.0) * high
    return Channel(rows / rows.sum(axis=1, keepdims=True))


def erasure(delta: float, k: int) -> Channel:
    return Channel(np.hstack([delta * np.eye(k), np.full((k, 1), 1 - delta)]))


def leaky(epsilon: float, delta: float) -> Channel:
    """Binary randomised response that reveals all with probability δ."""
    return Channel(np.hstack([delta * np.eye(2), (1 - delta) * response(epsilon).matrix]))


def pairs(epsilon: float, k: int = 6) -> Channel:
    """One output a pair (i, j): lift e^ε for i, e^{−ε} for j, the same for all others."""
    rest = (k - 2 * math.cosh(epsilon)) / (k - 2)
    columns = [(i, j) for i in range(k) for j in range(k) if i != j]
    lift = np.full((k, len(columns)), rest)
    for y, (i, j) in enumerate(columns):
        lift[i, y], lift[j, y] = math.exp(epsilon), math.exp(-epsilon)
    return Channel(lift / len(columns))


def pair(a: float, b: float) -> Channel:
    return Channel([[a, 1 - a], [b, 1 - b]])


def binned_normal(mu: float, width: float) -> Channel:
    """N(0,1) and N(μ,1) seen through bins of the given width."""
    edges_ = np.arange(-9.0, 9.0 + mu, width)

    def row(shift: float) -> list[float]:
        tail = [0.5 * math.erfc((e - shift) / math.sqrt(2)) for e in edges_]
        head = [0.5 * math.erfc((shift - e) / math.sqrt(2)) for e in edges_]
        cells = [
            a - b if a < 0.5 else d - c for a, b, c, d in zip(tail, tail[1:], head, head[1:], strict=False)
        ]
        return [head[0], *cells, tail[-1]]

    return Channel([row(0.0), row(mu)])


def some_channels() -> Iterator[Channel]:
    rng = np.random.default_rng(20)
    for x, y in ((2, 2), (2, 4), (3, 2), (3, 3), (4, 6), (5, 3)):
        for concentration in (0.2, 1.0, 30.0):
            yield Channel(rng.dirichlet(np.full(y, concentration), size=x))
    near = rng.dirichlet(np.ones(4)) * (1 + 1e-4 * rng.standard_normal((3, 4)))
    yield Channel(near / near.sum(axis=1, keepdims=True))
    yield Channel(np.eye(3))
    yield Channel(np.full((3, 2), 0.5))
    yield Channel([[0.5, 0.5, 0.0], [0.4, 0.6, 0.0]])
    yield Channel([[1.0, 0.0], [0.5, 0.5]])
    yield from (response(0.3), response(2.0, 4), hiding(1.0, 4), block(1.0, 5, 2), pairs(0.5), pairs(0.2, 4))
    yield from (erasure(0.1, 4), leaky(0.5, 0.1), pair(0.9, 0.2), binned_normal(1.0, 0.5))


CHANNELS = tuple(some_channels())


def choices(edge: Implication, channel: Channel) -> Iterator[Free]:
    """Keyword combinations for an edge; a record's values are the channel's."""
    size = channel.shape[0] if edge.target is LocalInformationPrivacy else min(channel.shape)
    known = {**KEYWORDS, "values": (max(size, 2),), "centre": tuple(Centre)}
    names = edge.required + tuple(name for name in edge.optional if name == "centre")
    for combination in itertools.product(*(known[name] for name in names)):
        yield dict(zip(names, combination, strict=True))


def kinds(source: type[Definition]) -> tuple[Definition, ...]:
    """One example for each setting of the fields beside the threshold."""
    distinct = {repr(e.with_threshold(0.0)): e for e in source.examples()}
    return tuple(distinct.values())


def exceeds(target: Definition, channel: Channel) -> bool:
    """Whether the channel certainly breaks the guarantee, rounding aside."""
    return measured(target, channel).lower > target.threshold * (1 + 1e-9) + 1e-12


@functools.cache
def _measured(kind: Definition, channel: Channel) -> Bound:
    return kind.measure(channel)


def measured(definition: Definition, channel: Channel) -> Bound:
    """The capacity, which depends on the kind of guarantee and not on its threshold."""
    return _measured(definition.with_threshold(0.0), channel)


def violations(edge: Implication, shrink: float = 1.0) -> tuple[int, int]:
    """(tested, violated) over the channels."""
    tested = violated = 0
    for channel in CHANNELS:
        for example in kinds(edge.source):
            if isinstance(example, LocalInformationPrivacy) and example.prior is not None:
                continue  # a prior for three secrets only; tested by its own test
            source = example.with_threshold(measured(example, channel).upper)
            for free in choices(edge, channel):
                target = edge(source, **free)
                if target is None:
                    continue
                tested += 1
                violated += exceeds(target.with_threshold(shrink * target.threshold), channel)
    return tested, violated


@pytest.mark.parametrize("edge", edges(), ids=lambda e: e.name)
def test_every_implication_holds_on_channels(edge: Implication) -> None:
    tested, violated = violations(edge)
    assert tested >= 10, f"{edge.name} was tested {tested} times"
    assert violated == 0, f"{edge.name}: {violated} of {tested}"


def shannon_pair(nats: float, epsilon: float) -> Channel:
    return pair(*shannon_profile(nats, epsilon).witness)  # type: ignore[misc]


def divergence_pair(alpha: float, level: float, epsilon: float) -> Channel:
    return pair(*divergence_profile(alpha, level, epsilon).witness)  # type: ignore[misc]


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
R: Attain = lambda s, f: response(min(s.threshold, 30.0))  # noqa: E731
ANY: Attain = lambda s, f: response(0.7, 3)  # noqa: E731
NOISELESS: Attain = lambda s, f: Channel(np.eye(3))  # noqa: E731
LEAKY: Attain = lambda s, f: leaky(s.epsilon, s.delta)  # noqa: E731

EXACT: dict[str, tuple[Attain, Free]] = {
    "pure_to_kl": (R, {}),
    "pure_to_mi_binary": (R, {"values": 2}),
    "pure_to_level_binary": (R, {"alpha": 3.0, "values": 2, "centre": Centre.SIBSON}),
    "pure_to_renyi": (R, {"alpha": 2.5}),
    "pure_to_zcdp": (R, {}),
    "pure_to_gaussian": (R, {}),
    "pure_to_approximate": (R, {}),
    "pure_to_delta_at": (R, {"epsilon": 0.05}),
    "pure_to_epsilon_at": (R, {"delta": 0.01}),
    "pure_to_delta": (R, {}),
    "pure_to_leakage_of_values": (lambda s, f: response(min(s.epsilon, 30.0), 5), {"values": 5}),
    "pure_to_information": (R, {}),
    "information_to_pure": (ANY, {}),
    "pure_to_local_information_of_values": (lambda s, f: hiding(min(s.epsilon, 30.0), 5), {"values": 5}),
    "local_information_to_pure": (lambda s, f: pairs(min(s.epsilon, 1.0)), {}),
    "approximate_to_delta_at": (LEAKY, {"epsilon": 0.0}),
    "approximate_to_epsilon_at": (LEAKY, {"delta": 0.3}),
    "approximate_to_total_variation": (LEAKY, {}),
    "approximate_to_pure": (ANY, {}),
    "approximate_to_mi_binary": (LEAKY, {"values": 2}),
    "total_variation_to_approximate": (ANY, {}),
    "total_variation_to_delta_at": (lambda s, f: erasure(s.delta, 2), {"epsilon": 3.0}),
    "total_variation_to_mi": (lambda s, f: erasure(s.delta, 5), {"values": 5}),
    "total_variation_to_leakage": (lambda s, f: erasure(s.delta, 5), {"values": 5}),
    "leakage_to_total_variation": (lambda s, f: erasure(min(math.expm1(s.nats), 1.0), 2), {}),
    "mi_to_total_variation": (
        lambda s, f: pair(bernoulli_of_gain(s.nats), 1 - bernoulli_of_gain(s.nats)),
        {},
    ),
    "mi_to_approximate": (lambda s, f: shannon_pair(s.nats, f["epsilon"]), {"epsilon": 0.5}),
    "mi_to_level": (ANY, {"alpha": 1.0}),
    "kl_to_total_variation": (lambda s, f: response(min(s.nats, 3.0)), {}),
    "kl_to_approximate": (lambda s, f: divergence_pair(1.0, s.nats, f["epsilon"]), {"epsilon": 0.5}),
    "level_to_mi": (NOISELESS, {}),
    "level_to_lower_level": (NOISELESS, {"alpha": 0.2}),
    "level_to_pure": (ANY, {}),
    "level_to_leakage": (NOISELESS, {}),
    "leakage_to_mi": (NOISELESS, {}),
    "leakage_to_level": (NOISELESS, {"alpha": 2.0}),
    "renyi_to_kl": (ANY, {}),
    "renyi_to_pure": (ANY, {}),
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
"""Edges attained in a limit, each with a test of its rate below."""


def test_every_tight_edge_has_its_test() -> None:
    assert {e.name for e in edges() if e.tight} == set(EXACT) | LIMITS
    assert not any(e.tight and e.loose for e in edges())


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
        if edge.name not in LIMITS or not edge.name.startswith(("gaussian", "zcdp")):
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
    assert abs(edges_source_mu(channel) - mu) < 1e-6


def edges_source_mu(channel: Channel) -> float:
    from leakcap.definition import GaussianDP

    return GaussianDP(0.0).tightest(channel).mu


def test_loose_edges_never_beat_the_sharp_ones() -> None:
    tested = 0
    for edge in (e for e in edges() if e.loose):
        for example in edge.source.examples():
            for free in choices(edge, CHANNELS[0]):
                loose = edge(example, **free)
                sharp = [
                    r.threshold
                    for e in implications(edge.source, edge.target)
                    if not e.loose and set(e.required) <= set(free) and (r := e(example, **free)) is not None
                ]
                if loose is None or not sharp or (isinstance(loose, ApproxDP) and "delta" in free):
                    continue
                assert min(sharp) <= loose.threshold * (1 + 1e-12), (edge.name, example, free)
                tested += 1
    assert tested > 50


def test_a_local_prior_of_ones_own() -> None:
    prior = (0.7, 0.2, 0.1)
    rng = np.random.default_rng(3)
    for _ in range(20):
        channel = Channel(rng.dirichlet(np.ones(4), size=3))
        lip = LocalInformationPrivacy(0.0, prior=prior).tightest(channel)
        pure = PureDP(0.0).tightest(channel)
        assert pure.epsilon <= convert(lip, PureDP).epsilon * (1 + 1e-12)
        back = convert(pure, LocalInformationPrivacy, prior=prior)
        assert back.prior == prior
        assert lip.epsilon <= back.epsilon * (1 + 1e-12)


def random_channel(rng: np.random.Generator, index: int) -> Channel:
    """2–8 secrets and outputs: spread, near-deterministic, near-equal, with an unused column."""
    shape = rng.integers(2, 9, 2)
    rows = rng.dirichlet(np.full(shape[1], rng.choice([0.05, 0.3, 1.0, 20.0])), size=shape[0])
    if index % 5 == 0:
        noise = 1 + 10.0 ** -rng.integers(1, 6) * rng.standard_normal(rows.shape).clip(-3, 3)
        rows = (rows[0] * noise).clip(1e-9)
        rows /= rows.sum(axis=1, keepdims=True)
    if index % 7 == 0:
        rows = np.hstack([rows, np.zeros((len(rows), 1))])
    return Channel(rows)


QUICK = (
    "pure_",
    "kl_",
    "mi_",
    "leakage_to",
    "total_",
    "approximate_",
    "renyi_to_kl",
    "renyi_to_total",
    "gaussian_to",
)
EXPENSIVE = {
    "pure_to_level",
    "pure_to_level_binary",
    "pure_to_level_published",
    "pure_to_zcdp",
    "pure_to_zcdp_textbook",
}


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_many_random_channels_show_no_violation(count: int) -> None:
    rng = np.random.default_rng(1)
    walked = [
        e for e in edges() if e.name.startswith(QUICK) and e.name not in EXPENSIVE | {"gaussian_to_zcdp"}
    ]
    walked = [e for e in walked if "alpha" not in e.required and not {"epsilon", "delta"} & set(e.required)]
    tested = 0
    for index in range(count):
        channel = random_channel(rng, index)
        _measured.cache_clear()
        for edge in walked:
            example = edge.source.examples()[-2]
            source = example.with_threshold(measured(example, channel).upper)
            for free in choices(edge, channel):
                target = edge(source, **free)
                if target is not None:
                    tested += 1
                    assert not exceeds(target, channel), (edge.name, source, target, channel.matrix)
    assert tested > 15 * count
