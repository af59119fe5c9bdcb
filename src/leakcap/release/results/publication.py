"""What a publication is called and is about: said by whoever publishes, in the query file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from leakcap.statement.record import Part

__all__ = ["Publication"]

_Line = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\r\n]*\S[^\r\n]*$")]


class Publication(Part):
    """Title, reference period, version and contact of what is published. It is told, and checked by nobody.

    >>> Publication(title="Hospital stays", period="March 2024", version="1.0").line
    'Reference period: March 2024. Version 1.0'
    """

    title: _Line
    period: Annotated[_Line | None, Field(description="what the numbers are about")] = None
    version: _Line | None = None
    contact: Annotated[_Line | None, Field(description="whom to ask")] = None

    @property
    def line(self) -> str:
        """All but the title, as a page says it; empty where there is nothing."""
        told = (
            ("Reference period: ", self.period),
            ("Version ", self.version),
            ("Contact: ", self.contact),
        )
        return ". ".join(f"{what}{text}" for what, text in told if text is not None)
