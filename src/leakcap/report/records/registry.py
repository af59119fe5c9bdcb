"""What `leakcap registry` prints: published entries of the registry of deployments, read and explained."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from leakcap.report.records.base import Record
from leakcap.statement.deployments import PublishedEntry
from leakcap.statement.record import Part

__all__ = ["RefusedEntry", "RegistryRecord"]


class RefusedEntry(Part):
    """A file that is no entry, and why."""

    file: str
    reason: str


class RegistryRecord(Record):
    """Entries that were read, in the order of their files, and files that were refused."""

    commands: ClassVar = ("registry",)

    schema_: Literal["leakcap/registry-list/1"] = Field(alias="schema")
    entries: tuple[PublishedEntry, ...]
    refused: tuple[RefusedEntry, ...]
