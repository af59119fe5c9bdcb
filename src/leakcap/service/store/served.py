"""How far each data set's ledger was when it was last served: a lost or older one would give budgets back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select

from leakcap.service.store.acts import append_act
from leakcap.service.store.database import StoreDatabase
from leakcap.service.store.schema import ACTS
from leakcap.service.store.times import Clock, moment_of

__all__ = ["Served", "ServedBook"]

_ACT = "serve data set"


@dataclass(frozen=True)
class Served:
    """When a data set was last begun to be served, and how many rows its ledger's chain had then."""

    time: datetime
    rows: int


class ServedBook:
    """The log of acts, read and written for this one act."""

    def __init__(self, database: StoreDatabase, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def last(self, dataset: str) -> Served | None:
        """The last time; None for a data set that was never served."""
        asked = select(ACTS).where(ACTS.c.act == _ACT, ACTS.c.dataset == dataset)
        with self._database.reading() as connection:
            row = connection.execute(asked.order_by(ACTS.c.seq.desc()).limit(1)).one_or_none()
        return None if row is None else Served(moment_of(row.time), int(json.loads(row.details)["rows"]))

    def note(self, dataset: str, rows: int, *, by: str) -> None:
        """From here on it is served, with a ledger of so many rows."""
        with self._database.writing() as connection:
            append_act(connection, self._clock(), by, _ACT, dataset=dataset, details={"rows": rows})
