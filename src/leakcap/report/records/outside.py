"""What is printed of spends that other software made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from leakcap.ledger import Charge, Entry
from leakcap.report.records.base import Record
from leakcap.statement.record import Part, Unbounded

__all__ = ["OutsideSpendRecord", "SpendRecord"]


class OutsideSpendRecord(Part):
    """One of them, as it was charged; `epsilon` is null where its curve alone was."""

    id: int | None
    name: str
    query: str
    epsilon: Unbounded
    delta: float


class SpendRecord(Record):
    """What was charged, or would be."""

    commands: ClassVar = ("spend",)

    schema_: Literal["leakcap/spend/1"] = Field(alias="schema")
    spends: tuple[OutsideSpendRecord, ...]
    preview: bool
    repeated: Annotated[bool, Field(description="whether it was charged before, under the same key")]

    @classmethod
    def of(cls, entries: Sequence[Entry], *, repeated: bool) -> Self:
        """What was charged."""
        spends = [_one(one.id, one) for one in entries]
        return cls.made(spends=spends, preview=False, repeated=repeated)

    @classmethod
    def previewed(cls, charges: Sequence[Charge]) -> Self:
        """What would be."""
        return cls.made(spends=[_one(None, one) for one in charges], preview=True, repeated=False)


def _one(number: int | None, of: Entry | Charge) -> dict[str, object]:
    spend = of.spend
    told = {"id": number, "name": of.query, "query": of.text}
    return told | {"epsilon": spend.epsilon, "delta": spend.delta}
