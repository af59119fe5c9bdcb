"""What a publication is called and is about: said by whoever publishes, in the query file."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field

from leakcap.ledger import Edition
from leakcap.statement.record import Part

__all__ = ["Publication"]

_Line = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\r\n]*\S[^\r\n]*$")]


class Publication(Part):
    """Title, reference period, version and contact of what is published. It is told, and checked by nobody.

    A `period` written as 2026, 2026-Q1, 2026-03, 2026-W10 or 2026-03-05 is a calendar period, which caps may
    count by.

    >>> Publication(title="Hospital stays", period="2024-03", version="1.0").line
    'Reference period: 2024-03. Version 1.0'
    """

    title: _Line
    period: Annotated[_Line | None, Field(description="what the numbers are about")] = None
    version: _Line | None = None
    contact: Annotated[_Line | None, Field(description="whom to ask")] = None

    @classmethod
    def of(cls, edition: Edition | None) -> Self | None:
        """The publication that an edition names; None where it has no title."""
        if edition is None or not edition.title.strip():
            return None
        told = {name: text for name in ("period", "version") if (text := getattr(edition, name)).strip()}
        return cls(title=edition.title, **told)

    @property
    def edition(self) -> Edition:
        """What the ledger records of it with every answer."""
        return Edition(self.title, self.period or "", self.version or "")

    @property
    def line(self) -> str:
        """All but the title, as a page says it; empty where there is nothing."""
        told = (
            ("Reference period: ", self.period),
            ("Version ", self.version),
            ("Contact: ", self.contact),
        )
        return ". ".join(f"{what}{text}" for what, text in told if text is not None)
