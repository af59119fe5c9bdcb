"""One line of a statement: a number, what it means, and where its formula comes from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

__all__ = ["Reading"]

BITS = math.log2(math.e)


@dataclass(frozen=True)
class Reading:
    """A quantity of a leakage statement, with the sentence that a board member reads.

    `lower` equals `upper` for closed forms. `unit` is `nats`, `probability` or `ratio`. `key` is stable: it
    is the name in JSON.
    """

    key: str
    label: str
    lower: float
    upper: float
    unit: str
    sentence: str
    formula: str
    source: str
    detail: dict[str, float | int] = field(default_factory=dict)

    @property
    def bits(self) -> tuple[float, float] | None:
        """The interval in bits, for quantities of information."""
        return (self.lower * BITS, self.upper * BITS) if self.unit == "nats" else None

    def to_dict(self) -> dict[str, object]:
        """The line as JSON: numbers in nats (and bits where it is information), never NaN."""
        known: dict[str, object] = {
            "key": self.key,
            "label": self.label,
            "unit": self.unit,
            "lower": _json(self.lower),
            "upper": _json(self.upper),
            "sentence": self.sentence,
            "formula": self.formula,
            "source": self.source,
        }
        if self.bits is not None:
            known["bits"] = {"lower": _json(self.bits[0]), "upper": _json(self.bits[1])}
        return known | ({"detail": self.detail} if self.detail else {})


def _json(value: float) -> float | None:
    return value if math.isfinite(value) else None
