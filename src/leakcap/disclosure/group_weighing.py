"""What a tree of published margins tells about a secret of a group: who came, together or not, and where."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from leakcap.disclosure.whole.weighing import WholeRisk
from leakcap.errors import require
from leakcap.numeric.rounding import float_down, float_up

__all__ = ["GroupFigures", "GroupRisk"]

Ends: TypeAlias = tuple[float, float]
"""The doubles around a fraction; both are it where it is one."""


class GroupFigures(NamedTuple):
    """Chances as doubles: `even`, `guess` where all secrets are alike; `blind`, `believed` by the beliefs.

    `told` is, for each secret, the belief in it beforehand and the least and greatest one afterwards.
    """

    even: Ends
    guess: Ends
    sure: Ends
    blind: Ends
    believed: Ends
    told: dict[str, tuple[Ends, Ends]]


@dataclass(frozen=True, eq=False)
class GroupRisk(WholeRisk):
    """What is told of which of several secrets is the truth. `beliefs` are their chances beforehand.

    >>> from leakcap.channel import Channel
    >>> half = Fraction(1, 2)
    >>> told = Channel([[2 * half, 0 * half], [half, half]])
    >>> risk = GroupRisk("household", 2, told, (half / 5, 9 * half / 5))
    >>> risk.guess, risk.sure, risk.believed_guess, risk.blind
    (Fraction(3, 4), Fraction(1, 4), Fraction(9, 10), Fraction(9, 10))
    """

    beliefs: tuple[Fraction, ...] | None = None

    def __post_init__(self) -> None:
        if self.beliefs is not None:
            fits = len(self.beliefs) == self.choices and sum(self.beliefs) == 1 and min(self.beliefs) >= 0
            rule = "be a chance for each secret, from 0, and add up to one"
            require(fits, "beliefs", "GroupRisk", rule, [str(one) for one in self.beliefs])

    @property
    def blind(self) -> Fraction:
        """How often the best guess is right without anything published, by the beliefs."""
        return Fraction(1, self.choices) if self.beliefs is None else max(self.beliefs)

    @property
    def believed_guess(self) -> Fraction:
        """How often the best guess is right after all that is published, by the beliefs."""
        return sum((max(column) for column in self._weighed()), Fraction(0))

    @property
    def sure(self) -> Fraction:
        """How often what is published leaves one secret possible, where all are equally likely beforehand."""
        alone = (column for column in self._columns() if sum(chance > 0 for chance in column) == 1)
        return sum((sum(column, Fraction(0)) for column in alone), Fraction(0)) / self.choices

    def told_of(self, name: str) -> tuple[Fraction, Fraction]:
        """The least and the greatest belief in a secret that something published can leave behind."""
        place = self.channel.inputs.index(name)
        after = [column[place] / sum(column) for column in self._weighed() if sum(column)]
        return min(after), max(after)

    def figures(self) -> GroupFigures:
        """All of it as doubles, rounded outward."""
        names = [str(name) for name in self.channel.inputs]
        beliefs = self.beliefs or (Fraction(1, self.choices),) * self.choices
        told = {}
        for name, belief in zip(names, beliefs, strict=True):
            least, most = self.told_of(name)
            told[name] = (_ends(belief), (_ends(least)[0], _ends(most)[1]))
        return GroupFigures(
            even=_ends(Fraction(1, self.choices)),
            guess=_ends(self.guess),
            sure=_ends(self.sure),
            blind=_ends(self.blind),
            believed=_ends(self.believed_guess),
            told=told,
        )

    def _weighed(self) -> list[list[Fraction]]:
        beliefs = self.beliefs or (Fraction(1, self.choices),) * self.choices
        return [
            [belief * chance for belief, chance in zip(beliefs, own, strict=True)] for own in self._columns()
        ]

    def _columns(self) -> list[list[Fraction]]:
        exact = self.channel.as_exact()
        assert exact is not None, "trees have channels of fractions"
        return [[Fraction(one) for one in column] for column in exact.T.tolist()]


def _ends(exact: Fraction) -> Ends:
    return max(0.0, float_down(exact)), float_up(exact)
