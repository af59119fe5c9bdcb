"""The lines of a statement that are shares: how often guesses and tests are right, how far beliefs move."""

from __future__ import annotations

from leakcap.statement.exposure import Exposure
from leakcap.statement.guessing import joining
from leakcap.statement.holding import held, rarely
from leakcap.statement.least import least_advantage, least_guess, least_joining, least_power, least_shared
from leakcap.statement.reading import Reading, exact_line
from leakcap.statement.wording import percent

__all__ = [
    "advantage",
    "coin_flip",
    "everybody",
    "family",
    "joining_line",
    "one_in_k",
    "power_of_tests",
    "power_said",
    "presence",
]

_FALSE_ALARMS = 0.01


def _points(value: float) -> str:
    return f"{percent(value).removesuffix(' %')} percentage points"


def coin_flip(e: Exposure) -> Reading:
    """A fifty-fifty guess."""
    value = least_guess(e.pairs_contents)
    sure = (
        f"can be at most {percent(value)} sure after seeing this."
        if value == least_guess(e.pairs_contents[:1]) and e.delta_contents == 0.0
        else f"is right with probability {percent(value)} at most after seeing this."
    )
    line = exact_line(
        "coin_flip",
        "a fifty-fifty guess",
        value,
        "probability",
        f"Somebody who knows everybody else's data and would guess a yes/no fact about one person by tossing "
        f"a coin (50 %) {sure}",
        e.least_of("(A+δ)/(1+A), A = e^ε"),
        "Tu 2013, guessing game, sharpened; Kairouz, Oh & Viswanath 2015",
    )
    return held(line, e, lambda pairs: (least_guess(pairs), 0.0), percent, run=True)


def one_in_k(e: Exposure, k: int) -> Reading:
    """A guess among k."""
    value = least_guess(e.pairs_contents, k)
    line = exact_line(
        "one_in_k",
        f"a one-in-{k} guess",
        value,
        "probability",
        f"A guess among {k:,} equally likely possibilities about one person (1 in {k:,} by chance) becomes "
        f"right with probability {percent(value)} at most.",
        e.least_of("(A+(k−1)δ)/(A+k−1), A = e^ε"),
        "Alvim et al. 2011; Tu 2013, sharpened",
        k=k,
    )
    return held(line, e, lambda pairs: (least_guess(pairs, k), 0.0), percent, run=True)


def presence(e: Exposure) -> Reading:
    """Whether somebody is in the table."""
    value = least_guess(e.pairs)
    line = exact_line(
        "presence",
        "whether a person is in the table",
        value,
        "probability",
        "A fifty-fifty guess about whether a given person is in the table at all becomes right with "
        f"probability {percent(value)} at most.",
        e.least_of("(A+δ)/(1+A), A = e^ε under add/remove-one"),
        "Tu 2013, guessing game, sharpened",
    )
    return held(line, e, lambda pairs: (least_guess(pairs), 0.0), percent, run=True, contents=False)


def joining_line(e: Exposure) -> Reading:
    """How far joining moves a belief."""
    value, rare = joining(e.epsilon, e.delta) if e.composed is None else least_joining(e.pairs)
    without = "without it" if e.relation == "add-remove-one" else "with another in its place"
    # Of all that a belief can change there is no exception, also where it is rounded up to that.
    tail = rarely(rare) if percent(value) != percent(1.0) else ""
    line = exact_line(
        "joining",
        "how far joining changes a belief",
        value,
        "probability",
        f"Joining changes any belief by at most {percent(value).removesuffix(' %')} percentage points{tail}: "
        "so far apart is, for every fact and whatever is believed beforehand, what these answers make of "
        f"it with this person's record and {without}.",
        "tanh(ε/2); with δ > 0 tanh ε + 2√η but for √η(1+e^ε) + δ, η = δ(1+e^{−2ε})/(1−e^{−ε})"
        if e.composed is None
        else "tanh(ε/2); or tanh(x/2) + 2t but for (η/t)(1+e^ε) + δ, η how often odds pass e^x",
        "Ganta, Kasiviswanathan & Smith 2008; Tu 2013, theorem 3, sharpened; Kasiviswanathan & Smith 2014",
        exception=rare,
    )
    return held(line, e, least_joining, _points, run=True, contents=False)


def power_said(value: float) -> str:
    """The sentence about what a test finds.

    >>> power_said(0.0272)[-41:]
    'is true, with probability 2.72 % at most.'
    """
    return (
        "A test of a yes/no fact about one person that raises a false alarm in 1 % of cases finds the fact, "
        f"where it is true, with probability {percent(value)} at most."
    )


def advantage(e: Exposure) -> Reading:
    """The largest advantage."""
    value = least_advantage(e.pairs_contents)
    line = exact_line(
        "total_variation",
        "total variation",
        value,
        "probability",
        f"Any conclusion about one person drawn from this is at most {percent(value).removesuffix(' %')} "
        "percentage points more likely to be drawn when it is true than when it is false.",
        e.least_of("(A−1+2δ)/(A+1), A = e^ε; tanh(ε/2) at δ = 0"),
        "Cuff & Yu 2016, Property 3; Kairouz, Oh & Viswanath 2015",
    )
    return held(line, e, lambda pairs: (least_advantage(pairs), 0.0), _points, run=True)


def power_of_tests(e: Exposure) -> Reading:
    """What a test of anything about one person finds at few false alarms."""
    value = least_power(e.pairs_contents, _FALSE_ALARMS)
    line = exact_line(
        "test_power",
        "what a test finds",
        value,
        "probability",
        power_said(value),
        e.least_of("min(Aa + δ, 1 − (1−a−δ)/A), A = e^ε, a = 1 %"),
        "Wasserman & Zhou 2010; Kairouz, Oh & Viswanath 2015; Dong, Roth & Su 2022",
        false_alarms=_FALSE_ALARMS,
    )
    return held(line, e, lambda pairs: (least_power(pairs, _FALSE_ALARMS), 0.0), percent, run=False)


def family(e: Exposure, k: int) -> Reading:
    """k people who move together."""
    value = least_shared(e.pairs_contents, k)
    line = exact_line(
        "family",
        f"{k} people whose records move together",
        value,
        "probability",
        f"If the records of up to {k:,} people move together (a household, say), a fifty-fifty guess about "
        f"what they share becomes right with probability {percent(value)} at most.",
        e.least_of("e^{kε}/(1+e^{kε}), with δ the slack of the group beside it"),
        "Wu, Xia & He 2017, Theorem 1; group privacy",
        k=k,
        epsilon=k * e.epsilon_contents,
    )
    return held(line, e, lambda pairs: (least_shared(pairs, k), 0.0), percent, run=True)


def everybody(e: Exposure, n: int) -> Reading:
    """All who move together."""
    value = least_shared(e.pairs_contents, n)
    tail = " That is next to no protection." if value > 0.999 else ""
    line = exact_line(
        "everybody",
        f"all {n:,} records move together",
        value,
        "probability",
        f"If all {n:,} records moved together (one shared fact, such as a common exposure), the guess could "
        f"become right with probability {percent(value)} at most.{tail}",
        e.least_of("e^{nε}/(1+e^{nε}), with δ the slack of the group beside it"),
        "Cuff & Yu 2016, Example 4.1",
        n=n,
        epsilon=n * e.epsilon_contents,
    )
    return held(line, e, lambda pairs: (least_shared(pairs, n), 0.0), percent, run=True)
