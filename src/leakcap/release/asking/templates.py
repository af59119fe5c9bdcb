"""A query without its price, and its claim on a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leakcap.errors import InvalidQuery
from leakcap.release.planning.queries import Query, query_from

__all__ = ["QueryTemplate", "is_price"]


@dataclass(frozen=True)
class QueryTemplate:
    """A query without its ε, and its claim on a budget: a `weight`, or the `error` it must stay within.

    >>> QueryTemplate({"name": "n", "statistic": "count"}, weight=2.0).at(0.5).epsilon
    0.5
    """

    content: Mapping[str, Any]
    weight: float | None = None
    error: float | None = None

    def __post_init__(self) -> None:
        name = self.content.get("name")
        for field, value in (("weight", self.weight), ("error", self.error)):
            if value is not None and not is_price(value):
                raise InvalidQuery(f"`{field}` of query `{name}` must be a positive finite number.")
        if self.weight is not None and self.error is not None:
            raise InvalidQuery(f"Query `{name}` may have a `weight` or an `error`, not both.")

    def at(
        self, epsilon: float | None = None, delta: float | None = None, *, rho: float | None = None
    ) -> Query:
        """The query with this ε, or this ρ. Raises `InvalidQuery`."""
        return query_from(self.content, epsilon=epsilon, rho=rho, delta=delta)


def is_price(number: object) -> bool:
    """Whether it is a positive finite number, as prices, weights and errors are."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        return False
    return 0.0 < number <= 1e300
