"""The released values as files: options of the commands that release, checked before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from leakcap.cli.certifying import AskedCertificate, asked_certificate
from leakcap.cli.targets import require_target
from leakcap.errors import InvalidQuery

if TYPE_CHECKING:
    from leakcap.report.records import ReleaseRecord
    from leakcap.report.records.hierarchies import HierarchyRecord
    from leakcap.report.records.running import RunningRecord
    from leakcap.report.records.tables import TablesRecord
    from leakcap.report.render.document import Document
    from leakcap.report.render.workbook import Lines
    from leakcap.tables.question import PlannedTables

L = TypeVar("L", "HierarchyRecord", "RunningRecord")

__all__ = [
    "CsvTarget",
    "ExcelTarget",
    "LineFiles",
    "line_files",
    "require_sheets",
    "require_values",
    "write_csv",
    "write_excel",
    "write_given",
]

CsvTarget = Annotated[
    Path | None,
    typer.Option(
        help="Where the values go as CSV, with every digit: a file, or a new folder that gets one file "
        "per table.",
        show_default=False,
    ),
]
ExcelTarget = Annotated[
    Path | None,
    typer.Option(
        help="Where the values go as an Excel workbook (.xlsx), one sheet per table.", show_default=False
    ),
]


def require_values(
    csv: Path | None,
    excel: Path | None,
    kept: Sequence[Path | str],
    option: str = "`--csv`",
    endings: Sequence[str] = (".csv",),
) -> None:
    """Refuse what cannot be written, or would replace what the command rests on; `option` asks for `csv`."""
    if csv is not None:
        require_target(csv, option, endings if csv.suffix else (), kept)
        if not csv.suffix and (csv.exists() or csv.is_symlink()):
            raise InvalidQuery(
                f"{option} must be a new folder, or a file that ends in {' or '.join(endings)}. `{csv}` is "
                "there already. Nothing was spent or written."
            )
    if excel is not None:
        from leakcap.release.results.workbook import new_workbook

        require_target(excel, "`--excel`", (".xlsx",), [*kept, *([csv] if csv else [])])
        new_workbook()


def require_sheets(planned: PlannedTables) -> None:
    """Refuse tables that share one budget where a workbook has no room for them."""
    from leakcap.report.render.workbook import require_room

    workload = planned.plan.workload
    require_room([workload.cells_of(one) for one in workload.closure])


@dataclass(frozen=True)
class LineFiles:
    """Where an answer of many lines goes: a report, its numbers as CSV and as one sheet of a workbook, and
    the certificate."""

    report: Path | None
    csv: Path | None
    excel: Path | None
    proof: AskedCertificate

    def require_room(self, lines: int) -> None:
        """Refuse one sheet of so many lines that a workbook has no room for."""
        if self.excel is not None:
            from leakcap.report.render.workbook import require_one_sheet

            require_one_sheet(lines)

    def write(
        self, record: L, lines_of: Callable[[L], Lines], write_lines: Callable[[L, Path], None]
    ) -> None:
        """Write all but the certificate, which is written last."""
        if self.report is not None:
            from leakcap.report.render.html import write_html
            from leakcap.report.sources import page_of

            write_html(page_of(record, "reviewer"), self.report)
        if self.csv is not None:
            write_lines(record, self.csv)
        if self.excel is not None:
            _write_lines(record, lines_of(record), self.excel)

    @property
    def written(self) -> tuple[tuple[str, Path | None], ...]:
        """The files, by what they hold."""
        return ("report is", self.report), ("values are", self.csv), ("values are", self.excel)


def line_files(
    report: Path | None,
    certificate: Path | None,
    csv: Path | None,
    excel: Path | None,
    kept: Sequence[Path | str],
) -> LineFiles:
    """The files of an answer of many lines. Raises `InvalidQuery` where one cannot be written, or would
    replace another or one of `kept`, which the command rests on."""
    if report is not None:
        require_target(report, "`--report`", (".html", ".htm"), kept)
    proof = asked_certificate(certificate, report, kept)
    written = [*kept, *proof.files, *([report] if report else [])]
    if csv is not None:
        require_target(csv, "`--csv`", (".csv",), written)
    require_values(None, excel, [*written, *([csv] if csv else [])])
    return LineFiles(report, csv, excel, proof)


def _write_lines(record: HierarchyRecord | RunningRecord, lines: Lines, target: Path) -> None:
    """The record's page and its numbers as a workbook."""
    from leakcap.release.results.record import figure_held
    from leakcap.report.render.workbook import write_book_of
    from leakcap.report.sources import page_of

    held = f"Lower and upper are the ends of 95 % intervals for the figure that {figure_held(record.covers)}."
    notes = [held, *([record.about] if record.about else [])]
    write_book_of(page_of(record, "reviewer"), record.name, notes, lines, target)


def write_given(record: ReleaseRecord | TablesRecord, csv: Path | None, excel: Path | None) -> Iterator[Path]:
    """Write the files, and name each."""
    if csv is not None:
        write_csv(record, csv)
        yield csv
    if excel is not None:
        from leakcap.report.sources import page_of

        write_excel(record, page_of(record, "reviewer"), excel)
        yield excel


def write_csv(record: ReleaseRecord | TablesRecord, target: Path) -> None:
    """The values as one file, or as a folder of one for each table."""
    from leakcap.report.records import ReleaseRecord
    from leakcap.report.render.margins import write_cells, write_each_table
    from leakcap.report.render.sheet import write_each, write_values

    if isinstance(record, ReleaseRecord):
        (write_values if target.suffix else write_each)(record.releases, target, record.workloads)
    else:
        (write_cells if target.suffix else write_each_table)(record, target)


def write_excel(record: ReleaseRecord | TablesRecord, page: Document, target: Path) -> None:
    """The page as a workbook's first sheet, and a sheet for each table."""
    from leakcap.report.records import ReleaseRecord
    from leakcap.report.render.workbook import write_workbook

    if isinstance(record, ReleaseRecord):
        write_workbook(page, record.releases, target, record.workloads)
    else:
        write_workbook(page, (), target, (record,))
