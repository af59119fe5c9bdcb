"""Attacks whose success is computed: against games that are played, brute force and by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow
import pytest

from leakcap.attack import all_at_once, membership, reused_noise, row_by_row, skew_curve, surprise
from leakcap.channel import Channel
from leakcap.errors import InvalidParameter, InvalidPrior
from leakcap.mechanism import BinaryErasure
from leakcap.release import PrivateTable

C = [[0.5, 0.3, 0.2, 0.0], [0.1, 0.3, 0.5, 0.1], [0.3, 0.3, 0.3, 0.1]]


def information(joint: dict[tuple[int, int], float]) -> float:
    first = {a: sum(p for (x, _), p in joint.items() if x == a) for a, _ in joint}
    second = {b: sum(p for (_, y), p in joint.items() if y == b) for _, b in joint}
    return sum(p * math.log(p / (first[a] * second[b])) for (a, b), p in joint.items() if p > 0)


@pytest.mark.parametrize("k", [2, 5])
def test_reused_noise_by_counting(k: int) -> None:
    worlds = list(itertools.product(range(k), repeat=2))
    both = {(x, (x + u) % k * k + u): 1 / k**2 for x, u in worlds}
    first: dict[tuple[int, int], float] = {}
    for x, u in worlds:
        first[x, (x + u) % k] = first.get((x, (x + u) % k), 0.0) + 1 / k**2
    found = reused_noise(k)
    assert found.got == pytest.approx(information(both), abs=1e-14)
    assert found.at_most == pytest.approx(2 * information(first), abs=1e-12)
    assert found.ratio > 1e9


def test_delta_spent_at_once_by_playing() -> None:
    """20,000 tables of 50 people at δ = 0.01; six standard deviations, false alarm 2·10⁻⁹."""
    found = row_by_row(0.01, 50)
    # One answer for each person, all of it or nothing: this is (0, δ)-DP for each.
    told = np.random.default_rng(1).random((20_000, 50)) < 0.01
    assert abs(told.sum(axis=1).mean() - found.got) < 6 * math.sqrt(50 * 0.01 / 20_000)
    assert abs(told.any(axis=1).mean() - found.any_one) < 6 * 0.5 / math.sqrt(20_000)
    # All of the table or nothing: as many on average, and nobody in 99 tables of 100.
    together = all_at_once(0.01, 50)
    whole = np.random.default_rng(2).random(20_000) < 0.01
    assert together.got == found.got
    assert abs(50 * whole.mean() - together.got) < 6 * 50 * math.sqrt(0.01 / 20_000)
    assert abs(whole.mean() - together.any_one) < 6 * math.sqrt(0.01 / 20_000)
    assert (together.any_one, all_at_once(1e-3, 1000).any_one) == (0.01, 1e-3)
    for attack in (all_at_once, row_by_row):
        assert attack(1.0, 3).any_one == 1.0
        assert attack(0.0, 3).ratio == 1.0


def test_the_engine_spends_no_delta() -> None:
    policy = {
        "dataset": "d",
        "neighbours": "add-remove-one",
        "caps": {"epsilon": 10.0, "delta": 0.0},
        "columns": {"x": {"bounds": [0.0, 1.0]}, "d": {"keys": ["a"]}},
    }
    victim = PrivateTable(pyarrow.table({"x": [0.5], "d": ["a"]}), policy=policy, ledger="sqlite://")
    victim.count(by="d", epsilon=1.0)
    victim.sum("x", epsilon=1.0)
    victim.mean("x", epsilon=1.0)
    victim.histogram("x", bins=3, epsilon=1.0)
    assert victim.ledger.totals().delta == 0.0


@pytest.mark.parametrize(("epsilon", "others", "share"), [(1.0, 0, 0.5), (0.5, 10, 0.3), (2.0, 40, 0.1)])
def test_membership_by_playing(epsilon: float, others: int, share: float) -> None:
    """The likelihoods by direct summation over a window; success as half the summed maxima, and by games
    (50,000; six standard deviations, false alarm 2·10⁻⁹)."""
    window = np.arange(-60, others + 62)
    mix = [math.comb(others, k) * share**k * (1 - share) ** (others - k) for k in range(others + 1)]
    out, in_ = (
        sum(
            p * math.tanh(epsilon / 2) * np.exp(-epsilon * np.abs(window - k - present))
            for k, p in enumerate(mix)
        )
        for present in (0, 1)
    )
    found = membership(epsilon, others=others, share=share)
    assert found.got == pytest.approx(0.5 * float(np.maximum(out, in_).sum()), abs=1e-9)
    assert found.got <= found.at_most + 1e-12
    generator = np.random.default_rng(others)
    present = generator.integers(2, size=50_000)
    noise = generator.geometric(-math.expm1(-epsilon), (2, 50_000))
    seen = present + generator.binomial(others, share, 50_000) + noise[0] - noise[1]
    guess = (in_ > out)[np.clip(seen, -60, others + 61) + 60]
    assert abs((guess == present).mean() - found.got) < 6 * 0.5 / math.sqrt(50_000)


def test_membership_without_noise() -> None:
    assert membership(math.inf, others=0).got == 1.0
    crowd = membership(math.inf, others=2, share=0.5)  # ¼½¼ against its shift: ½(1 + TV), TV = ½
    assert crowd.got == pytest.approx(0.75)
    assert crowd.got > membership(1.0, others=2, share=0.5).got


def test_skew_is_what_the_capacity_allows() -> None:
    """Level ∞ is ε, so that the limit is e^ε/(1 + e^ε); the article's condition alone would say √e/2."""
    eight, top = skew_curve(0.5, [8.0, math.inf])
    assert top.got == pytest.approx(math.exp(0.5) / (1 + math.exp(0.5)), abs=1e-9)
    assert round(eight.at_most, 4) == 0.7376
    assert all(point.got <= point.at_most for point in (eight, top))
    (default,) = skew_curve(0.1, [math.inf])
    assert default.at_most < 0.525  # not √1.1052/2 = 0.552585


def test_a_higher_level_skews_less() -> None:
    points = [point.at_most for point in skew_curve(0.1, [0.5, 1.0, 2.0, 10.0, math.inf])]
    assert points == sorted(points, reverse=True)


@pytest.mark.parametrize("alpha", [0.3, 1.0, 1.5, 2.0, 6.0])
@pytest.mark.parametrize("level", [0.01, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("prior", [[0.2, 0.5, 0.3], [0.0, 0.9, 0.1]])
def test_surprises_by_brute_force(alpha: float, level: float, prior: list[float]) -> None:
    outputs = [sum(p * row[y] for p, row in zip(prior, C, strict=True)) for y in range(4)]
    ratios = [
        [(p, row[y] / q) for p, row in zip(prior, C, strict=True) if p > 0] for y, q in enumerate(outputs)
    ]
    if alpha == 1.0:
        told = [sum(p * r * math.log(r) for p, r in some if r > 0) for some in ratios]
        nats = sum(q * d for q, d in zip(outputs, told, strict=True))
    else:
        sums = [sum(p * r**alpha for p, r in some) for some in ratios]
        told = [math.log(one) / (alpha - 1) for one in sums]
        nats = math.log(sum(q * one for q, one in zip(outputs, sums, strict=True))) / (alpha - 1)
    found = surprise(Channel(C), prior, alpha=alpha, level=level)
    assert found.got == pytest.approx(sum(q for q, d in zip(outputs, told, strict=True) if d >= level))
    assert found.nats == pytest.approx(nats, rel=1e-10)
    assert found.got <= found.at_most


def test_an_eraser_is_as_surprising_as_allowed() -> None:
    for alpha in (0.5, 1.0, 1.1, 2.0, 20.0):
        found = surprise(BinaryErasure(0.97).channel(), [0.5, 0.5], alpha=alpha, level=math.log(2.0))
        assert found.got == pytest.approx(0.03)
        assert found.ratio == pytest.approx(1.0, rel=1e-9)


def test_bad_parameters() -> None:
    for call in (
        lambda: all_at_once(1.5, 3),
        lambda: all_at_once(0.5, 0),
        lambda: membership(0.0),
        lambda: membership(1.0, others=-1),
        lambda: membership(1.0, share=0.0),
        lambda: reused_noise(1),
        lambda: skew_curve(-1.0, [2.0]),
        lambda: surprise(Channel(C), [1 / 3] * 3, alpha=0.0, level=0.1),
        lambda: surprise(Channel(C), [1 / 3] * 3, alpha=math.nan, level=0.1),
        lambda: row_by_row(1.5, 3),
        lambda: surprise(Channel(C), [1 / 3] * 3, alpha=2.0, level=0.0),
    ):
        with pytest.raises(InvalidParameter):
            call()
    with pytest.raises(InvalidPrior):
        surprise(Channel(C), [0.5, 0.5], alpha=2.0, level=0.1)
