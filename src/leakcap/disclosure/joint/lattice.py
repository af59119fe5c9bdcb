"""Tables of the same people under cell keys, with all margins: the exact channel of small ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from leakcap.channel import Channel
from leakcap.disclosure.cells import CellMethod, Shown
from leakcap.disclosure.joint.margin import checked_count
from leakcap.disclosure.joint.published import Mask, Numbers, TableSet, keys_are_independent
from leakcap.disclosure.joint.showing import (
    Outcome,
    Showing,
    add_law,
    channel_of_laws,
    require_chances,
    showing,
)
from leakcap.errors import require

__all__ = ["lattice_channel"]

_VERB = "lattice_channel"
_MOST_OUTCOMES, _MOST_STATES, _MOST_STEPS = 1 << 15, 1 << 22, 1 << 26
_TOGETHER = 1 << 20
"""How many sums are looked at together."""
_FEW_NAMES, _MOST_NAMES = 1 << 22, 1 << 60
"""Up to how many numbers of states counting is quicker than sorting; from where on they are numbered anew."""
_FEW_KINDS, _FIRST_KINDS = 64, 8
_REMEDY = "`WholeSet(…).at(kind)` gives an interval for larger tables"


def lattice_channel(
    perturbation: Sequence[Sequence[int]] | CellMethod,
    tables: TableSet,
    worlds: Mapping[str, Sequence[tuple[Fraction, Mapping[int, int]]]],
    *,
    keys: int | None = None,
) -> Channel:
    """The exact channel from what is asked about some people to all cells of tables that overlap.

    `perturbation` and `keys` are as for `tree_channel`. `tables` has the people whom the attacker knows, by
    kind, and which cells count them: a cross table with all its margins, hierarchies, versions. `worlds` are
    the secrets: for each its chances, and how many people it adds to which kinds, by their numbers.

    Rows are the worlds, in fractions; an output has the cells table by table. The keys of kinds are added up
    one kind after another; what is held is each number of the sums that are open. Raises `InvalidParameter`
    for chances that do not add up to one, kinds that there are not, and where more than 4,194,304 sums would
    be held, 67,108,864 looked at, or 32,768 outcomes listed: exactness takes more sums than can be held for
    all but small tables. Proof: docs/theory/cell-keys.md.

    >>> from leakcap.disclosure import TableSet, all_margins
    >>> rows = {"sex": "ffmm", "age": ["young", "old"] * 2}
    >>> tables = TableSet.of_columns([1, 1, 1, 0], rows, all_margins(["sex", "age"]))
    >>> worlds = {"absent": [(Fraction(1), {})], "present": [(Fraction(1), {0: 1})]}
    >>> told = lattice_channel([[0] * 4, [-1, 0, 0, 1]], tables, worlds)
    >>> told.shape[0], float(abs(told.matrix[0] - told.matrix[1]).sum() / 2)
    (2, 0.8125)
    """
    published = showing(perturbation, keys, _VERB)
    found: list[dict[Outcome, Fraction]] = []
    for added in worlds.values():
        require_chances("worlds", [chance for chance, _ in added], _VERB)
        law: dict[Outcome, Fraction] = {}
        for chance, more in added:
            counts = tables.counts.copy()
            for kind, count in more.items():
                inside = isinstance(kind, int) and not isinstance(kind, bool) and 0 <= kind < len(counts)
                require(inside, "worlds", _VERB, f"add people to kinds from 0 to {len(counts) - 1}", kind)
                counts[kind] += checked_count("worlds", count, _VERB)
            add_law(law, _law(published, tables, counts), chance)
        found.append(law)
    return channel_of_laws(tuple(worlds), found)


@dataclass(frozen=True, eq=False)
class _Cell:
    """A published cell: the kinds in it, and what it shows at each sum of their keys."""

    place: int
    kinds: frozenset[int]
    values: list[Shown]
    ways: np.ndarray
    """How likely each of the values (row) is shown at each sum (column), times a divisor."""

    @cached_property
    def only(self) -> Numbers | None:
        """The number of the one value that each sum shows; None where chance is drawn."""
        certain = (self.ways == 1).sum() == self.ways.shape[1] == (self.ways != 0).sum()
        return (self.ways == 1).argmax(axis=0) if certain else None


@dataclass(frozen=True, eq=False)
class _States:
    """What is held: so many ways to each of the open sums, apart by what cells that are full have shown."""

    sums: dict[int, Numbers]
    shown: Numbers
    ways: np.ndarray


@dataclass(frozen=True, eq=False)
class _Sums:
    """The keys of all kinds, added up one kind after another."""

    cells: list[_Cell]
    keys: int
    small: bool
    """Whether all numbers of ways are exact in doubles."""
    outcomes: list[list[Shown]]
    """For each number of an outcome what has been shown, in the order in which cells became full."""
    full: list[int]

    def begun(self) -> _States:
        """Before the first key is drawn: empty cells have the key 0."""
        one = np.ones(1, dtype=np.int64 if self.small else object)
        empty = [cell for cell in self.cells if not cell.kinds]
        start = _States(
            {cell.place: np.zeros(1, dtype=np.int64) for cell in empty}, np.zeros(1, dtype=np.int64), one
        )
        return self._joined([self._shown(start, empty)], empty)

    def with_key(self, states: _States, kind: int, left: frozenset[int]) -> _States:
        """Another kind's key, each equally likely, joins the sums of its cells, full without `left`."""
        touched = [cell for cell in self.cells if kind in cell.kinds]
        ended = [cell for cell in touched if not left & cell.kinds]
        step = max(1, _TOGETHER // self.keys)
        parts = []
        for start in range(0, len(states.ways), step):
            some = slice(start, start + step)
            count = len(states.ways[some])
            drawn = np.tile(np.arange(self.keys, dtype=np.int64), count)
            sums = {place: np.repeat(own[some], self.keys) for place, own in states.sums.items()}
            for cell in touched:
                own = sums.get(cell.place)
                sums[cell.place] = drawn if own is None else (own + drawn) % self.keys
            shown, ways = (np.repeat(own[some], self.keys) for own in (states.shown, states.ways))
            parts.append(self._shown(_States(sums, shown, ways), ended))
            held = sum(len(part.ways) for part in parts)
            if held > _MOST_STATES:
                _refused(f"{held:,} sums or more")
        return self._joined(parts, ended)

    def _shown(self, states: _States, ended: Sequence[_Cell]) -> _States:
        """Full cells: their sums are no longer held, what they show is, as digits of the outcome's number."""
        sums, shown, ways = dict(states.sums), states.shown, states.ways
        for cell in ended:
            own = sums.pop(cell.place)
            if cell.only is not None:
                shown = shown * len(cell.values) + cell.only[own]
                continue
            parts = [(value, np.flatnonzero(row[own] != 0)) for value, row in enumerate(cell.ways)]
            value = np.concatenate([np.full(len(rows), number) for number, rows in parts])
            rows = np.concatenate([rows for _, rows in parts])
            ways = ways[rows] * cell.ways[value, own[rows]].astype(ways.dtype)
            shown = shown[rows] * len(cell.values) + value
            sums = {place: other[rows] for place, other in sums.items()}
        return self._together(_States(sums, shown, ways))

    def _together(self, states: _States) -> _States:
        """States that are alike become one."""
        name, size = states.shown, int(states.shown.max(initial=0)) + 1
        for own in states.sums.values():
            if size * self.keys >= _MOST_NAMES:
                known, name = np.unique(name, return_inverse=True)
                name, size = name.ravel(), len(known)
            name, size = name * self.keys + own, size * self.keys
        if self.small and size <= _FEW_NAMES:
            total = np.bincount(name, states.ways, minlength=size)
            first = np.zeros(size, dtype=np.int64)
            first[name] = np.arange(len(name))
            there = np.flatnonzero(total)
            chosen, ways = first[there], total[there].astype(np.int64)
        else:
            _, chosen, inverse = np.unique(name, return_index=True, return_inverse=True)
            ways = np.zeros(len(chosen), dtype=states.ways.dtype)
            np.add.at(ways, inverse.ravel(), states.ways)
        return _States({place: own[chosen] for place, own in states.sums.items()}, states.shown[chosen], ways)

    def _joined(self, parts: Sequence[_States], ended: Sequence[_Cell]) -> _States:
        """All parts, with outcomes numbered anew: those that there are."""
        known, shown = np.unique(np.concatenate([part.shown for part in parts]), return_inverse=True)
        rule = f"leave at most {_MOST_OUTCOMES:,} outcomes to list; {_REMEDY}"
        require(len(known) <= _MOST_OUTCOMES, "tables", _VERB, rule, f"{len(known):,}")
        before = list(self.outcomes)
        digits: list[list[Shown]] = []
        left = known
        for cell in reversed(ended):
            left, own = np.divmod(left, len(cell.values))
            digits.insert(0, [cell.values[one] for one in own.tolist()])
        self.outcomes[:] = [
            [*before[number], *(own[place] for own in digits)] for place, number in enumerate(left.tolist())
        ]
        self.full.extend(cell.place for cell in ended)
        sums = {place: np.concatenate([part.sums[place] for part in parts]) for place in parts[0].sums}
        whole = _States(sums, shown.ravel(), np.concatenate([part.ways for part in parts]))
        return whole if len(parts) == 1 else self._together(whole)


def _law(published: Showing, tables: TableSet, counts: Numbers) -> dict[Outcome, Fraction]:
    """How likely each outcome is, of people whose numbers are certain."""
    cells, divisor = _cells(published, tables, counts)
    kinds = _in_order(cells, np.flatnonzero(counts).tolist())
    total = divisor * published.keys ** len(kinds)
    _few_enough(cells, kinds, published.keys)
    adding = _Sums(cells, published.keys, total <= 1 << 53, [[]], [])
    states = adding.begun()
    for step, kind in enumerate(kinds):
        if len(states.ways) * published.keys > _MOST_STEPS:
            _refused(f"{len(states.ways):,} sums, each with {published.keys:,} keys")
        states = adding.with_key(states, kind, frozenset(kinds[step + 1 :]))
    places = np.argsort(adding.full).tolist()
    law: dict[Outcome, Fraction] = {}
    for number, ways in zip(states.shown.tolist(), states.ways.tolist(), strict=True):
        law[tuple(adding.outcomes[number][place] for place in places)] = Fraction(int(ways), total)
    return law


def _few_enough(cells: Sequence[_Cell], kinds: Sequence[int], keys: int) -> None:
    """Refuse at once where independent sums alone, after a few kinds, are too many."""
    for step in range(1, min(len(kinds), _FIRST_KINDS)):
        before = kinds[:step]
        independent: list[Mask] = []
        for some in sorted(_open(cells, frozenset(before)), key=lambda one: (len(one), sorted(one))):
            mask = np.array([kind in some for kind in before])
            if keys_are_independent([*independent, mask], keys):
                independent.append(mask)
        if keys ** len(independent) > _MOST_STATES:
            sums = f"at least {keys:,}^{len(independent)} = {keys ** len(independent):,} sums"
            _refused(f"{sums} after {step} of {len(kinds):,} kinds of people")


def _refused(got: str) -> None:
    rule = f"leave at most {_MOST_STATES:,} sums of keys to hold and {_MOST_STEPS:,} to look at; {_REMEDY}"
    require(False, "tables", _VERB, rule, got)


def _cells(published: Showing, tables: TableSet, counts: Numbers) -> tuple[list[_Cell], int]:
    """The cells table by table, and the divisor of all that they show together."""
    found: list[_Cell] = []
    total = 1
    for row in tables.cells:
        for number in np.unique(row[row >= 0]).tolist():
            inside = row == number
            count = int(counts[inside].sum())
            shares, divisor = published.shares([count])
            total *= divisor
            ways = np.array([rows[count] for rows in shares.values()])
            kinds = frozenset(np.flatnonzero(inside & (counts > 0)).tolist())
            found.append(_Cell(len(found), kinds, list(shares), ways))
    return found, total


def _in_order(cells: Sequence[_Cell], kinds: Sequence[int]) -> list[int]:
    """An order of the kinds that leaves few sums open: next is a kind after which the fewest are."""
    left, chosen = list(kinds), list[int]()
    if len(kinds) > _FEW_KINDS:
        return left
    while left:
        kind = min(left, key=lambda one: (len(_open(cells, frozenset({*chosen, one}))), one))
        left.remove(kind)
        chosen.append(kind)
    return chosen


def _open(cells: Sequence[_Cell], before: frozenset[int]) -> set[frozenset[int]]:
    """Which different sums of these kinds' keys are in cells that others are in, too."""
    return {cell.kinds & before for cell in cells if cell.kinds - before} - {frozenset()}
