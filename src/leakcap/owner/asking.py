"""Exact questions about a table, for its owner: through the engine that releases read it with.

A release asks for aggregates alone. Here values are read too, so that the owner sees what is wrong with them;
nothing of it is recorded, and nothing of it may be passed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from leakcap.release.columns.typed import ReadColumn, aliased, column, source_table
from leakcap.release.engine import Engine

__all__ = ["OwnerTable", "as_read", "is_null", "not_null", "rows_that"]

Row = tuple[Any, ...]


def as_read(name: str, kind: str) -> exp.Expression:
    """A column as a release reads it; NULL where it cannot be read so."""
    return ReadColumn(this=column(name), kind=kind)


def is_null(tree: exp.Expression) -> exp.Expression:
    """Whether it is missing."""
    return exp.Is(this=tree, expression=exp.Null())


def not_null(tree: exp.Expression) -> exp.Expression:
    """Whether it is there."""
    return exp.Not(this=is_null(tree))


def rows_that(test: exp.Expression) -> exp.Expression:
    """How many rows a test is true of."""
    return exp.Count(this=exp.Case(ifs=[exp.If(this=test, true=exp.Literal.number(1))]))


class OwnerTable:
    """The rows that an engine has, as the owner may ask about them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.types = engine.columns()

    def row(self, *answers: exp.Expression) -> list[int]:
        """Aggregates over all rows. None of them may be NULL."""
        (found,) = self._run(self._select(answers).from_(source_table(), copy=False))
        return [int(one) for one in found]

    def per_value(
        self, value: exp.Expression, *answers: exp.Expression, also: Sequence[exp.Expression] = ()
    ) -> list[int]:
        """Aggregates over the values that are there, with those of `also`; `rows` is how many rows have
        each."""
        inner = self._select([value, *also, exp.Literal.number(1)]).from_(source_table(), copy=False)
        names = [f"c{place}" for place in range(1 + len(also))]
        told = [aliased(column(name), f"value{name}") for name in names]
        groups = exp.Select(expressions=[*told, aliased(exp.Count(this=exp.Star()), "rows")]).from_(
            inner.subquery("given", copy=False), copy=False
        )
        groups = groups.where(*(not_null(column(name)) for name in names), copy=False)
        groups = groups.group_by(*map(column, names), copy=False)
        (found,) = self._run(self._select(answers).from_(groups.subquery("groups", copy=False), copy=False))
        return [int(one) for one in found]

    def values(self, value: exp.Expression, test: exp.Expression | None, most: int) -> list[tuple[Any, int]]:
        """The most frequent values of the rows that a test is true of, with how many rows have each."""
        inner = self._select([value, test or not_null(value.copy())]).from_(source_table(), copy=False)
        rows = exp.Count(this=exp.Star())
        tree = exp.Select(expressions=[aliased(column("c0"), "value"), aliased(rows, "rows")])
        tree = tree.from_(inner.subquery("given", copy=False), copy=False)
        tree = tree.where(column("c1"), copy=False).group_by(column("c0"), copy=False)
        ordered = [exp.Ordered(this=column("rows"), desc=True), exp.Ordered(this=column("value"), desc=False)]
        tree = tree.order_by(*ordered, copy=False).limit(most, copy=False)
        return [(value_, int(many)) for value_, many in self._run(tree)]

    def together(self, values: Sequence[exp.Expression], *tests: exp.Expression) -> list[tuple[Row, int]]:
        """The values that occur together in rows that the tests are true of, with how many rows have them."""
        inner = self._select(values).from_(source_table(), copy=False).where(*tests, copy=False)
        names = [f"c{place}" for place in range(len(values))]
        told = [aliased(column(name), f"value{name}") for name in names]
        tree = exp.Select(expressions=[*told, aliased(exp.Count(this=exp.Star()), "rows")])
        tree = tree.from_(inner.subquery("given", copy=False), copy=False)
        tree = tree.group_by(*map(column, names), copy=False)
        return [(tuple(own), int(many)) for *own, many in self._run(tree)]

    def _select(self, trees: Sequence[exp.Expression]) -> exp.Select:
        """The trees under the names c0, c1, …"""
        return exp.Select(expressions=[aliased(tree, f"c{place}") for place, tree in enumerate(trees)])

    def _run(self, tree: exp.Select) -> list[Row]:
        return self._engine.run(self._engine.write(tree)).rows()
