"""Text that somebody else wrote, as a terminal may show it."""

from __future__ import annotations

import unicodedata

__all__ = ["plain"]

_KEPT = "\n\t"
# Control characters, formats that reorder a line, and surrogates.
_HIDDEN = {"Cc", "Cf", "Cs"}


def plain(text: str) -> str:
    """`text` with every control character written out, so that it cannot steer the reader's terminal.

    >>> plain("ward\\x1b[2J")
    'ward\\\\x1b[2J'
    """
    return "".join(c if c in _KEPT or unicodedata.category(c) not in _HIDDEN else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
