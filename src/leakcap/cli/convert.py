"""`leakcap convert`: what follows from a guarantee."""

from __future__ import annotations

from typing import Annotated

import typer

from leakcap.cli.printing import Json, console, finite, print_json

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
    json_: Json = False,
) -> None:
    """What follows from a guarantee, by the best route, with the source of every step.

    Example: leakcap convert 'PureDP(1)' 'MIDP(values=2)'
    """
    from leakcap.cli.expressions import guarantee
    from leakcap.cli.expressions import target as read_target
    from leakcap.definition import implications, route

    given = guarantee(source)
    kind, free = read_target(target)
    found = route(given, kind, **free)
    if json_:
        print_json(
            "convert/1",
            {
                "from": repr(given),
                "to": repr(found.target),
                "value": finite(found.target.threshold),
                "tight": found.tight,
                "steps": [
                    {
                        "from": repr(step.source),
                        "to": repr(step.target),
                        "formula": step.edge.formula,
                        "source": step.edge.citation,
                        "attained_by": step.edge.attained_by or None,
                    }
                    for step in found.steps
                ],
            },
        )
        return
    out = console()
    out.print(str(found), soft_wrap=True, markup=False)
    looser = [edge for edge in implications(type(given), kind) if edge.loose]
    for edge in looser:
        out.print(f"looser, as published: {edge.formula}  [{edge.citation}]", style="dim", markup=False)
