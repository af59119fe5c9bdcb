"""What follows from ε and δ where a spend does not say it: sound for every neighbouring relation, so not
tight.

The ledger does not know whether ε holds between any two contents of a person's data (replace-one) or only
between a person's data and its absence (add/remove-one), where two contents are two steps apart. What is
implied here holds for both; a price that knows the mechanism states its own, smaller numbers.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

from leakcap.definition import hyperbolic
from leakcap.numeric import float_up, up

__all__ = ["implied_person", "renyi_of_pure", "rho_of_pure", "tight_mutual_information"]


def implied_person(epsilon: float, delta: float) -> float:
    """ε·tanh(ε/2) nats about one person; ∞ with δ > 0, where nothing follows for any alphabet.

    The capacity is at most the largest divergence from any one output distribution, here the absent person's
    (or, under replace-one, anybody's). Source: Cuff & Yu 2016, proposition 1 and lemma 1.

    >>> implied_person(0.1, 0.0) < 0.005, implied_person(0.1, 1e-9)
    (True, inf)
    """
    if delta > 0.0 or math.isinf(epsilon):
        return math.inf
    return min(up(epsilon * math.tanh(epsilon / 2), 4), epsilon)


@lru_cache(maxsize=4096)
def tight_mutual_information(epsilon: float) -> float:
    """D − 1 − ln D with D = ε/(1−e^{−ε}): no ε-DP mechanism tells more about one record, in nats. Rounded up.

    Source: Dong, Durfee & Rogers 2020 (bounded range).

    >>> round(tight_mutual_information(1.0), 11)
    0.12330156148
    """
    return up(hyperbolic.shannon_of_pure(epsilon), 64)


def renyi_of_pure(epsilon: float, alpha: float) -> float:
    """The Rényi divergence at order α that ε-DP allows, in nats, rounded up.

    It bounds the level-α capacity (the diameter is never below it) and, unlike that capacity, adds up over
    adaptive queries at one order. Source: Mironov 2017, proposition 9 and proposition 1.

    >>> round(renyi_of_pure(1.0, 2.0), 6)
    0.735326
    """
    return epsilon if math.isinf(epsilon) else min(up(hyperbolic.renyi_of_pure(epsilon, alpha), 64), epsilon)


@lru_cache(maxsize=4096)
def rho_of_pure(epsilon: float) -> float:
    """The least ρ for which all ε-DP is ρ-zCDP: ε·tanh(ε/2), rounded up.

    *Proof.* Randomised response dominates all ε-DP. With w = α − 1/2 its (α−1)·D_α is
    ln cosh(wε) − ln cosh(ε/2), and ln cosh(ε√s) is concave in s = w², for its slope ε·tanh(ε√s)/(2√s) falls.
    So it is at most (w² − 1/4) = α(α−1) times the slope at s = 1/4, which is ε·tanh(ε/2) and met at α = 1. ∎
    The same for Laplace noise stands in `docs/ledger.md`. Source: Harrison & Manurangsi 2025.

    >>> rho_of_pure(1.0), rho_of_pure(math.inf)
    (0.4621171572600098, inf)
    """
    if math.isinf(epsilon) or epsilon == 0.0:
        return epsilon
    if epsilon < 1e-9:
        return float_up(max(Fraction(epsilon), Fraction(repr(epsilon))) ** 2 / 2)
    # In decimals: the same on every machine. A float stands for the decimal that it prints as, too.
    precise, most = Context(prec=60), max(Decimal(repr(epsilon)), Decimal(epsilon))
    power = precise.exp(-most)
    ratio = precise.divide(precise.subtract(1, power), precise.add(1, power))
    exact = precise.multiply(precise.multiply(most, ratio), Decimal(f"1.{'0' * 49}1"))
    return min(float_up(Fraction(exact)), epsilon)
