"""What is printed of a whole set of tables: what all of it tells of one person, place by place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field

from leakcap.report.records.base import Record
from leakcap.statement.record import Part, Unbounded

if TYPE_CHECKING:
    from leakcap.bound import Bound
    from leakcap.disclosure.place import PlaceRisk

__all__ = ["CountedRecord", "PlaceRecord", "TableSetRecord"]

MOST_PLACES, UNLIKELY, EPSILON = 20, 0.1, 1.0
Chance = Annotated[float, Field(ge=0.0, le=1.0)]
Chances = tuple[Chance, Chance]


class CountedRecord(Part):
    """A cell that counts the person: of a table, by its columns, with so many others."""

    by: tuple[str, ...]
    others: Annotated[int, Field(ge=0)]


class PlaceRecord(Part):
    """One place, and what everything published tells of a person's presence there: an interval each."""

    place: dict[str, str]
    cells: tuple[CountedRecord, ...]
    exact: Annotated[bool, Field(description="whether the joint law itself was computed")]
    guess: Annotated[Chances, Field(description="how often the best guess is right, from 50 %")]
    unlikely_guess: Annotated[Chances, Field(description="the same, where presence has 10 % beforehand")]
    capacity: Annotated[tuple[Unbounded, Unbounded], Field(description="nats")]
    epsilon: Annotated[tuple[Unbounded, Unbounded], Field(description="nats; null for no bound")]
    delta: Annotated[Chances, Field(description="the least δ at ε = 1")]

    @classmethod
    def made_of(cls, risk: PlaceRisk, place: Mapping[str, str], by: Sequence[Sequence[str]]) -> Self:
        """A place that was weighed."""
        return cls(
            place=dict(place),
            cells=tuple(CountedRecord(by=tuple(by[one.table]), others=one.others) for one in risk.cells),
            exact=risk.exact,
            guess=_ends(risk.success()),
            unlikely_guess=_ends(risk.success(UNLIKELY)),
            capacity=_ends(risk.capacity),
            epsilon=_ends(risk.epsilon),
            delta=_ends(risk.delta(EPSILON)),
        )


class TableSetRecord(Record):
    """What a set of tables, published by a method, tells of one person to somebody who knows all others.

    `places` are those of which most is told, the worst first, at most 20 of them; at `further` places a
    guess is right at most as often as `others_at_most` says. All numbers of people are public
    assumptions: real counts have no record.
    """

    commands: ClassVar = ("disclosure",)

    schema_: Literal["leakcap/disclosure-set/1"] = Field(alias="schema")
    file: str
    title: str
    method: str
    tables: Annotated[tuple[tuple[str, ...], ...], Field(min_length=1)]
    published: Annotated[int, Field(description="cells of all tables together")]
    keys: Annotated[int | None, Field(description="different keys; null where there are no cell keys")]
    household: int
    places: Annotated[tuple[PlaceRecord, ...], Field(min_length=1)]
    further: int = 0
    others_at_most: Chance = 0.5

    @classmethod
    def of(
        cls,
        risks: Sequence[PlaceRisk],
        places: Sequence[Mapping[str, str]],
        *,
        by: Sequence[Sequence[str]],
        published: int,
        method: str,
        keys: int | None = None,
        household: int = 1,
        file: str = "",
        title: str = "",
    ) -> Self:
        """Places that were weighed, the worst first; `places` names the kinds of people."""
        rest = risks[MOST_PLACES:]
        return cls.made(
            file=file,
            title=title,
            method=method,
            tables=tuple(map(tuple, by)),
            published=published,
            keys=keys,
            household=household,
            places=tuple(PlaceRecord.made_of(risk, places[risk.kind], by) for risk in risks[:MOST_PLACES]),
            further=len(rest),
            others_at_most=max((risk.success().upper for risk in rest), default=0.5),
        )


def _ends(bound: Bound) -> tuple[float, float]:
    return bound.lower, bound.upper
