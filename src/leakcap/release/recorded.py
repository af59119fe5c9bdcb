"""Released values as the ledger remembers them, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from leakcap.errors import LedgerError
from leakcap.ledger import Answer
from leakcap.release.drawn import Drawn, drawn_of, keeps
from leakcap.release.plan import Plan
from leakcap.release.price import Price
from leakcap.release.result import Release, Row

Recorded: TypeAlias = float | str
_MARK = "drawn/1"
__all__ = ["recalled", "values_of"]


def values_of(releases: Sequence[Release], ids: Sequence[int]) -> dict[int, list[list[Recorded]]]:
    """By entry, for each group in its order: value, and both ends of its interval. All of it is released."""
    return {id_: _recorded(release) for id_, release in zip(ids, releases, strict=True)}


def _recorded(release: Release) -> list[list[Recorded]]:
    if _told(release):
        # Where keys are private, or chosen, which ones they are is a part of the answer.
        return [[row.value, *row.interval, *row.keys.values()] for row in release.rows]
    rows: list[list[Recorded]] = [[row.value, *row.interval] for row in release.rows]
    return rows + _parts(release)


def _parts(release: Release) -> list[list[Recorded]]:
    """A row for each part, with its mark: what is no number is skipped by whoever looks for values alone."""
    if release.drawn is None or _plain(release.drawn.parts[0].numbers, release.rows):
        return []
    return [[_MARK, part.role, *part.numbers] for part in release.drawn.parts]


def _plain(numbers: Sequence[Recorded], rows: Sequence[Row]) -> bool:
    """Whether the noisy integers are the values themselves."""
    return [row.value for row in rows] == list(numbers) and all(type(row.value) is int for row in rows)


def _split(plan: Plan, values: Any) -> tuple[Any, Drawn | None]:
    """The rows of an answer, and its parts where they were recorded, or are the values."""
    if not isinstance(values, list) or not keeps(plan):
        return values, None
    marked = [row for row in values if isinstance(row, list) and row[:1] == [_MARK]]
    rows = [row for row in values if not (isinstance(row, list) and row[:1] == [_MARK])]
    counts = len(plan.parts) == 1 and plan.grid is None
    if not marked and counts and len(rows) == plan.cells.size and all(map(_is_row, rows)):
        marked = [[_MARK, plan.parts[0].role, *(row[0] for row in rows)]]
    sound = len(marked) == len(plan.parts) and all(
        row[1:2] == [part.role] and len(row) == 2 + plan.cells.size and all(type(n) is int for n in row[2:])
        for row, part in zip(marked, plan.parts, strict=False)
    )
    return rows, drawn_of(plan, [row[2:] for row in marked]) if sound else None


def _told(release: Release) -> bool:
    return release.price.delta > 0 or release.query.kind.told


def recalled(plan: Plan, price: Price, answer: Answer) -> Release:
    """The release that was answered before, under the name that the query has now.

    Raises `LedgerError` where what is recorded is no answer to this query.
    """
    values, drawn = _split(plan, answer.values)
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
    return Release(plan.query.name, plan.query, plan.text, rows, scale, price, repeated=True, drawn=drawn)


def _is_row(row: object) -> bool:
    """A value and both ends of its interval."""
    if not isinstance(row, list) or len(row) != 3:
        return False
    return all(isinstance(number, int | float) and not isinstance(number, bool) for number in row)
