"""`leakcap disclosure`: what an office's method tells about one person."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakcap.cli.printing import Json, console, print_record

__all__ = ["disclosure"]


def disclosure(
    file: Annotated[
        Path,
        typer.Argument(help="The method: a TOML file with a [[method]] for each step.", show_default=False),
    ],
    json_: Json = False,
) -> None:
    """What rounding, suppression, cell keys or another method tells about one person in a published cell.

    Reads no data. Each kind of cell, the worst first, beside noise of differential privacy that is as large.

    Example: leakcap disclosure examples/disclosure/rounding.toml
    """
    from leakcap.disclosure.beside import noise_of_error
    from leakcap.disclosure.cells import GivenMethod
    from leakcap.disclosure.description import read_method
    from leakcap.disclosure.weighing import different_cells, largest_squared_error, mean_squared_error
    from leakcap.report.records.disclosure import DisclosureRecord
    from leakcap.report.terminal.disclosure import print_disclosure

    title, method = read_method(file)
    error, most = mean_squared_error(method), largest_squared_error(method)
    beside = noise_of_error(error) if error is not None and 100 * error >= 1 else ()
    record = DisclosureRecord.of(
        method,
        different_cells(method),
        squared_error=None if error is None else float(error),
        noise=beside,
        largest=(float(most), noise_of_error(most)[0]) if beside and most and most != error else None,
        endless=not isinstance(method, GivenMethod),
        file=file.name,
        title=title,
    )
    if json_:
        print_record(record)
    else:
        print_disclosure(console(), record)
