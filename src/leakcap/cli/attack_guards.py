"""`leakcap attack …`: games with a guard and without, timing, the lecture's regression, surprise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakcap.cli.attack_printing import Epsilon, Page, Seed, belief, numbers, show, show_pairs
from leakcap.cli.printing import Json

__all__ = ["delta", "games", "lecture", "reused", "surprise", "timing"]


def games(
    epsilon: Annotated[float, typer.Option(help="Promised in all, in nats; from 0.05 to 5.")] = 0.5,
    rounds: Annotated[int, typer.Option(help="Of each game.")] = 400,
    seed: Seed = None,
    report: Page = None,
    json_: Json = False,
) -> None:
    """Every attack twice: against a textbook mechanism without the guard, and behind leakcap's.

    Example: leakcap attack games --epsilon 0.5 --rounds 200
    """
    import numpy as np

    from leakcap.attack import games as play

    show_pairs(play(epsilon, rounds=rounds, generator=np.random.default_rng(seed)), json_, report)


def timing(epsilon: Epsilon = 0.1, report: Page = None, json_: Json = False) -> None:
    """What counted work tells about the noise: a textbook sampler, and leakcap's own.

    Example: leakcap attack timing --epsilon 0.1
    """
    from leakcap.attack import published_timing, textbook_timing
    from leakcap.attack import timing as own

    show([textbook_timing(epsilon), published_timing(epsilon), own(epsilon)], json_, report)


def lecture(
    epsilon: Epsilon = 0.1,
    people: Annotated[int, typer.Option(help="Rows of the table.")] = 1000,
    report: Page = None,
    json_: Json = False,
) -> None:
    """The lecture's regression, whose sensitivity bound is wrong, and ridge regression, whose is proved.

    Example: leakcap attack lecture --epsilon 0.1
    """
    from leakcap.attack import lecture_regression, ridge_regression

    show(
        [lecture_regression(epsilon, people=people), ridge_regression(epsilon, people=people)], json_, report
    )


def reused(
    values: Annotated[int, typer.Option(help="How many values the record has.")] = 2,
    report: Page = None,
    json_: Json = False,
) -> None:
    """Noise used in two answers, and noise of each answer's own.

    Example: leakcap attack reused --values 2
    """
    from leakcap.attack import reused_noise

    show_pairs([(reused_noise(values), reused_noise(values, fresh=True))], json_, report)


def delta(
    delta_: Annotated[
        float, typer.Option("--delta", help="Of the whole publication, for each person.")
    ] = 1e-3,
    people: Annotated[int, typer.Option(help="In the table.")] = 1000,
    report: Page = None,
    json_: Json = False,
) -> None:
    """δ spent at once, in the two ways that (0, δ)-DP allows: all rows together, or each by itself.

    Both expose δ times the people on average. Together, somebody is exposed with probability δ, and then
    everybody is. Each by itself, somebody is nearly always.

    Example: leakcap attack delta --delta 0.001 --people 1000
    """
    from leakcap.attack import all_at_once, row_by_row

    show([all_at_once(delta_, people), row_by_row(delta_, people)], json_, report)


def surprise(
    file: Annotated[Path, typer.Argument(help="The matrix: CSV, Parquet or JSON.", show_default=False)],
    prior: Annotated[
        str, typer.Option(help="The belief: `uniform`, or numbers with commas between.")
    ] = "uniform",
    alpha: Annotated[float, typer.Option(help="The level: positive, inf allowed.")] = 2.0,
    levels: Annotated[
        str, typer.Option(help="Nats told or more, with commas between.")
    ] = "0.05,0.1,0.2,0.3,0.4,0.5,0.6,0.8,1",
    report: Page = None,
    json_: Json = False,
) -> None:
    """How often an output tells much more than the average, against what the average allows.

    Example: leakcap attack surprise examples/survey.csv --alpha 2 --levels 0.1,0.3,0.5
    """
    from leakcap.attack import surprise_curve
    from leakcap.channel import Channel

    matrix = Channel.load(file)
    chosen = numbers(levels, "--levels")
    found = surprise_curve(matrix, belief(prior, matrix.shape[0]), alpha=alpha, levels=chosen)
    show(found, json_, report, read=file)
