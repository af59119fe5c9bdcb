"""Data sets that their owner has paused: nothing is asked of them until they are pause_ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, select
from sqlalchemy.exc import IntegrityError

from leakcap.ledger.chain import require_reason
from leakcap.service.store.acts import append_act
from leakcap.service.store.database import StoreDatabase
from leakcap.service.store.errors import StateConflict
from leakcap.service.store.schema import PAUSES
from leakcap.service.store.times import Clock, moment_of, stored_time

__all__ = ["OF_DATASET", "Pause", "PauseBook", "pause_ended"]

_IN_ORDER = select(PAUSES).order_by(PAUSES.c.dataset)
OF_DATASET = _IN_ORDER.where(PAUSES.c.dataset == bindparam("of"))


@dataclass(frozen=True)
class Pause:
    """Who paused a data set, when and why."""

    dataset: str
    by: str
    reason: str
    time: datetime


class PauseBook:
    """The data sets that are paused now."""

    def __init__(self, database: StoreDatabase, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def pause(self, dataset: str, *, by: str, reason: str) -> Pause:
        """Pause a data set. Raises `StateConflict` where it is paused."""
        require_reason(reason, by, "pause")
        now = self._clock()
        row = {"dataset": dataset, "by": by, "reason": reason, "time": stored_time(now)}
        try:
            with self._database.writing() as connection:
                connection.execute(PAUSES.insert().values(row))
                append_act(connection, now, by, "pause", dataset=dataset, details={"reason": reason})
        except IntegrityError:
            raise StateConflict(f"`{dataset}` is paused. Nothing changed.") from None
        return Pause(dataset, by, reason, now)

    def resume(self, dataset: str, *, by: str) -> None:
        """Let a data set be asked again. Raises `StateConflict` where it is not paused."""
        with self._database.writing() as connection:
            pause_ended(connection, dataset, self._clock(), by=by)

    def of(self, dataset: str) -> Pause | None:
        """The pause of a data set; None where it may be asked."""
        found = self._found(OF_DATASET, of=dataset)
        return found[0] if found else None

    def list(self) -> tuple[Pause, ...]:
        """All data sets that are paused."""
        return self._found(_IN_ORDER)

    def _found(self, asked: Select[Any], **words: str) -> tuple[Pause, ...]:
        rows = self._database.rows(asked, **words)
        return tuple(Pause(row.dataset, row.by, row.reason, moment_of(row.time)) for row in rows)


def pause_ended(
    connection: Connection,
    dataset: str,
    now: datetime,
    *,
    by: str,
    paused: str | None = None,
    more: Mapping[str, Any] | None = None,
) -> None:
    """End a pause in the caller's transaction, with `paused` the one that began at this stored time and no
    other; the log of acts tells `more` of it."""
    found = connection.execute(
        select(PAUSES.c.time).where(PAUSES.c.dataset == dataset).with_for_update()
    ).scalar_one_or_none()
    if found is None:
        raise StateConflict(f"`{dataset}` is not paused. Nothing changed.")
    if paused is not None and found != paused:
        raise StateConflict(
            f"The pause of `{dataset}` that this was asked for has ended, and it was paused anew. Nothing "
            "changed. Refuse it; the end of the new pause can be asked for."
        )
    connection.execute(delete(PAUSES).where(PAUSES.c.dataset == dataset))
    append_act(connection, now, by, "resume", dataset=dataset, details=more)
