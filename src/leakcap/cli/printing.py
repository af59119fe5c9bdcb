"""What all commands print through."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Json", "console", "finite", "print_json"]

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def console() -> Console:
    """The terminal, without colouring of numbers that we did not choose."""
    from rich.console import Console

    return Console(highlight=False)


def print_json(schema: str, value: Mapping[str, Any]) -> None:
    """Strict JSON on standard output; `schema` names its shape and version, as in ``release/1``."""
    typer.echo(
        json.dumps({"schema": f"leakcap/{schema}", **value}, indent=2, ensure_ascii=False, allow_nan=False)
    )


def finite(value: float) -> float | None:
    """None for what JSON cannot say.

    >>> finite(float("inf")), finite(1.5)
    (None, 1.5)
    """
    return value if abs(value) != float("inf") else None
