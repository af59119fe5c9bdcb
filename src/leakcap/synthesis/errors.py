"""How far the tables of a file are from the released ones, and from the exact ones, for free.

The distance of a file's table from the released one is known. That of the released one from the exact one is
Σ|e| over the cells, where e is Gaussian noise of the covariance C that the plan has, but for 1 in each of the
noises it is made of. Σ|e| is Lipschitz in the noise with a constant L, L² ≤ cells·λ, λ the largest eigenvalue
of C, so that it is above its mean by L·√(2 ln 20) with probability 5 % at most; and its mean is √(2/π) times
the standard deviations added up.

Source: Tsirelson, Ibragimov & Sudakov 1976 for the tail; `docs/theory/tables.md` for the covariance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from leakcap.numeric.rounding import up
from leakcap.synthesis.microdata import Microdata
from leakcap.tables.answer import half_width
from leakcap.tables.plan import ResidualPlan, root_up
from leakcap.tables.widths import chosen_among
from leakcap.tables.workload import Places, margins_of_places

__all__ = ["TableError", "noise_bound", "table_errors"]

_MEAN = 0.7978845608028655
"""√(2/π), above."""
_TAIL = 2.4477468306808166
"""√(2 ln 20), above."""


@dataclass(frozen=True)
class TableError:
    """A table of the file, times `Microdata.weight`, beside what was released.

    `distance` is Σ|file − released| over the cells, in rows. `bound` is no less than Σ|file − exact| with
    probability 95 % or more. `inside` is the share of the cells that lie in the released interval.
    `cramers_v` is the association of the two columns of a pair in the file, from 0 to 1.
    """

    columns: tuple[str, ...]
    distance: float
    bound: float
    inside: float
    cramers_v: float | None


def table_errors(file: Microdata) -> Iterator[TableError]:
    """The errors of every table that was asked for."""
    released = file.generator.released
    plan = released.plan
    for table in plan.workload.weights:
        shown = released.table(*plan.workload.named(table))
        counts = file.counts(*shown.columns)
        scaled = counts * file.weight
        off = np.abs(scaled - shown.values)
        distance = up(float(off.sum()) * (1.0 + 1e-9))
        inside = float((off <= shown.half_width).mean())
        association = cramers_v(counts) if len(table) == 2 else None
        yield TableError(
            shown.columns,
            distance,
            up(distance + noise_bound(plan, table, released.among)),
            inside,
            association,
        )


def noise_bound(plan: ResidualPlan, table: Places, among: int = 1) -> float:
    """Σ|released − exact| over a table's cells is no more, with probability 95 % or more; where one was
    chosen, for all `among` which it was chosen at once."""
    workload = plan.workload
    cells = workload.cells_of(table)
    own = [part for part in margins_of_places(table) if part in plan.variances]
    largest = max(plan.variances[part] / (workload.cells_of(part) * cells) for part in own)
    # The steps of `half_width`, without its normal part.
    steps = float(half_width(plan, [(table, Fraction(1))], Fraction(0)))
    tail = _TAIL if among == 1 else chosen_among(among)
    spread = cells * _MEAN * root_up(plan.variance(table)) + tail * root_up(cells * largest)
    return up((spread + cells * steps) * (1.0 + 1e-9))


def cramers_v(counts: np.ndarray) -> float | None:
    """√(χ²/(n·(k − 1))) of a table of two columns, k the smaller number of keys that occur.

    None where a column has one key only. Source: Cramér 1946.
    """
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    smaller = min(counts.shape)
    if smaller < 2:
        return None
    total = float(counts.sum())
    rows, columns = counts.sum(axis=1) / total, counts.sum(axis=0) / total
    square = float(((counts / total) ** 2 / np.outer(rows, columns)).sum()) - 1.0
    return min(math.sqrt(max(square, 0.0) / (smaller - 1)), 1.0)
