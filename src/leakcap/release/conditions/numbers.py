"""Numbers that a query writes where it needs them: arithmetic of columns, and CASE with numbers.

    (price * quantity) - 2, COALESCE(stay, 0), ABS(x - y), CASE WHEN ward = 'a' THEN stay ELSE 0 END

Arithmetic is that of a policy's `compute`: on numbers that are clamped to their bounds, so that the result
has bounds before a row is read. A CASE of numbers lies between the least and the largest that it can give.
Each goes by one canonical text, by which a query file and Python can ask for it too, or by the name of the
policy's own column where that is computed in the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from sqlglot import Token, exp

from leakcap.errors import InvalidQuery
from leakcap.policy.column_rules import LARGEST_WHOLE
from leakcap.release.conditions.condition import Compare, Condition, Missing
from leakcap.release.conditions.number_columns import (
    Operand,
    Written,
    number_by_case,
    number_computed,
    number_constant,
    number_size,
)
from leakcap.release.conditions.remedies import remedy_for
from leakcap.release.conditions.where import column_of
from leakcap.release.conditions.whitelist import bare, check_words, literal_of, parsed, unread_within
from leakcap.release.conditions.worded import derived_name

__all__ = [
    "NUMBERS",
    "NUMBERS_RULE",
    "arms_of",
    "check_signs",
    "computed_number",
    "operand_of",
]

_SIGNS: Mapping[type[exp.Expression], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
NUMBERS = (*_SIGNS, exp.Neg, exp.Coalesce, exp.Nullif, exp.Abs, exp.Extract)
"""What makes a number of a row that is neither a column nor a CASE."""

_DEEPEST = 8
NUMBERS_RULE = "Allowed are columns with bounds, numbers, + - * /, ABS, COALESCE, NULLIF and CASE."


def computed_number(text: str) -> exp.Expression | None:
    """The tree of a text that computes a number; None of any other text. Raises `InvalidQuery`.

    >>> computed_number("price * quantity").key, computed_number("Stay (days)")
    ('mul', None)
    """
    try:
        node, tokens = parsed(text)
    except InvalidQuery:
        return None
    if not isinstance(bare(node), NUMBERS) or isinstance(bare(node), exp.Extract):
        return None
    check_words(node, tokens)
    check_signs(node, tokens)
    return node


def check_signs(node: exp.Expression, tokens: Sequence[Token]) -> None:
    """No sign is lost. Raises `InvalidQuery`."""
    kinds, found = Counter(type(one) for one in node.walk()), Counter(one.token_type.name for one in tokens)
    wanted = {"PLUS": kinds[exp.Add], "DASH": kinds[exp.Sub] + kinds[exp.Neg]}
    wanted |= {"STAR": kinds[exp.Mul], "SLASH": kinds[exp.Div]}
    if any(found[name] != count for name, count in wanted.items()):
        raise InvalidQuery(f"A sign + - * / stands where none is read. {NUMBERS_RULE}")


def operand_of(node: exp.Expression, written: Written) -> Operand:
    """The column that a number of a row is, or the number where it is the same in all.

    Raises `InvalidQuery`, with a `start` where the text says one.
    """
    for one in unread_within(node):
        raise InvalidQuery(f"{one} is no number of a row. {remedy_for(one, NUMBERS_RULE)}")
    return _operand(node, written, 0)


def _operand(node: exp.Expression | None, written: Written, depth: int) -> Operand:
    """The same of a part; a refusal has a `start`, which says where in the text the refused part begins."""
    if not isinstance(node, exp.Expression):  # ABS()
        raise InvalidQuery(f"A number is missing. {NUMBERS_RULE}")
    try:
        return _part(node, written, depth)
    except InvalidQuery as error:
        if error.start is None:
            starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
            error.start = min(starts, default=None)
        raise


def _part(node: exp.Expression, written: Written, depth: int) -> Operand:
    if depth > _DEEPEST:
        raise InvalidQuery(f"A number of a row must not nest more than {_DEEPEST} deep.")
    node = bare(node)
    if isinstance(node, exp.Column):
        return _column(node, written)
    if isinstance(node, exp.Case):
        return _case(node, written, depth)
    if isinstance(node, exp.Coalesce):
        return _filled(node, written, depth)
    if isinstance(node, exp.Nullif):
        return _emptied(node, written, depth)
    if isinstance(node, exp.Abs):
        return number_size(_of_a_row(node.this, "ABS", written, depth), written)
    if isinstance(node, exp.Extract) and isinstance(node.this, exp.Var):
        source = _column(node.expression, written)
        return written.name_of(derived_name(node.this.name.lower(), source, written.policy, part=True))
    if isinstance(node, exp.Neg) and not isinstance(bare(node.this), exp.Literal):
        return number_computed((0.0, _operand(node.this, written, depth + 1)), "-", written)
    sign = _SIGNS.get(type(node))
    if sign is not None:
        sides = (_operand(node.this, written, depth + 1), _operand(node.expression, written, depth + 1))
        return number_computed(sides, sign, written)
    return _number(node)


def _column(node: exp.Expression, written: Written) -> str:
    name = node.name if node.name in written.policy.columns else written.name_of(node.name)
    if name != node.name:
        node = exp.Column(this=exp.to_identifier(name, quoted=True))
    try:
        return column_of(node, written.policy)
    except InvalidQuery as error:
        raise InvalidQuery(str(error).replace("`where`", "A number of a row")) from None


def _number(node: exp.Expression) -> float:
    inner = bare(node.this) if isinstance(node, exp.Neg) else node
    if not isinstance(inner, exp.Literal):
        called = _called(inner)
        raise InvalidQuery(f"{called} is no number of a row. {remedy_for(called, NUMBERS_RULE)}")
    if inner.is_string:
        raise InvalidQuery(f"A text is no number of a row. {NUMBERS_RULE}")
    value = literal_of(node, "a number of a row")
    assert isinstance(value, int | float)
    return number_constant(float(value))


def _called(node: exp.Expression) -> str:
    if isinstance(node, exp.Anonymous):
        return str(node.name).upper()
    return node.sql_name() if isinstance(node, exp.Func) else node.key.upper()


def _filled(node: exp.Coalesce, written: Written, depth: int) -> str:
    """COALESCE(number, constant): the constant where the number is missing."""
    first = _of_a_row(node.this, "COALESCE", written, depth)
    others = [_operand(one, written, depth + 1) for one in node.expressions]
    if len(others) != 1 or isinstance(others[0], str):
        raise InvalidQuery("COALESCE takes a column, or what is computed, and a number.")
    return number_by_case([(Missing(first), others[0])], first, written)


def _emptied(node: exp.Nullif, written: Written, depth: int) -> str:
    """NULLIF(number, constant): missing where it is the constant."""
    first = _of_a_row(node.this, "NULLIF", written, depth)
    constant = _operand(node.expression, written, depth + 1)
    if isinstance(constant, str):
        raise InvalidQuery("NULLIF takes a column, or what is computed, and a number.")
    if written.policy.columns[first].kind != "integer":
        return number_by_case([(Compare(first, "=", constant), None)], first, written)
    if not constant.is_integer() or abs(constant) > LARGEST_WHOLE:
        raise InvalidQuery(f"NULLIF of `{first}`, which has integers as keys, takes an integer.")
    return number_by_case([(Compare(first, "=", int(constant)), None)], first, written)


def _of_a_row(node: exp.Expression | None, word: str, written: Written, depth: int) -> str:
    """A column, rather than a constant."""
    found = _operand(node, written, depth + 1)
    if isinstance(found, float):
        raise InvalidQuery(f"{word} is of a number that is the same in every row. Leave it out.")
    return found


def _case(node: exp.Case, written: Written, depth: int) -> str:
    arms = [(one, _result(result, written, depth)) for one, result in arms_of(node, written)]
    return number_by_case(arms, _result(node.args.get("default"), written, depth), written)


def arms_of(node: exp.Case, written: Written) -> list[tuple[Condition, exp.Expression | None]]:
    """Each condition of a CASE, with what stands after its THEN. Raises `InvalidQuery`."""
    arms: list[tuple[Condition, exp.Expression | None]] = []
    for arm in node.args["ifs"]:
        asked = arm.this
        if node.this is not None:
            asked = exp.EQ(this=node.this.copy(), expression=asked.copy())
        if asked.find(exp.Case) is not None:
            raise InvalidQuery("A CASE may not stand in another. Write it as one more WHEN.")
        arms.append((written.condition(asked), arm.args.get("true")))
    return arms


def _result(node: exp.Expression | None, written: Written, depth: int) -> Operand | None:
    """What stands after THEN or ELSE; None of NULL."""
    if node is None or isinstance(bare(node), exp.Null):
        return None
    return _operand(node, written, depth + 1)
