"""What every record that a command prints is made of.

Numbers are in nats unless the name says otherwise. ∞, which JSON cannot say, is null.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self, get_args

from leakcap.ledger import Balance
from leakcap.statement.record import Part, Unbounded

__all__ = ["CapRecord", "Record"]


class Record(Part):
    """What one or several commands print. `commands` are those, without `leakcap`."""

    commands: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def made(cls, **fields: Any) -> Self:
        """The record with its own name in `schema`.

        >>> from leakcap.report.records import VerifyRecord
        >>> VerifyRecord.made(rows=3, entries=1, head="d0", anchored=False).to_dict()["schema"]
        'leakcap/ledger-verify/1'
        """
        return cls.model_validate({"schema": cls.schema_name(), **fields})

    @classmethod
    def schema_name(cls) -> str:
        """The shape and the version, as in ``leakcap/release/1``."""
        (name,) = get_args(cls.model_fields["schema_"].annotation)
        return str(name)


class CapRecord(Part):
    """A cap, what was spent of it and what is left; null where nothing is capped, or no bound is known."""

    cap: str
    unit: str
    limit: float | None
    spent: Unbounded
    left: float | None

    @classmethod
    def of(cls, balance: Balance) -> Self:
        """One account of the ledger."""
        return cls(
            cap=balance.name, unit=balance.unit, limit=balance.cap, spent=balance.spent, left=balance.left
        )
