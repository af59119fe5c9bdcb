"""The caps that people bring themselves: whom a query may still count, and what each level has spent.

A person's cap is worth the largest public level that is not above it. A query counts the people of one level
and of all levels above it: of the least level such that it, and every level above it, has room for the
query's ε. So what a level has spent follows from the prices alone, tells nothing about the data, and is never
less at a higher level: whoever changes a cap, or brings another one in the table's next version, still loses
no more than the largest of them.

Source: Ebadi, Sands & Schneider 2015; Feldman & Zrnic 2021, theorem 4.5; Cuff & Yu 2016, section 6.1; Wu, Xia
& He 2017, definition 5. The proof for this rule stands in `docs/ledger.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from leakcap.errors import LedgerError, Passed
from leakcap.ledger.rules import excess
from leakcap.ledger.ticks import NOTHING, Ticks, decimal, total

__all__ = ["SCOPE", "Levels", "cap_of", "require_room_asked"]

SCOPE = "people with a cap of"
"""The scope of the account of a level; its name is the level."""


def cap_of(level: int) -> Ticks:
    """The caps of a level's account: ε alone."""
    return Ticks.of([level, *[None] * 6])


@dataclass
class Levels:
    """What each level has spent, and whom the next query counts.

    >>> tenth = Ticks(10**11, 0, 0, 0)
    >>> levels = Levels((10**11, 5 * 10**11))
    >>> [levels.charge(tenth) for _ in range(2)], levels.left(5 * 10**11)
    ([100000000000, 500000000000], 300000000000)
    """

    levels: Sequence[int]
    spent: dict[int, Ticks] = field(default_factory=dict)

    def of(self, level: int) -> Ticks:
        """What was charged to the people of a level."""
        return self.spent.get(level, NOTHING)

    def left(self, level: int) -> int:
        """The largest ε, in ticks, that still counts the people of a level; all above need room too."""
        return max(0, min(one - self._epsilon(one) for one in self.levels if one >= level))

    def floor(self, asked: Ticks) -> int | None:
        """The least level that a query at this price counts; None where not even the highest has room."""
        found = None
        if asked.epsilon is None:
            return found
        for level in sorted(self.levels, reverse=True):
            if self._epsilon(level) + asked.epsilon > level:
                break
            found = level
        return found

    def charge(self, asked: Ticks) -> int | None:
        """The least level that is counted, all from there on charged; None, and nothing charged, where no
        level has room."""
        floor = self.floor(asked)
        if floor is not None:
            self.add(asked, floor)
        return floor

    def add(self, ticks: Ticks, floor: int) -> None:
        """Charge the level and those above it."""
        for level in self.levels:
            if level >= floor:
                self.spent[level] = total([self.of(level), ticks])

    def excess(self, asked: Ticks) -> list[tuple[Passed, str]]:
        """What is said where not even the highest level has room."""
        most = max(self.levels)
        name = decimal(most)
        return excess(self.of(most), asked, cap_of(most), f"{SCOPE} `{name}` or more", people=name)

    def _epsilon(self, level: int) -> int:
        epsilon = self.of(level).epsilon
        assert epsilon is not None
        return epsilon


def require_room_asked(asked: Ticks, *, counts_by_cap: bool, label: str) -> None:
    """Raise `LedgerError` for a charge that people's own caps cannot bound: whoever asks leaves nobody out,
    there is no finite ε, or there is a δ."""
    if not counts_by_cap:
        raise LedgerError(
            f"Under the policy of ledger `{label}` people have caps of their own (`caps.each_person`), and "
            "this question would count them whatever is left. Ask through `PrivateTable.release`. Nothing "
            "was spent."
        )
    if asked.epsilon is None:
        raise LedgerError(
            "People's own caps (`caps.each_person`) are caps on ε without a δ, and this question has no such "
            "ε: Gaussian noise has none. Ask with `noise` laplace. Nothing was spent."
        )
    if asked.delta != 0:
        raise LedgerError(
            "People's own caps (`caps.each_person`) are caps on ε alone, and this question has a δ. Ask "
            "without one. Nothing was spent."
        )
