"""What a generator is fitted to: released residuals as shares of the total, each with its own variance.

Residuals of different tables have independent noise (`leakcap.tables.plan`), so that the squared misfit over
the variance, added up over tables, is the noise's own log-likelihood: no covariance is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import InvalidQuery
from leakcap.tables import ReleasedTables
from leakcap.tables.question import PlannedTables
from leakcap.tables.residuals import residual_integers
from leakcap.tables.workload import Places

__all__ = ["COMPONENTS", "Doubles", "Target", "check_fits", "released_total", "residual_targets"]

Doubles = NDArray[np.float64]

COMPONENTS = 100
"""Products in a mixture: more follow the noise, and cost time; fewer cannot follow the tables."""
_MOST_KEYS = 3_000
"""Keys of all columns together: all pairs of them are one matrix."""
_MOST_SPREAD = 10**6
"""Cells of a table of three or more columns, its largest column aside: of each component these are kept."""


@dataclass(frozen=True)
class Target:
    """The residual of a table as shares of the released total, and the precision 1/variance of each number.

    `freedom` is how many dimensions it has: what the squared misfit over the variance is on average, for the
    exact table.
    """

    table: Places
    values: Doubles
    precision: float
    freedom: int


def check_fits(planned: PlannedTables) -> None:
    """Raise `InvalidQuery` where the tables are too large to fit a generator to, or have no column.

    Known from the policy and the question, so that it is said before anything is paid.
    """
    workload = planned.plan.workload
    name = f"Microdata from tables `{planned.question.name}`"
    if not workload.columns:
        raise InvalidQuery(f"{name} must have a column. Ask for a table that has one.")
    for column, own in workload.within.items():
        raise InvalidQuery(
            f"{name} must have all pairs of keys as cells, and `{column}` lies within `{own.outer}`. Ask for "
            "the tables with `nested = false`."
        )
    for column, kind in workload.kinds.items():
        raise InvalidQuery(
            f"{name} must have cells alone, and these are asked by {kind} of `{column}`. Ask without "
            f"`{kind}`: ranges of the file are counted as everything else."
        )
    keys = sum(workload.sizes)
    if keys > _MOST_KEYS:
        raise InvalidQuery(
            f"{name} must have no more than {_MOST_KEYS:,} keys in all columns together. Got {keys:,}. "
            "Ask for fewer columns, or for columns with fewer keys."
        )
    for table in planned.maximal:
        spread = workload.cells_of(table) // max((workload.sizes[place] for place in table), default=1)
        if len(table) > 2 and spread * COMPONENTS > _MOST_SPREAD * 10:
            columns = ", ".join(f"`{one}`" for one in workload.named(table))
            raise InvalidQuery(
                f"{name} must have tables of three or more columns with no more than "
                f"{_MOST_SPREAD * 10 // COMPONENTS:,} cells, the largest column aside. Got {spread:,} for "
                f"{columns}. Ask for tables of fewer columns."
            )


def released_total(released: ReleasedTables) -> float:
    """The released number of rows, and 1 where the noise has made it less."""
    return max(float(released.table().values), 1.0)


def residual_targets(released: ReleasedTables) -> list[Target]:
    """The residuals of all tables with a column, as shares.

    Ξy/N² is the estimate of the residual C·t: the noise of y has the variance s², that of Ξy/N² has
    s²/N² in every direction of the residual space.
    """
    workload, total = released.plan.workload, released_total(released)
    found = []
    for table, variance in released.plan.variances.items():
        if not table:
            continue
        cells = workload.cells_of(table)
        exact = residual_integers(np.asarray(released.integers[table], dtype=object))
        values = np.array([number / cells**2 for number in np.ravel(exact)], dtype=np.float64) / total
        shape = tuple(workload.sizes[place] for place in table)
        freedom = math.prod(size - 1 for size in shape)
        precision = cells**2 * total**2 / float(variance)
        found.append(Target(table, values.reshape(shape), precision, freedom))
    return found
