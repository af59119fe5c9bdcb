"""`PureDP(1.0)` on a command line: a name, numbers and keywords, and nothing that is run."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Any

from leakcap import definition
from leakcap.definition import Definition
from leakcap.errors import InvalidParameter

__all__ = ["call", "guarantee", "target"]

_NUMBERS = {"inf": math.inf, "pi": math.pi, "e": math.e}


def guarantee(text: str) -> Definition:
    """A guarantee as it is written in Python: `ApproxDP(1.0, 1e-6)`.

    >>> guarantee("PureDP(epsilon=0.5)")
    PureDP(epsilon=0.5)
    """
    kind, arguments, keywords = _call(text)
    try:
        return kind(*arguments, **keywords)
    except TypeError:
        raise InvalidParameter(f"`{text}` does not fit `{kind.__name__}`. {_signature(kind)}") from None


def target(text: str) -> tuple[type[Definition], dict[str, Any]]:
    """What is asked for: a definition's name, with its free parameters in brackets where it has any.

    >>> target("LevelCapacity(alpha=2)")
    (<class 'leakcap.definition.information.LevelCapacity'>, {'alpha': 2})
    """
    kind, arguments, keywords = _call(text)
    if arguments:
        raise InvalidParameter(
            f"`{text}` must name its parameters, as in `LevelCapacity(alpha=2)`. Got a bare number."
        )
    return kind, keywords


def _call(text: str) -> tuple[type[Definition], list[Any], dict[str, Any]]:
    name, arguments, keywords = call(text, "guarantee", "PureDP(1.0)")
    return _kind(name), arguments, keywords


def call(
    text: str, what: str, example: str, values: Mapping[str, object] | None = None
) -> tuple[str, list[Any], dict[str, Any]]:
    """The name, the arguments and the keywords of a call such as `Name(1.0, size=2)`.

    Arguments are numbers, tuples of them, and the names of `values`. Raises `InvalidParameter`, which says
    `what` was expected and gives the `example`.

    >>> call("DependentRecords(2, extent=0.5)", "adversary", "AllPriors()")
    ('DependentRecords', [2], {'extent': 0.5})
    """
    known = {**_NUMBERS, **(values or {})}
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InvalidParameter(f"`{text[:60]}` is no {what}. Write it as in `{example}`.") from None
    if isinstance(node, ast.Name):
        return node.id, [], {}
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise InvalidParameter(f"`{text[:60]}` is no {what}. Write it as in `{example}`.")
    keywords = {k.arg: _value(k.value, text, known) for k in node.keywords if k.arg is not None}
    if len(keywords) < len(node.keywords):
        raise InvalidParameter(f"`{text[:60]}` must list its parameters one by one.")
    return node.func.id, [_value(a, text, known) for a in node.args], keywords


def _kind(name: str) -> type[Definition]:
    found = getattr(definition, name, None)
    if isinstance(found, type) and issubclass(found, Definition) and found is not Definition:
        return found
    known = [n for n in definition.__all__ if _is_kind(getattr(definition, n))]
    raise InvalidParameter(f"`{name}` is no definition that leakcap knows. Take one of {', '.join(known)}.")


def _is_kind(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Definition) and value is not Definition


def _value(node: ast.expr, text: str, known: Mapping[str, object]) -> Any:
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(_value(part, text, known) for part in node.elts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _value(node.operand, text, known)
        if isinstance(value, int | float):
            return -value
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    raise InvalidParameter(f"Parameters in `{text[:60]}` must be numbers.")


def _signature(kind: type[Definition]) -> str:
    names = [n for n in kind.__dataclass_fields__ if n != "neighbours"]
    return f"It takes {', '.join(f'`{n}`' for n in names)}."
