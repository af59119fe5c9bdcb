"""The lines of a leakage statement, each from one formula of the theory.

All are about the contents of one unit's data (is it this record or that one, or none at all), given an
attacker who may know everything else. Where totals were published exactly, they are about the noise alone.
"""

from __future__ import annotations

import math

from leakcap.definition import MIDP, ApproxDP, DeltaDP, PureDP, convert
from leakcap.statement.exposure import Exposure
from leakcap.statement.guessing import exception, group_success, joining, success
from leakcap.statement.reading import Reading
from leakcap.statement.wording import at_most, percent, times

__all__ = ["readings"]

BITS = math.log2(math.e)


def readings(exposure: Exposure, *, family: int, guesses: int, more: int) -> tuple[Reading, ...]:
    """Every line, in the order in which a board reads them.

    Beside exact totals nothing is said of whether somebody is in the table: tables with a person and without
    never agree in such a total, which tells.
    """
    within = exposure.relation == "add-remove-one"
    told = within and exposure.exact_totals
    lines = [
        _coin_flip(exposure),
        _one_in_k(exposure, guesses),
        _odds(exposure),
        *([] if told else [_joining(exposure)]),
        _epsilon(exposure),
        _own_information(exposure),
        _tight_information(exposure),
        *([] if exposure.delta_contents > 0.0 else [_published_information(exposure)]),
        _average_and_worst(exposure),
        _total_variation(exposure),
        _family(exposure, family),
    ]
    if within and not told:
        lines.insert(3, _presence(exposure))
    if exposure.units is not None:
        lines.append(_everybody(exposure, exposure.units))
    lines.append(_table(exposure))
    lines.append(_more(exposure, more))
    return tuple(lines)


def _information(nats: float) -> str:
    return f"{at_most(nats)} nats ({at_most(nats * BITS)} bits)"


def _exact(
    key: str,
    label: str,
    value: float,
    unit: str,
    sentence: str,
    formula: str,
    source: str,
    **detail: float | int,
) -> Reading:
    return Reading(key, label, value, value, unit, sentence, formula, source, dict(detail))


def _epsilon(e: Exposure) -> Reading:
    note = (
        ""
        if e.epsilon == e.epsilon_contents
        else f" Between two possible records it is {_information(e.epsilon_contents)}"
        + (f", with a slack of {at_most(e.delta_contents)}." if e.delta_contents > 0.0 else ".")
    )
    about = (
        "anything about one person"
        if e.epsilon == e.epsilon_contents and e.delta == e.delta_contents
        else "one person's being in the table"
    )
    slack = "" if e.delta == 0.0 else f"but for a slack of δ = {at_most(e.delta)}, "
    answer = "no noisy answer" if e.exact_totals else "no answer"
    weight = f"{slack}{answer} can weigh more than that for or against {about}"
    return _exact(
        "epsilon",
        "privacy loss ε",
        e.epsilon,
        "nats",
        f"The privacy loss is {_information(e.epsilon)}: {weight}. Losses of several answers add up.{note}",
        "P(E) ≤ e^ε P'(E) + δ for every event E",
        "Dwork, McSherry, Nissim & Smith 2006",
        delta=e.delta,
    )


def _presence(e: Exposure) -> Reading:
    value = success(e.epsilon, e.delta)
    return _exact(
        "presence",
        "whether a person is in the table",
        value,
        "probability",
        "A fifty-fifty guess about whether a given person is in the table at all becomes right with "
        f"probability {percent(value)} at most.",
        "(A+δ)/(1+A), A = e^ε under add/remove-one",
        "Tu 2013, guessing game, sharpened",
    )


def _coin_flip(e: Exposure) -> Reading:
    value = success(e.epsilon_contents, e.delta_contents)
    sure = (
        f"can be at most {percent(value)} sure after seeing this."
        if e.delta_contents == 0.0
        else f"is right with probability {percent(value)} at most after seeing this."
    )
    return _exact(
        "coin_flip",
        "a fifty-fifty guess",
        value,
        "probability",
        f"Somebody who knows everybody else's data and would guess a yes/no fact about one person by tossing "
        f"a coin (50 %) {sure}",
        "(A+δ)/(1+A), A = e^ε",
        "Tu 2013, guessing game, sharpened; Kairouz, Oh & Viswanath 2015",
    )


def _one_in_k(e: Exposure, k: int) -> Reading:
    value = success(e.epsilon_contents, e.delta_contents, k)
    return _exact(
        "one_in_k",
        f"a one-in-{k} guess",
        value,
        "probability",
        f"A guess among {k:,} equally likely possibilities about one person (1 in {k:,} by chance) becomes "
        f"right with probability {percent(value)} at most.",
        "(A+(k−1)δ)/(A+k−1), A = e^ε",
        "Alvim et al. 2011; Tu 2013, sharpened",
        k=k,
    )


def _odds(e: Exposure) -> Reading:
    slack = e.delta_contents > 0.0
    moved = e.epsilon_contents * (2 if slack else 1)
    factor = math.exp(moved) if moved < 700 else math.inf
    rare = exception(e.epsilon_contents, e.delta_contents)
    tail = f", except with probability {at_most(rare)} at most" if slack else ""
    return _exact(
        "odds",
        "how far odds can move",
        factor,
        "ratio",
        f"The odds between any two things that may be true of one person are multiplied or divided by at "
        f"most {times(factor)}{tail}."
        if math.isfinite(factor)
        else "The odds between any two things that may be true of one person may move by any factor.",
        "posterior odds / prior odds ≤ e^ε; with δ > 0 ≤ e^{2ε} but for δ(1+e^{−2ε})/(1−e^{−ε})",
        "Bayes' rule; Dwork et al. 2006; Kasiviswanathan & Smith 2014",
        exception=rare,
    )


def _joining(e: Exposure) -> Reading:
    value, rare = joining(e.epsilon, e.delta)
    without = "without it" if e.relation == "add-remove-one" else "with another in its place"
    tail = f", except with probability {at_most(rare)} at most" if e.delta > 0.0 and value < 1.0 else ""
    return _exact(
        "joining",
        "how far joining changes a belief",
        value,
        "probability",
        f"Joining changes any belief by at most {percent(value).removesuffix(' %')} percentage points{tail}: "
        "so far apart is, for every fact and whatever is believed beforehand, what these answers make of "
        f"it with this person's record and {without}.",
        "tanh(ε/2); with δ > 0 tanh ε + 2√η but for √η(1+e^ε) + δ, η = δ(1+e^{−2ε})/(1−e^{−ε})",
        "Ganta, Kasiviswanathan & Smith 2008; Tu 2013, theorem 3, sharpened; Kasiviswanathan & Smith 2014",
        exception=rare,
    )


def _own_information(e: Exposure) -> Reading:
    known = math.isfinite(e.nats.upper)
    text = (
        f"On average over its noise this very mechanism tells at most {_information(e.nats.upper)} about one "
        "person, to somebody who knows all the others and believes whatever they like."
        if known
        else "How much is told on average about a record that may be anything has no bound: what δ "
        "allows may tell everything."
    )
    return Reading(
        "information_own",
        "information, this mechanism",
        e.nats.lower,
        e.nats.upper,
        "nats",
        text,
        "sup over beliefs of I(X_i; Y | X^{-i}), computed for the noise used",
        "Cuff & Yu 2016, Definition 2; " + (e.nats.source or e.nats.method),
    )


def _tight_information(e: Exposure) -> Reading:
    if e.delta_contents > 0.0:
        return _yes_no_information(e)
    value = convert(PureDP(e.epsilon_contents), MIDP).nats
    return _exact(
        "information_tight",
        "information, any mechanism with this ε",
        value,
        "nats",
        f"No mechanism with this privacy loss, however built, tells more than {_information(value)} "
        "about one person on average.",
        "D − 1 − ln D, D = ε/(1−e^{−ε})",
        "bounded-range argument; Dong, Durfee & Rogers 2020",
    )


def _yes_no_information(e: Exposure) -> Reading:
    value = convert(ApproxDP(e.epsilon_contents, e.delta_contents), MIDP, values=2).nats
    return _exact(
        "information_tight",
        "information about a yes/no fact",
        value,
        "nats",
        f"About one yes/no fact no mechanism with this ε and δ tells more than {_information(value)} on "
        "average.",
        "δ ln 2 + (1−δ)(ln 2 − h(A/(1+A))), A = e^ε",
        "Kairouz, Oh & Viswanath 2015",
    )


def _published_information(e: Exposure) -> Reading:
    value = e.epsilon_contents * math.tanh(e.epsilon_contents / 2)
    return _exact(
        "information_published",
        "information, the published bound",
        value,
        "nats",
        f"The bound printed in the literature for the same thing is {_information(value)}.",
        "ε tanh(ε/2)",
        "Cuff & Yu 2016, Property 1 and Lemma 1",
    )


def _average_and_worst(e: Exposure) -> Reading:
    if e.delta_contents > 0.0:
        text = (
            f"On average little is learned, but with a probability of up to {at_most(e.delta_contents)} an "
            "answer may tell everything about one person: that is what δ allows."
        )
    else:
        text = (
            f"On average an attacker learns at most {_information(e.nats.upper)} about one person; with the "
            f"unluckiest noise at most {_information(e.epsilon_contents)}."
        )
    return Reading(
        "average_and_worst",
        "on average against in the worst case",
        e.nats.upper,
        math.inf if e.delta_contents > 0.0 else e.epsilon_contents,
        "nats",
        text,
        "Shannon capacity (α = 1) against max-divergence (α = ∞)",
        "Cuff & Yu 2016; Fernandes, McIver & Sadeghi 2022, Theorem 1",
    )


def _total_variation(e: Exposure) -> Reading:
    value = min(convert(ApproxDP(e.epsilon_contents, e.delta_contents), DeltaDP).delta, 1.0)
    return _exact(
        "total_variation",
        "total variation",
        value,
        "probability",
        f"Any conclusion about one person drawn from this is at most {percent(value).removesuffix(' %')} "
        "percentage points more likely to be drawn when it is true than when it is false.",
        "(A−1+2δ)/(A+1), A = e^ε; tanh(ε/2) at δ = 0",
        "Cuff & Yu 2016, Property 3; Kairouz, Oh & Viswanath 2015",
    )


def _family(e: Exposure, k: int) -> Reading:
    value = group_success(e.epsilon_contents, e.delta_contents, k)
    return _exact(
        "family",
        f"{k} people whose records move together",
        value,
        "probability",
        f"If the records of up to {k:,} people move together (a household, say), a fifty-fifty guess about "
        f"what they share becomes right with probability {percent(value)} at most.",
        "e^{kε}/(1+e^{kε}), with δ the slack of the group beside it",
        "Wu, Xia & He 2017, Theorem 1; group privacy",
        k=k,
        epsilon=k * e.epsilon_contents,
    )


def _everybody(e: Exposure, n: int) -> Reading:
    value = group_success(e.epsilon_contents, e.delta_contents, n)
    tail = " That is next to no protection." if value > 0.999 else ""
    return _exact(
        "everybody",
        f"all {n:,} records move together",
        value,
        "probability",
        f"If all {n:,} records moved together (one shared fact, such as a common exposure), the guess could "
        f"become right with probability {percent(value)} at most.{tail}",
        "e^{nε}/(1+e^{nε}), with δ the slack of the group beside it",
        "Cuff & Yu 2016, Example 4.1",
        n=n,
        epsilon=n * e.epsilon_contents,
    )


def _table(e: Exposure) -> Reading:
    known = math.isfinite(e.table_nats)
    text = (
        f"About the whole table taken together at most {_information(e.table_nats)} are told on average."
        if known
        else "How much is told about the whole table has no bound: the policy gives no public number of rows."
        if e.units is None
        else "How much is told about the whole table has no bound: for some of the answers none is known."
    )
    return Reading(
        "table",
        "information about the whole table",
        0.0,
        e.table_nats,
        "nats",
        text,
        "sup over beliefs of I(X^n; Y) ≤ Σ over answers of the capacity over their whole range",
        "Differential Privacy and Information Theory 2022; amplitude-constrained capacity",
    )


def _more(e: Exposure, more: int) -> Reading:
    later = e.repeated(more + 1)
    value = success(later.epsilon_contents, later.delta_contents)
    about, nats = _later_information(later)
    return _exact(
        "more",
        f"after {more} more like it",
        value,
        "probability",
        f"After {more:,} more releases like this one a fifty-fifty guess could be right with probability "
        f"{percent(value)} at most, and the average information {about} be at most {_information(nats)}.",
        "losses add up: (1 + m)·ε, (1 + m)·δ and (1 + m)·MI-DP",
        "McSherry 2009; Cuff & Yu 2016, Corollary 6",
        more=more,
        epsilon=later.epsilon_contents,
        nats=nats,
    )


def _later_information(later: Exposure) -> tuple[str, float]:
    if later.delta_contents > 0.0:
        found = ApproxDP(later.epsilon_contents, later.delta_contents)
        return "about a yes/no fact", convert(found, MIDP, values=2).nats
    return "about one person", min(later.nats.upper, convert(PureDP(later.epsilon_contents), MIDP).nats)
