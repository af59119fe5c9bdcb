"""Work against noise: the computed laws against leakcap's sampler at a counting byte source, and by hand."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from leakcap.attack import published_timing, textbook_timing, timing
from leakcap.attack.games import timing as games
from leakcap.attack.games.timing import Work, coin_flip_work
from leakcap.errors import InvalidParameter
from leakcap.release import PrivateTable
from leakcap.sampling import ByteSource, discrete_laplace, laplace, uniform_below
from seeded import SeededSource

DRAWS = 12_000
# Laws of an ε, which several tests look at.
sampler_work, series_work = functools.cache(games.sampler_work), functools.cache(games.series_work)


def sampled_work(scale: Fraction, draws: int, source: ByteSource) -> NDArray[np.float64]:
    """Rows (noise, random bytes) of so many single draws of leakcap's sampler, counted at its byte source."""
    used = 0

    def counting(n: int, /) -> bytes:
        nonlocal used
        used += n
        return source(n)

    rows = np.zeros((draws, 2))
    for i in range(draws):
        used = 0
        rows[i] = int(discrete_laplace(scale, 1, counting)[0]), used
    return rows


def fit(law: Work, rows: np.ndarray) -> float:
    """p-value of Pearson's test over cells (noise, bytes) that expect ten or more; the others are one."""
    reach = law.chances.shape[0] // 2
    column = {cost: i for i, cost in enumerate(law.costs)}
    counts = np.zeros(law.chances.shape)
    for z, cost in rows.astype(int).tolist():
        if abs(z) <= reach and cost in column:
            counts[z + reach, column[cost]] += 1
    expected = law.chances * len(rows)
    often = expected >= 10
    seen = np.append(counts[often], len(rows) - counts[often].sum())
    wanted = np.append(expected[often], len(rows) - expected[often].sum())
    return float(chi2.sf(((seen - wanted) ** 2 / wanted).sum(), seen.size - 1))


def published_coin(numerators: np.ndarray, denominator: int, source: ByteSource) -> np.ndarray:
    """Canonne, Kamath & Steinke 2020, algorithm 1, γ < 1: a word for the first toss, two for the others."""
    success = np.ones(numerators.size, dtype=np.bool_)
    playing, k = np.flatnonzero(numerators), 1
    while playing.size:
        heads = uniform_below(denominator, playing.size, source) < numerators[playing]
        if k > 1:
            heads &= uniform_below(k, playing.size, source) == 0
        success[playing[~heads]] = bool(k & 1)
        playing, k = playing[heads], k + 1
    return success


@pytest.fixture(scope="module")
def drawn() -> np.ndarray:
    return sampled_work(Fraction(2), DRAWS, SeededSource(5))


@pytest.fixture(scope="module")
def published() -> np.ndarray:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(laplace, "bernoulli_exp", published_coin)
        return sampled_work(Fraction(2), DRAWS, SeededSource(5))


def test_the_law_is_that_of_the_sampler(drawn: np.ndarray) -> None:
    """A false alarm has probability 10⁻⁶ over the choice of the seed."""
    assert fit(sampler_work(0.5), drawn) > 1e-6
    assert fit(sampler_work(1.0), sampled_work(Fraction(1), 500, SeededSource(6))) > 1e-6
    assert fit(sampler_work(1.5), sampled_work(Fraction(2, 3), 1000, SeededSource(7))) > 1e-6
    assert fit(sampler_work(0.1), sampled_work(Fraction(10), 2000, SeededSource(7))) > 1e-6


def test_the_law_is_that_of_the_published_sampler(published: np.ndarray) -> None:
    """A false alarm has probability 10⁻⁶ over the choice of the seed."""
    assert fit(series_work(0.5), published) > 1e-6


def test_planted_bugs_are_seen(drawn: np.ndarray, published: np.ndarray) -> None:
    law = series_work(0.5)
    apart = law.chances.sum(axis=1, keepdims=True) * law.chances.sum(axis=0)  # work without any noise in it
    assert fit(Work(law.costs, apart), published) < 1e-6
    assert fit(Work(tuple(c + 8 for c in law.costs), law.chances), published) < 1e-6
    assert fit(law, published[:, [0, 1]] * [-1, 1] + [1, 0]) < 1e-6
    assert fit(law, drawn) < 1e-6
    assert fit(sampler_work(0.5), published) < 1e-6


def test_margins() -> None:
    for epsilon in (0.1, 0.5, 1.5, 2.0):
        for law in (sampler_work(epsilon), series_work(epsilon), coin_flip_work(epsilon)):
            reach = law.chances.shape[0] // 2
            for z in (-3, 0, 1, 4):
                exact = math.tanh(epsilon / 2) * math.exp(-epsilon * abs(z))
                assert law.chances[z + reach].sum() == pytest.approx(exact, rel=1e-5)


def test_a_textbook_sampler_gives_everything_away() -> None:
    found = textbook_timing(0.1)
    assert found.got == pytest.approx(1.0, abs=1e-10)
    assert found.nats_both == pytest.approx(math.log(2.0), abs=1e-9)
    assert found.beyond == pytest.approx(1.0, abs=1e-9)
    magnitude = math.tanh(0.05) * np.exp(-0.1 * np.arange(400)) * np.where(np.arange(400) > 0, 2, 1)
    assert found.nats == pytest.approx(-math.fsum(float(p * np.log(p)) for p in magnitude), rel=1e-9)


def test_the_published_sampler_leaks_a_little() -> None:
    """Whole scales without remainder have constant work; others do not."""
    assert published_timing(1.0).got == pytest.approx(published_timing(1.0).at_most, abs=1e-6)
    assert published_timing(1.0).beyond < 1e-6
    found = published_timing(0.1)
    assert found.at_most < found.got < found.at_most + 0.02 < textbook_timing(0.1).got
    assert found.nats_both > 2 * found.nats_answer
    assert found.beyond > 0.01
    assert found.left_out < 1e-6


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 1.5])
def test_leakcaps_sampler_does_not(epsilon: float) -> None:
    """All but what is left out, which is chance of an empty first block."""
    found = timing(epsilon)
    assert found.left_out < 1e-5
    assert found.at_most - found.left_out <= found.got <= found.at_most + 1e-12
    assert found.nats <= 2 * found.left_out
    assert abs(found.nats_both - found.nats_answer) < 1e-12
    assert found.beyond <= math.exp(epsilon) * 1e-9


def guessed(law: Work, rows: np.ndarray) -> float:
    """How often the optimal rule is right about a bit on what the sampler really did."""
    bits = np.random.default_rng(8).integers(2, size=len(rows))
    reach, column = law.chances.shape[0] // 2, {cost: i for i, cost in enumerate(law.costs)}
    none = np.zeros((1, len(law.costs)))
    zero, one = np.concatenate([law.chances, none]), np.concatenate([none, law.chances])
    right = 0
    for (z, cost), bit in zip(rows.astype(int).tolist(), bits.tolist(), strict=True):
        at = z + bit + reach, column[cost]
        right += int(one[at] > zero[at]) == bit
    return right / len(rows)


def test_the_game_is_won_as_often_as_computed(drawn: np.ndarray, published: np.ndarray) -> None:
    """Five standard deviations, false alarm 6·10⁻⁷ each."""
    chance = 5 * 0.5 / math.sqrt(DRAWS)
    assert abs(guessed(sampler_work(0.5), drawn) - timing(0.5).got) < chance
    assert abs(guessed(series_work(0.5), published) - published_timing(0.5).got) < chance


def test_the_work_does_not_look_at_the_data() -> None:
    """With the same random bytes a release takes as many of them, whatever the person's bit is."""
    used = []
    for bit in (0, 1):
        taken, source = [0], SeededSource(9)

        def counting(n: int, /, taken: list[int] = taken, source: SeededSource = source) -> bytes:
            taken[0] += n
            return source(n)

        policy: dict[str, Any] = {
            "dataset": "clinic",
            "neighbours": "replace-one",
            "rows": 4,
            "caps": {"epsilon": 10.0},
            "columns": {"ill": {"keys": [0, 1]}},
        }
        data = pyarrow.table({"ill": [bit, 1, 1, 0]})
        victim = PrivateTable(data, policy=policy, ledger="sqlite://", source=counting)
        victim.count(where="ill = 1", epsilon=0.1)
        victim.count(by="ill", epsilon=0.3)
        used.append(taken[0])
    assert used[0] == used[1] > 0


def test_bad_parameters() -> None:
    for call in (
        lambda: textbook_timing(0.0),
        lambda: textbook_timing(math.nan),
        lambda: timing(-1.0),
        lambda: timing(1e-4),
        lambda: published_timing(0.333333),
    ):
        with pytest.raises(InvalidParameter):
            call()
