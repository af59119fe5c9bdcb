"""`leakcap disclosure method.toml counts.csv`: real counts, weighed on the owner's terminal alone."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from leakcap.cli.printing import console
from leakcap.errors import InvalidInput, InvalidParameter

if TYPE_CHECKING:
    from leakcap.disclosure.whole.description import WholeStep

__all__ = ["weigh_counts"]

_WARNING = (
    "This is for the owner alone: it says of real cells what they tell, is itself about people, and is "
    "protected by nothing. Do not publish it. Nothing of it was recorded."
)
_SHOWN, _NAMED = 20, 5


def weigh_counts(method: Path, counts: Path, *, json_: bool, show: bool) -> None:
    """Print what each kind of real cell tells; on a terminal, or with `show`."""
    if counts.suffix.lower() != ".csv":
        raise InvalidParameter(f"Real counts must be a .csv file. Got `{counts.name}`.")
    if json_:
        raise InvalidParameter("What real counts tell is not to be kept: it has no --json. Leave it out.")
    if not show and not sys.stdout.isatty():
        raise InvalidInput(
            "What real counts tell is not protected, and the output is no terminal. Add `--show` if only the "
            "owner reads it."
        )
    from leakcap.disclosure.description import read_whole_method

    whole = read_whole_method(method)
    if whole is not None:
        _weigh_whole(*whole, counts)
        return
    from rich.text import Text

    from leakcap.disclosure.description import read_method
    from leakcap.disclosure.real_counts import read_real_counts, weigh_real_counts
    from leakcap.plain import plain
    from leakcap.report.terminal.plain_tables import plain_table
    from leakcap.statement.wording import at_most, percent

    title, way = read_method(method)
    cells = read_real_counts(counts)
    kinds = weigh_real_counts(way, cells)
    out = console()
    out.print(Text(plain(title or way.words), style="bold"))
    out.print(Text(_WARNING, style="bold red"))
    table = plain_table("cells", "how many", "people", "nats", "ε", "belief", "1 cell", "95 % after")
    for kind in kinds[:_SHOWN]:
        risk = kind.risk
        smallest = sorted(kind.cells, key=lambda one: one.count)[:_NAMED]
        names = "; ".join(f"{one.words}: {one.count:,}" for one in smallest)
        sure = risk.until(0.95)
        never = "never" if risk.success(1).upper <= 0.5 else "over a million"
        table.add_row(
            Text(plain(names + ("; …" if len(kind.cells) > _NAMED else ""))),
            f"{len(kind.cells):,}",
            f"{kind.people:,}",
            at_most(risk.capacity.upper),
            "∞" if math.isinf(risk.epsilon.upper) else at_most(risk.epsilon.upper),
            percent(risk.belief),
            percent(risk.success(1).upper),
            never if sure is None else f"{sure:,}",
        )
    out.print(table)
    empty = sum(one.count == 0 for one in cells)
    out.print(Text(f"{len(cells):,} cells, {empty:,} of them empty; {len(kinds):,} kinds of cells."))
    out.print(Text("Of somebody in a cell, to whoever knows all the others there; the worst kind first."))


def _weigh_whole(title: str, step: WholeStep, counts: Path) -> None:
    """Print what a method for a whole table or file tells of the people in it."""
    from rich.text import Text

    from leakcap.disclosure.whole.weighing import ExchangeRisk
    from leakcap.plain import plain
    from leakcap.report.terminal.plain_tables import plain_table
    from leakcap.statement.wording import at_most, percent

    risks = step.weighed(counts)
    out = console()
    out.print(Text(plain(title or step.kind), style="bold"))
    out.print(Text(_WARNING, style="bold red"))
    table = plain_table("who", "people", "one of", "guess", "nats", "ε")
    for risk in risks[:_SHOWN]:
        if isinstance(risk, ExchangeRisk):
            nats = None if risk.worst is None else risk.worst.capacity.upper
            choices, nats = 2, 0.0 if risk.ratio == 1 else nats
        else:
            choices, nats = risk.choices, risk.capacity.upper
        epsilon = risk.epsilon.upper
        table.add_row(
            Text(plain(risk.words)),
            f"{risk.people:,}",
            str(choices),
            percent(float(risk.guess)),
            "–" if nats is None else at_most(nats),
            "∞" if math.isinf(epsilon) else at_most(epsilon),
        )
    out.print(table)
    if len(risks) > _SHOWN:
        out.print(Text(f"{len(risks) - _SHOWN:,} more are told less."))
    out.print(Text(plain(step.asked)))
    out.print(Text("`guess`: how often the best one is right where all are equally likely beforehand."))
