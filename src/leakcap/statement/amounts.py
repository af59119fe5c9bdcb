"""The lines of a statement that are amounts: privacy loss, odds, information, and what more would tell."""

from __future__ import annotations

import math

from leakcap.definition import MIDP, ApproxDP, PureDP, convert
from leakcap.statement.exposure import Exposure
from leakcap.statement.guessing import exception
from leakcap.statement.holding import held, rarely
from leakcap.statement.least import least_beyond, least_guess, least_odds, yes_no_nats
from leakcap.statement.proving import Proven
from leakcap.statement.reading import Reading, exact_line, nats_and_bits
from leakcap.statement.wording import at_most, percent, times

__all__ = [
    "average_and_worst",
    "epsilon",
    "more",
    "odds",
    "own_information",
    "published_information",
    "table",
    "tight_information",
]

_SELDOM = 1e-6
"""How often odds may pass what is said of them, where no δ says."""


def epsilon(e: Exposure) -> Reading:
    """The privacy loss, and what the other lines hold for."""
    note = (
        ""
        if e.epsilon == e.epsilon_contents
        else f" Between two possible records it is {nats_and_bits(e.epsilon_contents)}"
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
    if e.composed is not None and e.delta > 0.0:
        if note:
            moved = least_odds(e.pairs_contents, e.delta)[0]
            note = f" Between two possible records it is {nats_and_bits(moved)}, but for as rare answers."
        rare = at_most(least_beyond(e.pairs, e.epsilon))
        weight = (
            f"at δ = {at_most(e.delta)}: {answer.removeprefix('no ')}s that weigh more than that for or "
            f"against {about} have a probability of {rare} at most{_to_this(e)}"
        )
    return exact_line(
        "epsilon",
        "privacy loss ε",
        e.epsilon,
        "nats",
        f"The privacy loss is {nats_and_bits(e.epsilon)}{'' if weight.startswith('at δ') else ':'} {weight}. "
        f"Losses of several answers add up.{note}{_how(e)}",
        "P(E) ≤ e^ε P'(E) + δ for every event E",
        "Dwork, McSherry, Nissim & Smith 2006",
        delta=e.delta,
    )


def _how(e: Exposure) -> str:
    """What the other lines hold for, where they are those of composed curves."""
    if e.composed is None or e.queries < 2:
        return ""
    if e.composed.at_once:
        return (
            " The shares below are of all these answers together, composed exactly: all were fixed before "
            "any was seen."
        )
    return (
        " The answers were asked one after another: lines that hold only for whoever keeps to what was spent "
        "say so."
    )


def _to_this(e: Exposure) -> str:
    """For whom a part of a line holds that comes from the sums of answers asked one after another."""
    adaptive = e.composed is not None and e.queries > 1 and not e.composed.at_once
    return ", for whoever keeps to what was spent" if adaptive else ""


def odds(e: Exposure) -> Reading:
    """How far odds move."""
    moved, rare = _weight(e)
    factor = math.exp(moved) if moved < 700 else math.inf
    tail = rarely(rare)
    rule = "posterior odds / prior odds ≤ e^ε; with δ > 0 ≤ e^{2ε} but for δ(1+e^{−2ε})/(1−e^{−ε})"
    if e.composed is not None:
        rule = "posterior odds / prior odds ≤ e^x but for δ(ε)(1+e^{−x})/(1−e^{ε−x}), least over ε < x"
    line = exact_line(
        "odds",
        "how far odds can move",
        factor,
        "ratio",
        f"The odds between any two things that may be true of one person are multiplied or divided by at "
        f"most {times(factor)}{tail}."
        if math.isfinite(factor)
        else "The odds between any two things that may be true of one person may move by any factor.",
        rule,
        "Bayes' rule; Dwork et al. 2006; Kasiviswanathan & Smith 2014",
        exception=rare,
    )
    return held(line, e, _factor, lambda most: f"a factor of {times(most)}", run=True)


def _factor(pairs: Proven) -> tuple[float, float]:
    moved, rare = least_odds(pairs, _SELDOM)
    return (math.exp(moved) if moved < 700 else math.inf), rare


def own_information(e: Exposure) -> Reading:
    """What this mechanism tells."""
    known = math.isfinite(e.nats.upper)
    text = (
        f"On average over its noise this very mechanism tells at most {nats_and_bits(e.nats.upper)} about "
        "one person, to somebody who knows all the others and believes whatever they like."
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


def tight_information(e: Exposure) -> Reading:
    """What any mechanism of this kind tells."""
    if e.delta_contents > 0.0:
        return _yes_no_information(e) if e.composed is None else _yes_no_told(e)
    value = convert(PureDP(e.epsilon_contents), MIDP).nats
    return exact_line(
        "information_tight",
        "information, any mechanism with this ε",
        value,
        "nats",
        f"No mechanism with this privacy loss, however built, tells more than {nats_and_bits(value)} "
        "about one person on average.",
        "D − 1 − ln D, D = ε/(1−e^{−ε})",
        "bounded-range argument; Dong, Durfee & Rogers 2020",
    )


def _yes_no_information(e: Exposure) -> Reading:
    value = convert(ApproxDP(e.epsilon_contents, e.delta_contents), MIDP, values=2).nats
    return exact_line(
        "information_tight",
        "information about a yes/no fact",
        value,
        "nats",
        f"About one yes/no fact no mechanism with this ε and δ tells more than {nats_and_bits(value)} on "
        "average.",
        "δ ln 2 + (1−δ)(ln 2 − h(A/(1+A))), A = e^ε",
        "Kairouz, Oh & Viswanath 2015",
    )


def _yes_no_told(e: Exposure) -> Reading:
    value = min(yes_no_nats(e.pairs_contents), e.nats.upper)
    line = exact_line(
        "information_tight",
        "information about a yes/no fact",
        value,
        "nats",
        f"About one yes/no fact no mechanism with such a curve tells more than {nats_and_bits(value)} on "
        "average.",
        "∫ δ(ε)/(1+e^ε) dε over ε > 0, or the information about one person if that is less",
        "Polyanskiy, Poor & Verdú 2010; Sason & Verdú 2016",
    )
    if value == e.nats.upper:
        return line  # what is told on average adds up, whenever somebody stops
    return held(line, e, lambda pairs: (yes_no_nats(pairs), 0.0), nats_and_bits, run=False)


def published_information(e: Exposure) -> Reading:
    """What the literature has for it."""
    value = e.epsilon_contents * math.tanh(e.epsilon_contents / 2)
    return exact_line(
        "information_published",
        "information, the published bound",
        value,
        "nats",
        f"The bound printed in the literature for the same thing is {nats_and_bits(value)}.",
        "ε tanh(ε/2)",
        "Cuff & Yu 2016, Property 1 and Lemma 1",
    )


def average_and_worst(e: Exposure) -> Reading:
    """The mean beside the worst."""
    if e.composed is not None:
        return _average_and_seldom(e)
    if e.delta_contents > 0.0:
        text = (
            f"On average little is learned, but with a probability of up to {at_most(e.delta_contents)} an "
            "answer may tell everything about one person: that is what δ allows."
        )
    else:
        text = (
            f"On average an attacker learns at most {nats_and_bits(e.nats.upper)} about one person; with the "
            f"unluckiest noise at most {nats_and_bits(e.epsilon_contents)}."
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


def _average_and_seldom(e: Exposure) -> Reading:
    """What an average answer tells and what one tells with bad luck; and all that a δ may tell."""
    assert e.composed is not None
    worst, rare = _weight(e)
    average = e.nats.upper if e.delta_contents == 0.0 else min(yes_no_nats(e.pairs_contents), e.nats.upper)
    about = "about one person" if average == e.nats.upper else "about one yes/no fact"
    luck = f", but for a probability of {at_most(rare)}," if rare > 0.0 else ""
    most = f"at most {nats_and_bits(worst)}" if math.isfinite(worst) else "any amount"
    all_told = e.composed.neighbours.all_told
    tail = (
        f" With a probability of {at_most(all_told)} an answer may tell everything: so much was left to it."
        if all_told > 0.0
        else ""
    )
    return Reading(
        "average_and_worst",
        "on average against in the worst case",
        average,
        worst if rare == 0.0 else math.inf,
        "nats",
        f"On average an attacker learns at most {nats_and_bits(average)} {about}; with the unluckiest noise"
        f"{luck} {most}{'' if e.delta_contents == 0.0 == rare else _to_this(e)}.{tail}",
        "Shannon capacity (α = 1) against max-divergence (α = ∞)",
        "Cuff & Yu 2016; Fernandes, McIver & Sadeghi 2022, Theorem 1",
    )


def table(e: Exposure) -> Reading:
    """The whole table."""
    known = math.isfinite(e.table_nats)
    text = (
        f"About the whole table taken together at most {nats_and_bits(e.table_nats)} are told on average."
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


def more(e: Exposure, more: int) -> Reading:
    """More of the same."""
    later = e.repeated(more + 1)
    value = least_guess(later.pairs_contents)
    about, nats = _later_information(later)
    return exact_line(
        "more",
        f"after {more} more like it",
        value,
        "probability",
        f"After {more:,} more releases like this one a fifty-fifty guess could be right with probability "
        f"{percent(value)} at most, and the average information {about} be at most {nats_and_bits(nats)}.",
        e.least_of("losses add up: (1 + m)·ε, (1 + m)·δ and (1 + m)·MI-DP"),
        "McSherry 2009; Cuff & Yu 2016, Corollary 6",
        more=more,
        epsilon=later.epsilon_contents,
        nats=nats,
    )


def _later_information(later: Exposure) -> tuple[str, float]:
    if later.delta_contents > 0.0 and later.composed is not None:
        return "about a yes/no fact", min(yes_no_nats(later.pairs_contents), later.nats.upper)
    if later.delta_contents > 0.0:
        found = ApproxDP(later.epsilon_contents, later.delta_contents)
        return "about a yes/no fact", convert(found, MIDP, values=2).nats
    return "about one person", min(later.nats.upper, convert(PureDP(later.epsilon_contents), MIDP).nats)


def _weight(e: Exposure) -> tuple[float, float]:
    """How much answers weigh for or against anything about one person at most, and how often it may be
    more."""
    if e.composed is not None:
        return least_odds(e.pairs_contents, e.delta or _SELDOM)
    moved = e.epsilon_contents * (2 if e.delta_contents > 0.0 else 1)
    return moved, exception(e.epsilon_contents, e.delta_contents)
