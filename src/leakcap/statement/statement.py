"""The leakage statement: what a release lets an attacker do, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from leakcap.cards import card
from leakcap.errors import require
from leakcap.statement.exposure import Exposure
from leakcap.statement.reading import Reading
from leakcap.statement.readings import readings
from leakcap.statement.record import StatementRecord

__all__ = ["OF_THE_NOISE", "Statement", "statement_of"]

OF_THE_NOISE = (
    "This is said of the noise alone. To the exact totals no line applies: whoever knows all other records "
    "sees from them whether a person is counted there."
)
"""What has to stand above everything that is said where totals were published exactly."""


@dataclass(frozen=True)
class Statement:
    """What `exposure` lets an attacker do, line by line.

    `str(statement)` is the plain text, `record()` what reports are made of, `to_dict()` that as JSON.
    """

    exposure: Exposure
    lines: tuple[Reading, ...]

    def __getitem__(self, key: str) -> Reading:
        """The line with that key: `coin_flip`, `odds`, `information_own`, …"""
        return next(line for line in self.lines if line.key == key)

    @property
    def caveat(self) -> str:
        """What has to stand above the lines: where totals were published exactly, that no line speaks of
        them. Empty where there is no such thing."""
        return OF_THE_NOISE if self.exposure.exact_totals else ""

    def record(self) -> StatementRecord:
        """The statement as a record, and what it was made from."""
        e = self.exposure
        return StatementRecord.model_validate(
            {
                "title": e.title,
                "queries": e.queries,
                "neighbours": e.relation,
                "unit": e.unit,
                "exposure": e.record(),
                "lines": tuple(line.record() for line in self.lines),
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON has it: numbers in nats, with bits beside them; None stands for no bound."""
        return self.record().to_dict()

    def _repr_html_(self) -> str:
        """The sentences as a notebook shows them."""
        title = f"What {self.exposure.title} lets an attacker do"
        return card(title, [(told,) for told in self._told()])

    def __str__(self) -> str:
        """The sentences, one a line."""
        return "\n".join([self.exposure.title, *(f"  {told}" for told in self._told())])

    def _told(self) -> list[str]:
        return [*filter(None, [self.caveat]), *(line.sentence for line in self.lines)]


def statement_of(exposure: Exposure, *, family: int = 5, guesses: int = 10, more: int = 100) -> Statement:
    """The leakage statement of what has been shown.

    `family` is the number of people whose records may move together, `guesses` the number of equally
    likely possibilities of the one-in-k guess, `more` the number of further releases of the same kind.

    >>> from leakcap.bound import Bound
    >>> one = Exposure("a count", 0.1, 0.1, Bound.exact(0.00125, method="m"), 1.0, "replace-one", units=569)
    >>> print(statement_of(one)["odds"].sentence)
    The odds between any two things that may be true of one person are multiplied or divided by at most 1.11.
    """
    require(family >= 2, "family", "statement_of", "be at least 2", family)
    require(guesses >= 2, "guesses", "statement_of", "be at least 2", guesses)
    require(more >= 1, "more", "statement_of", "be at least 1", more)
    if exposure.composed is not None:
        exposure = replace(exposure, composed=exposure.composed.lean)
    return Statement(exposure, readings(exposure, family=family, guesses=guesses, more=more))
