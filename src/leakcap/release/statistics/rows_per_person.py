"""Quantiles of how many rows a person has: what `max_rows` of a policy is chosen by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from leakcap.errors import InvalidQuery
from leakcap.policy.declared import Key
from leakcap.policy.document import Policy
from leakcap.release.columns.cells import Axis, require_few
from leakcap.release.columns.typed import PERSONS_ROWS, column
from leakcap.release.columns.whole import even_bins, place_of
from leakcap.release.measurements.quantiles import MOST_BINS, ranks_of
from leakcap.release.numbers.answers import Number
from leakcap.release.plan import Plan, QueryContext
from leakcap.release.query import QueryFields
from leakcap.release.statistics.base import Asked, Expected, require
from leakcap.release.statistics.quantiles import Quantiles

__all__ = ["RowsPerPerson"]

DEFAULT = (0.95,)
MOST = 10**6


class RowsPerPerson(Quantiles):
    """Quantiles of the number of rows that a person has, among people who have one.

    A person is one number, from 1 to `up_to`, whatever `max_rows` is: so no row is left out for the price.
    Who has more than `up_to` rows counts as having so many. With `by` a person is one number in each group,
    and is in `max_rows` groups at most.
    """

    name: ClassVar[str] = "rows_per_person"
    fields: ClassVar[frozenset[str]] = frozenset({"quantiles", "up_to"})
    of_people: ClassVar[bool] = True

    @property
    def label(self) -> str:
        """The name as it stands in a sentence."""
        return "quantile of the rows of a person"

    def check(self, query: QueryFields) -> None:
        """`up_to` must be given."""
        super().check(self.with_defaults(query))
        given = query.up_to is not None and 2 <= query.up_to <= MOST
        require(
            given, "up_to", query.name, f"be from 2 to {MOST:,}: a number of rows that hardly anybody exceeds"
        )

    def with_defaults(self, query: Asked) -> Asked:
        """The quantile 0.95 unless others are given."""
        return replace(query, quantiles=DEFAULT) if query.quantiles is None else query

    def axes(self, query: QueryFields, policy: Policy, groups: int) -> list[Axis]:
        """How many rows a person has, behind the keys."""
        bins = _bins(query)
        require_few(groups * len(bins), query)
        labels: dict[Key, Key] = {place: f"{first} to {last}" for place, (first, last) in enumerate(bins)}
        # No column of a policy has this name.
        return [Axis("", place_of(column(PERSONS_ROWS), bins), labels, "integer")]

    def plan(self, asked: QueryContext) -> Plan:
        """A person adds one number in each group, and is in so many groups as the policy uses."""
        policy, cells = asked.policy, asked.cells
        if policy.id_column is None:
            raise InvalidQuery(
                f"Query `{asked.query.name}` asks how many rows a person has, but the policy's unit is a "
                "row. Leave it out, or give the policy a unit with an `id`."
            )
        groups = cells.size // len(cells.axes[-1].labels)
        wanted = ranks_of(self.name, asked.query.quantiles)
        parts = self.parts(asked, wanted, min(groups, policy.groups_per_unit))
        return asked.plan(parts, bounded=False, each_person=True)

    def bins(self, plan: Plan) -> Sequence[tuple[Number, Number]]:
        """The first and the last number of rows in each bin."""
        return _bins(plan.query)

    def reads_as(self, query: QueryFields, policy: Policy) -> list[str]:
        """The same under every policy."""
        return []

    def expected(self, plan: Plan) -> Expected:
        """People between the wanted rank and the chosen number."""
        found = super().expected(plan)
        return replace(found, remark=(found.remark or "").replace("rows in rank", "people in rank"))

    def prior_error(self, plan: Plan) -> float | None:
        """A rank is off by max(q, 1 − q) of the people at most, wherever it is guessed."""
        units = plan.policy.units
        wanted = ranks_of(self.name, plan.query.quantiles)
        return None if units is None else units * max(max(q, 1.0 - q) for q in wanted)


def _bins(query: QueryFields) -> list[tuple[int, int]]:
    return even_bins(1, query.up_to or 2, MOST_BINS)
