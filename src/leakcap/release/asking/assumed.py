"""How many rows a preview takes an answer to be about, where its error depends on that, and whence.

How many there are is private under add-remove-one. So the number is one that somebody names, one that was
released before, one that the policy makes public, or else a convention. No data is looked at.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from leakcap.errors import require
from leakcap.policy.document import Policy
from leakcap.release.plan import Plan
from leakcap.release.planning.plan import rows_text
from leakcap.release.results.record import ReleasedRecord
from leakcap.release.statistics.base import assumed_rows

__all__ = ["KnownAnswers", "RowsAssumed", "known_of"]

_MOST = 10**12
# How an answer was paid for comes last in a query's normal form.
_PAID = re.compile(r"(?: with delta \S+)?(?: with \w+ noise)?$")

KnownAnswers = Sequence[tuple[Policy, ReleasedRecord]]
"""Released answers, each with the policy it was released under."""


def known_of(known: KnownAnswers, policy: Policy, owner: str) -> None:
    """Raise `InvalidParameter` where a released answer is about another data set."""
    for theirs, _ in known:
        same = theirs.dataset == policy.dataset
        require(same, "known", owner, f"be of the data set `{policy.dataset}`", theirs.dataset)


@dataclass(frozen=True)
class RowsAssumed:
    """What is said of the number of rows: a number that was named, and answers that were released."""

    rows: int | None = None
    known: KnownAnswers = ()

    @classmethod
    def of(cls, policy: Policy, rows: int | None, known: KnownAnswers = ()) -> RowsAssumed:
        """Raises `InvalidParameter` for a number that no table of this policy has, and for answers about
        another data set.
        """
        known_of(known, policy, "preview")
        most = _MOST if policy.units is None else policy.units * policy.rows_per_unit
        if rows is not None:
            fits = type(rows) is int and 1 <= rows <= most
            bound = "rows" if policy.rows is not None else "max_rows"
            ends = "" if policy.units is None else f", the most under `{bound}` of the policy"
            require(fits, "rows", "preview", f"be a whole number from 1 to {most:,}{ends}", rows)
        return cls(rows, tuple(known))

    def set_in(self, plan: Plan) -> tuple[Plan, str]:
        """The plan with the number in it, and the sentence that says which it is and whence.

        A number that is named comes first, then a released count of the same rows and groups: the lower end
        of its interval, in groups that of the smallest, and 1 at least.
        """
        if self.rows is not None:
            return replace(plan, assumed=self.rows), f"{_many(self.rows)} assumed, as was asked."
        for _, record in self.known:
            if _PAID.sub("", record.query) == f"count{rows_text(plan)}" and record.cells:
                least = max(1, math.ceil(min(row.interval[0] for row in record.cells)))
                end = "the lower end of "
                end += "the smallest group of " if len(record.cells) > 1 else ""
                said = f"{_many(least)} assumed, {end}the released count `{record.name}`."
                return replace(plan, assumed=least), said
        rows = assumed_rows(plan)
        if plan.policy.units is not None and not plan.cells.open:
            even = " in groups of equal size" if plan.cells.size > 1 else ""
            said = "the policy's number" if plan.policy.rows is not None else "the most by the policy"
            return plan, f"{_many(rows)} assumed, {said}{even}."
        return plan, (
            f"{_many(rows)} assumed, since nothing says how many there are. `leakcap preview --rows N` takes "
            "another number."
        )


def _many(rows: int) -> str:
    return f"{rows:,} row{' is' if rows == 1 else 's are'}"
