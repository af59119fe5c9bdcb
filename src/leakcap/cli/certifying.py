"""A ledger's certificate as a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["write_certificate"]


def write_certificate(
    target: Path, url: str, delta: float = 1e-9, *, beside: Iterable[Mapping[str, Any]] = ()
) -> None:
    """Write that of all that was spent, and those of single answers `beside` it."""
    from leakcap.certificate import bundle
    from leakcap.ledger import Ledger

    with Ledger.read(url) as book:
        text = bundle([book.certificate(delta), *beside])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
