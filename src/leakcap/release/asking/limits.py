"""Other values of `max_rows`: how far each answer would be off, and what is known of the rows cut.

The noise follows from public numbers. How much is cut does not: it is known from answers that were paid for
and released, and from nothing else. Answers about all rows, `rows_cut` and `rows_per_person` without `where`
and `by`, bound what is cut of any of them: of fewer rows of a person no more are beyond a limit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from leakcap.errors import InvalidQuery, require
from leakcap.policy.document import IdUnit, Policy
from leakcap.release.asking.accuracy import preview_of
from leakcap.release.asking.assumed import KnownAnswers, RowsAssumed, known_of
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.queries import Query
from leakcap.release.results.record import ReleasedRecord

__all__ = ["RowLimit", "row_limits"]

_MOST = 10**6
_SEVERAL = 20
# The normal forms of questions about all rows; how they were paid for comes after `with`.
_CUT = re.compile(r"rows_cut up to \d+(?: with .*)?")
_ROWS = re.compile(r"rows_per_person at \[([0-9.,e -]+)\] up to (\d+)(?: with .*)?")


_Known: TypeAlias = tuple[int, int | None, float | None]
"""From which `max_rows` on, and then how many rows are cut at most, or which part of people loses any."""


@dataclass(frozen=True)
class RowLimit:
    """One value of `max_rows`: how far each answer would be off, and what released answers say of the cut.

    `errors` has the 95 % error of each query by its name; None where the query does not go with this limit.
    `rows_cut` is how many rows are left out at most, `share_cut` the largest part of people who lose any;
    None where nothing that was released says so. Each holds with the confidence of the answer it is from.
    """

    max_rows: int
    errors: dict[str, float | None]
    rows_cut: int | None = None
    share_cut: float | None = None


def row_limits(
    queries: Sequence[Query],
    policy: Policy,
    candidates: Iterable[int],
    known: KnownAnswers = (),
    *,
    rows: int | None = None,
) -> tuple[RowLimit, ...]:
    """The errors of `queries` under several values of `max_rows`, smallest first. Nothing is read or spent.

    `known` are released answers, each with the policy it was released under. `rows` is as in
    `preview`. Raises `InvalidQuery` where the
    unit is no person with an id, and `InvalidParameter` for candidates that no policy may have, or answers
    about another data set.

    >>> from leakcap.policy.document import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 9.0},
    ...     "unit": {"id": "person", "max_rows": 3}, "columns": {"age": {"bounds": [0.0, 120.0]}}})
    >>> found = row_limits([Query(name="n", statistic="count", epsilon=1.0)], policy, [1, 2, 4])
    >>> [(one.max_rows, one.errors["n"]) for one in found]
    [(1, 3.0), (2, 6.0), (4, 12.0)]
    """
    wanted = sorted(set(candidates))
    _check(wanted, policy)
    known_of(known, policy, "row_limits")
    said = RowsAssumed.of(policy, rows, known)
    bounds = [bound for theirs, record in known for bound in _said(theirs, record)]
    return tuple(_limit(queries, policy, most, bounds, said) for most in wanted)


def _check(wanted: Sequence[int], policy: Policy) -> None:
    if not isinstance(policy.unit, IdUnit):
        raise InvalidQuery(
            "`max_rows` bounds how many rows of a person are used, and the policy's unit is a row. Name the "
            'column of ids in its `unit`: { id = "patient", max_rows = 1 }.'
        )
    few = 0 < len(wanted) <= _SEVERAL
    require(few, "candidates", "row_limits", f"be 1 to {_SEVERAL} numbers", len(wanted))
    for most in wanted:
        fits = isinstance(most, int) and 1 <= most <= _MOST
        require(fits, "candidates", "row_limits", f"be whole numbers from 1 to {_MOST:,}", most)


def _limit(
    queries: Sequence[Query], policy: Policy, most: int, bounds: Sequence[_Known], said: RowsAssumed
) -> RowLimit:
    assert isinstance(policy.unit, IdUnit)
    other = policy.model_copy(update={"unit": policy.unit.model_copy(update={"max_rows": most})})
    rows = [rows for start, rows, _ in bounds if start <= most and rows is not None]
    shares = [share for start, _, share in bounds if start <= most and share is not None]
    return RowLimit(
        most,
        {query.name: _error(query, other, said) for query in queries},
        rows_cut=min(rows, default=None),
        share_cut=min(shares, default=None),
    )


def _error(query: Query, policy: Policy, said: RowsAssumed) -> float | None:
    try:
        return preview_of(plan_query(query, policy), rows=said).error
    except InvalidQuery:
        return None


def _said(policy: Policy, record: ReleasedRecord) -> list[_Known]:
    if _CUT.fullmatch(record.query) is not None:
        (rows,) = [row for row in record.values if (row.keys or {}).get("cut") == "rows"]
        return [(policy.rows_per_unit, max(math.floor(rows.interval[1]), 0), None)]
    found = _ROWS.fullmatch(record.query)
    if found is None:
        return []
    levels = [float(level) for level in found[1].split(",")]
    ends = [math.ceil(row.interval[1]) for row in record.values]
    # Who has more than `up_to` rows counts as having so many: how many they are is not known at that number.
    pairs = zip(levels, ends, strict=True)
    return [(end, None, 1.0 - level) for level, end in pairs if end < int(found[2])]
