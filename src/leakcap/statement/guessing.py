"""How often a guess is right under (ε, δ), for one person and for several who move together."""

from __future__ import annotations

import math
from fractions import Fraction

from leakcap.definition.meaning import semantic_privacy
from leakcap.numeric.enclosure import Digits, Interval, Number, enclose, outward
from leakcap.numeric.rounding import up

__all__ = ["exception", "group_delta", "group_success", "joining", "success"]


def success(epsilon: Number, delta: float, values: int = 2) -> float:
    """The most that one guess among `values` equally likely values can be right, rounded up.

    It is (A+(k−1)δ)/(A+k−1), A = e^ε.

    Every pair of values obeys P_i(E) ≤ A·P_j(E) + δ for the event E in which i is guessed. Summed over all
    j ≠ i and then over i, with disjoint events, that gives S(A+k−1) ≤ kA + k(k−1)δ for S = Σ P_i(E_i), and
    S/k is the probability of being right. At δ = 0 it is the bound on every posterior as well.
    Source: Tu 2013, guessing game, sharpened; Kairouz, Oh & Viswanath 2015 for two values.

    >>> round(success(math.log(3), 0.0), 12), round(success(math.log(3), 0.1), 12), success(0.0, 1.0)
    (0.75, 0.775, 1.0)
    """
    if epsilon == math.inf:
        return 1.0

    def formula(d: Digits) -> Interval:
        odds = (-d.of(epsilon)).exp()
        return (1 + (values - 1) * d.of(delta) * odds) / (1 + (values - 1) * odds)

    return min(enclose(formula)[1], 1.0)


def group_delta(epsilon: float, delta: float, people: int) -> float:
    """δ(e^{kε}−1)/(e^ε−1), the slack for k people whose data change together, at most 1, rounded up.

    Source: Dwork & Roth 2014, theorem 2.2 and its extension to δ.

    >>> round(group_delta(1.0, 1e-6, 2) / 1e-6, 9) == round(1 + math.e, 9), group_delta(1.0, 0.0, 10**6)
    (True, 0.0)
    """
    if delta == 0.0:
        return 0.0
    if epsilon == 0.0:
        return min(outward(people * Fraction(delta))[1], 1.0)
    if people * epsilon > 800.0:
        return 1.0

    def formula(d: Digits) -> Interval:
        grown = (people * d.of(epsilon)).exp() - 1
        return d.of(delta) * grown / (d.of(epsilon).exp() - 1)

    return min(enclose(formula)[1], 1.0)


def group_success(epsilon: float, delta: float, people: int) -> float:
    """How often a fifty-fifty guess is right about what so many people share whose data change together.

    Rounded up. Source: Dwork & Roth 2014, theorem 2.2.

    >>> round(group_success(math.log(3) / 2, 0.0, 2), 12), group_success(math.inf, 0.0, 2)
    (0.75, 1.0)
    """
    if epsilon == math.inf:
        return 1.0
    return success(people * Fraction(epsilon), group_delta(epsilon, delta, people))


def exception(epsilon: float, delta: float) -> float:
    """With what probability the odds move by more than e^{±2ε}: at most δ(1+e^{−2ε})/(1−e^{−ε}), rounded
    up.

    Upward: the hockey-stick divergence is E[(1−e^{ε−L})₊] ≤ δ, and beyond L = 2ε the bracket is at least
    1−e^{−ε}. Downward: the same for the other law, which is then e^{2ε} times more likely than this one.
    Source: Kasiviswanathan & Smith 2014, lemma 3.3, by Markov's inequality.

    >>> exception(1.0, 0.0), round(exception(1.0, 1e-6) * 1e6, 6)
    (0.0, 1.796074)
    """
    if delta == 0.0:
        return 0.0
    if delta >= epsilon:
        return 1.0  # 1−e^{−ε} ≤ ε

    def formula(d: Digits) -> Interval:
        odds = (-d.of(epsilon)).exp()
        return d.of(delta) * (1 + odds * odds) / (1 - odds)

    return min(enclose(formula)[1], 1.0)


def joining(epsilon: float, delta: float) -> tuple[float, float]:
    """How far one person's joining moves any belief, in total variation, and how often it may be more.

    At δ = 0 tanh(ε/2), always. Else let η be `exception`: with the person's record and without it, the chance
    that the two laws differ by more than e^{2ε} is at most η, also where the database is drawn from a belief.
    So is the mean of that chance given the answer, which by Markov is then above √η with probability √η at
    most, and above √η under the other law with probability e^ε√η + δ. Otherwise both beliefs give what is
    left out √η at most, and within the rest all factors lie within e^{±2ε}, which moves a belief by tanh ε.
    Source: Ganta, Kasiviswanathan & Smith 2008; Kasiviswanathan & Smith 2014.

    >>> round(joining(1.0, 0.0)[0], 9), joining(1.0, 0.0)[1]
    (0.462117157, 0.0)
    >>> [round(x, 4) for x in joining(0.1, 1e-8)]
    [0.1005, 0.0009]
    """
    if delta == 0.0:
        return semantic_privacy(epsilon), 0.0
    root = math.sqrt(exception(epsilon, delta))
    value = up(semantic_privacy(2.0 * epsilon) + 2.0 * root, 8)
    rare = up(root * (1.0 + math.exp(min(epsilon, 700.0))) + delta, 8)
    return (value, rare) if value < 1.0 and rare < 1.0 else (1.0, 0.0)
