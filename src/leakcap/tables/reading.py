"""The exact counts of all tables, by statements that every engine runs: `GROUP BY GROUPING SETS`.

Tables are gathered in larger ones, of which they are margins. An engine keeps the cells of all sets of a
statement at once, DuckDB some MiB for each: 4,950 sets in one statement ran out of memory. So each reading
counts as many sets as twelve columns have pairs. Each sees one state of the data: where several are needed,
these must not change meanwhile, which the manual says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from leakcap.release.columns.typed import aliased, column
from leakcap.release.engine import Engine, SqlStatement
from leakcap.release.engine.beforehand import check_schema
from leakcap.release.numbers.exact_integers import exact_integers
from leakcap.release.planning.plan import columns_in, used_columns
from leakcap.release.planning.statements import rows_of
from leakcap.tables.gathering import gathered
from leakcap.tables.question import PlannedTables
from leakcap.tables.residuals import Integers, margins_counted
from leakcap.tables.workload import Places

__all__ = ["TablesStatement", "check_columns", "counts_of", "statements_of_tables"]

_AT_ONCE = 66


@dataclass(frozen=True, eq=False)
class TablesStatement:
    """One statement, and the tables that it counts: those that were asked for, or larger ones."""

    tables: tuple[Places, ...]
    statement: SqlStatement


def statements_of_tables(planned: PlannedTables, engine: Engine, seed: str = "") -> list[TablesStatement]:
    """Readings of the rows that count, each for some of the tables. `seed` is the ledger's, for units with
    too many rows.

    A row that has no public key in one of the columns is left out before rows are added up, so that NULL
    stands for nothing but a column that a table lacks.
    """
    tables = gathered(_with_listed(planned), _sizes(planned))
    some = [tuple(tables[start : start + _AT_ONCE]) for start in range(0, len(tables), _AT_ONCE)]
    return [TablesStatement(one, engine.write(_tree(planned, one, seed))) for one in some]


def _with_listed(planned: PlannedTables) -> list[Places]:
    """The tables that are no margins of others, as columns of the policy: each inner column with the outer
    ones, and where pairs are listed all of their columns in every table, so that all are about the same rows.
    """
    workload, names = planned.plan.workload, list(planned.plan.workload.columns)
    told = {name for name, own in planned.nested.items() if own.listed}
    always = {names.index(one) for name in told for one in planned.nested[name].columns}
    down = workload.chains.down_to
    found = [
        tuple(sorted(always.union(one for place in table for one in down(place))))
        for table in planned.maximal
    ]
    return list(dict.fromkeys(found))


def _sizes(planned: PlannedTables) -> list[int]:
    """By how many a column multiplies the cells of a table: a nested one by what lies within one key."""
    workload, outer = planned.plan.workload, planned.plan.workload.chains.outer
    sizes = workload.sizes
    return [math.ceil(size / sizes[outer[i]]) if i in outer else size for i, size in enumerate(sizes)]


def _tree(planned: PlannedTables, tables: Sequence[Places], seed: str) -> exp.Select:
    codes = [column(f"k{place}") for place in range(len(planned.axes))]
    chosen = [aliased(axis.tree.copy(), code.name) for axis, code in zip(planned.axes, codes, strict=True)]
    ones = [] if chosen else [aliased(exp.Literal.number(1), "v0")]
    rows = rows_of(planned.counted, [*chosen, *ones], seed)
    counted = aliased(exp.Count(this=exp.Star()), "t0")
    shown = [codes[place].copy() for place in _used(tables)]
    outer = exp.Select(expressions=[*shown, counted])
    outer = outer.from_(rows.subquery("cells", copy=False), copy=False)
    for axis, code in zip(planned.axes, codes, strict=True):
        outer = outer.where(axis.listed(code.copy()), copy=False)
    if shown:
        sets: list[exp.Expression] = [
            exp.Tuple(expressions=[codes[place].copy() for place in table]) for table in tables
        ]
        outer.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=sets)]))
    return outer


def _used(tables: Sequence[Places]) -> list[int]:
    """The columns that some of these tables have."""
    return sorted({place for table in tables for place in table})


def counts_of(
    planned: PlannedTables, statements: Sequence[TablesStatement], engine: Engine
) -> dict[Places, Integers]:
    """The exact counts of every table of the closure. They are not private yet."""
    counts: dict[Places, Integers] = {}
    for one in statements:
        counts |= _counted(planned, one, engine)
    return margins_counted(planned.plan.workload, counts)


def _counted(planned: PlannedTables, some: TablesStatement, engine: Engine) -> dict[Places, Integers]:
    *codes, totals = engine.run(some.statement).arrays
    own = {
        place: planned.axes[place].places(code) for place, code in zip(_used(some.tables), codes, strict=True)
    }
    number = exact_integers(totals).astype(np.int64)
    chains, columns = planned.plan.workload.chains, list(planned.plan.workload.columns)
    counts: dict[Places, Integers] = {}
    for table in some.tables:
        mine = np.ones(len(number), dtype=bool)
        for place, places in own.items():
            mine &= (places >= 0) == (place in table)
        # An inner column says the outer ones; a pair that is not listed is in no cell.
        heads, found = chains.innermost(table), []
        for place in heads:
            line = chains.down_to(place)
            keys = [own[one][mine] for one in line]
            if columns[place] in planned.nested:
                axes = [planned.axes[one] for one in line]
                found.append(planned.nested[columns[place]].places(axes, keys))
            else:
                found.append(keys[0])
        listed = np.ones(int(mine.sum()), dtype=bool)
        for keys_found in found:
            listed &= keys_found >= 0
        cells = np.zeros(tuple(planned.plan.workload.sizes[place] for place in heads), dtype=np.int64)
        rows = number[mine][listed]
        cells[tuple(one[listed] for one in found)] = rows if table else rows.sum()
        counts[heads] = cells
    return counts


def check_columns(planned: PlannedTables, engine: Engine) -> None:
    """Raise `DataError` where a column is missing or cannot be read, from the schema alone."""
    keys = columns_in([axis.tree for axis in planned.axes], planned.policy)
    check_schema(engine.columns(), (*used_columns(planned.counted), *keys), planned.policy)
