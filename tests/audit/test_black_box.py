"""Black boxes: intervals against truths by definition, over many runs; planted faults; bad input."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from leakcap.audit import black_box, sample_black_box
from leakcap.audit.drawn import read_pairs
from leakcap.audit.upper_ends import _density_upper, gain_upper, information_upper, mean_upper
from leakcap.errors import InvalidInput, InvalidParameter, InvalidPrior
from leakcap.gain import k_guesses, matrix, negative_distance

ALARM = 1e-6


def truth(rows: np.ndarray, prior: np.ndarray, table: np.ndarray | None = None) -> tuple[float, float, float]:
    """After, before, information: sums in plain Python."""
    secrets, outputs = rows.shape
    gains = np.eye(secrets) if table is None else table
    after = sum(
        max(sum(float(g[s]) * prior[s] * rows[s, y] for s in range(secrets)) for g in gains)
        for y in range(outputs)
    )
    before = max(sum(float(g[s]) * prior[s] for s in range(secrets)) for g in gains)
    nats = 0.0
    for y in range(outputs):
        q = sum(prior[s] * rows[s, y] for s in range(secrets))
        for s in range(secrets):
            if prior[s] * rows[s, y] > 0:
                nats += prior[s] * rows[s, y] * math.log(rows[s, y] / q)
    return float(after), float(before), nats


def drawn(
    generator: np.random.Generator, rows: np.ndarray, law: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray]:
    secrets = generator.choice(len(law), size=size, p=law)
    return secrets, (generator.random(size)[:, None] > rows.cumsum(axis=1)[secrets]).sum(axis=1)


ROWS = np.array([[0.7, 0.2, 0.1, 0.0], [0.2, 0.5, 0.2, 0.1], [0.0, 0.1, 0.3, 0.6]])
SKEWED = np.array([0.7, 0.25, 0.05])


@pytest.mark.parametrize("prior", [None, "skewed", "even"])
def test_the_intervals_hold(prior: str | None) -> None:
    """At confidence 0.8 with secrets as they came, with a prior, and with a prior unlike the samples."""
    after, before, nats = truth(ROWS, SKEWED)
    runs, missed = 100, np.zeros(3)
    for seed in range(runs):
        law = np.full(3, 1 / 3) if prior == "even" else SKEWED
        secrets, outputs = drawn(np.random.default_rng([seed, 1]), ROWS, law, 400)
        known = None if prior is None else dict(enumerate(SKEWED.tolist()))
        found = black_box(secrets, outputs, prior=known, confidence=0.8, seed=seed, attackers=["frequencies"])
        missed += [
            after not in found.vulnerability or before not in found.prior_vulnerability,
            math.log(after / before) not in found.min_entropy_leakage
            or after / before not in found.leakage
            or after - before not in found.additive_leakage,
            nats not in found.information,
        ]
        assert found.bayes_risk.lower == 1.0 - found.vulnerability.upper
    assert (missed <= binom.isf(ALARM, runs, 0.2)).all(), missed
    # And say something: the tighter ends are within reach of the truth.
    assert found.vulnerability.width < 0.25
    assert found.information.upper < 3.0 * nats or prior is None


def test_gains() -> None:
    generator = np.random.default_rng(4)
    secrets, outputs = drawn(generator, ROWS, SKEWED, 3000)
    for gain in (k_guesses(3, 2), negative_distance(np.abs(np.subtract.outer(np.arange(3), np.arange(3)))),
                 matrix([[1.0, 0.0, -2.0], [0.0, 3.0, 0.5]])):  # fmt: skip
        after, before, _ = truth(ROWS, SKEWED, gain.table)
        for prior in (None, dict(enumerate(SKEWED.tolist()))):
            found = black_box(secrets, outputs, prior=prior, gain=gain, confidence=0.9999)
            assert after in found.vulnerability
            assert before in found.prior_vulnerability
            assert found.vulnerability.unit == "gain"
            assert found.vulnerability.width < 0.4 * np.ptp(gain.table)
    with pytest.raises(InvalidParameter, match="a ratio"):
        _ = black_box(secrets, outputs, gain=negative_distance(np.eye(3))).leakage
    with pytest.raises(InvalidParameter, match="one guess"):
        _ = found.bayes_risk


def noisy(secrets: int, epsilon: float, pad: int) -> np.ndarray:
    places = np.arange(-pad, secrets + pad)
    rows = np.exp(-epsilon * np.abs(places[None] - np.arange(secrets)[:, None]))
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def test_twenty_thousand_samples_of_a_hundred_secrets() -> None:
    """The samples' own information is far above the truth, and so is an interval around it by chance."""
    rows, prior = noisy(100, 0.10717, 80), np.full(100, 0.01)
    after = rows.max(axis=0).sum() / 100
    nats = float((0.01 * rows * np.log(rows / rows.mean(axis=0))).sum())
    assert nats == pytest.approx(0.91, abs=0.02)
    secrets, outputs = drawn(np.random.default_rng(0), rows, prior, 20_000)
    joint = np.zeros(rows.shape)
    np.add.at(joint, (secrets, outputs), 1 / 20_000)
    some = joint > 0
    plain = (joint[some] * np.log(joint[some] / np.outer(joint.sum(1), joint.sum(0))[some])).sum()
    # Planted: the plug-in with its standard error, which is below 0.02.
    assert plain - 5 * 0.02 > nats
    found = black_box(secrets, outputs, prior="uniform", attackers=["frequencies", "bins"])
    assert nats in found.information
    assert found.information.upper < plain + 0.1
    assert found.information.lower > 0.85 * nats
    assert after in found.vulnerability


def test_an_attacker_who_is_tested_on_what_they_learned_is_caught() -> None:
    """Planted: right guesses on the learned samples. Equal rows then seem to tell."""
    rows = np.full((20, 200), 1 / 200)
    secrets, outputs = drawn(np.random.default_rng(2), rows, np.full(20, 0.05), 1000)
    joint = np.zeros(rows.shape)
    np.add.at(joint, (secrets, outputs), 1)
    assert joint.max(axis=0).sum() / 1000 > 0.2
    found = black_box(secrets, outputs, prior="uniform")
    assert found.vulnerability.lower <= 0.05
    assert found.information.lower == 0.0
    assert 1.0 in found.leakage


def test_upper_limits_for_every_outcome_of_small_systems() -> None:
    """All samples of a system enumerated: each limit fails with a probability of at most its level."""
    rows, level, size = np.array([[0.8, 0.2], [0.35, 0.65]]), 0.1, 14
    prior = np.array([0.5, 0.5])
    after, _, nats = truth(rows, prior)
    fails = np.zeros(2)
    total, tight = 0.0, 0
    for a, b in itertools.product(range(size + 1), repeat=2):
        chance = binom.pmf(a, size, rows[0, 0]) * binom.pmf(b, size, rows[1, 0])
        secrets = [0] * size + [1] * size
        outputs = [0] * a + [1] * (size - a) + [0] * b + [1] * (size - b)
        # The reader asks for more pairs: others are read with them and left out again.
        more = [0] * 30 + [1] * 30
        read = read_pairs(secrets + more, outputs + [0, 1] * 30, "uniform")
        pairs = read.of(np.arange(2 * size))
        upper = gain_upper(pairs, None, level)
        most = information_upper(pairs, 4 * level, np.random.default_rng(0))[0]
        fails += chance * np.array([after > upper, nats > most])
        total += chance
        tight += upper < 0.9
    assert total == pytest.approx(1.0)
    assert (fails <= level).all(), fails
    assert tight > 0


def test_the_limit_of_a_mean_that_may_be_of_many_laws() -> None:
    """Half of the draws sure, half of them never: exact; and against the formula at zero hits."""
    assert mean_upper(0.0, 100, 0.05) == pytest.approx(1 - 0.05 ** (1 / 100), rel=1e-6)
    assert mean_upper(1.0, 100, 0.05) == 1.0
    for hits in range(100):
        upper = mean_upper(hits / 100, 100, 0.05)
        assert binom.cdf(hits, 100, upper) <= 0.05 + 1e-9


@pytest.mark.parametrize("b", [0.05, math.log(2), 3.0])
def test_the_inequality_for_densities(b: float) -> None:
    """e^−λx − 1 + λx ≤ ρ(e^−x − 1 + x) for x ≤ b, by a grid; a smaller ρ is caught."""
    x = np.concatenate([np.linspace(-30, b, 5000), np.linspace(-0.01, min(b, 0.01), 2001)])
    right = np.expm1(-x) + x
    for stake in (0.01, 0.3, 0.9):
        ratio = (math.expm1(-stake * b) + stake * b) / (math.expm1(-b) + b)
        left = np.expm1(-stake * x) + stake * x
        assert (left <= ratio * right + 1e-12).all()
        assert not (left <= 0.98 * ratio * right + 1e-12).all()
    even = np.array([0.5, 0.5])
    assert 0.1 < _density_upper(0.1, even, np.array([1e6, 1e6]), 0.05) < 0.102


def test_other_samples_change_nothing_that_they_should_not() -> None:
    """The order and the names of secrets and outputs; numbers as texts, for who counts."""
    secrets, outputs = drawn(np.random.default_rng(6), ROWS, SKEWED, 1000)
    plain = black_box(secrets, outputs, attackers=["frequencies"])
    named = black_box([f"s{s}" for s in secrets], [f"o{o}" for o in outputs], attackers=["frequencies"])
    assert named.vulnerability == plain.vulnerability
    assert named.information.upper == pytest.approx(plain.information.upper, rel=1e-9)
    order = np.random.default_rng(1).permutation(1000)
    other = black_box(secrets[order], outputs[order], attackers=["frequencies"])
    assert other.vulnerability.upper == plain.vulnerability.upper


def test_real_numbers_and_learned_attackers() -> None:
    """Means one apart in the plane at 45 degrees: .7602 by the normal law; all attackers get most of it."""
    generator = np.random.default_rng(7)
    secrets = generator.integers(2, size=2000)
    outputs = secrets[:, None] + generator.normal(size=(2000, 2))
    after = 0.5 * (1 + math.erf(math.sqrt(2.0) / 2 / math.sqrt(2.0)))
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

    for attackers in (None, ["forest"], [LogisticRegression()], [Sign()]):
        found = black_box(secrets, outputs, prior="uniform", attackers=attackers, confidence=0.9999)
        assert after - 0.1 < found.vulnerability.lower <= after <= found.vulnerability.upper == 1.0
        assert any("output of their own" in note for note in found.notes)
    # A number far away does not blind the nearest neighbours.
    outputs[5] = 1e12
    assert black_box(secrets, outputs, prior="uniform").vulnerability.lower > after - 0.06


def test_integers_beyond_the_doubles_are_not_merged() -> None:
    """2⁶⁰ and 2⁶⁰ + 1 are one double. Merged, they would tell nothing and the upper end would be wrong."""
    secrets = np.random.default_rng(3).integers(2, size=400)
    for outputs in (secrets + 2**60, (secrets + 2**60).tolist(), [[2**60 + int(s), 0.5] for s in secrets]):
        found = black_box(secrets, outputs, prior="uniform", attackers=["frequencies"])
        assert found.outputs == 2
        assert found.vulnerability.lower > 0.9


class Sign:
    """A classifier that only predicts."""

    def fit(self, x: np.ndarray, y: np.ndarray) -> Sign:
        return self

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(x.sum(axis=1) > 1.0, dtype=int)


def test_functions_are_asked_in_random_order() -> None:
    asked: list[int] = []

    def system(secret: int) -> int:
        asked.append(secret)
        if secret == 3:
            raise ValueError("three")
        return secret // 2

    found = sample_black_box(system, [0, 1, 2, 3], runs=800)
    assert 0.75 in found.vulnerability
    assert found.vulnerability.lower > 0.65
    assert len(asked) == 800
    assert len(set(asked[:40])) == 4
    coarse = sample_black_box(lambda s: (s, 7), [0, 1], runs=200, read=lambda answer: answer[1])
    assert coarse.information.lower == 0.0
    with pytest.raises(InvalidParameter, match="two or more"):
        sample_black_box(system, [1], runs=100)


class Stubborn:
    """A classifier that cannot."""

    def fit(self, x: np.ndarray, y: np.ndarray) -> None:
        raise ValueError("no")


BITS = [0, 1] * 50


@pytest.mark.parametrize(
    ("secrets", "outputs", "options", "error", "says"),
    [
        (BITS, [math.nan, *BITS[1:]], {}, InvalidInput, "1 are NaN"),
        (BITS, [math.inf, *BITS[1:]], {}, InvalidInput, "infinite"),
        ([math.nan, *BITS[1:]], BITS, {}, InvalidInput, "`secrets` of `black_box` must not be NaN"),
        ([0] * 100, BITS, {}, InvalidParameter, "two or more different"),
        (BITS, BITS, {"prior": {0: 0.5, 1: 0.25, 2: 0.25}}, InvalidInput, "1 have fewer, 1 none"),
        (BITS, BITS, {"prior": {0: 0.5, 2: 0.5}}, InvalidPrior, "50 samples are of secrets"),
        (BITS, BITS, {"prior": {0: 0.5, 1: 0.6}}, InvalidPrior, "a sum of 1.1"),
        (BITS, BITS, {"prior": {0: 1.0, 1: 0.0}}, InvalidPrior, "above 0"),
        (BITS, BITS, {"prior": {0: math.nan, 1: 0.5}}, InvalidPrior, "above 0"),
        (BITS, BITS, {"prior": [0.5, 0.5]}, InvalidParameter, "probabilities by secret"),
        (BITS[:20], BITS[:20], {}, InvalidParameter, "50 samples"),
        (BITS, BITS[:99], {}, InvalidParameter, "as many as"),
        (BITS, BITS, {"confidence": 1.0}, InvalidParameter, "confidence"),
        ([[0], [1]] * 50, BITS, {}, InvalidInput, "cannot be a label"),
        (BITS, BITS, {"attackers": [Stubborn()]}, InvalidInput, "could not learn"),
        (BITS, BITS, {"attackers": ["oracle"]}, InvalidParameter, "oracle"),
        (BITS, ["a", "b"] * 50, {"attackers": ["nearest"]}, InvalidParameter, "need outputs that"),
        (BITS, BITS, {"gain": k_guesses(3, 1)}, InvalidParameter, "3 for 2 secrets"),
        (BITS, [object(), *BITS[1:]], {"gain": None}, None, ""),
        (BITS, [{}, *BITS[1:]], {}, InvalidInput, "dict"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused_in_one_line(
    secrets: Sequence[Any],
    outputs: Sequence[Any],
    options: dict[str, Any],
    error: type[Exception] | None,
    says: str,
) -> None:
    if error is None:
        assert black_box(secrets, outputs, **options).outputs == 3
        return
    with pytest.raises(error, match=says) as told:
        black_box(secrets, outputs, **options)
    assert "\n" not in str(told.value)
