"""How many canaries to guess at, settled on a few of them that no bound is certified with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakcap.audit.right_guesses import Reverse, too_many_right
from leakcap.errors import InvalidParameter, require
from leakcap.numeric.logspace import Floats

__all__ = ["CanaryScores", "GuessedCanaries", "guessed_canaries", "read_canaries"]

Bools = NDArray[np.bool_]

_SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02)
_PILOT = 0.1
_LEAST = 40
"""Of pilot canaries: fewer say too little."""


@dataclass(frozen=True)
class CanaryScores:
    """What the attacker computed of each canary, and whether it was in."""

    scores: Floats
    included: Bools

    def __len__(self) -> int:
        return len(self.scores)

    def of(self, places: NDArray[np.intp]) -> CanaryScores:
        """Those at some places."""
        return CanaryScores(self.scores[places], self.included[places])

    def right(self, guesses: int) -> int:
        """How many guesses are right: half at the highest scores, half at the lowest.

        Ties are broken by the place, which says nothing about the coin.
        """
        order = np.argsort(self.scores, kind="stable")
        out, into = order[: guesses // 2], order[len(order) - (guesses - guesses // 2) :]
        return int((~self.included[out]).sum() + self.included[into].sum())


@dataclass(frozen=True)
class GuessedCanaries:
    """How many of `canaries` are guessed at, and how many guesses are right."""

    canaries: int
    guesses: int
    right: int

    def refute(self, reverse: Reverse, level: float) -> bool:
        """Whether so many right guesses refute, at this level, a trade-off curve; by its `reverse`."""
        return too_many_right(
            reverse, canaries=self.canaries, guesses=self.guesses, right=self.right, level=level
        )


def read_canaries(scores: object, included: object, owner: str) -> CanaryScores:
    """Scores and coins, checked.

    >>> len(read_canaries([0.5] * 10, [True] * 10, "audit_canaries"))
    10
    """
    score, truth = np.asarray(scores, dtype=np.float64), np.asarray(included)
    if score.ndim != 1 or truth.shape != score.shape or not set(np.unique(truth).tolist()) <= {0, 1}:
        raise InvalidParameter(
            f"`included` of `{owner}` must hold True or False for each of a vector of `scores`. "
            f"Got shapes {score.shape} and {truth.shape}."
        )
    require(not np.isnan(score).any(), "scores", owner, "be numbers", "NaN")
    require(len(score) >= 10, "scores", owner, "be of 10 canaries or more", len(score))
    return CanaryScores(score, truth.astype(bool))


def guessed_canaries(
    seen: CanaryScores,
    guesses: int | None,
    promise: Callable[[GuessedCanaries], float],
    generator: np.random.Generator,
) -> GuessedCanaries:
    """How many guesses there are and how many are right; the number, unless given, is settled on a pilot.

    The pilot is a tenth of the canaries, drawn without looking at them (at least 40, and nobody where that
    would be more than a fifth: then half of all canaries are guessed at). `promise` says what so many right
    guesses would certify. The coins of the others are independent of the pilot's: no level is divided.
    """
    total = len(seen)
    if guesses is not None:
        require(2 <= guesses <= total, "guesses", "audit", "lie between 2 and all canaries", guesses)
        return GuessedCanaries(total, guesses, seen.right(guesses))
    some = max(round(_PILOT * total), _LEAST)
    if some > total // 5:
        half = max(total // 2, 2)
        return GuessedCanaries(total, half, seen.right(half))
    order = generator.permutation(total)
    pilot, rest = seen.of(order[:some]), seen.of(np.sort(order[some:]))
    size = max(_sizes(len(rest)), key=lambda each: promise(_forecast(pilot, len(rest), each)))
    return GuessedCanaries(len(rest), size, rest.right(size))


def _sizes(total: int) -> list[int]:
    return sorted({max(2 * round(share * total / 2.0), 2) for share in _SHARES if share * total <= total})


def _forecast(pilot: CanaryScores, total: int, size: int) -> GuessedCanaries:
    """As many wrong guesses as normal laws of the scores give, or as the pilot had, if more."""
    size = min(size, total)
    some = max(2, min(len(pilot), round(size * len(pilot) / total)))
    wrong = (some - pilot.right(some)) / some
    return GuessedCanaries(
        total, size, size - min(size // 2, round(size * max(wrong, _normal_wrong(pilot, some))))
    )


def _normal_wrong(pilot: CanaryScores, some: int) -> float:
    """The share of wrong guesses if scores were normal on each side, with the pilot's means and spreads."""
    from scipy.special import ndtr

    sides = [pilot.scores[pilot.included], pilot.scores[~pilot.included]]
    if min(map(len, sides)) < 5 or not np.isfinite(pilot.scores).all():
        return 0.0
    (into, out), spread = (float(side.mean()) for side in sides), [float(side.std()) for side in sides]
    if min(spread) <= 0.0:
        return 0.0
    ordered = np.sort(pilot.scores)
    low, high = float(ordered[some // 2 - 1]), float(ordered[len(ordered) - (some - some // 2)])
    wrong = ndtr((low - into) / spread[0]) + ndtr((out - high) / spread[1])
    return float(0.5 * wrong * len(pilot) / some)
