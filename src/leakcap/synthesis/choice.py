"""Which of many tables are worth their noise: how a choice is planned and priced, before any data is touched.

First the total and all single columns are released. Then in each of `rounds` rounds every candidate is scored
by how far the law fitted so far is from its exact counts, less what noise would add; the exponential
mechanism chooses one, and its residual is released. All of it is one ρ that is fixed beforehand.

Source: McKenna, Mullins, Sheldon & Miklau 2022 (AIM) for the scores; McSherry & Talwar 2007 for the choice;
Cesar & Rogers 2021 for its ρ. Proof: `docs/theory/choosing-tables.md`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
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
from leakcap.tables.workload import Places, margins_of_places

__all__ = ["ChoiceQuestion", "TableChoice"]

_FIRST, _SCORES = Fraction(3, 20), Fraction(1, 10)
"""The share of ρ for the total and single columns, and of each round's share that for the choice."""
_DECIMALS = 10**18
_MOST_COLUMNS = 3
_MOST_WORK = 10**8
"""Rounds times the square of all keys, which the time of a fit grows with: about an hour of one core."""
_MOST_CANDIDATES = 20_000
"""Of three columns: noise is planned for each, which takes some seconds."""
_CELL, _SCORED = 4, 100
"""So many times as long as an entry of that square takes a cell of three columns in a fit; so many cells are
scored meanwhile."""
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
    """A choice of `rounds` of the tables that `planned` has, of two columns or of three, priced beforehand.

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
        planned = question.flat(policy).planned(policy)
        check_fits(planned)
        own, name = cls(planned, rounds), f"tables `{question.name}`"
        weights = planned.plan.workload.weights
        larger = [planned.plan.workload.named(table) for table in weights if len(table) > _MOST_COLUMNS]
        if larger:
            raise InvalidQuery(
                f"`choose` of {name} must be among tables of two columns, or of three. Got "
                f"({', '.join(larger[0])}). Ask for `ways = 2` or `ways = 3`, or leave `choose` out."
            )
        if len({len(table) for table in own.candidates}) > 1:
            raise InvalidQuery(
                f"`choose` of {name} must be among tables of two columns, or among tables of three. Got "
                "both. Leave out one kind: tables of two columns are released with those of three."
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
                f"`choose` of {name}, which has {among:,} tables of {own.columns} with two keys or more, "
                f"must {rule}: all of them cost less noise where it is left out. Got {rounds!r}."
            )
        own.require_little_work()
        try:
            own.check()
        except InvalidParameter as error:
            raise InvalidQuery(
                f"`choose` of {name}: {error} Choose fewer tables, or offer a larger ρ."
            ) from None
        return own

    def require_little_work(self) -> None:
        """Raise `InvalidQuery` where the rounds would fit for more than about an hour of one core, or there
        are too many candidates. A single round always fits: `check_fits` has bounded the tables."""
        name, keys = f"tables `{self.planned.question.name}`", sum(self.planned.plan.workload.sizes)
        if len(self._cells) - 1 > _MOST_CANDIDATES:
            raise InvalidQuery(
                f"`choose` of {name} must be among no more than {_MOST_CANDIDATES:,} tables of three "
                f"columns. Got {len(self.candidates):,}. Ask for fewer columns, or for `ways = 2`."
            )
        most = bisect_right(range(1, self.rounds + 1), _MOST_WORK, key=self._work)
        if most < self.rounds:
            raise InvalidQuery(
                f"`choose` of {name} must be no more than {most:,} where all columns have {keys:,} keys "
                f"together: each round fits a law to them. Got {self.rounds:,}. Choose fewer tables, or ask "
                "for fewer columns or keys."
            )

    def _work(self, rounds: int) -> int:
        """What the time of so many rounds grows with: for each of them the square of all keys, and of three
        columns the cells of what is chosen before it, and of all that there is to choose from."""
        cells, square = self._cells, sum(self.planned.plan.workload.sizes) ** 2
        fitted = cells[min(rounds, len(cells) - 1)]
        return rounds * (square + _CELL * fitted + cells[-1] // _SCORED)

    @cached_property
    def _cells(self) -> list[int]:
        """The cells of candidates of three columns added up, from the largest on."""
        workload = self.planned.plan.workload
        cells = [workload.cells_of(table) for table in self.candidates if len(table) > 2]
        return [0, *accumulate(sorted(cells, reverse=True))]

    @property
    def columns(self) -> str:
        """What the candidates are tables of, in words."""
        return "three columns" if any(len(table) > 2 for table in self.candidates) else "two columns"

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
            if table in workload.weights and len(table) > 1 and reach_squared(workload, table)
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
        """For each candidate the noise of its residual, and of three columns those of its margins of two, in
        the round that chooses it: the same in each. What has been released before is not released again."""
        policy, columns = self.planned.policy, self.planned.plan.workload.columns
        share, rows = self._round * (1 - _SCORES), policy.rows_per_unit
        return {
            table: ResidualPlan.of_residuals(
                Workload(columns, {table: Fraction(1)}),
                [part for part in margins_of_places(table) if len(part) > 1],
                share,
                rows,
                self._replace,
            )
            for table in self.candidates
        }

    @cached_property
    def at_once(self) -> int:
        """For how many noises of a cell its interval holds at once: for each table that can be shown the ways
        in which the noise of its parts can have come from candidates. Of two columns that is one each."""
        ways = Counter(part for plan in self.noise.values() for part in plan.variances)
        shown = {part for table in self.candidates for part in margins_of_places(table) if len(part) > 1}
        return sum(
            math.prod(ways[part] for part in margins_of_places(table) if part in ways) for table in shown
        )

    def added(self, chosen: tuple[Places, ...], table: Places) -> ResidualPlan:
        """The noise of what a table adds that is chosen after others: of residuals that none of these has.
        It costs no more than that of all of its residuals."""
        before = {part for one in chosen for part in self.noise[one].variances}
        own = self.noise[table]
        return replace(own, variances={p: v for p, v in own.variances.items() if p not in before})

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
            if len(table) > 1 or not any(table[0] in one for one in chosen)
        }
        own = Workload(workload.columns, asked)
        variances = dict(self.first.variances)
        for place, table in enumerate(chosen):
            variances |= self.added(chosen[:place], table).variances
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
