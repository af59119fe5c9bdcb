"""`leakcap convert`: what follows from a guarantee."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakcap.certificate import bundle
from leakcap.cli.printing import Json, console, print_record
from leakcap.cli.targets import require_target

__all__ = ["convert"]


def convert(
    source: Annotated[
        str, typer.Argument(help="The guarantee at hand, as in 'PureDP(1.0)'.", show_default=False)
    ],
    target: Annotated[
        str,
        typer.Argument(
            help="What is asked: MIDP, 'ApproxDP(epsilon=0.5)', 'LevelCapacity(alpha=2)'.", show_default=False
        ),
    ],
    certificate: Annotated[
        Path | None, typer.Option(help="Write what proves each step, as JSON for `leakcap-verify`.")
    ] = None,
    json_: Json = False,
) -> None:
    """What follows from a guarantee, by the best route, with the source of every step.

    Example: leakcap convert 'PureDP(1)' 'MIDP(values=2)'
    """
    from leakcap.cli.expressions import guarantee
    from leakcap.cli.expressions import target as read_target
    from leakcap.definition import implications, route
    from leakcap.report.records import ConvertRecord
    from leakcap.report.terminal.theory import print_route

    given = guarantee(source)
    kind, free = read_target(target)
    looser = [edge for edge in implications(type(given), kind) if edge.loose]
    found = route(given, kind, **free)
    record = ConvertRecord.of(found, looser)
    if certificate is not None:
        require_target(certificate, "`--certificate`", (".json",))
        text = bundle(step.certificate() for step in found.steps)
        certificate.write_text(text, encoding="utf-8")
    if json_:
        print_record(record)
    else:
        print_route(console(), record)
