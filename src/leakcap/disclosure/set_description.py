"""What files say of a set of tables: who is counted, by which columns, and what is published together."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field

from leakcap.disclosure.joint.published import TableSet, all_margins
from leakcap.errors import InvalidInput
from leakcap.policy.validation import Strict, meant, read_checked

__all__ = ["DescribedSet", "DescribedTables", "read_tables"]

_MOST_LINES, _MOST_TABLES = 100_000, 62
_LARGEST = 10**12


class OneTable(Strict):
    """One table: the columns that it crosses; none for the total."""

    by: list[str]


class DescribedTables(Strict):
    """The second file of `leakcap disclosure`.

    `people` is a CSV file with a line for each kind of people: columns, and their number in `count`.
    `assumed` says whether the numbers are public assumptions or real counts.
    """

    title: str = ""
    people: str
    count: str = "people"
    assumed: bool
    keys: int | None = None
    household: Annotated[int, Field(ge=1, le=1000)] = 1
    margins_of: list[str] | None = None
    table: Annotated[list[OneTable], Field(default_factory=list, max_length=_MOST_TABLES)]


class DescribedSet(NamedTuple):
    """A set of tables that was read: `kinds` are the lines' values, in the order of `columns`."""

    described: DescribedTables
    tables: TableSet
    by: tuple[tuple[str, ...], ...]
    columns: tuple[str, ...]
    kinds: tuple[tuple[str, ...], ...]


def read_tables(path: Path) -> DescribedSet:
    """The tables that a file describes. Raises `InvalidInput` or `InvalidParameter` for what is none."""
    described = read_checked(DescribedTables, path, InvalidInput)
    by = [tuple(one.by) for one in described.table]
    if described.margins_of is not None:
        by = all_margins(described.margins_of) + by
    by = list(dict.fromkeys(by))
    if not by:
        raise InvalidInput(
            f'`{path}` must name what is published: `margins_of = ["a", "b"]`, or a `[[table]]` with `by`.'
        )
    people = path.parent / described.people
    try:
        columns, kinds, counts = _read(people, described.count)
    except (UnicodeDecodeError, csv.Error):
        raise InvalidInput(f"`{people}` must be CSV in UTF-8.") from None
    for name in (name for one in by for name in one):
        if name not in columns:
            raise InvalidInput(f"`{name}` is no column of `{people}`. {meant(name, columns)}")
    values = {name: [kind[place] for kind in kinds] for place, name in enumerate(columns)}
    tables = TableSet.of_columns(counts, values, by)
    return DescribedSet(described, tables, tuple(by), columns, tuple(kinds))


def _read(path: Path, count: str) -> tuple[tuple[str, ...], list[tuple[str, ...]], list[int]]:
    """Columns, the values of each kind of people, and how many they are."""
    with path.open(newline="", encoding="utf-8-sig") as stream:
        lines = csv.reader(stream)
        names = [name.strip() for name in next(lines, [])]
        if count not in names or len(set(names)) < len(names):
            raise InvalidInput(
                f"`{path}` must have different columns, one of them `{count}`: how many people of each kind."
            )
        place = names.index(count)
        kinds: dict[tuple[str, ...], int] = {}
        for number, line in enumerate(lines, start=2):
            if not line:
                continue
            if len(line) != len(names) or len(kinds) >= _MOST_LINES:
                raise InvalidInput(
                    f"Line {number} of `{path}` must have {len(names)} fields, and there may be at most "
                    f"{_MOST_LINES:,} lines."
                )
            text = line.pop(place).strip()
            if not (text.isascii() and text.isdecimal() and len(text) < 16 and int(text) <= _LARGEST):
                raise InvalidInput(f"Line {number} of `{path}` must have a count from 0 to 10^12.")
            kind = tuple(each.strip() for each in line)
            if kind in kinds:
                raise InvalidInput(f"Line {number} of `{path}` has the same kind of people as another line.")
            kinds[kind] = int(text)
    if not kinds:
        raise InvalidInput(f"`{path}` must have a line for each kind of people.")
    columns = tuple(name for name in names if name != count)
    return columns, list(kinds), list(kinds.values())
