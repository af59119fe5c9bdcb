"""The samplers on every byte string, with words of two or three bits in place of 64.

Nothing but the word size changes, and that a coin's first thirty digits, which such words do not have, are
not looked at (those are tested against the exact ones below). So walking the whole tree of words gives the
exact weight of each outcome and of the strings that have not decided yet. No bound may exceed the number of
words: numpy would warn, and warnings are errors here. At two bits that limits denominators to 4.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2_contingency

from leakcap.errors import SourceError
from leakcap.sampling import (
    bernoulli,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    laplace,
)
from leakcap.sampling import (
    source as sources,
)
from leakcap.sampling.bernoulli import HEAD, MARGIN, exp_minus_digits, exp_minus_heads, whole_nats
from leakcap.sampling.source import ByteSource, uniform_below
from seeded import SeededSource

Law = dict[Hashable, Fraction]
UNDECIDED = "undecided"


class RanOutError(Exception):
    """The script of words is over."""


class Script:
    """A source that reads out a given list of words, one byte each."""

    def __init__(self, script: tuple[int, ...]) -> None:
        self.rest = list(script)

    def __call__(self, n: int, /) -> bytes:
        if n > len(self.rest):
            raise RanOutError
        taken, self.rest = self.rest[:n], self.rest[n:]
        return bytes(taken)


def small_words(monkeypatch: pytest.MonkeyPatch, bits: int) -> None:
    def words(count: int, source: ByteSource) -> NDArray[np.uint64]:
        return np.frombuffer(source(count), dtype=np.uint8).astype(np.uint64)

    def fair_bits(count: int, source: ByteSource) -> NDArray[np.bool_]:
        return words(count, source) >> np.uint64(bits - 1) == 1

    for module in (sources, bernoulli):
        monkeypatch.setattr(module, "words", words)
    monkeypatch.setattr(sources, "_TOP", np.uint64((1 << bits) - 1))
    monkeypatch.setattr(bernoulli, "_powers", bernoulli._powers.__wrapped__)
    monkeypatch.setattr(bernoulli, "_WORD", bits)
    monkeypatch.setattr(bernoulli, "_sift", lambda draws, *rest: (draws > 0, np.arange(draws.size)))
    monkeypatch.setattr(laplace, "fair_bits", fair_bits)


def enumerate_law(draw: Callable[[ByteSource], Hashable], bits: int, depth: int) -> Law:
    """The weight of each outcome over all strings of up to `depth` words, extended only if needed."""
    law: Law = defaultdict(Fraction)
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        script = scripts.pop()
        weight = Fraction(1, 1 << bits * len(script))
        try:
            law[draw(Script(script))] += weight
        except RanOutError:
            if len(script) == depth:
                law[UNDECIDED] += weight
            else:
                scripts.extend((*script, word) for word in range(1 << bits))
    assert sum(law.values()) == 1
    return law


def brackets(law: Law, outcome: Hashable, probability: mpmath.mpf, resolution: float) -> bool:
    """Whether law[outcome] ≤ probability ≤ law[outcome] + undecided, narrower than `resolution`."""
    low, undecided = law[outcome], law[UNDECIDED]
    assert undecided < resolution
    with mpmath.workdps(50):
        ends = [mpmath.mpf(end.numerator) / end.denominator for end in (low, low + undecided)]
        return bool(ends[0] <= probability <= ends[1])


def test_uniform_below_on_all_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """All 256 words of eight bits, all bounds: each residue equally often, the rest rejected."""
    small_words(monkeypatch, 8)
    for bound in range(2, 257):
        law = enumerate_law(lambda source, bound=bound: int(uniform_below(bound, 1, source)[0]), 8, 1)
        assert set(law) - {UNDECIDED} == set(range(bound))
        assert {law[residue] for residue in range(bound)} == {Fraction(256 // bound, 256)}
        assert law[UNDECIDED] == Fraction(256 % bound, 256)


def test_uniform_below_with_rejections(monkeypatch: pytest.MonkeyPatch) -> None:
    small_words(monkeypatch, 3)
    law = enumerate_law(lambda source: int(uniform_below(np.array([5]), 1, source)[0]), 3, 5)
    assert law[UNDECIDED] == Fraction(3, 8) ** 5
    assert {law[residue] for residue in range(5)} == {(1 - Fraction(3, 8) ** 5) / 5}


@pytest.mark.parametrize("bound", [3, 10, (1 << 62) - 1, 3 << 60, 12_345_678_901])
def test_uniform_below_rejects_from_the_right_word_on(bound: int) -> None:
    first_rejected = (1 << 64) - (1 << 64) % bound
    script = b"".join(word.to_bytes(8, "little") for word in (first_rejected, first_rejected - 1))
    assert uniform_below(bound, 1, Script(tuple(script))).tolist() == [bound - 1]


@pytest.mark.parametrize(("bits", "depth"), [(2, 7), (3, 5), (8, 2)])
def test_whole_nats_on_all_strings(monkeypatch: pytest.MonkeyPatch, bits: int, depth: int) -> None:
    small_words(monkeypatch, bits)
    law = enumerate_law(lambda source: int(whole_nats(1, source)[0]), bits, depth)
    for k in range(6):
        assert brackets(law, k, mpmath.exp(-k) - mpmath.exp(-k - 1), 1e-3)


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 3), (2, 3), (3, 4), (1, 1), (5, 2), (9, 4)])
@pytest.mark.parametrize("dtype", [np.int64, object])
def test_bernoulli_exp_on_all_strings(
    monkeypatch: pytest.MonkeyPatch, numerator: int, denominator: int, dtype: type
) -> None:
    small_words(monkeypatch, 2)
    numerators = np.array([numerator], dtype=dtype)
    law = enumerate_law(lambda source: bool(bernoulli_exp(numerators, denominator, source)[0]), 2, 7)
    with mpmath.workdps(30):
        assert brackets(law, True, mpmath.exp(-mpmath.mpf(numerator) / denominator), 1e-4)


@pytest.mark.parametrize(
    "scale", [Fraction(1), Fraction(2), Fraction(2, 3), Fraction(3, 2), Fraction(1, 3)], ids=str
)
def test_a_laplace_candidate_on_all_strings(monkeypatch: pytest.MonkeyPatch, scale: Fraction) -> None:
    """P(candidate becomes z) = ½ P(b|z| ≤ X < b|z| + b) P(coin passes), X geometric of ratio e^(−1/a).

    The remainder's coin passes with probability (1/a) Σ_{u<a} e^(−u/a) = (1 − e⁻¹)/(a(1 − e^(−1/a))).
    """
    small_words(monkeypatch, 2)
    a, b = scale.numerator, scale.denominator
    law = enumerate_law(lambda source: tuple(laplace._block(a, b, 1, source).tolist()), 2, 8)
    with mpmath.workdps(30):
        ratio = mpmath.exp(-mpmath.mpf(1) / a)
        passes = (1 - mpmath.exp(-1)) / (a * (1 - ratio))
        for z in range(-3, 4):
            weight = passes * (ratio ** (b * abs(z)) - ratio ** (b * abs(z) + b)) / 2
            assert brackets(law, (z,), weight, 0.1)


def test_a_candidate_that_counts_zero_twice_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same walk with the sign of zero ignored finds (0) with twice its weight."""
    small_words(monkeypatch, 2)
    right = enumerate_law(lambda source: tuple(laplace._block(1, 1, 1, source).tolist()), 2, 7)
    wrong = {z: (2 if z == (0,) else 1) * weight for z, weight in right.items()}
    assert brackets(right, (0,), (1 - mpmath.exp(-1)) / 2, 0.05)
    assert not brackets(wrong, (0,), (1 - mpmath.exp(-1)) / 2, 0.05)


@pytest.mark.parametrize("bits", [1, 8, 64, 128, 4096])
def test_digits_of_exp(bits: int) -> None:
    with mpmath.workprec(bits + 100):
        for k in [0, 1, 2, 3, 44, 45, 1024]:
            assert exp_minus_digits(k, bits) == int(mpmath.floor(mpmath.mpf(2) ** bits * mpmath.exp(-k)))
        for n, d in [(1, 3), (7, 2), (1, 10**30), (10**30 - 1, 10**30), (10**20 + 1, 10**19), (3000, 7)]:
            exact = mpmath.floor(mpmath.mpf(2) ** bits * mpmath.exp(-mpmath.mpf(n) / d))
            assert exp_minus_digits(n, bits, d) == int(exact)


RATIOS = [1, 2, 3, 10, 1000, 1023, 1 << 31, (1 << 32) - 1, (1 << 32) + 1, 10**17, (1 << 62) - 1, 1 << 62]


@pytest.mark.parametrize("denominator", RATIOS)
def test_thirty_digits_are_as_near_as_they_say(denominator: int) -> None:
    """At both ends of a fraction, around the places of the table, and anywhere; wide integers too."""
    rng = np.random.default_rng(denominator % 1000)
    places = [i * denominator // 1024 + j for i in (0, 1, 511, 1023, 1024) for j in (-1, 0, 1)]
    drawn = rng.integers(0, denominator, 300).tolist()
    part = np.array(sorted({p for p in places + drawn if 0 <= p < denominator}), dtype=np.int64)
    whole = rng.integers(0, 40, part.size)
    for array in (part, part.astype(object)):
        heads = exp_minus_heads(whole, array, denominator)
        for head, k, p in zip(heads.tolist(), whole.tolist(), part.tolist(), strict=True):
            with mpmath.workdps(30):
                exact = mpmath.mpf(2) ** HEAD * mpmath.exp(-mpmath.mpf(k * denominator + p) / denominator)
                assert abs(head - exact) <= MARGIN - 1


def test_a_table_that_is_a_little_off_is_caught() -> None:
    """Were the series to stop at x, the error would be far outside what is left open."""
    x = (1 << 20) - 1
    with mpmath.workdps(30):
        exact = mpmath.mpf(2) ** HEAD * mpmath.exp(-mpmath.mpf(x) / 2**HEAD)
    assert abs((1 << HEAD) - x - exact) > 50 * MARGIN


@pytest.mark.parametrize("gamma", [(1, 3), (1, 1), (22, 7), (40, 1), (1, 1 << 62)], ids=str)
@pytest.mark.parametrize("dtype", [np.int64, object])
def test_words_beside_the_digits_fall_on_the_right_side(gamma: tuple[int, int], dtype: type) -> None:
    """One word just below e^−γ is true, just above is false, whatever thirty digits can tell."""
    numerator, denominator = gamma
    digits = exp_minus_digits(numerator, 64, denominator)
    for step in (-(1 << 40), -(1 << 36), -1, 1, 1 << 36, 1 << 40):
        word = digits + step
        if 0 <= word < 1 << 64:
            coin = bernoulli_exp(
                np.array([numerator], dtype=dtype), denominator, Script(tuple(word.to_bytes(8, "little")))
            )
            assert coin.tolist() == [step < 0]


@pytest.mark.parametrize("gamma", [(1, 3), (22, 7), (60, 1)], ids=str)
def test_a_word_equal_to_the_digits_of_a_coin_is_settled_by_more(gamma: tuple[int, int]) -> None:
    numerator, denominator = gamma
    digits = exp_minus_digits(numerator, 192, denominator)
    for step in (-1, 1):
        script = (digits + step).to_bytes(24, "big")
        little = b"".join(script[i : i + 8][::-1] for i in (0, 8, 16))
        coins = bernoulli_exp(np.array([numerator]), denominator, Script(tuple(little)))
        assert coins.tolist() == [step < 0]


@pytest.mark.parametrize("k", [1, 2, 30, 44, 45, 60])
def test_a_word_equal_to_the_digits_of_exp_is_settled_by_more(k: int) -> None:
    """Just below e⁻ᵏ in the second word is k whole nats, just above is k − 1, and equal asks for a third."""
    digits = exp_minus_digits(k, 192)
    for step, nats_expected in [(-1, k), (1, k - 1)]:
        script = (digits + step).to_bytes(24, "big")
        little = b"".join(script[i : i + 8][::-1] for i in (0, 8, 16))
        assert whole_nats(1, Script(tuple(little))).tolist() == [nats_expected]


def test_a_source_of_zeros_is_refused() -> None:
    with pytest.raises(SourceError, match="must return random bytes"):
        whole_nats(1, bytes)
    with pytest.raises(SourceError, match="must return random bytes"):
        bernoulli_exp(np.array([2000]), 1, bytes)


class Counting:
    """A source that counts its bytes."""

    def __init__(self, seed: int) -> None:
        self.source, self.taken = SeededSource(seed), 0

    def __call__(self, n: int, /) -> bytes:
        self.taken += n
        return self.source(n)


def test_a_coin_takes_one_word_however_it_falls() -> None:
    """So a draw cannot be told from how much randomness it took."""
    for numerators in (np.arange(1000), np.arange(1000).astype(object), np.zeros(1000, dtype=np.int64)):
        counting = Counting(1)
        bernoulli_exp(numerators, 300, counting)
        assert counting.taken == 8 * 1000


def work(noise: str) -> list[tuple[int, int]]:
    """|noise| in classes of four, and the bytes it took, one draw at a time."""
    pairs = []
    for seed in range(6000):
        source = Counting(seed)
        if noise == "laplace":
            draw = discrete_laplace(Fraction(10), 1, source)
        else:
            draw = discrete_gaussian(Fraction(100), 1, source)
        pairs.append((min(abs(int(draw[0])) // 4, 5), source.taken))
    return pairs


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_work_and_noise_are_independent(noise: str) -> None:
    """χ² of |noise| by bytes taken; a false alarm has probability 10⁻⁶."""
    assert dependence(work(noise)) > 1e-6


def test_a_coin_whose_work_tells_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The published coin tosses γ/1, γ/2, … until a tail: long for large remainders, not at all for none."""
    monkeypatch.setattr(laplace, "bernoulli_exp", alternating_coins)
    assert dependence(work("laplace")) < 1e-6


def alternating_coins(
    numerators: NDArray[np.int64], denominator: int, source: ByteSource
) -> NDArray[np.bool_]:
    """Canonne, Kamath & Steinke 2020, algorithm 1, for γ < 1."""
    success = np.ones(numerators.size, dtype=np.bool_)
    playing, k = np.flatnonzero(numerators), 1
    while playing.size:
        heads = uniform_below(k * denominator, playing.size, source) < numerators[playing]
        success[playing[~heads]] = bool(k & 1)
        playing, k = playing[heads], k + 1
    return success


def dependence(pairs: list[tuple[int, int]]) -> float:
    """p-value of χ² for independence, costs that are rare taken together."""
    rows, costs = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
    levels = np.unique(np.quantile(costs, np.linspace(0, 1, 6)))
    columns = np.searchsorted(levels, costs)
    table = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(table, (rows, columns), 1)
    table = table[:, table.sum(axis=0) > 50]
    return float(chi2_contingency(table).pvalue)
