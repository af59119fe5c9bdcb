"""GROUP BY: the columns that split the table, and the margins that CUBE, ROLLUP and GROUPING SETS ask for.

    groups = group {"," group}
    group  = place | CUBE "(" place {"," place} ")" | ROLLUP "(" place {"," place} ")"
           | GROUPING SETS "(" set {"," set} ")"
    set    = place | "(" [place {"," place}] ")" | CUBE "(" … ")" | ROLLUP "(" … ")"

What is asked of the table are the finest groups, by all of the columns; margins are sums of what was released
(`results/margins.py`). GROUPING SETS need not name the finest groups, which are then paid for and not shown.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlglot import exp

from leakcap.errors import InvalidQuery
from leakcap.release.sql.ordering import Selected
from leakcap.release.sql.scope import Scope
from leakcap.release.sql.tables import listed_words
from leakcap.release.sql.words import SelectPart, Spelled, Words

__all__ = ["SUMMING", "Grouping", "read_grouping", "summing_word"]

SUMMING = "CUBE, ROLLUP or GROUPING SETS"


class Grouping(NamedTuple):
    """The columns of the finest groups, those that each margin keeps, and whether the finest are shown."""

    by: tuple[str, ...] = ()
    margins: tuple[tuple[str, ...], ...] = ()
    finest: bool = True


def read_grouping(
    words: Words, part: SelectPart, items: Sequence[Selected], scope: Scope
) -> tuple[Grouping, list[Spelled]]:
    """What GROUP BY says, and how it is spelled. Raises `InvalidQuery` at the place of what is refused."""
    group = part.tree.args.get("group")
    if group is None:
        return Grouping(), []
    aliases = {item.alias: item.column for item in items if item.alias and item.call is None}
    places = _Places(words, part, items, scope, aliases)
    by: list[str] = []
    lists: list[list[Spelled]] = []
    summed: _Summed | None = None
    for node in words.only(group, exp.Group).expressions:
        if isinstance(node, exp.Cube | exp.Rollup | exp.GroupingSets):
            if summed is not None:
                said = f"GROUP BY may have one {SUMMING}"
                raise words.refusal(said, summing_word(words, part, 2), "Leave one out.")
            summed = places.sets(node, by) if isinstance(node, exp.GroupingSets) else places.parts(node, by)
            by += summed.columns
            lists.append(summed.spelled)
        else:
            lists.append(places.put(node, by, by))
    if not by:
        raise words.unexpected(words.find(("GROUP_BY",), part.at, part.depth) + 1, "a column")
    spelled: list[Spelled] = ["GROUP_BY", *listed_words(lists)]
    if summed is None:
        return Grouping(tuple(by)), spelled
    gone = [[name for name in summed.columns if name not in kept] for kept in summed.kept]
    margins = tuple(tuple(name for name in by if name not in out) for out in gone if out)
    return Grouping(tuple(by), margins, finest=[] in gone), spelled


def summing_word(words: Words, part: SelectPart, which: int = 1) -> int:
    """Where the first CUBE, ROLLUP or GROUPING SETS begins, or the second."""
    at = words.find(("GROUP_BY",), part.at, part.depth)
    for _ in range(which):
        at = words.find(("CUBE", "ROLLUP", "GROUPING_SETS"), at + 1, part.depth)
    return words.place(at)


class _Summed(NamedTuple):
    """The columns in CUBE, ROLLUP or GROUPING SETS, which of them each table keeps, and how it is spelled."""

    columns: list[str]
    kept: list[tuple[str, ...]]
    spelled: list[Spelled]


@dataclass(frozen=True)
class _Places:
    """What stands in GROUP BY, read one place at a time."""

    words: Words
    part: SelectPart
    items: Sequence[Selected]
    scope: Scope
    aliases: Mapping[str, str | None]

    def put(self, node: exp.Expression, by: list[str], others: Sequence[str]) -> list[Spelled]:
        """Put the column that is meant after those of `by`; and how it is spelled."""
        words, scope = self.words, self.scope
        own = isinstance(node, exp.Column) and (scope.has(node.name) or node.args.get("table"))
        column = None if own or not isinstance(node, exp.Column) else self.aliases.get(node.name)
        spelled: list[Spelled]
        if column is not None:
            spelled = [words.only(words.only(node, exp.Column).this, exp.Identifier)]
        elif isinstance(node, exp.Literal) and not node.is_string:
            column, spelled = _at(words, self.part, words.only(node, exp.Literal), self.items), ["NUMBER"]
        else:
            column, spelled = scope.key(node)
        if column in by or column in others:
            raise words.refusal(f"GROUP BY names `{column}` twice", words.start_of(node))
        by.append(column)
        return spelled

    def parts(self, node: exp.Cube | exp.Rollup, others: Sequence[str]) -> _Summed:
        """CUBE keeps every part of its columns, ROLLUP the first of them."""
        called, columns = type(node).key.upper(), list[str]()
        spelled = [self.put(one, columns, others) for one in self.words.only(node, type(node)).expressions]
        if not columns:
            raise self._empty(called)
        sizes = range(len(columns), -1, -1)
        kept = (
            [one for size in sizes for one in itertools.combinations(columns, size)]
            if isinstance(node, exp.Cube)
            else [tuple(columns[:size]) for size in sizes]
        )
        return _Summed(columns, kept, [called, "L_PAREN", *listed_words(spelled), "R_PAREN"])

    def sets(self, node: exp.GroupingSets, others: Sequence[str]) -> _Summed:
        """GROUPING SETS keep what each of them names, of a CUBE or ROLLUP all that it keeps; none may stand
        twice.
        """
        words, kept, spelled = self.words, list[tuple[str, ...]](), list[list[Spelled]]()
        for one in words.only(node, exp.GroupingSets).expressions:
            columns: list[str] = []
            found = [columns]
            if isinstance(one, exp.Cube | exp.Rollup):
                inside = self.parts(one, others)
                found = [list(each) for each in inside.kept]
                spelled.append(inside.spelled)
            elif isinstance(one, exp.Tuple | exp.Paren):
                words.only(one, type(one))
                inner = one.expressions if isinstance(one, exp.Tuple) else [one.this]
                own = [self.put(place, columns, others) for place in inner]
                spelled.append(["L_PAREN", *listed_words(own), "R_PAREN"])
            else:
                spelled.append(self.put(one, columns, others))
            for each in found:
                if any(set(each) == set(before) for before in kept):
                    said = f"GROUPING SETS names ({', '.join(each)}) twice"
                    raise words.refusal(said, words.start_of(one, summing_word(words, self.part)))
                kept.append(tuple(each))
        named = list(dict.fromkeys(column for columns in kept for column in columns))
        if not named:
            raise self._empty("GROUPING SETS")
        return _Summed(named, kept, ["GROUPING_SETS", "L_PAREN", *listed_words(spelled), "R_PAREN"])

    def _empty(self, called: str) -> InvalidQuery:
        place = summing_word(self.words, self.part)
        return self.words.refusal(f"{called} needs columns", place, f"Write {called} (…).")


def _at(words: Words, part: SelectPart, node: exp.Literal, items: Sequence[Selected]) -> str:
    """The column that is selected at this place, from 1 on."""
    place = int(node.this) if str(node.this).isdecimal() and len(str(node.this)) < 4 else 0
    column = items[place - 1].column if 0 < place <= len(items) else None
    if column is None or items[place - 1].call is not None:
        start = words.start_of(node, words.place(words.find(("GROUP_BY",), part.at, part.depth)))
        raise words.refusal(f"no column is selected at place {str(node.this)[:20]}", start)
    return column
