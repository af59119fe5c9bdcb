"""What the cells of one person tell to somebody who knows the keys of everybody outside the person's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from leakcap.disclosure.joint.runs import Arc, arcs_of
from leakcap.numeric.logspace import Floats

__all__ = ["Pair", "told_with_known_keys"]

_LEVELS = 512
_ROUNDED = 1e-9
"""More than the roundings of some 10⁶ products of probabilities."""


@dataclass(frozen=True, eq=False)
class Pair:
    """What is published of one cell at each key, without and with the person; is somebody else in it?

    >>> row = np.array([0, 0, 1, 1])
    >>> Pair(row, row + 1, True).agreeing
    array([0.  , 0.25, 0.5 , 0.25])
    """

    absent: np.ndarray
    present: np.ndarray
    people: bool

    @property
    def keys(self) -> int:
        """How many keys there are."""
        return len(self.absent)

    @cached_property
    def agreeing(self) -> Floats:
        """Over r: how likely is the same published at a key without, and at the key + r with the person?"""
        if not self.people:
            return np.asarray((self.present == self.absent[0]).astype(float))
        found = np.zeros(self.keys)
        for value in np.intersect1d(self.absent, self.present):
            first, second = (np.fft.rfft((row == value).astype(float)) for row in (self.absent, self.present))
            found += np.rint(np.fft.irfft(first.conj() * second, n=self.keys))
        return np.asarray(found / self.keys)

    @cached_property
    def longest(self) -> int:
        """The longest run of keys that show the same, in either world."""
        return max(length for world in (self.absent, self.present) for _, length in arcs_of(world))

    def windows(self, step: int, halved: bool) -> tuple[Floats, ...]:
        """Over levels j = step, 2·step, … and r: how likely do windows of keys show the same in both worlds?

        One of j keys from k on without the person, and one of j from k + r on with them; then one of j and
        one of j + 1, one of j + 1 and one of j, two of j + 1. A value that is shown at several runs counts as
        one for each, and runs of more than half the keys are halved where asked: more is told, not less.
        """
        return self._halved_windows if halved else self._whole_windows

    @cached_property
    def _whole_windows(self) -> tuple[Floats, ...]:
        return self._counted(False)

    @cached_property
    def _halved_windows(self) -> tuple[Floats, ...]:
        return self._counted(True)

    def _counted(self, halved: bool) -> tuple[Floats, ...]:
        keys, step = self.keys, step_of(self.keys)
        matched = [
            both
            for value in np.intersect1d(self.absent, self.present)
            for both in zip(
                *(_cut(arcs_of(row == value, True), keys, halved) for row in (self.absent, self.present)),
                strict=False,
            )
        ]
        most = max((min(first[1], second[1]) for first, second in matched), default=0)
        levels = np.arange(step, most + 1, step)[:, None]
        found = [np.zeros((len(levels), keys)) for _ in range(4)]
        moves = np.arange(keys)[None, :]
        for (start, length), (other, reach) in matched:
            place = (other - start - moves) % keys
            for number, (up, on) in enumerate(((0, 0), (0, 1), (1, 0), (1, 1))):
                first = np.maximum(length - levels - up + 1, 0)
                second = np.maximum(reach - levels - on + 1, 0)
                found[number] += np.maximum(np.minimum(first, place + second) - place, 0)
                found[number] += np.clip(place + second - keys, 0, first)
        return tuple(one / keys for one in found)


def told_with_known_keys(pairs: Sequence[Pair], alone: bool) -> float:
    """The total variation, or a little more, of one person's cells where all other keys are known.

    `alone` says that nobody else is of the person's kind. The keys of the cells that are not empty without
    the person have to be independent. No publication about
    the same people tells more, since all others' cells follow from what is known. Proof:
    docs/theory/cell-keys.md.

    >>> row = np.array([0, 0, 1, 1])
    >>> [round(told_with_known_keys([Pair(row, row + 1, True)], alone), 6) for alone in (False, True)]
    [0.5, 0.75]
    """
    keys, step = pairs[0].keys, step_of(pairs[0].keys)
    if alone:
        # Without the person all is known, and presence adds a uniform key.
        common = float(reduce(np.multiply, (pair.agreeing for pair in pairs)).mean())
    else:
        longest = sorted(pair.longest for pair in pairs)
        halved = sum(longest[-2:]) > keys or longest[-1] == keys
        windows = [pair.windows(step, halved) for pair in pairs]
        levels = min(len(one[0]) for one in windows)
        signs = (1.0, -1.0, -1.0, 1.0)
        products = (
            sign * reduce(np.multiply, (one[number][:levels] for one in windows)).sum()
            for number, sign in enumerate(signs)
        )
        common = step * float(sum(products))
    return min(1.0, max(0.0, 1.0 - common + _ROUNDED))


def step_of(keys: int) -> int:
    """How many keys the levels of windows are apart."""
    return max(1, keys // (2 * _LEVELS))


def _cut(arcs: list[Arc], keys: int, halved: bool) -> list[Arc]:
    if not halved:
        return arcs
    return [
        part
        for start, length in arcs
        for part in (
            ((start, length // 2), ((start + length // 2) % keys, length - length // 2))
            if 2 * length > keys
            else ((start, length),)
        )
    ]
