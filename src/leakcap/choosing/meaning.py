"""What ε means, in numbers: every one from a verb of a lower room, at its outward end."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

from leakcap.accounting import PrivacyLoss, guess_success
from leakcap.accounting.convolve import bracket_around
from leakcap.accounting.gridsum import Bracket
from leakcap.adversary import AllPriors
from leakcap.bound import Bound
from leakcap.capacities import capacity
from leakcap.capacities.noise.interval_prior import IntervalPrior
from leakcap.definition import MIDP, LevelCapacity, PureDP, convert
from leakcap.definition.meaning import guess_bound, posterior_bound, posterior_floor
from leakcap.divergence import Renyi
from leakcap.mechanism import Laplace, Mechanism, RandomisedResponse, TwoSidedGeometric
from leakcap.numeric import up
from leakcap.statement import Exposure, Statement, statement_of
from leakcap.statement.wording import at_most

__all__ = [
    "BITS",
    "ORDERS",
    "Meaning",
    "Scenario",
    "count_error",
    "of_so_many_values",
    "one_query",
]

ORDERS = tuple(10 ** (i / 8) for i in range(1, 25))
"""Orders α above 1 at which capacities are drawn."""

BITS = math.log2(math.e)
_POINTS = 1 << 12
_PRIORS = tuple(i / 24 for i in range(1, 13))


@dataclass(frozen=True)
class Scenario:
    """A mechanism, its ε a query, how many queries, and who is looking.

    `mechanism` is "laplace" (of a count), "continuous", "gaussian", "response" or "any".
    """

    mechanism: str
    epsilon: float
    queries: int
    family: int
    prior: float
    values: int
    delta: float


def count_error(epsilon: float) -> int:
    """How far a count with discrete Laplace noise of this ε is off, with 95 % probability at most.

    >>> count_error(0.1)
    30
    """
    return TwoSidedGeometric(1 / Fraction(repr(epsilon))).error(0.05)


def mechanism_of(name: str, epsilon: float, values: int) -> Mechanism | None:
    """The mechanism by its name; None for any that keeps this ε."""
    if name == "laplace":
        return TwoSidedGeometric(1 / Fraction(repr(epsilon)))
    if name == "continuous":
        return Laplace(1.0, epsilon)
    return RandomisedResponse(values, epsilon) if name == "response" else None


@lru_cache(maxsize=256)
def one_query(name: str, epsilon: float, values: int) -> Exposure:
    """What one query shows about one person's contents.

    >>> round(one_query("laplace", 1.0, 2).nats.upper, 4)
    0.1109
    """
    mechanism = mechanism_of(name, epsilon, values)
    if mechanism is None:
        tight = convert(PureDP(epsilon), MIDP, values=values).nats
        nats = Bound(0.0, tight, method="any mechanism of this ε", source="Dong, Durfee & Rogers 2020")
    else:
        nats = of_so_many_values(capacity(mechanism, Renyi(1.0), AllPriors()), values)
    return Exposure("this", epsilon, epsilon, nats, math.inf, "replace-one")


def of_so_many_values(nats: Bound, values: int) -> Bound:
    """A capacity over a whole interval as one over so many values in it.

    Its lower end goes where the optimal prior needs more values than there are.

    >>> of_so_many_values(capacity(Laplace(0.1), Renyi(1.0), AllPriors()), 128).lower
    0.0
    """
    prior = nats.witness
    attained = not isinstance(prior, IntervalPrior) or (prior.flat is None and len(prior.atoms) <= values)
    return nats if attained else replace(nats, lower=0.0)


@dataclass(frozen=True)
class Meaning:
    """Everything that the page shows about one setting, for a mechanism with δ = 0.

    `pure` says that no answer, however rare, moves the odds by more than e^ε.
    """

    asked: Scenario
    pure: ClassVar[bool] = True

    @cached_property
    def exposure(self) -> Exposure:
        """All queries together; the information never above what any mechanism, or the record, can give."""
        a = self.asked
        whole = one_query(a.mechanism, a.epsilon, a.values).repeated(a.queries)
        most = min(whole.nats.upper, self.tight, math.log(a.values))
        nats = Bound(min(whole.nats.lower, most), most, whole.nats.method, whole.nats.source)
        return Exposure(
            "this", whole.epsilon, whole.epsilon, nats, math.inf, "replace-one", queries=a.queries
        )

    @cached_property
    def statement(self) -> Statement:
        """The leakage statement of all queries."""
        return statement_of(self.exposure, family=self.asked.family, guesses=self.asked.values)

    @property
    def epsilon(self) -> float:
        """ε of all queries together."""
        return self.exposure.epsilon

    @cached_property
    def tight(self) -> float:
        """The most that any mechanism of the whole ε tells on average, in nats."""
        total = one_query(self.asked.mechanism, self.asked.epsilon, self.asked.values).epsilon
        return convert(PureDP(total * self.asked.queries), MIDP, values=self.asked.values).nats

    @property
    def entropy_bits(self) -> float:
        """The entropy of a record whose values are equally likely, in bits."""
        return math.log2(self.asked.values)

    @property
    def average_bits(self) -> float:
        """What is told on average, at most, in bits."""
        return self.exposure.nats.upper * BITS

    @property
    def tight_bits(self) -> float:
        """What any mechanism of this ε tells on average, at most, in bits."""
        return min(self.tight * BITS, self.entropy_bits)

    @property
    def worst_bits(self) -> float:
        """What the most telling answer can tell about a record of equally likely values, in bits."""
        return min(self.epsilon * BITS, self.entropy_bits)

    def after(self, people: int = 1) -> float:
        """The most that the fact can come to be believed, about so many people who move together."""
        return posterior_bound(people * self.epsilon, self.asked.prior)

    def least(self, people: int = 1) -> float:
        """The least that the fact can come to be believed."""
        return posterior_floor(people * self.epsilon, self.asked.prior)

    @cached_property
    def loss(self) -> PrivacyLoss:
        """What the answers say about which of two values holds; for any mechanism that of the strongest."""
        a = self.asked
        mechanism = mechanism_of(a.mechanism, a.epsilon, a.values)
        if mechanism is None:
            return PrivacyLoss.of_mechanism(RandomisedResponse(2, min(self.epsilon, 700.0)))
        return PrivacyLoss.of_mechanism(mechanism) ** a.queries

    @cached_property
    def guess(self) -> Bound:
        """How often the best guess between two values is right, on average over the noise."""
        return self._guessed(self.asked.prior)

    def _guessed(self, prior: float) -> Bound:
        # Where the answers all but settle it, composing them says no more: 1 is always an upper end.
        a = self.asked
        if a.queries > 1 and a.mechanism != "any" and self._settled:
            return Bound(max(prior, 1.0 - prior), 1.0, "the answers all but settle it", unit="probability")
        if a.queries > 1 and a.mechanism == "continuous":
            low, high = self._grid.delta(math.log1p(-prior) - math.log(prior))
            least = max(prior, 1.0 - prior)
            below, above = (max(least, min(1.0 - prior + prior * end, 1.0)) for end in (low, high))
            return Bound(below, above, "FFT on a grid", unit="probability")
        return guess_success(self.loss, prior)

    @cached_property
    def _grid(self) -> Bracket:
        # One certified convolution for all priors, where a contour for each would take a second.
        return bracket_around(self.loss.parts, epsilon=0.0, width=1e-5, points=_POINTS)

    @cached_property
    def _settled(self) -> bool:
        # A fifty-fifty guess errs at most half the Bhattacharyya coefficient, √(1−TV²) for each answer.
        ((part, times),) = self.loss.parts
        apart = PrivacyLoss(((part, 1),)).total_variation().lower
        return times * math.log1p(-min(apart * apart, 1.0 - 1e-16)) < -2.0 * math.log(1e9)

    @property
    def corners(self) -> list[tuple[float, float]]:
        """(false alarms, misses) at the ends and the kink of the line that no test crosses under this ε."""
        return [(0.0, 1.0), (self.corner, self.corner), (1.0, 0.0)]

    @property
    def corner(self) -> float:
        """Both error rates of the most telling test that ε allows: 1/(1+A)."""
        return posterior_floor(self.epsilon, 0.5)

    @cached_property
    def tests(self) -> list[tuple[float, float]]:
        """(false alarms, least misses): under no test of these very answers are there fewer.

        The best guess from a prior p errs at least B(p) = pβ + (1−p)a, so β ≥ (B(p) − (1−p)a)/p for every p.
        """
        # These mechanisms treat both values alike, so that B(p) = B(1−p).
        half = [(p, 1.0 - self._guessed(p).upper) for p in _PRIORS]
        errors = [(q, e) for p, e in half for q in {p, 1.0 - p}]
        # The two tests by which ε alone is known: pβ + (1−p)a ≥ corner at p = corner and p = 1 − corner.
        errors += [(q, self.corner) for q in (self.corner, 1.0 - self.corner) if q > 0.0]
        at = sorted({i / 40 for i in range(41)} | {self.corner})
        # Under a finite ε whatever can come from one value can come from the other: no alarms, all missed.
        rest = [(a, max(0.0, *((e - (1.0 - p) * a) / p for p, e in errors))) for a in at if a > 0.0]
        return [(0.0, 1.0), *rest]

    @cached_property
    def orders(self) -> list[tuple[float, Bound | None, float, float]]:
        """For one query by order α: its capacity, any mechanism's, and the divergence of two records."""
        a = self.asked
        mechanism = mechanism_of(a.mechanism, a.epsilon, a.values)
        given = PureDP(a.epsilon)
        found: list[tuple[float, Bound | None, float, float]] = []
        for alpha in (1.0, *ORDERS):
            own = None if mechanism is None else capacity(mechanism, Renyi(alpha), AllPriors())
            strongest = RandomisedResponse(2, a.epsilon) if mechanism is None else mechanism
            apart = capacity(strongest, Renyi(alpha)).upper
            tight = (
                convert(given, MIDP).nats if alpha == 1.0 else convert(given, LevelCapacity, alpha=alpha).nats
            )
            found.append((alpha, own, tight, apart))
        return found

    @property
    def error(self) -> float:
        """How far each published number is off, with 95 % probability at most."""
        return self.error_at(self.asked.epsilon)

    def error_at(self, epsilon: float) -> float:
        """The same at another ε: whole for a count, else in units of what one person can change."""
        if self.asked.mechanism == "continuous":
            return up(math.log(20.0) / epsilon, 4)
        return count_error(epsilon)

    @property
    def noise(self) -> str:
        """What more there is to say of the noise."""
        return ""

    @property
    def error_text(self) -> str:
        """The error as it is shown."""
        error = self.error
        return f"{error:,}" if isinstance(error, int) else at_most(error)

    @property
    def truth(self) -> float:
        """How often randomised response gives the true value."""
        return guess_bound(self.asked.epsilon, self.asked.values)
