"""Several statistics from one reading of the table.

Plans over the same cells and the same condition are answered by one statement, which returns the totals of
all of them side by side. What each plan gets, and what noise is added to it, is the same as if it were alone.

Private keys may be very many, most of which are never released. They come from the engine some thousands at a
time; each of these gets its noise, and what the threshold leaves out is forgotten before the next ones come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leakcap.release.conditions.condition import to_text
from leakcap.release.engine import Columns, Engine, SqlStatement
from leakcap.release.measurements.thresholds import appearing
from leakcap.release.numbers.exact_integers import ExactIntegers, clipped, exact_integers
from leakcap.release.plan import Plan
from leakcap.release.planning.plan import text_of
from leakcap.release.planning.statements import select_of
from leakcap.release.query import QueryFields
from leakcap.sampling import ByteSource

__all__ = ["Drawn", "Found", "Scan", "WrittenStatements", "in_order", "read_totals", "scans_of"]


class Found(NamedTuple):
    """The codes of the cells that came back, and for each part the exact total of every cell: of all, where
    keys are public. Neither is private yet.
    """

    codes: tuple[NDArray[Any], ...]
    totals: list[ExactIntegers]


class Drawn(NamedTuple):
    """For each part the noisy integer of every cell, and the codes of the cells that came back. Where keys
    are private it is only the cells that are released, in the order of their keys.
    """

    codes: tuple[NDArray[Any], ...]
    noisy: list[ExactIntegers]


@dataclass(frozen=True)
class Scan:
    """One statement, the plans that it answers, and for each of them its places in a batch."""

    places: tuple[tuple[int, ...], ...]
    plans: tuple[Plan, ...]
    statement: SqlStatement

    def run(self, engine: Engine) -> dict[int, Found]:
        """For each place the exact totals of the plan's parts, cell by cell. They are not private yet."""
        return self._read(in_order(self.plans[0], engine.run(self.statement)))

    def draw(self, engine: Engine, source: ByteSource) -> dict[int, Drawn]:
        """For each place its noisy integers. The query has to be paid before."""
        if not self.plans[0].cells.open:
            found = self.run(engine)
            return {place: _drawn(self._plan(place), one, source) for place, one in found.items()}
        pieces: dict[int, list[Drawn]] = {}

        def take(columns: Columns) -> None:
            for place, one in self._read(columns).items():
                pieces.setdefault(place, []).append(_released(self._plan(place), one, source))

        engine.hand(self.statement, take)
        return {place: _joined(self._plan(place), own) for place, own in pieces.items()}

    def _plan(self, place: int) -> Plan:
        """That of a place."""
        return next(plan for own, plan in zip(self.places, self.plans, strict=True) if place in own)

    def _read(self, columns: Columns) -> dict[int, Found]:
        """For each place its own part of what came back."""
        first = self.plans[0]
        codes, before = _codes_of(first, columns), 0
        cells = None if first.cells.open else first.cells.places(codes)
        totals: dict[int, Found] = {}
        for places, plan in zip(self.places, self.plans, strict=True):
            found = Found(codes, read_totals(plan, columns, cells, before=before))
            totals |= dict.fromkeys(places, found)
            before += len(plan.parts)
        return totals


def _codes_of(plan: Plan, found: Columns) -> tuple[NDArray[Any], ...]:
    """The codes of the cells that came back, column by column."""
    return found.arrays[: len(plan.cells.axes)]


def in_order(plan: Plan, found: Columns) -> Columns:
    """With cells of private keys in the order of the keys: nothing of what the table says but them."""
    if not plan.cells.open:
        return found
    order = _order(_codes_of(plan, found))
    return Columns(tuple(column[order] for column in found.arrays))


def _order(keys: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """The indices that sort the rows by their keys, the first column first; no two rows have the same keys.

    >>> _order([np.array([2, 1, 1]), np.array(["a", "b", "a"], dtype=object)]).tolist()
    [2, 1, 0]
    """
    if all(column.dtype.kind in "ib" for column in keys):
        return np.lexsort(keys[::-1])
    rows: list[Any] = keys[0].tolist()
    if len(keys) > 1:
        rows = list(zip(*(column.tolist() for column in keys), strict=True))
    return np.array(sorted(range(len(rows)), key=rows.__getitem__), dtype=np.int64)


def read_totals(
    plan: Plan, found: Columns, places: NDArray[np.int64] | None = None, *, before: int = 0
) -> list[ExactIntegers]:
    """For each part the clamped total of every cell: of all public ones, or of those that came back.

    The totals stand after the cells' codes and `before` totals of other plans. `places` gives the cell of
    each row of public keys, where another plan has worked it out already.
    """
    codes = _codes_of(plan, found)
    first = len(codes) + before
    totals = [exact_integers(column) for column in found.arrays[first : first + len(plan.parts)]]
    if not plan.cells.open:
        own = plan.cells.places(codes) if places is None else places
        totals = _placed(own, totals, plan.cells.size)
    return [clipped(total, part.total) for total, part in zip(totals, plan.parts, strict=True)]


def _placed(places: NDArray[np.int64], columns: Sequence[ExactIntegers], size: int) -> list[ExactIntegers]:
    """The totals where their cells are, and 0 elsewhere."""
    listed = places >= 0
    found = []
    for column in columns:
        total = np.zeros(size, dtype=column.dtype)
        total[places[listed]] = column[listed]
        found.append(total)
    return found


def _drawn(plan: Plan, found: Found, source: ByteSource) -> Drawn:
    """With noise on every cell."""
    noisy = [part.draw(exact, source) for part, exact in zip(plan.parts, found.totals, strict=True)]
    return Drawn(found.codes, noisy)


def _released(plan: Plan, found: Found, source: ByteSource) -> Drawn:
    """With noise, and without the cells that do not reach the threshold."""
    drawn = _drawn(plan, found, source)
    kept = appearing(plan.parts, drawn.noisy)
    return Drawn(tuple(one[kept] for one in drawn.codes), [one[kept] for one in drawn.noisy])


def _joined(plan: Plan, pieces: Sequence[Drawn]) -> Drawn:
    """All pieces as one, in the order of the keys: that in which they came says how the table is stored."""
    columns = [np.concatenate(own) for own in zip(*((*one.codes, *one.noisy) for one in pieces), strict=True)]
    ordered = in_order(plan, Columns(tuple(columns))).arrays
    keys = len(plan.cells.axes)
    return Drawn(ordered[:keys], [exact_integers(one) for one in ordered[keys:]])


class WrittenStatements:
    """Statements that were written out for one engine under one policy, by what they ask.

    To write one takes longer than many a table takes to answer it, and the same is asked by the next analyst,
    or at another price.
    """

    def __init__(self, most: int = 256) -> None:
        self._most = most
        self._known: dict[object, SqlStatement] = {}

    def of(self, plans: Sequence[Plan], engine: Engine, seed: str) -> SqlStatement:
        """The statement of these plans; the least recently asked is forgotten."""
        key = (seed, tuple(map(_asked, plans)))
        found = self._known.pop(key, None) or engine.write(select_of(plans, seed))
        self._known[key] = found
        if len(self._known) > self._most:
            del self._known[next(iter(self._known))]
        return found


def _asked(plan: Plan) -> object:
    """What a plan's part of a statement is made of: under one policy its text says all but the grid, which
    may hang on the price."""
    aggregates = tuple(part.aggregate for part in plan.parts)
    return text_of(plan), plan.people_from, plan.bounded, plan.grid, plan.centre, aggregates


def scans_of(
    plans: Sequence[Plan], engine: Engine, seed: str = "", written: WrittenStatements | None = None
) -> list[Scan]:
    """The plans in as few statements as can be, written out for this engine unless they are among the
    `written` ones. Touches no rows.

    >>> import pyarrow
    >>> from leakcap.release import Query, attach, load_policy
    >>> from leakcap.release.planning.plan import plan_query
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"age": {"bounds": [0.0, 128.0]}}})
    >>> plans = [plan_query(Query(name=s, statistic=s, column=c, epsilon=0.5), policy)
    ...     for s, c in (("count", None), ("sum", "age"))]
    >>> engine = attach(pyarrow.table({"age": [31.0, 45.0]}))
    >>> [scan.places for scan in scans_of(plans, engine)]
    [((0,), (1,))]
    """
    scans: dict[object, dict[QueryFields, list[int]]] = {}
    for place, plan in enumerate(plans):
        same = replace(plan.query, name="any")
        scans.setdefault(_sort(plan), {}).setdefault(same, []).append(place)
    known = WrittenStatements() if written is None else written
    found = []
    for alike in scans.values():
        places = tuple(map(tuple, alike.values()))
        chosen = tuple(plans[same[0]] for same in places)
        found.append(Scan(places, chosen, known.of(chosen, engine, seed)))
    return found


def _sort(plan: Plan) -> object:
    """What plans must have in common to share a statement."""
    condition = None if plan.condition is None else to_text(plan.condition)
    axes = tuple(
        (axis.column, axis.kind, tuple(axis.labels.items()), axis.tree, axis.within, axis.paths)
        for axis in plan.cells.axes
    )
    by = len(plan.query.by) if plan.policy.groups_per_unit < plan.policy.rows_per_unit else 0
    return condition, axes, plan.bounded, plan.beyond, plan.each_person, by, plan.query.join, plan.people_from
