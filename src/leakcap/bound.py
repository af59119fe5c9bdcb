"""A certified interval: what leakcap answers when asked for a supremum."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Self

from leakcap.cards import card, interval
from leakcap.certificate import Proof, certificate_of
from leakcap.errors import require
from leakcap.numeric.enclosure import enclose
from leakcap.numeric.rounding import down, up

__all__ = ["Bound"]

_SHARP, _LEAST = 1e-12, 5e-324
_RANGES = {"nats": (0.0, math.inf), "probability": (0.0, 1.0), "ratio": (1.0, math.inf)}
"""What a quantity of each unit can be."""


@dataclass(frozen=True, slots=True)
class Bound:
    """lower ≤ truth ≤ upper, with how it was found and what attains the lower end.

    The truth is the real number, so that a closed form is an interval too, a few roundings wide; its width is
    zero only where a double is the exact answer. `witness` is the prior, pair or gain that attains the lower
    end, where there is one; `proof` is what a certificate states, and what proves it.

    >>> Bound(0.1, 0.2, method="example").width
    0.1
    """

    lower: float
    upper: float
    method: str
    source: str = ""
    unit: str = "nats"
    witness: object = field(default=None, compare=False, repr=False)
    proof: Proof | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.lower <= self.upper:  # NaN is not
            return
        for name in ("lower", "upper"):
            end = getattr(self, name)
            require(not math.isnan(end), name, "Bound", "be a number", end)
        require(False, "lower", "Bound", f"not exceed `upper` = {self.upper!r}", self.lower)

    @classmethod
    def exact(
        cls, value: float, *, method: str, source: str = "", unit: str = "nats", witness: object = None
    ) -> Self:
        """A value that a double holds exactly: an interval of width zero.

        >>> Bound.exact(1.0, method="by definition").lower
        1.0
        """
        return cls(value, value, method, source, unit, witness)

    @classmethod
    def enclosed(
        cls,
        ends: tuple[float, float],
        *,
        method: str,
        source: str = "",
        unit: str = "nats",
        witness: object = None,
    ) -> Self:
        """A closed form from the two ends of its enclosure, cut to what its unit can be.

        Nats and probabilities are not negative, probabilities at most 1, ratios of leakage at least 1.

        >>> Bound.enclosed(enclose(lambda d: d.of(2).log()), method="ln 2").bits
        Bound(lower=0.9999999999999999, upper=1.0000000000000002, method='ln 2', source='', unit='bits')
        """
        least, most = _RANGES.get(unit, (-math.inf, math.inf))
        low, high = (min(max(end, least), most) for end in ends)
        return cls(low, high, method, source, unit, witness)

    @classmethod
    def rounded(
        cls,
        value: float,
        operations: int,
        *,
        size: float | None = None,
        method: str,
        source: str = "",
        unit: str = "nats",
        witness: object = None,
    ) -> Self:
        """A closed form evaluated in doubles by so many roundings, widened by what they can amount to.

        `size` is the largest sum of absolute terms on the way, where it exceeds the value.

        >>> found = Bound.rounded(0.1 + 0.2, 1, method="a sum")
        >>> 0.3 in found, found.width < 1e-15
        (True, True)
        """
        ends = down(value, operations, size), up(value, operations, size)
        return cls.enclosed(ends, method=method, source=source, unit=unit, witness=witness)

    @property
    def width(self) -> float:
        """upper − lower; zero where a double is the exact answer."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    @property
    def is_exact(self) -> bool:
        """Whether a double is the exact answer."""
        return self.lower == self.upper

    @property
    def is_sharp(self) -> bool:
        """Whether the ends agree to twelve digits, as a closed form's do: a person is shown one number."""
        return self.is_exact or self.width <= max(_SHARP * abs(self.upper), _LEAST) < math.inf

    @property
    def midpoint(self) -> float:
        """The middle of the interval, for plots; a guarantee is stated with `upper`."""
        return self.lower if self.is_exact else 0.5 * (self.lower + self.upper)

    @property
    def bits(self) -> Bound:
        """The same interval in bits, rounded outward."""
        if self.unit != "nats":
            return self
        return replace(self, lower=_bits(self.lower)[0], upper=_bits(self.upper)[1], unit="bits", proof=None)

    def certificate(self) -> dict[str, Any]:
        """What is claimed, of what, and what proves it: JSON that `leakcap-verify` checks without leakcap.

        Its evidence is `proved` where a checker knows the kind, and else `numerical`.

        >>> Bound.exact(1.0, method="by definition").certificate()["evidence"]
        'numerical'
        """
        claim = self.lower, self.upper
        return certificate_of(self.proof, claim, unit=self.unit, method=self.method, source=self.source)

    def __contains__(self, value: float) -> bool:
        """Whether `value` lies in the interval."""
        return self.lower <= value <= self.upper

    def __str__(self) -> str:
        """The interval as a person reads it."""
        if self.is_sharp:
            return f"{self.upper:.10g} {self.unit} ({self.method})"
        return f"[{self.lower:.10g}, {self.upper:.10g}] {self.unit} ({self.method})"

    def _repr_html_(self) -> str:
        """The interval as a notebook shows it."""
        rows = [("value" if self.is_sharp else "between", interval(self.lower, self.upper, self.unit))]
        if self.unit == "nats" and math.isfinite(self.upper):
            rows.append(("", interval(self.bits.lower, self.bits.upper, "bits")))
        rows.append(("how", self.method))
        return card("Bound", [*rows, *([("source", self.source)] if self.source else [])])


def _bits(nats: float) -> tuple[float, float]:
    if not math.isfinite(nats) or nats == 0.0:
        return nats, nats
    return enclose(lambda digits: digits.of(nats) / digits.of(2).log())
