"""What follows from ε and δ where a spend does not say it: sound for every neighbouring relation, so not
tight.

The ledger does not know whether ε holds between any two contents of a person's data (replace-one) or only
between a person's data and its absence (add/remove-one), where two contents are two steps apart. What is
implied here holds for both; a price that knows the mechanism states its own, smaller numbers.
"""

from __future__ import annotations

import math

from leakcap.definition import hyperbolic
from leakcap.numeric import up

__all__ = ["implied_person", "renyi_of_pure"]


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


def renyi_of_pure(epsilon: float, alpha: float) -> float:
    """The Rényi divergence at order α that ε-DP allows, in nats, rounded up.

    It bounds the level-α capacity (the diameter is never below it) and, unlike that capacity, adds up over
    adaptive queries at one order. Source: Mironov 2017, proposition 9 and proposition 1.

    >>> round(renyi_of_pure(1.0, 2.0), 6)
    0.735326
    """
    return epsilon if math.isinf(epsilon) else min(up(hyperbolic.renyi_of_pure(epsilon, alpha), 64), epsilon)
