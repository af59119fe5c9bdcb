"""An adversary who does not know everybody else: what a noisy count still tells about one record.

The record moves the count by one: its value under replace-one, its presence under add/remove-one. (Where both
are unknown under add/remove-one, ε does not bound the lift as Wu, Xia & He's corollary 2 has it; 2ε does.)
Adversaries of limited computing power are out of scope: every belief here is computed exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leakcap.attack.correlated.record import information_of, output_law
from leakcap.attack.correlated.sums import binomial
from leakcap.attack.value import Finding, raised
from leakcap.errors import require
from leakcap.numeric.entropy import inverse_binary_entropy
from leakcap.numeric.logspace import Floats

__all__ = ["Unsure", "knowledge_curve", "unsure_of"]

_NEGLIGIBLE = 1e-18
_MOST = 5000


@dataclass(frozen=True, kw_only=True)
class Unsure(Finding):
    """got = the most of I(X;Y) for who is unsure of `others` records; at_most = the same for who knows all.

    `coin` is the probability of the likelier value of each of the others in the worst belief, `ones` how many
    of them are more likely 1. `lift` is the largest ln P(x|y)/P(x) over answers, `lift_known` the same with
    the others known, and `told` the probability of an answer that moves the odds by the whole of ε.
    """

    others: int
    nats_each: float
    epsilon: float
    prior: float
    coin: float
    ones: int
    lift: float
    lift_known: float
    told: float


def unsure_of(others: int, nats: float, epsilon: float, *, prior: float = 0.5) -> Unsure:
    """The most that a noisy count tells of a record if `others` independent ones have entropy ≥ `nats` each.

    The law of the answer is affine in each other's probability, and I(X;Y) is convex in that law. So the
    worst belief puts each of the others at an end of {q : h(q) ≥ nats}, q or 1 − q, and only how many sit at
    which end matters: all `others` + 1 choices are computed, each by convolution. Exact to rounding.

    The average falls with the others' entropy, the worst answer does not: beyond all possible counts the
    answer moves the odds by ε whatever the others are.
    Source: Wu, Xia & He 2017, §4, parameters ℓ and t.

    >>> known, unsure = unsure_of(0, 0.5, 1.0), unsure_of(50, 0.5, 1.0)
    >>> round(known.got, 6), round(unsure.got, 6), round(unsure.lift, 6) == round(known.lift, 6)
    (0.110944, 0.012716, True)
    """
    owner = "unsure_of"
    whole = isinstance(others, int) and 0 <= others <= _MOST
    require(whole, "others", owner, f"be an integer from 0 to {_MOST}", others)
    require(0.0 <= nats <= math.log(2.0), "nats", owner, "lie between 0 and ln 2", nats)
    require(0.0 < epsilon <= 700.0, "epsilon", owner, "be positive and at most 700", epsilon)
    require(0.0 < prior < 1.0, "prior", owner, "lie strictly between 0 and 1", prior)
    rare, belief = inverse_binary_entropy(nats), (1.0 - prior, prior)
    known = output_law(np.eye(2), epsilon)
    best, worst, ones = -1.0, known, 0
    for count in range(others + 1):
        rows = _rows(count, others - count, rare, epsilon)
        if (told := information_of(rows, belief)) > best:
            best, worst, ones = told, rows, count
    return Unsure(
        attack="adversary's knowledge",
        got=best,
        at_most=raised(information_of(known, belief)),
        unit="nats",
        stopped_by="the cap on nats a person, which holds for whoever knows all the others",
        others=others,
        nats_each=nats,
        epsilon=epsilon,
        prior=prior,
        coin=1.0 - rare,
        ones=ones,
        lift=_lift(worst, belief),
        lift_known=_lift(known, belief),
        told=_told(worst, belief, epsilon),
    )


def knowledge_curve(sizes: Sequence[int], nats: float, epsilon: float) -> tuple[Unsure, ...]:
    """`unsure_of` for each number of unknown records. Data for a plot.

    >>> [round(point.got, 4) for point in knowledge_curve([0, 1, 10, 100], 0.5, 1.0)]
    [0.1109, 0.0882, 0.038, 0.007]
    """
    return tuple(unsure_of(size, nats, epsilon) for size in sizes)


def _rows(ones: int, zeros: int, rare: float, epsilon: float) -> Floats:
    """P(answer | X) where so many of the others are 1 with probability 1 − rare, and so many with rare."""
    law = np.convolve(_binomial(ones, 1.0 - rare), _binomial(zeros, rare))
    return output_law(np.stack([np.append(law, 0.0), np.append(0.0, law)]), epsilon)


def _binomial(n: int, p: float) -> Floats:
    """The law without its negligible ends: the answer's law knows no origin."""
    if n == 0 or p in (0.0, 1.0):
        return np.ones(1)
    law = binomial(n, p)
    kept = np.flatnonzero(law > _NEGLIGIBLE)
    return law[kept[0] : kept[-1] + 1]


def _lift(rows: Floats, prior: Sequence[float]) -> float:
    q = np.asarray(prior) @ rows
    return float(np.log(rows.max(axis=0) / q).max())


def _told(rows: Floats, prior: Sequence[float], epsilon: float) -> float:
    q = np.asarray(prior) @ rows
    found = float(q[np.abs(np.log(rows[1] / rows[0])) >= epsilon * (1.0 - 1e-9)].sum())
    return min(found, 1.0) if found > 1e3 * _NEGLIGIBLE else 0.0
