"""How much the policy's bound on rows cuts: people over it, and their rows that are left out."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from leakcap.arrays import np
from leakcap.errors import InvalidQuery
from leakcap.release.columns.typed import ReadColumn, column
from leakcap.release.measurements.aggregates import People, RowCount
from leakcap.release.measurements.measurement import measured
from leakcap.release.measurements.sensitivity import Contribution, Presence
from leakcap.release.numbers.answers import Answers, Labels, nested, rows_listed
from leakcap.release.numbers.exact_integers import ExactIntegers, doubles, exact_integers, plus
from leakcap.release.plan import Plan, QueryContext
from leakcap.release.query import QueryFields
from leakcap.release.statistics.base import Expected, Statistic, require

__all__ = ["CUT", "RowsCut"]

CUT = "cut"
_PEOPLE, _ROWS = "people", "rows"
MOST = 10**6


class RowsCut(Statistic):
    """People who have more rows than an answer uses, and how many of their rows it leaves out.

    Of each person `up_to` rows are looked at. Under add/remove-one a person is then one person over the limit
    at most, and `up_to` less `max_rows` rows: without such a bound one person could add any number of rows,
    and no noise would hide that.
    """

    name: ClassVar[str] = "rows_cut"
    from_zero: ClassVar[bool] = True
    fields: ClassVar[frozenset[str]] = frozenset({"up_to"})
    a_row_a_group: ClassVar[bool] = False
    of_people: ClassVar[bool] = True

    @property
    def label(self) -> str:
        """The name as it stands in a sentence."""
        return "count of rows cut"

    def check(self, query: QueryFields) -> None:
        """`up_to` must be given, and `cut` must not be the name of a key column."""
        given = query.up_to is not None and 2 <= query.up_to <= MOST
        require(given, "up_to", query.name, f"be from 2 to {MOST:,}: more rows than anybody is known to have")
        require(
            CUT not in query.by, "by", query.name, f"not name `{CUT}`, which the answer's rows are called"
        )

    def plan(self, asked: QueryContext) -> Plan:
        """A quarter of the offer counts people, the rest their rows, which move further."""
        query, policy, cells = asked.query, asked.policy, asked.cells
        if policy.id_column is None:
            raise InvalidQuery(
                f"Query `{query.name}` counts rows that are cut, but the policy's unit is a row: none is. "
                "Leave it out."
            )
        used = policy.groups_per_unit if query.by else policy.rows_per_unit
        rule = f"be more than the {policy.rows_per_unit:,} rows of a person that are used"
        require((query.up_to or 0) > policy.rows_per_unit, "up_to", query.name, rule, f"Got {query.up_to}.")
        most = (query.up_to or 0) - used
        presence = Presence(0, 1, min(most, cells.size), cells.size)
        contribution = Contribution(1, 1, most, cells.size)
        people = measured(_PEOPLE, People(), presence, asked.offer / 4, one_hot=True)
        rows = measured(_ROWS, RowCount(), contribution, asked.offer / Fraction(4, 3), one_hot=True)
        id_ = ReadColumn(this=column(policy.id_column), kind="id")
        return asked.plan([people, rows], values=[id_], beyond=most)

    def labels(self, plan: Plan) -> Labels:
        """The keys, then what is counted."""
        inner = rows_listed([{CUT: _PEOPLE}, {CUT: _ROWS}])
        return nested(super().labels(plan), plan.cells.size, inner, 2)

    def answers(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> Answers:
        """The noisy integers, people and rows in turn, and what the noise may have added or taken off."""
        people, rows = noisy
        order = np.arange(2 * len(rows)).reshape(2, -1).T.ravel()
        both = np.concatenate([people, rows])[order]
        errors = [part.error(0.05) for part in plan.parts]
        off = exact_integers(errors * len(rows))
        return Answers(both, doubles(plus(both, -off)), doubles(plus(both, off)))

    def expected(self, plan: Plan) -> Expected:
        """How far the noise of the rows goes; that of the people goes less far."""
        people, rows = (part.error(0.05) for part in plan.parts)
        each = ", for each group" if plan.cells.size > 1 else ""
        return Expected(float(rows), remark=f"rows, and ± {people:,} people{each}")

    def prior_error(self, plan: Plan) -> float | None:
        """Half of all rows that can be cut."""
        units, rows = plan.policy.units, plan.parts[1].contribution.rows
        return None if units is None else units * rows / 2
