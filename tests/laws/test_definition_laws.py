"""The laws of the implication graph, on channels: every edge holds.

Every edge that has enrolled itself is walked; what was tested is counted, and a law that tested nothing
fails.
"""

from __future__ import annotations

import numpy as np
import pytest

from laws.definition_channels import CHANNELS, choices, exceeds, forget, kinds, measured
from leakcap.channel import Channel
from leakcap.definition import (
    ApproxDP,
    Implication,
    LocalInformationPrivacy,
    PureDP,
    convert,
    edges,
    implications,
)
from strange_channels import thousands


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


@pytest.mark.parametrize("count", [300, pytest.param(thousands(), marks=pytest.mark.slow)])
def test_many_random_channels_show_no_violation(count: int) -> None:
    rng = np.random.default_rng(1)
    walked = [
        e for e in edges() if e.name.startswith(QUICK) and e.name not in EXPENSIVE | {"gaussian_to_zcdp"}
    ]
    walked = [e for e in walked if "alpha" not in e.required and not {"epsilon", "delta"} & set(e.required)]
    tested = 0
    for index in range(count):
        channel = random_channel(rng, index)
        forget()
        for edge in walked:
            example = edge.source.examples()[-2]
            source = example.with_threshold(measured(example, channel).upper)
            for free in choices(edge, channel):
                target = edge(source, **free)
                if target is not None:
                    tested += 1
                    assert not exceeds(target, channel), (edge.name, source, target, channel.matrix)
    assert tested > 15 * count
