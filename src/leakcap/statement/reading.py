"""One line of a statement: a number, what it means, and where its formula comes from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from leakcap.statement.record import Ends, Holds, LineRecord
from leakcap.statement.wording import at_most

__all__ = ["BITS", "Reading", "exact_line", "nats_and_bits"]

_FIELDS = ("key", "label", "unit", "lower", "upper", "sentence", "formula", "source")
BITS = math.log2(math.e)


@dataclass(frozen=True)
class Reading:
    """A quantity of a leakage statement, with the sentence that a board member reads.

    `lower` equals `upper` for closed forms. `unit` is `nats`, `probability` or `ratio`. `key` is stable: it
    is the name in JSON. `holds` says whom a line of several answers is about: all of them were fixed
    `beforehand`; whoever keeps to what was `spent`; or `always`, whenever somebody stops. `stopping` is what
    holds of whoever stops when it suits them, None where nothing is known to; `under_caps` says that it needs
    caps that were fixed beforehand.
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
    holds: Holds | None = None
    stopping: float | None = None
    under_caps: bool = False

    @property
    def bits(self) -> tuple[float, float] | None:
        """The interval in bits, for quantities of information."""
        return (self.lower * BITS, self.upper * BITS) if self.unit == "nats" else None

    def record(self) -> LineRecord:
        """The line as a record: numbers in nats, and bits beside them where it is information."""
        known = {name: getattr(self, name) for name in _FIELDS}
        if self.bits is not None:
            known["bits"] = Ends(lower=self.bits[0], upper=self.bits[1])
        rest = {"detail": self.detail or None, "holds": self.holds, "stopping": self.stopping}
        rest |= {"under_caps": True} if self.under_caps else {}
        return LineRecord(**known | {name: value for name, value in rest.items() if value is not None})


def exact_line(
    key: str,
    label: str,
    value: float,
    unit: str,
    sentence: str,
    formula: str,
    source: str,
    **detail: float | int,
) -> Reading:
    """A line of a closed form, whose lower end is its upper."""
    return Reading(key, label, value, value, unit, sentence, formula, source, dict(detail))


def nats_and_bits(nats: float) -> str:
    """An amount of information as a phrase, rounded up.

    >>> nats_and_bits(0.1)
    '0.100 nats (0.145 bits)'
    """
    return f"{at_most(nats)} nats ({at_most(nats * BITS)} bits)"
