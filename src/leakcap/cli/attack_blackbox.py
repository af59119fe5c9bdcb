"""`leakcap attack blackbox`: samples of a system of which nothing else is known."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

from leakcap.cli.attack_printing import Page, show
from leakcap.cli.printing import Json
from leakcap.errors import DataError, InvalidParameter

__all__ = ["blackbox"]


def blackbox(
    file: Annotated[
        Path,
        typer.Argument(
            help="CSV, one sample a row: the secret, then the output in one column or several. A first row "
            "with `secret` in it is a heading, and says where the secret is.",
            show_default=False,
        ),
    ],
    prior: Annotated[
        str,
        typer.Option(
            help="`uniform`; or `sampled`: secrets came as they come, and their law is estimated too."
        ),
    ] = "sampled",
    attackers: Annotated[
        str | None,
        typer.Option(
            help="With commas between: frequencies, nearest, bins, forest (needs scikit-learn). Without it "
            "all but the forest that suit the outputs.",
            show_default=False,
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(help="That the truth lies between.")] = 0.95,
    seed: Annotated[int, typer.Option(help="For the half of the samples that is learned from.")] = 0,
    report: Page = None,
    json_: Json = False,
) -> None:
    """Anything that can be sampled: what an attacker got from samples, and what nobody can get.

    Example: leakcap attack blackbox examples/timing/timings.csv --prior uniform
    """
    from leakcap.attack import interrogate

    if prior not in ("uniform", "sampled"):
        raise InvalidParameter(f"`--prior` must be `uniform` or `sampled`. Got {prior[:60]!r}.")
    secrets, outputs = _samples(file)
    found = interrogate(
        secrets,
        outputs,
        prior="uniform" if prior == "uniform" else None,
        attackers=None if attackers is None else [name.strip() for name in attackers.split(",")],
        confidence=confidence,
        seed=seed,
    )
    show(found, json_, report, read=file)


def _below_heading(file: Path, rows: list[list[str]]) -> list[list[str]]:
    """The samples, the secret first. Raises `DataError` where a heading may stand among them."""
    named = [cell.lower() for cell in rows[0]] if rows else []
    if "secret" in named:
        place = named.index("secret")
        return [row[place : place + 1] + row[:place] + row[place + 1 :] for row in rows[1:]]
    if len(rows) > 1 and all(row[0] != rows[0][0] for row in rows[1:]):
        raise DataError(
            f"The first row of `{file}` has a secret that no other row has: it may be a heading, or another "
            "column may hold the secret. Put a heading above it that says `secret` where the secret is."
        )
    return rows


def _samples(file: Path) -> tuple[list[str], list[float] | list[list[float]] | list[str]]:
    """Secrets as texts; outputs as numbers where all cells are, else as texts."""
    if not file.is_file():
        raise InvalidParameter(f"There is no file `{file}`.")
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            rows = [[cell.strip() for cell in row] for row in csv.reader(lines) if row]
    except (UnicodeDecodeError, csv.Error):
        raise DataError(
            f"`{file}` must be CSV in UTF-8, the secret first. It cannot be read as that."
        ) from None
    rows = _below_heading(file, rows)
    width = len(rows[0]) if rows else 0
    odd = next((i for i, row in enumerate(rows) if len(row) != width), None)
    if width < 2 or odd is not None:
        raise DataError(
            f"`{file}` must have a secret and an output in each row, and as many cells in all. "
            + (
                f"Sample {odd + 1} has {len(rows[odd])} cells, the first {width}."
                if odd is not None
                else "It has not."
            )
        )
    secrets = [row[0] for row in rows]
    try:
        numbers = [[float(cell) for cell in row[1:]] for row in rows]
    except ValueError:
        return secrets, [",".join(row[1:]) for row in rows]
    return secrets, [row[0] for row in numbers] if width == 2 else numbers
