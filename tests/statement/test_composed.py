"""Composed curves: never below what an attacker gains, and not needlessly above it.

The truth is found by other routes: fifty-digit normal laws, exact products of laws, and, for whoever asks one
thing after another, the best of all strategies on small alphabets by dynamic programming.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakcap.bound import Bound
from leakcap.errors import InvalidParameter
from leakcap.ledger.curve import ORDERS, curve_of_pure
from leakcap.ledger.lattice_gaussian import distance_of_a_step, narrowed
from leakcap.policy import load_policy
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.price import price_of
from leakcap.release.planning.queries import Query
from leakcap.release.results.exposure import exposure_of
from leakcap.statement import Exposure, statement_of
from leakcap.statement.least import (
    least_beyond,
    least_guess,
    least_joining,
    least_odds,
    least_power,
    yes_no_nats,
)
from leakcap.statement.proving import gaussian_distance_of_pure, proven_pairs, two_steps_of
from leakcap.statement.record import StatementRecord
from leakcap.statement.restated import restated
from leakcap.statement.tally import Composed, Tally

mp = mpmath.mp.clone()
mp.dps = 50
Law = tuple[tuple[float, float], ...]
"""Outcomes as pairs of chances, under one table and under the other."""


def normal(mu: float, epsilon: float) -> mpmath.mpf:
    m, e = mp.mpf(mu), mp.mpf(epsilon)
    return mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)


def response(epsilon: float) -> Law:
    keep = 1 / (1 + math.exp(-epsilon))
    return ((keep, 1 - keep), (1 - keep, keep))


def product(laws: list[Law]) -> Law:
    found = [(1.0, 1.0)]
    for law in laws:
        found = [(p * a, q * b) for p, q in found for a, b in law]
    return tuple(found)


def stick(law: Law, epsilon: float) -> float:
    return max(math.fsum(max(one[i] - math.exp(epsilon) * one[1 - i], 0.0) for one in law) for i in (0, 1))


def exposure(composed: Composed, relation: str = "replace-one", queries: int = 1) -> Exposure:
    nats = Bound(0.0, 0.05, method="test")
    return Exposure(
        "a test",
        3.0,
        3.0,
        nats,
        1.0,
        relation,
        delta=1e-6,
        delta_contents=1e-5,
        composed=composed,
        queries=queries,
    )


@settings(max_examples=25, deadline=None)
@given(
    squared=st.one_of(st.just(0.0), st.floats(1e-8, 60.0)),
    pure=st.lists(
        st.tuples(st.sampled_from([0.05, 0.3, 1.0, 2.5]), st.integers(1, 3)),
        max_size=3,
        unique_by=lambda one: one[0],
    ),
)
def test_what_was_fixed_beforehand_is_exact(squared: float, pure: list[tuple[float, int]]) -> None:
    law = product([response(epsilon) for epsilon, n in pure for _ in range(n)])
    for epsilon, delta in proven_pairs(Tally(gaussian=squared, pure=tuple(sorted(pure))), True)[::7]:
        if squared:
            weights: dict[float, float] = defaultdict(float)
            for p, q in law:
                weights[round(math.log(p / q), 12)] += p
            truth = mp.fsum(p * normal(math.sqrt(squared), epsilon - loss) for loss, p in weights.items())
        else:
            truth = mp.mpf(stick(law, epsilon))
        assert delta >= truth * (1 - mp.mpf("1e-11"))
        assert delta <= truth * (1 + mp.mpf("1e-5")) + mp.mpf("1e-14")


def test_many_responses_are_listed_exactly() -> None:
    """A thousand of ε = 0.1: the binomial law in fractions of fifty digits."""
    right = 1 / (1 + mp.exp(-mp.mpf("0.1")))
    for epsilon, delta in proven_pairs(Tally(pure=((0.1, 1000),)), True)[:20:9]:
        truth = mp.fsum(
            mp.binomial(1000, k) * right**k * (1 - right) ** (1000 - k)
            * (1 - mp.exp(mp.mpf(epsilon) - (2 * k - 1000) * mp.mpf("0.1")))
            for k in range(1001) if (2 * k - 1000) * mp.mpf("0.1") > epsilon
        )  # fmt: skip
        assert truth <= delta <= truth * (1 + mp.mpf("1e-9"))


@given(epsilon=st.one_of(st.floats(1e-9, 1e-3), st.floats(1e-3, 40.0)))
def test_a_response_is_a_function_of_gaussian_noise(epsilon: float) -> None:
    """Its trade-off curve has one corner, where it is least: there the Gaussian's is no higher."""
    mu = mp.mpf(gaussian_distance_of_pure(epsilon))
    assert 2 * mp.ncdf(mu / 2) - 1 >= mp.tanh(mp.mpf(epsilon) / 2)
    assert 2 * mp.ncdf(mu * mp.mpf("0.9999") / 2) - 1 < mp.tanh(mp.mpf(epsilon) / 2)


def binned(mu: float, edges: tuple[float, ...]) -> Law:
    """Gaussian noise at distance μ, seen in bins: a function of it."""
    ends = (-math.inf, *edges, math.inf)

    def mass(low: float, high: float, mean: float) -> float:
        return float(mp.ncdf(high - mean) - mp.ncdf(low - mean))

    return tuple((mass(a, b, mu), mass(a, b, 0.0)) for a, b in itertools.pairwise(ends))


def lopsided(epsilon: float) -> Law:
    """Three answers of ε-DP, of which the middle one says nothing: Laplace noise is like it."""
    law = response(epsilon)
    return ((0.8 * law[0][0], 0.8 * law[0][1]), (0.2, 0.2), (0.8 * law[1][0], 0.8 * law[1][1]))


def renyi(law: Law, order: float) -> float:
    if order == 1:
        return max(math.fsum(x[i] * math.log(x[i] / x[1 - i]) for x in law) for i in (0, 1))
    return max(math.log(math.fsum(x[i] ** order * x[1 - i] ** (1 - order) for x in law)) for i in (0, 1)) / (
        order - 1
    )


@lru_cache
def questions() -> tuple[tuple[Law, Tally], ...]:
    """What may be asked, and its tally."""
    found = [(response(e), Tally(pure=((e, 1),), curve=curve_of_pure(e))) for e in (0.4, 0.8)]
    found.append(
        (lopsided(0.8), Tally(pure=((0.8, 1),), curve=tuple(renyi(lopsided(0.8), o) for o in ORDERS)))
    )
    for mu, edges in ((0.5, (-0.8, 0.25, 1.3)), (0.7, (0.35,))):
        found.append((binned(mu, edges), Tally(gaussian=mu**2, curve=tuple(o * mu**2 / 2 for o in ORDERS))))
    return tuple(found)


def within(one: Tally, sums: Tally) -> bool:
    """Whether all that adds up stays within the sums."""
    return (
        one.gaussian <= sums.gaussian + 1e-12
        and one.epsilon <= sums.epsilon + 1e-12
        and math.fsum(n * gaussian_distance_of_pure(e) ** 2 for e, n in one.pure) + one.gaussian
        <= math.fsum(n * gaussian_distance_of_pure(e) ** 2 for e, n in sums.pure) + sums.gaussian + 1e-12
        and all(a <= b + 1e-12 for a, b in zip(one.curve, sums.curve, strict=True))
    )


NOTHING = Tally(curve=(0.0,) * len(ORDERS))


def best(sums: Tally, epsilon: float) -> float:
    """The most that any strategy makes of P(E) − e^ε·Q(E), the next question chosen by all answers so far."""
    found: dict[tuple[float, ...], float] = {}

    def value(p: float, q: float, spent: Tally) -> float:
        key = (round(p, 12), round(q, 12), spent.gaussian, spent.epsilon, spent.curve[5])
        if key not in found:
            asked = [max(p - math.exp(epsilon) * q, 0.0)]
            for law, price in questions():
                after = Tally.total([spent, price])
                if within(after, sums):
                    asked.append(math.fsum(value(p * a, q * b, after) for a, b in law))
            found[key] = max(asked)
        return found[key]

    return value(1.0, 1.0, NOTHING)


def reached() -> Iterator[Tally]:
    """The sums of some ways of asking."""
    each = [price for _, price in questions()]
    for chosen in ((0, 0), (1,), (0, 1), (3, 4), (0, 3), (2, 3), (0, 0, 3)):
        yield Tally.total([NOTHING, *(each[place] for place in chosen)])


def test_whoever_asks_one_thing_after_another_gains_no_more() -> None:
    for sums in reached():
        bound = proven_pairs(sums, False)
        for epsilon, delta in bound[::8]:
            assert best(sums, epsilon) <= delta * (1 + 1e-9) + 1e-12


def test_what_holds_beforehand_alone_is_caught() -> None:
    """Two responses of .4, fixed, tell less than somebody may gain who spends the same sums otherwise."""
    sums = Tally.total([questions()[0][1]] * 2)
    loose = replace(sums, curve=tuple(10 * nats for nats in sums.curve))
    fixed = proven_pairs(replace(sums, curve=()), True)[0][1]
    both = replace(loose, gaussian=2.0)  # room for what hides as much as noise of any kind
    assert fixed < best(both, 0.0)
    assert proven_pairs(both, False)[0][1] >= best(both, 0.0)


def discrete(sigma: float, shift: int) -> Law:
    beyond = math.ceil(12 * sigma) + shift
    y = np.arange(-beyond, beyond + 1)
    p, q = np.exp(-(y**2) / (2 * sigma**2)), np.exp(-((y - shift) ** 2) / (2 * sigma**2))
    return tuple(
        zip((p / p.sum()).tolist(), (q / np.exp(-(y**2) / (2 * sigma**2)).sum()).tolist(), strict=True)
    )


@pytest.mark.parametrize("variance", [Fraction(1, 2), Fraction(5), Fraction(41, 2), Fraction(900)])
def test_discrete_gaussian_noise_by_its_own_law(variance: Fraction) -> None:
    """One integer and two that are moved; and one that is moved by two steps, of a little less noise."""
    sigma, step = math.sqrt(variance), distance_of_a_step(variance)
    assert step is not None
    one = discrete(sigma, 1)
    naive = proven_pairs(Tally(gaussian=float(1 / variance)), True)
    assert stick(one, 0.0) > naive[0][1]  # the continuous law of the same σ would claim too little
    for epsilon, delta in proven_pairs(Tally(gaussian=step**2), True)[:24:4]:
        truth = stick(one, epsilon)
        assert truth <= delta
        assert epsilon > 0.0 or delta <= truth * (1 + 1e-9)
    if variance == 5:
        for epsilon, delta in proven_pairs(Tally(gaussian=2 * step**2), True)[:24:6]:
            assert stick(product([one, one]), epsilon) <= delta
    far = narrowed(variance, Fraction(4))
    if far is not None:
        for epsilon, delta in proven_pairs(Tally(gaussian=float(2 * far)), True)[:24:6]:
            assert stick(discrete(sigma, 2), epsilon) <= delta


def test_two_contents_by_way_of_absence() -> None:
    """Absent is between: (2ε, (1 + e^ε)δ), against responses and noise at both steps."""
    for mu in (0.2, 1.0, 3.0):
        for epsilon, delta in two_steps_of(proven_pairs(Tally(gaussian=mu**2), True))[::5]:
            assert delta >= normal(2 * mu, epsilon) * (1 - mp.mpf("1e-9")) or delta == 1.0


@pytest.mark.parametrize("mu", [0.05, 0.22, 1.0, 3.0])
def test_lines_against_the_normal_law(mu: float) -> None:
    pairs = proven_pairs(Tally(gaussian=mu**2), True)
    half = mp.ncdf(mp.mpf(mu) / 2)
    assert half <= least_guess(pairs) <= half + mp.mpf("1e-9")
    power = mp.ncdf(mp.mpf(mu) - mp.mpf("2.3263478740408411009"))
    assert power <= least_power(pairs, 0.01) <= power * mp.mpf("1.02")
    told = mp.quad(lambda x: mp.npdf(x, mu / 2) * mp.log(2 / (1 + mp.exp(-mu * x))), [-12, -3, 0, 3, 16])
    assert told <= yes_no_nats(pairs) <= mp.mpf("1.03") * told
    for seldom in (1e-9, 1e-6, 1e-3):
        moved, exception = least_odds(pairs, seldom)
        exceeds = mp.ncdf(mp.mpf(mu) / 2 - moved / mp.mpf(mu)) + mp.ncdf(-mp.mpf(mu) / 2 - moved / mp.mpf(mu))
        assert exceeds <= exception == seldom
        assert exceeds <= least_beyond(pairs, moved) <= 1.001 * seldom
    value, seldom = least_joining(pairs)
    assert seldom == 1e-3 or value == 1.0
    assert value >= 2 * half - 1 - mp.mpf("1e-9")


@pytest.mark.parametrize("k", [3, 10, 100])
def test_one_of_many_against_the_normal_law(k: int) -> None:
    """s = Φ(Φ⁻¹((1−s)/(k−1)) + μ): with every other value the test that names it errs alike."""
    for mu in (0.2, 2.0):
        low, high = mp.mpf(1) / k, mp.mpf(1)
        for _ in range(60):
            middle = (low + high) / 2
            quantile = mp.sqrt(2) * mp.erfinv(2 * (1 - middle) / (k - 1) - 1)
            low, high = (middle, high) if mp.ncdf(quantile + mu) > middle else (low, middle)
        assert low <= least_guess(proven_pairs(Tally(gaussian=mu**2), True), k) <= low * mp.mpf("1.02")


def test_a_count_of_rho_0_0244_is_told_as_what_it_is() -> None:
    """A coin flip about it is right in 54.4 % of cases; one (ε, δ) says far more."""
    policy = load_policy(
        {
            "dataset": "d",
            "neighbours": "add-remove-one",
            "caps": {"rho": 1.0, "delta": 1e-6},
            "columns": {"x": {"keys": [1]}},
        }
    )
    price = price_of(plan_query(Query(name="n", statistic="count", rho=0.0244, noise="gaussian"), policy))
    variance = Fraction(json.loads(price.event)["variance"])
    truth = 0.5 + stick(discrete(math.sqrt(variance), 1), 0.0) / 2
    told = statement_of(exposure_of(price, "n"))
    for key in ("coin_flip", "presence"):
        assert truth <= told[key].upper <= truth + 1e-6
        assert "54.41 %" in told[key].sentence
    one = replace(exposure_of(price, "n"), composed=None)
    assert statement_of(one)["coin_flip"].upper > 0.65


def test_a_composed_statement_comes_back_from_its_record_and_an_edited_one_does_not() -> None:
    tally = Tally(gaussian=0.05, pure=((0.1, 3),), curve=tuple(0.03 + 0.025 * o for o in ORDERS))
    for at_once, queries in ((True, 4), (False, 4), (True, 1)):
        told = statement_of(exposure(Composed(tally, None, at_once), queries=queries))
        text = json.dumps(told.to_dict(), allow_nan=False)
        record = StatementRecord.model_validate_json(text)
        assert restated(record).lines == told.lines
        lower = text.replace('"gaussian": 0.05', '"gaussian": 0.04')
        assert lower != text
        with pytest.raises(InvalidParameter, match="do not follow from its numbers"):
            restated(StatementRecord.model_validate_json(lower))


def test_each_way_of_asking_says_what_its_shares_hold_for() -> None:
    tally = Tally(gaussian=0.05, curve=tuple(0.025 * o for o in ORDERS))
    for at_once, words in ((True, "fixed before any was seen"), (False, "asked one after another")):
        told = statement_of(exposure(Composed(tally, None, at_once), queries=2))["epsilon"].sentence
        assert words in told
        assert "have a probability of" in told
    leak = replace(tally, delta=1e-4, leak=1e-4)
    assert "may tell everything" in statement_of(exposure(Composed(leak)))["average_and_worst"].sentence
    assert "everything" not in statement_of(exposure(Composed(tally)))["average_and_worst"].sentence


@pytest.mark.parametrize(
    "wrong",
    [
        {"gaussian": -1.0},
        {"gaussian": math.inf},
        {"delta": 1.5},
        {"pure": ((math.inf, 1),)},
        {"usable": False},
        {"curve": (1.0,)},
    ],
)
def test_a_tally_that_says_nothing_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        Tally(**wrong)  # type: ignore[arg-type]
