"""The versions of what was published, of which data they are, and what data was said to be the same."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field

from leakcap.ledger import DataVersion, PublishedVersion, SaidSame
from leakcap.plain import counted
from leakcap.statement.record import Part

__all__ = ["SaidSameRecord", "SameAsRecord", "VersionRecord", "fate_of", "said_same_lines", "same_as_line"]

_DATA = "data without a name"


class SaidSameRecord(Part):
    """That somebody said that the data, whatever it was called then, is this version."""

    source: Annotated[str, Field(description="what the data was called; empty for a data frame")]
    by: str
    time: str
    answers: int

    @classmethod
    def of(cls, said: SaidSame) -> Self:
        """One word of one person."""
        time = said.time.isoformat(timespec="seconds")
        return cls(source=said.source, by=said.by, time=time, answers=said.answers)


class VersionRecord(Part):
    """What was published as one version of a publication, about one version of the table."""

    dataset: str
    publication: str
    period: str
    version: str
    data_version: int
    sources: Annotated[tuple[str, ...], Field(description="what its owner called the data")]
    first: str
    last: str
    answers: Annotated[int, Field(description="how many answers of the ledger it has")]
    repeated: Annotated[int, Field(description="how often one was repeated for free")]
    replaced: int
    replaced_by: tuple[str, ...]
    withdrawn: int
    reasons: Annotated[tuple[str, ...], Field(description="why answers were replaced or withdrawn")]
    same_as: tuple[SaidSameRecord, ...]

    @classmethod
    def of(cls, found: PublishedVersion) -> Self:
        """One version."""
        return cls(
            dataset=found.dataset,
            publication=found.edition.title,
            period=found.edition.period,
            version=found.edition.version,
            data_version=found.data_version,
            sources=found.sources,
            first=found.first.isoformat(timespec="seconds"),
            last=found.last.isoformat(timespec="seconds"),
            answers=found.answers,
            repeated=found.repeated,
            replaced=found.replaced,
            replaced_by=tuple(one.line for one in found.replaced_by if one.line),
            withdrawn=found.withdrawn,
            reasons=found.reasons,
            same_as=tuple(map(SaidSameRecord.of, found.same_as)),
        )


class SameAsRecord(Part):
    """The version that the data was said to be when it was asked."""

    version: int
    sources: Annotated[tuple[str, ...], Field(description="what the data of that version was called")]
    periods: Annotated[tuple[str, ...], Field(description="for which it was published before")]

    @classmethod
    def of(cls, known: DataVersion) -> Self:
        """What the ledger knew of it."""
        return cls(version=known.number, sources=known.sources, periods=known.periods)


def same_as_line(said: SameAsRecord, source: str) -> str:
    """What was said to be the same as what.

    >>> said = SameAsRecord(version=1, sources=("stays.csv",), periods=("2026-03",))
    >>> same_as_line(said, "copy.csv")
    'copy.csv was said to be version 1 of the table (stays.csv, published for 2026-03).'
    """
    known = DataVersion(said.version, said.sources, said.periods)
    return f"{source or 'The data frame'} was said to be {known.line}."


def fate_of(one: VersionRecord) -> str:
    """What became of the answers of a version, and why; empty where all are valid."""
    by = f" by {', '.join(one.replaced_by)}" if one.replaced_by else ""
    told = [
        f"{_some(many, one.answers)}{what}"
        for many, what in ((one.replaced, f"replaced{by}"), (one.withdrawn, "withdrawn"))
        if many
    ]
    why = "; ".join(reason.rstrip(".") for reason in one.reasons)
    return f"{', '.join(told)}: {why}" if told else ""


def _some(many: int, of: int) -> str:
    return "" if many == of else f"{many:,} of {of:,} "


def said_same_lines(one: VersionRecord) -> tuple[str, ...]:
    """Who said of what that it is the data of this version, and how many answers rest on that."""
    return tuple(
        f"{said.source or _DATA}, said to be version {one.data_version} of the table on {said.time[:10]}"
        + (f" by {said.by}" if said.by else "")
        + f": {counted(said.answers, 'answer')}"
        for said in one.same_as
    )
