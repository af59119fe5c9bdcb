"""Tables that are chosen by a private score, released for one charge: see `leakcap.synthesis.choice`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from leakcap.ledger import Charge, Ledger, Paid, Request, Spend
from leakcap.mechanism import Exponential
from leakcap.release import PrivateTable
from leakcap.release.asking.beside import Beside
from leakcap.sampling import ByteSource, system_bytes
from leakcap.synthesis.choice import TableChoice
from leakcap.synthesis.mixture import MixtureOfProducts, fit_generator
from leakcap.tables import ReleasedTables, TablesQuestion
from leakcap.tables.reading import check_columns, counts_of, statements_of_tables
from leakcap.tables.remembered import remembered_values
from leakcap.tables.residuals import Integers, noisy_residuals
from leakcap.tables.workload import Places

__all__ = ["ChoiceBeside", "ChosenTables", "release_chosen_tables", "remembered_choices", "tables_of_choice"]


@dataclass(frozen=True)
class ChosenTables(ReleasedTables):
    """Released tables that were chosen, in the order of `chosen`; all single columns are released with them.

    Their intervals hold for all candidates at once, so that the choice does no harm to them.
    """

    chosen: tuple[tuple[str, ...], ...] = ()

    @cached_property
    def choice(self) -> TableChoice:
        """What was asked: which tables there were to choose from, and how many."""
        return TableChoice(self.planned.question.planned(self.planned.policy), len(self.chosen))

    @property
    def text(self) -> str:
        """The question in words."""
        return self.choice.text

    @property
    def charge(self) -> Charge:
        """What choosing and the tables cost together, as it is asked of a ledger."""
        return self.choice.charge()


def release_chosen_tables(
    table: PrivateTable,
    question: TablesQuestion,
    rounds: int,
    *,
    fresh: bool = False,
    source: ByteSource = system_bytes,
    request: Request | None = None,
) -> ChosenTables:
    """So many of a question's tables of two columns, or of three, chosen where a fitted law is farthest from
    them. With a table of three columns its margins of two are released, where they have not been.

    One charge for all, committed before anything is scored; for free where the ledger knows the answer,
    unless `fresh`. Raises `InvalidQuery`, `DataError` or `BudgetExceeded` with nothing spent.

    >>> import pyarrow
    >>> people = pyarrow.table({"a": [1, 2] * 500, "b": [1, 2] * 500, "c": [1, 1, 2, 2] * 250})
    >>> policy = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"rho": 1.0},
    ...     "columns": {name: {"keys": [1, 2]} for name in "abc"}}
    >>> with PrivateTable(people, policy=policy, ledger="sqlite://") as private:
    ...     asked = TablesQuestion(columns=("a", "b", "c"), ways=2, rho=0.5)
    ...     found = release_chosen_tables(private, asked, 1)
    >>> found.chosen
    (('a', 'b'),)
    """
    beside = ChoiceBeside(table, TableChoice.of(question, table.policy, rounds), source)
    (paid,) = table.release_with([], [beside], fresh=fresh, request=request)[1]
    return beside.released(paid)


def remembered_choices(
    ledger: Ledger, choice: TableChoice, entry: int | None = None
) -> dict[int, ChosenTables]:
    """What a ledger remembers of the tables of a choice, by entry, oldest first; or of one `entry` alone.
    Touches no data: what it returns is as it was released, not repeated."""
    charge = choice.charge()
    return {
        number: tables_of_choice(choice, *_shaped(choice, values), charge.spend, number, repeated=False)
        for number, values in remembered_values(ledger, charge, choice.planned.policy.dataset, entry)
    }


_Answer = tuple[tuple[Places, ...], dict[Places, Integers]]


def tables_of_choice(
    choice: TableChoice,
    chosen: tuple[Places, ...],
    noisy: Mapping[Places, Integers],
    spend: Spend,
    entry: int,
    *,
    repeated: bool,
) -> ChosenTables:
    """The tables of a choice with their noisy integers."""
    named = tuple(map(choice.planned.plan.workload.named, chosen))
    return ChosenTables(choice.made(chosen), noisy, spend, entry, repeated, choice.at_once, named)


class ChoiceBeside(Beside[_Answer]):
    """The rounds of one choice about a table of rows, to be paid for beside others."""

    def __init__(self, table: PrivateTable, choice: TableChoice, source: ByteSource) -> None:
        check_columns(choice.planned, table.engine)
        same_as = None if table.same_as is None else table.same_as.number
        self._table, self._choice, self._source = table, choice, source
        self.charge = choice.charge(
            analyst=table.analyst, edition=table.edition, source=table.named, same_as=same_as
        )

    def prepare(self, *, paid: bool = False) -> Callable[[], dict[Places, Integers]]:
        """What reads the counts, written out before the commit."""
        planned, engine, ledger = self._choice.planned, self._table.engine, self._table.ledger
        statements = statements_of_tables(planned, engine, ledger.seed)
        if planned.plan.replace:
            if not paid:
                ledger.check([self.charge])
            self._table.check_units()
        return lambda: counts_of(planned, statements, engine)

    def finished(self, read: dict[Places, Integers]) -> tuple[_Answer, Any]:
        """The rounds: a fit in each of them, with nothing more read."""
        found = chosen_tables(self._choice, read, self._source)
        return found, _stored(self._choice, *found)

    def released(self, paid: Paid[_Answer]) -> ChosenTables:
        """What was computed now, or is remembered."""
        choice, values = self._choice, paid.answer.values
        repeated = paid.computed is None
        found = _shaped(choice, values) if paid.computed is None else paid.computed
        return tables_of_choice(choice, *found, self.charge.spend, paid.answer.entry, repeated=repeated)


def chosen_tables(choice: TableChoice, counts: Mapping[Places, Integers], source: ByteSource) -> _Answer:
    """The tables of each round, and the noisy residuals; `counts` are exact. Costs `choice.rho`.

    Of `counts` the scores are read, which the exponential mechanism protects, and the residuals, which get
    noise; the law is fitted to what has been released.
    """
    noisy = noisy_residuals(choice.first, counts, source)
    chosen: tuple[Places, ...] = ()
    left = list(choice.candidates)
    for _ in range(choice.rounds):
        law = _law(choice, chosen, noisy)
        scores = [_score(choice, law, one, counts[one]) for one in left]
        mechanism = Exponential((tuple(map(Fraction, scores)),), choice.epsilon, choice.sensitivity)
        found = left.pop(int(mechanism.sample([0], source)[0]))
        noisy |= noisy_residuals(choice.added(chosen, found), counts, source)
        chosen = (*chosen, found)
    return chosen, noisy


def _law(
    choice: TableChoice, chosen: tuple[Places, ...], noisy: Mapping[Places, Integers]
) -> MixtureOfProducts:
    """The law fitted to what has been released so far."""
    nothing = Spend(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    return fit_generator(ReleasedTables(choice.made(chosen), noisy, nothing, 0, False))


def _score(choice: TableChoice, law: MixtureOfProducts, table: Places, counts: Integers) -> int:
    """Σ|exact − fitted| over the cells, the fitted ones rounded to whole numbers, less the expected noise.

    One row more or less changes it by 1 at most: the fitted numbers are what they are without the data.
    """
    columns = choice.planned.plan.workload.named(table)
    fitted = np.rint(law.shares(*columns) * law.total).astype(np.int64)
    return int(np.abs(counts - fitted).sum()) - choice.expected[table]


def _stored(
    choice: TableChoice, chosen: tuple[Places, ...], noisy: Mapping[Places, Integers]
) -> list[list[int]]:
    """What the ledger remembers: the places of the chosen tables among the candidates, then the tables with
    noise, each with its axes by name."""
    parts = _by_name(choice, chosen)
    places = [choice.candidates.index(table) for table in chosen]
    return [places, *(noisy[table].transpose(axes).ravel().tolist() for table, axes in parts)]


def _shaped(choice: TableChoice, values: Sequence[Sequence[Any]]) -> _Answer:
    """The same, as it was released."""
    chosen = tuple(choice.candidates[int(place)] for place in values[0])
    sizes, found = choice.planned.plan.workload.sizes, {}
    for (table, axes), own in zip(_by_name(choice, chosen), values[1:], strict=True):
        stored = np.array(own, dtype=np.int64).reshape([sizes[table[axis]] for axis in axes])
        found[table] = stored.transpose(np.argsort(axes))
    return chosen, found


def _by_name(choice: TableChoice, chosen: tuple[Places, ...]) -> list[tuple[Places, list[int]]]:
    """The tables with noise, and each one's axes in the order of its columns' names."""
    planned = choice.made(chosen)
    workload = planned.plan.workload
    found: list[tuple[Places, list[int]]] = []
    for table, names in planned.in_order:
        if table in planned.plan.variances:
            own = workload.named(table)
            found.append((table, [own.index(name) for name in names]))
    return found
