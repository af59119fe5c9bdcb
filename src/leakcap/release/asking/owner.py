"""What only the owner can say of a publication: the table `[annex]` of a query file.

    [annex]
    trust_model = "The statistics office holds the data and is trusted with it."
    access = "Two named people may read it, on one machine."
    collection = "Hospitals report each patient once a year; names are not collected."

Nothing of it is read by a release. `leakcap annex` repeats it as the owner's word, and says what is missing.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

__all__ = ["OwnerAnswers", "Sector"]

_MOST = 4000

Sector = Literal["Technology", "Healthcare", "Education", "Government", "Energy", "Finance"]


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("say something, or leave it out")
    if any(not (one.isprintable() or one == "\n") for one in text):
        raise ValueError("be printable text")
    return text.strip()


Said = Annotated[str, Field(max_length=_MOST), AfterValidator(_said)]


class OwnerAnswers(BaseModel):
    """The owner's answers, each in a sentence or several; what is left out is not stated.

    `parameters`, `unit`, `algorithms`, `side_channels`, `trust_model`, `access` and `collection` answer the
    layers of NIST SP 800-226. The others are for a registry of deployments.

    >>> OwnerAnswers(access="Two named people.").stated
    {'access': 'Two named people.'}
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    parameters: Said | None = None
    unit: Said | None = None
    algorithms: Said | None = None
    side_channels: Said | None = None
    trust_model: Said | None = None
    access: Said | None = None
    collection: Said | None = None
    name: Said | None = None
    curators: Annotated[list[Said], Field(min_length=1)] | None = None
    description: Said | None = None
    intended_use: Said | None = None
    region: Said | None = None
    sector: Sector | None = None
    first_published: date | None = None
    product: Literal["Summary statistics", "Machine learning model"] = "Summary statistics"
    data_source: Literal["Static", "Dynamic"] | None = None
    access_type: Literal["Interactive", "Non-interactive"] | None = None
    unprotected: Said | None = None
    preparation: Said | None = None
    sources: Said | None = None
    notes: Said | None = None
    authors: Annotated[list[Said], Field(min_length=1)] | None = None

    @property
    def stated(self) -> dict[str, str]:
        """What is said of the layers, by layer."""
        told = {layer: getattr(self, layer) for layer in LAYERS}
        return {layer: text for layer, text in told.items() if text is not None}


LAYERS = ("parameters", "unit", "algorithms", "side_channels", "trust_model", "access", "collection")
