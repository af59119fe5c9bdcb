"""What is asked of a table and of its neighbours, and what no hostile row may change."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from attacks_on_release.enumerated import queries
from leakcap.errors import DataError
from leakcap.policy.declared import Column
from leakcap.release import Engine
from leakcap.release.columns.cells import Axis, Cells
from leakcap.release.columns.derived import typed_column
from leakcap.release.engine.beforehand import check_schema
from leakcap.release.measurements.measurement import Measurement, NoisyMeasurement
from leakcap.release.plan import Plan
from leakcap.release.planning.plan import used_columns
from leakcap.release.planning.scan import _sort
from leakcap.release.planning.statements import select_of
from leakcap.release.statistics import statistics
from release.world import policy_of

__all__ = ["Totals", "moved", "outcome", "plans"]

Totals = dict[tuple[Any, ...], tuple[int, ...]]
COLUMNS: dict[str, Any] = {
    "x": {"bounds": [-3.0, 10.0]},
    "y": {"bounds": [2.0, 8.0], "fill": 5.0},
    "z": {"bounds": "unknown"},
    "d": {"keys": ["a", "b", "1"]},
    "k": {"keys": [1, 2]},
    "f": {"keys": [True, False]},
    "s": {"keys": "private"},
}
SHAPES: list[dict[str, Any]] = [
    {},
    {"by": ("k",)},
    {"by": ("d",), "where": "x > 1 OR d <> 'a'"},
    {"by": ("f",), "where": "NOT (k = 2) AND s <> 'b'"},
    {"by": ("s",), "delta": 1e-6},
    {"by": ("s",), "delta": 1e-6, "where": "d = 'b' OR x IS NULL"},
]
# Rows are the units, or people of whom two rows are used.
UNITS: dict[str, Any] = {"rows": "row", "people": {"id": "id", "max_rows": 2}}


@functools.cache
def plans(unit: str, turn: int) -> list[Plan]:
    """A plan of every statistic that there is; its keys and its condition change with the turn."""
    policy = policy_of(columns=COLUMNS, unit=UNITS[unit], caps={"epsilon": 100.0, "delta": 0.1})
    found = []
    for place, statistic in enumerate(statistics().values()):
        start = (turn + place) % len(SHAPES)
        each = (queries(statistic, shape, policy) for shape in SHAPES[start:] + SHAPES[:start])
        made = list(itertools.islice(itertools.chain.from_iterable(each), 1))
        assert made or (statistic.of_people and unit == "rows"), statistic.name
        found += made
    return found


def outcome(engine: Engine, plan: Plan) -> str:
    """The refusal, or nothing where the plan is not refused."""
    try:
        check_schema(engine.columns(), used_columns(plan), plan.policy)
    except DataError as error:
        return str(error)
    return ""


def asked(engine: Engine, asked_: Sequence[Plan], copies: int) -> Iterator[tuple[Plan, list[Totals]]]:
    """For each plan the exact totals of the cells of each copy, by the column `copy`, in few statements."""
    alike: dict[object, list[Plan]] = {}
    for plan in asked_:
        alike.setdefault(_sort(plan), []).append(plan)
    for group in alike.values():
        together = [_split(plan, copies) for plan in group]
        found: list[list[Totals]] = [[{} for _ in range(copies)] for _ in group]
        width = len(group[0].cells.axes)
        for copy, *rest in engine.run(engine.write(select_of(together, "5eed"))).rows():
            cell, sums = tuple(rest[:width]), rest[width:]
            for place, plan in enumerate(group):
                mine, sums = sums[: len(plan.parts)], sums[len(plan.parts) :]
                found[place][copy][cell] = tuple(int(one) for one in mine)
        yield from zip(group, found, strict=True)


def _split(plan: Plan, copies: int) -> Plan:
    labels = tuple(range(copies))
    columns = {**plan.policy.columns, "copy": Column(keys=labels)}
    policy = plan.policy.model_copy(update={"columns": columns})
    axis = Axis("copy", typed_column("copy", policy), dict(zip(labels, labels, strict=True)), "integer")
    return replace(plan, policy=policy, cells=Cells((axis, *plan.cells.axes)))


def moved(plan: Plan, one: Totals, other: Totals) -> list[tuple[Measurement, int]]:
    """For each part how far apart the exact totals are, over all cells that either table has."""
    nothing = (0,) * len(plan.parts)
    cells = one.keys() | other.keys()
    return [
        (part, sum(abs(one.get(cell, nothing)[i] - other.get(cell, nothing)[i]) for cell in cells))
        for i, part in enumerate(plan.parts)
    ]


def allowed(part: Measurement, plan: Plan) -> int:
    """What one unit may move: the sensitivity that is priced, or where bins are chosen, its rows."""
    return part.sensitivity if isinstance(part, NoisyMeasurement) else plan.policy.rows_per_unit
