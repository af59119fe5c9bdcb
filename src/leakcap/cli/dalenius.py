"""`leakcap dalenius`: what a channel leaks about another secret, correlated with its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakcap.channel import Channel
from leakcap.cli.channel import read_gain, read_prior
from leakcap.cli.printing import Json, console, print_record

__all__ = ["dalenius"]


def dalenius(
    file: Annotated[
        Path,
        typer.Argument(help="The channel from X to what is seen: CSV, Parquet or JSON.", show_default=False),
    ],
    correlation: Annotated[
        Path,
        typer.Argument(
            help="The channel from another secret Z to X: a row of P(x|z) for each z; its outputs are the "
            "channel's secrets.",
            show_default=False,
        ),
    ],
    prior: Annotated[
        str,
        typer.Option(help="The belief about Z: `uniform`, numbers with commas between, or a file of them."),
    ] = "uniform",
    gain: Annotated[
        str, typer.Option(help="What the attacker wants of Z: a goal as `leakcap channel --gain` takes it.")
    ] = "identity",
    json_: Json = False,
) -> None:
    """What a channel leaks about another secret that is correlated with its own, and what it cannot pass.

    Example: leakcap dalenius examples/survey.csv examples/disease.csv --prior 0.01,0.99
    """
    from leakcap.leakage.findings_about import correlated_findings
    from leakcap.report.records import DaleniusRecord
    from leakcap.report.terminal.theory import print_dalenius

    channel, about = Channel.load(file), Channel.load(correlation)
    belief = read_prior(prior, about.shape[0])
    found = correlated_findings(channel, about, belief, read_gain(gain, belief, about))
    record = DaleniusRecord.of((file.name, correlation.name), channel, about, found, prior=belief, gain=gain)
    if json_:
        print_record(record)
    else:
        print_dalenius(console(), record)
