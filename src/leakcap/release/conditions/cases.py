"""CASE with keys after THEN, as a query writes it: a category of rows.

    CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'old' END

A condition of a CASE is one that `where` reads, so that no row can make it fail; a key is a text, a whole
number, TRUE, FALSE or NULL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from leakcap.errors import InvalidQuery
from leakcap.ledger.chain import storable
from leakcap.policy.declared import Key
from leakcap.policy.document import Policy
from leakcap.release.columns.derived import CaseColumn
from leakcap.release.conditions.condition import Condition, constant_text, to_text, to_tree
from leakcap.release.conditions.number_columns import Written
from leakcap.release.conditions.numbers import arms_of
from leakcap.release.conditions.whitelist import bare, literal_of, unread_within

__all__ = ["case_column", "gives_numbers"]

_LONGEST = 200
_RULE = "A CASE has conditions after WHEN, and texts, whole numbers, TRUE, FALSE or NULL after THEN and ELSE."


def gives_numbers(node: exp.Expression) -> bool:
    """Whether a CASE has something else than keys after THEN and ELSE.

    Whole numbers alone are keys: as numbers they are written `1.0`.

    >>> from sqlglot import parse_one
    >>> [gives_numbers(parse_one(f"CASE WHEN a THEN {one} ELSE 0 END")) for one in ("1", "1.0", "stay")]
    [False, True, True]
    """
    node = bare(node)
    if not isinstance(node, exp.Case):
        return False
    results = [*(arm.args.get("true") for arm in node.args["ifs"]), node.args.get("default")]
    return any(isinstance(one, exp.Expression) and not _is_key(bare(one)) for one in results)


def _is_key(node: exp.Expression) -> bool:
    inner = bare(node.this) if isinstance(node, exp.Neg) else node
    if isinstance(inner, exp.Literal):
        return inner.is_string or str(inner.this).isdecimal()
    return isinstance(inner, exp.Boolean | exp.Null)


def case_column(node: exp.Expression, written: Written) -> tuple[str, CaseColumn]:
    """The canonical name of a CASE, and its column. Raises `InvalidQuery`."""
    for one in unread_within(node):
        raise InvalidQuery(f"A CASE may not have {one}. {_RULE}")
    node = bare(node)
    if not isinstance(node, exp.Case):
        raise InvalidQuery(_RULE)
    arms = [(condition, _key(result)) for condition, result in arms_of(node, written)]
    default = node.args.get("default")
    other = None if default is None else _key(default)
    given = [key for key in (*(key for _, key in arms), other) if key is not None]
    _check_keys(given)  # all of them: to Python 1 and True are equal
    keys = list(dict.fromkeys(given))
    text, tree = _text(arms, other), _tree(arms, other, keys, written.policy)
    # Not declared: its keys were checked above, and it has no other words of a policy.
    return text, CaseColumn.model_construct(source="", keys=tuple(keys), tree=tree, text=text)


def _key(node: exp.Expression | None) -> Key | None:
    """The constant after THEN or ELSE; None of NULL."""
    node = bare(node) if isinstance(node, exp.Expression) else None
    if isinstance(node, exp.Null):
        return None
    if not isinstance(node, exp.Literal | exp.Boolean | exp.Neg):
        raise InvalidQuery(_RULE)
    value = literal_of(node, "CASE")
    if not isinstance(value, str | int):
        raise InvalidQuery(f"A CASE may not have the number {value!r} after THEN or ELSE. {_RULE}"[:300])
    return value


def _check_keys(keys: Sequence[Key]) -> None:
    if not keys:
        raise InvalidQuery("A CASE must have something else than NULL after THEN or ELSE.")
    if len({type(key) for key in keys}) > 1:
        raise InvalidQuery("A CASE must have constants of one kind after THEN and ELSE: all text, say.")
    if any(isinstance(key, str) and not (storable(key) and len(key) <= _LONGEST) for key in keys):
        raise InvalidQuery(
            f"A CASE must have texts of at most {_LONGEST} characters that a database can hold."
        )


def _text(arms: Sequence[tuple[Condition, Key | None]], other: Key | None) -> str:
    """The one way to write it."""
    words = [f"WHEN {to_text(one)} THEN {'NULL' if key is None else constant_text(key)}" for one, key in arms]
    return " ".join(["CASE", *words, *([] if other is None else [f"ELSE {constant_text(other)}"]), "END"])


def _tree(
    arms: Sequence[tuple[Condition, Key | None]], other: Key | None, keys: Sequence[Key], policy: Policy
) -> exp.Case:
    places: Mapping[Key, int] = {key: place for place, key in enumerate(keys)}

    def code(key: Key | None) -> exp.Expression:
        return exp.Null() if key is None else exp.Literal.number(places[key])

    ifs = [exp.If(this=to_tree(one, policy), true=code(key)) for one, key in arms]
    return exp.Case(ifs=ifs, default=None if other is None else code(other))
