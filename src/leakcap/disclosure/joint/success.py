"""How often the best guess of one person's presence is right, from a cell, many siblings and their margin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leakcap.bound import Bound
from leakcap.disclosure.joint.margin import checked_count, checked_table, shown_together
from leakcap.disclosure.joint.runs import runs_of
from leakcap.numeric.logspace import Floats

__all__ = ["margin_success"]

_VERB = "margin_success"
_WAVES = 256
"""Waves of a law that are followed; what the others can do is added to the interval."""
_LAWS, _PLACES = 1024, 1 << 20
"""How many laws are followed, and how many numbers their masses may hold."""
_SUMS = 1 << 27
"""Numbers that the last step may work out."""
_UNIT = 2.0**-53


class _Kind(NamedTuple):
    """Sets of keys that are one another moved, each of which shows a value."""

    waves: NDArray[np.complex128]
    """Of the uniform law on the set, about its centre: the middle of its first run of keys."""
    half: int
    """1 where the centre is half a key above a whole one."""
    places: list[int]
    share: float
    """How likely each of the sets is."""


class _Laws(NamedTuple):
    """Laws of the siblings' sum of keys given what they show: each a shape, moved by c with the mass of c."""

    waves: NDArray[np.complex128]
    masses: Floats
    halves: NDArray[np.int64]
    """1 where the shape's centre is half a key above 0."""


def margin_success(perturbation: Sequence[Sequence[int]], cell: int, siblings: Sequence[int]) -> Bound:
    """How often the best guess of one person's presence is right, absent and present being equally likely.

    As `margin_channel`, for any number of siblings: an interval, which holds the success against everything
    that the cell, its siblings and their margin show together. It is exact but for roundings while the
    siblings' outcomes have few laws of their sum of keys; beyond, laws that are alike are taken as one and
    the interval is wider by the total variation between them. Proof: docs/theory/cell-keys.md.

    >>> bound = margin_success([[0, 0, 0, 0], [-1, 0, 0, 1]], 1, [3])
    >>> bool(bound.lower <= 0.8125 <= bound.upper), bound.width < 1e-8
    (True, True)
    """
    rows = checked_table(perturbation, _VERB)
    counts = [checked_count("cell", cell, _VERB)]
    counts += [checked_count("siblings", each, _VERB) for each in siblings]
    keys = rows.shape[1]
    full = sorted(min(count, len(rows) - 1) for count in counts[1:] if count > 0)
    worlds = [
        {(own, margin): numbers / keys for own, margin, numbers in shown_together(rows, here, there)}
        for here, there in ((counts[0], sum(counts)), (counts[0] + 1, sum(counts) + 1))
    ]
    nothing = np.zeros(keys)
    moved = np.array([
        worlds[1].get(shown, nothing) - worlds[0].get(shown, nothing) for shown in worlds[0] | worlds[1]
    ])  # fmt: skip
    kinds = {row: _kinds(rows[row]) for row in set(full)}
    # What a difference in each wave can change at the end, all later siblings seen: never more than this.
    left = [abs(np.fft.rfft(moved)).sum(axis=0) / keys]
    for row in reversed(full):
        left.append(left[-1] * sum(len(kind.places) * kind.share * abs(kind.waves) for kind in kinds[row]))
    followed = min(_WAVES, keys // 2) + 1
    apart = float(left[-1][followed:].sum())
    laws = _Laws(np.ones((1, followed), dtype=np.complex128), np.eye(1, keys), np.zeros(1, dtype=np.int64))
    for row, after in zip(full, left[-2::-1], strict=True):
        laws, distance = _stepped(laws, kinds[row], after, min(_LAWS, _PLACES // keys))
        apart += distance
    nobody = _Kind(np.ones(keys // 2 + 1, dtype=np.complex128), 0, [0], 1.0)
    laws, distance = _stepped(laws, [nobody], left[0], _SUMS // (keys * len(moved)))
    apart += distance
    variation = _variation(laws, moved)
    slack = apart + 4096 * (1 + len(full)) * keys**0.5 * len(moved) * _UNIT
    return Bound(
        max(0.5, (1 + variation - slack) / 2),
        min(1.0, (1 + variation + slack) / 2),
        "laws of the siblings' keys, alike ones merged" if apart else "laws of the siblings' keys",
        unit="probability",
    )


def _kinds(row: NDArray[np.int64]) -> list[_Kind]:
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
        kinds.append(_Kind(waves / shown.sum(), half, places, shown.sum() / keys))
    return kinds


def _stepped(laws: _Laws, kinds: list[_Kind], after: Floats, room: int) -> tuple[_Laws, float]:
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
    return _Laws(means, masses, parity), float(weights @ (abs(waves - means[group]) @ after))


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


def _variation(laws: _Laws, moved: Floats) -> float:
    """Σ over laws and places of mass × ½ Σ |Σ over s of law(s − c) × what presence moves at s|."""
    keys = moved.shape[1]
    waves = np.fft.rfft(moved)[:, : laws.waves.shape[1]]
    turns = np.exp(-1j * np.pi * np.arange(waves.shape[1]) / keys)
    total = 0.0
    for law, half, mass in zip(laws.waves, laws.halves, laws.masses, strict=True):
        means = np.fft.irfft((law * turns**half).conj()[None, :] * waves, n=keys)
        total += float(mass @ abs(means).sum(axis=0)) / 2
    return total
