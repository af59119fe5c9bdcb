"""The released values as files: options of the commands that release, checked before anything is spent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakcap.cli.targets import require_target
from leakcap.errors import InvalidQuery

if TYPE_CHECKING:
    from leakcap.report.records import ReleaseRecord

__all__ = ["CsvTarget", "ExcelTarget", "require_values", "write_given"]

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


def require_values(csv: Path | None, excel: Path | None, kept: Sequence[Path | str]) -> None:
    """Refuse what cannot be written, or would replace what the command rests on."""
    if csv is not None:
        require_target(csv, "`--csv`", (".csv",) if csv.suffix else (), kept)
        if not csv.suffix and (csv.exists() or csv.is_symlink()):
            raise InvalidQuery(
                f"`--csv` must be a new folder, or a file that ends in .csv. `{csv}` is there already. "
                "Nothing was spent or written."
            )
    if excel is not None:
        from leakcap.release.results.workbook import new_workbook

        require_target(excel, "`--excel`", (".xlsx",), [*kept, *([csv] if csv else [])])
        new_workbook()


def write_given(record: ReleaseRecord, csv: Path | None, excel: Path | None) -> Iterator[Path]:
    """Write the files, and name each."""
    if csv is not None:
        from leakcap.report.render.sheet import write_each, write_values

        (write_values if csv.suffix else write_each)(record.releases, csv)
        yield csv
    if excel is not None:
        from leakcap.report.render.workbook import write_workbook
        from leakcap.report.sources import page_of

        write_workbook(page_of(record, "reviewer"), record.releases, excel)
        yield excel
