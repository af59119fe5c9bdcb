"""A release from noisy integers, its values as the ledger remembers them, and a release from these.

An answer is recorded column by column: `values`, then `off` where every interval is the value ± so much, else
`lower` and `upper`; `keys` where they are a part of the answer, and `parts`, the noisy integers that it was
made of, where they are kept and are not the values. Where every value is the one part's integer times the
same number, that is the `step`, in place of the values.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import LedgerError
from leakcap.ledger import Answer
from leakcap.policy.declared import Key
from leakcap.release.measurements.measurement import NoisyMeasurement
from leakcap.release.numbers.answers import Answers, Labels, Rows, as_numbers
from leakcap.release.numbers.exact_integers import ExactIntegers, doubles, exact_integers, objects
from leakcap.release.plan import Plan
from leakcap.release.planning.plan import text_of
from leakcap.release.planning.price import Price
from leakcap.release.results.noisy_totals import NoisyTotal, NoisyTotals
from leakcap.release.results.result import Release
from leakcap.release.statistics import statistic_of

_MOST = sys.float_info.max
Recorded: TypeAlias = dict[str, Any]
__all__ = ["ParsedAnswer", "from_ledger", "parsed_answer", "recorded_of", "release_of"]


@dataclass(frozen=True)
class ParsedAnswer:
    """A recorded answer: its numbers, and the columns of its keys where they were recorded."""

    values: list[int | float]
    lower: list[float]
    upper: list[float]
    keys: list[list[Key]] = field(default_factory=list)
    parts: list[tuple[str, list[int]]] = field(default_factory=list)


def release_of(
    plan: Plan, price: Price, noisy: Sequence[ExactIntegers], codes: Sequence[NDArray[Any]] = ()
) -> Release:
    """The release from the noisy integers of each part and cell, of private keys those that are released, as
    `codes` name them. Everything here is post-processing.
    """
    labels = plan.cells.read(codes) if plan.cells.open else statistic_of(plan.query).labelled(plan, noisy)
    rows = Rows(labels, statistic_of(plan.query).answers(plan, noisy).steady())
    return _release(plan, price, rows, _noisy_totals_of(plan, noisy) if _keeps(plan) else None)


def _release(plan: Plan, price: Price, rows: Rows, drawn: NoisyTotals | None) -> Release:
    """These rows, with what plan and price say of them."""
    statistic = statistic_of(plan.query)
    return Release(
        name=plan.query.name,
        query=plan.query,
        text=text_of(plan),
        rows=rows,
        noise_scale=price.noise_scales[plan.parts[0].role],
        price=price,
        drawn=drawn,
        coverage=plan.coverage,
        totals=statistic.totals(plan),
        places=statistic.places(plan),
    )


def _keeps(plan: Plan) -> bool:
    """Whether the noisy integers of an answer are kept."""
    return not plan.cells.open and all(
        isinstance(part, NoisyMeasurement) and part.kept for part in plan.parts
    )


def _noisy_totals_of(plan: Plan, noisy: Sequence[ExactIntegers]) -> NoisyTotals:
    """The noisy integers of each part with what is public about them."""
    parts = tuple(
        NoisyTotal(part.role, part.noise, part.unit, tuple(numbers.tolist()))
        for part, numbers in zip(plan.parts, noisy, strict=True)
        if isinstance(part, NoisyMeasurement)
    )
    ends = (0, 0) if plan.grid is None else (plan.grid.low, plan.grid.high)
    return NoisyTotals(parts, plan.centre, plan.exact_count, ends)


def recorded_of(release: Release) -> Recorded:
    """The columns of the answer. All of it is released."""
    answers, drawn = release.rows.answers, release.drawn
    found: Recorded = {}
    if release.query.delta is not None or statistic_of(release.query).released_keys:
        # Where keys are private, or chosen, which ones they are is a part of the answer.
        found["keys"] = [words.tolist() for words in release.rows.labels.values()]
    elif drawn is not None and not _says_all(answers, drawn):
        found["parts"] = [[part.role, part.numbers] for part in drawn.parts]
    step = _step(answers, drawn) if drawn is not None and "parts" in found else None
    found |= {"values": answers.values.tolist()} if step is None else {"step": step}
    off = answers.off
    if off is None:
        return found | {"lower": answers.lower.tolist(), "upper": answers.upper.tolist()}
    return found | {"off": off}


def _step(answers: Answers, drawn: NoisyTotals) -> float | None:
    """What makes the one part's integers the values, to the last bit; None where nothing does."""
    if len(drawn.parts) != 1 or answers.values.dtype.kind != "f":
        return None
    (part,), step = drawn.parts, float(drawn.parts[0].unit)
    return step if np.array_equal(_multiplied(part.numbers, step), answers.values) else None


def _multiplied(numbers: Sequence[int], step: float) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        return doubles(exact_integers(numbers)) * step


def _says_all(answers: Answers, drawn: NoisyTotals) -> bool:
    """Whether the noisy integers are the values: as integers, so that they can be told from readings of them.

    A sum on a grid of whole numbers equals its integers, and is a double.
    """
    integers = answers.values.dtype.kind in "iO"
    return integers and len(drawn.parts) == 1 and answers.values.tolist() == list(drawn.parts[0].numbers)


def parsed_answer(recorded: object) -> ParsedAnswer | None:
    """What was recorded; None where it has not the shape of an answer.

    >>> parsed_answer({"values": [5], "off": 3.0}).lower
    [2.0]
    >>> parsed_answer({"step": 0.5, "parts": [["sum", [7]]], "off": 3.0}).values
    [3.5]
    """
    if not isinstance(recorded, dict):
        return None
    if _numbers([recorded.get("step")]):
        recorded = {**recorded, "values": _stepped(recorded["step"], recorded.get("parts"))}
    if _numbers([recorded.get("off")]) and _numbers(recorded.get("values")):
        middle, off = doubles(as_numbers(recorded["values"])), float(recorded["off"])
        recorded = {**recorded, "lower": (middle - off).tolist(), "upper": (middle + off).tolist()}
    columns = [recorded.get(name) for name in ("values", "lower", "upper")]
    keys, parts = recorded.get("keys", []), recorded.get("parts", [])
    if not (all(_numbers(column) for column in columns) and _keys(keys) and _parts(parts)):
        return None
    values, lower, upper = (column or [] for column in columns)
    if {len(values)} != {len(one) for one in (values, lower, upper, *keys)}:
        return None
    return ParsedAnswer(values, lower, upper, keys, [(role, numbers) for role, numbers in parts])


def _stepped(step: float, parts: Any) -> list[float] | None:
    """The values that the one part's integers and the step stand for."""
    if not _parts(parts) or len(parts) != 1 or not _numbers(parts[0][1]):
        return None
    values: list[float] = _multiplied(parts[0][1], float(step)).tolist()
    return values


def _numbers(column: object) -> bool:
    """Numbers within those that are doubles too, NaN not among them."""
    if not isinstance(column, list) or not {type(number) for number in column} <= {int, float}:
        return False
    return all(-_MOST <= number <= _MOST for number in column)


def _keys(keys: object) -> bool:
    """Columns of keys."""
    if not isinstance(keys, list) or not all(isinstance(column, list) for column in keys):
        return False
    return all({type(key) for key in column} <= {str, int, bool} for column in keys)


def _parts(parts: object) -> bool:
    """Roles, and integers for each."""
    if not isinstance(parts, list):
        return False
    sound = (isinstance(part, list) and [type(one) for one in part] == [str, list] for part in parts)
    return all(sound) and all({type(number) for number in part[1]} <= {int} for part in parts)


def _drawn(plan: Plan, found: ParsedAnswer) -> NoisyTotals | None:
    """The noisy integers, where they were recorded or are the values."""
    if not _keeps(plan):
        return None
    parts = found.parts
    if not parts and len(plan.parts) == 1 and plan.grid is None:
        parts = [(plan.parts[0].role, [value for value in found.values if isinstance(value, int)])]
    roles = [part.role for part in plan.parts]
    sound = [role for role, _ in parts] == roles and {len(n) for _, n in parts} == {plan.cells.size}
    return _noisy_totals_of(plan, [exact_integers(numbers) for _, numbers in parts]) if sound else None


def from_ledger(plan: Plan, price: Price, answer: Answer) -> Release:
    """The release that was answered before, under the name that the query has now.

    Raises `LedgerError` where what is recorded is no answer to this query.
    """
    found, labels = parsed_answer(answer.values), statistic_of(plan.query).labels(plan)
    names = list(labels)
    if plan.cells.open:
        names = [axis.column for axis in plan.cells.axes]
    recorded = plan.cells.open or statistic_of(plan.query).released_keys
    if found is None or not _fits(found, names, plan, labels, recorded=recorded):
        raise LedgerError(
            f"The recorded answer of entry {answer.entry} has not the shape of an answer to this query. "
            "Ask with fresh noise: `fresh=True`, or `--fresh`."
        )
    if recorded:
        labels = dict(zip(names, map(objects, found.keys or ([] for _ in names)), strict=True))
    ends = (np.array(column, dtype=np.float64) for column in (found.lower, found.upper))
    rows = Rows(labels, Answers(as_numbers(found.values), *ends))
    made = _release(plan, price, rows, _drawn(plan, found))
    return replace(made, repeated=True, people_from=answer.people_from)


def _fits(found: ParsedAnswer, names: Sequence[str], plan: Plan, labels: Labels, *, recorded: bool) -> bool:
    """Whether there is a number for each label, and where keys are recorded a column for each name."""
    if recorded and len(found.keys) != len(names) and found.values:
        return False
    if plan.cells.open:
        return True
    size = len(next(iter(labels.values()))) if labels else 1
    return len(found.values) == size and (recorded or not found.keys)
