"""What a data-protection impact assessment asks: singling out, linkability and inference, each as a game.

A game says what the attacker knows, what is drawn, and when the attacker wins. It has two numbers: how often
one wins without anything published, and how often at most with everything published. The three risks are
those of the Article 29 Working Party's Opinion 05/2014.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from leakcap.definition.meaning import fano_guess
from leakcap.errors import require
from leakcap.numeric.enclosure import Digits, Interval, enclose
from leakcap.numeric.rounding import float_up
from leakcap.statement.guessing import exception
from leakcap.statement.record import Delta, Epsilon, Part

__all__ = [
    "GameRecord",
    "ProvenRecord",
    "believed",
    "games_of",
    "games_of_one",
    "informed",
    "isolation",
    "linked",
    "right",
    "told_apart",
]

_FEW = Fraction(1, 1000)
_RARE = Fraction(1, 100)
_CHOICES = 10
_SELDOM = 1e-4
_GUESS = (
    "(A+δ)/(1+A), A = e^ε, least over the proven (ε, δ) between two contents, or the largest s with "
    "ln 2 − h(s) ≤ nats about one person if that is less"
)


class GameRecord(Part):
    """A game about one person: how often an attacker wins it without and with what was published."""

    key: str
    risk: Literal["singling out", "linkability", "inference"]
    title: str
    game: str
    blind: Annotated[float, Field(ge=0.0, le=1.0, description="won so often at most with nothing published")]
    success: Annotated[float, Field(ge=0.0, le=1.0, description="won so often at most, rounded up")]
    exception: Annotated[
        float, Field(ge=0.0, le=1.0, description="but with this probability, where δ allows it")
    ] = 0.0
    formula: str
    source: str


class ProvenRecord(Part):
    """A bound on everything that was published: an ε and a δ between neighbours, and between two contents."""

    epsilon: Epsilon
    delta: Delta
    epsilon_contents: Epsilon
    delta_contents: Delta


def games_of(
    proven: Sequence[ProvenRecord],
    relation: str,
    units: int | None = None,
    nats: float = math.inf,
    *,
    exact_totals: bool = False,
) -> tuple[GameRecord, ...]:
    """The games of all three risks, in the order of the Opinion.

    Each of `proven` bounds the same publications, and every game takes the one that says most. The first are
    the losses added up, which parts of what is published add up to. `units` are the people at most, and
    `nats` what the noise that was used tells about one person, everybody else known: after many answers that
    says more about a guess than any ε. Where totals are exact the games are about the noise alone, and
    whether a person is in the table is none of them: such a total tells.

    >>> one = ProvenRecord(epsilon=1.0, delta=0.0, epsilon_contents=1.0, delta_contents=0.0)
    >>> [(game.risk, round(game.success, 4)) for game in games_of([one], "replace-one")][:3]
    [('singling out', 0.7311), ('singling out', 0.0027), ('linkability', 0.53)]
    """
    require(len(proven) > 0, "proven", "games_of", "hold at least one bound", len(proven))
    return (
        *([] if exact_totals and relation == "add-remove-one" else [_membership(proven, relation)]),
        _isolation(proven, units),
        _two_parts(proven),
        _register(proven, nats),
        _fact(proven, nats),
        _value(proven, nats),
        _rare(proven),
    )


def games_of_one(
    proven: Sequence[ProvenRecord], relation: str, units: int | None = None, nats: float = math.inf
) -> tuple[GameRecord, ...]:
    """The games about one publication that is seen as a whole: all but the linking of two of them.

    >>> one = ProvenRecord(epsilon=1.0, delta=0.0, epsilon_contents=1.0, delta_contents=0.0)
    >>> len(games_of([one], "replace-one")) - len(games_of_one([one], "replace-one"))
    1
    """
    return tuple(game for game in games_of(proven, relation, units, nats) if game.key != "two_parts")


def right(epsilon: float, delta: float, values: int = 2) -> float:
    """How often one of `values` equally likely values is guessed right at most: (A+(k−1)δ)/(A+k−1), A = e^ε.

    Rounded up. Attained by randomised response over the values.
    Source: Kairouz, Oh & Viswanath 2015 for two values; `leakcap.statement.guessing` for more.

    >>> right(0.0, 0.0), right(0.0, 0.0, 4)
    (0.5, 0.25)
    """

    def formula(d: Digits) -> Interval:
        odds, others = (-d.of(epsilon)).exp(), values - 1
        return (1 + d.of(delta) * others * odds) / (1 + odds * others)

    return min(enclose(formula)[1], 1.0)


def informed(nats: float, values: int = 2) -> float:
    """How often one of `values` equally likely values is guessed right at most, told so many nats about it.

    The largest s with ln k − h(s) − (1−s)·ln(k−1) ≤ nats, rounded up. Attained by randomised response over
    the values. Source: Fano's inequality; Cuff & Yu 2016 for the nats about one person, others known.

    >>> informed(0.0), round(informed(0.02), 4), informed(math.log(4.0), 4)
    (0.5, 0.5997, 1.0)
    """
    guess = max(fano_guess(nats, values), float_up(Fraction(1, values)))

    def told(d: Digits) -> Interval:
        right, wrong = d.of(guess), 1 - d.of(guess)
        return (right * values).log() * right + (wrong * values / (values - 1)).log() * wrong

    # What was found in doubles is an upper end only if a guess so good does take as many nats.
    while guess < 1.0 and enclose(told)[0] < nats:
        guess = math.nextafter(guess, 2.0)
    return guess


def told_apart(epsilon: float, delta: float) -> float:
    """The largest advantage in telling two laws apart, their total variation: (A−1+2δ)/(A+1), rounded up.

    >>> told_apart(0.0, 0.25)
    0.25
    """

    def formula(d: Digits) -> Interval:
        odds = (-d.of(epsilon)).exp()
        return (1 - odds + d.of(delta) * 2 * odds) / (1 + odds)

    return min(enclose(formula)[1], 1.0)


def linked(epsilon: float, delta: float) -> float:
    """The largest advantage in saying whether two parts of what was published are about the same data.

    With laws P₀, P₁ of the first part and Q₀, Q₁ of the second, what is seen has the law (P₀Q₀+P₁Q₁)/2 where
    the parts are about the same data, else (P₀Q₁+P₁Q₀)/2. They differ by (P₀−P₁)(Q₀−Q₁)/2, so that the
    advantage is the product of both parts' total variations. Where the parts' ε add up to ε it is largest
    when they are equal, since tanh(x/2) is log-concave: tanh²(ε/4). A δ adds itself at most, because
    (s+δ')(t+δ'') ≤ st+δ'+δ'' as long as no factor is above 1. It holds as well where the second part is
    asked after the first was seen, as long as its noise is drawn anew: an answer that stands in both parts
    is linked to itself. Attained by randomised response. Rounded up.

    >>> linked(0.0, 0.0)
    0.0
    """

    def formula(d: Digits) -> Interval:
        odds = (-d.of(epsilon) / 2).exp()
        half = (1 - odds) / (1 + odds)
        return half * half + d.of(delta)

    return min(enclose(formula)[1], 1.0)


def isolation(epsilon: float, delta: float, chance: Fraction, people: int | None) -> float:
    """How often a condition that is met by one of n people with probability `chance` isolates somebody.

    At most e^ε·chance + nδ. Somebody is isolated only if that person meets the condition and nobody else
    does. Replace that person by a fresh one, at the price of e^ε and δ: the condition then does not depend on
    the person it is tested on, who meets it as seldom as by chance: with probability w at most, so that
    chance = 1−(1−w)ⁿ. Let S be the probability that somebody is isolated. Nobody but a given person meets the
    condition if that person is isolated, or if nobody meets it at all, which has probability 1−S at most.
    Over all n people that adds up to S+n(1−S) at most, so that

        S ≤ e^ε·w·(n(1−S)+S) + nδ, hence S ≤ (e^ε·nw+nδ)/(1+e^ε·w(n−1)) ≤ e^ε·chance + nδ.

    Source: Cohen & Nissim 2020, that differential privacy prevents predicate singling out.

    >>> isolation(0.0, 0.0, Fraction(1, 4), None), isolation(0.0, 0.5, Fraction(1, 4), None)
    (0.25, 1.0)
    """
    if delta > 0.0 and people is None:
        return 1.0
    slack = Fraction(delta) * (people or 0)
    if epsilon > 700.0 or slack >= 1:
        return 1.0
    return min(enclose(lambda d: d.of(epsilon).exp() * chance + d.of(slack))[1], 1.0)


def _half(advantage: float) -> float:
    return float_up((1 + Fraction(advantage)) / 2)


def _contents(proven: Sequence[ProvenRecord], nats: float, values: int = 2) -> float:
    worst = min(right(one.epsilon_contents, one.delta_contents, values) for one in proven)
    return min(worst, informed(nats, values))


def _membership(proven: Sequence[ProvenRecord], relation: str) -> GameRecord:
    here = relation == "add-remove-one"
    drawn = (
        "A coin decides whether one person's data is in the table or left out."
        if here
        else "A coin decides whether one person's data stands in the table or, in its place, another's."
    )
    known = "that person's data" if here else "both"
    return GameRecord(
        key="membership",
        risk="singling out",
        title="telling whether a person's data was used",
        game=f"{drawn} The attacker knows {known}, everybody else's data and all that is published, and says "
        "which it was.",
        blind=0.5,
        success=min(right(one.epsilon, one.delta) for one in proven),
        formula="(A+δ)/(1+A), A = e^ε, least over the proven (ε, δ)",
        source="Kairouz, Oh & Viswanath 2015, theorem 2.1",
    )


def _isolation(proven: Sequence[ProvenRecord], units: int | None) -> GameRecord:
    found = min(isolation(one.epsilon_contents, one.delta_contents, _FEW, units) for one in proven)
    return GameRecord(
        key="isolation",
        risk="singling out",
        title="describing exactly one person",
        game="People are drawn independently from a population that the attacker knows. The attacker sees "
        "all that is published and writes down a condition so rare that, written beforehand, it would be "
        "met by anybody in the table once in 1,000 tables at most. The attacker wins if exactly one "
        "person in the table meets it.",
        blind=float_up(_FEW),
        success=found,
        formula="e^ε·p + nδ, p = 1/1,000, least over the proven (ε, δ) between two contents",
        source="Cohen & Nissim 2020; proof in `leakcap.statement.risks`",
    )


def _two_parts(proven: Sequence[ProvenRecord]) -> GameRecord:
    whole = min(told_apart(one.epsilon_contents, one.delta_contents) for one in proven)
    parts = linked(proven[0].epsilon_contents, proven[0].delta_contents)
    return GameRecord(
        key="two_parts",
        risk="linkability",
        title="linking two publications",
        game="Two contents of one person's data are possible. The answers in the ledger are parted in two; "
        "no answer, nor what was computed from it, stands in both. A coin decides whether both parts are "
        "made from the same content or from different ones. The attacker knows both contents and everybody "
        "else's data, sees both parts, and says which it was.",
        blind=0.5,
        success=_half(min(whole, parts)),
        formula="(1+t)/2, t the product of the parts' total variations, at most tanh²(ε/4)+δ",
        source="the product formula in `leakcap.statement.risks`",
    )


def _register(proven: Sequence[ProvenRecord], nats: float) -> GameRecord:
    return GameRecord(
        key="register",
        risk="linkability",
        title="linking with a register",
        game="A register holds the data of two people, of whom one is in the table; a coin decides who. The "
        "attacker has the register, knows everybody else's data, sees all that is published, and says who "
        "it is.",
        blind=0.5,
        success=_contents(proven, nats),
        formula=_GUESS,
        source="Kairouz, Oh & Viswanath 2015, theorem 2.1; Fano's inequality",
    )


def _fact(proven: Sequence[ProvenRecord], nats: float) -> GameRecord:
    return GameRecord(
        key="fact",
        risk="inference",
        title="inferring a yes/no fact",
        game="A fact about one person is true or false with equal chance. The attacker knows everybody "
        "else's data, sees all that is published, and says which it is.",
        blind=0.5,
        success=_contents(proven, nats),
        formula=_GUESS,
        source="Tu 2013, guessing game, sharpened; Kairouz, Oh & Viswanath 2015; Fano's inequality",
    )


def _value(proven: Sequence[ProvenRecord], nats: float) -> GameRecord:
    return GameRecord(
        key="value",
        risk="inference",
        title=f"inferring one of {_CHOICES} values",
        game=f"A value of one person is one of {_CHOICES}, all equally likely. The attacker knows everybody "
        "else's data, sees all that is published, and names one.",
        blind=float_up(Fraction(1, _CHOICES)),
        success=_contents(proven, nats, _CHOICES),
        formula="(A+(k−1)δ)/(A+k−1), A = e^ε, k = 10, least over the proven (ε, δ) between two contents, or "
        "the largest s with ln k − h(s) − (1−s)·ln(k−1) ≤ nats about one person if that is less",
        source="Alvim et al. 2011; Tu 2013, sharpened; Fano's inequality",
    )


def _rare(proven: Sequence[ProvenRecord]) -> GameRecord:
    """What is believed after one look; with a δ odds may move by e^{2ε}, and now and then by more."""
    found = [
        (
            believed(one.epsilon_contents * (2 if one.delta_contents > 0.0 else 1), _RARE),
            exception(one.epsilon_contents, one.delta_contents),
        )
        for one in proven
    ]
    certain = [one for one in found if one[1] == 0.0]
    seldom = [one for one in found if one[1] <= _SELDOM]
    # Where no bound holds always, or all but always, the one that fails least.
    best = min(certain or seldom) if certain or seldom else min(found, key=lambda one: (one[1], one[0]))
    success, rest = best
    return GameRecord(
        key="rare_fact",
        risk="inference",
        title="coming to believe a rare fact",
        game="A fact is true of one person in 100. The attacker knows everybody else's data, sees all that "
        "is published, and says how probable it now is that the fact is true of one given person.",
        blind=float_up(_RARE),
        success=success,
        exception=rest,
        formula="pA/(pA+1−p), p = 1/100, A = e^ε; with a δ A = e^{2ε}, but for δ(1+e^{−2ε})/(1−e^{−ε}), "
        "least over the proven (ε, δ) without that exception, else with one of 1/10,000 at most",
        source="Bayes' rule; Dwork et al. 2006; Kasiviswanathan & Smith 2014",
    )


def believed(epsilon: float, prior: Fraction) -> float:
    """How probable a fact of that prior can become when odds move by e^ε: p/(p+(1−p)e^−ε), rounded up.

    >>> believed(0.0, Fraction(1, 4))
    0.25
    """
    return min(enclose(lambda d: d.of(prior) / (d.of(prior) + (-d.of(epsilon)).exp() * (1 - prior)))[1], 1.0)
