"""What a question about a data set is let in by, looked up in one statement: token, roles and pause."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sqlalchemy import Table, bindparam

from leakcap.service.store.database import LookedUp, StoreDatabase
from leakcap.service.store.grants import OF_SUBJECT
from leakcap.service.store.pauses import OF_DATASET
from leakcap.service.store.schema import GRANTS, PAUSES, TOKENS
from leakcap.service.store.tokens import OF_ID, parts_of

__all__ = ["admission"]


def _labelled(table: Table) -> list[Any]:
    return [column.label(f"{table.name}_{column.name}") for column in table.c]


_ALL = (
    OF_ID.add_columns(*_labelled(GRANTS), *_labelled(PAUSES))
    .outerjoin(GRANTS, GRANTS.c.subject == TOKENS.c.subject)
    .outerjoin(PAUSES, PAUSES.c.dataset == bindparam("of"))
    .order_by(GRANTS.c.dataset, GRANTS.c.role)
)


def admission(database: StoreDatabase, presented: str, dataset: str) -> LookedUp:
    """What the books find for whoever presents this token and asks about this data set; nothing where it has
    not a token's form."""
    id_, _ = parts_of(presented)
    if not id_:
        return {}
    rows = database.rows(_ALL, id_=id_, of=dataset)
    if not rows:
        return {(OF_ID, id_): ()}
    return {
        (OF_ID, id_): rows[:1],
        (OF_SUBJECT, rows[0].subject): _of(GRANTS, rows),
        (OF_DATASET, dataset): _of(PAUSES, rows[:1]),
    }


def _of(table: Table, rows: Any) -> list[SimpleNamespace]:
    """The rows of an outer join as those of one of its tables, without what it did not find."""
    names = {column.name: f"{table.name}_{column.name}" for column in table.c}
    found = [SimpleNamespace(**{name: getattr(row, said) for name, said in names.items()}) for row in rows]
    return [one for one in found if one.dataset is not None]
