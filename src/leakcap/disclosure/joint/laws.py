"""Laws of the sum of siblings' keys, given what the siblings show: shapes at places, alike ones merged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leakcap.disclosure.joint.runs import runs_of
from leakcap.numeric.logspace import Floats

__all__ = ["SiblingKind", "SiblingLaws", "kinds_of", "laws_of", "seen", "stepped"]

_FEW_PLACES, _FEW_WAVES = 128, 1024
_PLACES = 1 << 21
"""How many numbers the masses of laws may hold."""


class SiblingKind(NamedTuple):
    """Sets of keys that are one another moved, each of which shows a value."""

    waves: NDArray[np.complex128]
    """Of the uniform law on the set, about its centre: the middle of its first run of keys."""
    half: int
    """1 where the centre is half a key above a whole one."""
    places: list[int]
    share: float
    """How likely each of the sets is."""


class SiblingLaws(NamedTuple):
    """Laws of the siblings' sum of keys given what they show: each a shape, moved by c with the mass of c."""

    waves: NDArray[np.complex128]
    masses: Floats
    halves: NDArray[np.int64]
    """1 where the shape's centre is half a key above 0."""


def laws_of(
    full: Sequence[int],
    kinds: Mapping[int, list[SiblingKind]],
    keys: int,
    told: Floats,
    waves: int,
    most: tuple[int, int],
) -> tuple[SiblingLaws, float]:
    """The laws of the siblings' sum of keys, given what they show, and what the mergings can change.

    `full` are the rows of the siblings that are not empty; `told` is what a difference in each wave can
    change at the end. So many `waves` are followed, and `most` laws: on the way, and at the end.
    """
    left = [told]
    for row in reversed(full):  # all later siblings seen: never more than this
        left.append(left[-1] * sum(len(kind.places) * kind.share * abs(kind.waves) for kind in kinds[row]))
    followed = min(waves, keys // 2) + 1
    apart = float(left[-1][followed:].sum())
    laws = SiblingLaws(
        np.ones((1, followed), dtype=np.complex128), np.eye(1, keys), np.zeros(1, dtype=np.int64)
    )
    for row, after in zip(full, left[-2::-1], strict=True):
        laws, distance = stepped(laws, kinds[row], after, min(most[0], _PLACES // keys))
        apart += distance
    nobody = SiblingKind(np.ones(keys // 2 + 1, dtype=np.complex128), 0, [0], 1.0)
    laws, distance = stepped(laws, [nobody], told, most[1])
    return laws, apart + distance


def seen(laws: SiblingLaws, told: Floats) -> Iterator[tuple[Floats, Floats]]:
    """For each law, over its likely places: their masses, and the sums over s of law(s − place) × told(s).

    At few places the waves are added up there alone, which is quicker than at all places at once. With told
    numbers in [−1, 1] the w waves have absolute values that sum to 2√w at most (Cauchy & Schwarz, Parseval),
    so that rounding is off by less than 2(2w + 8)√w units in the last place (Higham 2002, §3.1): for 1,024
    waves or less, and 2(w − 1) keys or more, within the 4096·√keys that are allowed for it.
    """
    keys = told.shape[1]
    waves = np.fft.rfft(told)[:, : laws.waves.shape[1]]
    numbers = np.arange(waves.shape[1])
    turns = np.exp(-1j * np.pi * numbers / keys)
    angles = 2.0 * np.pi * np.arange(keys) / keys
    circle = np.cos(angles), np.sin(angles)
    # Each wave stands for its mirror image, too, but for the first and, of an even number, the last.
    twice = np.where((numbers == 0) | (2 * numbers == keys), 1.0, 2.0) / keys
    for law, half, mass in zip(laws.waves, laws.halves, laws.masses, strict=True):
        likely = np.flatnonzero(mass)
        spectrum = (law * turns**half).conj()[None, :] * waves
        if likely.size > _FEW_PLACES or len(numbers) > _FEW_WAVES:
            yield mass[likely], np.fft.irfft(spectrum, n=keys)[:, likely]
            continue
        cosines, sines = (part[np.outer(numbers, likely) % keys] for part in circle)
        spectrum *= twice
        yield mass[likely], spectrum.real @ cosines - spectrum.imag @ sines


def kinds_of(row: NDArray[np.int64]) -> list[SiblingKind]:
    """What a sibling with this row of the perturbation can show."""
    keys = len(row)
    found: dict[tuple[tuple[tuple[int, int], ...], int], list[int]] = {}
    for value in np.unique(row):
        runs = runs_of(row == value)
        twice = runs[0][0] + runs[0][1] - 1
        about = tuple((first - twice // 2, end - twice // 2) for first, end in runs)
        found.setdefault((about, twice % 2), []).append(twice // 2)
    kinds = []
    for (about, half), places in found.items():
        shown = np.zeros(keys)
        for first, end in about:
            shown[np.arange(first, end) % keys] = 1.0
        waves = np.fft.rfft(shown) * np.exp(1j * np.pi * half * np.arange(keys // 2 + 1) / keys)
        kinds.append(SiblingKind(waves / shown.sum(), half, places, shown.sum() / keys))
    return kinds


def stepped(
    laws: SiblingLaws, kinds: list[SiblingKind], after: Floats, room: int
) -> tuple[SiblingLaws, float]:
    """What one sibling more shows, laws that are alike taken as one, and what that can change at most."""
    (size, followed), keys = laws.waves.shape, laws.masses.shape[1]
    after = after[:followed]
    waves: NDArray[np.complex128] = np.concatenate([laws.waves * kind.waves[:followed] for kind in kinds])
    halves = np.concatenate([laws.halves + kind.half for kind in kinds])
    weights = np.concatenate([laws.masses.sum(axis=1) * len(kind.places) * kind.share for kind in kinds])
    group, count = _alike(np.asarray(waves * after, dtype=np.complex128), halves % 2, weights, max(2, room))
    means = np.zeros((count, followed), dtype=np.complex128)
    np.add.at(means, group, waves * weights[:, None])
    means /= np.bincount(group, weights, count)[:, None]
    masses = np.zeros((count, keys))
    for number, kind in enumerate(kinds):
        into = group[number * size : (number + 1) * size]
        carry = halves[number * size : (number + 1) * size] // 2
        for up in (0, 1):
            chosen = np.flatnonzero(carry == up)
            for place in kind.places:
                np.add.at(masses, into[chosen], np.roll(laws.masses[chosen], place + up, axis=1) * kind.share)
    parity = np.zeros(count, dtype=np.int64)
    parity[group] = halves % 2
    return SiblingLaws(means, masses, parity), float(weights @ (abs(waves - means[group]) @ after))


def _alike(
    told: NDArray[np.complex128], halves: NDArray[np.int64], weights: Floats, room: int
) -> tuple[NDArray[np.intp], int]:
    """Groups of laws, at most `room`, whose first waves are alike, the closer the more they weigh."""
    first = told[:, 1:4]
    features = np.column_stack([first.real, first.imag])
    level = np.rint(np.log2(np.maximum(weights, 1e-12)) / 2)
    features *= (2.0**level)[:, None]
    step = 1e-13
    while True:
        marks = np.column_stack([np.rint(features / step), halves, level])
        kept, group = np.unique(marks, axis=0, return_inverse=True)
        if len(kept) <= room:
            return group.ravel(), len(kept)
        step = max(step * 1.25, 1e-9)
        if step > 1.0:
            level = np.zeros_like(level)
