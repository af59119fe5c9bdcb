"""A statement as a record: typed, frozen, and JSON both ways.

Numbers are in nats unless the name says otherwise. ∞, which JSON cannot say, is null.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from leakcap.uncollected import uncollected

__all__ = [
    "Delta",
    "Ends",
    "Epsilon",
    "ExposureRecord",
    "Information",
    "LineRecord",
    "Nats",
    "Number",
    "Part",
    "Rho",
    "StatementRecord",
    "Unbounded",
]


def _finite(value: object) -> object:
    return None if isinstance(value, float) and math.isinf(value) else value


Number: TypeAlias = int | float
Unbounded: TypeAlias = Annotated[float | None, BeforeValidator(_finite)]
"""A number; where it is infinite, null."""

Nats: TypeAlias = Annotated[Unbounded, Field(description="nats; null stands for no bound")]
Rho: TypeAlias = Annotated[
    Unbounded, Field(description="ρ of zero-concentrated privacy; null stands for no bound")
]
Epsilon: TypeAlias = Annotated[float, Field(ge=0.0, description="ε of differential privacy, in nats")]
Delta: TypeAlias = Annotated[float, Field(ge=0.0, le=1.0, description="δ, a probability")]


class Part(BaseModel):
    """A piece of a record. It cannot be changed, and a field that it does not know is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it. Optional fields that nobody set are left out.

        >>> Ends(lower=0.5, upper=float("inf")).to_dict()
        {'lower': 0.5, 'upper': None}
        """
        with uncollected():
            return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class Ends(Part):
    """lower ≤ truth ≤ upper."""

    lower: Unbounded
    upper: Unbounded


class LineRecord(Part):
    """One line of a leakage statement."""

    key: str
    label: str
    unit: Literal["nats", "probability", "ratio"]
    lower: Unbounded
    upper: Unbounded
    sentence: str
    formula: str
    source: str
    bits: Ends | None = None
    detail: dict[str, Number] = Field(default_factory=dict)


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
    exact_totals: Annotated[
        bool, Field(description="whether totals were published exactly; the numbers are of the noise alone")
    ] = False


class StatementRecord(Part):
    """What something lets an attacker do."""

    title: str
    queries: int
    neighbours: Literal["replace-one", "add-remove-one"]
    unit: str
    exposure: ExposureRecord
    lines: tuple[LineRecord, ...]
