"""Answers as a prompt and a notebook show them: in a list, or in rows and columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

from leakcap.policy.declared import Key
from leakcap.release.numbers.answers import Interval, Rows
from leakcap.release.results.pivot import Layout, Pivot, pivot_shown

__all__ = ["between", "card_cells", "laid_out_lines"]

_WHOLE = 1e15
_ACROSS = 8
"""So many keys go across at most, unless the answer is laid out."""

_Table = tuple[tuple[str, ...], list[tuple[str, ...]]]


def card_cells(rows: Rows, values: Sequence[str], layout: Layout | None, totals: Mapping[str, Key]) -> _Table:
    """Heads and lines of a card: a pivot, or a line for each row of the answer."""
    pivot = pivot_shown(rows.labels, layout, totals=bool(totals), most=_ACROSS)
    if pivot is None:
        named = [", ".join(map(str, row.keys.values())) or "value" for row in rows]
        told: list[tuple[str, ...]] = [
            (name, value, between(row.interval)) for name, value, row in zip(named, values, rows, strict=True)
        ]
        return ("", "private value", "95 % interval"), told
    # Cells are not broken into lines; a card that is too wide scrolls.
    cells = [
        f"{value} ({between(row.interval)})".replace(" ", "\u00a0")
        for value, row in zip(values, rows, strict=True)
    ]
    lines = [
        (", ".join(map(str, keys)), *("" if place is None else cells[place] for place in places))
        for keys, places in zip(pivot.lines, pivot.places, strict=True)
    ]
    return (", ".join(pivot.corner), *pivot.heads), lines


def laid_out_lines(
    rows: Rows, told: Callable[[int], str], layout: Layout, *, most: int
) -> tuple[int, list[str]]:
    """How many lines a pivot has, and the first of them, with what is told of each row of the answer."""
    pivot = Pivot.of(rows.labels, layout)
    shown = [
        f"{', '.join(map(str, keys))}: "
        + "; ".join(
            f"{head} {told(place)}"
            for head, place in zip(pivot.heads, places, strict=True)
            if place is not None
        )
        for keys, places in zip(pivot.lines[:most], pivot.places, strict=False)
    ]
    return len(pivot.lines), shown


def between(interval: Interval) -> str:
    """Both ends as a person reads them, rounded outward.

    >>> between((1.0, 2 / 3))
    '1 to 0.666667'
    """
    low, high = interval
    return f"{_end(low, ROUND_FLOOR)} to {_end(high, ROUND_CEILING)}"


def _end(value: float, rounding: str) -> str:
    """An end of an interval: whole numbers as they are, of others six digits, rounded outward."""
    if value.is_integer() and abs(value) < _WHOLE:
        return f"{int(value):,d}"
    return f"{float(Context(prec=6, rounding=rounding).create_decimal(repr(value))):,.6g}"
