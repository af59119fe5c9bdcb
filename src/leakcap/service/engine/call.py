"""One call of the engine: of which data set, for whom, what, and under which request's number."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from leakcap.errors import InvalidQuery
from leakcap.ledger import Request
from leakcap.ledger.chain import text_hash
from leakcap.release import PrivateTable
from leakcap.service.configuration import DataSource
from leakcap.service.engine.tables import OpenTables
from leakcap.service.job_times import JobClock
from leakcap.service.requests import TERMS
from leakcap.service.ticks import LadderClock

__all__ = ["EngineCall"]

T = TypeVar("T")


@dataclass(frozen=True)
class EngineCall:
    """One call: of which data set, for whom, what, and under which request's number."""

    operation: str
    dataset: str
    analyst: str
    body: Mapping[str, Any]
    request: str = ""
    tables: OpenTables | None = None
    source: DataSource | None = None
    clock: JobClock | LadderClock | None = None

    def asked(self, ask: Callable[[PrivateTable], T]) -> T:
        """What is asked of the table; what is written into its ledger is held back by the clock."""
        assert self.tables is not None
        clock = self.clock

        def on_the_clock(table: PrivateTable) -> T:
            if clock is None:
                return ask(table)
            if isinstance(clock, LadderClock):
                clock.rested = False  # nothing was held back yet of what is asked now
            # Under replace-one the rows are read before anything is spent, to count the people.
            reads_first = table.policy.neighbours == "replace-one"
            before_spend = clock.before_spend if reads_first else None
            with table.ledger.held_back(before_spend=before_spend, before_release=clock.before_release):
                return ask(table)

        return self.tables.asked(self.dataset, self.analyst, on_the_clock)

    @property
    def paid_once(self) -> Request | None:
        """The request as the ledger knows it; None where it has no number."""
        if not self.request:
            return None
        body = {name: value for name, value in self.body.items() if name not in ("minimal", *TERMS)}
        asked = json.dumps({"operation": self.operation, "body": body}, sort_keys=True)
        return Request(self.request, text_hash(asked))

    @property
    def most(self) -> dict[str, float] | None:
        """What the question may cost at most, by currency: what was counted when it was let pass without
        approval; None where nothing was said. Raises `InvalidQuery`."""
        most = self.body.get("most")
        if most is None:
            return None
        amounts = isinstance(most, Mapping) and all(
            name in ("epsilon", "rho") and isinstance(one, float) and one >= 0.0 for name, one in most.items()
        )
        if not amounts:
            raise InvalidQuery("`most` must be amounts by currency.")
        return dict(most)

    def require_approved_policy(self, table: PrivateTable) -> None:
        """Raise `InvalidQuery` where the question was approved of under another policy, and not answered
        yet."""
        policy, paid = self.body.get("policy"), self.paid_once
        if policy in (None, table.policy.fingerprint()):
            return
        if paid is None or table.ledger.request(paid.key) is None:
            raise InvalidQuery(
                "The policy was amended after this question was asked: what was approved is no longer what "
                "it would cost and tell. Nothing was spent. Ask again under a new idempotency key."
            )

    @property
    def where(self) -> DataSource:
        """Where policy, data and ledger are."""
        assert self.source is not None
        return self.source
