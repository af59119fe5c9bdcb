"""Rounding to a base: at random without bias, at random by given chances, and to the nearest multiple."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from leakcap.disclosure.cells import CellMethod, Law, checked_people
from leakcap.errors import require

__all__ = ["NearestRounding", "RandomRounding"]


@dataclass(frozen=True)
class RandomRounding(CellMethod):
    """To the multiple of `base` below or above, at random; multiples stay.

    `up[r]` is the chance to go up from a count that is r above a multiple; left out it is r/base, so that
    the published number is right on average. One cell of a table under unbiased controlled rounding, which
    keeps its sums, has this law, too (Cox 1987). Known since Fellegi 1975.

    >>> RandomRounding(3).law(4)
    {3: Fraction(2, 3), 6: Fraction(1, 3)}
    """

    base: int
    up: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        _check_base(self.base, "RandomRounding")
        if not self.up:
            own = tuple(Fraction(rest, self.base) for rest in range(self.base))
            object.__setattr__(self, "up", own)
        rule = f"have {self.base} chances, one for each rest from 0 to {self.base - 1}"
        require(len(self.up) == self.base, "up", "RandomRounding", rule, len(self.up))
        for rest, chance in enumerate(self.up):
            exact = isinstance(chance, int | Fraction) and not isinstance(chance, bool)
            rule = "hold fractions from 0 to 1, and 0 for a multiple of the base"
            holds = exact and 0 <= chance <= (1 if rest else 0)
            require(holds, "up", "RandomRounding", rule, chance)

    def law(self, count: int) -> Law:
        """Two multiples, or one."""
        rest = checked_people("count", count, "law") % self.base
        up = Fraction(self.up[rest])
        pair = {count - rest: 1 - up, count - rest + self.base: up}
        return {shown: chance for shown, chance in pair.items() if chance}

    start = 0

    @property
    def period(self) -> int:  # type: ignore[override]
        """The base."""
        return self.base

    @property
    def reach(self) -> int:
        """Less than the base."""
        return self.base - 1

    @property
    def unbiased(self) -> bool:
        """Whether the published number is right on average."""
        return all(up == Fraction(rest, self.base) for rest, up in enumerate(self.up))

    @property
    def words(self) -> str:
        """The method in words."""
        return f"random rounding to base {self.base}" + ("" if self.unbiased else ", by given chances")


@dataclass(frozen=True)
class NearestRounding(CellMethod):
    """To the nearest multiple of `base`; what is half way goes up. Nothing is left to chance.

    >>> NearestRounding(5).law(7), NearestRounding(10).law(5)
    ({5: Fraction(1, 1)}, {10: Fraction(1, 1)})
    """

    base: int

    def __post_init__(self) -> None:
        _check_base(self.base, "NearestRounding")

    def law(self, count: int) -> Law:
        """One number."""
        checked_people("count", count, "law")
        return {(2 * count + self.base) // (2 * self.base) * self.base: Fraction(1)}

    start = 0

    @property
    def period(self) -> int:  # type: ignore[override]
        """The base."""
        return self.base

    @property
    def reach(self) -> int:
        """Half the base."""
        return self.base // 2

    @property
    def words(self) -> str:
        """The method in words."""
        return f"rounding to the nearest multiple of {self.base}"


def _check_base(base: int, owner: str) -> None:
    whole = isinstance(base, int) and not isinstance(base, bool)
    require(whole and 2 <= base <= 1000, "base", owner, "be a whole number from 2 to 1000", base)
