"""Statistics with more than one column, or of more than one number, as methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leakcap.release.result import Release

__all__ = ["AskingTables"]


class AskingTables(ABC):
    """Tables, matrices, ratios, curves and choices; `_one` asks."""

    @abstractmethod
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
        """Ask one query."""

    def contingency(
        self,
        columns: Sequence[str],
        *,
        epsilon: float,
        bins: int | None = None,
        edges: Sequence[float] | None = None,
        where: str | None = None,
        by: str | Sequence[str] = (),
        name: str | None = None,
        fresh: bool = False,
    ) -> Release:
        """How many rows in each cell of a table of these columns, in each margin, and in all."""
        own = {"columns": tuple(columns), "bins": bins, "edges": _numbers(edges)}
        return self._one(
            "contingency", None, epsilon=epsilon, where=where, by=by, name=name, fresh=fresh, **own
        )

    def cumulative(
        self,
        column: str,
        *,
        epsilon: float,
        bins: int | None = None,
        edges: Sequence[float] | None = None,
        where: str | None = None,
        by: str | Sequence[str] = (),
        name: str | None = None,
        fresh: bool = False,
    ) -> Release:
        """How many rows have a value below each edge of the bins, each group for itself."""
        own = {"bins": bins, "edges": _numbers(edges)}
        return self._one(
            "cumulative", column, epsilon=epsilon, where=where, by=by, name=name, fresh=fresh, **own
        )

    def top(
        self,
        column: str,
        top: int,
        *,
        epsilon: float,
        where: str | None = None,
        by: str | Sequence[str] = (),
        name: str | None = None,
        fresh: bool = False,
    ) -> Release:
        """The keys of a column that most rows have, with noisy counts, each group for itself."""
        return self._one("top", column, epsilon=epsilon, where=where, by=by, name=name, fresh=fresh, top=top)

    def covariance(
        self,
        columns: Sequence[str],
        *,
        epsilon: float,
        delta: float | None = None,
        where: str | None = None,
        by: str | Sequence[str] = (),
        name: str | None = None,
        fresh: bool = False,
    ) -> Release:
        """The covariance of each pair of columns and the variance of each, divided by the number of rows."""
        own = {"columns": tuple(columns), "delta": delta}
        return self._one(
            "covariance", None, epsilon=epsilon, where=where, by=by, name=name, fresh=fresh, **own
        )

    def correlation(
        self,
        columns: Sequence[str],
        *,
        epsilon: float,
        delta: float | None = None,
        where: str | None = None,
        by: str | Sequence[str] = (),
        name: str | None = None,
        fresh: bool = False,
    ) -> Release:
        """The correlation of each pair of columns, over rows that have all of them."""
        own = {"columns": tuple(columns), "delta": delta}
        return self._one(
            "correlation", None, epsilon=epsilon, where=where, by=by, name=name, fresh=fresh, **own
        )

    def bounds(
        self,
        column: str,
        *,
        epsilon: float,
        where: str | None = None,
        by: str | Sequence[str] = (),
        name: str | None = None,
        fresh: bool = False,
    ) -> Release:
        """Between which powers of two the values of a number column lie, but for a few."""
        return self._one("bounds", column, epsilon=epsilon, where=where, by=by, name=name, fresh=fresh)

    def ratio(
        self,
        column: str | None = None,
        *,
        epsilon: float,
        over: str | None = None,
        when: str | None = None,
        where: str | None = None,
        by: str | Sequence[str] = (),
        name: str | None = None,
        fresh: bool = False,
    ) -> Release:
        """The share of rows, or of a column's sum, that fulfils `when`; or a sum `over` another."""
        own = {"over": over, "when": when}
        return self._one("ratio", column, epsilon=epsilon, where=where, by=by, name=name, fresh=fresh, **own)


def _numbers(edges: Sequence[float] | None) -> tuple[float, ...] | None:
    return None if edges is None else tuple(float(edge) for edge in edges)
