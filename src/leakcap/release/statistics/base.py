"""What a statistic says about itself, and which there are."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import ClassVar, TypeVar

from leakcap.arrays import NDArray, np
from leakcap.errors import InvalidQuery, LeakcapError
from leakcap.policy.declared import Key
from leakcap.policy.document import Policy
from leakcap.release.columns.cells import Axis, Cells
from leakcap.release.conditions.condition import named
from leakcap.release.numbers.answers import Answers, Labels, Rows
from leakcap.release.numbers.exact_integers import ExactIntegers
from leakcap.release.plan import Plan, QueryContext
from leakcap.release.query import QueryFields

__all__ = [
    "REFERENCE_ROWS",
    "Asked",
    "Expected",
    "Statistic",
    "assumed_rows",
    "column_bounds",
    "most_rows",
    "require",
    "statistic_of",
    "statistics",
]

GROUP = "leakcap.statistics"

Asked = TypeVar("Asked", bound=QueryFields)

REFERENCE_ROWS = 1000
"""Where the number of rows is neither public nor known, an error is quoted at this many."""


@dataclass(frozen=True)
class Expected:
    """How far an answer is off before it is asked: with 95 % probability at most `error`.

    `rows` is how many rows were assumed where the error depends on them, `remark` what else to say.
    """

    error: float
    rows: int | None = None
    remark: str | None = None


class Statistic(ABC):
    """One statistic: its name, what a query of it may say, its plan, and what its noisy integers mean.

    `sql` are the functions of one column that ask for it, `sql_of_two` those of two; `fields` the query's
    fields that are its own.
    """

    name: ClassVar[str]
    sql: ClassVar[tuple[str, ...]] = ()
    sql_of_two: ClassVar[tuple[str, ...]] = ()
    fields: ClassVar[frozenset[str]] = frozenset({"column"})

    released_keys: ClassVar[bool] = False
    """Whether which rows an answer has is a part of the answer, beside their values."""

    has_noise: ClassVar[bool] = True
    """Whether all of the answer is integers with noise of their own, whose law may be chosen."""

    a_row_a_group: ClassVar[bool] = True
    """Whether an answer has one row for each group; only such groups may have private keys."""

    from_zero: ClassVar[bool] = False
    """Whether 0 says that there is nothing: an answer whose noise is as large as itself may be of nothing."""

    adds_up: ClassVar[bool] = False
    """Whether the noisy integers of disjoint groups add up to those of all of them, so that `answers` makes
    margins of their sums: each part then says how many cells are in a number (`added`)."""

    nests: ClassVar[bool] = False
    """Whether keys of its own columns may lie within each other: cells are then no whole product."""

    nests_in_groups: ClassVar[bool] = False
    """Whether keys of its own columns may lie within those of `by`: not every group then has as many."""

    of_people: ClassVar[bool] = False
    """Whether people are counted, so that it is refused where a row is the unit."""

    @property
    def label(self) -> str:
        """The name as it stands in a sentence."""
        return self.name.replace("_", " ")

    def post_processing(self, query: QueryFields) -> str | None:
        """What was done to the noisy numbers that costs nothing, in words; None where nothing was."""
        return None

    def check(self, query: QueryFields) -> None:
        """Raise `InvalidQuery` where the query's own fields do not fit, whatever the policy."""
        if "column" in self.fields:
            require(query.column is not None, "column", query.name, f"name what the {self.name} is of")

    def with_defaults(self, query: Asked) -> Asked:
        """The query with what it leaves open filled in."""
        return query

    def axes(self, query: QueryFields, policy: Policy, groups: int) -> list[Axis]:
        """The ways in which the table is split beside the keys of `by`, which make `groups` groups."""
        return []

    @abstractmethod
    def plan(self, asked: QueryContext) -> Plan:
        """The parts, and what rows become for them. Raises `InvalidQuery`."""

    def canonical_text(self, query: QueryFields) -> list[str]:
        """What the query's normal text says beside the statistic, `where` and `by`: all of its own fields."""
        words = [f"of {named(query.column)}"] if query.column else []
        words += [f"at {list(query.quantiles)}"] if query.quantiles is not None else []
        words += [f"in {query.bins} bins"] if query.bins is not None else []
        words += [f"with edges {list(query.edges)}"] if query.edges is not None else []
        words += [f"of {', '.join(map(named, query.columns))}"] if query.columns is not None else []
        words += [f"weighted by {named(query.design_weight)}"] if query.design_weight is not None else []
        words += [f"over {named(query.over)}"] if query.over is not None else []
        words += [f"when {query.when!r}"] if query.when is not None else []
        words += [f"top {query.top}"] if query.top is not None else []
        words += [f"up to {query.up_to}"] if query.up_to is not None else []
        return words

    def reads_as(self, query: QueryFields, policy: Policy) -> list[str]:
        """What the normal text says beside, where the policy makes the same query another one."""
        return []

    def groups(self, plan: Plan) -> Cells:
        """What an answer has a row for, of the cells."""
        return plan.cells

    def labels(self, plan: Plan) -> Labels:
        """The keys of each row of the answer."""
        return self.labels_of(self.groups(plan), plan)

    def labels_of(self, groups: Cells, plan: Plan) -> Labels:
        """The keys of each row, where the answer's groups are these: in a margin there are fewer."""
        return groups.labels()

    def drowned(self, rows: Rows) -> NDArray[np.bool_]:
        """For each row whether its noise is as large as a count or a sum, which may be of nothing."""
        return rows.answers.drowned() if self.from_zero else np.zeros(len(rows), dtype=bool)

    def of_population(self, rows: Rows) -> NDArray[np.bool_]:
        """For each row whether its interval is about the population, over sampling too, and not the table."""
        return np.zeros(len(rows), dtype=bool)

    def totals(self, plan: Plan) -> dict[str, Key]:
        """For each column that rows of the answer sum over: what stands there in place of a key."""
        return {}

    def labelled(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> Labels:
        """The keys of each row of this very answer, where they are released (`released_keys`)."""
        return self.labels(plan)

    def places(self, plan: Plan) -> int | None:
        """How many digits after the point its values and the ends of its intervals have at most; None where
        they are no exact decimals.
        """
        return None

    @abstractmethod
    def answers(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> Answers:
        """Value and interval for each row of the labels, from the noisy integers of each part, cell by cell.

        An interval covers with 95 % probability.
        """

    @abstractmethod
    def expected(self, plan: Plan) -> Expected:
        """How far the answer may be off, from public facts alone."""

    def prior_error(self, plan: Plan) -> float | None:
        """How far off somebody is at most who has seen the policy and no answer; None where that is not
        known. A number between L and U is guessed in the middle.
        """
        return None


def require(holds: bool, field: str, name: str, rule: str, remedy: str = "") -> None:
    """Raise `InvalidQuery` that names the query's field and the rule, unless it holds.

    >>> require(False, "bins", "ages", "be a whole number")
    Traceback (most recent call last):
    leakcap.errors.InvalidQuery: `bins` of query `ages` must be a whole number.
    """
    if not holds:
        raise InvalidQuery(f"`{field}` of query `{name}` must {rule}. {remedy}".rstrip())


def most_rows(plan: Plan) -> int | None:
    """How many rows there are at most, where that is public."""
    units = plan.policy.units
    return None if units is None else units * plan.policy.rows_per_unit


def column_bounds(plan: Plan) -> tuple[float, float]:
    """The bounds of the query's column, which has them."""
    bounds = plan.policy.columns[plan.query.column or ""].bounds
    assert bounds is not None
    return bounds


def assumed_rows(plan: Plan) -> int:
    """So many rows in each cell are assumed where an error depends on them."""
    if plan.assumed is not None:
        return plan.assumed
    units = plan.policy.units
    return REFERENCE_ROWS if units is None or plan.cells.open else max(1, units // plan.cells.size)


@cache
def statistics() -> Mapping[str, Statistic]:
    """Every statistic by its name: leakcap's own, then those of other packages.

    Raises `LeakcapError` for one of another package that cannot be used, by its name.

    >>> statistics()["count"].sql
    ('COUNT',)
    """
    found = {kind.name: kind() for kind in _own()}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        kind = _loaded(entry)
        _check(kind, entry, found)
        found[kind.name] = kind()
    return MappingProxyType(found)


def statistic_of(query: QueryFields) -> Statistic:
    """The statistic that is asked for.

    >>> statistic_of(QueryFields(name="n", statistic="count")).label
    'count'
    """
    return statistics()[query.statistic]


def _own() -> Iterator[type[Statistic]]:
    room = importlib.import_module(__name__.rpartition(".")[0])
    for module in sorted(pkgutil.iter_modules(room.__path__), key=lambda module: module.name):
        for value in vars(importlib.import_module(f"{room.__name__}.{module.name}")).values():
            mine = inspect.isclass(value) and value.__module__.endswith(f".{module.name}")
            if mine and issubclass(value, Statistic) and hasattr(value, "name"):
                yield value


def _loaded(entry: EntryPoint) -> type[Statistic]:
    try:
        kind = entry.load()
    except Exception as error:
        raise _refused(entry, f"cannot be loaded ({type(error).__name__})") from None
    if not (inspect.isclass(kind) and issubclass(kind, Statistic)) or inspect.isabstract(kind):
        raise _refused(entry, "is no subclass of `Statistic` with all its methods")
    return kind


def _check(kind: type[Statistic], entry: EntryPoint, known: Mapping[str, Statistic]) -> None:
    """Names and SQL words must be plain and nobody else's: what they ask for must never depend on which
    package came first."""
    name = getattr(kind, "name", None)
    if not isinstance(name, str) or not name.isidentifier() or not name.islower():
        raise _refused(entry, "needs a `name` of lower-case letters, digits and underscores")
    if name in known:
        raise _refused(entry, f"has the name of another, `{name}`")
    taken = {word for one in known.values() for word in (*one.sql, *one.sql_of_two)}
    for word in (*kind.sql, *kind.sql_of_two):
        if not word.isidentifier() or not word.isupper() or word in taken:
            raise _refused(entry, f"has the SQL word `{word}`, which must be upper-case and nobody else's")


def _refused(entry: EntryPoint, rule: str) -> LeakcapError:
    return LeakcapError(f"The statistic `{entry.value}` {rule}. Mend or uninstall its package.")
