"""What is printed of a curator: the data sets of whoever asks."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from leakcap.report.records.base import Record
from leakcap.statement.record import Part

__all__ = ["DatasetsRecord", "HeldDataset"]


class HeldDataset(Part):
    """A data set that a curator holds, and the roles that one has in it."""

    name: str
    title: str
    roles: tuple[str, ...]
    paused: bool


class DatasetsRecord(Record):
    """The data sets of a curator in which one has a role."""

    commands: ClassVar = ("datasets",)

    schema_: Literal["leakcap/datasets/1"] = Field(alias="schema")
    datasets: tuple[HeldDataset, ...]
