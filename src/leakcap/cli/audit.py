"""`leakcap audit`: what samples prove about a mechanism."""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from leakcap.cli.printing import Json, console, print_record
from leakcap.errors import InvalidParameter

if TYPE_CHECKING:
    from leakcap.audit import Audit
    from leakcap.definition import Definition

__all__ = ["audit"]

_DOTTED = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def audit(
    mechanism: Annotated[
        str,
        typer.Argument(
            help="A command line with `{}` for the input, a Python `module:function`, or `-` when the inputs "
            "are files of outputs that are there already, one a line.",
            show_default=False,
        ),
    ],
    first: Annotated[str, typer.Argument(help="An input: JSON, or text.", show_default=False)],
    second: Annotated[str, typer.Argument(help="A neighbouring input.", show_default=False)],
    claim: Annotated[
        str | None,
        typer.Option(help="The guarantee to test, as in 'PureDP(1)'.", show_default=False),
    ] = None,
    samples: Annotated[int, typer.Option(min=50, help="Runs on each input.")] = 10_000,
    confidence: Annotated[float, typer.Option(help="Of each bound.")] = 0.95,
    tolerance: Annotated[
        float, typer.Option(help="How far beyond the claim an event may reach and be called consistent.")
    ] = 0.1,
    batch: Annotated[
        bool, typer.Option("--batch", help="The function takes an input and a number of runs.")
    ] = False,
    bits: Annotated[
        bool,
        typer.Option("--bits/--no-bits", help="Whether the binary expansion of floats counts as output."),
    ] = True,
    seed: Annotated[
        int | None, typer.Option(help="For the choice of inputs; not for the noise.", show_default=False)
    ] = None,
    json_: Json = False,
) -> None:
    """Certified lower bounds on what a mechanism leaks, from its outputs on two neighbouring inputs.

    The exit code is 1 when the claim is violated.

    Example: leakcap audit examples.noisy_count:noisy_counts 100 101 --batch --claim 'PureDP(1)'
    --samples 200000 --confidence 0.999999
    """
    from leakcap.cli.expressions import guarantee

    claimed = None if claim is None else guarantee(claim)
    options: dict[str, Any] = {
        "claim": claimed,
        "confidence": confidence,
        "tolerance": tolerance,
        "bits": bits,
        "seed": seed,
    }
    found = (
        _drawn(first, second, options)
        if mechanism == "-"
        else _run(mechanism, first, second, batch, {**options, "samples": samples})
    )
    from leakcap.report.records import AuditRecord

    record = AuditRecord.of(mechanism, (first, second), found)
    if json_:
        print_record(record)
    else:
        from leakcap.report.terminal.audit import print_audit

        print_audit(console(), "outputs in files" if mechanism == "-" else mechanism, record)
    _exit(claimed, found)


def _exit(claimed: Definition | None, found: Audit) -> None:
    from leakcap.audit import Verdict

    if claimed is not None and found.verdict is Verdict.VIOLATED:
        raise typer.Exit(1)


def _run(mechanism: str, first: str, second: str, batch: bool, options: dict[str, Any]) -> Audit:
    from leakcap.audit import Batched, Command, audit

    if not _DOTTED.fullmatch(mechanism):
        return audit(Command(mechanism), _value(first), _value(second), **options)
    function = _function(mechanism)
    return audit(Batched(function) if batch else function, _value(first), _value(second), **options)


def _drawn(first: str, second: str, options: dict[str, Any]) -> Audit:
    from leakcap.audit import audit_samples

    return audit_samples(_outputs(first), _outputs(second), **options)


def _outputs(name: str) -> list[Any]:
    path = Path(name)
    if not path.is_file():
        raise InvalidParameter(f"There is no file `{name}` of outputs, one a line.")
    return [_value(line.strip()) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _function(name: str) -> Callable[..., Any]:
    module, _, path = name.partition(":")
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        raise InvalidParameter(f"There is no Python function `{name}` to audit.") from None
    if not callable(found):
        raise InvalidParameter(f"`{name}` must be a function of one input. Got {type(found).__name__}.")
    return cast(Callable[..., Any], found)
