"""Released values as the ledger remembers them, and back."""

from __future__ import annotations

from collections.abc import Sequence

from leakcap.ledger import Answer
from leakcap.release.plan import Plan
from leakcap.release.price import Price
from leakcap.release.result import Release, Row

__all__ = ["recalled", "values_of"]


def values_of(releases: Sequence[Release], ids: Sequence[int]) -> dict[int, list[list[float]]]:
    """By entry, for each group in its order: value, and both ends of its interval. All of it is released."""
    return {
        id_: [[row.value, *row.interval] for row in release.rows]
        for id_, release in zip(ids, releases, strict=True)
    }


def recalled(plan: Plan, price: Price, answer: Answer) -> Release:
    """The release that was answered before, under the name that the query has now."""
    rows = tuple(
        Row(keys, value, (low, high))
        for keys, (value, low, high) in zip(plan.labels(), answer.values, strict=True)
    )
    scale = price.noise_scales[plan.parts[0].role]
    return Release(plan.query.name, plan.query, plan.text, rows, scale, price, repeated=True)
