"""Attacks on noisy answers that work wherever a guard is missing, as coin-flip games about one person.

Each takes `observe(bit)`, which runs the victim, leakcap's engine or another, on a table in which the person
has this bit, and returns what an analyst sees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.attack.games.game import Played, play
from leakcap.errors import require
from leakcap.numeric.logspace import Floats

__all__ = ["averaging", "differencing", "key_exists", "low_bits", "textbook_reachable"]

_NEAR = np.arange(-4, 5)


def averaging(
    observe: Callable[[int], Sequence[float]],
    *,
    epsilon: float,
    rounds: int,
    generator: np.random.Generator,
    others: int = 0,
) -> Played:
    """Ask the same count again and again, and average: the noise goes away, the person stays.

    `epsilon` is what was promised about all of the answers together.

    >>> found = averaging(lambda bit: [bit] * 3, epsilon=1.0, rounds=5, generator=np.random.default_rng(0))
    >>> found.got
    1.0
    """
    return play(
        observe,
        lambda answers: int(math.fsum(answers) > (others + 0.5) * len(answers)),
        epsilon=epsilon,
        rounds=rounds,
        generator=generator,
        attack="averaging repeated queries",
        stopped_by="the ledger, which repeats the old answer; for fresh noise, the cap on ε",
    )


def differencing(
    observe: Callable[[int], tuple[float, float]],
    *,
    epsilon: float,
    rounds: int,
    generator: np.random.Generator,
) -> Played:
    """Ask for everybody, and for everybody but one: the difference is that one, and the noise of two answers.

    Where two answers share their noise the difference is exact: this is re-used noise on counts.

    >>> found = differencing(lambda bit: (7.25 + bit, 7.25), epsilon=0.1, rounds=5,
    ...     generator=np.random.default_rng(0))
    >>> found.got
    1.0
    """
    return play(
        observe,
        lambda pair: int(pair[0] - pair[1] > 0.5),
        epsilon=epsilon,
        rounds=rounds,
        generator=generator,
        attack="differencing",
        stopped_by="fresh noise in every answer, from the operating system",
    )


def key_exists(
    observe: Callable[[int], Mapping[Hashable, float]],
    key: Hashable,
    *,
    epsilon: float,
    rounds: int,
    generator: np.random.Generator,
) -> Played:
    """Look whether a group that only the person can make is in the answer of a GROUP BY.

    Where groups without rows are listed too, what is left is the group's noisy count.

    >>> found = key_exists(lambda bit: {"rare": -3.0} if bit else {}, "rare", epsilon=0.1, rounds=5,
    ...     generator=np.random.default_rng(0))
    >>> found.got
    1.0
    """
    listed = key in observe(0)
    return play(
        observe,
        lambda groups: int(key in groups and (not listed or groups[key] > 0.5)),
        epsilon=epsilon,
        rounds=rounds,
        generator=generator,
        attack="group keys that exist or not",
        stopped_by="public keys: every key of the policy is in the answer, no other ever is",
    )


def low_bits(
    observe: Callable[[int], float],
    *,
    scale: float,
    rounds: int,
    generator: np.random.Generator,
) -> Played:
    """Tell a count of 0 from a count of 1 by which doubles textbook Laplace noise can make of each.

    An output that only one of the two can make gives it away; otherwise the nearer count is named. The
    promise is ε = 1/scale. Source: Mironov 2012.

    >>> found = low_bits(lambda bit: float(bit), scale=100.0, rounds=20, generator=np.random.default_rng(0))
    >>> found.rounds
    20
    """

    def guess(seen: float) -> int:
        zero, one = (bool(textbook_reachable([seen], answer, scale)[0]) for answer in (0.0, 1.0))
        return int(one) if zero != one else int(seen > 0.5)

    return play(
        observe,
        guess,
        epsilon=1.0 / scale,
        rounds=rounds,
        generator=generator,
        attack="low-order bits of floats",
        stopped_by="integer noise on a public grid: every answer can make every output",
    )


def textbook_reachable(outputs: ArrayLike, answer: float, scale: float) -> NDArray[np.bool_]:
    """Whether each double is answer ± scale·ln u for some u that is a positive multiple of 2⁻⁵³.

    Rounding is followed operation by operation, for the textbook inversion sampler on doubles.

    >>> textbook_reachable([3.0 - 2.0 * np.log(0.25)], 3.0, 2.0)
    array([ True])
    """
    require(scale > 0.0, "scale", "textbook_reachable", "be positive", scale)
    y: Floats = np.asarray(outputs, dtype=np.float64)[..., None]
    sign = np.where(y >= answer, -1.0, 1.0)
    nearest = np.rint(np.exp(-np.abs(y - answer) / scale) * 2.0**53)
    uniform = np.clip(nearest + _NEAR, 1.0, 2.0**53) * 2.0**-53
    return np.asarray((answer + sign * (scale * np.log(uniform)) == y).any(axis=-1))
