"""Requests as a record: what was asked under a key, and which entries answer it."""

from __future__ import annotations

from typing import Self

from leakcap.ledger import RecordedRequest
from leakcap.statement.record import Part

__all__ = ["RequestRecord"]


class RequestRecord(Part):
    """A request: `entries` answer its questions, of which it paid for those in `paid`."""

    time: str
    analyst: str
    key: str
    digest: str
    policy: str
    dataset: str
    entries: tuple[int, ...]
    paid: tuple[int, ...]

    @classmethod
    def of(cls, request: RecordedRequest) -> Self:
        """One request."""
        return cls(
            time=request.time.isoformat(timespec="seconds"),
            analyst=request.analyst,
            key=request.key,
            digest=request.digest,
            policy=request.policy,
            dataset=request.dataset,
            entries=request.entries,
            paid=request.paid,
        )
