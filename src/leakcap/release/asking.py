"""The statistics as methods, one line a query: a question of `release/selection.py`, released at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from leakcap.release.asking_tables import AskingTables
from leakcap.release.batch import Batch
from leakcap.release.policy import Policy
from leakcap.release.queries import Query
from leakcap.release.selection import Selection
from leakcap.release.shares import Aim

if TYPE_CHECKING:
    from leakcap.release.accuracy import Preview
    from leakcap.release.result import Release

__all__ = ["Asking"]


class Asking(AskingTables):
    """What can be asked of a table by name; `release` answers."""

    @property
    @abstractmethod
    def policy(self) -> Policy:
        """The policy that questions are checked against."""

    @abstractmethod
    def release(self, queries: Sequence[Query], *, fresh: bool = False) -> list[Release]:
        """Answer all of the queries, or none."""

    @abstractmethod
    def preview(self, queries: Query | Sequence[Query]) -> list[Preview]:
        """The accuracy and the price of each query."""

    @abstractmethod
    def dry_run(self, queries: Query | Sequence[Query]) -> list[Release]:
        """The queries on a dummy table."""

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
        self, *, epsilon: float | None = None, delta: float | None = None, aim: Aim = "shares by weight"
    ) -> Batch:
        """An empty batch, whose questions share this budget by weights or wanted errors."""
        return Batch(self, epsilon, delta, aim)

    def count(
        self,
        *,
        epsilon: float,
        delta: float | None = None,
        where: str | None = None,
        by: str | Sequence[str] = (),
        name: str | None = None,
        fresh: bool = False,
    ) -> Release:
        """How many rows, those with missing values included, each group for itself."""
        return self._one(
            "count",
            None,
            epsilon=epsilon,
            delta=delta,
            where=where,
            by=by,
            name=name,
            fresh=fresh,
        )

    def distinct(
        self,
        *,
        epsilon: float,
        delta: float | None = None,
        where: str | None = None,
        by: str | Sequence[str] = (),
        name: str | None = None,
        fresh: bool = False,
    ) -> Release:
        """How many people (ids) have a row that counts, each group for itself."""
        return self._one(
            "distinct",
            None,
            epsilon=epsilon,
            delta=delta,
            where=where,
            by=by,
            name=name,
            fresh=fresh,
        )

    def sum(
        self,
        column: str,
        *,
        epsilon: float,
        delta: float | None = None,
        where: str | None = None,
        by: str | Sequence[str] = (),
        name: str | None = None,
        fresh: bool = False,
    ) -> Release:
        """The sum of a column, its values clamped to the policy's bounds."""
        return self._one(
            "sum",
            column,
            epsilon=epsilon,
            delta=delta,
            where=where,
            by=by,
            name=name,
            fresh=fresh,
        )

    def mean(
        self,
        column: str,
        *,
        epsilon: float,
        delta: float | None = None,
        where: str | None = None,
        by: str | Sequence[str] = (),
        name: str | None = None,
        fresh: bool = False,
    ) -> Release:
        """The mean of a column, its values clamped to the policy's bounds."""
        return self._one(
            "mean",
            column,
            epsilon=epsilon,
            delta=delta,
            where=where,
            by=by,
            name=name,
            fresh=fresh,
        )

    def variance(
        self,
        column: str,
        *,
        epsilon: float,
        delta: float | None = None,
        where: str | None = None,
        by: str | Sequence[str] = (),
        name: str | None = None,
        fresh: bool = False,
    ) -> Release:
        """The variance of a column (divided by the number of rows), its values clamped to the bounds."""
        return self._one(
            "variance",
            column,
            epsilon=epsilon,
            delta=delta,
            where=where,
            by=by,
            name=name,
            fresh=fresh,
        )

    def standard_deviation(
        self,
        column: str,
        *,
        epsilon: float,
        delta: float | None = None,
        where: str | None = None,
        by: str | Sequence[str] = (),
        name: str | None = None,
        fresh: bool = False,
    ) -> Release:
        """The root of the variance of a column, its values clamped to the policy's bounds."""
        return self._one(
            "standard_deviation",
            column,
            epsilon=epsilon,
            delta=delta,
            where=where,
            by=by,
            name=name,
            fresh=fresh,
        )

    def histogram(
        self,
        column: str,
        *,
        epsilon: float,
        delta: float | None = None,
        bins: int | None = None,
        edges: Sequence[float] | None = None,
        where: str | None = None,
        by: str | Sequence[str] = (),
        name: str | None = None,
        fresh: bool = False,
    ) -> Release:
        """How many rows in each bin of a number, or with each key of a key column."""
        extra = {"bins": bins, "edges": None if edges is None else tuple(float(edge) for edge in edges)}
        return self._one(
            "histogram",
            column,
            epsilon=epsilon,
            delta=delta,
            where=where,
            by=by,
            name=name,
            fresh=fresh,
            **extra,
        )

    def quantiles(
        self,
        column: str,
        quantiles: Sequence[float],
        *,
        epsilon: float,
        delta: float | None = None,
        bins: int | None = None,
        edges: Sequence[float] | None = None,
        where: str | None = None,
        by: str | Sequence[str] = (),
        name: str | None = None,
        fresh: bool = False,
    ) -> Release:
        """Quantiles of a column, chosen among bins, which share ε equally."""
        given = None if edges is None else tuple(float(edge) for edge in edges)
        extra = {"bins": bins, "edges": given, "quantiles": tuple(quantiles)}
        return self._one(
            "quantiles",
            column,
            epsilon=epsilon,
            delta=delta,
            where=where,
            by=by,
            name=name,
            fresh=fresh,
            **extra,
        )

    def median(
        self,
        column: str,
        *,
        epsilon: float,
        delta: float | None = None,
        bins: int | None = None,
        edges: Sequence[float] | None = None,
        where: str | None = None,
        by: str | Sequence[str] = (),
        name: str | None = None,
        fresh: bool = False,
    ) -> Release:
        """The median of a column, chosen among bins."""
        extra = {"bins": bins, "edges": None if edges is None else tuple(float(edge) for edge in edges)}
        return self._one(
            "median",
            column,
            epsilon=epsilon,
            delta=delta,
            where=where,
            by=by,
            name=name,
            fresh=fresh,
            **extra,
        )

    def interquartile_range(
        self,
        column: str,
        *,
        epsilon: float,
        delta: float | None = None,
        bins: int | None = None,
        edges: Sequence[float] | None = None,
        where: str | None = None,
        by: str | Sequence[str] = (),
        name: str | None = None,
        fresh: bool = False,
    ) -> Release:
        """The third quartile of a column less the first, both chosen among bins."""
        extra = {"bins": bins, "edges": None if edges is None else tuple(float(edge) for edge in edges)}
        return self._one(
            "interquartile_range",
            column,
            epsilon=epsilon,
            delta=delta,
            where=where,
            by=by,
            name=name,
            fresh=fresh,
            **extra,
        )

    def _one(
        self,
        statistic: str,
        column: str | None,
        *,
        name: str | None,
        by: str | Sequence[str],
        fresh: bool,
        **fields: Any,
    ) -> Release:
        where, epsilon, delta = (fields.pop(field, None) for field in ("where", "epsilon", "delta"))
        conditions = () if where is None else (where,)
        selection = Selection(self, conditions, (by,) if isinstance(by, str) else tuple(by))
        question = selection.ask(statistic, column, name=name, **fields)
        return question.release(epsilon=epsilon, delta=delta, fresh=fresh)
