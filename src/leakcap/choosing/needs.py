"""From what is needed to the ε that gives it: the nearest decimal on the safe side, checked by the verb."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from leakcap.definition import MIDP, PureDP, convert
from leakcap.release import Policy, Preview, Query, load_policy
from leakcap.release.asking.accuracy import preview_of
from leakcap.release.planning.plan import plan_query
from leakcap.statement.guessing import success

__all__ = ["Choice", "Need", "choice", "nearest"]

BITS = math.log2(math.e)
_LEAST, _MOST = 1e-6, 100.0


@dataclass(frozen=True)
class Need:
    """What somebody needs: of which kind, how much, over how many queries, for how many people together.

    `kind` is "accuracy" (± `amount`), "guess" or "family" (right in `amount` of a hundred), or "bits";
    `counts` is "all", "by" (in groups) or "people" (in groups).
    """

    kind: str
    amount: float
    queries: int
    people: int
    rows: int = 1
    groups: int = 1
    counts: str = "all"
    neighbours: str = "replace-one"

    def previewed(self, epsilon: float) -> Preview:
        """What the engine says of one such count, or table of counts, at this ε."""
        return _previewed(self.rows, self.groups, self.counts, self.neighbours, epsilon)

    def contents(self, epsilon: float) -> float:
        """ε between any two contents of one person's data after all queries."""
        return self.queries * self.previewed(epsilon).price.epsilon_contents


@lru_cache(maxsize=64)
def _policy(rows: int, groups: int, neighbours: str) -> Policy:
    """That of a table in which a person has so many rows, in so many groups at most."""
    return load_policy(
        {
            "dataset": "choice",
            "neighbours": neighbours,
            "unit": {"id": "person", "max_rows": rows, "max_groups": min(groups, rows)},
            "max_rows" if neighbours == "add-remove-one" else "rows": 10**6,
            "caps": {"epsilon": 1.0},
            "columns": {"group": {"keys": list(range(2 * groups + 1))}},
        }
    )


@lru_cache(maxsize=1024)
def _previewed(rows: int, groups: int, counts: str, neighbours: str, epsilon: float) -> Preview:
    """A page asks for the same ε by several names. Which other ε or noise would do it does not ask."""
    statistic = "distinct" if counts == "people" else "count"
    by = () if counts == "all" else ("group",)
    query = Query(name="n", statistic=statistic, by=by, epsilon=epsilon)
    return preview_of(plan_query(query, _policy(rows, groups, neighbours)))


@dataclass(frozen=True)
class Choice:
    """The ε of one query that meets a need, and what it means on all sides."""

    need: Need
    epsilon: float

    @property
    def met(self) -> bool:
        """Whether this ε gives what was asked; no ε may."""
        return _test(self.need)(self.epsilon)

    @property
    def total(self) -> float:
        """ε of all queries together."""
        return self.epsilon * self.need.queries

    @property
    def hopeless(self) -> bool:
        """Whether all answers together may all but settle a yes/no fact about one person."""
        return self.guess >= 0.95

    @property
    def error(self) -> int:
        """How far each count is off, with 95 % probability at most."""
        return round(self.need.previewed(self.epsilon).error)

    @property
    def guess(self) -> float:
        """How often a fifty-fifty guess about one person is right, at most."""
        return success(self.need.contents(self.epsilon), 0.0)

    @property
    def shared(self) -> float:
        """The same for what the family shares."""
        return success(self.need.people * self.need.contents(self.epsilon), 0.0)

    @property
    def bits(self) -> float:
        """What all counts together tell about one person on average, at most, in bits."""
        return bits_told(self.epsilon, self.need)


def bits_told(epsilon: float, need: Need) -> float:
    """Bits about one person from all counts: the sum of their capacities, or what any such ε allows.

    >>> round(bits_told(1.0, Need("bits", 0.1, 1, 5)), 4)
    0.1601
    """
    most = need.previewed(epsilon).price.nats_person.upper
    return min(need.queries * most, convert(PureDP(need.contents(epsilon)), MIDP).nats) * BITS


def choice(need: Need) -> Choice:
    """The ε that meets a need: the least that is accurate enough, or the largest that is private enough.

    >>> choice(Need("accuracy", 30.0, 1, 5)).epsilon
    0.09819
    >>> choice(Need("guess", 55.0, 1, 5)).epsilon
    0.2006
    >>> ten = Need("accuracy", 30.0, 1, 5, rows=10)
    >>> choice(ten).epsilon, Choice(ten, 0.1).error
    (0.9819, 300)
    """
    return Choice(need, nearest(_test(need), least=need.kind == "accuracy"))


def _test(need: Need) -> Callable[[float], bool]:
    amount = need.amount
    tests: Mapping[str, Callable[[float], bool]] = {
        "accuracy": lambda e: need.previewed(e).error <= amount,
        "guess": lambda e: success(need.contents(e), 0.0) * 100 <= amount,
        "bits": lambda e: bits_told(e, need) <= amount,
        "family": lambda e: success(need.people * need.contents(e), 0.0) * 100 <= amount,
    }
    return tests[need.kind]


def nearest(meets: Callable[[float], bool], *, least: bool) -> float:
    """Among decimals of four digits from 10⁻⁶ to 100 the least (or the largest) that meets a monotone test.

    >>> nearest(lambda e: e >= 0.1, least=True), nearest(lambda e: e <= 0.12345, least=False)
    (0.1, 0.1234)
    """
    low, high = _place(_LEAST), _place(_MOST)
    while high - low > 1:
        middle = (low + high) // 2
        if meets(_decimal(middle)) == least:
            high = middle
        else:
            low = middle
    first, second = (low, high) if least else (high, low)
    return _decimal(first if meets(_decimal(first)) else second)


def _place(value: float) -> int:
    """Four-digit decimals in order: 9000 in each power of ten."""
    power = math.floor(math.log10(value) + 1e-12)
    return power * 9000 + round(value / 10.0**power * 1000) - 1000


def _decimal(place: int) -> float:
    power, digits = divmod(place, 9000)
    return float(f"{digits + 1000}e{power - 3}")
