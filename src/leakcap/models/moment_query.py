"""The moments of a table behind a policy: one aggregate statement, run by whatever engine holds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from leakcap.errors import DataError, InvalidQuery
from leakcap.models.integers import GridAxis
from leakcap.models.moments import Moments
from leakcap.release import Policy
from leakcap.release.columns.typed import ExactSum, Quantize, aliased, column
from leakcap.release.engine import Engine, SqlStatement
from leakcap.release.engine.base import in_one_state
from leakcap.release.engine.beforehand import check_schema
from leakcap.release.plan import Plan
from leakcap.release.planning.plan import plan_query, text_of, used_columns
from leakcap.release.planning.queries import Query
from leakcap.release.planning.statements import rows_of

__all__ = ["MomentQuery", "bounded_rows"]


class MomentQuery:
    """Σ vᵢvⱼ over the rows that have all columns, of at most `rows_per_unit` of each unit."""

    def __init__(self, policy: Policy, names: Sequence[str], where: str | None) -> None:
        for name in names:
            known = policy.columns.get(name)
            if known is None or known.bounds is None:
                raise InvalidQuery(
                    f"`{name}` is not a column of the policy with `bounds`, which a regression needs."
                )
        if len(set(names)) < len(names):
            raise InvalidQuery("A regression needs every feature and the target once, and no column twice.")
        self.policy, self.names = policy, tuple(names)
        self._where = where
        self._count = _count(policy, where)

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """The public bounds of features and target."""
        pairs = [self.policy.columns[name].bounds for name in self.names]
        return [pair for pair in pairs if pair is not None]

    @property
    def text(self) -> str:
        """The query in one normal form, for the ledger."""
        return f"second moments of {', '.join(self.names)} {_condition(self._count)}".strip()

    def tree(self, plan: Moments, seed: str = "") -> exp.Select:
        """The statement in our own words; `seed` is the ledger's, for units with too many rows."""
        values = [aliased(self._steps(name, axis), f"v{n}") for n, (name, axis) in self._columns(plan)]
        rows = rows_of(self._count, values, seed)
        outer = exp.Select(expressions=[self._total(plan, i, j) for i, j in plan.pairs])
        outer = outer.from_(rows.subquery("integers", copy=False), copy=False)
        for n, _ in self._columns(plan):
            known = exp.Not(this=exp.Is(this=column(f"v{n}"), expression=exp.Null()))
            outer = outer.where(known, copy=False)
        return outer

    def _columns(self, plan: Moments) -> list[tuple[int, tuple[str, GridAxis]]]:
        return list(enumerate(zip(self.names, plan.axes, strict=True), 1))

    def _steps(self, name: str, axis: GridAxis) -> Quantize:
        fill = self.policy.columns[name].fill
        missing = None
        if fill is not None:
            missing = max(axis.least, min(axis.most, round(fill * 2.0**axis.exponent)))
        return Quantize(
            this=column(name),
            low=axis.bounds[0],
            high=axis.bounds[1],
            scale=2.0**axis.exponent,
            least=axis.least,
            most=axis.most,
            centre=axis.centre,
            missing=missing,
        )

    def _total(self, plan: Moments, i: int, j: int) -> exp.Expression:
        if j == 0:
            return exp.Count(this=exp.Star())
        value: exp.Expression = column(f"v{j}")
        if i > 0:
            value = exp.Mul(this=column(f"v{i}"), expression=value)
        return ExactSum(this=value, largest=plan.largest[i] * plan.largest[j])

    def check(self, engine: Engine) -> None:
        """Refuse a table without these columns, from its schema."""
        used = (*self.names, *(n for n in used_columns(self._count) if n not in self.names))
        check_schema(engine.columns(), used, self.policy)

    def statement(self, plan: Moments, engine: Engine, seed: str = "") -> SqlStatement:
        """As the engine runs it; its quick way only where no sum can be too large for that."""
        statement = engine.write(self.tree(plan, seed))
        return statement if plan.fits_doubles else replace(statement, quick=None)

    def run(self, statement: SqlStatement, engine: Engine) -> list[int]:
        """The exact totals, in integers."""
        (row,) = in_one_state(engine, lambda: engine.run(statement)).rows()
        if not all(isinstance(total, int) for total in row):
            raise DataError("The engine did not return integers.")
        return [int(total) for total in row]


def bounded_rows(
    policy: Policy, where: str | None, values: Sequence[exp.Expression], seed: str
) -> tuple[exp.Select, str]:
    """`values` of the rows that count, at most `rows_per_unit` of each unit, and in words which ones.

    They are the rows of a count: bounded as there, and under the same `where`.
    """
    count = _count(policy, where)
    return rows_of(count, values, seed), _condition(count)


def _count(policy: Policy, where: str | None) -> Plan:
    return plan_query(Query(name="rows", statistic="count", where=where, epsilon=1.0), policy)


def _condition(count: Plan) -> str:
    return text_of(count).removeprefix("count").strip()
