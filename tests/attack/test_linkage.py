"""Linkage: the channel of a class by enumeration, the classes by their rule, the attack by playing."""

from __future__ import annotations

import itertools
import math
import sys
from fractions import Fraction

import numpy as np
import pytest

from leakcap.attack import class_channel, generalise, linkage
from leakcap.definition.meaning import posterior_bound
from leakcap.errors import InvalidParameter, InvalidPrior
from leakcap.leakage.guessing import bayes_vulnerability
from leakcap.sampling import rational_scale
from seeded import SeededSource

SHARES = (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5))
LAWS: tuple[list[float], ...] = ([0.6, 0.3, 0.1], [0.5, 0.5], [0.9, 0.1], [0.0, 0.4, 0.6])


def worlds(unknown: int, values: int) -> dict[tuple[int, tuple[int, ...]], Fraction]:
    """P(counts | value of the target), by all values of the others."""
    law: dict[tuple[int, tuple[int, ...]], Fraction] = {}
    for target in range(values):
        for others in itertools.product(range(values), repeat=unknown):
            counts = [0] * values
            for value in (target, *others):
                counts[value] += 1
            weight = math.prod((SHARES[value] for value in others), start=Fraction(1))
            law[target, tuple(counts)] = law.get((target, tuple(counts)), Fraction(0)) + weight
    return law


@pytest.mark.parametrize("unknown", [0, 1, 2, 4])
def test_the_exact_channel_by_enumeration(unknown: int) -> None:
    channel, side = class_channel([float(p) for p in SHARES], unknown), unknown + 2
    want = np.zeros((3, side**3))
    for (target, counts), mass in worlds(unknown, 3).items():
        want[target, int(np.ravel_multi_index(counts, (side,) * 3))] = float(mass)
    assert np.abs(channel.matrix - want).max() < 1e-15
    likeliest = sum(
        max(SHARES[x] * worlds(unknown, 3).get((x, counts), 0) for x in range(3))
        for counts in {counts for _, counts in worlds(unknown, 3)}
    )
    got = bayes_vulnerability(channel, [float(p) for p in SHARES])
    assert got == pytest.approx(float(likeliest), abs=1e-14)


@pytest.mark.parametrize(("unknown", "epsilon"), [(0, 0.5), (1, 1.0), (3, 2.0)])
def test_the_noisy_channel_by_summation_over_a_window(unknown: int, epsilon: float) -> None:
    """Success as ½ the noise of scale 2/ε allows, over all answers from −60 to 60, none put at the edge."""
    shares = np.array([0.7, 0.3])
    channel = class_channel(shares, unknown, epsilon)
    decay, seen = float(1 / rational_scale(2, epsilon)), np.arange(-60, 61)
    laws = np.zeros((2, seen.size, seen.size))
    for target in range(2):
        for ones in range(unknown + 1):
            mass = math.comb(unknown, ones) * 0.3**ones * 0.7 ** (unknown - ones)
            noise = [
                math.tanh(decay / 2) * np.exp(-decay * np.abs(seen - count))
                for count in (unknown - ones + (target == 0), ones + (target == 1))
            ]
            laws[target] += mass * np.outer(*noise)
    best = float((shares[:, None, None] * laws).max(axis=0).sum())
    assert bayes_vulnerability(channel, shares) == pytest.approx(best, abs=1e-6)
    assert best <= posterior_bound(epsilon, 0.7)


@pytest.mark.parametrize("k", [1, 2, 7, 40])
def test_classes_are_boxes_of_k_people(k: int) -> None:
    rng = np.random.default_rng(k)
    for register in (rng.integers(5, size=(40, 2)), rng.integers(1000, size=(40, 3)), np.zeros((40, 1), int)):
        classes = generalise(register, k)
        assert sorted(np.concatenate(classes).tolist()) == list(range(40))
        for who in classes:
            assert len(who) >= k
            low, high = register[who].min(axis=0), register[who].max(axis=0)
            inside = ((register >= low) & (register <= high)).all(axis=1)
            assert set(np.flatnonzero(inside)) == set(who.tolist())
    assert len(generalise(rng.integers(1000, size=(40, 3)), 2)) > 10


def test_the_attack_gets_what_the_channel_allows() -> None:
    """Twenty towns, eighty intervals that may lie above the limit in one case of 200 each: three or more is a
    false alarm below 1 %, and the seeds are fixed."""
    above, held = 0, 0
    for seed in range(20):
        epsilon, shares = (0.5, 1.0, 3.0)[seed % 3], LAWS[seed % len(LAWS)]
        found = linkage(
            3 + seed % 4,
            epsilon,
            people=400,
            shares=shares,
            generator=np.random.default_rng(seed),
            source=SeededSource(seed),
        )
        above += sum(one.above_by_chance is False for one in found)
        held += sum((one.got_lower or 0.0) <= one.at_most <= (one.got_upper or 0.0) for one in found)
        unknown, known, noisy, noisy_known = found
        assert known.got == known.at_most == known.sure == 1.0
        assert known.epsilon == unknown.epsilon == math.inf
        assert noisy.sure == noisy_known.sure == 0.0
        assert noisy.at_most <= min(noisy_known.at_most, unknown.at_most) + 1e-12
        assert noisy_known.epsilon == pytest.approx(epsilon, abs=1e-9)
        assert noisy_known.at_most <= posterior_bound(epsilon, max(shares)) + 1e-9
    assert above <= 2
    assert held >= 74


def test_counts_without_noise_break_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: the noisy counts forget their noise."""

    def told() -> bool | None:
        found = linkage(4, 3.0, people=400, generator=np.random.default_rng(1), source=SeededSource(1))
        return found[3].above_by_chance

    assert told() is not False
    module = sys.modules[class_channel.__module__]
    monkeypatch.setattr(
        module, "discrete_laplace", lambda scale, size, source: np.zeros(size, dtype=np.int64)
    )
    assert told() is False


def test_bad_parameters() -> None:
    generator = np.random.default_rng(0)
    for call in (
        lambda: linkage(0, generator=generator),
        lambda: linkage(10, people=9, generator=generator),
        lambda: linkage(3, 0.0, generator=generator),
        lambda: linkage(3, people=0, generator=generator),
        lambda: linkage(200, people=500, generator=generator),
        lambda: class_channel([0.5, 0.5], -1),
        lambda: class_channel([0.5, 0.5], 1, 0.0),
    ):
        with pytest.raises(InvalidParameter, match="must"):
            call()
    for shares in ([1.0], [0.5, 0.6], [-0.5, 1.5], [math.nan, 1.0]):
        with pytest.raises(InvalidPrior):
            linkage(3, shares=shares, generator=generator)
