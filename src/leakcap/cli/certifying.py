"""A ledger's certificate as a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leakcap.ledger import Ledger

__all__ = ["certificate_hash", "certificate_text", "write_certificate"]

_DELTA = 1e-9
"""Where nobody names another."""


def certificate_text(book: Ledger, delta: float = _DELTA, beside: Iterable[Mapping[str, Any]] = ()) -> str:
    """The certificate of all that was spent, and those of single answers `beside` it: the text of a file."""
    from leakcap.certificate import bundle

    return bundle([book.certificate(delta), *beside])


def certificate_hash(book: Ledger) -> str | None:
    """SHA-256 of what `leakcap budget --certificate` writes; None where a verified ledger has none."""
    from leakcap.errors import LedgerError
    from leakcap.ledger.chain import text_hash

    try:
        return text_hash(certificate_text(book))
    except LedgerError:
        return None


def write_certificate(
    target: Path, url: str, delta: float = _DELTA, *, beside: Iterable[Mapping[str, Any]] = ()
) -> None:
    """Write it."""
    from leakcap.ledger import Ledger

    with Ledger.read(url) as book:
        text = certificate_text(book, delta, beside)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
