"""Pydantic's complaints as leakcap says things: one line each, with the file, the field and the rule."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from leakcap.errors import InvalidInput

__all__ = ["complaints", "read_checked", "read_toml"]

Model = TypeVar("Model", bound=BaseModel)


def complaints(error: ValidationError, owner: str) -> str:
    """Every broken rule in one line: the field, where it stands, and what it must be.

    >>> from pydantic import TypeAdapter
    >>> try:
    ...     TypeAdapter(dict[str, int]).validate_python({"rows": None})
    ... except ValidationError as error:
    ...     complaints(error, "policy.toml")
    '`rows` of `policy.toml`: input should be a valid integer.'
    """
    return "\n".join(sorted({_line(dict(detail), owner) for detail in error.errors()}))


def _line(detail: dict[str, Any], owner: str) -> str:
    cause = (detail.get("ctx") or {}).get("error")
    if isinstance(cause, InvalidInput):
        return str(cause)
    where = ".".join(str(part) for part in detail["loc"] if part not in {"IdUnit", "literal['row']"})
    if detail["type"] in {"extra_forbidden", "unexpected_keyword_argument"}:
        return f"`{where}` of `{owner}` is not a known field. Remove it or check its spelling."
    if detail["type"] == "missing":
        return f"`{where}` of `{owner}` is missing."
    message = str(detail["msg"]).removeprefix("Value error, ").rstrip(".")
    message = message[:1].lower() + message[1:]
    subject = f"`{where}` of `{owner}`" if where else f"`{owner}`"
    got = detail["input"]
    shown = f" Got {got!r}." if isinstance(got, str | int | float | bool) else ""
    return f"{subject}: {message}.{shown}"


def read_toml(path: Path, error: type[InvalidInput]) -> dict[str, Any]:
    """The file as a dictionary; `error` when it is not there or no TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise error(f"`{path}` does not exist.") from None
    except OSError as problem:
        raise error(f"`{path}` cannot be read: {problem.strerror or 'unknown reason'}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        reason = " ".join(str(problem).split())
        raise error(f"`{path}` is not valid TOML: {reason}.") from None


def read_checked(kind: type[Model], path: Path, error: type[InvalidInput]) -> Model:
    """The file as a `kind`; `error` with a line for every broken rule."""
    try:
        return kind.model_validate(read_toml(path, error))
    except ValidationError as problem:
        raise error(complaints(problem, str(path))) from None
