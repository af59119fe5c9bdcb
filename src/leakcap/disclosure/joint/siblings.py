"""What a cell, its siblings and their margin tell together: one margin with its parts, as evidence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leakcap.disclosure.joint.evidence import JointEvidence, condensed
from leakcap.disclosure.joint.keyed import RowsByKey
from leakcap.disclosure.joint.laws import kinds_of, laws_of, seen
from leakcap.disclosure.joint.margin import both_shown
from leakcap.numeric.logspace import Floats

__all__ = ["margin_evidence"]

_WAVES = 256
_LAWS = 512
_SUMS = 1 << 28
_UNIT = 2.0**-53
_NOTHING = 1e-14
"""Less than this, of a law, is no probability but a rounding: what it hides is in the slack."""


def margin_evidence(rows: RowsByKey, cell: int, siblings: Sequence[int], size: int = 1) -> JointEvidence:
    """What a cell of so many others, its siblings and their margin tell of `size` people's presence in it.

    As `margin_success`, by the same laws of the siblings' keys: here both worlds' laws are kept, outcomes of
    like ratios as one.

    >>> from fractions import Fraction
    >>> from leakcap.disclosure.cell_key import CellKey, PerturbationTable
    >>> fourth = Fraction(1, 4)
    >>> steps = ((-1, fourth), (0, 3 * fourth), (1, Fraction(1)))
    >>> table = PerturbationTable((((0, Fraction(1)),), steps))
    >>> told = margin_evidence(RowsByKey(CellKey(table), 4), 1, [3])
    >>> bool(told.success().lower <= 0.8125 <= told.success().upper)
    True
    """
    keys, total = rows.keys, cell + sum(siblings)
    worlds = [
        {
            (own, margin): numbers / keys
            for own, margin, numbers in both_shown(rows.row(here), rows.row(there), here > 0)
        }
        for here, there in ((cell, total), (cell + size, total + size))
    ]
    nothing, shown = np.zeros(keys), list(worlds[0] | worlds[1])
    told = [np.array([world.get(one, nothing) for one in shown]) for world in worlds]
    alike: dict[bytes, int] = {}
    full = sorted(
        alike.setdefault(np.unique(rows.row(count), return_inverse=True)[1].tobytes(), count)
        for count in siblings
        if count > 0
    )
    kinds = {count: kinds_of(rows.row(count)) for count in set(full)}
    moved = np.maximum(*(abs(np.fft.rfft(world)).sum(axis=0) / keys for world in told))
    laws, apart = laws_of(full, kinds, keys, moved, _WAVES, (_LAWS, max(2, _SUMS // (keys * 2 * len(shown)))))
    least: list[Floats] = []
    most: list[Floats] = []
    both = np.concatenate(told)
    for mass, means in seen(laws, both):
        joint = (mass * np.maximum(means, 0.0)).reshape(2, -1)
        joint[joint < _NOTHING * joint.sum()] = 0.0
        for found, one in zip((least, most), condensed(joint), strict=True):
            found.append(one)
    slack = apart + 4096 * (1 + len(full)) * keys**0.5 * len(shown) * _UNIT
    slack += _NOTHING * keys * len(shown)
    ends = condensed(np.concatenate(least, axis=1))[0], condensed(np.concatenate(most, axis=1))[1]
    return JointEvidence(*ends, slack)
