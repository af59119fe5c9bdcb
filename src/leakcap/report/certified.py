"""The certificate of what was released, as a file beside its report: outsiders check it without leakcap.

Record, page and terminal say its name and its SHA-256, all from one `CertificateRecord`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from leakcap.ledger import Ledger
    from leakcap.release import Release
    from leakcap.report.records.certificates import CertificateRecord

__all__ = [
    "DELTA",
    "CertificateFile",
    "CertifiedLedger",
    "certificate_beside",
    "certificate_file",
    "certificate_hash",
]

DELTA = 1e-9
"""Where nobody names another."""


class CertifiedLedger(Protocol):
    """What has a certificate of all its answers: a ledger, or a data set of a curator's."""

    def certificate(self, delta: float = DELTA) -> dict[str, Any]:
        """That all of them came to so much ε but for δ, and passed no cap."""


@dataclass(frozen=True)
class CertificateFile:
    """A certificate as it is written: where, which text, and what a record says of it."""

    target: Path
    text: str

    @property
    def record(self) -> CertificateRecord:
        """Its name, its hash, and how it is checked."""
        from leakcap.ledger.chain import text_hash
        from leakcap.report.records.certificates import CertificateRecord

        name = self.target.name
        check = f"leakcap-verify {shlex.quote(name)}"
        return CertificateRecord(file=name, sha256=text_hash(self.text), check=check)

    def write(self) -> None:
        """Write it; bytes are those of its hash on every system."""
        self.target.parent.mkdir(parents=True, exist_ok=True)
        self.target.write_bytes(self.text.encode())


def certificate_beside(report: Path) -> Path:
    """Where the certificate of a report goes: its whole name is in the certificate's, so that a page and a
    workbook of one name have one each.

    >>> certificate_beside(Path("build/hospital.html")).name
    'hospital.html.certificate.json'
    """
    return report.with_name(f"{report.name}.certificate.json")


def certificate_file(
    ledger: CertifiedLedger, target: Path, delta: float = DELTA, releases: Iterable[Release] = ()
) -> CertificateFile:
    """The certificate of all that a ledger's answers told and, beside it, of the prices of some; nothing is
    written yet. Raises `LedgerError` where a ledger has none.
    """
    from leakcap.certificate import bundle

    beside = (one.certificate() for one in releases)
    return CertificateFile(target, bundle([ledger.certificate(delta), *beside]))


def certificate_hash(ledger: Ledger) -> str | None:
    """SHA-256 of what `leakcap budget --certificate` writes; None where a verified ledger has none."""
    from leakcap.errors import LedgerError

    try:
        return certificate_file(ledger, Path()).record.sha256
    except LedgerError:
        return None
