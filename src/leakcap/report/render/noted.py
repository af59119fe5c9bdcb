"""Numbers with the note that explains them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Note", "NotedNumber", "Text"]


@dataclass(frozen=True)
class Note:
    """Where a number comes from: its formula and who proved it."""

    formula: str
    source: str

    def __str__(self) -> str:
        """As it stands in a footnote or is shown on hover."""
        return f"{self.formula} — {self.source}" if self.source else self.formula


@dataclass(frozen=True)
class NotedNumber:
    """A number with its unit, and the note that explains it.

    >>> str(NotedNumber("0.145 bits", Note("ε/ln 2", "Dwork et al. 2006")))
    '0.145 bits'
    """

    text: str
    note: Note

    def __str__(self) -> str:
        """The number and its unit."""
        return self.text


Text: TypeAlias = "str | NotedNumber | tuple[str | NotedNumber, ...]"
