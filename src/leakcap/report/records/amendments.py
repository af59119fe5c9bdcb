"""What is printed of an amendment: another policy, decided by the owner, from some time on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from pydantic import Field

from leakcap.ledger import Amendment, Balance
from leakcap.report.records.base import CapRecord, Record
from leakcap.statement.record import Part

__all__ = ["AmendRecord", "AmendmentRecord", "ChangeRecord"]


class ChangeRecord(Part):
    """One field in which two policies differ."""

    field: str
    before: str
    after: str
    effect: Literal["new", "removed", "raised", "lowered", "changed"]


class AmendmentRecord(Part):
    """From when on another policy governs: who decided it, why, what changed, how earlier spends count."""

    time: str
    by: str
    reason: str
    before: str
    policy: str
    changes: tuple[ChangeRecord, ...]
    carried: str

    @classmethod
    def of(cls, amendment: Amendment) -> Self:
        """One amendment, made or planned."""
        names = ("field", "before", "after", "effect")
        return cls(
            time=amendment.time.isoformat(timespec="seconds"),
            by=amendment.by,
            reason=amendment.reason,
            before=amendment.before,
            policy=amendment.policy,
            changes=tuple(
                ChangeRecord.model_validate({name: getattr(change, name) for name in names})
                for change in amendment.changes
            ),
            carried=amendment.carried,
        )


class AmendRecord(Record):
    """An amendment, made or only previewed, and the caps under it."""

    commands: ClassVar = ("ledger amend",)

    schema_: Literal["leakcap/ledger-amend/1"] = Field(alias="schema")
    preview: bool
    dataset: str
    amendment: AmendmentRecord
    caps: tuple[CapRecord, ...]

    @classmethod
    def of(cls, dataset: str, amendment: Amendment, balances: Sequence[Balance], *, preview: bool) -> Self:
        """An amendment, and the caps under it."""
        return cls.made(
            preview=preview,
            dataset=dataset,
            amendment=AmendmentRecord.of(amendment),
            caps=tuple(map(CapRecord.of, balances)),
        )
