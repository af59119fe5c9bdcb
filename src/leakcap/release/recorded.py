"""Released values as the ledger remembers them, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from leakcap.errors import LedgerError
from leakcap.ledger import Answer
from leakcap.release.plan import Plan
from leakcap.release.price import Price
from leakcap.release.result import Release, Row

Recorded: TypeAlias = float | str
__all__ = ["recalled", "values_of"]


def values_of(releases: Sequence[Release], ids: Sequence[int]) -> dict[int, list[list[Recorded]]]:
    """By entry, for each group in its order: value, and both ends of its interval. All of it is released."""
    return {id_: _recorded(release) for id_, release in zip(ids, releases, strict=True)}


def _recorded(release: Release) -> list[list[Recorded]]:
    if _told(release):
        # Where keys are private, or chosen, which ones they are is a part of the answer.
        return [[row.value, *row.interval, *row.keys.values()] for row in release.rows]
    return [[row.value, *row.interval] for row in release.rows]


def _told(release: Release) -> bool:
    return release.price.delta > 0 or release.query.kind.told


def recalled(plan: Plan, price: Price, answer: Answer) -> Release:
    """The release that was answered before, under the name that the query has now.

    Raises `LedgerError` where what is recorded is no answer to this query.
    """
    values: Any = answer.values
    labels = plan.labels()
    if (plan.cells.open or plan.statistic.told) and isinstance(values, list):
        names = list(labels[0]) if plan.statistic.told else [axis.column for axis in plan.cells.axes]
        width = len(names)
        keyed = [row for row in values if isinstance(row, list) and len(row) == 3 + width]
        labels = [dict(zip(names, row[3:], strict=True)) for row in keyed]
        values = [row[:3] for row in keyed] if len(keyed) == len(values) else None
    if not isinstance(values, list) or len(values) != len(labels) or not all(map(_is_row, values)):
        raise LedgerError(
            f"The recorded answer of entry {answer.entry} has not the shape of an answer to this query. "
            "Ask with fresh noise: `fresh=True`, or `--fresh`."
        )
    rows = tuple(
        Row(keys, value, (low, high)) for keys, (value, low, high) in zip(labels, values, strict=True)
    )
    scale = price.noise_scales[plan.parts[0].role]
    return Release(plan.query.name, plan.query, plan.text, rows, scale, price, repeated=True)


def _is_row(row: object) -> bool:
    """A value and both ends of its interval."""
    if not isinstance(row, list) or len(row) != 3:
        return False
    return all(isinstance(number, int | float) and not isinstance(number, bool) for number in row)
