"""Which parts of an answer a unit's data can reach at all: what makes a lower end of its leakage honest.

A count that every unit enters, or none, is a public number: its noise tells nothing. The lower end of the
information about one unit is that of the whole range of contents only where each of them can occur.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any

from leakcap.capacities.noise.interval_prior import IntervalPrior
from leakcap.policy.declared import Column, Key
from leakcap.policy.document import Policy
from leakcap.release.columns.cells import Axis
from leakcap.release.columns.derived import CaseColumn
from leakcap.release.columns.typed import Bin
from leakcap.release.conditions.condition import (
    Among,
    Between,
    Compare,
    Condition,
    Junction,
    Missing,
    Negation,
    Parity,
    Scalar,
    columns_named,
)
from leakcap.release.measurements.measurement import Measurement
from leakcap.release.plan import Plan
from leakcap.sampling.rational import printed

__all__ = ["every_content_occurs", "truth_of"]

_MOST_CASES = 20_000
Truth = bool | None


def every_content_occurs(plan: Plan, part: Measurement) -> bool:
    """Whether one unit's data can make each contribution that the part's price assumes, nothing included.

    False also where it is not decided: a condition on the very column that is summed or grouped, several
    columns that follow from the same one, what is computed or derived from a derived column, a CASE, and
    bins or sums of which whole numbers reach a part only.
    """
    if not part.covers or any(plan.policy.tables[name].public for name in plan.query.join):
        return False
    touched = columns_named(plan.condition) if plan.condition is not None else set()
    named = {plan.query.column, *(axis.column for axis in plan.cells.axes)}
    own = {name for name in named if name is not None}
    if own and _stored(touched, plan.policy) & _stored(own, plan.policy):
        return False
    sources = [one for name in own for one in _sources(name, plan.policy)]
    if len(set(sources)) < len(sources) or any(_is_undecided(name, plan.policy) for name in own):
        return False
    if any(_has_empty_bin(axis, plan.policy) for axis in plan.cells.axes) or _skips_steps(plan, part):
        return False
    outcomes: set[Truth] = {True} if plan.condition is None else possible(plan.condition, plan.policy)
    if True not in outcomes:
        return False
    if part.contribution.every:
        return True
    return _may_be_left_out(plan, part, outcomes)


def _stored(names: Collection[str | None], policy: Policy) -> set[str]:
    """The stored columns that these follow from."""
    return set(policy.stored_of(name for name in names if name in policy.columns))


def _sources(name: str, policy: Policy) -> tuple[str, ...]:
    """What a column is from, each as often as it is named; itself where it is stored."""
    known = policy.columns.get(name)
    return (name,) if known is None or known.stored else known.sources


def _is_undecided(name: str, policy: Policy) -> bool:
    """Whether not every key, or every number within the bounds, need occur."""
    known = policy.columns.get(name)
    if known is None or known.stored:
        return False
    return (
        isinstance(known, CaseColumn)
        or known.calculated
        or not all(policy.columns[one].stored for one in known.sources)
    )


def _scale(column: Column) -> int | None:
    """How many decimal places the numbers of a stored column have, 0 of whole numbers; None where any."""
    return 0 if column.integers or column.kind == "integer" else column.places


def _has_empty_bin(axis: Axis, policy: Policy) -> bool:
    """Whether no number lies in one of the bins of a column that holds whole numbers, or decimals, alone.

    The outer bins have all that lies beyond them.
    """
    for one in axis.tree.find_all(Bin):
        scale = _scale(policy.columns[one.this.name])
        for low, high in itertools.pairwise(one.args["edges"][1:-1]):
            if scale is not None and math.ceil(printed(low) * 10**scale) >= printed(high) * 10**scale:
                return True
    return False


def _skips_steps(plan: Plan, part: Measurement) -> bool:
    """Whether whole numbers, or decimals, are summed on a finer grid, and the most is told by more than the
    two ends.
    """
    known = plan.policy.columns.get(plan.query.column or "")
    scale = None if known is None else _scale(known)
    if scale is None or part.unit * 10**scale >= 1:
        return False
    prior = part.capacity().witness
    return not (isinstance(prior, IntervalPrior) and prior.flat is None and len(prior.atoms) == 2)


def _may_be_left_out(plan: Plan, part: Measurement, outcomes: set[Truth]) -> bool:
    """Nothing is added when the unit is absent, the condition fails, or a key or value is missing."""
    absent = plan.policy.neighbours == "add-remove-one" or bool(plan.query.join)
    unkeyed = bool(plan.cells.axes) and not _filled(plan)
    missing = plan.query.column is not None and not plan.cells.axes and not _filled(plan)
    return absent or outcomes != {True} or unkeyed or missing


def _filled(plan: Plan) -> bool:
    name = plan.query.column
    return name is not None and plan.policy.columns[name].fill is not None


def possible(condition: Condition, policy: Policy) -> set[Truth]:
    """The truth values that a row of any table could give, by trying every case that matters.

    A number matters only by its order among the condition's own literals; a key by which it is. Empty where
    there are too many cases to try.

    >>> from leakcap.policy.document import load_policy
    >>> from leakcap.release.conditions.where import parse_where
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"age": {"bounds": [0.0, 120.0]}}})
    >>> sorted(possible(parse_where("age > 5 AND age < 3", policy), policy), key=str)
    [False, None]
    """
    names = sorted(columns_named(condition))
    cases = [_cases(name, condition, policy) for name in names]
    if math.prod(map(len, cases)) > _MOST_CASES:
        return set()
    found: set[Truth] = set()
    for row in itertools.product(*cases):
        found.add(truth_of(condition, dict(zip(names, row, strict=True))))
        if len(found) == 3:  # there are no more
            break
    return found


def _cases(name: str, condition: Condition, policy: Policy) -> list[Scalar | None]:
    column = policy.columns[name]
    if column.private is not None or column.moments is not None or not column.stored:  # not decided
        return []
    if column.keys is not None and column.places is None:
        return [None, *column.keys, *_another(column.kind, column.keys), *_bits(name, condition)]
    marks = sorted({float(v) for v in _literals(name, condition) if isinstance(v, int | float)})
    scale = _scale(column)
    if scale == 0:
        return [None, *_whole_numbers_near(marks)]
    if scale is not None:
        steps = _whole_numbers_near([mark * 10**scale for mark in map(printed, marks)])
        return [None, *(float(Fraction(step) / 10**scale) for step in steps)]
    between = [(a + b) / 2 for a, b in itertools.pairwise(marks)]
    ends = [marks[0] - 1.0, marks[-1] + 1.0] if marks else [0.0]
    return [None, *marks, *between, *ends]


def _whole_numbers_near(marks: Sequence[float | Fraction]) -> list[float]:
    """Whole numbers at the marks, between them and beyond them, wherever there are any; 0 without marks."""
    near = {math.floor(mark) + off for mark in marks for off in (-1, 0, 1)} or {0}
    # Far out a double has no neighbour that is one more.
    return [float(one) for one in sorted(near) if int(float(one)) == one]


def _another(kind: str, keys: tuple[Key, ...]) -> list[Scalar]:
    """A value that is not among the public keys: a row may have one."""
    if kind == "text":
        return ["".join(str(key) for key in keys) + "?"]
    return [] if kind == "boolean" else [1 + max(int(key) for key in keys)]


def _bits(name: str, condition: Condition) -> list[Scalar]:
    """Values of either parity under each mask: none of its bits, and its lowest one."""
    if isinstance(condition, Junction):
        return [value for part in condition.parts for value in _bits(name, part)]
    if isinstance(condition, Negation):
        return _bits(name, condition.part)
    masks = condition.masks if isinstance(condition, Parity) else ()
    return [value for asked, mask in masks if asked == name for value in (0, mask & -mask)]


def _literals(name: str, condition: Condition) -> list[Scalar]:
    if isinstance(condition, Junction):
        return [literal for part in condition.parts for literal in _literals(name, part)]
    if isinstance(condition, Negation):
        return _literals(name, condition.part)
    if isinstance(condition, Parity | Missing) or condition.column != name:
        return []
    if isinstance(condition, Compare):
        return [condition.value]
    return list(condition.values) if isinstance(condition, Among) else [condition.low, condition.high]


def truth_of(condition: Condition, row: Mapping[str, Scalar | None]) -> Truth:
    """Whether the condition is true of a row with these values, false, or neither, as NULL makes it."""
    if isinstance(condition, Junction):
        return _joined(condition.word, [truth_of(part, row) for part in condition.parts])
    if isinstance(condition, Negation):
        part = truth_of(condition.part, row)
        return None if part is None else not part
    if isinstance(condition, Parity):
        return _odd(condition, row)
    # Compared with values of its own kind: a condition was checked against the schema.
    value: Any = row[condition.column]
    if isinstance(condition, Missing):
        return value is None
    if value is None:
        return None
    if isinstance(condition, Among):
        return value in condition.values
    if isinstance(condition, Between):
        return bool(condition.low <= value <= condition.high)
    return _compared(condition, value)


def _odd(condition: Parity, row: Mapping[str, Scalar | None]) -> Truth:
    ones = 0
    for name, mask in condition.masks:
        value = row[name]
        if value is None:
            return None
        assert isinstance(value, int)
        ones += (value & mask).bit_count()
    return ones % 2 == condition.odd


def _joined(word: str, parts: list[Truth]) -> Truth:
    decisive = word == "OR"
    if decisive in parts:
        return decisive
    return None if None in parts else not decisive


def _compared(condition: Compare, value: Any) -> bool:
    if condition.operator in ("=", "<>"):
        return bool(value == condition.value) == (condition.operator == "=")
    below, equal = value < condition.value, value == condition.value
    return bool(
        {"<": below, "<=": below or equal, ">": not below and not equal, ">=": not below}[condition.operator]
    )
