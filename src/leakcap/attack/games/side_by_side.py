"""The games against leakcap's noise and against textbook mechanisms without the guard, side by side.

The textbook mechanisms are here to be beaten. The release path has no switch that leads to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from leakcap.attack.games.classics import averaging, differencing, key_exists, low_bits
from leakcap.attack.games.exact import all_at_once, membership, reused_noise
from leakcap.attack.games.game import Played
from leakcap.attack.games.lecture import lecture_regression, ridge_regression
from leakcap.attack.games.reconstruction import random_subsets, reconstruction
from leakcap.attack.games.timing import textbook_timing, timing
from leakcap.attack.value import Finding
from leakcap.errors import require
from leakcap.sampling import ByteSource, discrete_laplace, rational_scale, system_bytes

__all__ = ["games"]

_ANSWERS = 4000
_PEOPLE = 60
_KEY = "z"
_ANYBODY = 1000


def games(
    epsilon: float = 0.1,
    *,
    rounds: int = 400,
    generator: np.random.Generator,
    source: ByteSource = system_bytes,
) -> tuple[tuple[Finding, Finding], ...]:
    """Every attack twice: where the guard is missing, and where it is leakcap's. The promise is `epsilon`.

    Noise is leakcap's sampler's, but for the mechanisms whose noise is the fault. Played games are
    frequencies over `rounds`; the others are computed.

    >>> pairs = games(0.5, rounds=20, generator=np.random.default_rng(0))
    >>> [without.attack for without, _ in pairs][:3]
    ['averaging repeated queries', 'differencing', 'group keys that exist or not']
    """
    require(0.05 <= epsilon <= 5.0, "epsilon", "games", "lie between 0.05 and 5", epsilon)
    noise = _Noise(source)
    pairs = [*_played(epsilon, rounds, generator, noise), _columns(epsilon, generator, noise)]
    pairs.append((reused_noise(), reused_noise(fresh=True)))
    pairs.append((all_at_once(1e-3, _ANYBODY), all_at_once(0.0, _ANYBODY)))
    noisy = membership(epsilon)
    pairs.append((replace(membership(math.inf), at_most=noisy.at_most), noisy))
    pairs.append((lecture_regression(epsilon), ridge_regression(epsilon)))
    simple = min((1.0, 0.5, 0.2, 0.1), key=lambda e: abs(math.log(e / epsilon)))
    pairs.append((textbook_timing(simple), timing(simple)))
    return tuple(pairs)


class _Noise:
    """leakcap's discrete Laplace noise for a count at some ε."""

    def __init__(self, source: ByteSource) -> None:
        self.source = source

    def __call__(self, epsilon: float, size: int = 1) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        drawn = discrete_laplace(rational_scale(1, epsilon), size, self.source)
        return drawn.reshape(size)


def _played(
    epsilon: float, rounds: int, generator: np.random.Generator, noise: _Noise
) -> Iterator[tuple[Played, Played]]:
    """The coin-flip games, without the guard and with it."""

    def paid(bit: int) -> list[float]:
        return [float(x) for x in noise(epsilon / 10, 10) + bit]

    def for_free(bit: int) -> list[float]:
        return [float(x) for x in noise(epsilon, _ANSWERS) + bit]

    def shared(bit: int) -> tuple[float, float]:
        once = int(noise(epsilon / 2)[0])
        return 5 + bit + once, 5 + once

    def own(bit: int) -> tuple[float, float]:
        first, second = noise(epsilon / 2, 2)
        return 5 + bit + int(first), 5 + int(second)

    def existing(bit: int) -> Mapping[Hashable, float]:
        groups: dict[Hashable, float] = {"a": 6 - bit + int(noise(epsilon / 2)[0])}
        return groups | {_KEY: 1 + int(noise(epsilon / 2)[0])} if bit else groups

    def public(bit: int) -> Mapping[Hashable, float]:
        first, second = noise(epsilon / 2, 2)
        return {"a": 6 - bit + int(first), _KEY: bit + int(second)}

    def floats(bit: int) -> float:
        uniform = float(generator.integers(1, 2**53 + 1)) * 2.0**-53
        return float(bit) + (-1.0 if generator.integers(2) else 1.0) * (float(np.log(uniform)) / epsilon)

    def whole(bit: int) -> float:
        return float(bit + int(noise(epsilon)[0]))

    def pair(
        game: Callable[..., Played], without: object, guarded: object, *args: object
    ) -> tuple[Played, Played]:
        told = {"rounds": rounds, "generator": generator}
        told |= {"scale": 1.0 / epsilon} if game is low_bits else {"epsilon": epsilon}
        return game(without, *args, **told), game(guarded, *args, **told)

    yield pair(averaging, for_free, paid)
    yield pair(differencing, shared, own)
    yield pair(key_exists, existing, public, _KEY)
    yield pair(low_bits, floats, whole)


def _columns(epsilon: float, generator: np.random.Generator, noise: _Noise) -> tuple[Finding, Finding]:
    """A secret column read through 1200 subset counts: ε for each of them, and ε for all together."""
    secret, subsets = generator.integers(2, size=_PEOPLE), random_subsets(_PEOPLE, 20 * _PEOPLE, generator)
    true, found = subsets @ secret, []
    for each in (max(epsilon, 0.5), epsilon / len(subsets)):
        found.append(reconstruction(secret, subsets, true + noise(each, len(subsets)), epsilon=epsilon))
    return found[0], found[1]
