"""Counts of people: units that have a row."""

from __future__ import annotations

from typing import ClassVar

from leakcap.errors import InvalidQuery
from leakcap.release.columns.typed import ReadColumn, column
from leakcap.release.measurements.aggregates import People
from leakcap.release.measurements.measurement import measured
from leakcap.release.measurements.sensitivity import Presence
from leakcap.release.plan import Plan, QueryContext
from leakcap.release.statistics.counts import IntegerStatistic

__all__ = ["Distinct"]


class Distinct(IntegerStatistic):
    """How many units have a row that counts; in groups a unit is in so many as the policy allows."""

    name: ClassVar[str] = "distinct"
    fields: ClassVar[frozenset[str]] = frozenset()
    of_people: ClassVar[bool] = True

    @property
    def label(self) -> str:
        """The name as it stands in a sentence."""
        return "count of people"

    def plan(self, asked: QueryContext) -> Plan:
        """An id counts once in each of its cells. No row is left out where nobody can be in too many cells:
        without groups, or with few.
        """
        policy, cells = asked.policy, asked.cells
        if policy.id_column is None:
            raise InvalidQuery(
                f"Query `{asked.query.name}` counts people, but the policy's unit is a row. "
                "Count rows, or give the policy a unit with an `id`."
            )
        presence = Presence(0, 1, min(policy.groups_per_unit, cells.size), cells.size)
        people = measured("people", People(), presence, asked.offer, one_hot=True)
        id_ = ReadColumn(this=column(policy.id_column), kind="id")
        # With all its rows a unit adds 1 to each of its cells, and they are no more than the price is for.
        return asked.plan([people], values=[id_], bounded=cells.size > policy.groups_per_unit)

    def prior_error(self, plan: Plan) -> float | None:
        """Half of all units."""
        units = plan.policy.units
        return None if units is None else units / 2
