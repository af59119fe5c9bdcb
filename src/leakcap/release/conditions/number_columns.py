"""The columns that numbers of a row become: a computation, an absolute value, a CASE of numbers.

Each has the bounds that follow from those of its columns, and is exact where a policy's column would be. It
goes by one canonical text, or by the name of the policy's own column where that is computed in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from sqlglot import exp

from leakcap.errors import InvalidQuery
from leakcap.policy.arithmetic import computed_bounds, computed_places, is_whole, range_of
from leakcap.policy.decimals import check_decimals, places_of
from leakcap.policy.declared import Column
from leakcap.policy.derived import LARGEST, SMALLEST
from leakcap.policy.document import Policy
from leakcap.release.columns.computed import clamped
from leakcap.release.columns.derived import NumberColumn
from leakcap.release.conditions.condition import Condition, named, to_text, to_tree

__all__ = ["Operand", "Written", "number_by_case", "number_computed", "number_constant", "number_size"]

Operand: TypeAlias = str | float
"""The name of a column, or a number."""


class Written(Protocol):
    """The columns that were written so far."""

    policy: Policy

    def condition(self, node: exp.Expression) -> Condition:
        """What stands after WHEN."""

    def added(self, name: str, column: Column) -> str:
        """The name, whose column is in the policy from here on."""

    def name_of(self, text: str) -> str:
        """The canonical name of a text."""


def number_computed(sides: tuple[Operand, Operand], sign: str, written: Written) -> Operand:
    """Two operands as one column, or two constants as one. Raises `InvalidQuery` where it has no bounds."""
    left, right = sides
    if isinstance(left, float) and isinstance(right, float):
        return _folded(left, sign, right)
    text = f"({_shown(left)} {sign} {_shown(right)})"
    asked = Column.model_validate({"from": [left, right], "compute": sign})
    columns = written.policy.columns
    bounds = _from_bounds(text, lambda: computed_bounds(text, asked, columns))
    whole = is_whole(asked, columns)
    places = None if whole else computed_places(text, asked, columns, bounds)
    for name, known in columns.items():
        same = (known.operands, known.compute, known.bounds, known.fill, known.places)
        if same == ((left, right), sign, bounds, None, places):
            return name
    return written.added(
        text, asked.model_copy(update={"bounds": bounds, "integers": whole, "places": places})
    )


def _folded(left: float, sign: str, right: float) -> float:
    if sign == "/" and right == 0.0:
        raise InvalidQuery("A number of a row may not be divided by 0.")
    # Within LARGEST each: neither sum nor product nor quotient overflows.
    found = {"+": left + right, "-": left - right, "*": left * right}
    return number_constant(left / right if sign == "/" else found[sign])


def number_constant(number: float) -> float:
    """The number, 0 without a sign, unless a double could lose it in a computation: then `InvalidQuery`."""
    if number and not SMALLEST <= abs(number) <= LARGEST:
        raise InvalidQuery(f"A number of a row must be 0, or of size {SMALLEST:g} to {LARGEST:g}.")
    return number + 0.0


def _shown(operand: Operand) -> str:
    """As it stands in a text that is read again."""
    if isinstance(operand, float):
        return repr(operand)
    if operand[:1] == "(" or operand[:5] == "CASE " or operand[:4] == "abs(" or operand[:8] == "extract(":
        return operand  # written here
    return ".".join(map(named, operand.split("."))) if "." in operand else named(operand)


def _from_bounds(text: str, found: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    """The bounds that follow from those of columns; why there are none, in words about the text."""
    try:
        return found()
    except ValueError as error:
        said = str(error).replace(f"`columns.{text}`", f"`{text[:100]}`")
        raise InvalidQuery(f"{said}.") from None


def number_size(name: str, written: Written) -> str:
    """ABS(column), as a column. Raises `InvalidQuery` where it has no bounds."""
    text, policy = f"abs({_shown(name)})", written.policy
    (low, high) = _from_bounds(text, lambda: range_of(text, name, policy.columns))
    if low >= 0.0:
        return name
    ends = (0.0 if high >= 0.0 else -high, max(-low, high))
    tree = exp.Abs(this=clamped(name, policy))
    return written.added(text, _one_of([name], ends, tree, policy))


def number_by_case(
    arms: list[tuple[Condition, Operand | None]], other: Operand | None, written: Written
) -> str:
    """The number of the first condition that is true, as a column. Raises `InvalidQuery`."""
    words = [f"WHEN {to_text(one)} THEN {_said(number)}" for one, number in arms]
    text = " ".join(["CASE", *words, *([] if other is None else [f"ELSE {_said(other)}"]), "END"])
    policy, given = written.policy, [one for one in (*(one for _, one in arms), other) if one is not None]
    ends = [_from_bounds(text, lambda one=one: _range(text, one, policy)) for one in given]  # type: ignore[misc]
    low, high = min((one for one, _ in ends), default=0.0), max((one for _, one in ends), default=0.0)
    if not low < high:
        raise InvalidQuery(
            "A CASE must have more than one number after THEN and ELSE, NULL aside. Add ELSE 0, or count the "
            "rows by a condition."
        )
    ifs = [exp.If(this=to_tree(one, policy), true=_tree(number, policy)) for one, number in arms]
    tree = exp.Case(ifs=ifs, default=None if other is None else _tree(other, policy))
    return written.added(text, _one_of(given, (low, high), tree, policy))


def _one_of(
    given: Sequence[Operand], bounds: tuple[float, float], tree: exp.Expression, policy: Policy
) -> NumberColumn:
    """A number that is one of these in each row, its sign aside."""
    whole = all(_is_whole(one, policy) for one in given)
    places = None if whole else _places(given, bounds, policy)
    return NumberColumn.model_construct(source="", bounds=bounds, integers=whole, places=places, tree=tree)


def _places(given: Sequence[Operand], bounds: tuple[float, float], policy: Policy) -> int | None:
    """The decimal places that hold each of these numbers; None where none is a decimal of the policy's, where
    one is any double, or where there are more steps between the bounds than doubles tell apart.
    """
    columns = [policy.columns[one] for one in given if isinstance(one, str)]
    if all(one.places is None for one in columns):
        return None
    scales = [0 if _is_whole(one, policy) else _scale(one, policy) for one in given]
    known = [one for one in scales if one is not None]
    if len(known) < len(scales):
        return None
    try:
        check_decimals("", max(known), *bounds)
    except ValueError:
        return None
    return max(known)


def _scale(operand: Operand, policy: Policy) -> int | None:
    return places_of(operand) if isinstance(operand, float) else policy.columns[operand].scale


def _range(text: str, operand: Operand, policy: Policy) -> tuple[float, float]:
    low, high = range_of(text, operand, policy.columns)
    fill = None if isinstance(operand, float) else policy.columns[operand].fill
    return (low, high) if fill is None else (min(low, fill), max(high, fill))


def _is_whole(operand: Operand, policy: Policy) -> bool:
    if isinstance(operand, float):
        return operand.is_integer()
    return policy.columns[operand].whole or policy.columns[operand].part is not None


def _said(operand: Operand | None) -> str:
    return "NULL" if operand is None else _shown(operand)


def _tree(operand: Operand | None, policy: Policy) -> exp.Expression:
    """The number as a double, a column's own `fill` in the place of what is missing."""
    if operand is None:
        return exp.Null()
    value = clamped(operand, policy)
    fill = None if isinstance(operand, float) else policy.columns[operand].fill
    if fill is None:
        return value
    return exp.Coalesce(this=value, expressions=[clamped(fill, policy)])
