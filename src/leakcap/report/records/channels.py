"""What is printed of a channel: its measures, and what it leaks about another secret."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from leakcap.report.records.base import Record
from leakcap.statement.record import Part, Unbounded

if TYPE_CHECKING:
    from leakcap.channel import Channel
    from leakcap.leakage import Hyper
    from leakcap.leakage.findings import Leak

__all__ = ["ChannelRecord", "DaleniusRecord", "MeasureRecord"]


class MeasureRecord(Part):
    """One measure of a channel."""

    section: str
    measure: str
    lower: Unbounded
    upper: Unbounded
    unit: str
    formula: str
    source: str
    method: str

    @classmethod
    def of(cls, leak: Leak) -> Self:
        """A measure that was taken."""
        bound = leak.bound
        return cls(
            section=leak.section,
            measure=leak.name,
            lower=bound.lower,
            upper=bound.upper,
            unit=bound.unit,
            formula=leak.formula,
            source=bound.source or leak.source,
            method=bound.method,
        )


class PosteriorRecord(Part):
    """A belief after some output, and how likely it is to come to that."""

    probability: float
    posterior: tuple[float, ...]


class ChannelRecord(Record):
    """Everything that a channel leaks."""

    commands: ClassVar = ("channel",)

    schema_: Literal["leakcap/channel/1"] = Field(alias="schema")
    file: str
    shape: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]]
    prior: tuple[float, ...]
    gain: str
    neighbours: str = "all"
    measures: tuple[MeasureRecord, ...]
    hyper: tuple[PosteriorRecord, ...] | None = None
    secrets: Annotated[
        tuple[str, ...] | None, Field(description="the secrets by name, beside the beliefs about them")
    ] = None

    @classmethod
    def of(
        cls,
        file: str,
        channel: Channel,
        leaks: Sequence[Leak],
        *,
        prior: Sequence[float],
        gain: str,
        neighbours: str,
        hyper: Hyper | None = None,
    ) -> Self:
        """What was measured of the channel in a file, and the beliefs that its outputs lead to."""
        known: dict[str, Any] = {}
        if hyper is not None:
            beliefs = [{"probability": p, "posterior": tuple(after.tolist())} for p, after in hyper]
            known = {"hyper": tuple(beliefs), "secrets": tuple(map(str, hyper.secrets))}
        return cls.made(
            file=file,
            shape=channel.shape,
            prior=tuple(prior),
            gain=gain,
            neighbours=neighbours,
            measures=tuple(map(MeasureRecord.of, leaks)),
            **known,
        )


class DaleniusRecord(Record):
    """What a channel leaks about another secret: `shape` counts its values, the secrets and the outputs."""

    commands: ClassVar = ("dalenius",)

    schema_: Literal["leakcap/dalenius/1"] = Field(alias="schema")
    file: str
    correlation: str
    shape: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]]
    prior: tuple[float, ...]
    gain: str
    measures: tuple[MeasureRecord, ...]

    @classmethod
    def of(
        cls,
        files: tuple[str, str],
        channel: Channel,
        about: Channel,
        leaks: Sequence[Leak],
        *,
        prior: Sequence[float],
        gain: str,
    ) -> Self:
        """What was measured of the channel in the first file, about the secret in the second."""
        return cls.made(
            file=files[0],
            correlation=files[1],
            shape=(about.shape[0], *channel.shape),
            prior=tuple(prior),
            gain=gain,
            measures=tuple(map(MeasureRecord.of, leaks)),
        )
