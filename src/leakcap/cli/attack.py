"""`leakcap attack`: attacks that reach the limits, each with what it got and what it could get at most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakcap.cli.printing import Json, console, print_json
from leakcap.errors import InvalidParameter

if TYPE_CHECKING:
    from leakcap.attack import Finding

__all__ = ["attack"]

attack = typer.Typer(
    name="attack",
    help="Attacks that reach the limits: what each gets, what the theory allows at most, and the ratio.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
Epsilon = Annotated[float, typer.Option(help="Of each answer, in nats.")]
Seed = Annotated[
    int | None, typer.Option(help="For the choice of questions; not for the noise.", show_default=False)
]


@attack.command()
def guess(
    file: Annotated[Path, typer.Argument(help="The matrix: CSV, Parquet or JSON.", show_default=False)],
    prior: Annotated[
        str, typer.Option(help="The belief: `uniform`, or numbers with commas between.")
    ] = "uniform",
    json_: Json = False,
) -> None:
    """The guessing game about one record: the optimal test against a channel.

    Example: leakcap attack guess examples/survey.csv --prior 0.5,0.25,0.25
    """
    from leakcap.attack import guessing_game
    from leakcap.channel import Channel

    matrix = Channel.load(file)
    _show([guessing_game(matrix, _belief(prior, matrix.shape[0]))], json_)


@attack.command()
def wifi(
    bits: Annotated[int, typer.Option(help="Length of the field; with --adaptive at most 20.")] = 12,
    epsilon: Epsilon = 0.5,
    fields: Annotated[int, typer.Option(help="How many fields are read.")] = 50,
    uses: Annotated[
        int | None,
        typer.Option(help="Answers a field; without it what the code needs.", show_default=False),
    ] = None,
    adaptive: Annotated[
        bool, typer.Option("--adaptive", help="Posterior matching: each question depends on the answers.")
    ] = False,
    seed: Seed = None,
    json_: Json = False,
) -> None:
    """Fix the broken wifi: read fields through noisy counts of code bits, behind the engine's own noise.

    Example: leakcap attack wifi --bits 14 --epsilon 0.336 --adaptive
    """
    import numpy as np

    from leakcap.attack import transmit, transmit_adaptively

    generator = np.random.default_rng(seed)
    if adaptive and uses is not None:
        raise InvalidParameter(
            "`--uses` does not go with --adaptive, which stops when it is sure. Leave one out."
        )
    if adaptive:
        found = transmit_adaptively(bits, epsilon, fields=fields, generator=generator)
    else:
        found = transmit(bits, epsilon, fields=fields, generator=generator, uses=uses)
    _show([found], json_)


@attack.command()
def copies(
    sizes: Annotated[
        list[int] | None, typer.Argument(help="How many equal records.", show_default=False)
    ] = None,
    epsilon: Epsilon = 0.1,
    json_: Json = False,
) -> None:
    """Equal records in a noisy sum: what it tells about each, for each size of the crowd.

    Example: leakcap attack copies 1 10 100 1000 --epsilon 0.1
    """
    from leakcap.attack import copies_curve

    _show(copies_curve(sizes or [1, 10, 100, 1000], epsilon), json_)


@attack.command()
def membership(
    epsilon: Annotated[float, typer.Option(help="Of the histogram; inf: without noise.")] = 1.0,
    others: Annotated[int, typer.Option(help="Other people, of unknown bins.")] = 0,
    share: Annotated[float, typer.Option(help="The probability that one of them is in this bin.")] = 0.5,
    json_: Json = False,
) -> None:
    """Is a person in a noisy histogram: the best test on the count of the person's bin.

    Example: leakcap attack membership --epsilon 0.5 --others 20 --share 0.1
    """
    from leakcap.attack import membership as best_test

    _show([best_test(epsilon, others=others, share=share)], json_)


@attack.command()
def skew(
    nats: Annotated[float, typer.Option(help="The cap at level α.")] = 0.1,
    alpha: Annotated[str, typer.Option(help="Levels, with commas between.")] = "1,2,8,inf",
    json_: Json = False,
) -> None:
    """How far a cap at level α lets one of two even outcomes be tilted.

    Example: leakcap attack skew --nats 0.1 --alpha 1,2,8,inf
    """
    from leakcap.attack import skew_curve

    _show(skew_curve(nats, _numbers(alpha, "--alpha")), json_)


def _belief(text: str, size: int) -> list[float]:
    return [1.0 / size] * size if text == "uniform" else _numbers(text, "--prior")


def _numbers(text: str, option: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidParameter(
            f"`{option}` must be numbers with commas between. Got {text[:60]!r}."
        ) from None


def _show(found: Sequence[Finding], json_: bool) -> None:
    if json_:
        print_json("attack/1", {"findings": [finding.to_dict() for finding in found]})
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for column in ("attack", "got", "at most", "ratio", ""):
        table.add_column(column, justify="left" if column in ("attack", "") else "right")
    for finding in found:
        ratio = "∞" if math.isinf(finding.ratio) else f"{finding.ratio:.4g}"
        table.add_row(
            Text(finding.attack), f"{finding.got:.6g}", f"{finding.at_most:.6g}", ratio, finding.unit
        )
    out = console()
    out.print(table)
    for finding in found:
        shown = ", ".join(f"{name} {_word(value)}" for name, value in _rest(finding).items())
        if shown:
            out.print(Text(shown, style="dim"), soft_wrap=True)
    out.print(Text(f"stopped by {found[0].stopped_by}"), soft_wrap=True)


def _rest(finding: Finding) -> dict[str, object]:
    plain = ("attack", "got", "at_most", "ratio", "unit", "stopped_by")
    return {name.replace("_", " "): value for name, value in finding.to_dict().items() if name not in plain}


def _word(value: object) -> str:
    if value is None:
        return "∞"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
