"""Several published tables of the same people: numbers as sums over the combinations of all dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from leakcap.disclosure.published_files import published_count, published_lines
from leakcap.errors import InvalidInput

__all__ = ["PublishedNumber", "PublishedTables", "read_published_tables"]

_MOST, _TERMS = 20_000, 4_000_000
_EITHER = "|"


class PublishedNumber(NamedTuple):
    """What is published of the people whose value in each dimension is one of these; None for all values."""

    where: tuple[tuple[int, ...] | None, ...]
    shown: int | str


class PublishedTables(NamedTuple):
    """Dimensions, the words of each, and every number that is published."""

    dimensions: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    numbers: tuple[PublishedNumber, ...]

    @property
    def combinations(self) -> int:
        """How many combinations of values there are."""
        return math.prod(map(len, self.labels))

    def combination(self, number: int) -> str:
        """A combination in words.

        >>> PublishedTables(("region", "sex"), (("N", "S"), ("f", "m")), ()).combination(2)
        'S, f'
        """
        words = []
        for own in reversed(self.labels):
            number, at = divmod(number, len(own))
            words.append(own[at])
        return ", ".join(reversed(words))

    def cells(self, number: PublishedNumber) -> list[int]:
        """The combinations over which a number is the sum.

        >>> tables = PublishedTables(("region", "sex"), (("N", "S"), ("f", "m")), ())
        >>> tables.cells(PublishedNumber((None, (1,)), 5))
        [1, 3]
        """
        chosen = [
            range(len(own)) if one is None else one
            for own, one in zip(self.labels, number.where, strict=True)
        ]
        found = [0]
        for own, places in zip(self.labels, chosen, strict=True):
            found = [before * len(own) + at for before, at in product(found, places)]
        return found

    def words(self, number: PublishedNumber) -> str:
        """Whom a number is about, in words."""
        parts = [
            _EITHER.join(own[at] for at in one)
            for own, one in zip(self.labels, number.where, strict=True)
            if one is not None
        ]
        return ", ".join(parts) or "everybody"


def read_published_tables(paths: Sequence[str | Path], total: str = "total") -> PublishedTables:
    """Tables in CSV files: a column for each dimension, called alike in every file, then the count.

    A line is about everybody in a dimension whose word is `total`, or that its file does not have.
    "young|old" is about either. A value that no file names does not exist. Raises `InvalidInput`.
    """
    read = [(path, *published_lines(path)) for path in paths]
    if not read:
        raise InvalidInput("There must be a published table at least.")
    words: dict[str, dict[str, int]] = {}
    for path, head, lines in read:
        if len(set(head[:-1])) < len(head) - 1 or "" in head[:-1]:
            raise InvalidInput(f"`{path}` must have another name for each dimension.")
        for at, name in enumerate(head[:-1]):
            own = words.setdefault(name, {})
            for row in lines:
                for word in () if row[at] == total else row[at].split(_EITHER):
                    own.setdefault(word, len(own))
    for name, own in words.items():
        if not own:
            raise InvalidInput(f"The dimension `{name}` must have a word besides `{total}`.")
    if math.prod(map(len, words.values())) > _MOST:
        raise InvalidInput(
            f"The tables must have at most {_MOST:,} combinations of all their dimensions. Leave some out."
        )
    numbers = list[PublishedNumber]()
    for path, head, lines in read:
        met: set[object] = set()
        for number, row in enumerate(lines, 2):
            named = {
                name: _places(word, words[name], total) for name, word in zip(head, row[:-1], strict=False)
            }
            where = tuple(named.get(name) for name in words)
            if where in met:
                raise InvalidInput(f"Line {number} of `{path}` has a cell that stood before.")
            met.add(where)
            numbers.append(PublishedNumber(where, published_count(row[-1], number, path)))
    found = PublishedTables(tuple(words), tuple(map(tuple, words.values())), tuple(numbers))
    sizes = [
        math.prod(
            len(own) if one is None else len(one) for own, one in zip(found.labels, each.where, strict=True)
        )
        for each in numbers
    ]
    if sum(sizes) > _TERMS:
        raise InvalidInput(
            f"The published numbers must be sums of at most {_TERMS:,} counts in all. Leave some out."
        )
    return found


def _places(word: str, own: dict[str, int], total: str) -> tuple[int, ...] | None:
    if word == total:
        return None
    return tuple(sorted({own[one] for one in word.split(_EITHER)}))
