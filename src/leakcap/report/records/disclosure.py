"""What is printed of an office's method: what a published cell tells of one person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field

from leakcap.report.records.base import Record
from leakcap.statement.record import Part, Unbounded

if TYPE_CHECKING:
    from leakcap.bound import Bound
    from leakcap.disclosure.beside import NoiseRisk
    from leakcap.disclosure.cells import CellMethod
    from leakcap.disclosure.weighing import CellRisk, RepeatedRisk

__all__ = ["DisclosureRecord", "GuessRecord", "NoiseBesideRecord", "WeighedCellRecord"]

TIMES, SURE, MOST_CELLS = (1, 10, 50), 0.95, 40
Chance = Annotated[float, Field(ge=0.0, le=1.0)]


class GuessRecord(Part):
    """How often the best guess is right after so many independent cells, from 50 %."""

    cells: int
    lower: Chance
    upper: Chance

    @classmethod
    def of(cls, risk: RepeatedRisk) -> tuple[Self, ...]:
        """After 1, 10 and 50."""
        bounds = [(times, risk.success(times)) for times in TIMES]
        return tuple(cls(cells=times, lower=one.lower, upper=one.upper) for times, one in bounds)


class _Told(Part):
    """What is told of a person's presence: an interval each, in nats; null where there is no bound."""

    capacity: tuple[Unbounded, Unbounded]
    epsilon: tuple[Unbounded, Unbounded]
    guesses: tuple[GuessRecord, ...]
    sure_after: Annotated[
        int | None, Field(description="cells until the best guess is right with 95 %; null for never")
    ]


class WeighedCellRecord(_Told):
    """The cells with these numbers of other people, which tell the same."""

    others: tuple[int, ...]
    belief: Annotated[
        Chance, Field(description="in presence after the worst published value, from one half; rounded up")
    ]

    @classmethod
    def made_of(cls, others: tuple[int, ...], risk: CellRisk) -> Self:
        """A cell that was weighed."""
        return cls(
            others=others,
            belief=risk.belief,
            capacity=_ends(risk.capacity),
            epsilon=_ends(risk.epsilon),
            guesses=GuessRecord.of(risk),
            sure_after=risk.until(SURE),
        )


class NoiseBesideRecord(_Told):
    """Noise of differential privacy with the same mean squared error."""

    name: str

    @classmethod
    def made_of(cls, risk: NoiseRisk) -> Self:
        """Noise that was weighed."""
        return cls(
            name=risk.name,
            capacity=_ends(risk.capacity),
            epsilon=_ends(risk.epsilon),
            guesses=GuessRecord.of(risk),
            sure_after=risk.until(SURE),
        )


class DisclosureRecord(Record):
    """What an office's method tells of one person in a published cell, to somebody who knows all the others.

    `cells` are the kinds of cells that tell most, the worst first, at most 40 of them; `further` kinds tell
    less. From `start` others on, a cell tells what one with `period` fewer tells; with `period` null larger
    counts are unknown.
    """

    commands: ClassVar = ("disclosure",)

    schema_: Literal["leakcap/disclosure/1"] = Field(alias="schema")
    file: str
    title: str
    method: str
    start: int
    period: int | None
    cells: Annotated[tuple[WeighedCellRecord, ...], Field(min_length=1)]
    further: int = 0
    squared_error: Annotated[
        float | None, Field(description="on average over large counts; null where words are published")
    ]
    noise: Annotated[
        tuple[NoiseBesideRecord, ...], Field(description="with the error that is average over large counts")
    ]
    largest_squared_error: Annotated[
        float | None,
        Field(description="of the large counts whose error is largest; null where it is as above"),
    ] = None
    largest_epsilon: Annotated[
        float | None, Field(description="ε of discrete Laplace noise with that error, at most")
    ] = None

    @classmethod
    def of(
        cls,
        method: CellMethod,
        cells: Sequence[tuple[tuple[int, ...], CellRisk]],
        *,
        squared_error: float | None,
        noise: Sequence[NoiseRisk],
        endless: bool,
        largest: tuple[float, NoiseRisk] | None = None,
        file: str = "",
        title: str = "",
    ) -> Self:
        """A method that was weighed; `largest` is the largest error of large counts, and its noise."""
        return cls.made(
            file=file,
            title=title,
            method=method.words,
            start=method.start,
            period=method.period if endless else None,
            cells=tuple(WeighedCellRecord.made_of(*one) for one in cells[:MOST_CELLS]),
            further=max(0, len(cells) - MOST_CELLS),
            squared_error=squared_error,
            noise=tuple(map(NoiseBesideRecord.made_of, noise)),
            largest_squared_error=None if largest is None else largest[0],
            largest_epsilon=None if largest is None else largest[1].epsilon.upper,
        )


def _ends(bound: Bound) -> tuple[float, float]:
    return bound.lower, bound.upper
