"""Pydantic's complaints as leakcap says things: one line each, with the file, the field and the rule."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from leakcap.errors import InvalidInput

__all__ = ["OF_QUERY", "Strict", "complaints", "meant", "read_checked", "read_toml"]

_MOST = 20

Model = TypeVar("Model", bound=BaseModel)


class Strict(BaseModel):
    """What the owner writes: unknown fields are refused, and nothing is converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)


# The names of the forms that a `unit` may have are no part of where it stands.
_WORD = "literal['row']"
_BRANCHES = {"IdUnit", "RowUnit", _WORD, "tagged-union[IdUnit,RowUnit]"}
OF_QUERY = "query "
"""What the owner of a query's fields begins with; the name of the query follows."""
# What Pydantic calls the kinds of values, and what they are called here.
_KINDS = {
    "a valid number": "a number",
    "a valid integer": "a whole number",
    "a valid string": "text",
    "a valid boolean": "true or false",
    "a valid tuple": "a list, in square brackets",
    "a valid list": "a list, in square brackets",
    "a valid dictionary": "a table",
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
}


def complaints(error: ValidationError, owner: str) -> str:
    """Every broken rule in one line: the field, where it stands, and what it must be.

    >>> from pydantic import TypeAdapter
    >>> try:
    ...     TypeAdapter(dict[str, int]).validate_python({"rows": None})
    ... except ValidationError as error:
    ...     complaints(error, "policy.toml")
    '`rows` of `policy.toml` must be a whole number.'
    """
    found = [dict(detail) for detail in error.errors()]
    return "\n".join(sorted({_line(detail, owner) for detail in found if not _beside_the_point(detail)}))


def _beside_the_point(detail: dict[str, Any]) -> bool:
    """A `unit` is a word or a table: where it is one of them, nothing is said of what the other would be."""
    forms = _BRANCHES & {str(part) for part in detail["loc"]}
    given = isinstance(detail["input"], Mapping)
    return (_WORD in forms and given) or ("IdUnit" in forms and detail["type"] == "model_type")


def _line(detail: dict[str, Any], owner: str) -> str:
    cause = (detail.get("ctx") or {}).get("error")
    if isinstance(cause, InvalidInput):
        return str(cause)
    where = ".".join(str(part) for part in detail["loc"] if part not in _BRANCHES)
    # A query is called by its own name, a file by its path.
    named = f"query `{owner.removeprefix(OF_QUERY)}`" if owner.startswith(OF_QUERY) else f"`{owner}`"
    subject = f"`{where}` of {named}" if where else named
    if detail["type"] in {"extra_forbidden", "unexpected_keyword_argument"}:
        return f"{subject} is not a known field. Remove it or check its spelling."
    if detail["type"] == "missing":
        return f"{subject} is missing."
    message = str(detail["msg"]).removeprefix("Value error, ").rstrip(".")
    message = message[:1].lower() + message[1:]
    if message.startswith("input should be "):
        wanted = message.removeprefix("input should be ")
        kind = next((theirs for theirs in _KINDS if wanted.startswith(theirs)), "")
        rest = wanted.removeprefix(kind) if kind[-2:] == "to" else ""
        wanted = _KINDS[kind] + rest if kind else wanted
        if _WORD in detail["loc"]:
            wanted += ' or a table like { id = "patient", max_rows = 1 }'
        said = f"{subject} must be {wanted}."
    else:
        said = f"{subject}: {message}."
    got = detail["input"]
    return f"{said} Got {got!r}." if isinstance(got, str | int | float | bool) else said


def meant(name: str, known: Iterable[str]) -> str:
    """What a name that is not known may have been meant for, or all that are known.

    >>> meant("ward", ["Ward", "Age"]), meant("zip", ["Ward", "Age"])
    ('Did you mean `Ward`?', 'It has `Ward`, `Age`.')
    """
    names = {other.casefold(): other for other in known}
    close = get_close_matches(name.casefold(), names, n=1, cutoff=0.75)
    if close:
        return f"Did you mean `{names[close[0]]}`?"
    listed = [f"`{other}`" for other in names.values()]
    return f"It has {', '.join(listed[:_MOST])}{', …' if len(listed) > _MOST else ''}."


def read_toml(path: Path, error: type[InvalidInput]) -> dict[str, Any]:
    """The file as a dictionary; `error` when it is not there or no TOML."""
    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        return tomllib.loads(text)
    except FileNotFoundError:
        raise error(f"`{path}` does not exist.") from None
    except OSError as problem:
        raise error(f"`{path}` cannot be read: {problem.strerror or 'unknown reason'}.") from None
    except UnicodeDecodeError:
        raise error(f"`{path}` is not UTF-8. Save it as UTF-8.") from None
    except tomllib.TOMLDecodeError as problem:
        reason = " ".join(str(problem).split())
        raise error(f"`{path}` is not valid TOML: {reason}.{_comma(text, reason)}") from None


def _comma(text: str, reason: str) -> str:
    """What to write where a number has a decimal comma."""
    place = re.search(r"at line (\d+)", reason)
    line = text.splitlines()[int(place[1]) - 1 : int(place[1])] if place else []
    found = re.search(r"=\s*([+-]?\d+),(\d+)\s*(?:#|$)", line[0]) if line else None
    return "" if found is None else f" Write {found[1]}.{found[2]}: a decimal has a point, not a comma."


def read_checked(kind: type[Model], path: Path, error: type[InvalidInput]) -> Model:
    """The file as a `kind`; `error` with a line for every broken rule."""
    try:
        return kind.model_validate(read_toml(path, error))
    except ValidationError as problem:
        raise error(complaints(problem, str(path))) from None
