"""`leakcap attack suppressed` and `tables`: what published tables tell that was not meant to be published."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakcap.cli.attack_printing import Page, Seed, show
from leakcap.cli.printing import Json
from leakcap.cli.targets import require_target
from leakcap.errors import InvalidParameter

if TYPE_CHECKING:
    from leakcap.attack import HiddenCount

__all__ = ["builder", "link", "suppressed", "tables"]

Total = Annotated[str, typer.Option(help="The word for a margin in the columns of dimensions.")]
Hidden = Annotated[
    list[str] | None,
    typer.Option(
        help="What is known of a count where a word stands: x=1,4; 1,4 for every word; x=5 for 5 or more.",
        show_default=False,
    ),
]


def suppressed(
    file: Annotated[
        Path,
        typer.Argument(
            help="The published table: CSV, a column for each dimension, the count in the last.",
            show_default=False,
        ),
    ],
    total: Total = "total",
    hidden: Hidden = None,
    report: Page = None,
    json_: Json = False,
) -> None:
    """What the margins of a published table tell of its suppressed cells: the counts that each can have.

    Example: leakcap attack suppressed examples/disclosure/register.csv
    """
    from leakcap.attack import read_published_table
    from leakcap.attack import suppressed as attack_suppressed

    table = read_published_table(file, total, _hidden(hidden))
    show([attack_suppressed(table)], json_, report, read=file)


def tables(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Published tables of the same people: CSV, a column for each dimension, then the count.",
            show_default=False,
        ),
    ],
    method: Annotated[
        Path | None,
        typer.Option(
            help="The office's method: every published number is taken to come from it.", show_default=False
        ),
    ] = None,
    total: Total = "total",
    hidden: Hidden = None,
    report: Page = None,
    json_: Json = False,
) -> None:
    """Records from published tables, protected or not: what every table has that agrees with all the numbers.

    Example: leakcap attack tables examples/disclosure/register.csv --hidden x=0,26
    """
    from leakcap.attack import read_published_tables, records_from_tables
    from leakcap.disclosure.description import read_method

    if report is not None:
        require_target(report, "`--report`", kept=[*files, *([] if method is None else [method])])
    read = read_published_tables(files, total)
    way = None if method is None else read_method(method)[1]
    show(records_from_tables(read, method=way, hidden=_hidden(hidden)), json_, report, read=files[0])


def link(
    published: Annotated[
        Path,
        typer.Argument(
            help="The published file: CSV, a line for each record, with coarse values and a secret.",
            show_default=False,
        ),
    ],
    register: Annotated[
        Path,
        typer.Argument(
            help="Who may be in it: CSV, a line for each person, with exact values under the same names.",
            show_default=False,
        ),
    ],
    secret: Annotated[
        str | None,
        typer.Option(help="Which column is the secret, where there are several.", show_default=False),
    ] = None,
    some: Annotated[
        bool,
        typer.Option(
            "--some", help="The register has people who are in the file for sure, beside others; else all."
        ),
    ] = False,
    k: Annotated[
        int | None,
        typer.Option("--k", help="How many records the office says are alike at least.", show_default=False),
    ] = None,
    report: Page = None,
    json_: Json = False,
) -> None:
    """A published file of coarse values, linked with a register: whose records and secrets are sure.

    Coarse values are ranges (20-29, [20,30), 65+), beginnings (12*), either (a|b) or anything (*).

    Example: leakcap attack link examples/disclosure/released.csv examples/disclosure/voters.csv --k 3
    """
    from leakcap.attack import link_file, read_released

    if report is not None:
        require_target(report, "`--report`", kept=[published, register])
    files = read_released(published, register, secret)
    show(link_file(files, register="some" if some else "everybody", k=k), json_, report, read=published)


def builder(
    noise: Annotated[int, typer.Option(help="Up to how much is added to an answer, or taken away.")] = 2,
    queries: Annotated[int, typer.Option(help="Asked for each count.")] = 180,
    people: Annotated[int, typer.Option(help="In the made-up table.")] = 20_000,
    counts: Annotated[int, typer.Option(help="How many counts are attacked.")] = 100,
    below: Annotated[int, typer.Option(help="Smaller counts are answered with 0.")] = 5,
    seed: Seed = None,
    report: Page = None,
    json_: Json = False,
) -> None:
    """A table builder whose noise repeats itself for the same people: averaged away over halves of them.

    Example: leakcap attack builder --noise 2 --queries 180
    """
    import numpy as np

    from leakcap.attack import averaged_counts

    generator = np.random.default_rng(seed)
    found = averaged_counts(
        noise, queries=queries, people=people, counts=counts, below=below, generator=generator
    )
    show(found, json_, report)


def _hidden(given: list[str] | None) -> dict[str, HiddenCount]:
    from leakcap.attack import HiddenCount
    from leakcap.disclosure.published_files import HIDDEN

    found: dict[str, HiddenCount] = {}
    for one in given or []:
        word, _, ends = one.rpartition("=")
        parts = ends.split(",")
        if not (len(parts) <= 2 and all(part.isdecimal() and len(part) < 13 for part in parts)):
            raise InvalidParameter(
                "`--hidden` must be a word, `=`, and the least and the largest count, as in x=1,4. "
                f"Got {one[:60]!r}."
            )
        if "=" in one and word.lower() not in HIDDEN:
            said = ", ".join(repr(own) for own in HIDDEN)
            raise InvalidParameter(f"The word of `--hidden` must be one of {said}. Got {word[:60]!r}.")
        count = HiddenCount(int(parts[0]), int(parts[1]) if len(parts) == 2 else None)
        found |= dict.fromkeys([word.lower()] if "=" in one else HIDDEN, count)
    return found
