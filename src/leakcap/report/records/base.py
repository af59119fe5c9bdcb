"""What every record is made of: the parts that several commands print.

Numbers are in nats unless the name says otherwise. ∞, which JSON cannot say, is null.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from leakcap.bound import Bound
from leakcap.errors import InvalidParameter
from leakcap.statement import Exposure, Statement, statement_of

__all__ = [
    "CapRecord",
    "Delta",
    "Ends",
    "Epsilon",
    "KeyValue",
    "Nats",
    "Number",
    "Part",
    "PriceRecord",
    "Record",
    "Rho",
    "StatementRecord",
    "alike",
]

_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")

Nats: TypeAlias = Annotated[float | None, Field(description="nats; null stands for no bound")]
Epsilon: TypeAlias = Annotated[float, Field(ge=0.0, description="ε of differential privacy, in nats")]
Rho: TypeAlias = Annotated[
    float | None, Field(description="ρ of zero-concentrated privacy; null stands for no bound")
]
Delta: TypeAlias = Annotated[float, Field(ge=0.0, le=1.0, description="δ, a probability")]
Number: TypeAlias = int | float
KeyValue: TypeAlias = bool | int | float | str


class Part(BaseModel):
    """A piece of a record."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Record(Part):
    """What one or several commands print. `commands` are those, without `leakcap`."""

    commands: ClassVar[tuple[str, ...]] = ()


class Ends(Part):
    """lower ≤ truth ≤ upper."""

    lower: float | None
    upper: float | None


class LineRecord(Part):
    """One line of a leakage statement."""

    key: str
    label: str
    unit: Literal["nats", "probability", "ratio"]
    lower: float | None
    upper: float | None
    sentence: str
    formula: str
    source: str
    bits: Ends | None = None
    detail: dict[str, Number] = Field(default_factory=dict)


def alike(told: Sequence[str], made: Sequence[str]) -> bool:
    """Whether sentences say the same, but for a unit in the last digit shown: another processor may have
    rounded a computed number the other way.

    >>> alike(["at most 52.5 % of 1,000"], ["at most 52.6 % of 1,000"]), alike(["of 52.5 %"], ["of 52.7 %"])
    (True, False)
    """
    if len(told) != len(made):
        return False
    return all(
        _NUMBER.split(one) == _NUMBER.split(other)
        and all(map(_near, _NUMBER.findall(one), _NUMBER.findall(other)))
        for one, other in zip(told, made, strict=True)
    )


def _near(one: str, other: str) -> bool:
    first, second = (Decimal(number.replace(",", "")) for number in (one, other))
    digits = min(len(number.partition(".")[2]) for number in (one, other))
    return abs(first - second) <= Decimal(1).scaleb(-digits) if one != other else True


class Information(Ends):
    """MI-DP of the mechanisms themselves, in nats, and how it was found."""

    lower: float
    method: str
    source: str


class ExposureRecord(Part):
    """What was spent, from which every line of the statement follows."""

    epsilon: Epsilon
    epsilon_contents: Epsilon
    delta: Delta
    delta_contents: Delta
    nats_person: Information
    nats_table: Nats
    units: int | None


class StatementRecord(Part):
    """What something lets an attacker do."""

    title: str
    queries: int
    neighbours: Literal["replace-one", "add-remove-one"]
    unit: str
    exposure: ExposureRecord
    lines: tuple[LineRecord, ...]

    def statement(self) -> Statement:
        """The statement, made anew from its numbers; `InvalidParameter` where its sentences do not follow."""
        e, detail = self.exposure, {line.key: line.detail for line in self.lines}
        exposure = Exposure(
            title=self.title,
            epsilon=e.epsilon,
            epsilon_contents=e.epsilon_contents,
            nats=Bound(
                e.nats_person.lower,
                _infinite(e.nats_person.upper),
                e.nats_person.method,
                e.nats_person.source,
            ),
            table_nats=_infinite(e.nats_table),
            relation=self.neighbours,
            unit=self.unit,
            units=e.units,
            queries=self.queries,
            delta=e.delta,
            delta_contents=e.delta_contents,
        )
        asked = {name: int(detail.get(key, {}).get(field, 0)) for name, key, field in _ASKED}
        made = statement_of(exposure, **asked)
        told, keys = [line.sentence for line in self.lines], {line.key for line in self.lines}
        if not alike(told, [one.sentence for one in made.lines if one.key in keys or one.key not in _LATER]):
            raise InvalidParameter(
                f"The sentences about `{self.title}` do not follow from its numbers: the file was edited, or "
                "another version of leakcap wrote it. Make it anew."
            )
        return made


_LATER = {"joining"}
"""Lines that records of earlier versions do not have."""

_ASKED = (("family", "family", "k"), ("guesses", "one_in_k", "k"), ("more", "more", "more"))


def _infinite(value: float | None) -> float:
    return math.inf if value is None else value


class CapRecord(Part):
    """A cap, what was spent of it and what is left; null where nothing is capped, or no bound is known."""

    cap: str
    unit: str
    limit: float | None
    spent: float | None
    left: float | None


class PriceRecord(Part):
    """What a query costs, at most."""

    epsilon: Epsilon
    delta: Delta
    nats_person: Nats
    nats_table: Nats
    rho: Rho = None
