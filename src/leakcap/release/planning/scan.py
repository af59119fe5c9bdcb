"""Several statistics from one reading of the table.

Plans over the same cells and the same condition are answered by one statement, which returns the totals of
all of them side by side. What each plan gets, and what noise is added to it, is the same as if it were alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from numpy.typing import NDArray

from leakcap.release.conditions.condition import to_text
from leakcap.release.engine import Engine, SqlStatement
from leakcap.release.numbers.exact_integers import ExactIntegers
from leakcap.release.plan import Plan
from leakcap.release.planning.plan import codes_of, in_order, read_totals
from leakcap.release.planning.statements import select_of
from leakcap.release.query import QueryFields

__all__ = ["Scan", "scans_of"]


class Found(NamedTuple):
    """The codes of the cells that came back, and for each part the exact total of every cell: of all, where
    keys are public. Neither is private yet.
    """

    codes: tuple[NDArray[Any], ...]
    totals: list[ExactIntegers]


@dataclass(frozen=True)
class Scan:
    """One statement, the plans that it answers, and for each of them its places in a batch."""

    places: tuple[tuple[int, ...], ...]
    plans: tuple[Plan, ...]
    statement: SqlStatement

    def run(self, engine: Engine) -> dict[int, Found]:
        """For each place the exact totals of the plan's parts, cell by cell. They are not private yet."""
        first = self.plans[0]
        columns = in_order(first, engine.run(self.statement))
        codes, before = codes_of(first, columns), 0
        cells = None if first.cells.open else first.cells.places(codes)
        totals: dict[int, Found] = {}
        for places, plan in zip(self.places, self.plans, strict=True):
            found = Found(codes, read_totals(plan, columns, cells, before=before))
            totals |= dict.fromkeys(places, found)
            before += len(plan.parts)
        return totals


def scans_of(plans: Sequence[Plan], engine: Engine, seed: str = "") -> list[Scan]:
    """The plans in as few statements as can be, written out for this engine. Touches no rows.

    >>> import pyarrow
    >>> from leakcap.release import Query, attach, load_policy
    >>> from leakcap.release.planning.plan import plan_query
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"age": {"bounds": [0.0, 128.0]}}})
    >>> plans = [plan_query(Query(name=s, statistic=s, column=c, epsilon=0.5), policy)
    ...     for s, c in (("count", None), ("sum", "age"))]
    >>> engine = attach(pyarrow.table({"age": [31.0, 45.0]}))
    >>> [scan.places for scan in scans_of(plans, engine)]
    [((0,), (1,))]
    """
    scans: dict[object, dict[QueryFields, list[int]]] = {}
    for place, plan in enumerate(plans):
        same = replace(plan.query, name="any")
        scans.setdefault(_sort(plan), {}).setdefault(same, []).append(place)
    return [
        _scan([tuple(places) for places in alike.values()], plans, engine, seed) for alike in scans.values()
    ]


def _scan(places: Sequence[tuple[int, ...]], plans: Sequence[Plan], engine: Engine, seed: str) -> Scan:
    chosen = tuple(plans[same[0]] for same in places)
    return Scan(tuple(places), chosen, engine.write(select_of(chosen, seed)))


def _sort(plan: Plan) -> object:
    """What plans must have in common to share a statement."""
    condition = None if plan.condition is None else to_text(plan.condition)
    axes = tuple((axis.column, axis.kind, tuple(axis.labels.items()), axis.tree) for axis in plan.cells.axes)
    by = len(plan.query.by) if plan.policy.groups_per_unit < plan.policy.rows_per_unit else 0
    return condition, axes, plan.bounded, plan.beyond, by, plan.query.join, plan.people_from
