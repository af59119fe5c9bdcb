"""What is asked of a policy, over which periods, at what price: checked before data is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from leakcap.errors import InvalidParameter, InvalidQuery
from leakcap.policy.declared import Key
from leakcap.policy.document import Policy
from leakcap.release.columns.cells import Axis, Cells, key_axis
from leakcap.release.columns.within import require_apart_from, require_told_apart
from leakcap.release.conditions.condition import named
from leakcap.release.conditions.declared import with_cases
from leakcap.release.measurements.rho import largest_rho
from leakcap.release.plan import Plan
from leakcap.release.planning.plan import plan_query, text_of
from leakcap.release.planning.queries import Query
from leakcap.running.factor import MOST_STEPS
from leakcap.running.plan import RunningPlan
from leakcap.sampling.rational import printed
from leakcap.tables.question import Number

__all__ = ["PlannedRunningCount", "RunningQuestion"]

_MOST_NUMBERS = 200_000


class RunningQuestion(BaseModel):
    """Counts of rows by period, one period after the other, and their running totals.

    `period` is a column of the policy that is a date cut down (`truncate`) to days, weeks, months, quarters
    or years; the horizon is `steps` of them from `first` on. With `by`, columns with public keys, each
    combination of keys is a series. The price, ρ of zero-concentrated privacy or the ρ that an `epsilon` buys
    at the policy's δ, is that of the whole horizon. `name` is what the ledger knows the stream by.

    Where the policy hides people and not rows, `rows_stay` has to be true: whoever asks makes sure that rows
    which were counted stay in the table as they are until the horizon ends. In the place of one that went
    another row of the same person would count, and nothing was paid for that.

    >>> RunningQuestion(name="visits", period="month", first="2026-01", steps=12, rho=0.02).steps
    12
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(min_length=1, max_length=200)]
    period: str
    first: Annotated[str, Field(strict=True)]
    steps: Annotated[int, Field(strict=True, ge=1, le=MOST_STEPS)]
    by: tuple[str, ...] = ()
    rho: Number | None = None
    epsilon: Number | None = None
    where: str | None = None
    rows_stay: Annotated[bool, Field(strict=True)] = False

    def planned(self, policy: Policy) -> PlannedRunningCount:
        """What is counted and which noise it gets. Raises `InvalidQuery`; touches no data."""
        policy = with_cases(policy)
        self._check(policy)
        rows = Query(name=self.name, statistic="count", where=self.where, epsilon=1.0)
        counted = plan_query(rows, policy)
        codes = self._codes(policy, rows)
        axes = []
        for column in self.by:
            known = policy.columns.get(column)
            if known is None or known.keys is None or known.private is not None:
                raise InvalidQuery(
                    f"`by` of stream `{self.name}` must be columns of the policy with public `keys`. "
                    f"Got `{column}`."
                )
            axes.append(key_axis(column, policy, rows))
        require_told_apart(axes, f"`by` of stream `{self.name}`")
        require_apart_from([key_axis(self.period, policy, rows)], axes, f"Stream `{self.name}`")
        if Cells(tuple(axes)).size * self.steps > _MOST_NUMBERS:
            raise InvalidQuery(
                f"Stream `{self.name}` has {Cells(tuple(axes)).size * self.steps:,} counts; at most "
                f"{_MOST_NUMBERS:,} are allowed. Take fewer series or steps."
            )
        try:
            plan = RunningPlan.of(
                self.steps,
                self._rho(policy),
                rows=policy.rows_per_unit,
                replace=policy.neighbours == "replace-one",
            )
        except InvalidParameter as error:
            raise InvalidQuery(f"Stream `{self.name}`: {error}") from None
        return PlannedRunningCount(
            self, policy, key_axis(self.period, policy, rows), codes, tuple(axes), plan, counted
        )

    def _codes(self, policy: Policy, rows: Query) -> tuple[int, ...]:
        """The numbers of the horizon's periods."""
        known = policy.columns.get(self.period)
        if known is None or known.truncate is None:
            raise InvalidQuery(
                f"`period` of stream `{self.name}` must be a column of the policy that is a date cut down to "
                f"periods (`truncate`). Got `{self.period}`."
            )
        axis = key_axis(self.period, policy, rows)
        labels = {str(label): int(code) for code, label in axis.labels.items()}
        last = str(list(axis.labels.values())[-1])
        if self.first not in labels:
            raise InvalidQuery(
                f"`first` of stream `{self.name}` must be a period of `{self.period}`, from "
                f"{next(iter(labels))} to {last}. Got `{self.first}`."
            )
        start = labels[self.first]
        if start + self.steps - 1 > labels[last]:
            raise InvalidQuery(
                f"`steps` of stream `{self.name}` must be at most {labels[last] - start + 1}, the periods of "
                f"`{self.period}` from {self.first} to {last}. Got {self.steps}."
            )
        return tuple(range(start, start + self.steps))

    def _check(self, policy: Policy) -> None:
        """Raise `InvalidQuery` unless the fields fit each other, and Gaussian noise fits the caps."""
        owner = f"stream `{self.name}`"
        if not self.name.isprintable() or not self.name.strip():
            raise InvalidQuery(f"`name` of a stream must be printable text. Got {self.name!r}.")
        if (self.rho is None) == (self.epsilon is None):
            raise InvalidQuery(f"Stream `{self.name}` must have `rho` or `epsilon`, not both.")
        for name, number in (("rho", self.rho), ("epsilon", self.epsilon)):
            if number is not None and not 0.0 < number < math.inf:
                raise InvalidQuery(f"`{name}` of {owner} must be positive and finite. Got {number!r}.")
        for column in self.by:
            if self.by.count(column) > 1:
                raise InvalidQuery(f"`by` of {owner} must name each column once. Got `{column}` twice.")
        if policy.id_column is not None and not self.rows_stay:
            raise InvalidQuery(
                f"{owner[0].upper()}{owner[1:]} protects each {policy.id_column} only while rows that were "
                "counted stay in the table as they are until the horizon ends: a table of each period alone "
                "will not do. If you make sure of it, say so: `rows_stay = true`."
            )
        if not policy.caps.has_room_for_gaussian:
            raise InvalidQuery(
                f"The noise of {owner} is Gaussian and needs a δ for all answers together, and the policy's "
                "`caps` leave none (`delta`). Only the owner can allow one."
            )
        if self.epsilon is not None and not policy.caps.delta:
            raise InvalidQuery(
                f"`epsilon` of {owner} says nothing of Gaussian noise without a δ, and the policy's `caps` "
                "have no `delta`. Ask for a `rho`."
            )
        if policy.caps.each_person or policy.caps_column is not None:
            raise InvalidQuery(
                f"The noise of {owner} is Gaussian, and the caps that people bring themselves "
                "(`caps.each_person`) are on ε alone. Ask for a `count` in each period."
            )

    def _rho(self, policy: Policy) -> Fraction:
        if self.rho is not None:
            return printed(self.rho)
        assert self.epsilon is not None
        return Fraction(largest_rho(self.epsilon, policy.caps.delta or 0.0))

    @property
    def asked(self) -> str:
        """The price as the decimal that was given."""
        return f"ρ {printed(self.rho)}" if self.rho is not None else f"ε {printed(self.epsilon or 0.0)}"


@dataclass(frozen=True)
class PlannedRunningCount:
    """A running count that was asked for: its periods by number, its series, its noise, and which rows count
    (those of the count `counted`)."""

    question: RunningQuestion
    policy: Policy
    period: Axis
    codes: tuple[int, ...]
    axes: tuple[Axis, ...]
    plan: RunningPlan
    counted: Plan

    @cached_property
    def text(self) -> str:
        """The question in one normal form, for the ledger."""
        asked = self.question
        by = f" by {', '.join(map(named, asked.by))}" if asked.by else ""
        rows = text_of(self.counted).removeprefix("count").strip()
        told = (
            f"running count of {len(self.codes)} steps of {named(asked.period)} from {asked.first}{by} {rows}"
        )
        return told.strip()

    @cached_property
    def periods(self) -> tuple[str, ...]:
        """What the periods are called."""
        return tuple(str(self.period.labels[code]) for code in self.codes)

    @cached_property
    def series(self) -> tuple[tuple[Key, ...], ...]:
        """The keys of each series, the first column slowest; without `by` one series that has none."""
        if not self.axes:
            return ((),)
        return tuple(zip(*(words.tolist() for words in Cells(self.axes).labels().values()), strict=True))

    def steps_until(self, period: str) -> int:
        """How many steps end with this period. Raises `InvalidQuery` for one that is not in the horizon."""
        if period not in self.periods:
            raise InvalidQuery(
                f"The last period must be one of stream `{self.question.name}`, from {self.periods[0]} to "
                f"{self.periods[-1]}. Got `{period}`. Nothing was spent."
            )
        return self.periods.index(period) + 1
