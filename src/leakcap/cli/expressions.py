"""`PureDP(1.0)` on a command line: a name, numbers and keywords, and nothing that is run."""

from __future__ import annotations

import ast
import math
from typing import Any

from leakcap import definition
from leakcap.definition import Definition
from leakcap.errors import InvalidParameter

__all__ = ["guarantee", "target"]

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
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InvalidParameter(f"`{text}` is no guarantee. Write it as in `PureDP(1.0)`.") from None
    if isinstance(node, ast.Name):
        return _kind(node.id), [], {}
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise InvalidParameter(f"`{text}` is no guarantee. Write it as in `PureDP(1.0)`.")
    keywords = {k.arg: _number(k.value, text) for k in node.keywords if k.arg is not None}
    if len(keywords) < len(node.keywords):
        raise InvalidParameter(f"`{text}` must list its parameters one by one.")
    return _kind(node.func.id), [_number(a, text) for a in node.args], keywords


def _kind(name: str) -> type[Definition]:
    found = getattr(definition, name, None)
    if isinstance(found, type) and issubclass(found, Definition) and found is not Definition:
        return found
    known = [n for n in definition.__all__ if _is_kind(getattr(definition, n))]
    raise InvalidParameter(f"`{name}` is no definition that leakcap knows. Take one of {', '.join(known)}.")


def _is_kind(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Definition) and value is not Definition


def _number(node: ast.expr, text: str) -> Any:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_number(node.operand, text)
    if isinstance(node, ast.Name) and node.id in _NUMBERS:
        return _NUMBERS[node.id]
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    raise InvalidParameter(f"Parameters in `{text}` must be numbers.")


def _signature(kind: type[Definition]) -> str:
    names = [n for n in kind.__dataclass_fields__ if n != "neighbours"]
    return f"It takes {', '.join(f'`{n}`' for n in names)}."
