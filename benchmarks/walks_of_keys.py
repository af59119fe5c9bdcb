"""How much of a person a whole lattice of tables tells: 12 × 20 × 6 with all margins, by draws of our own.

    python benchmarks/walks_of_keys.py [keys] [draws] [places]

Counts near 6 (Poisson, a fixed seed), the perturbation table of most entropy with D = 5 and V = 3. For so
many places: how often the best guess is right, between the ends that are proved alone, and between those that
hold with probability 1 − 10⁻⁶ over draws, with seconds of CPU (docs/theory/cell-keys.md). Places are drawn
among those that somebody else is at; 0 of them is one place of a table of sixes. The target is 60 s on two
cores for all 1,440 places; here it is that of one.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import product
from time import process_time

import numpy as np

from leakcap.disclosure import (
    CellKey,
    PerturbationTable,
    TableSet,
    WholeSet,
    all_margins,
    most_entropic_table,
)

SHAPE, COLUMNS = (12, 20, 6), ("a", "b", "c")


def table(keys: int) -> PerturbationTable:
    """Of most entropy, its shares rounded to so many keys as to 256."""
    rows = most_entropic_table(5, 3).rows
    rounded = [
        tuple((value, Fraction(round(float(share) * 256), 256)) for value, share in row) for row in rows
    ]
    kept = [
        tuple(one for place, one in enumerate(row) if not place or one[1] > row[place - 1][1])
        for row in rounded
    ]
    return PerturbationTable(tuple(tuple(one for one in row if one[1] > 0) for row in kept))


def main(keys: int, draws: int, places: int) -> None:
    """Print a line for each place."""
    generator = np.random.default_rng(0)
    counts = generator.poisson(6, int(np.prod(SHAPE))).tolist() if places else [6] * int(np.prod(SHAPE))
    values = np.array(list(product(*map(range, SHAPE)))).T.tolist()
    tables = TableSet.of_columns(counts, dict(zip(COLUMNS, values, strict=True)), all_margins(COLUMNS))
    whole = WholeSet(CellKey(table(keys)), tables, keys)
    full = [kind for kind, count in enumerate(counts) if count]
    for kind in generator.choice(full, places, replace=False).tolist() if places else [0]:
        proved = whole.at(kind).success()
        start = process_time()
        found = whole.at(kind, draws=draws).success()
        took = process_time() - start
        ends = [f"{one.lower:.4f} to {one.upper:.4f}" for one in (proved, found)]
        print(
            f"{keys} keys, place {kind} with {counts[kind]} others: {ends[0]}; by {draws:,} draws {ends[1]}, "
            f"{took:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    given = [int(one) for one in sys.argv[1:]]
    main(*(given + [256, 20_000, 0][len(given) :]))
