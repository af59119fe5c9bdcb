"""`leakcap attack`: attacks that reach the limits, each with what it got and what it could get at most."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakcap.cli.attack_blackbox import blackbox
from leakcap.cli.attack_guards import delta, games, lecture, reused, surprise, timing
from leakcap.cli.attack_printing import Epsilon, Page, Seed, belief, numbers, show
from leakcap.cli.attack_records import (
    chain,
    family,
    floor,
    households,
    knowledge,
    linkage,
    samples,
)
from leakcap.cli.attack_tables import builder, link, suppressed, tables
from leakcap.cli.printing import Json
from leakcap.errors import InvalidParameter

__all__ = ["attack"]

attack = typer.Typer(
    name="attack",
    help="Attacks that reach the limits: what each gets, what the theory allows at most, and the ratio.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@attack.command()
def guess(
    file: Annotated[Path, typer.Argument(help="The matrix: CSV, Parquet or JSON.", show_default=False)],
    prior: Annotated[
        str, typer.Option(help="The belief: `uniform`, or numbers with commas between.")
    ] = "uniform",
    report: Page = None,
    json_: Json = False,
) -> None:
    """The guessing game about one record: the optimal test against a channel.

    Example: leakcap attack guess examples/survey.csv --prior 0.5,0.25,0.25
    """
    from leakcap.attack import guessing_game
    from leakcap.channel import Channel

    matrix = Channel.load(file)
    show([guessing_game(matrix, belief(prior, matrix.shape[0]))], json_, report, read=file)


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
    report: Page = None,
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
    show([found], json_, report)


@attack.command()
def copies(
    sizes: Annotated[
        list[int] | None, typer.Argument(help="How many equal records.", show_default=False)
    ] = None,
    epsilon: Epsilon = 0.1,
    report: Page = None,
    json_: Json = False,
) -> None:
    """Equal records in a noisy sum: what it tells about each, for each size of the crowd.

    Example: leakcap attack copies 1 10 100 1000 --epsilon 0.1
    """
    from leakcap.attack import copies_curve

    show(copies_curve(sizes or [1, 10, 100, 1000], epsilon), json_, report)


@attack.command()
def membership(
    epsilon: Annotated[float, typer.Option(help="Of the histogram; inf: without noise.")] = 1.0,
    others: Annotated[int, typer.Option(help="Other people, of unknown bins.")] = 0,
    share: Annotated[float, typer.Option(help="The probability that one of them is in this bin.")] = 0.5,
    report: Page = None,
    json_: Json = False,
) -> None:
    """Is a person in a noisy histogram: the best test on the count of the person's bin.

    Example: leakcap attack membership --epsilon 0.5 --others 20 --share 0.1
    """
    from leakcap.attack import membership as best_test

    show([best_test(epsilon, others=others, share=share)], json_, report)


@attack.command()
def skew(
    nats: Annotated[float, typer.Option(help="The cap at level α.")] = 0.1,
    alpha: Annotated[str, typer.Option(help="Levels, with commas between.")] = "1,2,8,inf",
    report: Page = None,
    json_: Json = False,
) -> None:
    """How far a cap at level α lets one of two even outcomes be tilted: got keeps the cap, more breaks it.

    Example: leakcap attack skew --nats 0.1 --alpha 1,2,8,inf
    """
    from leakcap.attack import skew_curve

    show(skew_curve(nats, numbers(alpha, "--alpha")), json_, report)


for command in (
    households,
    chain,
    family,
    samples,
    knowledge,
    floor,
    linkage,
    link,
    suppressed,
    tables,
    builder,
    games,
    blackbox,
    timing,
    lecture,
    reused,
    delta,
    surprise,
):
    attack.command()(command)
