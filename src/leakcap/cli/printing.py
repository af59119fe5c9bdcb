"""What all commands print through."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from leakcap.plain import json_text, plain

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    from leakcap.report.records import Record

__all__ = ["Json", "console", "print_answer", "print_record", "say"]

R = TypeVar("R", bound="Record")

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def console() -> Console:
    """The terminal, without colouring of numbers that we did not choose; `:cat:` stays as it is.

    What steers a terminal is written out here once more, whoever wrote it and whichever way it came.
    """
    from rich.console import Console
    from rich.segment import Segment

    class Plain(Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else plain(text), style, control)

    return Plain(highlight=False, emoji=False)


def say(text: str) -> None:
    """Lines on standard output, as they are, but for what would steer a terminal."""
    typer.echo(plain(text), nl=not text.endswith("\n"))


def print_record(record: Record) -> None:
    """A record as strict JSON on standard output."""
    typer.echo(json_text(record.to_dict(), indent=2))


def print_answer(
    record: R,
    show: Callable[[Console, R], None],
    *,
    began: str | None,
    written: Iterable[tuple[str, Path | None]],
    json_: bool,
) -> None:
    """What was released, as JSON or for people; `began` is the ledger that is a new one, and of `written`
    each file is named by what it holds."""
    if json_:
        print_record(record)
        return
    from leakcap.report.terminal.tables import print_new_ledger

    out = console()
    if began is not None:
        print_new_ledger(out, began)
    show(out, record)
    files = [f"The {what} in {path}" for what, path in written if path is not None]
    if files:
        say("\n".join(["", *files]))
