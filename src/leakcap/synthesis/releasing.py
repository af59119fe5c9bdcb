"""What a file of rows is made of, and what a regression of it is compared with, released in one commit."""

from __future__ import annotations

from typing import Any

from leakcap.ledger import Request
from leakcap.release import PrivateTable
from leakcap.release.asking.beside import Beside
from leakcap.sampling import ByteSource, system_bytes
from leakcap.synthesis.choice import ChoiceQuestion
from leakcap.synthesis.choosing import ChoiceBeside
from leakcap.tables import ReleasedTables, TablesQuestion
from leakcap.tables.release import TablesBeside

__all__ = ["release_for_file"]


def release_for_file(
    table: PrivateTable,
    question: TablesQuestion | ChoiceQuestion,
    regression: TablesQuestion | None = None,
    *,
    fresh: bool = False,
    source: ByteSource = system_bytes,
    request: Request | None = None,
) -> tuple[ReleasedTables, ReleasedTables | None]:
    """The tables of a file, chosen ones too, and those of its `regression` where that has a price of its own.

    All of it is paid in one commit or none; what the ledger knows is free, unless `fresh`. Raises
    `InvalidQuery`, `DataError` or `BudgetExceeded` with nothing spent.

    >>> import pyarrow
    >>> people = pyarrow.table({"a": [1, 2] * 500, "b": [1, 2] * 500, "c": [1, 1, 2, 2] * 250})
    >>> policy = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"rho": 1.0},
    ...     "columns": {name: {"keys": [1, 2]} for name in "abc"}}
    >>> asked = TablesQuestion(columns=("a", "b", "c"), ways=2, rho=0.02)
    >>> with PrivateTable(people, policy=policy, ledger="sqlite://") as private:
    ...     own = TablesQuestion(columns=("a", "c"), ways=2, rho=0.01)
    ...     found, beside = release_for_file(private, asked, own)
    ...     [round(entry.spend.rho, 3) for entry in private.ledger.entries()]
    [0.02, 0.01]
    """
    first: TablesBeside | ChoiceBeside
    if isinstance(question, ChoiceQuestion):
        first = ChoiceBeside(table, question.planned(table.policy), source)
    else:
        first = TablesBeside(table, question.flat(table.policy).planned(table.policy), source)
    second = None
    if regression is not None:
        second = TablesBeside(table, regression.flat(table.policy).planned(table.policy), source)
    beside: list[Beside[Any]] = [first, *([] if second is None else [second])]
    paid = table.release_with([], beside, fresh=fresh, request=request)[1]
    return first.released(paid[0]), None if second is None else second.released(paid[1])
