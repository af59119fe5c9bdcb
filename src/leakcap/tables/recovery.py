"""From the tables of a record back to the noisy integers that all of them are functions of.

The estimates t̂ of a table A and the integers y of its residual have N_A·D·t̂ = D·y, D the differences from the
first key along each axis: what smaller tables add is constant along an axis and falls out. D·y stands for y:
Ξ·D·y = Ξ·y, and everything that is told of y is a function of Ξ·y. Along an ordered column y = Ξ·t̂ itself,
along a nested one differences are from the first sibling, and k_p·n_p times as large.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from leakcap.errors import InvalidParameter
from leakcap.tables.answer import ReleasedTables
from leakcap.tables.charge import charge_of_tables
from leakcap.tables.nested.level import Level
from leakcap.tables.question import PlannedTables
from leakcap.tables.residuals import Integers, bases_of
from leakcap.tables.workload import Places

__all__ = ["recovered_tables"]

_EXACT = 2.0**50
"""Doubles below have the digits that tell a whole number from the next."""


def recovered_tables(
    planned: PlannedTables, values: Mapping[Places, Sequence[float]], entry: int
) -> ReleasedTables:
    """What was released, from the estimates of every table of the closure; `entry` is its charge's.

    Raises `InvalidParameter` where no whole numbers have these estimates to within the digits of a double.
    Whether they were ever released nobody can tell from them.

    >>> import pyarrow
    >>> from leakcap import PrivateTable
    >>> from leakcap.tables import TablesQuestion, release_tables
    >>> people = pyarrow.table({"sex": ["f", "m"] * 500, "ward": ["a", "a", "b", "b"] * 250})
    >>> policy = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0, "delta": 1e-6},
    ...     "columns": {"sex": {"keys": ["f", "m"]}, "ward": {"keys": ["a", "b"]}}}
    >>> with PrivateTable(people, policy=policy, ledger="sqlite://") as private:
    ...     found = release_tables(private, TablesQuestion(columns=("sex", "ward"), ways=2, rho=0.01))
    >>> plan = found.plan
    >>> names = {table: plan.workload.named(table) for table in plan.workload.closure}
    >>> told = {table: found.table(*own).values.ravel() for table, own in names.items()}
    >>> again = recovered_tables(found.planned, told, found.entry)
    >>> all((again.table(*one).values == found.table(*one).values).all() for one in plan.workload.names)
    True
    """
    workload, found = planned.plan.workload, dict[Places, Integers]()
    for table in planned.plan.variances:
        bases = bases_of(workload, table)
        apart = np.array(values[table], dtype=np.float64).reshape([one.size for one in bases])
        wide = (one.stretch if one.off or isinstance(one, Level) else 2 * one.size for one in bases)
        grown = max(math.prod(wide), 1)
        grown *= workload.grain(table)
        if not bool((np.abs(apart) < _EXACT / float(grown)).all()):
            raise _unsound()
        cells = workload.grain(table)
        for axis, basis in enumerate(bases):
            if isinstance(basis, Level):
                apart = basis.differences(apart, axis)
                continue
            apart = basis.forward(apart, axis) if basis.off else apart - apart.take([0], axis)
            cells *= 1 if basis.off else basis.size
        scaled = apart * cells
        whole = np.rint(scaled)
        if not bool((np.abs(scaled - whole) < 0.25).all()):
            raise _unsound()
        found[table] = whole.astype(np.int64)
    return ReleasedTables(planned, found, charge_of_tables(planned).spend, entry, repeated=True)


def _unsound() -> InvalidParameter:
    return InvalidParameter(
        "The tables of a record must be estimates that whole noisy numbers have, each times its cells of "
        "fewer than 2⁵⁰. Those given are not: the record was edited. The command that wrote it makes it anew."
    )
