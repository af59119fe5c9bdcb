"""The joint law of all published cells by listing every key of every kind of people: small tables only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from leakcap.disclosure.joint.evidence import JointEvidence
from leakcap.disclosure.joint.published import Numbers, TableSet

__all__ = ["by_every_key", "few_enough", "shares_by_every_key"]

_MOST = 1 << 18


def few_enough(tables: TableSet, keys: int) -> bool:
    """Whether all keys of all kinds of people can be listed, one more kind among them."""
    kinds = int((tables.counts > 0).sum()) + 1
    return bool(kinds * np.log2(keys) <= np.log2(_MOST))


def by_every_key(
    tables: TableSet, kind: int, row: Callable[[int], Numbers], keys: int, size: int = 1
) -> JointEvidence:
    """What all published cells tell of `size` people's presence among those of a kind."""
    laws = [shares_by_every_key(tables, kind, more, row, keys) for more in (0, size)]
    both = list(laws[0] | laws[1])
    absent, present = ([law.get(outcome, 0.0) for outcome in both] for law in laws)
    return JointEvidence.of(absent, present)


def shares_by_every_key(
    tables: TableSet, kind: int, more: int, row: Callable[[int], Numbers], keys: int
) -> dict[tuple[int, ...], float]:
    """How likely all published cells, table by table, show what they show, with so many `more` of a kind.

    `row(count)` is what is published of a count at each key. All keys of the sums of the kinds that are not
    empty are equally likely; numbers of ways are whole.
    """
    counts = tables.counts.copy()
    counts[kind] += more
    full = np.flatnonzero(counts)
    drawn = np.indices((keys,) * len(full)).reshape(len(full), -1)
    shown = [
        row(int(counts[table == cell].sum()))[drawn[table[full] == cell].sum(axis=0) % keys]
        for table in tables.cells
        for cell in np.unique(table[table >= 0])
    ]
    outcomes, ways = np.unique(np.array(shown), axis=1, return_counts=True)
    total = float(keys ** len(full))
    return {
        tuple(outcome): many / total for outcome, many in zip(outcomes.T.tolist(), ways.tolist(), strict=True)
    }
