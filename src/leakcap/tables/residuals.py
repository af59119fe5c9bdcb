"""Residuals on integers: what is released, and the margins that follow from it.

Of a table A with counts t_A the integers Ξ_A·t_A are released, each with discrete Gaussian noise of its own,
Ξ_A = ⊗(n_i·I − 11ᵀ), or for an ordered column the matrix of its strategy (`ordered/`). Everything else is
a function of these. All is done in integers of 64 bits, which wrap around: so what comes out is the exact
noisy integer modulo 2⁶⁴, a function of it, however large a count is.

Source: Xiao, He, Zhang & Kifer 2023, section 7; Canonne, Kamath & Steinke 2020 for the noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.sampling import ByteSource, discrete_gaussian
from leakcap.tables.nested.level import Level
from leakcap.tables.ordered.basis import basis_of
from leakcap.tables.ordered.protocol import Basis
from leakcap.tables.plan import ResidualPlan
from leakcap.tables.workload import Places, Workload

__all__ = [
    "Integers",
    "bases_of",
    "covariance",
    "margin_of",
    "margins_counted",
    "noisy_residuals",
    "residual_integers",
]

Integers = NDArray[np.int64]


def residual_integers(counts: NDArray[Any], bases: Sequence[Basis | Level] | None = None) -> NDArray[Any]:
    """Ξ·counts for an array with an axis for each column: n·x − Σx along each, or as the `bases` say.

    >>> residual_integers(np.array([[3, 1], [0, 2]])).tolist()
    [[4, -4], [-4, 4]]
    """
    found = np.asarray(counts)
    own = [basis_of(None, size, 1) for size in found.shape] if bases is None else list(bases)
    for axis, basis in enumerate(own):
        found = basis.forward(found, axis)
    return found


def bases_of(workload: Workload, table: Places) -> list[Basis | Level]:
    """What the columns of a table are released as."""
    return [workload.bases[place] for place in table]


def margins_counted(workload: Workload, counts: Mapping[Places, Integers]) -> dict[Places, Integers]:
    """The counts of every table of the closure, from those of tables of which all others are margins.

    >>> pairs = Workload.of_ways({"sex": 2, "age": 2}, 2)
    >>> found = margins_counted(pairs, {(0, 1): np.array([[3, 1], [0, 2]])})
    >>> {table: one.tolist() for table, one in found.items()}
    {(): 6, (0,): [4, 2], (1,): [3, 3], (0, 1): [[3, 1], [0, 2]]}
    """
    found: dict[Places, Integers] = {}
    wanted = set(workload.closure)
    for table, cells in counts.items():
        for part in workload.margins(table):
            if part in wanted and part not in found:
                found[part] = workload.summed(table, cells.astype(np.int64), part)
    return {table: found[table] for table in workload.closure}


def noisy_residuals(
    plan: ResidualPlan, counts: Mapping[Places, Integers], source: ByteSource
) -> dict[Places, Integers]:
    """What is released: for each table with noise its residual integers plus that noise.

    `counts` has the counts of every table of the closure. Costs `plan.rho`.
    """
    released: dict[Places, Integers] = {}
    for table, variance in plan.variances.items():
        exact = plan.workload.grain(table) * residual_integers(
            counts[table].astype(np.int64), bases_of(plan.workload, table)
        )
        noise = discrete_gaussian(variance, exact.size, source).reshape(exact.shape)
        released[table] = np.asarray(exact + noise)
    return released


def margin_of(
    workload: Workload, released: Mapping[Places, Integers], table: Places
) -> tuple[NDArray[np.object_], int]:
    """The best linear estimates of a table's counts, as whole numerators over one denominator.

    t̂_B = Σ_{A⊆B} Ξ_A·y_A/(N_A·N_B), each residual spread evenly over the columns that A lacks; of ordered
    columns L·y, spread as u says. Estimates of all tables agree exactly in their common margins.

    >>> pairs = Workload.of_ways({"sex": 2, "age": 2}, 2)
    >>> counts = margins_counted(pairs, {(0, 1): np.array([[3, 1], [0, 2]])})
    >>> exact = {table: residual_integers(one) for table, one in counts.items()}
    >>> top, bottom = margin_of(pairs, exact, (0, 1))
    >>> (top // bottom).tolist()
    [[3, 1], [0, 2]]
    """
    shape = tuple(workload.sizes[place] for place in table)
    total, grains = np.zeros(shape, dtype=object), workload.grain(())
    for part in workload.margins(table):
        if part in released:
            own = np.asarray(released[part]).astype(object)
            ways = workload.ways(table, part)
            # An axis of one place for each column of which a total is spread.
            sizes = iter(own.shape)
            own = own.reshape([next(sizes) if way.heard else 1 for way in ways])
            for axis, way in enumerate(ways):
                own = way.back(own, axis)
            total = total + own * (grains // workload.grain(part))
    bottom = grains * math.prod(way.bottom for way in workload.ways(table, ()))
    return np.asarray(total, dtype=object), bottom


def covariance(plan: ResidualPlan, first: tuple[Places, Places], second: tuple[Places, Places]) -> Fraction:
    """The covariance of two estimated cells, each a table and the place of its key in each column.

    Σ_A s_A²/N_A²·∏_{i∈A}(δ − 1/n_i) over the tables A that are margins of both, spread over what A lacks.
    Of ordered columns with the rounded L and u that estimates are made with: see `widths.inflated`.

    >>> plan = ResidualPlan.of(Workload.of({"sex": 2}, [["sex"]]), 0.02)
    >>> [round(float(covariance(plan, ((0,), (0,)), ((0,), (k,)))), 1) for k in (0, 1)]
    [25.0, 0.0]
    """
    (one, here), (other, there) = first, second
    workload, found = plan.workload, Fraction(0)
    for part in sorted(set(workload.margins(one)).intersection(workload.margins(other))):
        if part not in plan.variances:
            continue
        own = list(zip(workload.ways(one, part), here, strict=True))
        beside = list(zip(workload.ways(other, part), there, strict=True))
        shared = plan.noise(part)
        for way, key in (pair for pair in (*own, *beside) if not pair[0].heard):
            shared *= way.shared(key, way, key)
        heard, again = ([pair for pair in pairs if pair[0].heard] for pairs in (own, beside))
        for (way, key), (other_way, place) in zip(heard, again, strict=True):
            shared *= way.shared(key, other_way, place)
        found += shared
    return found
