"""How often the best guess of one person's presence is right, from a cell, many siblings and their margin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leakcap.bound import Bound
from leakcap.disclosure.joint.laws import kinds_of, laws_of, seen
from leakcap.disclosure.joint.margin import checked_count, checked_table, shown_together

__all__ = ["margin_success"]

_VERB = "margin_success"
_WAVES = 256
"""Waves of a law that are followed; what the others can do is added to the interval."""
_LAWS = 1024
"""How many laws are followed."""
_SUMS = 1 << 27
"""Numbers that the last step may work out."""
_UNIT = 2.0**-53


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
    kinds = {row: kinds_of(rows[row]) for row in set(full)}
    told = abs(np.fft.rfft(moved)).sum(axis=0) / keys
    room = (_LAWS, _SUMS // (keys * len(moved)))
    laws, apart = laws_of(full, kinds, keys, told, _WAVES, room)
    variation = sum(float(mass @ abs(means).sum(axis=0)) for mass, means in seen(laws, moved)) / 2
    slack = apart + 4096 * (1 + len(full)) * keys**0.5 * len(moved) * _UNIT
    return Bound(
        max(0.5, (1 + variation - slack) / 2),
        min(1.0, (1 + variation + slack) / 2),
        "laws of the siblings' keys, alike ones merged" if apart else "laws of the siblings' keys",
        unit="probability",
    )
