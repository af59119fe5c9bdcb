"""The exact counts of all periods so far, by one statement that every engine runs.

Of people with more rows than the policy uses the first ones count, by period. At each step all periods until
then are read again, so the choice must not be taken back: with rows chosen by a hash alone a person would
count with other rows after every step, and with more than were paid for. Rows in the order of their periods
only ever make place for earlier ones, which move less. Rows of one period are taken in the order of a keyed
hash. The proof is in `docs/theory/running.md`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from leakcap.release.columns.cells import Cells
from leakcap.release.columns.typed import ReadColumn, aliased, column, literal
from leakcap.release.engine import Engine, SqlStatement
from leakcap.release.engine.base import in_one_state
from leakcap.release.engine.beforehand import check_schema
from leakcap.release.numbers.exact_integers import exact_integers
from leakcap.release.planning.plan import columns_in, used_columns
from leakcap.release.planning.statements import rows_of
from leakcap.release.planning.windows import ROWS, keyed, window
from leakcap.running.question import PlannedRunningCount

__all__ = ["check_running_columns", "running_counts", "running_statement"]

_PERIOD, _PERSON, _ORDER, _PLACE = "k0", "person", "start", "place"


def running_statement(
    planned: PlannedRunningCount, engine: Engine, steps: int, seed: str = ""
) -> SqlStatement:
    """The statement that counts the first so many periods; `seed` is the ledger's."""
    return engine.write(_tree(planned, steps, seed))


def _tree(planned: PlannedRunningCount, steps: int, seed: str) -> exp.Select:
    codes = [column(f"k{place}") for place in range(len(planned.axes) + 1)]
    trees = [planned.period.tree, *(axis.tree for axis in planned.axes)]
    chosen: list[exp.Expression] = [
        aliased(tree.copy(), code.name) for tree, code in zip(trees, codes, strict=True)
    ]
    unit = planned.policy.id_column
    listed = _listed(planned, codes, steps)
    if unit is None:
        inner = rows_of(planned.counted, chosen, seed).subquery("cells", copy=False)
        rows = exp.Select(expressions=[one.copy() for one in codes]).from_(inner, copy=False)
        rows = rows.where(*listed, copy=False)
    else:
        rows = _first_rows(planned, chosen, codes, listed, seed)
    total = aliased(exp.Count(this=exp.Star()), "t0")
    outer = exp.Select(expressions=[*(one.copy() for one in codes), total])
    return outer.from_(rows.subquery("counted", copy=False), copy=False).group_by(*codes, copy=False)


def _listed(planned: PlannedRunningCount, codes: list[exp.Column], steps: int) -> list[exp.Expression]:
    """A row's period has been reached, and it has a public key in every column."""
    first, last = (literal(code, "integer") for code in (planned.codes[0], planned.codes[steps - 1]))
    own = [axis.listed(code.copy()) for axis, code in zip(planned.axes, codes[1:], strict=True)]
    return [exp.Between(this=codes[0].copy(), low=first, high=last), *own]


def _first_rows(
    planned: PlannedRunningCount,
    chosen: list[exp.Expression],
    codes: list[exp.Column],
    listed: list[exp.Expression],
    seed: str,
) -> exp.Select:
    """The first `max_rows` rows of each person by period, and none without an id."""
    policy = planned.policy
    unit = ReadColumn(this=column(policy.id_column or ""), kind="id")
    series = [axis.tree.copy() for axis in planned.axes]
    ticket = keyed(unit, series, ROWS, seed)
    inner = [*chosen, aliased(unit.copy(), _PERSON), aliased(ticket, _ORDER)]
    # Not bounded there: rows are chosen below, in another order.
    rows = rows_of(replace(planned.counted, bounded=False), inner, seed)
    known = exp.Not(this=exp.Is(this=column(_PERSON), expression=exp.Null()))
    order = [codes[0], column(_ORDER), *codes[1:]]
    place = aliased(window(exp.RowNumber(), [column(_PERSON)], order), _PLACE)
    ranked = exp.Select(expressions=[*(one.copy() for one in codes), place])
    ranked = ranked.from_(rows.subquery("cells", copy=False), copy=False).where(known, *listed, copy=False)
    few = exp.LTE(this=column(_PLACE), expression=exp.Literal.number(policy.rows_per_unit))
    kept = exp.Select(expressions=[one.copy() for one in codes])
    return kept.from_(ranked.subquery("ranked", copy=False), copy=False).where(few, copy=False)


def running_counts(
    planned: PlannedRunningCount, statement: SqlStatement, steps: int, engine: Engine
) -> NDArray[np.int64]:
    """The exact counts (series, steps). They are not private yet."""
    periods, *codes, totals = in_one_state(engine, lambda: engine.run(statement)).arrays
    cells = Cells(planned.axes)
    counts = np.zeros((cells.size, steps), dtype=np.int64)
    series = cells.places(codes) if codes else np.zeros(len(totals), dtype=np.int64)
    place = periods.astype(np.int64) - planned.codes[0]
    mine = (series >= 0) & (place >= 0) & (place < steps)
    counts[series[mine], place[mine]] = exact_integers(totals)[mine].astype(np.int64)
    return counts


def check_running_columns(planned: PlannedRunningCount, engine: Engine) -> None:
    """Raise `DataError` where a column is missing or cannot be read, from the schema alone."""
    trees = [planned.period.tree, *(axis.tree for axis in planned.axes)]
    read = (*used_columns(planned.counted), *columns_in(trees, planned.policy))
    check_schema(engine.columns(), read, planned.policy)
