"""Secondary suppression of a two-way table: cells that are left out besides, so that sums tell nothing."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from leakcap.disclosure.known_sums import KnownSum, KnownSums
from leakcap.disclosure.whole.method import Table, WholeMethod, and_margins, two_way
from leakcap.errors import InvalidInput, require

__all__ = ["SecondarySuppression"]

_JOINTLY = 6_000
_OWNER = "SecondarySuppression"


@dataclass(frozen=True)
class SecondarySuppression(WholeMethod[Table]):
    """Counts from 1 to `below` − 1 are left out, and others besides, at the least sum of counts left out.

    Of each such small count a table must agree with what is published in which it is larger by `protect`,
    and one in which it is smaller by that, or 0: nobody can say more of it who knows no rule. Zeros and the
    total are always published, unless nothing protects the table: then nothing is. Chosen by HiGHS, for all
    small counts together or, in large tables, one after the other; what is chosen is checked in fractions.
    Nothing is left to chance. Source: Cox 1980; Fischetti & Salazar 2001; τ-ARGUS' Optimal and Modular.

    >>> SecondarySuppression(below=5).shown(((20, 3, 10), (8, 1, 26), (2, 14, 9)))[0]
    (20, None, None, 33)
    """

    below: int
    protect: int = 1

    def __post_init__(self) -> None:
        for name, value in (("below", self.below), ("protect", self.protect)):
            whole = isinstance(value, int) and not isinstance(value, bool)
            require(whole and 1 <= value <= 1000, name, _OWNER, "be a whole number from 1 to 1000", value)

    def law(self, data: Table) -> dict[Hashable, Fraction]:
        """The published table, for sure."""
        return {self.shown(data): Fraction(1)}

    def shown(self, table: Table) -> tuple[tuple[int | None, ...], ...]:
        """What is published, with margins; None for what is left out."""
        full, hidden = np.array(and_margins(two_way(table, _OWNER))), self.hidden(table)
        return tuple(
            tuple(None if (r, c) in hidden else int(one) for c, one in enumerate(row))
            for r, row in enumerate(full)
        )

    def hidden(self, table: Table) -> frozenset[tuple[int, int]]:
        """The places that are left out, the last row and column being the margins."""
        full = np.array(and_margins(two_way(table, _OWNER)))
        counts, columns = full.ravel(), full.shape[1]
        inner = [at for at in range(counts.size - columns) if (at + 1) % columns]
        small = [at for at in inner if 0 < counts[at] < self.below]
        margins = [at for at in range(counts.size - 1) if at not in set(inner)]
        small += [at for at in margins if 0 < counts[at] < self.below]
        chosen: set[int] | None = set(small)
        size = counts.size * len(small) * 2
        for group in [small] if size <= _JOINTLY else [[one] for one in small]:
            if group and chosen is not None:
                more = self._chosen(full, group, chosen)
                chosen = None if more is None else chosen | more
        if chosen is None or not self._protected(full, small, chosen):
            chosen = set(range(counts.size))
        return frozenset((at // columns, at % columns) for at in chosen)

    def _chosen(self, full: np.ndarray, small: Sequence[int], given: set[int]) -> set[int] | None:
        """The cheapest cells that protect these, besides what is given; None where there are none."""
        counts, size = full.ravel(), full.size
        flows = [(at, way) for at in small for way in (1, -1)]
        total = size * (1 + len(flows))
        free = (counts > 0) & (np.arange(size) < size - 1)
        lows, highs = np.zeros(total), np.concatenate([free.astype(float), np.zeros(size * len(flows))])
        cost = np.concatenate([counts * (size + 1) + np.arange(size) / size, np.zeros(size * len(flows))])
        lows[list(given)] = 1.0
        rows, ends = list[tuple[list[int], list[float]]](), list[tuple[float, float]]()
        lines = _lines(full.shape)
        for number, (at, way) in enumerate(flows):
            first = size * (1 + number)
            up, down = np.full(size, self.protect), np.minimum(counts, self.protect)
            lows[first : first + size], highs[first : first + size] = -down, up
            lows[first + at] = highs[first + at] = up[at] if way > 0 else -down[at]
            for cells, signs in lines:
                rows.append(([first + cell for cell in cells], [float(sign) for sign in signs]))
                ends.append((0.0, 0.0))
            for cell in range(size):
                rows += [([first + cell, cell], [1.0, -float(up[cell])])]
                rows += [([first + cell, cell], [1.0, float(down[cell])])]
                ends += [(-np.inf, 0.0), (0.0, np.inf)]
        places = np.repeat(np.arange(len(rows)), [len(cells) for cells, _ in rows])
        matrix = csr_array(
            (
                [one for _, values in rows for one in values],
                (places, [c for cells, _ in rows for c in cells]),
            ),
            shape=(len(rows), total),
        )
        kind = np.concatenate([np.ones(size), np.zeros(size * len(flows))])
        limits = np.array(ends)
        found = milp(
            cost,
            constraints=LinearConstraint(matrix, limits[:, 0], limits[:, 1]),
            integrality=kind,
            bounds=Bounds(lows, highs),
            options={"mip_rel_gap": 0.0},
        )
        return None if found.x is None else {int(at) for at in np.flatnonzero(found.x[:size] > 0.5)}

    def _protected(self, full: np.ndarray, small: Sequence[int], chosen: set[int]) -> bool:
        """Whether tables agree that have each of these larger, and smaller, as it must be: proved."""
        counts, places = full.ravel(), {at: number for number, at in enumerate(sorted(chosen))}
        sums = []
        for cells, signs in _lines(full.shape):
            own = [(places[cell], sign) for cell, sign in zip(cells, signs, strict=True) if cell in places]
            rest = -sum(
                sign * int(counts[cell])
                for cell, sign in zip(cells, signs, strict=True)
                if cell not in places
            )
            sums.append(KnownSum([one for one, _ in own], [one for _, one in own], rest, rest))
        for at in small:
            least, most = max(0, int(counts[at]) - self.protect), int(counts[at]) + self.protect
            for end in (least, most):
                between: list[tuple[int, int | None]] = [(0, None)] * len(places)
                between[places[at]] = (end, end)
                try:
                    (found,) = KnownSums(sums, between).ranges([places[at]])
                except InvalidInput:
                    return False
                if found.attained != (True, True):
                    return False
        return True


def _lines(shape: tuple[int, ...]) -> list[tuple[list[int], list[int]]]:
    """Every row and column with its margin, as Σ sign·count = 0."""
    rows, columns = shape
    places = np.arange(rows * columns).reshape(shape)
    found = [(places[r].tolist(), [1] * (columns - 1) + [-1]) for r in range(rows)]
    return found + [(places[:, c].tolist(), [1] * (rows - 1) + [-1]) for c in range(columns)]
