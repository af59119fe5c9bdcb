"""How every `leakcap attack …` reads lists of numbers, and shows what was found: table, JSON, page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakcap.cli.printing import console, print_json
from leakcap.cli.targets import require_target
from leakcap.errors import InvalidParameter

if TYPE_CHECKING:
    from leakcap.attack import Finding

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
    rows = [finding.to_dict() for finding in found]
    if report is not None:
        _write(report, rows, read)
    if json_:
        print_json("attack/1", {"findings": rows})
        return
    _table([("", finding) for finding in found])
    from rich.text import Text

    out = console()
    for finding in found:
        shown = ", ".join(f"{name} {_word(value)}" for name, value in _rest(finding).items())
        if shown:
            out.print(Text(shown, style="dim"))
    out.print(Text(f"stopped by {found[0].stopped_by}"))
    _tell(report)


def show_pairs(pairs: Sequence[tuple[Finding, Finding]], json_: bool, report: Path | None) -> None:
    """Print attacks without the guard and with it; in JSON `guarded` tells them apart."""
    rows = [
        {**finding.to_dict(), "guarded": guarded}
        for pair in pairs
        for guarded, finding in zip((False, True), pair, strict=True)
    ]
    if report is not None:
        _write(report, rows)
    if json_:
        print_json("attack/1", {"findings": rows})
        return
    _table([(how, f) for pair in pairs for how, f in zip(("no guard", "guarded"), pair, strict=True)])
    from rich.text import Text

    for without, _ in pairs:
        console().print(Text(f"{without.attack}: stopped by {without.stopped_by}"))
    _tell(report)


def _table(rows: Sequence[tuple[str, Finding]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from leakcap.report.pages.attack import CHANCE
    from leakcap.report.words.wording import signed

    table = Table(box=None, pad_edge=False)
    played = any(finding.got_lower is not None for _, finding in rows)
    interval = ("99 %",) if played else ()
    for column in ("attack", "", "got", *interval, "at most", "ratio", ""):
        table.add_column(column, justify="left" if column in ("attack", "") else "right")
    for how, finding in rows:
        ratio = "∞" if math.isinf(finding.ratio) else f"{finding.ratio:.4g}"
        cells = [signed(finding.got, upward=False)]
        cells += [_interval(finding)] if played else []
        cells += [signed(finding.at_most, upward=True), ratio, finding.unit]
        table.add_row(Text(finding.attack), how, *cells)
    console().print(table)
    for how, finding in rows:
        if finding.above_by_chance is not None:
            name = f"{finding.attack}, {how}" if how else finding.attack
            console().print(Text(f"{name}: {CHANCE[finding.above_by_chance]}"), soft_wrap=True)


def _interval(finding: Finding) -> str:
    if finding.got_lower is None or finding.got_upper is None:
        return "computed"
    from leakcap.report.words.wording import outward

    return "–".join(outward(finding.got_lower, finding.got_upper, digits=3))


def _write(report: Path, rows: Sequence[dict[str, object]], read: Path | None = None) -> None:
    from leakcap.report.render.html import write_html
    from leakcap.report.render.markdown import write_markdown
    from leakcap.report.sources import page_of, record_of

    require_target(report, "`--report`", kept=[] if read is None else [read])
    page = page_of(record_of({"schema": "leakcap/attack/1", "findings": list(rows)}), "reviewer")
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


def _rest(finding: Finding) -> dict[str, object]:
    plain = {"attack", "got", "got_lower", "got_upper", "above_by_chance", "at_most", "ratio", "unit"}
    plain.add("stopped_by")
    return {name.replace("_", " "): value for name, value in finding.to_dict().items() if name not in plain}


def _word(value: object) -> str:
    if value is None:
        return "∞"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
