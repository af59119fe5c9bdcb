"""A card for notebooks: a title, rows of a name and a value, a note. It follows the page's own colours.

Plain HTML without scripts or style sheets, so that it looks the same in light and dark, and after saving.
Values show it through `_repr_html_`; everything that comes from outside is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TypeVar

__all__ = ["Shown", "bar", "card", "interval"]

Item = TypeVar("Item")

_MOST = 20
_BOX = (
    "display:inline-block;min-width:16em;max-width:60em;overflow-x:auto;padding:.6em .9em;border-radius:8px;"
    "border:1px solid color-mix(in srgb, currentColor 25%, transparent);font-variant-numeric:tabular-nums"
)
_SOFT = "opacity:.7"
_TRACK = "background:color-mix(in srgb, currentColor 18%, transparent)"


def card(title: str, rows: Sequence[tuple[str, ...]], *, note: str = "", heads: Sequence[str] = ()) -> str:
    """HTML for a value; a row's first cell is its name, the others stand to the right. Long tables are cut.

    A cell that `bar` made is a bar; any other is text and escaped.

    >>> "&lt;b&gt;" in card("<b>", [("lower", "0.1 nats")])
    True
    """
    shown = [*rows[:_MOST], *([(f"… {len(rows) - _MOST:,} more",)] if len(rows) > _MOST else [])]
    head = f"<tr>{''.join(_cell('th', i, text, _SOFT) for i, text in enumerate(heads))}</tr>" if heads else ""
    body = "".join(f"<tr>{''.join(_cell('td', i, text) for i, text in enumerate(row))}</tr>" for row in shown)
    tail = f'<div style="{_SOFT};font-size:.9em">{escape(note)}</div>' if note else ""
    return (
        f'<div style="{_BOX}"><div style="font-weight:600">{escape(title)}</div>'
        f'<table style="border-collapse:collapse;background:none">{head}{body}</table>{tail}</div>'
    )


class Shown(list[Item]):
    """A list that a notebook shows as the cards of what is in it.

    >>> class One:
    ...     def _repr_html_(self):
    ...         return "<b>one</b>"
    >>> Shown([One(), One()])._repr_html_() == "<div><b>one</b></div>" * 2, Shown([1]) == [1]
    (True, True)
    """

    def _repr_html_(self) -> str:
        return "".join(f"<div>{one._repr_html_()}</div>" for one in self)  # type: ignore[attr-defined]


class _Bar(str):
    """Markup that is ours."""

    __slots__ = ()


def bar(share: float) -> str:
    """A bar for a share in [0, 1]; neither full nor empty unless it is exactly that.

    >>> "width:99%" in bar(0.9999), "width:0%" in bar(0.0)
    (True, True)
    """
    part = 0 if share <= 0.0 else 100 if share >= 1.0 else min(max(math.ceil(share * 100), 1), 99)
    return _Bar(
        f'<div style="{_TRACK};width:9em;height:.7em;border-radius:3px"><div style="background:currentColor;'
        f'opacity:.75;width:{part}%;height:100%;border-radius:3px"></div></div>'
    )


def interval(lower: float, upper: float, unit: str) -> str:
    """A certified interval in words; the digits round outward. One number where twelve of them agree.

    >>> interval(0.1, 0.1, "nats"), interval(0.12, 0.34, "bits"), interval(0.0, math.inf, "nats")
    ('0.1 nats', '0.12 to 0.34 bits', '≥ 0 nats, no upper bound')
    """
    if lower == upper or upper - lower <= 1e-12 * abs(upper) < math.inf:
        return f"{upper:.10g} {unit}"
    low = _outward(lower, -math.inf)
    if math.isinf(upper):
        return f"≥ {low} {unit}, no upper bound"
    return f"{low} to {_outward(upper, math.inf)} {unit}"


def _outward(value: float, towards: float) -> str:
    """Ten digits of `value`, the last one moved where the rounding went the wrong way."""
    text = f"{value:.10g}"
    if value and (float(text) < value if towards > 0 else float(text) > value):
        text = f"{value + math.copysign(abs(value) * 5e-10, towards):.10g}"
    return text


def _cell(tag: str, index: int, text: str, style: str = "") -> str:
    side = "left" if index == 0 else "right"
    inner = text if isinstance(text, _Bar) else escape(text)
    return (
        f'<{tag} style="text-align:{side};padding:.15em 1.2em .15em 0;border:0;background:none;{style}">'
        f"{inner}</{tag}>"
    )
