"""Statements: each number against a second route, each sentence true for random parameters."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from leakcap.bound import Bound
from leakcap.errors import InvalidParameter
from leakcap.statement import Exposure, compose, statement_of
from leakcap.statement.guessing import exception, group_delta, group_success, success
from leakcap.statement.wording import at_most, percent

EPSILONS = st.floats(1e-6, 50.0)


def exposure(epsilon: float, *, nats: float | None = None, units: int | None = 569) -> Exposure:
    own = min(epsilon * epsilon / 10, epsilon) if nats is None else nats
    return Exposure(
        "a test", epsilon, epsilon, Bound.exact(own, method="test"), 3.0, "replace-one", units=units
    )


def test_values_at_one_tenth_against_mpmath() -> None:
    mpmath.mp.dps = 40
    e = mpmath.mpf("0.1")
    a, d = mpmath.exp(e), e / (1 - mpmath.exp(-e))
    expected = {
        "epsilon": e,
        "coin_flip": a / (1 + a),
        "one_in_k": a / (a + 9),
        "odds": a,
        "information_tight": d - 1 - mpmath.log(d),
        "information_published": e * mpmath.tanh(e / 2),
        "total_variation": mpmath.tanh(e / 2),
        "family": a**5 / (1 + a**5),
        "everybody": a**569 / (1 + a**569),
        "more": a**101 / (1 + a**101),
    }
    statement = statement_of(exposure(0.1))
    for key, value in expected.items():
        assert statement[key].upper == pytest.approx(float(value), rel=1e-12), key
    assert {line.key for line in statement.lines} >= set(expected)


def test_a_guess_is_the_bayes_optimum_over_every_event() -> None:
    """The best fifty-fifty guess through randomised response of ε, by enumerating its outputs."""
    for epsilon in (0.1, 1.0, 3.0):
        keep = math.exp(epsilon) / (1 + math.exp(epsilon))
        joint = {(x, y): 0.5 * (keep if x == y else 1 - keep) for x, y in itertools.product((0, 1), repeat=2)}
        surest = max(joint[x, y] / (joint[0, y] + joint[1, y]) for x, y in joint)
        assert statement_of(exposure(epsilon))["coin_flip"].upper == pytest.approx(surest, rel=1e-14)


@settings(max_examples=150, deadline=None)
@given(epsilon=EPSILONS, k=st.integers(2, 1000), family=st.integers(2, 50))
def test_no_sentence_promises_more_than_its_number(epsilon: float, k: int, family: int) -> None:
    statement = statement_of(exposure(epsilon), guesses=k, family=family)
    for line in statement.lines:
        if line.unit == "probability":
            shown = [float(x) for x in re.findall(r"([\d.]+) (?:%|percentage)", line.sentence)]
            assert max(shown) / 100 >= line.upper * (1 - 1e-12), line
            assert 0.0 <= line.upper <= 1.0
        if line.unit == "nats" and math.isfinite(line.upper):
            shown = [float(x) for x in re.findall(r"([\d.]+(?:e[+-]?\d+)?) nats", line.sentence)]
            assert max(shown) >= line.upper * (1 - 1e-12), line


@settings(max_examples=100, deadline=None)
@given(epsilon=EPSILONS)
def test_the_order_of_the_bounds(epsilon: float) -> None:
    statement = statement_of(exposure(epsilon))
    tight, published = statement["information_tight"].upper, statement["information_published"].upper
    assert tight <= published <= epsilon
    assert statement["coin_flip"].upper <= statement["family"].upper <= statement["everybody"].upper
    assert statement["one_in_k"].upper <= statement["coin_flip"].upper


def test_composition_adds_and_refuses_mixtures() -> None:
    both = compose([exposure(0.1, nats=0.001), exposure(0.2, nats=0.004)], "both")
    assert both.epsilon == pytest.approx(0.3, rel=1e-15)
    assert both.nats.lower == 0.004
    assert 0.005 <= both.nats.upper < 0.005 + 1e-15
    assert both.table_nats == 6.0
    other = Exposure("x", 0.1, 0.2, Bound.exact(0.001, method="m"), 1.0, "add-remove-one", units=569)
    with pytest.raises(InvalidParameter, match="relation"):
        compose([exposure(0.1), other], "mixed")
    with pytest.raises(InvalidParameter, match="units"):
        compose([exposure(0.1), exposure(0.1, units=None)], "mixed")
    with pytest.raises(InvalidParameter, match="at least one"):
        compose([], "nothing")


def test_presence_is_told_apart_from_contents() -> None:
    e = Exposure("x", 0.1, 0.2, Bound.exact(0.001, method="m"), math.inf, "add-remove-one")
    statement = statement_of(e)
    assert statement["presence"].upper == pytest.approx(1 / (1 + math.exp(-0.1)), rel=1e-14)
    assert statement["coin_flip"].upper == pytest.approx(1 / (1 + math.exp(-0.2)), rel=1e-14)
    assert "no bound" in statement["table"].sentence
    assert statement["table"].record().upper is None
    assert "everybody" not in {line.key for line in statement.lines}


def test_bad_exposures_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        exposure(math.nan)
    with pytest.raises(InvalidParameter):
        Exposure("x", 0.2, 0.1, Bound.exact(0.0, method="m"), 0.0, "replace-one")
    for bad in ({"family": 1}, {"guesses": 1}, {"more": 0}):
        with pytest.raises(InvalidParameter):
            statement_of(exposure(0.1), **bad)


@given(value=st.floats(1e-12, 1e12), digits=st.integers(2, 6))
def test_rounding_is_outward_and_close(value: float, digits: int) -> None:
    shown = float(at_most(value, digits))
    assert value * (1 - 1e-12) <= shown <= value * (1 + 1.2 * 10.0 ** (1 - digits))


@given(st.floats(0.0, 1.0))
def test_percentages_are_rounded_up(p: float) -> None:
    shown = float(percent(p).removesuffix(" %"))
    assert shown / 100 >= p * (1 - 1e-12)
    assert shown <= min(100.0, p * 100 + 0.0101)


def with_slack(epsilon: float, delta: float) -> Exposure:
    return Exposure(
        "a model",
        epsilon,
        epsilon,
        Bound(0.0, math.inf, method="test"),
        math.inf,
        "replace-one",
        units=100,
        delta=delta,
        delta_contents=delta,
    )


@settings(max_examples=60, deadline=None)
@given(epsilon=st.floats(0.01, 8.0), delta=st.floats(1e-9, 0.4), k=st.integers(2, 5))
def test_with_a_slack_the_worst_channel_keeps_every_bound(epsilon: float, delta: float, k: int) -> None:
    """k-ary: with probability δ the secret itself, else k-ary randomised response: (ε, δ) and attained."""
    keep = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    right = delta + (1 - delta) * keep
    statement = statement_of(with_slack(epsilon, delta), guesses=k)
    assert statement["one_in_k"].upper >= right - 1e-12
    two = delta + (1 - delta) / (1 + math.exp(-epsilon))
    assert statement["coin_flip"].upper == pytest.approx(two, rel=1e-12)
    assert statement["total_variation"].upper == pytest.approx(2 * two - 1, rel=1e-9)
    assert statement["information_own"].record().upper is None
    assert "published" not in {line.key for line in statement.lines}
    assert "slack" in statement["epsilon"].sentence


@settings(max_examples=100, deadline=None)
@given(weights=st.lists(st.floats(0.0, 1.0), min_size=3, max_size=8), shift=st.floats(0.1, 2.0))
def test_the_exception_of_the_odds_covers_random_pairs(weights: list[float], shift: float) -> None:
    """For random pairs of laws and any ε: P(log-odds > 2ε) ≤ δ/(1−e^{−ε}) with δ their own hockey-stick."""
    p = [w + 0.01 for w in weights]
    q = [w + 0.01 for w in reversed(weights)]
    p, q = [x / sum(p) for x in p], [x / sum(q) for x in q]
    pairs = list(zip(p, q, strict=True))
    delta = sum(max(a - math.exp(shift) * b, 0.0) for a, b in pairs)
    delta = max(delta, sum(max(b - math.exp(shift) * a, 0.0) for a, b in pairs))
    far = math.exp(2 * shift) * (1 + 1e-12)
    assert sum(a for a, b in pairs if a > far * b or b > far * a) <= exception(shift, delta) + 1e-12


def test_the_exception_of_the_odds_is_attained() -> None:
    """Three outcomes: one in favour and one against just beyond e^{2ε}, the rest in between."""
    for epsilon, delta in ((0.1, 1e-3), (1.0, 1e-3)):
        up = delta / -math.expm1(-epsilon)
        down = up * math.exp(-2 * epsilon)
        assert exception(epsilon, delta) == pytest.approx(up + down, rel=1e-12)
        other = (up * math.exp(-2 * epsilon), down * math.exp(2 * epsilon))
        assert up - math.exp(epsilon) * other[0] == pytest.approx(delta, rel=1e-9)
        assert other[1] - math.exp(epsilon) * down == pytest.approx(delta, rel=1e-9)


@given(
    st.floats(1e-12, 60.0),
    st.one_of(st.just(0.0), st.floats(1e-30, 1.0)),
    st.integers(1, 10**6),
    st.integers(2, 9),
)
def test_guesses_are_never_below_their_formulas(
    epsilon: float, delta: float, people: int, values: int
) -> None:
    """With two hundred digits; a double computed as it is written lies below about half of the time."""
    with mp.workdps(200):
        odds = mp.exp(epsilon)
        right = (odds + (values - 1) * mp.mpf(delta)) / (odds + values - 1)
        found = success(epsilon, delta, values)
        assert min(right, 1) <= found <= min(right, 1) * (1 + mp.mpf(2) ** -50)
        together = mp.mpf(delta) * mp.expm1(people * mp.mpf(epsilon)) / mp.expm1(epsilon)
        slack = group_delta(epsilon, delta, people)
        assert min(together, 1) <= slack <= min(together * (1 + mp.mpf(2) ** -50), 1)
        all_of_them = mp.exp(people * mp.mpf(epsilon))
        assert min((all_of_them + min(together, 1)) / (all_of_them + 1), 1) <= group_success(
            epsilon, delta, people
        )


def test_slacks_of_groups_and_sums() -> None:
    both = compose([with_slack(0.5, 1e-6), with_slack(0.5, 2e-6)], "both")
    assert both.delta == pytest.approx(3e-6)
    assert group_delta(0.5, 1e-6, 3) == pytest.approx(1e-6 * (1 + math.exp(0.5) + math.exp(1.0)))
    assert statement_of(with_slack(0.5, 1e-6))["everybody"].upper == 1.0
    with pytest.raises(InvalidParameter, match="delta"):
        Exposure("x", 0.1, 0.1, Bound.exact(0.0, method="m"), 0.0, "replace-one", delta=0.1)


@pytest.mark.parametrize("amounts", [[0.1] * 3, [0.1, 1e-18], [0.7, 0.1, 0.3, 2.0**-60], [0.25, 0.5]])
def test_what_is_seen_together_is_never_below_the_exact_sum(amounts: list[float]) -> None:
    parts = [
        replace(exposure(a), delta=a / 32, delta_contents=a / 16, table_nats=a, epsilon_contents=a * 1.5)
        for a in amounts
    ]
    both = compose(parts, "together")
    for name in ("epsilon", "epsilon_contents", "table_nats", "delta", "delta_contents"):
        exact = sum((Fraction(getattr(part, name)) for part in parts), start=Fraction(0))
        assert math.nextafter(getattr(both, name), 0.0) < exact <= Fraction(getattr(both, name)), name
    told = sum((Fraction(part.nats.upper) for part in parts), start=Fraction(0))
    assert Fraction(both.nats.upper) >= told
