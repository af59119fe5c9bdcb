"""The certificate that a command that releases writes: where it goes, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakcap.cli.targets import require_target

if TYPE_CHECKING:
    from leakcap.errors import LeakcapError
    from leakcap.ledger import Ledger
    from leakcap.release import Release
    from leakcap.report.certified import CertificateFile
    from leakcap.report.records.certificates import CertificateRecord

__all__ = ["AskedCertificate", "Certificate", "asked_certificate"]

Certificate = Annotated[
    Path | None,
    typer.Option(
        help="A .json file for what `leakcap-verify` checks without leakcap: the ledger's chain, its ε and "
        "caps, and what each charge pays for. Without it, it stands beside the report, if there is one.",
        show_default=False,
    ),
]


@dataclass
class AskedCertificate:
    """A certificate that was asked for by name, or goes beside a report, or none.

    It is made while the ledger is open and written last, so that whatever goes wrong with it, the answers
    that were paid for have left.
    """

    target: Path | None
    by_name: bool
    _made: CertificateFile | None = None
    _failed: LeakcapError | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """What nothing else that the command writes may replace."""
        return () if self.target is None else (self.target,)

    def make(self, ledger: Ledger, releases: Iterable[Release] = ()) -> CertificateRecord | None:
        """What a record says of it; None where there is none, as where the ledger has none."""
        from leakcap.errors import LeakcapError
        from leakcap.report.certified import certificate_file

        if self.target is None:
            return None
        try:
            self._made = certificate_file(ledger, self.target, releases=releases)
        except LeakcapError as error:
            self._failed = error
            return None
        return self._made.record

    def write(self) -> None:
        """Write it. Whoever asked for it by name is told why there is none: raises that `LeakcapError`."""
        if self._made is not None:
            self._made.write()
        if self._failed is not None and self.by_name:
            raise self._failed


def asked_certificate(
    certificate: Path | None, report: Path | None, kept: Sequence[Path | str]
) -> AskedCertificate:
    """Where it goes: to the file that was named, else beside the report. Raises `InvalidQuery` where that
    would replace one of `kept`, which the command rests on or writes, or cannot be written."""
    from leakcap.report.certified import certificate_beside

    target = certificate if certificate is not None or report is None else certificate_beside(report)
    if target is not None:
        which = "The report's certificate" if certificate is None else "`--certificate`"
        require_target(target, which, (".json",), [*kept, *([report] if report else [])])
    return AskedCertificate(target, certificate is not None)
