"""What a check finds: one line, and how grave it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["DataFault", "Grade", "listed", "shown"]

Grade: TypeAlias = Literal["problem", "note"]
_LONGEST = 40


@dataclass(frozen=True)
class DataFault:
    """What is wrong with a column or a file. It may hold values of the data: it is for the owner alone.

    A `problem` is something that the data or the policy has wrong; a `note` is allowed, and told so that the
    owner knows.
    """

    place: str
    grade: Grade
    text: str


def shown(value: str) -> str:
    """A cell as a message shows it: quoted, on one line, not long, with its spaces.

    >>> shown("1,234.56 €"), shown("a" * 50)
    ('"1,234.56 €"', '"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…"')
    """
    cut = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
    return '"' + "".join(" " if sign in "\r\n\t" else sign for sign in cut) + '"'


def listed(words: Sequence[str]) -> str:
    """Words as a sentence lists them.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
