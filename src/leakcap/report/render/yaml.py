"""A record as YAML: every text in double quotes or as a block, every number in a form that all readers take
for a number."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from leakcap.plain import json_text, plain

__all__ = ["yaml_text"]


def yaml_text(value: Mapping[str, Any], bare: Collection[str] = ()) -> str:
    """A mapping as YAML 1.1 and 1.2. Control characters are written out.

    Texts under the keys `bare` have no quotation marks: words that no reader takes for anything else.

    >>> print(yaml_text({"tier": 2, "delta": 1e-06, "names": ["a: b"], "text": "one\\ntwo"}), end="")
    tier: 2
    delta: 1.0e-06
    names:
      - "a: b"
    text: |-
      one
      two
    """
    return "\n".join(_lines(value, "", bare)) + "\n"


def _lines(value: Mapping[str, Any], indent: str, bare: Collection[str]) -> Iterator[str]:
    for key, part in value.items():
        if isinstance(part, Mapping):
            yield f"{indent}{key}:"
            yield from _lines(part, f"{indent}  ", bare)
        elif isinstance(part, Sequence) and not isinstance(part, str):
            yield f"{indent}{key}:"
            yield from (f"{indent}  - {_scalar(one)}" for one in part)
        elif isinstance(part, str) and _is_block(part):
            yield f"{indent}{key}: |-"
            yield from (f"{indent}  {line}".rstrip() for line in part.split("\n"))
        else:
            yield f"{indent}{key}: {part if key in bare else _scalar(part)}"


def _is_block(text: str) -> bool:
    """Whether a text is several lines that a block repeats letter for letter."""
    lines = text.split("\n")
    return len(lines) > 1 and bool(lines[0] and lines[-1]) and all(one == plain(one).strip() for one in lines)


def _scalar(value: object) -> str:
    if isinstance(value, float):
        # 1e-06 is a text to readers of YAML 1.1, which want a point in every number.
        digits, mark, power = repr(value).partition("e")
        return f"{digits}{'' if '.' in digits else '.0'}{mark}{power}" if mark else digits
    if isinstance(value, str):
        return json_text("\n".join(map(plain, value.split("\n"))))
    return json_text(value)
