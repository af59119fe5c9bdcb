"""The statistics as methods, one line a query, released at once; `asking/selection.py` asks in pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from leakcap.errors import InvalidQuery
from leakcap.release.asking.answering import Answering
from leakcap.release.asking.batch import Batch
from leakcap.release.asking.budget import within_error
from leakcap.release.asking.currency import Objective
from leakcap.release.asking.selection import Selection
from leakcap.release.asking.templates import QueryTemplate
from leakcap.release.planning.queries import query_fields, query_from

if TYPE_CHECKING:
    from leakcap.release.results.result import Release

__all__ = ["Asking", "Terms"]


class Terms(TypedDict, total=False):
    """What each of the methods takes beside what is its own.

    `epsilon` is what is paid; in its place `rho`, of zero-concentrated privacy, or an `error` that 95 % of
    the answers shall stay within, whatever that takes. `noise` is laplace, gaussian or best. `delta` goes
    with the price where keys are private; `where` is a condition, `by` a key column or several; `cut` gives
    number columns among those the edges of their bins; `name` is what the answer is called; `fresh` asks for
    new noise where the ledger knows an answer; `slot` is one of the policy's plan, which pays for it.
    """

    epsilon: float | None
    rho: float | None
    error: float | None
    noise: str
    delta: float | None
    where: str | None
    by: str | Sequence[str]
    cut: Mapping[str, Sequence[float]] | None
    name: str | None
    fresh: bool
    slot: str | None


_TERMS = f"It takes {', '.join(f'`{name}`' for name in Terms.__annotations__)}."


class Asking(Answering):
    """What can be asked of a table by name, on `Terms`; `release` answers."""

    def where(self, condition: str) -> Selection:
        """The rows of which this is true, for a question about them. Raises `InvalidQuery`."""
        return Selection(self).where(condition)

    def by(self, *columns: str) -> Selection:
        """The rows in groups by the keys of these columns, for a question about them."""
        return Selection(self).by(*columns)

    def join(self, *tables: str) -> Selection:
        """The rows that meet one of each of these tables. Raises `InvalidQuery`."""
        return Selection(self).join(*tables)

    @property
    def all(self) -> Selection:
        """All rows, for a question about them."""
        return Selection(self)

    def batch(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        objective: Objective = "shares by weight",
        rho: float | None = None,
    ) -> Batch:
        """An empty batch, whose questions share this budget by weights or wanted errors."""
        return Batch(self, epsilon, delta, objective, rho=rho)

    def count(self, **terms: Unpack[Terms]) -> Release:
        """How many rows, those with missing values included, each group for itself."""
        return self._ask("count", terms)

    def distinct(self, **terms: Unpack[Terms]) -> Release:
        """How many people (ids) have a row that counts, each group for itself."""
        return self._ask("distinct", terms)

    def sum(self, column: str, **terms: Unpack[Terms]) -> Release:
        """The sum of a column, its values clamped to the policy's bounds."""
        return self._ask("sum", terms, column)

    def mean(self, column: str, **terms: Unpack[Terms]) -> Release:
        """The mean of a column, its values clamped to the policy's bounds."""
        return self._ask("mean", terms, column)

    def variance(self, column: str, **terms: Unpack[Terms]) -> Release:
        """The variance of a column (divided by the number of rows), its values clamped to the bounds."""
        return self._ask("variance", terms, column)

    def standard_deviation(self, column: str, **terms: Unpack[Terms]) -> Release:
        """The root of the variance of a column, its values clamped to the policy's bounds."""
        return self._ask("standard_deviation", terms, column)

    def histogram(
        self,
        column: str,
        *,
        bins: int | None = None,
        edges: Sequence[float] | None = None,
        **terms: Unpack[Terms],
    ) -> Release:
        """How many rows in each bin of a number, or with each key of a key column."""
        return self._ask("histogram", terms, column, bins=bins, edges=edges)

    def quantiles(
        self,
        column: str,
        quantiles: Sequence[float],
        *,
        bins: int | None = None,
        edges: Sequence[float] | None = None,
        **terms: Unpack[Terms],
    ) -> Release:
        """Quantiles of a column, chosen among bins, which share ε equally."""
        return self._ask("quantiles", terms, column, quantiles=quantiles, bins=bins, edges=edges)

    def median(
        self,
        column: str,
        *,
        bins: int | None = None,
        edges: Sequence[float] | None = None,
        **terms: Unpack[Terms],
    ) -> Release:
        """The median of a column, chosen among bins."""
        return self._ask("median", terms, column, bins=bins, edges=edges)

    def interquartile_range(
        self,
        column: str,
        *,
        bins: int | None = None,
        edges: Sequence[float] | None = None,
        **terms: Unpack[Terms],
    ) -> Release:
        """The third quartile of a column less the first, both chosen among bins."""
        return self._ask("interquartile_range", terms, column, bins=bins, edges=edges)

    def contingency(
        self,
        columns: Sequence[str],
        *,
        bins: int | None = None,
        edges: Sequence[float] | None = None,
        **terms: Unpack[Terms],
    ) -> Release:
        """How many rows in each cell of a table of these columns, in each margin, and in all."""
        return self._ask("contingency", terms, columns=columns, bins=bins, edges=edges)

    def cumulative(
        self,
        column: str,
        *,
        bins: int | None = None,
        edges: Sequence[float] | None = None,
        **terms: Unpack[Terms],
    ) -> Release:
        """How many rows have a value below each edge of the bins, each group for itself."""
        return self._ask("cumulative", terms, column, bins=bins, edges=edges)

    def top(self, column: str, top: int, **terms: Unpack[Terms]) -> Release:
        """The keys of a column that most rows have, with noisy counts, each group for itself."""
        return self._ask("top", terms, column, top=top)

    def rows_cut(self, *, up_to: int, **terms: Unpack[Terms]) -> Release:
        """People who have more rows than are used, and how many of their rows are left out."""
        return self._ask("rows_cut", terms, up_to=up_to)

    def rows_per_person(
        self, quantiles: Sequence[float] | None = None, *, up_to: int, **terms: Unpack[Terms]
    ) -> Release:
        """Quantiles of how many rows a person has, 0.95 by default; who has more than `up_to` has so many."""
        return self._ask("rows_per_person", terms, quantiles=quantiles, up_to=up_to)

    def covariance(self, columns: Sequence[str], **terms: Unpack[Terms]) -> Release:
        """The covariance of each pair of columns and the variance of each, divided by the number of rows."""
        return self._ask("covariance", terms, columns=columns)

    def correlation(self, columns: Sequence[str], **terms: Unpack[Terms]) -> Release:
        """The correlation of each pair of columns, over rows that have all of them."""
        return self._ask("correlation", terms, columns=columns)

    def bounds(self, column: str, **terms: Unpack[Terms]) -> Release:
        """Between which powers of two the values of a number column lie, but for a few."""
        return self._ask("bounds", terms, column)

    def formula_sum(self, formula: str, *, range: tuple[float, float], **terms: Unpack[Terms]) -> Release:
        """The sum of a formula over the rows, its value in each clamped to the declared range."""
        return self._ask("formula_sum", terms, formula=formula, range=range)

    def ratio(
        self,
        column: str | None = None,
        *,
        over: str | None = None,
        when: str | None = None,
        **terms: Unpack[Terms],
    ) -> Release:
        """The share of rows, or of a column's sum, that fulfils `when`; or a sum `over` another."""
        return self._ask("ratio", terms, column, over=over, when=when)

    def weighted_mean(self, column: str, *, design_weight: str, **terms: Unpack[Terms]) -> Release:
        """The mean of a column over the population that the design weights of a sample stand for."""
        return self._ask("weighted_mean", terms, column, design_weight=design_weight)

    def weighted_ratio(
        self, column: str, *, over: str, design_weight: str, **terms: Unpack[Terms]
    ) -> Release:
        """A sum `over` another over the population, by the design weights of a sample."""
        return self._ask("weighted_ratio", terms, column, over=over, design_weight=design_weight)

    def weighted_total(
        self, column: str | None = None, *, design_weight: str, **terms: Unpack[Terms]
    ) -> Release:
        """The sum of a column over the population, or its size, by the design weights of a sample."""
        return self._ask("weighted_total", terms, column, design_weight=design_weight)

    def _ask(self, statistic: str, terms: Terms, column: str | None = None, **fields: Any) -> Release:
        """The answer to a query of these fields, on these terms."""
        unknown = terms.keys() - Terms.__annotations__.keys()
        if unknown:
            raise InvalidQuery(f"`{statistic}` does not take `{min(unknown)}`. {_TERMS}")
        epsilon, rho, delta = terms.get("epsilon"), terms.get("rho"), terms.get("delta")
        error, by = terms.get("error"), terms.get("by", ())
        if epsilon is None and rho is None and error is None:
            raise InvalidQuery(f"`epsilon` of `{statistic}` is missing: what is offered for the answer.")
        content = query_fields(statistic, column, **fields, cut=terms.get("cut") or None)
        given = {name: terms.get(name) for name in ("name", "where", "slot")}
        content |= {name: value for name, value in given.items() if value is not None}
        content |= {"by": by if isinstance(by, str) else tuple(by), "noise": terms.get("noise", "laplace")}
        if error is None:
            query = query_from(content, epsilon=epsilon, rho=rho, delta=delta)
        else:
            template = QueryTemplate(content, error=error)
            query = within_error(template, self.policy, epsilon=epsilon, rho=rho, delta=delta)
        return self.release([query], fresh=terms.get("fresh", False))[0]
