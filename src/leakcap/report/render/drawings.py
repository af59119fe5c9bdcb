"""Pictures that print and need no script: people as dots, caps as bars, got against at most."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate
from unicodedata import east_asian_width

from leakcap.report.render.document import Drawing

__all__ = ["Node", "bars", "crowds", "icicle", "percent_of"]

_CELL, _GAP, _LINE = 16, 40, 30
_WIDE, _TALL, _LETTER = 880, 420, 7.2
# Of narrower nodes a name would be dots.
_NARROWEST = 40


@dataclass(frozen=True)
class Node:
    """A node of a tree: its depth from 0, its name, its size, and the words that are shown over it.

    `kind` is "known" where the size is exact, "faint" where noise is as large as it is, else empty.
    """

    depth: int
    name: str
    size: float
    words: str
    kind: str = ""


def icicle(nodes: Sequence[Node], label: str) -> Drawing:
    """A tree from left to right, each node as high as it is large, beside the one that it is part of.

    Nodes come in the order of reading, each before its own. Names stand where there is room for them, `words`
    on hover; what has no size, or one that is negative or no number, is not drawn.

    >>> tree = icicle([Node(0, "all", 3, ""), Node(1, "a", 2, ""), Node(1, "b", 1, "")], "3 in 2 parts")
    >>> tree.svg.count("<rect"), tree.label
    (3, '3 in 2 parts')
    """
    depths = max((node.depth for node in nodes), default=0) + 1
    # Not a number is not above 0 either.
    sizes = [node.size if node.size > 0.0 else 0.0 for node in nodes]
    whole = sum(size for node, size in zip(nodes, sizes, strict=True) if node.depth == 0)
    wide, high = _WIDE / depths, _TALL / whole if whole > 0 else 0.0
    # Where the next node of each depth begins.
    tops, parts = [0.0] * (depths + 1), list[str]()
    for node, size in zip(nodes, sizes, strict=True):
        top, tall = tops[node.depth], size * high
        tops[node.depth] = top + tall
        tops[node.depth + 1] = top
        if tall <= 0.0:
            continue
        x = node.depth * wide
        kind = f"node {node.kind}".rstrip()
        parts.append(f"<g><title>{escape(node.words)}</title>")
        parts.append(
            f'<rect x="{x:.1f}" y="{top:.2f}" width="{wide:.1f}" height="{tall:.2f}" class="{kind}"/>'
        )
        if tall >= 16 and wide >= _NARROWEST:
            parts.append(f'<text x="{x + 6:.1f}" y="{top + min(tall / 2 + 4.5, 22):.1f}">')
            parts.append(f"{escape(_cut(node.name, wide))}</text>")
        parts.append("</g>")
    return _svg(_WIDE, _TALL, "".join(parts), label, wide=True)


def _cut(text: str, wide: float) -> str:
    """As much of a name as there is room for; Chinese, Japanese and Korean signs take the room of two.

    >>> _cut("Northern Highlands", 100), _cut("東京都千代田区", 100), _cut("東京都", 100)
    ('Northern Hi…', '東京都千代…', '東京都')
    """
    most = max(1, int((wide - 12) / _LETTER))
    ends = list(accumulate(2 if east_asian_width(sign) in "WF" else 1 for sign in text))
    if not ends or ends[-1] <= most:
        return text
    return f"{text[: bisect_right(ends, most - 1)]}…"


def crowds(pictures: Sequence[tuple[str, int, int]]) -> Drawing:
    """Squares of a hundred dots, one below the other: a title, how many are full, how many of them are new.

    >>> crowds([("by a coin", 50, 0), ("with it", 53, 3)]).label
    'by a coin: 50 of 100; with it: 53 of 100'
    """
    side, parts = 10 * _CELL, []
    for index, (title, full, new) in enumerate(pictures):
        top = index * (side + _GAP)
        parts.append(f'<text x="0" y="{top + 15}">{escape(title)}</text>')
        for dot in range(100):
            kind = "off" if dot >= full else "new" if dot >= full - new else "on"
            x, y = dot % 10 * _CELL + _CELL / 2, top + 26 + dot // 10 * _CELL + _CELL / 2
            parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="5.5" class="{kind}"/>')
    height = len(pictures) * (side + _GAP) - _GAP + 26
    label = "; ".join(f"{title}: {full} of 100" for title, full, _ in pictures)
    return _svg(side, height, "".join(parts), label, narrow=True)


def bars(rows: Sequence[tuple[str, float, str]], *, warm: float = 0.8) -> Drawing:
    """A bar a row: a title, the share of the whole in [0, 1], and the words beside it.

    Nothing is drawn full, or empty, that is not. From the share `warm` on a bar has the colour of warning.

    >>> bars([("ε", 0.5, "1 of 2")]).label
    'ε: 1 of 2'
    """
    parts = []
    start = max(190, 12 + 7 * max((len(title) for title, _, _ in rows), default=0))
    for index, (title, share, words) in enumerate(rows):
        y, long = index * _LINE, percent_of(share)
        kind = "new" if share > warm else "on"
        parts.append(f'<text x="0" y="{y + 18}">{escape(title)}</text>')
        parts.append(f'<rect x="{start}" y="{y + 6}" width="220" height="16" rx="3" class="off"/>')
        if long:
            parts.append(
                f'<rect x="{start}" y="{y + 6}" width="{2.2 * long:g}" height="16" rx="3" class="{kind}"/>'
            )
        parts.append(f'<text x="{start + 232}" y="{y + 18}">{escape(words)}</text>')
    return _svg(
        start + 530, max(len(rows), 1) * _LINE, "".join(parts), "; ".join(f"{t}: {w}" for t, _, w in rows)
    )


def percent_of(share: float) -> int:
    """A share in whole per cent, 0 and 100 only where it is exactly that.

    >>> percent_of(1e-9), percent_of(0.9999), percent_of(0.0), percent_of(1.0)
    (1, 99, 0, 100)
    """
    if share <= 0.0:
        return 0
    return 100 if share >= 1.0 else min(max(math.ceil(share * 100), 1), 99)


def _svg(
    width: int, height: int, body: str, label: str, *, narrow: bool = False, wide: bool = False
) -> Drawing:
    kind = "drawing narrow" if narrow else "drawing wide" if wide else "drawing"
    return Drawing(
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(label)}">{body}</svg>',
        label,
        wide,
    )
