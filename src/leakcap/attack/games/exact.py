"""Attacks whose success is computed: re-used noise, δ spent at once, membership in a histogram."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from leakcap.attack.correlated.record import output_law
from leakcap.attack.correlated.sums import binomial
from leakcap.attack.value import Finding, raised
from leakcap.definition.meaning import posterior_bound
from leakcap.errors import require
from leakcap.leakage import mutual_information
from leakcap.mechanism import OneTimePadPair

__all__ = ["Exposed", "all_at_once", "membership", "reused_noise", "row_by_row"]


def reused_noise(k: int = 2, *, fresh: bool = False) -> Finding:
    """Y₁ = X + U mod k and Y₂ = U, X uniform: each tells nothing, together they tell ln k.

    With `fresh` noise of its own in each answer they tell nothing together either.

    at_most is the sum over the answers, which would hold if each had noise of its own.
    Source: Cuff & Yu 2016, example 4.3.

    >>> found = reused_noise()
    >>> round(found.got, 12), found.at_most, found.ratio
    (0.69314718056, 0.0, inf)
    """
    pad, prior = OneTimePadPair(k), [1.0 / k] * k
    parts = mutual_information(pad.first(), prior) + mutual_information(pad.second(), prior)
    both = pad.first() & pad.second() if fresh else pad.channel()
    return Finding(
        attack="re-used noise",
        got=mutual_information(both, prior),
        at_most=parts,
        unit="nats",
        stopped_by="fresh noise in every answer, from the operating system",
    )


@dataclass(frozen=True, kw_only=True)
class Exposed(Finding):
    """got = people exposed in full, in expectation; `any_one` is the probability that somebody is."""

    people: int
    delta: float
    any_one: float


def all_at_once(delta: float, people: int) -> Exposed:
    """Publish the whole table with probability δ, and else nothing: this is (0, δ)-DP.

    nδ people are exposed in expectation: nobody with probability 1 − δ, everybody with probability δ.
    at_most is what leakcap's counts, sums and means spend of δ, times the people: nothing.
    Source: the broken-wifi article, 2022.

    >>> found = all_at_once(1e-3, 1000)
    >>> found.got, found.any_one
    (1.0, 0.001)
    """
    return _exposed("δ spent at once, all rows together", delta, people, delta)


def row_by_row(delta: float, people: int) -> Exposed:
    """Publish each row with probability δ, independently: this is (0, δ)-DP as well.

    nδ people are exposed in expectation, and somebody with probability 1 − (1 − δ)ⁿ.

    >>> found = row_by_row(1e-3, 1000)
    >>> found.got, round(found.any_one, 4)
    (1.0, 0.6323)
    """
    missed = people * math.log1p(-delta) if 0.0 <= delta < 1.0 else -math.inf
    return _exposed("δ spent at once, each row by itself", delta, people, -math.expm1(missed))


def _exposed(attack: str, delta: float, people: int, any_one: float) -> Exposed:
    require(0.0 <= delta <= 1.0, "delta", "all_at_once", "be a probability", delta)
    require(people >= 1, "people", "all_at_once", "be at least 1", people)
    return Exposed(
        attack=attack,
        got=delta * people,
        at_most=0.0,
        unit="people",
        stopped_by="noise without δ, and the cap on δ of the ledger",
        people=people,
        delta=delta,
        any_one=any_one,
    )


def membership(epsilon: float, *, others: int = 0, share: float = 0.5) -> Finding:
    """Is a person in a noisy histogram? The best test on the count of the person's bin, at even odds.

    `others` people are in the table for sure, each in this bin with probability `share`; their spread hides
    the person beside the noise. With `epsilon` = ∞ the histogram is exact. Success is ½ Σ_y max(P, P').

    Source: Homer et al. 2008 for the attack; Tu 2013 for the bound.

    >>> round(membership(math.log(3.0)).got, 12), membership(math.inf).got
    (0.75, 1.0)
    """
    require(epsilon > 0.0, "epsilon", "membership", "be positive, ∞ allowed", epsilon)
    require(others >= 0, "others", "membership", "not be negative", others)
    require(0.0 < share < 1.0, "share", "membership", "lie strictly between 0 and 1", share)
    law = binomial(others, share)
    given = np.stack([np.append(law, 0.0), np.append(0.0, law)])
    seen = given if math.isinf(epsilon) else output_law(given, epsilon)
    return Finding(
        attack="membership in a histogram",
        got=min(float(seen.max(axis=0).sum()) / 2.0, 1.0),
        at_most=raised(posterior_bound(epsilon, 0.5), 1.0),
        unit="probability",
        stopped_by="noise in every bin, empty ones too",
    )
