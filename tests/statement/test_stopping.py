"""Whoever stops when it suits them: what statements say of them, against the best of all strategies.

Everything is enumerated: an adversary asks randomised responses of two sizes, each chosen by all that was
answered, and stops at any moment. The state is how many of each were asked and what they weigh together, so
that the best strategy is found by dynamic programming, for any goal that is a mean over what was seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from flint import arb, ctx

from leakcap.bound import Bound
from leakcap.ledger import Caps, Spend
from leakcap.ledger.curve import ORDERS, curve_of_pure
from leakcap.ledger.rules import excess, rules_of
from leakcap.ledger.ticks import NOTHING, total
from leakcap.statement import Exposure, statement_of
from leakcap.statement.capped import Capped
from leakcap.statement.least import least_guess
from leakcap.statement.reading import Reading
from leakcap.statement.record import StatementRecord
from leakcap.statement.restated import restated
from leakcap.statement.tally import Composed, Tally

SIZES = (0.8, 0.4)
"""ε of the two questions; what answers weigh is a multiple of the second."""
State = tuple[int, int, int]
"""How many of each were asked, and the weight of all answers in multiples of .4."""


def pathwise(state: State) -> float:
    """How sure a run of so many answers can make of a fact that was even."""
    return 1 / (1 + math.exp(-SIZES[0] * state[0] - SIZES[1] * state[1]))


def told(first: int, second: int, capped: Capped | None = None) -> dict[str, Reading]:
    """The lines of a statement of so many answers."""
    groups = tuple((e, n) for e, n in sorted(zip(SIZES, (first, second), strict=True)) if n)
    curve = tuple(
        first * a + second * b for a, b in zip(curve_of_pure(SIZES[0]), curve_of_pure(SIZES[1]), strict=True)
    )
    epsilon = SIZES[0] * first + SIZES[1] * second
    exposure = Exposure(
        "a test",
        epsilon,
        epsilon,
        Bound(0.0, first * spend(0).nats_person + second * spend(1).nats_person, method="test"),
        1.0,
        "replace-one",
        queries=first + second,
        composed=Composed(Tally(pure=groups, curve=curve), None, at_once=False),
        capped=capped,
    )
    return {line.key: line for line in statement_of(exposure).lines}


@cache
def spend(which: int) -> Spend:
    return Spend(SIZES[which], nats_person=response_nats(SIZES[which]))


def response_nats(epsilon: float) -> float:
    """The capacity of a randomised response: ln 2 − h of how often it is right."""
    right = 1 / (1 + math.exp(-epsilon))
    return math.log(2) + right * math.log(right) + (1 - right) * math.log(1 - right)


def best(goal: Callable[[State, float, float], float], may: Callable[[int, int], bool]) -> float:
    """The largest mean of `goal(state, p, q)` at the moment at which somebody stops, over all strategies and
    both contents, equally likely; p and 1 − p is what is then believed of them."""

    @cache
    def value(state: State) -> float:
        first, second, weight = state
        p = 1 / (1 + math.exp(-SIZES[1] * weight))
        found = goal(state, p, 1 - p)
        for which, epsilon in enumerate(SIZES):
            after = (first + (which == 0), second + (which == 1))
            if not may(*after):
                continue
            right = 1 / (1 + math.exp(-epsilon))
            step = 2 if which == 0 else 1
            up = p * right + (1 - p) * (1 - right)
            asked = up * value((*after, weight + step)) + (1 - up) * value((*after, weight - step))
            found = max(found, asked)
        return found

    return value((0, 0, 0))


def test_what_is_said_of_sums_is_an_under_claim_for_whoever_stops() -> None:
    """Guesses are right more often than what is said of the sums reached, in the mean, at a chosen moment;
    the figure of ε added up is exceeded by no single sequence."""

    @cache
    def lines(first: int, second: int) -> dict[str, Reading]:
        return told(first, second)

    def may(first: int, second: int) -> bool:
        return first <= 16 and second <= 2

    def said(state: State, of: Callable[[Reading], float]) -> float:
        return of(lines(*state[:2])["coin_flip"]) if sum(state[:2]) > 1 else pathwise(state)

    def gain(state: State, p: float, q: float) -> float:
        return max(p, q) - said(state, lambda line: line.upper)

    def beyond(state: State, p: float, q: float) -> float:
        return max(p, q) - said(state, lambda line: line.stopping or 0.0)

    assert best(gain, may) > 0.01
    assert best(beyond, may) <= 1e-12
    sentence = lines(6, 0)["coin_flip"]
    assert sentence.holds == "spent"
    assert not sentence.under_caps
    assert "keeps to what was spent; for whoever stops when it suits them it is" in sentence.sentence


@pytest.mark.parametrize(
    "caps",
    [
        Caps(epsilon=2.0),
        Caps(epsilon=2.0, delta=0.05, delta_of_answers=0.0),
        Caps(epsilon=1.5, delta=0.3, delta_of_answers=0.0, order=2.5),
        Caps(rho=0.7),
        Caps(rho=2.0),
        Caps(nats_person=0.2),
    ],
)
def test_under_caps_that_were_fixed_nobody_gains_more_whenever_they_stop(caps: Caps) -> None:
    """The ledger's own rule says what may be asked; the best of all strategies gains what is said at most."""
    limits = rules_of(caps).whole

    @cache
    def may(first: int, second: int) -> bool:
        spent = total([NOTHING, *[spend(0).ticks(None)] * first, *[spend(1).ticks(None)] * second])
        return first + second <= 40 and not excess(NOTHING, spent, limits, "everything")

    capped = Capped(caps.epsilon, caps.delta or 0.0, caps.rho, caps.nats_person)
    for epsilon, delta in capped.contents("replace-one")[::4]:
        reached = 2 * best(lambda _, p, q, e=epsilon: max(p - math.exp(e) * q, 0.0), may)
        assert reached <= delta + 1e-12
    most = least_guess(capped.contents("replace-one"))
    assert best(lambda _, p, q: max(p, q), may) <= most
    # What is said is the lower of this and of what the run itself may tell: no mixture of both is too low.
    assert best(lambda state, p, q: max(p, q) - min(most, pathwise(state)), may) <= 1e-12
    line = told(1, 1, capped)["coin_flip"]
    assert line.stopping == (most if line.under_caps else pytest.approx(pathwise((1, 1, 0)), rel=1e-9))
    # Planted: a cap of .4 times the size would promise less than the ledger lets somebody gain.
    planned = (capped.epsilon, capped.delta, capped.rho, capped.nats)
    less = [None if one is None else 0.4 * one for one in planned]
    short = Capped(less[0], less[1] or 0.0, less[2], less[3])
    assert any(
        2 * best(lambda _, p, q, e=epsilon: max(p - math.exp(e) * q, 0.0), may) > delta
        for epsilon, delta in short.contents("replace-one")[::4]
    )


@pytest.mark.parametrize("order", ORDERS[1:])
def test_what_the_proof_of_the_lower_of_both_figures_rests_on(order: float) -> None:
    """φ is convex and φ'/φ rises, from one half on; by ball arithmetic's derivatives, on a grid."""

    def steps(p: arb) -> tuple[arb, arb]:
        a, q, both = arb(order), 1 - p, []
        for one, other, sign in ((p, q, 1), (q, p, -1)):
            term = one**a * other ** (1 - a)
            slope = sign * (a / one - (1 - a) / other)
            bend = -a / one**2 - (1 - a) / other**2
            both.append((term, term * slope, term * (slope**2 + bend)))
        value, first, second = (x + y for x, y in zip(*both, strict=True))
        return second, second * value - first**2

    with ctx.workprec(2000):
        for place in range(1, 200):
            convex, rising = steps((1 + arb(place) / 200) / 2)
            assert convex > 0
            assert rising > 0


Answer = tuple[float, tuple[float, ...], list[tuple[float, float]]]
"""Its ε, its curve, and of each outcome the chances under both contents."""


def rare(told: float, more: float, less: float) -> Answer:
    """An answer that says nothing but with probability `told`, and then one of two things of these losses."""
    up, down = math.exp(more), math.exp(-less)
    second = (1 - down) / (up - down)
    outcomes = [(told * up * second, told * second), (told * (1 - up * second), told * (1 - second))]
    outcomes += [(1 - told, 1 - told)] if told < 1 else []
    curve = []
    for order in ORDERS:
        both = []
        for rows in (outcomes, [(q, p) for p, q in outcomes]):
            if order == 1:
                both.append(sum(p * math.log(p / q) for p, q in rows))
            else:
                terms = [math.log(p) + (order - 1) * math.log(p / q) for p, q in rows]
                total = sum(math.exp(term - max(terms)) for term in terms)
                both.append((max(terms) + math.log(total)) / (order - 1))
        curve.append(max(both))
    return max(more, less), tuple(curve), outcomes


def luck(answers: list[Answer], rho: float, most: float, asked: int) -> float:
    """How much more often a fair guess is right at most than the lower of both figures says, where so many
    answers are asked, each chosen by those before, under Rényi divergences of αρ at all orders of the grid.
    """

    def value(p: float, q: float, spent: float, left: tuple[float, ...], more: int) -> float:
        found = max(p, q) - (p + q) * min(most, 1 / (1 + math.exp(-spent)))
        for epsilon, curve, outcomes in answers if more else []:
            after = tuple(one - own for one, own in zip(left, curve, strict=True))
            if min(after) >= 0:
                each = (value(p * a, q * b, spent + epsilon, after, more - 1) for a, b in outcomes)
                found = max(found, sum(each))
        return found

    return value(0.5, 0.5, 0.0, tuple(order * rho for order in ORDERS), asked)


@pytest.mark.parametrize("rho", [0.02, 0.5])
def test_rare_luck_does_not_beat_the_lower_of_both_figures(rho: float) -> None:
    """Who stops at once with a small figure, unless luck came, and goes on under the caps if it did."""
    size = math.sqrt(2 * rho)
    grid = (0.2, 0.5, 0.9)
    answers = [rare(told, size * a, size * b) for told in (0.1, 0.6, 1.0) for a in grid for b in grid]
    most = least_guess(Capped(rho=rho).contents("replace-one"))
    assert luck(answers, rho, most, 2) <= 1e-12
    # Planted: the figure of a smaller cap is beaten.
    assert luck(answers, rho, least_guess(Capped(rho=0.5 * rho).contents("replace-one")), 2) > 1e-3


def exposure(**changed: object) -> Exposure:
    tally = Tally(gaussian=0.05, curve=tuple(0.025 * order for order in (1.0,) * 31))
    nats = Bound(0.0, 0.01, method="test")
    made = Exposure("a test", 3.0, 3.0, nats, 1.0, "replace-one", queries=3, delta=1e-6, delta_contents=1e-6)
    return replace(made, composed=Composed(tally, None, at_once=False), **changed)  # type: ignore[arg-type]


SHARES = ("coin_flip", "one_in_k", "odds", "joining", "total_variation", "test_power", "family")


def test_each_share_says_what_it_holds_for_and_comes_back_from_its_record() -> None:
    for capped, words in (
        (None, "and not for whoever stops when it suits them."),
        (Capped(rho=0.5), "if the caps were fixed beforehand."),
    ):
        made = statement_of(exposure(capped=capped))
        for key in SHARES:
            assert made[key].holds == "spent", key
            assert made[key].sentence.endswith(words), key
            assert (made[key].stopping is None) == (capped is None)
        record = StatementRecord.model_validate_json(made.record().model_dump_json(exclude_unset=True))
        assert restated(record).lines == made.lines
    at_once = replace(exposure(), composed=replace(exposure().composed, at_once=True))  # type: ignore[type-var]
    for key in SHARES:
        line = statement_of(at_once)[key]
        assert line.holds == "beforehand"
        assert "suits" not in line.sentence
    alone = statement_of(exposure(queries=1))["coin_flip"]
    assert alone.holds is None
    assert "holds" not in alone.record().to_dict()
