"""Text that every database stores as it is."""

from __future__ import annotations

import math

from leakcap.errors import require

__all__ = ["require_detail", "require_text"]


def require_text(value: object, name: str, owner: str) -> None:
    """Refuse what a database cannot store as text.

    >>> require_text("a\\0b", "query", "Charge")
    Traceback (most recent call last):
    leakcap.errors.InvalidParameter: `query` of `Charge` must be text without null characters. Got 'a\\x00b'.
    """
    storable = (
        isinstance(value, str) and "\0" not in value and not any("\ud800" <= c <= "\udfff" for c in value)
    )
    require(storable, name, owner, "be text without null characters", value)


def require_detail(key: str, value: object) -> None:
    """Refuse a detail that is neither text nor a finite number.

    >>> require_detail("scale", 10.0)
    """
    if isinstance(value, str):
        require_text(value, f"details[{key!r}]", "Charge")
        return
    finite = isinstance(value, int | float) and math.isfinite(value)
    require(finite, f"details[{key!r}]", "Charge", "be text or a finite number", value)
