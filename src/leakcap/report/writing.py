"""From Python to a report: a page or a sheet of what a table released."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from leakcap.apart import apart
from leakcap.errors import InvalidParameter, LedgerError
from leakcap.release import PrivateTable, Release
from leakcap.release.results.publication import Publication
from leakcap.report.certified import CertificateFile, certificate_beside, certificate_file
from leakcap.report.records import ReleaseRecord
from leakcap.report.render.document import Audience
from leakcap.report.render.html import write_html
from leakcap.report.render.markdown import write_markdown
from leakcap.report.render.sheet import write_values
from leakcap.report.render.workbook import write_workbook
from leakcap.report.sources import page_of

__all__ = ["write_report"]


def write_report(
    table: PrivateTable,
    releases: Release | Sequence[Release],
    path: str | Path,
    *,
    audience: Audience = "reviewer",
) -> None:
    """Write what `table` released: an .html or .md page of it and of all that its ledger tells so far, the
    values alone as .csv, or both as an .xlsx workbook. `audience` is "board" or "reviewer". Nothing is spent.

    Beside a page or a workbook goes its certificate (`ward.html.certificate.json` beside `ward.html`), which
    `leakcap-verify` checks without leakcap; none where the ledger has none, as where it is too long for one.

    >>> import pyarrow, tempfile
    >>> policy = {"dataset": "ward", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"age": {"bounds": [0.0, 120.0]}}}
    >>> ward = PrivateTable(pyarrow.table({"age": [31.0, 72.0]}), policy=policy, ledger="sqlite://")
    >>> old = ward.count(where="age >= 65", epsilon=0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(ward, old, f"{folder}/ward.md", audience="board")
    ...     print(Path(f"{folder}/ward.md").read_text().splitlines()[0])
    # ward
    """
    if not apart(Path(path), table.files):
        raise InvalidParameter(
            f"`path` may not replace `{path}`, which the table rests on. Name another file."
        )
    target, told = Path(path), [releases] if isinstance(releases, Release) else list(releases)
    kind = target.suffix.lower()
    if kind not in (".html", ".htm", ".md", ".xlsx", ".csv"):
        raise InvalidParameter(f"`path` must be an .html, .md, .csv or .xlsx file. Got `{target}`.")
    proved = None if kind == ".csv" else _proved(table, told, certificate_beside(target))
    record = ReleaseRecord.of(
        table.policy,
        told,
        table.statement(),
        table.budget(),
        table.ledger.amendments(),
        Publication.of(table.edition),
        revisions=table.ledger.revisions(),
        source=table.named,
        same_as=table.same_as,
        certificate=None if proved is None else proved.record,
    )
    if kind == ".csv":
        write_values(record.releases, target)
        return
    page = page_of(record, audience)
    if kind == ".xlsx":
        write_workbook(page, record.releases, target)
    else:
        (write_markdown if kind == ".md" else write_html)(page, target)
    if proved is not None:
        proved.write()


def _proved(table: PrivateTable, releases: Sequence[Release], target: Path) -> CertificateFile | None:
    """The certificate beside a report, where the ledger has one and the table does not rest on the file."""
    if not apart(target, table.files):
        raise InvalidParameter(
            f"The report's certificate may not replace `{target}`, which the table rests on. Name another "
            "`path`."
        )
    try:
        return certificate_file(table.ledger, target, releases=releases)
    except LedgerError:
        return None
