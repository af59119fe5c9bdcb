"""`leakcap schema`: the JSON Schema of what a command prints with `--json`."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from leakcap.errors import InvalidParameter

__all__ = ["schema"]


def schema(
    command: Annotated[
        list[str], typer.Argument(help="A command, as in `release` or `ledger verify`.", show_default=False)
    ],
) -> None:
    """The JSON Schema of what a command prints with --json; always JSON itself.

    The field `schema` of every output names its shape and version.

    Example: leakcap schema ledger verify
    """
    from pydantic import TypeAdapter

    from leakcap.report.records import records

    name = " ".join(command)
    found = records(name)
    if not found:
        raise InvalidParameter(f"`leakcap {name[:60]}` is no command that prints JSON. See `leakcap --help`.")
    kind: Any = found[0]
    for other in found[1:]:
        kind = kind | other
    document = TypeAdapter(kind).json_schema(by_alias=True, mode="validation")
    about = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:leakcap:{name.replace(' ', '-')}",
        "title": f"leakcap {name} --json",
    }
    typer.echo(json.dumps(about | {k: v for k, v in document.items() if k not in about}, indent=2))
