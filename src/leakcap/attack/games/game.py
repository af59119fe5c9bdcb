"""A coin-flip game: one bit of one person is tossed, an answer is seen, the bit is guessed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from leakcap.attack.chance import binomial_interval
from leakcap.attack.value import Finding
from leakcap.definition.meaning import posterior_bound
from leakcap.errors import require

__all__ = ["Played", "play"]

Seen = TypeVar("Seen")


@dataclass(frozen=True, kw_only=True)
class Played(Finding):
    """A game that was played: got = wins/rounds, at_most = A/(A+1) for the ε that was promised.

    Its interval is Clopper and Pearson's, exact for any number of rounds.
    """

    rounds: int
    epsilon: float

    @property
    def spread(self) -> float:
        """The standard deviation of `got` by chance, at most ½/√rounds."""
        return 0.5 / float(np.sqrt(self.rounds))


def play(
    observe: Callable[[int], Seen],
    guess: Callable[[Seen], int],
    *,
    epsilon: float,
    rounds: int,
    generator: np.random.Generator,
    attack: str = "coin flip",
    stopped_by: str = "ε",
) -> Played:
    """Toss a bit, show `guess` what `observe` makes of it, and count how often it is right.

    `epsilon` is what was promised about the bit for everything seen in one round.

    >>> found = play(lambda bit: bit, lambda seen: seen, epsilon=0.0, rounds=10,
    ...     generator=np.random.default_rng(0))
    >>> found.got, found.at_most, found.ratio
    (1.0, 0.5, 2.0)
    """
    require(rounds >= 1, "rounds", "play", "be at least 1", rounds)
    bits = generator.integers(2, size=rounds).tolist()
    wins = sum(guess(observe(bit)) == bit for bit in bits)
    low, high = binomial_interval(wins, rounds)
    return Played(
        attack=attack,
        got_lower=low,
        got_upper=high,
        got=wins / rounds,
        at_most=posterior_bound(epsilon, 0.5),
        unit="probability",
        stopped_by=stopped_by,
        rounds=rounds,
        epsilon=epsilon,
    )
