"""Which command prints which record; and the two records that belong to no room of their own."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from leakcap.report.records import (  # noqa: F401 (records are found by existing)
    amendments,
    annex,
    attacks,
    audits,
    channels,
    conversions,
    curators,
    custody,
    hierarchies,
    ledger,
    outside,
    owner,
    plan,
    previews,
    registry,
    registry_entry,
    releases,
    revisions,
    running,
    synthesis,
    tables,
)
from leakcap.report.records.base import Record

__all__ = ["ReportRecord", "SchemaRecord", "records"]


class ReportRecord(Record):
    """Which files a report was written to."""

    commands: ClassVar = ("report",)

    schema_: Literal["leakcap/report/1"] = Field(alias="schema")
    kind: str
    audience: Literal["board", "reviewer"]
    files: tuple[str, ...]
    in_ledger: Annotated[
        bool, Field(description="whether a ledger was read that has the record's numbers under its entry")
    ] = False


class SchemaRecord(Record):
    """A JSON Schema, of draft 2020-12."""

    model_config = ConfigDict(extra="allow")

    commands: ClassVar = ("schema",)


def records(command: str) -> tuple[type[Record], ...]:
    """The records that a command may print: several for one that has several jobs.

    >>> [record.__name__ for record in records("sql")]
    ['DryRunRecord', 'PreviewRecord', 'ReleaseRecord']
    """
    # By name: which room was loaded first is nobody's business.
    found = [record for record in Record.__subclasses__() if command in record.commands]
    return tuple(sorted(found, key=lambda record: record.__name__))
