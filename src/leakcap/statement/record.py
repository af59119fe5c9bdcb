"""A statement as a record: typed, frozen, and JSON both ways.

Numbers are in nats unless the name says otherwise. ∞, which JSON cannot say, is null.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from leakcap.uncollected import uncollected

__all__ = [
    "CappedRecord",
    "ComposedRecord",
    "Delta",
    "Ends",
    "Epsilon",
    "ExposureRecord",
    "Holds",
    "Information",
    "LineRecord",
    "Nats",
    "Number",
    "Part",
    "Rho",
    "StatementRecord",
    "StepsRecord",
    "TallyRecord",
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
Holds: TypeAlias = Literal["beforehand", "spent", "always"]
"""Whom a line of several answers is about."""
Delta: TypeAlias = Annotated[float, Field(ge=0.0, le=1.0, description="δ, a probability")]


class Part(BaseModel):
    """A piece of a record. It cannot be changed, and a field that it does not know is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)

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
    holds: Annotated[
        Holds | None,
        Field(
            description="of several answers: all were fixed beforehand; who keeps to what was spent; or "
            "always, whenever somebody stops"
        ),
    ] = None
    stopping: Annotated[
        Unbounded, Field(description="what holds of whoever stops when it suits them; null: nothing known")
    ] = None
    under_caps: Annotated[
        bool, Field(description="whether `stopping` needs caps that were fixed beforehand")
    ] = False


class Information(Ends):
    """MI-DP of the mechanisms themselves, in nats, and how it was found."""

    lower: float
    method: str
    source: str


class StepsRecord(Part):
    """Steps of Gaussian noise on Poisson samples, between presence and absence."""

    noise_multiplier: Annotated[str, Field(description="as an exact fraction")]
    sampling_probability: Annotated[str, Field(description="as an exact fraction")]
    count: Annotated[int, Field(ge=1)]


class TallyRecord(Part):
    """What answers are functions of, added up, between two tables and in both directions."""

    gaussian: Annotated[
        float,
        Field(ge=0.0, description="Σμ², the squared distance of Gaussian noise whose function they are"),
    ]
    pure: Annotated[
        tuple[tuple[Epsilon, Annotated[int, Field(ge=1)]], ...],
        Field(description="ε of randomised responses whose function they are, and how many have it"),
    ]
    laplace: Annotated[
        Unbounded,
        Field(description="distance of Laplace noise, in scales, in place of `pure`; null: unknown"),
    ]
    delta: Annotated[Delta, Field(description="δ, a probability, that is left out of these")]
    usable: Annotated[bool, Field(description="whether these cover every answer")]
    steps: Annotated[
        tuple[StepsRecord, ...],
        Field(description="steps of Gaussian noise on Poisson samples, by noise and rate"),
    ] = ()
    curve: Annotated[
        tuple[Nats, ...],
        Field(description="Rényi divergences of all answers at the ledger's orders; empty where needless"),
    ]
    leak: Annotated[Delta, Field(description="δ, a probability, that is left out of the curve")]


class ComposedRecord(Part):
    """What the composed curves of a statement are computed from."""

    neighbours: TallyRecord
    contents: Annotated[
        TallyRecord | None,
        Field(description="between two contents of a unit; null: two steps between neighbours, or one"),
    ]
    at_once: Annotated[
        bool, Field(description="whether all answers were fixed before any was seen, and compose exactly")
    ]


class CappedRecord(Part):
    """Caps on everything; null: not capped."""

    epsilon: Epsilon | None
    delta: Annotated[Delta, Field(description="the most that all answers' δ come to")]
    rho: Rho
    nats: Annotated[Nats, Field(description="nats about one person; null: not capped")]


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
    composed: Annotated[
        ComposedRecord | None, Field(description="what the answers' composed curves are computed from")
    ] = None
    capped: Annotated[
        CappedRecord | None,
        Field(description="caps that hold, of whoever stops when it suits them too, if fixed beforehand"),
    ] = None


class StatementRecord(Part):
    """What something lets an attacker do."""

    title: str
    queries: int
    neighbours: Literal["replace-one", "add-remove-one"]
    unit: str
    exposure: ExposureRecord
    lines: tuple[LineRecord, ...]
