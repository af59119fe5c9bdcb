"""The statistics as methods, one line a query: a question of `asking/selection.py`, released at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict, Unpack

from leakcap.errors import InvalidQuery
from leakcap.release.asking.answering import Answering
from leakcap.release.asking.batch import Batch
from leakcap.release.asking.currency import Objective
from leakcap.release.asking.selection import Question, Selection

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
        return self._ask(Selection.count, **terms)

    def distinct(self, **terms: Unpack[Terms]) -> Release:
        """How many people (ids) have a row that counts, each group for itself."""
        return self._ask(Selection.distinct, **terms)

    def sum(self, column: str, **terms: Unpack[Terms]) -> Release:
        """The sum of a column, its values clamped to the policy's bounds."""
        return self._ask(lambda rows: rows.sum(column), **terms)

    def mean(self, column: str, **terms: Unpack[Terms]) -> Release:
        """The mean of a column, its values clamped to the policy's bounds."""
        return self._ask(lambda rows: rows.mean(column), **terms)

    def variance(self, column: str, **terms: Unpack[Terms]) -> Release:
        """The variance of a column (divided by the number of rows), its values clamped to the bounds."""
        return self._ask(lambda rows: rows.variance(column), **terms)

    def standard_deviation(self, column: str, **terms: Unpack[Terms]) -> Release:
        """The root of the variance of a column, its values clamped to the policy's bounds."""
        return self._ask(lambda rows: rows.standard_deviation(column), **terms)

    def histogram(
        self,
        column: str,
        *,
        bins: int | None = None,
        edges: Sequence[float] | None = None,
        **terms: Unpack[Terms],
    ) -> Release:
        """How many rows in each bin of a number, or with each key of a key column."""
        return self._ask(lambda rows: rows.histogram(column, bins=bins, edges=edges), **terms)

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
        return self._ask(lambda rows: rows.quantiles(column, quantiles, bins=bins, edges=edges), **terms)

    def median(
        self,
        column: str,
        *,
        bins: int | None = None,
        edges: Sequence[float] | None = None,
        **terms: Unpack[Terms],
    ) -> Release:
        """The median of a column, chosen among bins."""
        return self._ask(lambda rows: rows.median(column, bins=bins, edges=edges), **terms)

    def interquartile_range(
        self,
        column: str,
        *,
        bins: int | None = None,
        edges: Sequence[float] | None = None,
        **terms: Unpack[Terms],
    ) -> Release:
        """The third quartile of a column less the first, both chosen among bins."""
        return self._ask(lambda rows: rows.interquartile_range(column, bins=bins, edges=edges), **terms)

    def contingency(
        self,
        columns: Sequence[str],
        *,
        bins: int | None = None,
        edges: Sequence[float] | None = None,
        **terms: Unpack[Terms],
    ) -> Release:
        """How many rows in each cell of a table of these columns, in each margin, and in all."""
        return self._ask(lambda rows: rows.contingency(columns, bins=bins, edges=edges), **terms)

    def cumulative(
        self,
        column: str,
        *,
        bins: int | None = None,
        edges: Sequence[float] | None = None,
        **terms: Unpack[Terms],
    ) -> Release:
        """How many rows have a value below each edge of the bins, each group for itself."""
        return self._ask(lambda rows: rows.cumulative(column, bins=bins, edges=edges), **terms)

    def top(self, column: str, top: int, **terms: Unpack[Terms]) -> Release:
        """The keys of a column that most rows have, with noisy counts, each group for itself."""
        return self._ask(lambda rows: rows.top(column, top), **terms)

    def rows_cut(self, *, up_to: int, **terms: Unpack[Terms]) -> Release:
        """People who have more rows than are used, and how many of their rows are left out."""
        return self._ask(lambda rows: rows.rows_cut(up_to=up_to), **terms)

    def rows_per_person(
        self, quantiles: Sequence[float] | None = None, *, up_to: int, **terms: Unpack[Terms]
    ) -> Release:
        """Quantiles of how many rows a person has, 0.95 by default; who has more than `up_to` has so many."""
        return self._ask(lambda rows: rows.rows_per_person(quantiles, up_to=up_to), **terms)

    def covariance(self, columns: Sequence[str], **terms: Unpack[Terms]) -> Release:
        """The covariance of each pair of columns and the variance of each, divided by the number of rows."""
        return self._ask(lambda rows: rows.covariance(columns), **terms)

    def correlation(self, columns: Sequence[str], **terms: Unpack[Terms]) -> Release:
        """The correlation of each pair of columns, over rows that have all of them."""
        return self._ask(lambda rows: rows.correlation(columns), **terms)

    def bounds(self, column: str, **terms: Unpack[Terms]) -> Release:
        """Between which powers of two the values of a number column lie, but for a few."""
        return self._ask(lambda rows: rows.bounds(column), **terms)

    def formula_sum(self, formula: str, *, range: tuple[float, float], **terms: Unpack[Terms]) -> Release:
        """The sum of a formula over the rows, its value in each clamped to the declared range."""
        return self._ask(lambda rows: rows.formula_sum(formula, range=range), **terms)

    def ratio(
        self,
        column: str | None = None,
        *,
        over: str | None = None,
        when: str | None = None,
        **terms: Unpack[Terms],
    ) -> Release:
        """The share of rows, or of a column's sum, that fulfils `when`; or a sum `over` another."""
        return self._ask(lambda rows: rows.ratio(column, over=over, when=when), **terms)

    def weighted_mean(self, column: str, *, design_weight: str, **terms: Unpack[Terms]) -> Release:
        """The mean of a column over the population that the design weights of a sample stand for."""
        return self._ask(lambda rows: rows.weighted_mean(column, design_weight=design_weight), **terms)

    def weighted_ratio(
        self, column: str, *, over: str, design_weight: str, **terms: Unpack[Terms]
    ) -> Release:
        """A sum `over` another over the population, by the design weights of a sample."""
        return self._ask(
            lambda rows: rows.weighted_ratio(column, over=over, design_weight=design_weight), **terms
        )

    def weighted_total(
        self, column: str | None = None, *, design_weight: str, **terms: Unpack[Terms]
    ) -> Release:
        """The sum of a column over the population, or its size, by the design weights of a sample."""
        return self._ask(lambda rows: rows.weighted_total(column, design_weight=design_weight), **terms)

    def _ask(self, ask: Callable[[Selection], Question], **terms: Unpack[Terms]) -> Release:
        by, where = terms.get("by", ()), terms.get("where")
        # The condition is parsed with the query: not by the selection before it.
        question = ask(
            Selection(self, () if where is None else (where,), (by,) if isinstance(by, str) else tuple(by))
        )
        statistic = question.fields["statistic"]
        unknown = terms.keys() - Terms.__annotations__.keys()
        if unknown:
            raise InvalidQuery(f"`{statistic}` does not take `{min(unknown)}`. {_TERMS}")
        if not any(terms.get(name) is not None for name in ("epsilon", "rho", "error")):
            raise InvalidQuery(f"`epsilon` of `{statistic}` is missing: what is offered for the answer.")
        cut = terms.get("cut")
        if cut:
            question = question.cut(cut)
        name = terms.get("name")
        if name is not None:
            question = question.named(name)
        if terms.get("slot") is not None:
            question = question.from_slot(str(terms["slot"]))
        return question.release(
            epsilon=terms.get("epsilon"),
            delta=terms.get("delta"),
            fresh=terms.get("fresh", False),
            rho=terms.get("rho"),
            error=terms.get("error"),
            noise=terms.get("noise", "laplace"),
        )
