"""A policy drafted from a schema and public answers. No value of the table is looked at."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from leakcap.errors import DataError, InvalidParameter
from leakcap.owner.answers import KeysWithin, PublicAnswers
from leakcap.policy.decimals import MOST_PLACES, check_decimals, decimal_number
from leakcap.policy.document import load_policy
from leakcap.policy.validation import meant
from leakcap.release.engine.beforehand import require_column

__all__ = ["TODO", "draft", "todos"]

TODO = "TODO"
_EPSILON = 1.0
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEAD = """\
# A draft, made from the names and types of the columns and from what its owner said is public. No value was
# looked at, and none may be: all that stands here has to hold for every table that could have been.
# Each TODO asks for something public. What stands there until then promises nothing, and allows less.
# Then: leakcap check, with the data and --policy.
"""


def draft(columns: Mapping[str, str], answers: PublicAnswers) -> str:
    """The text of a policy (TOML) for a table with these columns and types, as an engine names them.

    A column without an answer is declared in the way that tells nothing: `bounds = "unknown"` for a number,
    `keys = "private"` for a text. The draft can be read as a policy. Raises `InvalidParameter` for an answer
    about a column that is not there, `InvalidPolicy` for one that no policy may hold, and `DataError` where
    no column can be read.

    >>> told = PublicAnswers("stays", bounds={"age": (0.0, 120.0)})
    >>> text = draft({"age": "BIGINT", "ward": "VARCHAR"}, told)
    >>> print(text[text.index("[columns.age]"):])
    [columns.age]
    bounds = [0.0, 120.0]
    type = "integer"
    <BLANKLINE>
    [columns.ward]
    # TODO: what is public? Of words keys = ["a", "b"], of numbers bounds = [0.0, 120.0]
    keys = "private"
    <BLANKLINE>
    """
    _require_known(columns, answers)
    own = [_column(name, type_, answers) for name, type_ in columns.items() if name != answers.id]
    if not any(line.startswith("[") for block in own for line in block):
        raise DataError("The data has no column that leakcap can read, beside the id.")
    text = "\n".join([_HEAD, *_about(answers), *(line for block in own for line in ("", *block)), ""])
    load_policy(tomllib.loads(text))
    return text


def todos(policy: str) -> int:
    """How many questions a policy's text leaves open.

    >>> todos('unit = "row"  # TODO: who is protected?')
    1
    """
    return sum(f"# {TODO}" in line for line in policy.splitlines())


def _require_known(columns: Mapping[str, str], answers: PublicAnswers) -> None:
    named = [*([answers.id] if answers.id is not None else []), *answers.bounds, *answers.keys]
    named += [name for own, keys in answers.within.items() for name in (own, keys.column)]
    for name in named:
        if name not in columns:
            raise InvalidParameter(f"The data has no column `{name}`. {meant(name, columns)}")
    for name in answers.bounds:
        if name in answers.keys or name in answers.within:
            raise InvalidParameter(f"`{name}` has `bounds` and `keys`. Give one of them.")
    for name in answers.within:
        if name in answers.keys:
            raise InvalidParameter(f"`{name}` has `keys` of its own and `within` others. Give one of them.")
    if answers.max_rows is not None and answers.id is None:
        raise InvalidParameter("`max_rows` goes with the `id` of a person. Name the column.")


def _about(answers: PublicAnswers) -> Iterator[str]:
    """Dataset, neighbours, unit and caps."""
    yield f"dataset = {_text(answers.dataset)}"
    yield ""
    if answers.people is None:
        yield "# Whether somebody is in the table at all is protected, too."
        yield 'neighbours = "add-remove-one"'
    else:
        yield "# The number is published, and somebody's data may be replaced by anything."
        yield 'neighbours = "replace-one"'
        yield f"rows = {answers.people}"
    if answers.id is None:
        yield f'# {TODO}: who is protected? People with several rows: unit = {{ id = "...", max_rows = 5 }}'
        yield 'unit = "row"'
    else:
        if answers.max_rows is None:
            yield f"# {TODO}: how many rows of one person count at most? More rows ask for more noise."
        yield f"unit = {{ id = {_text(answers.id)}, max_rows = {answers.max_rows or 1} }}"
    yield ""
    yield "[caps]"
    if answers.epsilon is None:
        yield f"# {TODO}: how much may ever be learned about anybody, all releases together?"
    yield f"epsilon = {_number(_EPSILON if answers.epsilon is None else answers.epsilon)}"


def _column(name: str, type_: str, answers: PublicAnswers) -> list[str]:
    head = f"[columns.{_key(name)}]"
    if name in answers.bounds:
        low, high = answers.bounds[name]
        whole = _whole(type_) and all(isinstance(end, float) and end.is_integer() for end in (low, high))
        places = None if whole else _places(type_, (low, high))
        kind = ['type = "integer"'] if whole else []
        kind += [] if places is None else ['type = "decimal"', f"places = {places}"]
        return [head, f"bounds = [{_end(low)}, {_end(high)}]", *kind]
    if name in answers.keys:
        given = list(answers.keys[name])
        places = _places_of_keys(type_, given)
        kind = [] if places is None else ['type = "decimal"', f"places = {places}"]
        return [head, f"keys = [{', '.join(_typed(given, type_))}]", *kind]
    if name in answers.within:
        within = answers.within[name]
        return [head, f"within = {_text(within.column)}", f"keys = {_table(within, type_)}"]
    if type_ == "BOOLEAN":
        return [head, "keys = [true, false]"]
    if type_ != "VARCHAR" and _can_be(name, type_, "number"):
        asked = (
            f"# {TODO}: between which numbers does every value lie, by what is public? bounds = [0.0, 120.0]"
        )
        return [head, asked, 'bounds = "unknown"']
    if type_ == "DATE":
        asked = f"# {TODO}: between which days does every value lie? bounds = [2024-01-01, 2024-12-31]"
        return [head, asked, 'keys = "private"']
    if _can_be(name, type_, "text"):
        asked = f'# {TODO}: what is public? Of words keys = ["a", "b"], of numbers bounds = [0.0, 120.0]'
        return [head, asked, 'keys = "private"']
    if _can_be(name, type_, "timestamp") or _can_be(name, type_, "instant"):
        asked = "between which times does every value lie?"
        return [
            f"# {TODO}: {_text(name)} has times: {asked} bounds = [2024-01-01T00:00:00, 2025-01-01T00:00:00]"
        ]
    shown = re.sub(r"[^A-Z_]", "", type_.partition("(")[0])
    return [f"# {_text(name)} has type {shown or 'unknown'}, which leakcap does not read."]


def _table(within: KeysWithin, type_: str) -> str:
    """Nested keys as an inline table of TOML, a level for each column that they lie within."""
    words = dict.fromkeys(path[-1] for path in within.paths)
    known = dict(zip(words, _typed(words, type_), strict=True))
    tree: dict[str, Any] = {}
    for path in within.paths:
        at = tree
        for head in path[:-2]:
            at = at.setdefault(head, {})
        at.setdefault(path[-2], []).append(known[path[-1]])

    def shown(at: dict[str, Any] | list[str]) -> str:
        if isinstance(at, list):
            return f"[{', '.join(at)}]"
        return f"{{ {', '.join(f'{_key(head)} = {shown(inner)}' for head, inner in at.items())} }}"

    return shown(tree)


def _can_be(name: str, type_: str, kind: str) -> bool:
    try:
        require_column({name: type_}, name, kind)
    except DataError:
        return False
    return True


def _typed(keys: Iterable[str], type_: str) -> list[str]:
    """Keys as TOML: text, unless the column has integers or truth values."""
    words = list(keys)
    if type_ == "BOOLEAN" and set(words) <= {"true", "false"}:
        return words
    whole = _whole(type_) and all(re.fullmatch(r"[+-]?\d{1,18}", word) for word in words)
    return [str(int(word)) for word in words] if whole else [_text(word) for word in words]


def _whole(type_: str) -> bool:
    """Whether the column's type has whole numbers only."""
    return type_.endswith(("INT", "INTEGER"))


def _end(value: float | date) -> str:
    """An end of bounds: a number, or a date of TOML."""
    return value.isoformat() if isinstance(value, date) else _number(value)


def _places(type_: str, given: Sequence[float | date]) -> int | None:
    """The places of a column of decimals, where the numbers that are given are some of these.

    >>> _places("DECIMAL(18,2)", (0.0, 99.99)), _places("DECIMAL(18,2)", (0.0, 0.005))
    (2, None)
    """
    found = re.fullmatch(r"DECIMAL\(\d+, ?(\d+)\)", type_)
    places, numbers = int(found[1]) if found else 0, [one for one in given if not isinstance(one, date)]
    if not 1 <= places <= MOST_PLACES or len(numbers) < len(given):
        return None
    try:
        check_decimals("what is given", places, *numbers)
    except ValueError:
        return None
    return places


def _places_of_keys(type_: str, keys: Iterable[str]) -> int | None:
    """The places of a column of decimals, where the keys are some of these.

    >>> _places_of_keys("DECIMAL(18,2)", ["0.10", "9"]), _places_of_keys("DECIMAL(18,2)", ["dear"])
    (2, None)
    """
    try:
        numbers = [decimal_number(key) for key in keys]
    except ValueError:
        return None
    return _places(type_, [one for one in numbers if isinstance(one, float)])


def _number(value: float) -> str:
    return repr(float(value))


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(value: str) -> str:
    """A basic string of TOML."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
