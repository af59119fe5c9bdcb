"""What an engine is, and how it keeps its words to itself.

Only aggregates leave an engine. An error of the engine while it reads rows may quote a value, so it is
replaced by a `DataError` without the engine's words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from operator import itemgetter
from typing import Any, Protocol, TypeVar, runtime_checkable

from sqlglot import exp

from leakcap.arrays import NDArray, np
from leakcap.errors import DataError
from leakcap.uncollected import uncollected

__all__ = [
    "READING",
    "Cell",
    "Columns",
    "Engine",
    "OneState",
    "SqlStatement",
    "TextChecked",
    "handed",
    "in_one_state",
    "plain_cells",
    "redact_errors",
    "redact_library_errors",
]

READING = "The data could not be read to the end. What the engine said is withheld: it may quote values."

T = TypeVar("T")
Cell = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class SqlStatement:
    """A statement as one engine runs it.

    `text`, which `sure` writes, is right for every table; `quick`, where there is one, returns the same, or
    NULL where it cannot be sure of a number. With more rows than `most` one cell has too many to be sure of,
    if all rows are in cells; then one of `wider` may do, which are like it, each with a `most` of its own.
    `width` is how many columns come back. `seed` is what the statement's one parameter stands for, where it
    has one: 64 bits that choose among a person's rows.
    """

    sure: Callable[[], str] = field(repr=False)
    width: int
    quick: str | None = None
    most: int | None = None
    seed: int | None = field(default=None, repr=False)
    wider: tuple[tuple[Callable[[], str], int | None], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.quick is None:
            _ = self.text

    @property
    def ways(self) -> tuple[tuple[Callable[[], str], int | None], ...]:
        """The quick statement, if there is one, and the wider ones, with their `most`."""
        quick = self.quick
        return () if quick is None else ((lambda: quick, self.most), *self.wider)

    @cached_property
    def text(self) -> str:
        """Written once: at the start, or beside a quick one where that was not sure, which is seldom."""
        return self.sure()


@dataclass(frozen=True, eq=False)
class Columns:
    """What a statement returned, column by column: vectors of numbers, or of objects, None for NULL."""

    arrays: tuple[NDArray[Any], ...]

    @classmethod
    def of(cls, rows: list[Cell], width: int) -> Columns:
        """From rows, each with so many values.

        >>> Columns.of([(1, "a"), (2, None)], 2).rows()
        [(1, 'a'), (2, None)]
        """
        columns = (map(itemgetter(place), rows) for place in range(width))
        return cls(tuple(np.fromiter(one, dtype=object, count=len(rows)) for one in columns))

    @property
    def known(self) -> bool:
        """Whether nothing is NULL."""
        return not any(one.dtype == object and None in one.tolist() for one in self.arrays)

    def rows(self) -> list[Cell]:
        """The same as rows."""
        return list(zip(*(one.tolist() for one in self.arrays), strict=True))


class Engine(Protocol):
    """A schema, and a way to write and to run an aggregate over the one table."""

    def columns(self) -> dict[str, str]:
        """Column names and their types as DuckDB calls them, without looking at rows.

        A type that is called otherwise is one that leakcap does not read.
        """
        ...

    def write(self, tree: exp.Expression) -> SqlStatement:
        """The statement for this table. The tree is used up. Touches no rows."""
        ...

    def run(self, statement: SqlStatement) -> Columns:
        """The result of an aggregate; raises `DataError` without the engine's words."""
        ...

    def hand(self, statement: SqlStatement, take: Callable[[Columns], None]) -> None:
        """The same some thousands of rows at a time, each to `take`, so that many need not be held at once.

        `take` is called once at least. The order of the rows is the engine's own.
        """
        ...


@runtime_checkable
class OneState(Protocol):
    """An engine whose table others write to: what runs within `one_state()` sees one state of it."""

    def one_state(self) -> AbstractContextManager[None]:
        """What this thread runs within sees the table as it is now."""
        ...


@runtime_checkable
class TextChecked(Protocol):
    """An engine that looks through a column of text once, when the first statement about it is written."""

    def check_text(self, names: Iterable[str]) -> None:
        """Look through these columns now; one that cannot be read is refused where it is asked for."""
        ...


def in_one_state(engine: Engine, action: Callable[[], T]) -> T:
    """What `action` returns, all of whose statements see one state of the table, whatever others write.

    It is paid for by then. A server may end a long reading (a standby does so where it falls behind), so one
    that fails is begun once more, with a state of its own: nothing of the first one has left. Raises what
    `action` raises the second time.
    """
    if not isinstance(engine, OneState):
        return action()
    try:
        with engine.one_state():
            return action()
    except DataError:
        pass
    with engine.one_state():
        return action()


_PIECE = 2**15


def handed(rows: Callable[[int], list[Cell]], width: int, take: Callable[[Columns], None]) -> None:
    """Hand on what `rows`, asked for so many more at a time, returns until there are none.

    >>> left = [(1, "a"), (2, "b")]
    >>> handed(lambda _most: [left.pop()] if left else [], 2, lambda columns: print(columns.rows()))
    [(2, 'b')]
    [(1, 'a')]
    """
    with uncollected():
        piece = rows(_PIECE)
        take(Columns.of(piece, width))
        while piece := rows(_PIECE) if piece else []:
            take(Columns.of(piece, width))


def redact_errors(action: Callable[[], T], kind: type[Exception], message: str = READING) -> T:
    """What `action` returns; where it raises a `kind`, a `DataError` that says nothing about rows.

    It is raised outside the handler, so that the engine's words are not even chained to it.

    >>> redact_errors(lambda: int("a secret"), ValueError, "It failed.")
    Traceback (most recent call last):
    leakcap.errors.DataError: It failed.
    """
    try:
        return action()
    except (kind, RuntimeError, ValueError, TypeError, UnicodeError, OverflowError):
        pass
    raise DataError(message)


def redact_library_errors(action: Callable[[], T], libraries: tuple[str, ...], message: str = READING) -> T:
    """`redact_errors` for libraries that may not be there, and whose errors have no root that could be named.

    >>> redact_library_errors(lambda: __import__("no_such_library"), ("no_such_library",), "It is not there.")
    Traceback (most recent call last):
    leakcap.errors.DataError: It is not there.
    """

    def translated() -> T:
        try:
            return action()
        except ImportError:
            raise ValueError from None
        except Exception as error:
            if type(error).__module__.partition(".")[0] in libraries:
                raise ValueError from None
            raise

    return redact_errors(translated, ValueError, message)


def plain_cells(rows: list[Cell]) -> list[Cell]:
    """The rows with whole decimals as integers, and those that are no number as their words.

    Python's NaN differs from itself: as an id it would be as many people as rows.

    >>> plain_cells([(Decimal("3"), "a")])
    [(3, 'a')]
    """
    return [tuple(_whole(value) for value in row) for row in rows]


def _whole(value: Any) -> Any:
    if not isinstance(value, Decimal):
        return value
    if not value.is_finite():
        return str(value)
    return int(value) if value == int(value) else value
