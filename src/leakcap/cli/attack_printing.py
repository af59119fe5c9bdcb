"""How every `leakcap attack …` reads lists of numbers, and shows what was found: table, JSON, page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakcap.cli.printing import console, print_record
from leakcap.cli.targets import require_target
from leakcap.errors import InvalidParameter

if TYPE_CHECKING:
    from leakcap.attack import Finding
    from leakcap.report.records import AttackRecord

__all__ = ["Epsilon", "Page", "Seed", "belief", "numbers", "show", "show_pairs"]


def _page(report: Path | None) -> Path | None:
    """A place for a report, refused before anything is computed; a wrong order of words spares the data."""
    if report is not None and report.suffix.lower() not in (".html", ".htm", ".md"):
        raise InvalidParameter(f"`--report` must be an .html or .md file. Got `{report}`.")
    return report


Epsilon = Annotated[float, typer.Option(help="Of each answer, in nats.")]
Seed = Annotated[
    int | None, typer.Option(help="For the choice of questions; not for the noise.", show_default=False)
]
Page = Annotated[
    Path | None,
    typer.Option(
        "--report",
        help="Also write the report: an .html or .md file.",
        show_default=False,
        callback=_page,
    ),
]


def belief(text: str, size: int) -> list[float]:
    """A prior from the command line."""
    return [1.0 / size] * size if text == "uniform" else numbers(text, "--prior")


def numbers(text: str, option: str) -> list[float]:
    """Numbers with commas between."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidParameter(
            f"`{option}` must be numbers with commas between. Got {text[:60]!r}."
        ) from None


def show(found: Sequence[Finding], json_: bool, report: Path | None, *, read: Path | None = None) -> None:
    """Print the findings, and write the page if one is asked for, but not over the file that was `read`."""
    from leakcap.report.records import AttackRecord

    _show(AttackRecord.of(found), json_, report, read)


def show_pairs(pairs: Sequence[tuple[Finding, Finding]], json_: bool, report: Path | None) -> None:
    """Print attacks without the guard and with it; in JSON `guarded` tells them apart."""
    from leakcap.report.records import AttackRecord

    _show(AttackRecord.of_pairs(pairs), json_, report)


def _show(record: AttackRecord, json_: bool, report: Path | None, read: Path | None = None) -> None:
    if report is not None:
        _write(report, record, read)
    if json_:
        print_record(record)
        return
    from leakcap.report.terminal.theory import print_attacks

    print_attacks(console(), record)
    _tell(report)


def _write(report: Path, record: AttackRecord, read: Path | None = None) -> None:
    from leakcap.report.render.html import write_html
    from leakcap.report.render.markdown import write_markdown
    from leakcap.report.sources import page_of

    require_target(report, "`--report`", kept=[] if read is None else [read])
    page = page_of(record, "reviewer")
    try:
        (write_markdown if report.suffix.lower() == ".md" else write_html)(page, report)
    except OSError as trouble:
        raise InvalidParameter(
            f"`--report` must be a file that can be written. Got {trouble.strerror}."
        ) from None


def _tell(report: Path | None) -> None:
    if report is not None:
        from rich.text import Text

        console().print(Text(f"written: {report}"), soft_wrap=True)
