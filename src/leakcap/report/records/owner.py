"""What is printed for the owner of the data: a drafted policy, and what a check found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from pydantic import Field

from leakcap.owner import DataFault
from leakcap.owner.draft import todos
from leakcap.report.records.base import Record
from leakcap.statement.record import Part

__all__ = ["CheckRecord", "FindingOfCheck", "InitRecord"]


class FindingOfCheck(Part):
    """What is wrong with a column or a file, in exact numbers and with values: for the owner alone."""

    place: str
    grade: Literal["problem", "note"]
    text: str


class CheckRecord(Record):
    """What in a table is not as its policy says. Not private."""

    commands: ClassVar = ("check",)

    schema_: Literal["leakcap/check/1"] = Field(alias="schema")
    dataset: str
    findings: tuple[FindingOfCheck, ...]

    @classmethod
    def of(cls, dataset: str, findings: Sequence[DataFault]) -> Self:
        """What a check found."""
        each = [{"place": one.place, "grade": one.grade, "text": one.text} for one in findings]
        return cls.made(dataset=dataset, findings=each)


class InitRecord(Record):
    """A drafted policy, how many questions it leaves open, and the file that it is in, if any."""

    commands: ClassVar = ("init",)

    schema_: Literal["leakcap/init/1"] = Field(alias="schema")
    policy: str
    todos: int
    file: str | None

    @classmethod
    def of(cls, policy: str, file: str | None) -> Self:
        """A draft."""
        return cls.made(policy=policy, todos=todos(policy), file=file)
