"""A certified interval: what leakcap answers when asked for a supremum."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Self

from leakcap.cards import card, interval
from leakcap.errors import require

__all__ = ["Bound"]


@dataclass(frozen=True, slots=True)
class Bound:
    """lower ≤ truth ≤ upper, with how it was found and what attains the lower end.

    A closed form is an interval of width zero (its double-precision evaluation is tested against fifty
    digits). `witness` is the prior, pair or gain that attains the lower end, where there is one.

    >>> Bound(0.1, 0.2, method="example").width
    0.1
    """

    lower: float
    upper: float
    method: str
    source: str = ""
    unit: str = "nats"
    witness: object = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        require(not math.isnan(self.lower), "lower", "Bound", "be a number", self.lower)
        require(not math.isnan(self.upper), "upper", "Bound", "be a number", self.upper)
        require(
            self.lower <= self.upper, "lower", "Bound", f"not exceed `upper` = {self.upper!r}", self.lower
        )

    @classmethod
    def exact(
        cls, value: float, *, method: str, source: str = "", unit: str = "nats", witness: object = None
    ) -> Self:
        """A closed form: an interval of width zero.

        >>> Bound.exact(1.0, method="closed form").lower
        1.0
        """
        return cls(value, value, method, source, unit, witness)

    @property
    def width(self) -> float:
        """upper − lower; zero for a closed form."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    @property
    def is_exact(self) -> bool:
        """Whether this is a closed form rather than an enclosure."""
        return self.lower == self.upper

    @property
    def midpoint(self) -> float:
        """The middle of the interval, for plots; a guarantee is stated with `upper`."""
        return self.lower if self.is_exact else 0.5 * (self.lower + self.upper)

    @property
    def bits(self) -> Bound:
        """The same interval in bits."""
        if self.unit != "nats":
            return self
        scale = math.log2(math.e)
        return replace(self, lower=self.lower * scale, upper=self.upper * scale, unit="bits")

    def __contains__(self, value: float) -> bool:
        """Whether `value` lies in the interval."""
        return self.lower <= value <= self.upper

    def __str__(self) -> str:
        """The interval as a person reads it."""
        if self.is_exact:
            return f"{self.lower:.10g} {self.unit} ({self.method})"
        return f"[{self.lower:.10g}, {self.upper:.10g}] {self.unit} ({self.method})"

    def _repr_html_(self) -> str:
        """The interval as a notebook shows it."""
        rows = [("value" if self.is_exact else "between", interval(self.lower, self.upper, self.unit))]
        if self.unit == "nats" and math.isfinite(self.upper):
            rows.append(("", interval(self.bits.lower, self.bits.upper, "bits")))
        rows.append(("how", self.method))
        return card("Bound", [*rows, *([("source", self.source)] if self.source else [])])
