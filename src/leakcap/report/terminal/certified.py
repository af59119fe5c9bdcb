"""How what was printed is checked without leakcap (Rich)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from leakcap.plain import plain
from leakcap.report.terminal.plain_tables import SOFT

if TYPE_CHECKING:
    from leakcap.report.records.certificates import CertificateRecord

__all__ = ["print_certificate"]


def print_certificate(console: Console, record: CertificateRecord | None) -> None:
    """Its file, its hash and the command; nothing where no certificate was written."""
    if record is None:
        return
    from leakcap.report.words.certified import certificate_words

    console.print()
    for words in certificate_words(record):
        console.print(Text(plain(words), style=SOFT), soft_wrap=not console.is_terminal)
