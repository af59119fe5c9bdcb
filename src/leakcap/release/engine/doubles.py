"""Sums of integers held in doubles, where that is exact, on any engine.

Doubles add up exactly as long as they hold integers and every partial sum stays below 2⁵³, and cost about
half as much as wide integers. A lowering with `DoubleSums` checks in the same statement that every total must
have stayed below that, and returns NULL where it cannot say so; then the engine's own integers run. Both
return the same integers: only time depends on which one ran.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sqlglot import exp

from leakcap.release.columns.typed import ExactSum, tree_nodes
from leakcap.release.engine.base import Columns, SqlStatement
from leakcap.release.engine.lowering import Lowering, cast, null, seed_in

__all__ = ["ROUNDED", "DoubleSums", "quick_or_sure", "written"]

_EXACT = 2**53
ROUNDED = 2**50
"""The size up to which adding and taking off a large double rounds to an integer."""


class DoubleSums(Lowering):
    """Rows become doubles that hold integers; NULL stands in place of a total that may not be exact."""

    def constant(self, value: int) -> exp.Expression:
        """A double."""
        return self.number(float(value))

    def total(self, node: ExactSum) -> exp.Expression:
        """The sum, where COUNT(*)·largest ≤ 2⁵³."""
        few = exp.LTE(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(self.limit(node) or 0))
        summed = exp.Coalesce(this=exp.Sum(this=node.this), expressions=[self.number(0.0)])
        return exp.Case(ifs=[exp.If(this=few, true=cast(summed, "BIGINT"))], default=null())

    def limit(self, node: ExactSum) -> int | None:
        """Up to how many rows of a cell a total is exact; 0 where rounding is not, None for any number."""
        largest = int(node.args["largest"])
        return _EXACT // max(largest, 1) if largest <= ROUNDED else 0


def written(tree: exp.Expression, sure: Lowering, quick: DoubleSums) -> SqlStatement:
    """The statement in both ways, where there is something to add up and doubles may do."""
    seed = seed_in(tree)
    sums = tree_nodes(tree, ExactSum)
    limited = [(limit, node) for node in sums if (limit := quick.limit(node)) is not None]
    text = quick.text(tree.copy()) if sums and all(limit for limit, _ in limited) else None
    alone = 1 if tree.args.get("group") is None else None
    rooms = [limit * cells for limit, node in limited if (cells := node.args.get("cells") or alone)]
    most = min(rooms) if rooms else None
    return SqlStatement(partial(sure.text, tree), len(tree.expressions), text, most, seed)


def quick_or_sure(statement: SqlStatement, aggregate: Callable[[str, int | None], Columns]) -> Columns:
    """The result: from the quick statement where it is sure of every number in it."""
    if statement.quick is not None:
        found = aggregate(statement.quick, statement.seed)
        if found.known:
            return found
    return aggregate(statement.text, statement.seed)
