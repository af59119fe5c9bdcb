"""Tables of counts released together: one charge, one noisy vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from leakcap.ledger import Ledger, Paid, Request
from leakcap.release import PrivateTable, Query, Release
from leakcap.release.asking.beside import Beside
from leakcap.sampling import ByteSource, system_bytes
from leakcap.tables.answer import ReleasedTables
from leakcap.tables.charge import charge_of_tables
from leakcap.tables.question import PlannedTables, TablesQuestion
from leakcap.tables.reading import check_columns, counts_of, statements_of_tables
from leakcap.tables.remembered import remembered_values
from leakcap.tables.residuals import Integers, noisy_residuals
from leakcap.tables.workload import Places

__all__ = ["TablesBeside", "release_tables", "release_workloads", "remembered_tables"]


def release_tables(
    table: PrivateTable,
    question: TablesQuestion,
    *,
    fresh: bool = False,
    source: ByteSource = system_bytes,
    request: Request | None = None,
) -> ReleasedTables:
    """The tables of a question, for one charge; for free where the ledger knows the answer, unless `fresh`.
    With a `request` they are paid for once, however often they are asked.

    Raises `InvalidQuery`, `DataError` or `BudgetExceeded` with nothing spent.

    >>> import pyarrow
    >>> people = pyarrow.table({"sex": ["f", "m"] * 500, "ward": ["a", "a", "b", "b"] * 250})
    >>> policy = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0, "delta": 1e-6},
    ...     "columns": {"sex": {"keys": ["f", "m"]}, "ward": {"keys": ["a", "b"]}}}
    >>> with PrivateTable(people, policy=policy, ledger="sqlite://") as private:
    ...     found = release_tables(private, TablesQuestion(columns=("sex", "ward"), ways=2, rho=0.01))
    >>> both, wards = found.table("sex", "ward"), found.table("ward")
    >>> bool(abs(both.values.sum(axis=0) - wards.values).max() < 1e-9), wards.half_width < 60
    (True, True)
    """
    (found,) = release_workloads(table, (), (question,), fresh=fresh, source=source, request=request)[1]
    return found


def release_workloads(
    table: PrivateTable,
    queries: Sequence[Query],
    questions: Sequence[TablesQuestion],
    *,
    fresh: bool = False,
    source: ByteSource = system_bytes,
    request: Request | None = None,
) -> tuple[list[Release], list[ReleasedTables]]:
    """Queries, and the tables of each question for one charge, all in one commit or none.

    Raises `InvalidQuery`, `DataError` or `BudgetExceeded` with nothing spent.
    """
    beside = [TablesBeside(table, question.planned(table.policy), source) for question in questions]
    releases, paid = table.release_with(queries, beside, fresh=fresh, request=request)
    return releases, [one.released(own) for one, own in zip(beside, paid, strict=True)]


def remembered_tables(
    ledger: Ledger, planned: PlannedTables, entry: int | None = None
) -> dict[int, ReleasedTables]:
    """What a ledger remembers of the tables of a question, by entry, oldest first; or of one `entry` alone.
    Touches no data, and asks for nothing: what it returns is as it was released, not repeated.

    >>> import pyarrow
    >>> people = pyarrow.table({"sex": ["f", "m"] * 500})
    >>> policy = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0, "delta": 1e-6},
    ...     "columns": {"sex": {"keys": ["f", "m"]}}}
    >>> asked = TablesQuestion(tables=({"columns": ["sex"]},), rho=0.01)
    >>> with PrivateTable(people, policy=policy, ledger="sqlite://") as private:
    ...     found = release_tables(private, asked).table("sex")
    ...     ((entry, again),) = remembered_tables(private.ledger, asked.planned(private.policy)).items()
    >>> entry, bool((again.table("sex").values == found.values).all())
    (1, True)
    """
    charge = charge_of_tables(planned)
    return {
        number: ReleasedTables(planned, _shaped(planned, values), charge.spend, number, False)
        for number, values in remembered_values(ledger, charge, planned.policy.dataset, entry)
    }


class TablesBeside(Beside[dict[Places, Integers]]):
    """The tables of one question about a table of rows, to be paid for beside others."""

    def __init__(self, table: PrivateTable, planned: PlannedTables, source: ByteSource) -> None:
        check_columns(planned, table.engine)
        same_as = None if table.same_as is None else table.same_as.number
        self._table, self._planned, self._source = table, planned, source
        self.charge = charge_of_tables(
            planned, analyst=table.analyst, edition=table.edition, source=table.named, same_as=same_as
        )

    def prepare(self, *, paid: bool = False) -> Callable[[], dict[Places, Integers]]:
        """What reads the counts, written out before the commit: nothing after it fails because of the
        question."""
        planned, engine, ledger = self._planned, self._table.engine, self._table.ledger
        statements = statements_of_tables(planned, engine, ledger.seed)
        if planned.plan.replace:
            if not paid:
                ledger.check([self.charge])
            self._table.check_units()
        return lambda: counts_of(planned, statements, engine)

    def finished(self, read: dict[Places, Integers]) -> tuple[dict[Places, Integers], Any]:
        """The counts with noise."""
        noisy = noisy_residuals(self._planned.plan, read, self._source)
        return noisy, _stored(self._planned, noisy)

    def released(self, paid: Paid[dict[Places, Integers]]) -> ReleasedTables:
        """What was computed now, or is remembered."""
        noisy = paid.computed
        if noisy is None:
            noisy = _shaped(self._planned, paid.answer.values)
        repeated = paid.computed is None
        return ReleasedTables(self._planned, noisy, self.charge.spend, paid.answer.entry, repeated)


def _stored(planned: PlannedTables, noisy: Mapping[Places, Integers]) -> list[list[int]]:
    """What the ledger remembers: tables and their axes by name, so that who asks for the same reads it."""
    return [noisy[table].transpose(axes).ravel().tolist() for table, axes in _by_name(planned)]


def _shaped(planned: PlannedTables, values: Sequence[Sequence[Any]]) -> dict[Places, Integers]:
    """The same, as it was released."""
    found = {}
    for (table, axes), own in zip(_by_name(planned), values, strict=True):
        shape = planned.plan.workload.numbers_of(table)
        stored = np.array(own, dtype=np.int64).reshape([shape[axis] for axis in axes])
        found[table] = stored.transpose(np.argsort(axes))
    return {table: found[table] for table in planned.plan.variances}


def _by_name(planned: PlannedTables) -> list[tuple[Places, list[int]]]:
    """The tables with noise, and each one's axes in the order of its columns' names."""
    workload, found = planned.plan.workload, []
    columns = list(workload.columns)
    for table, _ in planned.in_order:
        if table in planned.plan.variances:
            own = [columns[place] for place in table]
            found.append((table, [own.index(name) for name in sorted(own)]))
    return found
