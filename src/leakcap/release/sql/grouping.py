"""GROUP BY: the columns that split the table, and the margins that CUBE and ROLLUP ask for.

    groups = group {"," group}
    group  = place | CUBE "(" place {"," place} ")" | ROLLUP "(" place {"," place} ")"

What is asked of the table are the finest groups; margins are sums of what was released
(`results/margins.py`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlglot import exp

from leakcap.release.sql.ordering import Selected
from leakcap.release.sql.scope import Scope
from leakcap.release.sql.tables import listed_words
from leakcap.release.sql.words import SelectPart, Spelled, Words

__all__ = ["Grouping", "read_grouping", "summing_word"]


class Grouping(NamedTuple):
    """The columns of the finest groups, and those that each margin keeps."""

    by: tuple[str, ...] = ()
    margins: tuple[tuple[str, ...], ...] = ()


def read_grouping(
    words: Words, part: SelectPart, items: Sequence[Selected], scope: Scope
) -> tuple[Grouping, list[Spelled]]:
    """What GROUP BY says, and how it is spelled. Raises `InvalidQuery` at the place of what is refused."""
    group = part.tree.args.get("group")
    if group is None:
        return Grouping(), []
    aliases = {item.alias: item.column for item in items if item.alias and item.call is None}
    by: list[str] = []
    lists: list[list[Spelled]] = []
    summed: tuple[type[exp.Expression], list[str]] | None = None
    for node in words.only(group, exp.Group).expressions:
        if not isinstance(node, exp.Cube | exp.Rollup):
            lists.append(_add(words, part, node, items, scope, aliases, by))
            continue
        inner, first = words.only(node, type(node)).expressions, len(by)
        if summed is not None:
            raise words.refusal(
                "GROUP BY may have one CUBE or ROLLUP", summing_word(words, part, 2), "Leave one out."
            )
        if not inner:
            called = type(node).key.upper()
            raise words.refusal(f"{called} needs columns", summing_word(words, part), f"Write {called} (…).")
        spelled = [_add(words, part, one, items, scope, aliases, by) for one in inner]
        lists.append([type(node).key.upper(), "L_PAREN", *listed_words(spelled), "R_PAREN"])
        summed = type(node), by[first:]
    if not by:
        raise words.unexpected(words.find(("GROUP_BY",), part.at, part.depth) + 1, "a column")
    margins = () if summed is None else _margins(by, *summed)
    return Grouping(tuple(by), margins), ["GROUP_BY", *listed_words(lists)]


def summing_word(words: Words, part: SelectPart, which: int = 1) -> int:
    """Where the first CUBE or ROLLUP begins, or the second."""
    at = words.find(("GROUP_BY",), part.at, part.depth)
    for _ in range(which):
        at = words.find(("CUBE", "ROLLUP"), at + 1, part.depth)
    return words.place(at)


def _margins(
    by: Sequence[str], kind: type[exp.Expression], summed: Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """CUBE keeps every part of its columns, ROLLUP the first of them; all other columns are always kept."""
    sizes = range(len(summed) - 1, -1, -1)
    parts = (
        [kept for size in sizes for kept in itertools.combinations(summed, size)]
        if kind is exp.Cube
        else [tuple(summed[:size]) for size in sizes]
    )
    return tuple(tuple(name for name in by if name in kept or name not in summed) for kept in parts)


def _add(
    words: Words,
    part: SelectPart,
    node: exp.Expression,
    items: Sequence[Selected],
    scope: Scope,
    aliases: Mapping[str, str | None],
    by: list[str],
) -> list[Spelled]:
    """Put the column that is meant after those of `by`; and how it is spelled."""
    own = isinstance(node, exp.Column) and (scope.has(node.name) or node.args.get("table"))
    column = None if own or not isinstance(node, exp.Column) else aliases.get(node.name)
    spelled: list[Spelled]
    if column is not None:
        spelled = [words.only(words.only(node, exp.Column).this, exp.Identifier)]
    elif isinstance(node, exp.Literal) and not node.is_string:
        column, spelled = _at(words, part, words.only(node, exp.Literal), items), ["NUMBER"]
    else:
        column, spelled = scope.key(node)
    if column in by:
        raise words.refusal(f"GROUP BY names `{column}` twice", words.start_of(node))
    by.append(column)
    return spelled


def _at(words: Words, part: SelectPart, node: exp.Literal, items: Sequence[Selected]) -> str:
    """The column that is selected at this place, from 1 on."""
    place = int(node.this) if str(node.this).isdecimal() and len(str(node.this)) < 4 else 0
    column = items[place - 1].column if 0 < place <= len(items) else None
    if column is None or items[place - 1].call is not None:
        start = words.start_of(node, words.place(words.find(("GROUP_BY",), part.at, part.depth)))
        raise words.refusal(f"no column is selected at place {str(node.this)[:20]}", start)
    return column
