"""A question put together piece by piece: rows, groups, statistic. Nothing is looked at until `release`.

visits.where("year = 2024").by("ward").mean("stay").release(epsilon=0.5)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn, TypedDict, Unpack

from leakcap.errors import InvalidQuery
from leakcap.release.asking.budget import within_error
from leakcap.release.asking.templates import QueryTemplate
from leakcap.release.columns.joins import joined_policy
from leakcap.release.conditions.declared import with_cases
from leakcap.release.conditions.written import read_condition
from leakcap.release.planning.queries import Query, plain_lists, query_fields, query_from

if TYPE_CHECKING:
    from leakcap.release.asking.accuracy import Preview
    from leakcap.release.asking.answering import Answering
    from leakcap.release.results.result import Release

__all__ = ["PriceTerms", "Question", "Selection"]


class PriceTerms(TypedDict, total=False):
    """A price in place of ε, and the law of the noise: see `Terms`."""

    rho: float | None
    error: float | None
    noise: str


@dataclass(frozen=True)
class Selection:
    """Which rows count, and the groups that they are split into. Each method returns a new one.

    Conditions all have to hold; each is a condition of its own, whatever is in its text.
    """

    table: Answering = field(repr=False)
    conditions: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()

    def join(self, *tables: str) -> Selection:
        """Only rows that meet one of each of these tables of the policy, whose columns are `people.sex`.

        Raises `InvalidQuery` where the policy declares no such table.
        """
        joined_policy(self.table.policy, tables)
        return replace(self, joined=(*self.joined, *tables))

    def where(self, condition: str) -> Selection:
        """Only rows of which this is true as well. Raises `InvalidQuery`."""
        read_condition(condition, with_cases(joined_policy(self.table.policy, self.joined)))
        return replace(self, conditions=(*self.conditions, condition))

    def by(self, *columns: str) -> Selection:
        """Split by the keys of these columns too."""
        return replace(self, groups=(*self.groups, *columns))

    def count(self) -> Question:
        """How many rows, those with missing values included."""
        return self.ask("count")

    def distinct(self) -> Question:
        """How many people (ids) have a row that counts."""
        return self.ask("distinct")

    def sum(self, column: str) -> Question:
        """The sum of a column."""
        return self.ask("sum", column)

    def mean(self, column: str) -> Question:
        """The mean of a column."""
        return self.ask("mean", column)

    def variance(self, column: str) -> Question:
        """The variance of a column."""
        return self.ask("variance", column)

    def standard_deviation(self, column: str) -> Question:
        """The root of the variance of a column."""
        return self.ask("standard_deviation", column)

    def histogram(
        self, column: str, *, bins: int | None = None, edges: Sequence[float] | None = None
    ) -> Question:
        """How many rows in each bin of a number, or with each key of a key column."""
        return self.ask("histogram", column, bins=bins, edges=edges)

    def quantiles(
        self,
        column: str,
        quantiles: Sequence[float],
        *,
        bins: int | None = None,
        edges: Sequence[float] | None = None,
    ) -> Question:
        """Quantiles of a column, chosen among bins."""
        return self.ask("quantiles", column, quantiles=quantiles, bins=bins, edges=edges)

    def median(
        self, column: str, *, bins: int | None = None, edges: Sequence[float] | None = None
    ) -> Question:
        """The median of a column, chosen among bins."""
        return self.ask("median", column, bins=bins, edges=edges)

    def interquartile_range(
        self, column: str, *, bins: int | None = None, edges: Sequence[float] | None = None
    ) -> Question:
        """The third quartile of a column less the first."""
        return self.ask("interquartile_range", column, bins=bins, edges=edges)

    def contingency(
        self, columns: Sequence[str], *, bins: int | None = None, edges: Sequence[float] | None = None
    ) -> Question:
        """How many rows in each cell of a table of these columns, in each margin, and in all."""
        return self.ask("contingency", columns=columns, bins=bins, edges=edges)

    def cumulative(
        self, column: str, *, bins: int | None = None, edges: Sequence[float] | None = None
    ) -> Question:
        """How many rows have a value below each edge of the bins."""
        return self.ask("cumulative", column, bins=bins, edges=edges)

    def top(self, column: str, top: int) -> Question:
        """The keys of a column that most rows have, with noisy counts."""
        return self.ask("top", column, top=top)

    def rows_cut(self, *, up_to: int) -> Question:
        """People who have more rows than are used, and how many of their rows are left out."""
        return self.ask("rows_cut", up_to=up_to)

    def rows_per_person(self, quantiles: Sequence[float] | None = None, *, up_to: int) -> Question:
        """Quantiles of how many rows a person has, who counts as having `up_to` at most."""
        return self.ask("rows_per_person", quantiles=quantiles, up_to=up_to)

    def covariance(self, columns: Sequence[str]) -> Question:
        """The covariance of each pair of columns and the variance of each."""
        return self.ask("covariance", columns=columns)

    def correlation(self, columns: Sequence[str]) -> Question:
        """The correlation of each pair of columns."""
        return self.ask("correlation", columns=columns)

    def bounds(self, column: str) -> Question:
        """Between which powers of two the values of a number column lie, but for a few."""
        return self.ask("bounds", column)

    def formula_sum(self, formula: str, *, range: tuple[float, float]) -> Question:
        """The sum of a formula over the rows, its value in each clamped to the declared range."""
        return self.ask("formula_sum", formula=formula, range=range)

    def ratio(
        self, column: str | None = None, *, over: str | None = None, when: str | None = None
    ) -> Question:
        """The share of rows, or of a column's sum, that fulfils `when`; or a sum `over` another."""
        return self.ask("ratio", column, over=over, when=when)

    def weighted_mean(self, column: str, *, design_weight: str) -> Question:
        """The mean of a column over the population that the design weights of a sample stand for."""
        return self.ask("weighted_mean", column, design_weight=design_weight)

    def weighted_ratio(self, column: str, *, over: str, design_weight: str) -> Question:
        """A sum `over` another over the population, by the design weights of a sample."""
        return self.ask("weighted_ratio", column, over=over, design_weight=design_weight)

    def weighted_total(self, column: str | None = None, *, design_weight: str) -> Question:
        """The sum of a column over the population, or its size, by the design weights of a sample."""
        return self.ask("weighted_total", column, design_weight=design_weight)

    def ask(self, statistic: str, column: str | None = None, **fields: Any) -> Question:
        """Any statistic by its name, with its own fields as a query file has them."""
        return Question(self, query_fields(statistic, column, **fields))

    @property
    def condition(self) -> str | None:
        """All conditions as one."""
        if len(self.conditions) < 2:
            return self.conditions[0] if self.conditions else None
        return " AND ".join(f"({condition})" for condition in self.conditions)


@dataclass(frozen=True)
class Question:
    """A statistic of a selection, without its ε. Nothing is looked at, and nothing spent, until `release`."""

    selection: Selection
    fields: Mapping[str, Any]

    def where(self, condition: str) -> Question:
        """Only of rows of which this is true as well."""
        return replace(self, selection=self.selection.where(condition))

    def by(self, *columns: str) -> Question:
        """For each key of these columns too."""
        return replace(self, selection=self.selection.by(*columns))

    def cut(self, edges: Mapping[str, Sequence[float]]) -> Question:
        """Number columns of `by`, or of `columns`, in bins between these edges."""
        return replace(self, fields={**self.fields, "cut": plain_lists(edges)})

    def named(self, name: str) -> Question:
        """Under this name in answers, ledger and report."""
        return replace(self, fields={**self.fields, "name": name})

    def from_slot(self, slot: str) -> Question:
        """Paid for by this slot of the policy's plan."""
        return replace(self, fields={**self.fields, "slot": slot})

    def having(self, condition: str) -> NoReturn:
        """Refused: groups are not left out by what they count."""
        raise InvalidQuery(
            "`having` is not supported: which groups are left out would tell what they count. Leave them out "
            "of the answer, which costs nothing."
        )

    def template(
        self, *, weight: float | None = None, error: float | None = None, noise: str = "laplace"
    ) -> QueryTemplate:
        """The question as a part of a batch."""
        return QueryTemplate(self._content(noise), weight=weight, error=error)

    def _content(self, noise: str) -> dict[str, Any]:
        """All that the query says but its price."""
        selected = self.selection
        chosen = {"where": selected.condition, "by": selected.groups, "join": selected.joined}
        return {**self.fields, **chosen, "noise": noise}

    def at(
        self, epsilon: float | None = None, delta: float | None = None, **paid: Unpack[PriceTerms]
    ) -> Query:
        """The query at this price: ε, or `rho`, or what keeps a wanted `error`. Raises `InvalidQuery`."""
        rho, error, noise = paid.get("rho"), paid.get("error"), paid.get("noise", "laplace")
        if error is None:
            return query_from(self._content(noise), epsilon=epsilon, rho=rho, delta=delta)
        template = self.template(error=error, noise=noise)
        return within_error(template, self.selection.table.policy, epsilon=epsilon, delta=delta, rho=rho)

    def preview(
        self, *, epsilon: float | None = None, delta: float | None = None, **paid: Unpack[PriceTerms]
    ) -> Preview:
        """Accuracy and price. Touches neither data nor ledger."""
        return self.selection.table.preview([self.at(epsilon, delta, **paid)])[0]

    def dry_run(
        self, *, epsilon: float | None = None, delta: float | None = None, **paid: Unpack[PriceTerms]
    ) -> Release:
        """The answer on a dummy table made from the policy alone. Touches neither data nor ledger."""
        return self.selection.table.dry_run([self.at(epsilon, delta, **paid)])[0]

    def release(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        fresh: bool = False,
        **paid: Unpack[PriceTerms],
    ) -> Release:
        """The answer, paid with ε or ρ, or with what keeps a wanted `error`; with this law of `noise`."""
        return self.selection.table.release([self.at(epsilon, delta, **paid)], fresh=fresh)[0]
