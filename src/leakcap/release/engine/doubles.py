"""Sums of integers held in doubles, where that is exact, on any engine.

Doubles add up exactly as long as they hold integers and every partial sum stays below 2⁵³, and cost about
half as much as wide integers. A lowering with `DoubleSums` checks in the same statement that every total must
have stayed below that, and returns NULL where it cannot say so; then the engine's own integers run. Both
return the same integers: only time depends on which one ran.

`LongSums` does the same with integers of 64 bits, which hold 2¹⁰ times as much, for an engine that adds them
up without looking for an overflow row by row.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial

from sqlglot import exp

from leakcap.release.columns.typed import ExactSum, tree_nodes
from leakcap.release.engine.base import Columns, SqlStatement
from leakcap.release.engine.lowering import Lowering, cast, null, seed_in

__all__ = ["ROUNDED", "DoubleSums", "LongSums", "few_rows", "long_limit", "quick_or_sure", "written"]

_EXACT = 2**53
_LARGEST_LONG = 2**63 - 1
# Where 64 bits hold the sum of fewer rows than this they are not asked.
_MANY = 2**18
ROUNDED = 2**50
"""The size up to which adding and taking off a large double rounds to an integer."""


class DoubleSums(Lowering):
    """Rows become doubles that hold integers; NULL stands in place of a total that may not be exact."""

    def constant(self, value: int) -> exp.Expression:
        """A double."""
        return self.number(float(value))

    def total(self, node: ExactSum) -> exp.Expression:
        """The sum, where COUNT(*)·largest ≤ 2⁵³."""
        summed = exp.Coalesce(this=exp.Sum(this=node.this), expressions=[self.number(0.0)])
        return few_rows(self.limit(node) or 0, summed)

    def small(self, summed: exp.Expression) -> exp.Expression:
        """Whether a sum of numbers that are not negative came out so small that it is exact: no partial sum
        was larger, so that all of them are whole numbers below 2⁵³."""
        return exp.LT(this=summed, expression=self.number(float(_EXACT)))

    def limit(self, node: ExactSum) -> int | None:
        """Up to how many rows of a cell a total is exact; 0 where rounding is not, None for any number."""
        largest = int(node.args["largest"])
        return _EXACT // max(largest, 1) if largest <= ROUNDED else 0

    def room(self, node: ExactSum, cells: int | None) -> int | None:
        """With more rows than this one of so many cells has too many; None where that is not known."""
        limit = self.limit(node)
        return None if limit is None or cells is None else limit * cells


class LongSums(Lowering):
    """Rows become integers of 64 bits; NULL stands in place of a total that they may not hold.

    While COUNT(*)·largest < 2⁶³, so is every partial sum, in whatever order and in however many parts. Beyond
    that an engine may stop: tables with more rows than `room` are not asked, however they lie in cells.
    """

    def total(self, node: ExactSum) -> exp.Expression:
        """The sum, where COUNT(*)·largest < 2⁶³; a wider one where that would be too few rows."""
        limit = self.limit(node)
        return self.wide_sum(node) if limit is None else few_rows(limit, self.long_sum(node.this))

    def limit(self, node: ExactSum) -> int | None:
        """Up to how many rows of a cell a total is held; None for any number."""
        return long_limit(node)

    def room(self, node: ExactSum, _cells: int | None) -> int | None:
        """The most rows that all cells together may have."""
        return self.limit(node)

    @abstractmethod
    def long_sum(self, value: exp.Expression) -> exp.Expression:
        """The sum of integers of 64 bits, in 64 bits; 0 where there is none."""

    @abstractmethod
    def wide_sum(self, node: ExactSum) -> exp.Expression:
        """The sum for any number of rows."""


def long_limit(node: ExactSum) -> int | None:
    """Of how many rows 64 bits hold the sum; None where these would be too few.

    >>> long_limit(ExactSum(this=exp.column("v"), largest=2**33)) == 2**30 - 1
    True
    """
    limit = _LARGEST_LONG // max(int(node.args["largest"]), 1)
    return limit if limit >= _MANY else None


def few_rows(limit: int, summed: exp.Expression) -> exp.Expression:
    """The sum as an integer of 64 bits, or NULL with more rows than the limit."""
    few = exp.LTE(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(limit))
    return exp.Case(ifs=[exp.If(this=few, true=cast(summed, "BIGINT"))], default=null())


def written(
    tree: exp.Expression, sure: Lowering, quick: Callable[[], Sequence[DoubleSums | LongSums]]
) -> SqlStatement:
    """The statement in all ways that are exact for some number of rows, if there is something to add up."""
    seed, sums = seed_in(tree), tree_nodes(tree, ExactSum)
    alone = 1 if tree.args.get("group") is None else None
    ways: list[tuple[Callable[[], str], int | None]] = []
    for lowering in quick() if sums else ():
        limits = [lowering.limit(node) for node in sums]
        # Of integers without a limit nothing is quicker than in the sure statement.
        if 0 not in limits and (isinstance(lowering, DoubleSums) or any(limits)):
            rooms = [lowering.room(node, node.args.get("cells") or alone) for node in sums]
            most = min((room for room in rooms if room is not None), default=None)
            ways.append((partial(_copied, lowering, tree), most))
    width = len(tree.expressions)
    if not ways:
        return SqlStatement(partial(sure.text, tree), width, seed=seed)
    (text, most), *wider = ways
    return SqlStatement(partial(_copied, sure, tree), width, text(), most, seed, tuple(wider))


def _copied(lowering: Lowering, tree: exp.Expression) -> str:
    return lowering.text(tree.copy())


def quick_or_sure(statement: SqlStatement, aggregate: Callable[[str, int | None], Columns]) -> Columns:
    """The result: from the quick statement where it is sure of every number in it."""
    if statement.quick is not None:
        found = aggregate(statement.quick, statement.seed)
        if found.known:
            return found
    return aggregate(statement.text, statement.seed)
