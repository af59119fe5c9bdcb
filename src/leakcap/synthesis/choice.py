"""Which of many tables are worth their noise: how a choice is planned and priced, before any data is touched.

First the total and all single columns are released. Then in each of `rounds` rounds every candidate is scored
by how far the law fitted so far is from its exact counts, less what noise would add; the exponential
mechanism chooses one, and its residual is released. All of it is one ρ that is fixed beforehand.

Source: McKenna, Mullins, Sheldon & Miklau 2022 (AIM) for the scores; McSherry & Talwar 2007 for the choice;
Cesar & Rogers 2021 for its ρ. Proof: `docs/theory/choosing-tables.md`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

from leakcap.errors import InvalidParameter, InvalidQuery
from leakcap.ledger import Charge, Edition
from leakcap.numeric.rounding import short_down
from leakcap.policy.document import Policy
from leakcap.sampling.rational import printed
from leakcap.synthesis.targets import check_fits
from leakcap.tables import ResidualPlan, TablesQuestion, Workload
from leakcap.tables.charge import event_between_contents, spend_of_rho
from leakcap.tables.plan import reach_squared, root_up
from leakcap.tables.question import PlannedTables
from leakcap.tables.workload import Places

__all__ = ["ChoiceQuestion", "TableChoice"]

_FIRST, _SCORES = Fraction(3, 20), Fraction(1, 10)
"""The share of ρ for the total and single columns, and of each round's share that for the choice."""
_DECIMALS = 10**18
_MOST_WORK = 10**8
"""Rounds times the square of all keys, which the time of a fit grows with: about an hour of one core."""
_MEAN = Fraction(4, 5)
"""Of Σ|noise| to the standard deviation, about √(2/π): no promise rests on it."""


@dataclass(frozen=True)
class ChoiceQuestion:
    """The question for `rounds` of the tables of `tables`, chosen by a private score."""

    tables: TablesQuestion
    rounds: int

    def planned(self, policy: Policy) -> TableChoice:
        """Planned and priced. Raises `InvalidQuery`; touches no data."""
        return TableChoice.of(self.tables, policy, self.rounds)


@dataclass(frozen=True)
class TableChoice:
    """A choice of `rounds` of the tables of two columns that `planned` has, priced beforehand.

    >>> policy = Policy.model_validate({"dataset": "d", "neighbours": "add-remove-one", "caps": {"rho": 1.0},
    ...     "columns": {name: {"keys": [1, 2, 3]} for name in "abcd"}})
    >>> choice = TableChoice.of(TablesQuestion(columns=tuple("abcd"), ways=2, rho=0.1), policy, 3)
    >>> len(choice.candidates), choice.rho, choice.epsilon
    (6, Fraction(1, 10), 0.15055453)
    """

    planned: PlannedTables
    rounds: int

    @classmethod
    def of(cls, question: TablesQuestion, policy: Policy, rounds: int) -> Self:
        """Raises `InvalidQuery` where that many tables cannot be chosen, with nothing read or paid."""
        planned = question.planned(policy)
        check_fits(planned)
        own, name = cls(planned, rounds), f"tables `{question.name}`"
        weights = planned.plan.workload.weights
        larger = [planned.plan.workload.named(table) for table in weights if len(table) > 2]
        if larger:
            raise InvalidQuery(
                f"`choose` of {name} must be among tables of two columns. Got ({', '.join(larger[0])}). "
                "Ask for `ways = 2`, or leave `choose` out."
            )
        if len(set(weights.values())) > 1:
            raise InvalidQuery(
                f"`choose` of {name} takes no weights: the scores say what each table is worth. Leave out "
                "`weight`."
            )
        whole = isinstance(rounds, int) and not isinstance(rounds, bool)
        among = len(own.candidates)
        if not whole or not 1 <= rounds < among:
            rule = f"be a whole number from 1 to {among - 1}" if among > 1 else "be left out"
            raise InvalidQuery(
                f"`choose` of {name}, which has {among:,} tables of two columns with two keys or more, must "
                f"{rule}: all of them cost less noise where it is left out. Got {rounds!r}."
            )
        keys = sum(planned.plan.workload.sizes)
        if rounds * keys**2 > _MOST_WORK:
            raise InvalidQuery(
                f"`choose` of {name} must be no more than {_MOST_WORK // keys**2:,} where all columns have "
                f"{keys:,} keys together: each round fits a law to them. Got {rounds:,}. Choose fewer "
                "tables, or ask for fewer columns or keys."
            )
        try:
            own.check()
        except InvalidParameter as error:
            raise InvalidQuery(
                f"`choose` of {name}: {error} Choose fewer tables, or offer a larger ρ."
            ) from None
        return own

    def check(self) -> None:
        """Raise `InvalidParameter` where ρ is too small for some part of it."""
        share = self._round * (1 - _SCORES)
        within = self.first.rho <= self.rho * _FIRST and all(one.rho <= share for one in self.noise.values())
        if not within or not self.epsilon > 0.0:
            raise InvalidParameter("`rho` must be large enough for noise to be drawn for it.")

    @cached_property
    def rho(self) -> Fraction:
        """What all of it costs: the price, in steps of 10⁻¹⁸."""
        offered = self.planned.question.price(self.planned.policy)
        return Fraction(math.floor(offered * _DECIMALS), _DECIMALS)

    @property
    def _round(self) -> Fraction:
        return self.rho * (1 - _FIRST) / self.rounds

    @cached_property
    def epsilon(self) -> float:
        """Of the exponential mechanism in each round, nats: ε²/8 is no more than its share of ρ."""
        wanted = 8 * self._round * _SCORES
        found = short_down(math.sqrt(wanted))
        while printed(found) ** 2 > wanted:  # the root may have been rounded up
            found = short_down(math.nextafter(found, 0.0))
        return found

    @property
    def sensitivity(self) -> int:
        """By how much a score can differ between neighbours."""
        return self.planned.policy.rows_per_unit * (2 if self._replace else 1)

    @property
    def _replace(self) -> bool:
        return self.planned.policy.neighbours == "replace-one"

    @cached_property
    def candidates(self) -> tuple[Places, ...]:
        """The tables to choose from, by name: in the same order for all who ask for the same ones."""
        workload = self.planned.plan.workload
        return tuple(
            table
            for table, _ in self.planned.in_order
            if table in workload.weights and len(table) == 2 and reach_squared(workload, table)
        )

    @cached_property
    def first(self) -> ResidualPlan:
        """The noise of the total and of the single columns."""
        policy, workload = self.planned.policy, self.planned.plan.workload
        small = [table for table in workload.closure if len(table) < 2]
        return ResidualPlan.of_residuals(
            workload, small, self.rho * _FIRST, policy.rows_per_unit, self._replace
        )

    @cached_property
    def noise(self) -> Mapping[Places, ResidualPlan]:
        """For each candidate the noise of its residual in the round that chooses it: the same in each."""
        policy, columns = self.planned.policy, self.planned.plan.workload.columns
        share, rows = self._round * (1 - _SCORES), policy.rows_per_unit
        return {
            table: ResidualPlan.of_residuals(
                Workload(columns, {table: Fraction(1)}), [table], share, rows, self._replace
            )
            for table in self.candidates
        }

    @cached_property
    def expected(self) -> Mapping[Places, int]:
        """About how much Σ|noise| over the cells each release would have, in rows: public, and whole."""
        return {
            table: round(plan.workload.cells_of(table) * _MEAN * Fraction(root_up(plan.variance(table))))
            for table, plan in self.noise.items()
        }

    def made(self, chosen: tuple[Places, ...]) -> PlannedTables:
        """The tables that were chosen, and the single columns, with the noise that they got."""
        planned, workload = self.planned, self.planned.plan.workload
        alone = [(place,) for place in range(len(workload.columns))]
        asked = {
            table: Fraction(1)
            for table in (*chosen, *alone)
            if len(table) == 2 or not any(table[0] in one for one in chosen)
        }
        own = Workload(workload.columns, asked)
        variances = dict(self.first.variances)
        for table in chosen:
            variances |= self.noise[table].variances
        plan = ResidualPlan(
            own,
            {table: variances[table] for table in own.closure if table in variances},
            planned.plan.rows,
            planned.plan.replace,
        )
        return PlannedTables(planned.question, planned.policy, planned.axes, plan, planned.counted)

    @property
    def text(self) -> str:
        """The question in one normal form, for the ledger."""
        shares = f"{_FIRST} to single columns, {_SCORES} of the rest to scores"
        return f"{self.rounds} chosen ({shares}) of {self.planned.text}"

    def charge(
        self,
        *,
        analyst: str = "",
        edition: Edition | None = None,
        source: str = "",
        same_as: int | None = None,
    ) -> Charge:
        """What the choice and the tables cost together; see `charge_of_tables`.

        Between contents, where neighbours are presence and absence, all distances are at most doubled.
        """
        policy = self.planned.policy
        contents = self.rho if self._replace else 4 * self.rho
        return Charge(
            self.planned.question.name,
            self.text,
            spend_of_rho(self.rho, contents, event_between_contents(self.rho), policy),
            analyst,
            {
                "mechanism": "exponential and discrete Gaussian",
                "neighbours": policy.neighbours,
                "unit": policy.id_column or "row",
                "tables": self.rounds,
                "among": len(self.candidates),
            },
            self.planned.question.asked,
            edition=edition,
            source=source,
            same_as=same_as,
        )
