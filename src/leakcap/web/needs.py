"""From what is needed to the ε that gives it: the nearest decimal on the safe side, checked by the verb."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from leakcap.definition import MIDP, PureDP, convert
from leakcap.statement.guessing import success
from leakcap.web.epsilon import count_error, one_query
from leakcap.web.reading import Slider, chosen, plain_number

__all__ = ["NEEDS", "SLIDERS", "Choice", "Need", "choice", "nearest", "needed"]

BITS = math.log2(math.e)
_LEAST, _MOST = 1e-6, 100.0

NEEDS: Mapping[str, str] = {
    "accuracy": "An accuracy",
    "guess": "A guess that fails",
    "bits": "Few bits told",
    "family": "A family protected",
}

SLIDERS: Mapping[str, Slider] = {
    "accuracy": Slider("error", "A count is off by at most ±", 1, 10000, 30, log=True, whole=True),
    "guess": Slider("right", "A coin-flip guess is right at most", 50.1, 99.9, 55, unit="%"),
    "bits": Slider("bits", "Told about one person, at most", 0.0001, 10, 0.1, log=True, unit="bits"),
    "family": Slider("shared", "A guess about what they share is right at most", 50.1, 99.9, 75, unit="%"),
}
QUERIES = Slider(
    "queries", "Queries on these people", 1, 1000, 1, log=True, whole=True, help="each costs its own ε"
)
PEOPLE = Slider("people", "People in the family", 2, 20, 5, whole=True, help="whose records move together")


@dataclass(frozen=True)
class Need:
    """What somebody needs: of which kind, how much, over how many queries, for how many people together."""

    kind: str
    amount: float
    queries: int
    people: int

    @property
    def query(self) -> dict[str, str]:
        """The same as a query string says it."""
        return {
            "need": self.kind,
            SLIDERS[self.kind].name: plain_number(self.amount),
            "queries": str(self.queries),
            "people": str(self.people),
        }


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
        return count_error(self.epsilon)

    @property
    def guess(self) -> float:
        """How often a fifty-fifty guess about one person is right, at most."""
        return success(self.total, 0.0)

    @property
    def shared(self) -> float:
        """The same for what the family shares."""
        return success(self.need.people * self.total, 0.0)

    @property
    def bits(self) -> float:
        """What all counts together tell about one person on average, at most, in bits."""
        return told(self.epsilon, self.need.queries)


def needed(query: Mapping[str, str]) -> Need:
    """What a query string needs.

    >>> needed({"need": "guess", "right": "55"}).amount, needed({}).kind
    (55.0, 'accuracy')
    """
    kind = chosen(query, "need", list(NEEDS))
    return Need(kind, SLIDERS[kind].read(query), int(QUERIES.read(query)), int(PEOPLE.read(query)))


def told(epsilon: float, queries: int) -> float:
    """Bits about one person from so many counts: the sum of their capacities, or what any such ε allows.

    >>> round(told(1.0, 1), 4)
    0.1601
    """
    total = one_query("laplace", epsilon, 2).repeated(queries)
    return min(total.nats.upper, convert(PureDP(total.epsilon), MIDP).nats) * BITS


def choice(need: Need) -> Choice:
    """The ε that meets a need: the least that is accurate enough, or the largest that is private enough.

    >>> choice(Need("accuracy", 30.0, 1, 5)).epsilon
    0.09819
    >>> choice(Need("guess", 55.0, 1, 5)).epsilon
    0.2006
    """
    return Choice(need, nearest(_test(need), least=need.kind == "accuracy"))


def _test(need: Need) -> Callable[[float], bool]:
    n, amount = need.queries, need.amount
    tests: Mapping[str, Callable[[float], bool]] = {
        "accuracy": lambda e: count_error(e) <= amount,
        "guess": lambda e: success(n * e, 0.0) * 100 <= amount,
        "bits": lambda e: told(e, n) <= amount,
        "family": lambda e: success(need.people * n * e, 0.0) * 100 <= amount,
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
