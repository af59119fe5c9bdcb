"""`leakcap report`: one page for people, of a release, tables, fit, plan, ledger, channel, audit, attack."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakcap.cli.asked import address, load_asked
from leakcap.cli.printing import Json, print_record, say
from leakcap.cli.targets import require_target
from leakcap.errors import InvalidParameter

if TYPE_CHECKING:
    from leakcap.report.records import Record
    from leakcap.report.render.document import Document

__all__ = ["report"]


_SHEETS = (".csv", ".xlsx")


class Reader(StrEnum):
    """Who reads a report."""

    board = "board"
    reviewer = "reviewer"


def report(
    source: Annotated[
        Path,
        typer.Argument(
            help="What a command printed with --json; a query file (TOML), for all that its ledger holds, or "
            "with --preview for its plan; or a channel's matrix (CSV, Parquet).",
            show_default=False,
        ),
    ],
    reader: Annotated[
        Reader, typer.Option("--for", help="A page for the board, or everything for the reviewer.")
    ] = Reader.reviewer,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            help="An .html or .md file, or of a release its values as .csv or .xlsx; may be repeated. A page "
            "of each kind in this folder, else.",
            show_default=False,
        ),
    ] = None,
    preview: Annotated[
        bool, typer.Option("--preview", help="Of a query file: its plan. Touches neither data nor ledger.")
    ] = False,
    ledger: Annotated[
        str | None,
        typer.Option(
            help="Of a record of tables, or of a file made of them: draw it only if this ledger has its "
            "numbers under its entry.",
            show_default=False,
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """One page that opens offline, as HTML and Markdown: numbers with their formulas, and what they mean.

    A record of tables, or of a file of rows, whose parts do not agree is refused: it was edited. With
    --ledger its noisy numbers are compared with those that the ledger has, too.

    Example: leakcap report examples/hospital/release.toml --preview --for board --output plan.html
    """
    from leakcap.cli.values import write_csv, write_excel
    from leakcap.report.records import ReleaseRecord, ReportRecord
    from leakcap.report.records.tables import TablesRecord
    from leakcap.report.render.html import write_html
    from leakcap.report.render.markdown import write_markdown
    from leakcap.report.sources import page_of

    targets = output or [Path(f"{source.stem}.report.html"), Path(f"{source.stem}.report.md")]
    kept = [*_kept(source), *([] if ledger is None else [address(ledger)])]
    for target in targets:
        require_target(target, "`--output`", (".html", ".htm", ".md", *_SHEETS), kept)
    record = _record(source, preview)
    if ledger is not None:
        _compare(record, source, ledger)
    page: Document = page_of(record, reader.value, str(source))
    sheets = [target for target in targets if _is_sheet(target)]
    if sheets and not isinstance(record, ReleaseRecord | TablesRecord):
        raise InvalidParameter(
            f"`--output` must be an .html or .md file for a {page.kind}. Only what a run released goes into "
            f"a sheet: give the file of its `--json`. Got `{sheets[0]}`."
        )
    for target in targets:
        if isinstance(record, ReleaseRecord | TablesRecord) and target in sheets:
            if target.suffix.lower() == ".csv":
                write_csv(record, target)
            else:
                write_excel(record, page, target)
        else:
            (write_markdown if target.suffix.lower() == ".md" else write_html)(page, target)
    files = [str(target) for target in targets]
    met = {} if ledger is None else {"in_ledger": True}
    if json_:
        print_record(ReportRecord.made(kind=page.kind, audience=reader.value, files=tuple(files), **met))
        return
    known = "" if ledger is None else ". The ledger has its numbers"
    say(f"The {page.kind} report for the {reader.value} is in {', '.join(files)}{known}")


def _compare(record: Record, source: Path, url: str) -> None:
    """Refuse a record whose numbers the ledger does not have."""
    from leakcap.ledger import Ledger
    from leakcap.report.records.in_ledger import require_in_ledger

    if source.suffix.lower() == ".toml":
        raise InvalidParameter(
            f"`--ledger` goes with a record, as `--json` prints it. `{source}` names a ledger of its own."
        )
    with Ledger.read(address(url)) as book:
        require_in_ledger(record, book)


def _kept(source: Path) -> list[Path | str]:
    """The files behind the source, which no page may replace."""
    if source.suffix.lower() != ".toml":
        return [source]
    return [source, *load_asked(source).files]


def _is_sheet(target: Path) -> bool:
    return target.suffix.lower() in _SHEETS


def _record(source: Path, preview: bool) -> Record:
    """The record behind what a person points at."""
    from leakcap.report.sources import read_record

    kind = source.suffix.lower()
    if preview and kind != ".toml":
        raise InvalidParameter(f"`--preview` goes with a query file (.toml). Got `{source}`.")
    if not source.is_file():
        raise InvalidParameter(f"There is no file `{source}`.")
    if kind == ".toml":
        return _plan(source) if preview else _ledger(source)
    if kind in {".csv", ".parquet"}:
        from leakcap.cli.channel import channel_record

        return channel_record(source)
    return read_record(source)


def _plan(source: Path) -> Record:
    from leakcap.release import load_policy, load_queries
    from leakcap.release import preview as preview_queries
    from leakcap.report.records import PreviewRecord
    from leakcap.tables.files import workloads_of

    queries = load_queries(source)
    policy = load_policy(queries.policy)
    workloads = [one.planned(policy) for one in workloads_of(queries, source)]
    return PreviewRecord.of(policy, preview_queries(queries.queries, policy=policy), workloads=workloads)


def _ledger(source: Path) -> Record:
    from leakcap.cli.ledger import budget_record

    return budget_record(str(source), query_file=True)
