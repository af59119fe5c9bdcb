"""The guessing game for one record: the optimal test against any mechanism, under any belief."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leakcap.accounting import PrivacyLoss, guess_success
from leakcap.adversary import Neighbours
from leakcap.attack.value import Finding, raised
from leakcap.capacities import capacity
from leakcap.channel import Channel
from leakcap.definition.meaning import posterior_bound
from leakcap.divergence import Renyi
from leakcap.errors import InvalidParameter, InvalidPrior
from leakcap.leakage.guessing import bayes_vulnerability
from leakcap.mechanism import Mechanism
from leakcap.numeric.logspace import Floats

__all__ = ["Guess", "guessing_game"]


@dataclass(frozen=True, kw_only=True)
class Guess(Finding):
    """The best guess at one record: how often it is right, and how sure it can be.

    `blind` is the success without the output, `surest` the largest posterior that any output gives to any
    value, `surest_at_most` what ε allows for it (∞ divergence: 1).
    """

    epsilon: float
    blind: float
    surest: float
    surest_at_most: float


def guessing_game(victim: Channel | Mechanism | PrivacyLoss, prior: ArrayLike) -> Guess:
    """Play the guessing game optimally: after each output, name the value of largest posterior.

    got = Σ_y max_x π_x P(y|x); every posterior is at most pA/(pA+1−p) with A = e^ε, so success is at most
    that at p = max π. A mechanism or pair with unbounded output is taken by its privacy loss, between two
    values. Raises `InvalidPrior` or `InvalidParameter`.

    Source: Tu 2013, the guessing game, sharpened.

    >>> from leakcap.mechanism import RandomisedResponse
    >>> game = guessing_game(RandomisedResponse(k=3, epsilon=math.log(3.0)), [1 / 3] * 3)
    >>> round(game.got, 12), round(game.at_most, 12)
    (0.6, 0.6)
    """
    if isinstance(victim, Mechanism):
        try:
            victim = victim.channel()
        except InvalidParameter:
            victim = PrivacyLoss.of_mechanism(victim)
    if isinstance(victim, PrivacyLoss):
        return _between_two(victim, prior)
    won = bayes_vulnerability(victim, prior)  # checks the prior
    belief = np.asarray(prior, dtype=np.float64)
    possible = np.flatnonzero(belief > 0.0)
    kept = victim if possible.size == belief.size else Channel(victim.matrix[possible])
    epsilon = capacity(kept, Renyi(math.inf), Neighbours()).upper if possible.size > 1 else 0.0
    return _guess(won, epsilon, belief[possible], _surest(kept.matrix, belief[possible]))


def _surest(rows: Floats, belief: Floats) -> float:
    joint = belief[:, None] * rows
    seen = joint.sum(axis=0)
    return float((joint.max(axis=0)[seen > 0.0] / seen[seen > 0.0]).max())


def _between_two(loss: PrivacyLoss, prior: ArrayLike) -> Guess:
    belief = np.asarray(prior, dtype=np.float64)
    if belief.shape != (2,) or not (belief >= 0.0).all() or abs(float(belief.sum()) - 1.0) > 1e-9:
        raise InvalidPrior(
            f"`prior` of `guessing_game` must be two probabilities that add up to 1 where the output is "
            f"unbounded. Got shape {belief.shape}."
        )
    p = float(belief[0])
    ends = (loss.largest, loss.reverse.largest)
    surest = max(posterior_bound(max(end, 0.0), x) for end, x in zip(ends, (p, 1.0 - p), strict=True))
    return _guess(guess_success(loss, p).lower, max(ends), belief, surest)


def _guess(won: float, epsilon: float, belief: Floats, surest: float) -> Guess:
    blind = float(belief.max())
    ceiling = raised(posterior_bound(epsilon, blind), 1.0)
    return Guess(
        attack="guessing game",
        got=won,
        at_most=ceiling,
        unit="probability",
        stopped_by="ε: no posterior exceeds pA/(pA+1−p)",
        epsilon=epsilon,
        blind=blind,
        surest=surest,
        surest_at_most=ceiling,
    )
