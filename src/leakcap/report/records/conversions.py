"""What is printed of a conversion: what follows from a guarantee, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field

from leakcap.report.records.base import Record
from leakcap.statement.record import Part, Unbounded

if TYPE_CHECKING:
    from leakcap.definition import Definition, Implication, Route

__all__ = ["ConvertRecord"]


class StepRecord(Part):
    """One implication of a route."""

    from_: str = Field(alias="from")
    to: str
    formula: str
    source: str
    attained_by: str | None


class LooserRecord(Part):
    """An implication that says less."""

    formula: str
    source: str


class ConvertRecord(Record):
    """What follows from a guarantee."""

    commands: ClassVar = ("convert",)

    schema_: Literal["leakcap/convert/1"] = Field(alias="schema")
    from_: str = Field(alias="from")
    to: str
    value: Unbounded
    tight: bool
    steps: tuple[StepRecord, ...]
    looser: Annotated[
        tuple[LooserRecord, ...], Field(description="what was published before and says less")
    ] = ()

    @classmethod
    def of(cls, route: Route[Definition], looser: Sequence[Implication] = ()) -> Self:
        """A route from a guarantee to what follows from it."""
        steps = [
            {
                "from": repr(step.source),
                "to": repr(step.target),
                "formula": step.edge.formula,
                "source": step.edge.citation,
                "attained_by": step.edge.attained_by or None,
            }
            for step in route.steps
        ]
        others = [{"formula": edge.formula, "source": edge.citation} for edge in looser]
        return cls.made(
            **{"from": repr(route.source)},
            to=repr(route.target),
            value=route.target.threshold,
            tight=route.tight,
            steps=tuple(steps),
            **({"looser": tuple(others)} if others else {}),
        )
