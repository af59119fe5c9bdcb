"""Answers in rows and columns: the keys of some columns go down, those of the others across.

A pivot shows what a list shows, each value once with its interval; margins stand at the end of what they sum
over. A pair of keys that the answer has no value for is an empty cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from leakcap.errors import InvalidQuery
from leakcap.policy.declared import Key
from leakcap.release.numbers.answers import Labels, Rows, own_heads
from leakcap.statement.record import Part

__all__ = ["FLAG", "PARTS", "Layout", "Pivot", "layout_named", "pivot_shown", "wide_columns"]

Keys = tuple[Key, ...]
PARTS = ("value", "lower", "upper", "flag")
FLAG = "u"
"""Beside a value that its noise drowns: Eurostat's flag for low reliability."""


class Layout(Part):
    """Which columns' keys go down and which across, where an answer is shown in rows and columns."""

    down: Annotated[tuple[str, ...], Field(min_length=1)]
    across: Annotated[tuple[str, ...], Field(min_length=1)]


@dataclass(frozen=True)
class Pivot:
    """Which row of an answer each cell shows; None where it has none.

    `lines` are the keys that go down, one for each column of `layout.down`, `columns` those that go across.

    >>> from leakcap.release.numbers.answers import rows_listed
    >>> labels = rows_listed([{"ward": w, "sex": s} for w in "ab" for s in "fm"][:3])
    >>> found = Pivot.of(labels, Layout(down=("ward",), across=("sex",)))
    >>> found.lines, found.columns, found.places
    ((('a',), ('b',)), (('f',), ('m',)), ((0, 1), (2, None)))
    """

    layout: Layout
    lines: tuple[Keys, ...]
    columns: tuple[Keys, ...]
    places: tuple[tuple[int | None, ...], ...]

    @classmethod
    def of(cls, labels: Labels, layout: Layout) -> Pivot:
        """Keys stand in the order in which the answer has them, the first column slowest."""
        words = {name: own.tolist() for name, own in labels.items()}
        lines, columns = _ordered(words, layout.down), _ordered(words, layout.across)
        found = {
            (down, over): place
            for place, (down, over) in enumerate(
                zip(_keys(words, layout.down), _keys(words, layout.across), strict=True)
            )
        }
        places = tuple(tuple(found.get((line, one)) for one in columns) for line in lines)
        return cls(layout, lines, columns, places)

    @property
    def heads(self) -> tuple[str, ...]:
        """What stands above each of the columns of cells."""
        return tuple(", ".join(map(str, keys)) for keys in self.columns)

    @property
    def corner(self) -> tuple[str, ...]:
        """What stands above the keys that go down; the last one says what goes across, too."""
        *first, last = self.layout.down
        return (*first, f"{last} by {', '.join(self.layout.across)}")

    @property
    def whole(self) -> bool:
        """Whether no cell is empty."""
        return all(None not in line for line in self.places)


def _keys(words: Mapping[str, Sequence[Key]], names: Sequence[str]) -> list[Keys]:
    """For each row of an answer its keys in these columns."""
    return list(zip(*(words[name] for name in names), strict=True))


def _ordered(words: Mapping[str, Sequence[Key]], names: Sequence[str]) -> tuple[Keys, ...]:
    """The keys that occur together in these columns, each column's in the order of the answer."""
    ranks = [{key: rank for rank, key in enumerate(dict.fromkeys(words[name]))} for name in names]
    return tuple(
        sorted(
            dict.fromkeys(_keys(words, names)),
            key=lambda keys: tuple(rank[key] for rank, key in zip(ranks, keys, strict=True)),
        )
    )


def pivot_shown(labels: Labels, layout: Layout | None, *, totals: bool, most: int) -> Pivot | None:
    """The pivot in which an answer is shown: as it is laid out; else, where it is by two columns or has
    margins, with the column that has the fewest keys across, or the last such column.

    None where it is a list: where fewer than 2 or more than `most` keys would go across, where but one would
    go down, and where a cell would be empty though there are no margins, which may be chosen.
    """
    if not len(next(iter(labels.values()), ())):
        return None
    if layout is not None:
        return Pivot.of(labels, layout)
    if len(labels) < 2 or (len(labels) > 2 and not totals):
        return None
    sizes = {name: len(set(words.tolist())) for name, words in labels.items()}
    over = min(reversed(labels), key=sizes.__getitem__)
    if not 2 <= sizes[over] <= most:
        return None
    found = Pivot.of(labels, Layout(down=tuple(name for name in labels if name != over), across=(over,)))
    return found if found.whole or totals else None


def layout_named(
    columns: Sequence[str], name: str, across: str | Sequence[str] = (), down: str | Sequence[str] = ()
) -> Layout:
    """The layout of an answer with these columns of keys: those that are not named go the other way. One
    column may stand without a list.

    Raises `InvalidQuery` unless each column goes one way, and at least one goes each.

    >>> layout_named(["ward", "sex", "year"], "stays", across="sex")
    Layout(down=('ward', 'year'), across=('sex',))
    """
    across, down = ((names,) if isinstance(names, str) else tuple(names) for names in (across, down))
    over = across or tuple(one for one in columns if one not in down)
    below = down or tuple(one for one in columns if one not in across)
    if not over or not below or sorted((*over, *below)) != sorted(columns):
        said = ", ".join(columns) or "none"
        raise InvalidQuery(
            f"`pivot` of `{name}` must send each of its columns one way, one `down` and one `across` at "
            f"least. Its columns are: {said}. Got across {list(across)}, down {list(down)}."
        )
    return Layout(down=below, across=over)


def wide_columns(
    rows: Rows, layout: Layout, flags: Sequence[str | None] | None = None
) -> tuple[list[str], Iterator[list[Any]]]:
    """An answer that is laid out as a wide table: heads, and lines. For each key that goes across there are
    value, both ends of the interval, and the flag, where there are `flags`. Empty cells are None.

    A head that a column of keys bears, or that keys share, gets an underscore.

    >>> from leakcap.release.numbers.answers import Row
    >>> rows = Rows.of([Row({"ward": "a", "sex": "f"}, 5, (2.0, 8.0))])
    >>> heads, lines = wide_columns(rows, Layout(down=("ward",), across=("sex",)))
    >>> heads, list(lines)
    (['ward', 'f value', 'f lower', 'f upper'], [['a', 5, 2.0, 8.0]])
    """
    pivot, parts = Pivot.of(rows.labels, layout), PARTS[:3] if flags is None else PARTS
    heads = own_heads(layout.down, [f"{head} {part}" for head in pivot.heads for part in parts])
    a = rows.answers
    columns = [a.values.tolist(), a.lower.tolist(), a.upper.tolist(), *([] if flags is None else [flags])]

    def lines() -> Iterator[list[Any]]:
        for keys, places in zip(pivot.lines, pivot.places, strict=True):
            cells = ([None if place is None else one[place] for one in columns] for place in places)
            yield [*keys, *(part for cell in cells for part in cell)]

    return [*layout.down, *heads], lines()
