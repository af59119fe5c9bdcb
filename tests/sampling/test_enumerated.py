"""The samplers on every byte string, with words of two or three bits in place of 64.

Nothing but the word size changes, so walking the whole tree of words gives the exact weight of each
outcome and of the strings that have not decided yet. No bound may exceed the number of words: numpy would
warn, and warnings are errors here. At two bits that limits denominators to 4 and the depth to 7 for a coin.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from leakcap.errors import SourceError
from leakcap.sampling import bernoulli, bernoulli_exp, laplace, nats, uniform
from leakcap.sampling.nats import exp_minus_digits, whole_nats
from leakcap.sampling.source import ByteSource
from leakcap.sampling.uniform import uniform_below

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

    for module in (uniform, nats, bernoulli):
        monkeypatch.setattr(module, "words", words)
    monkeypatch.setattr(uniform, "_TOP", np.uint64((1 << bits) - 1))
    monkeypatch.setattr(nats, "_WORD", bits)
    monkeypatch.setattr(nats, "_table", nats._table.__wrapped__)
    monkeypatch.setattr(bernoulli, "_WORD", bits)
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
        law = enumerate_law(lambda source: int(uniform_below(bound, 1, source)[0]), 8, 1)  # noqa: B023
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
        assert brackets(law, True, mpmath.exp(-mpmath.mpf(numerator) / denominator), 0.1)


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


def test_a_wide_coin_equal_to_its_digits_is_settled_by_more() -> None:
    """1/3 is 0.0101…: equal words, then one above (tails: true at once) or below (heads: e^−γ goes on)."""
    third = ((1 << 64) - 1) // 3
    numerators = np.array([1], dtype=object)
    above = b"".join(word.to_bytes(8, "little") for word in (third, third, third + 1))
    assert bernoulli_exp(numerators, 3, Script(tuple(above))).tolist() == [True]
    # Heads of γ; then heads of 1/1 is certain, and at k = 2 tails of γ stops on an even toss: false.
    below = b"".join(word.to_bytes(8, "little") for word in (third, third, third - 1, third + 1, 0))
    assert bernoulli_exp(numerators, 3, Script(tuple(below))).tolist() == [False]
