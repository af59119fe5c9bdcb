"""The games of singling out, linkability and inference: their bounds against exact play and fifty digits."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction

import mpmath
import pyarrow
import pytest

from leakcap.release import PrivateTable, load_policy
from leakcap.release.results.exposure import _contents as slack_between_contents
from leakcap.release.results.exposure import proven_so_far
from leakcap.statement.guessing import exception
from leakcap.statement.risks import (
    ProvenRecord,
    believed,
    games_of,
    informed,
    isolation,
    linked,
    right,
    told_apart,
)

EPSILONS = (0.0, 1e-9, 0.1, 1.0, math.log(3), 5.5, 40.0)
DELTAS = (0.0, 1e-12, 1e-6, 0.03)
THIRD = Fraction(1, 3)


def exact(value: mpmath.mpf, told: float) -> None:
    """`told` is not below the value, and above it by two units of the last place at most."""
    assert told >= value or told == 1.0
    assert told <= math.nextafter(math.nextafter(float(value), 2.0), 2.0) or told == 1.0


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_closed_forms_are_those_of_fifty_digits_rounded_up(epsilon: float, delta: float) -> None:
    with mpmath.workdps(50):
        odds, slack = mpmath.e ** mpmath.mpf(epsilon), mpmath.mpf(delta)
        for values in (2, 10):
            k = values - 1
            exact(min((odds + k * slack) / (odds + k), mpmath.mpf(1)), right(epsilon, delta, values))
        exact(min((odds - 1 + 2 * slack) / (odds + 1), mpmath.mpf(1)), told_apart(epsilon, delta))
        half = mpmath.tanh(mpmath.mpf(epsilon) / 4) ** 2 + slack
        assert half <= linked(epsilon, delta) <= float(half) * (1 + 1e-15) + 1e-300 or half > 1
        sure = min(odds / 1000 + 569 * slack, mpmath.mpf(1))
        exact(sure, isolation(epsilon, delta, Fraction(1, 1000), 569))
        prior = mpmath.mpf(1) / 100
        exact(prior * odds / (prior * odds + 1 - prior), believed(epsilon, Fraction(1, 100)))


def answers(bit: int, odds: Fraction) -> tuple[Fraction, Fraction]:
    """Randomised response: the bit itself with these odds."""
    told = odds / (1 + odds)
    return (told, 1 - told) if bit == 0 else (1 - told, told)


Law = tuple[Fraction, ...]


def linking(first: tuple[Law, Law], second: tuple[Law, Law]) -> Fraction:
    """The best guess whether two parts are about the same content, by looking at every pair of answers."""
    total = Fraction(0)
    for (p0, p1), (q0, q1) in itertools.product(zip(*first, strict=True), zip(*second, strict=True)):
        total += max(p0 * q0 + p1 * q1, p0 * q1 + p1 * q0) / 4
    return total


def test_linking_two_answers_of_randomised_response_reaches_the_bound() -> None:
    odds = Fraction(3)
    part = answers(0, odds), answers(1, odds)
    best = linking(part, part)
    # Each part has odds of 3, both together ε = ln 9: tanh²(ln 9/4) = 1/4, and half of one more is 5/8.
    assert best == Fraction(5, 8)
    assert float(best) <= (1 + linked(math.log(9), 0.0)) / 2 < float(best) + 1e-12


def most_guesses(nats: float, values: int) -> mpmath.mpf:
    """The root of Fano's inequality, by halving in fifty digits."""
    low, high = mpmath.mpf(1) / values, mpmath.mpf(1)
    if nats == 0.0:
        return low
    for _ in range(200):
        s = (low + high) / 2
        told = s * mpmath.log(s * values)
        if s < 1:
            told += (1 - s) * mpmath.log((1 - s) * values / (values - 1))
        low, high = (s, high) if told <= nats else (low, s)
    return low


@pytest.mark.parametrize("values", [2, 3, 10])
@pytest.mark.parametrize("nats", [0.0, 1e-30, 1e-12, 1e-6, 0.005, 0.1, 0.6, 0.693, 2.0, math.inf])
def test_fano_s_bound_is_never_below_its_root(nats: float, values: int) -> None:
    with mpmath.workdps(50):
        root = mpmath.mpf(1) if nats >= math.log(values) else most_guesses(nats, values)
        told = informed(nats, values)
        assert root <= told <= root + mpmath.mpf("4e-16")


def informed_excesses(share: float) -> int:
    """Of 900 channels from evenly drawn values, how often one is guessed more often than its nats allow."""
    draw, found = random.Random(7), 0
    for _ in range(300):
        values, seen = draw.randint(2, 4), draw.randint(2, 4)
        rows = [[Fraction(draw.randint(1, 40)) for _ in range(seen)] for _ in range(values)]
        laws = [[one / sum(row) for one in row] for row in rows]
        for keep in (Fraction(1, 20), Fraction(1, 3), Fraction(1)):
            # A part of the answers are the value itself, the rest the channel's.
            joint = [
                [(1 - keep) * p + (keep if x == y else 0) for y, p in enumerate([*law, *[0] * 4])]
                for x, law in enumerate(laws)
            ]
            heard = [sum(column) / values for column in zip(*joint, strict=True)]
            best = sum(max(column) for column in zip(*joint, strict=True)) / values
            nats = sum(
                float(p) / values * math.log(float(p / q))
                for law in joint
                for p, q in zip(law, heard, strict=True)
                if p
            )
            found += float(best) > informed(share * nats, values) + 1e-12
    return found


def test_no_channel_is_guessed_more_often_than_its_nats_allow_and_fewer_nats_are_found_out() -> None:
    assert informed_excesses(1.0) == 0
    assert informed_excesses(0.6) > 0


def test_many_answers_are_guessed_by_their_nats_not_by_their_epsilon() -> None:
    """A hundred answers with Laplace noise of ε = 0.1: the coin is guessed by the nats that they tell."""
    added = ProvenRecord(epsilon=10.0, delta=0.0, epsilon_contents=10.0, delta_contents=0.0)
    games = {game.key: game for game in games_of([added], "replace-one", 100, nats=0.125)}
    worst = {game.key: game for game in games_of([added], "replace-one", 100)}
    changed = {key for key in games if games[key].success != worst[key].success}
    assert changed == {"register", "fact", "value"}
    assert games["fact"].success == informed(0.125) < 0.75 < worst["fact"].success
    assert games["value"].success == informed(0.125, 10)
    assert {key: game.success for key, game in worst.items() if key in changed} == {
        "register": right(10.0, 0.0),
        "fact": right(10.0, 0.0),
        "value": right(10.0, 0.0, 10),
    }


def random_pair(draw: random.Random, size: int) -> tuple[Law, Law]:
    laws = []
    for _ in range(2):
        weights = [Fraction(draw.randint(1, 60)) for _ in range(size)]
        laws.append(tuple(one / sum(weights) for one in weights))
    return laws[0], laws[1]


def loss(pair: tuple[Law, Law]) -> Fraction:
    """e^ε of a pair of laws."""
    return max(max(p / q, q / p) for p, q in zip(*pair, strict=True))


def excesses(bound: Callable[[float], float]) -> int:
    """Of 600 pairs of mechanisms, how many are linked more often than the bound on ε₁+ε₂ allows."""
    draw, found = random.Random(0), 0
    for _ in range(600):
        first, second = random_pair(draw, draw.randint(2, 4)), random_pair(draw, draw.randint(2, 4))
        epsilon = math.log(float(loss(first))) + math.log(float(loss(second)))
        found += linking(first, second) > Fraction((1 + bound(epsilon)) / 2) + Fraction(1, 10**12)
    return found


def test_no_mechanism_is_linked_more_often_and_a_smaller_bound_is_found_out() -> None:
    assert excesses(lambda epsilon: linked(epsilon, 0.0)) == 0
    assert excesses(lambda epsilon: 0.3 * linked(epsilon, 0.0)) > 0


def isolated(people: int, values: int, odds: Fraction) -> Fraction:
    """How often the best attacker isolates somebody: one person's value is told by randomised response, the
    condition names one value, and people are drawn evenly over the values."""
    keep = odds / (odds + values - 1)
    tables = list(itertools.product(range(values), repeat=people))
    total = Fraction(0)
    for seen in range(values):
        law = {t: (keep if t[0] == seen else (1 - keep) / (values - 1)) / len(tables) for t in tables}
        total += max(sum(p for t, p in law.items() if t.count(value) == 1) for value in range(values))
    return total


@pytest.mark.parametrize("people", [1, 2, 3])
def test_a_condition_isolates_no_more_often_than_is_said(people: int) -> None:
    for values, odds in itertools.product((2, 5, 9), (Fraction(1), Fraction(3, 2), Fraction(4))):
        chance = Fraction(people, values)
        most = isolation(math.log(float(odds)), 0.0, chance, people)
        best = isolated(people, values, odds)
        assert float(best) <= most + 1e-12
    # One person of nine: more often than by chance, so that a bound without e^ε would be found out.
    assert isolated(1, 9, Fraction(4)) == THIRD > Fraction(1, 9)


def test_the_last_bound_is_the_sharpest_and_the_first_is_what_parts_add_up_to() -> None:
    added = ProvenRecord(epsilon=8.0, delta=0.0, epsilon_contents=8.0, delta_contents=0.0)
    curves = ProvenRecord(epsilon=0.5, delta=1e-3, epsilon_contents=0.5, delta_contents=1e-3)
    alone = {game.key: game for game in games_of([added], "replace-one", 100)}
    both = {game.key: game for game in games_of([added, curves], "replace-one", 100)}
    assert (set(both), len(both)) == (set(alone), 7)
    for key, game in both.items():
        assert game.blind <= game.success <= alone[key].success, key
    assert both["membership"].success == right(0.5, 1e-3)
    # No belief has an exception where losses that are added up have none.
    assert both["rare_fact"].exception == 0.0
    slack = {game.key: game for game in games_of([curves], "replace-one", 100)}
    assert 0.0 < slack["rare_fact"].exception < 0.01


def test_a_rare_fact_is_told_by_a_bound_that_seldom_fails() -> None:
    """Answers with Gaussian noise have no bound that always holds. The lowest was told: 5.4 %, but for a
    probability of 0.61."""
    policy = load_policy(
        {
            "dataset": "d",
            "neighbours": "replace-one",
            "rows": 500,
            "columns": {"x": {"bounds": [0.0, 1.0]}},
            "caps": {"epsilon": 9.0, "delta": 1e-6},
        }
    )
    table = PrivateTable(pyarrow.table({"x": [0.5] * 500}), policy=policy, ledger="sqlite://")
    for _ in range(2):
        table.count(rho=0.005, noise="gaussian", fresh=True)
    bounds = proven_so_far(table.ledger.entries(), policy)
    assert all(one.delta_contents > 0.0 for one in bounds)
    told = next(one for one in games_of(bounds, "replace-one", 500) if one.key == "rare_fact")
    assert 0.0 < told.exception <= 1e-4
    assert 0.02 < told.success < 0.2
    # The one that fails least, where each fails more often than that.
    often = [
        ProvenRecord(epsilon=e, delta=d, epsilon_contents=e, delta_contents=d)
        for e, d in ((0.1, 0.05), (1.0, 0.01), (0.5, 0.02))
    ]
    told = next(one for one in games_of(often, "replace-one", 500) if one.key == "rare_fact")
    assert told.exception == exception(1.0, 0.01)
    assert told.success == believed(2.0, Fraction(1, 100))


def test_an_answer_that_stands_in_both_parts_is_no_part_of_the_game() -> None:
    """Linked to itself it is linked as often as it is guessed: more than by the product."""
    odds = Fraction(3)
    told = answers(0, odds), answers(1, odds)
    # The same noisy answer twice: with the same content the two are equal, with another they need not be.
    same = max(sum(a * b for a, b in zip(p, q, strict=True)) for p in told for q in told)
    assert Fraction(1, 2) + (1 - same) / 2 > Fraction((1 + linked(math.log(3), 0.0)) / 2)
    (game,) = (
        one
        for one in games_of(
            [ProvenRecord(epsilon=1.0, delta=0.0, epsilon_contents=1.0, delta_contents=0.0)], "replace-one"
        )
        if one.key == "two_parts"
    )
    assert "no answer, nor what was computed from it, stands in both" in game.game


@pytest.mark.parametrize("delta", [5e-324, 1e-300, 1e-12, 1e-6, 0.03, 0.9])
@pytest.mark.parametrize("epsilon", [0.0, 5e-324, 1e-17, 1e-9, 0.1, 1.0, math.log(3), 5.5, 40.0, 800.0])
def test_the_exception_is_rounded_up_and_by_nothing_else(epsilon: float, delta: float) -> None:
    with mpmath.workdps(400):
        e, slack = mpmath.mpf(epsilon), mpmath.mpf(delta)
        value = slack * (1 + mpmath.exp(-2 * e)) / (1 - mpmath.exp(-e)) if epsilon else mpmath.mpf(1)
        told = exception(epsilon, delta)
        exact(min(value, mpmath.mpf(1)), told)


@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
def test_the_slack_between_contents_is_not_below_what_group_privacy_has(relation: str) -> None:
    tried = 0
    for epsilon, delta in itertools.product(
        (0.0, 1e-9, 0.1, 0.7, 1.0, math.log(3), 5.5), (1e-12, 1e-7, 3e-3)
    ):
        with mpmath.workdps(50):
            value = mpmath.mpf(delta) * (1 + mpmath.e ** mpmath.mpf(epsilon))
            told = slack_between_contents(delta, epsilon, relation)
            assert told == delta if relation == "replace-one" else value <= told <= value * (1 + 1e-14)
        tried += 1
    assert tried == 21


def test_the_steps_of_the_proof_that_nobody_is_isolated_more_often() -> None:
    """S ≤ (e^ε·nw+nδ)/(1+e^ε·w(n−1)) ≤ e^ε·p+nδ with p = 1−(1−w)ⁿ, although nw is above p."""
    above = 0
    for n, w, odds, slack in itertools.product(
        (1, 2, 7, 500),
        (Fraction(1, 10**6), Fraction(1, 500), Fraction(1, 3)),
        (Fraction(1), Fraction(3, 2), Fraction(20)),
        (Fraction(0), Fraction(1, 10**5)),
    ):
        p = 1 - (1 - w) ** n
        most = (odds * n * w + n * slack) / (1 + odds * w * (n - 1))
        assert most == odds * w * (n * (1 - most) + most) + n * slack
        assert most <= odds * p + n * slack
        above += n * w > p
    assert above > 0


def test_people_that_may_be_left_out_are_two_steps_from_another_content() -> None:
    one = ProvenRecord(epsilon=1.0, delta=0.0, epsilon_contents=2.0, delta_contents=0.0)
    found = {game.key: game.success for game in games_of([one], "add-remove-one")}
    assert found["membership"] == right(1.0, 0.0)
    assert found["register"] == found["fact"] == right(2.0, 0.0)
    assert found["two_parts"] == pytest.approx((1 + math.tanh(0.5) ** 2) / 2, abs=1e-12)
