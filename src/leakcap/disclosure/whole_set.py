"""What a whole set of published tables tells of one person: every cell that counts them, and those around."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from leakcap.bound import Bound
from leakcap.disclosure.cells import CellMethod
from leakcap.disclosure.joint.every_key import by_every_key, few_enough
from leakcap.disclosure.joint.evidence import JointEvidence, told_by_all
from leakcap.disclosure.joint.guesses import TriedGuess, told_by_guessing
from leakcap.disclosure.joint.keyed import RowsByKey, begins_with_keys
from leakcap.disclosure.joint.known import Pair, told_with_known_keys
from leakcap.disclosure.joint.published import CellOf, Mask, TableSet, keys_are_independent
from leakcap.disclosure.joint.siblings import margin_evidence
from leakcap.disclosure.joint.walks import apart_by_walks
from leakcap.disclosure.place import DOUBT, PlaceRisk
from leakcap.errors import require
from leakcap.numeric.logspace import Floats

__all__ = ["WholeSet"]

_MOST_SIBLINGS = 12
_MOST_CELLS = 256
"""Cells of which a rank is computed."""
_NEAR, _MANY_KEYS = 8, 1024
"""How many of the worst places are looked at with all their siblings; half as many where keys are many."""
_COMMON = 48
"""How many margins that are unlike each other are weighed for all other places: of those that most have."""
_ALL = 64

Name: TypeAlias = tuple[object, ...]


class _Beside(NamedTuple):
    """A cell and its margin, which tell more with the cell's siblings; margins of one name tell the same."""

    cell: CellOf
    margin: CellOf
    siblings: tuple[int, ...]
    name: Name


@dataclass(frozen=True, eq=False)
class WholeSet:
    """A set of tables that a method publishes, weighed for a person of any kind, present or absent.

    With cell keys, `keys` is how many there are: each record's is one of 0, …, `keys` − 1. `size` people, a
    household, are present or absent together. Of other methods each published cell has a chance of its own.
    Proofs: docs/theory/cell-keys.md.

    >>> from leakcap.disclosure.rounding import RandomRounding
    >>> by = [("a", "b"), ("a",), ("b",), ()]
    >>> tables = TableSet.of_columns([4, 3, 0, 1], {"a": "xxyy", "b": "uvuv"}, by)
    >>> round(WholeSet(RandomRounding(3), tables).at(0).success().lower, 6)  # 127/162
    0.783951
    """

    method: CellMethod
    tables: TableSet
    keys: int | None = None
    size: int = 1
    _pairs: dict[bytes, Pair] = field(default_factory=dict, repr=False)
    _single: dict[int, int] = field(default_factory=dict, repr=False)
    _joint: dict[tuple[int, ...], JointEvidence] = field(default_factory=dict, repr=False)
    _known: dict[tuple[int, ...], float] = field(default_factory=dict, repr=False)
    _margins: dict[Name, JointEvidence] = field(default_factory=dict, repr=False)
    _together: dict[Name, JointEvidence] = field(default_factory=dict, repr=False)
    _alike: dict[bytes, int] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        whole = isinstance(self.size, int) and not isinstance(self.size, bool)
        require(whole and 1 <= self.size <= 1000, "size", "WholeSet", "be from 1 to 1000 people", self.size)
        if begins_with_keys(self.method):
            rule = "be given: how many different keys a record can have"
            require(self.keys is not None, "keys", "WholeSet", rule, self.keys)
        else:
            rule = "be left out where there are no cell keys"
            require(self.keys is None, "keys", "WholeSet", rule, self.keys)

    @cached_property
    def rows(self) -> RowsByKey | None:
        """What cell keys publish at each key; None for another method."""
        return None if self.keys is None else RowsByKey(self.method, self.keys)

    def at(self, kind: int, near: bool = True, draws: int = 0, seed: int = 0) -> PlaceRisk:
        """What is told of a person of this kind: everything that is published, as an interval.

        `near` looks at the siblings of the person's cells, which takes a second or so. With `draws`, 1,000
        to 10⁷, what is not known exactly has a narrower interval, which holds with probability 1 − 10⁻⁶ over
        draws of our own: a guess is tried on 4 · `draws` publications of each world, `draws` walks go from
        one world to the other, three seconds of CPU a thousand. `seed` is to be chosen beforehand.
        """
        inside = isinstance(kind, int) and 0 <= kind < len(self.tables.counts)
        require(inside, "kind", "WholeSet.at", f"be from 0 to {len(self.tables.counts) - 1}", kind)
        whole = isinstance(draws, int) and not isinstance(draws, bool)
        rule = "be 0, or a whole number from 1,000 to 10^7"
        require(whole and (draws == 0 or 1000 <= draws <= 10**7), "draws", "WholeSet.at", rule, draws)
        whole = isinstance(seed, int) and not isinstance(seed, bool) and seed >= 0
        require(whole, "seed", "WholeSet.at", "be a whole number from 0", seed)
        # The same people have the same key, so that they are one cell; other chance is drawn for each cell.
        cells = self.tables.counting(kind, once=self.rows is not None)
        if self.rows is None or not cells:
            laws = [self._laws(cell.others) for cell in cells]
            told_apart = [both for both in laws if not np.array_equal(*both)]
            told = told_by_all(
                [JointEvidence.of([1.0], [1.0]), *(JointEvidence.of(*both) for both in told_apart)]
            )
            return PlaceRisk(kind, tuple(cells), (told,), (told,), _epsilon(laws, True))
        chosen = self._chosen(kind, cells, self.rows) if near else []
        risk = self._keyed(kind, cells, self.rows, chosen)
        return self._drawn(risk, self.rows, draws, seed) if draws and not risk.exact else risk

    def worst(self, most: int = 20) -> list[PlaceRisk]:
        """The places of which most is told, the worst first; all are weighed, with their siblings.

        Of many places the siblings count where their margin is like that of many others, and at the worst
        places. The order is that of how often the best guess is right, from one half: its lower end.
        """
        tables, count = self.tables.cells.shape
        rule = "be few enough to weigh all: 2^32 kinds × kinds × tables. `at` weighs one place"
        require(tables * count * count <= 1 << 32, "tables", "worst", rule, f"{count:,} kinds of people")
        if count <= _ALL or self.rows is None:
            risks = [self.at(kind) for kind in range(count)]
        else:
            risks = self._many(self.rows)
        risks.sort(key=_worst_first)
        if count > _ALL and self.rows is not None:
            looks = _NEAR if self.rows.keys <= _MANY_KEYS else _NEAR // 2
            risks[:looks] = sorted((self.at(risk.kind) for risk in risks[:looks]), key=_worst_first)
        return risks[:most]

    def _many(self, rows: RowsByKey) -> list[PlaceRisk]:
        """All places; of their margins those are weighed that are like most others."""
        cells = [self.tables.counting(kind) for kind in range(len(self.tables.counts))]
        chosen = [self._chosen(kind, own, rows) for kind, own in enumerate(cells)]
        found = Counter(one.name for beside in chosen for one in beside)
        looks = _COMMON if rows.keys <= _MANY_KEYS else _COMMON // 2
        common = {name for name, _ in sorted(found.items(), key=lambda one: (-one[1], one[0]))[:looks]}
        return [
            self._keyed(kind, own, rows, beside, common) if own else self.at(kind)
            for kind, (own, beside) in enumerate(zip(cells, chosen, strict=True))
        ]

    def _keyed(
        self,
        kind: int,
        cells: list[CellOf],
        rows: RowsByKey,
        chosen: Sequence[_Beside],
        weighed: Container[Name] | None = None,
    ) -> PlaceRisk:
        """What is told where there are cell keys; of the margins chosen those `weighed`, or all."""
        laws = [_law_pair(self._pair(cell.others)) for cell in cells]
        if few_enough(self.tables, rows.keys):
            told = by_every_key(self.tables, kind, rows.row, rows.keys, self.size)
            return PlaceRisk(kind, tuple(cells), (told,), (told,), _epsilon(laws, False))
        free = self._independent(cells, rows.keys)
        alone = self._all_of([self._number(cell.others) for cell in free])
        if len(free) < len(cells):
            # Keys that follow from others: no bound but that presence itself is told.
            return PlaceRisk(kind, tuple(cells), (alone,), (alone.at_most(1.0),), _epsilon(laws, False))
        if self._all_independent and self.tables.apart(kind, cells):
            return PlaceRisk(kind, tuple(cells), (alone,), (alone,), _epsilon(laws, True))
        less, more = [alone], [alone.at_most(self._with_known_keys(kind, cells))]
        pairs = [one for one in chosen if weighed is None or one.name in weighed]
        if pairs:
            less.append(self._beside(cells, rows, pairs))
            if len(pairs) == len(chosen) and self._nothing_else(kind, cells, pairs, rows.keys):
                more.append(less[-1])
        return PlaceRisk(kind, tuple(cells), tuple(less), tuple(more), _epsilon(laws, False))

    def _drawn(self, risk: PlaceRisk, rows: RowsByKey, draws: int, seed: int) -> PlaceRisk:
        """The same, and what is found by drawing keys; where nobody else is of the kind, from below alone."""
        kind, generator = risk.kind, np.random.default_rng(seed)
        guess = TriedGuess(self.tables, kind, rows, self.size)
        least = told_by_guessing(guess, 4 * draws, DOUBT / 2, generator)
        less, more = [*risk.less, least], risk.more
        if self.tables.counts[kind]:
            apart = apart_by_walks(self.tables, kind, rows, self.size, draws, DOUBT / 2, generator)
            more = (*more, least.at_most(apart))
        return replace(risk, less=tuple(less), more=more, doubt=DOUBT)

    def _independent(self, cells: Sequence[CellOf], keys: int) -> list[CellOf]:
        """Cells whose keys are independent: all, or as many as the smallest leave."""
        if keys_are_independent([cell.people for cell in cells if cell.others], keys):
            return list(cells)
        chosen: list[CellOf] = []
        for cell in sorted(cells, key=lambda one: one.others):
            if keys_are_independent([one.people for one in (*chosen, cell) if one.others], keys):
                chosen.append(cell)
        return chosen

    @cached_property
    def _all_independent(self) -> bool:
        if self.keys is None or self.tables.cells_counted > _MOST_CELLS:
            return False
        return keys_are_independent(self.tables.different, self.keys)

    def _chosen(self, kind: int, cells: list[CellOf], rows: RowsByKey) -> list[_Beside]:
        """Pairs of a cell and its margin whose keys, and those of the cell's siblings, are independent."""
        own = [cell for cell in cells if cell.others]
        if len(cells) < 2 or not keys_are_independent([cell.people for cell in own], rows.keys):
            return []
        found = []
        for cell in cells:
            for margin in cells:
                siblings = self.tables.siblings(kind, cell, margin)
                if siblings is not None:
                    counts = tuple(self.tables.counted(cell.table, siblings))
                    full = sum(map(bool, counts))
                    if 1 <= full <= _MOST_SIBLINGS:
                        name = (self._number(cell.others), self._number(margin.others), self._like(counts))
                        found.append((full, _Beside(cell, margin, counts, name)))
        found.sort(key=lambda one: (one[0], one[1].cell.others))
        people = [cell.people for cell in own]
        chosen: list[_Beside] = []
        for _, one in found:
            used = [cell for other in chosen for cell in (other.cell, other.margin)]
            if any(mine is cell for mine in (one.cell, one.margin) for cell in used):
                continue
            # The margin's key is the sum of the others: it is told by them, and counts no further.
            more = [mask for mask in people if mask is not one.margin.people] + self._masks(kind, one)
            if keys_are_independent(more, rows.keys):
                people = more
                chosen.append(one)
        return chosen

    def _masks(self, kind: int, pair: _Beside) -> list[Mask]:
        """Who is in the siblings of a pair's cell, of those that are not empty."""
        siblings = self.tables.siblings(kind, pair.cell, pair.margin)
        assert siblings is not None
        table, full = self.tables.cells[pair.cell.table], self.tables.counts > 0
        return [
            (table == number) & full for number, count in zip(siblings, pair.siblings, strict=True) if count
        ]

    def _beside(self, cells: list[CellOf], rows: RowsByKey, pairs: Sequence[_Beside]) -> JointEvidence:
        """What pairs tell, each with its cell's siblings, together with the person's other cells."""
        used = [cell for one in pairs for cell in (one.cell, one.margin)]
        rest = [one for one in cells if all(one is not other for other in used)]
        names = [one.name for one in pairs]
        key = (*sorted(names, key=repr), *sorted(self._number(one.others) for one in rest))
        if key not in self._together:
            parts = [self._margin(rows, one) for one in pairs]
            parts += [self._all_of([self._number(one.others)]) for one in rest]
            self._together[key] = told_by_all(parts)
        return self._together[key]

    def _nothing_else(self, kind: int, cells: list[CellOf], pairs: Sequence[_Beside], keys: int) -> bool:
        """Whether all other published cells have keys that are independent of these."""
        if self.tables.cells_counted > _MOST_CELLS or not self.tables.apart(kind, cells):
            return False
        margins = [one.margin.people for one in pairs]
        people = [one.people for one in cells if one.others and all(one.people is not m for m in margins)]
        people += [mask for one in pairs for mask in self._masks(kind, one)]
        known = {np.packbits(one).tobytes() for one in (*people, *(cell.people for cell in cells))}
        others = [one for one in self.tables.different if np.packbits(one).tobytes() not in known]
        return keys_are_independent([*people, *others], keys)

    def _margin(self, rows: RowsByKey, pair: _Beside) -> JointEvidence:
        if pair.name not in self._margins:
            self._margins[pair.name] = margin_evidence(rows, pair.cell.others, pair.siblings, self.size)
        return self._margins[pair.name]

    def _like(self, counts: Sequence[int]) -> tuple[int, ...]:
        """Which keys show the same of each sibling that is not empty: those alike have one number."""
        rows = self.rows
        assert rows is not None
        shown = (np.unique(rows.row(count), return_inverse=True)[1].tobytes() for count in counts if count)
        return tuple(sorted(self._alike.setdefault(one, len(self._alike)) for one in shown))

    def _with_known_keys(self, kind: int, cells: list[CellOf]) -> float:
        numbers, alone = sorted(self._number(cell.others) for cell in cells), not self.tables.counts[kind]
        key = (*numbers, int(alone))
        if key not in self._known:
            pairs = list(self._pairs.values())
            self._known[key] = told_with_known_keys([pairs[number] for number in numbers], alone)
        return self._known[key]

    def _all_of(self, numbers: list[int]) -> JointEvidence:
        """Cells with these laws and independent keys, together."""
        ordered = tuple(sorted(numbers))
        if ordered not in self._joint:
            pairs = list(self._pairs.values())
            own = JointEvidence.of(*_law_pair(pairs[ordered[-1]]))
            self._joint[ordered] = own if len(ordered) == 1 else self._all_of(list(ordered[:-1])) & own
        return self._joint[ordered]

    def _number(self, others: int) -> int:
        """Which of the different laws that of a cell with so many others is."""
        rows = self.rows
        assert rows is not None
        if others not in self._single:
            absent, present = rows.row(others), rows.row(others + self.size)
            shown = np.unique(np.concatenate([absent, present]), return_inverse=True)[1].ravel()
            pair = Pair(shown[: rows.keys], shown[rows.keys :], others > 0)
            name = shown.tobytes() + bytes([others > 0])
            self._pairs.setdefault(name, pair)
            self._single[others] = list(self._pairs).index(name)
        return self._single[others]

    def _pair(self, others: int) -> Pair:
        number = self._number(others)
        return list(self._pairs.values())[number]

    def _laws(self, others: int) -> tuple[Floats, Floats]:
        """How likely each published value of a cell is, without and with the person."""
        laws = self.method.law(others), self.method.law(others + self.size)
        shown = list(laws[0] | laws[1])
        absent, present = ([float(law.get(one, Fraction(0))) for one in shown] for law in laws)
        return np.array(absent), np.array(present)


def _worst_first(risk: PlaceRisk) -> tuple[float, float, int]:
    found = risk.success()
    return -found.lower, -found.upper, risk.kind


def _law_pair(pair: Pair) -> tuple[Floats, Floats]:
    size = int(max(pair.absent.max(), pair.present.max())) + 1
    absent = pair.absent if pair.people else np.repeat(pair.absent[0], pair.keys)
    ways = (np.bincount(row, minlength=size) for row in (absent, pair.present))
    first, second = (each / pair.keys for each in ways)
    return first, second


def _epsilon(laws: Sequence[tuple[Floats, Floats]], independent: bool) -> Bound:
    """The ε of all cells: of independent ones the sum; of others at least that of the worst."""
    directions = [0.0, 0.0]
    worst = 0.0
    for absent, present in laws:
        if ((absent > 0) != (present > 0)).any():
            return Bound(math.inf, math.inf, "a published value proves presence or absence")
        told = np.log(present[absent > 0] / absent[absent > 0])
        for place, sign in enumerate((1.0, -1.0)):
            directions[place] += max(0.0, float((sign * told).max()))
            worst = max(worst, float((sign * told).max()))
    if independent:
        total = max(directions)
        return Bound(max(0.0, total - 1e-12), total + 1e-12, "a sum over the cells")
    return Bound(max(0.0, worst - 1e-12), math.inf, "the worst cell alone")
