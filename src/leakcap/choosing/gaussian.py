"""What ε and δ mean for Gaussian noise: no answer is limited, so that rare ones are counted instead."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import ClassVar

from leakcap.accounting import PrivacyLoss, calibrate, guess_among, guess_success, most_telling
from leakcap.adversary import AllPriors
from leakcap.bound import Bound
from leakcap.capacities import capacity
from leakcap.choosing.meaning import BITS, ORDERS, Meaning, Scenario, of_so_many_values
from leakcap.definition import MIDP, ApproxDP, GaussianDP, convert
from leakcap.definition.meaning import posterior_bound, posterior_floor
from leakcap.definition.normal import quantile_of_tail, tail
from leakcap.divergence import Renyi
from leakcap.mechanism import Gaussian
from leakcap.numeric import down, up
from leakcap.statement import Exposure, Statement, statement_of
from leakcap.statement.reading import Reading
from leakcap.statement.shares import power_said
from leakcap.statement.wording import at_most, percent

__all__ = ["SHARE", "GaussianMeaning", "meaning_of"]

SHARE = 0.05
"""Which part of the answers is called the most telling: what an error of 95 % leaves out."""

_ROUNDINGS = 64
_SOURCE = "Dong, Roth & Su 2022"


def meaning_of(asked: Scenario) -> Meaning:
    """Everything that the page shows about one setting."""
    return GaussianMeaning(asked) if asked.mechanism == "gaussian" else Meaning(asked)


@lru_cache(maxsize=4096)
def _sigma(epsilon: float, delta: float) -> float:
    """The least σ for a number of sensitivity 1, with 10⁻¹² to spare."""
    return calibrate(Gaussian, epsilon=(epsilon, delta), tolerance=1e-12).value


@lru_cache(maxsize=256)
def _loss(mu: float) -> PrivacyLoss:
    return PrivacyLoss.of_mechanism(Gaussian(1.0, mu))


@lru_cache(maxsize=256)
def _telling(mu: float) -> float:
    return most_telling(_loss(mu), SHARE).upper


@dataclass(frozen=True)
class GaussianMeaning(Meaning):
    """Each query gets the least Gaussian noise that is (ε, δ)-DP; n of them are one with μ = √n/σ.

    Source: Balle & Wang 2018 for σ; Dong, Roth & Su 2022 for composition and groups.
    """

    pure: ClassVar[bool] = False

    @cached_property
    def sigma(self) -> float:
        """The standard deviation of the noise, in units of what one person can change."""
        return _sigma(self.asked.epsilon, self.asked.delta)

    def mu(self, people: int = 1) -> float:
        """How far apart the answers put two records of one person, or of several who move together."""
        return up(people * math.sqrt(self.asked.queries) / self.sigma, 4)

    @cached_property
    def loss(self) -> PrivacyLoss:
        """Gaussian again."""
        return _loss(self.mu())

    @cached_property
    def _total(self) -> float:
        a = self.asked
        if a.queries == 1:
            return a.epsilon
        return up(convert(GaussianDP(self.mu()), ApproxDP, delta=a.delta).epsilon, _ROUNDINGS)

    @property
    def epsilon(self) -> float:
        """ε of all queries together, with the same δ."""
        return self._total

    @cached_property
    def exposure(self) -> Exposure:
        """All queries; the information never above what the noise, ε and δ, or the record can give."""
        a = self.asked
        one = of_so_many_values(capacity(Gaussian(self.sigma), Renyi(1.0), AllPriors()), a.values)
        whole = up(convert(GaussianDP(self.mu()), MIDP, values=a.values).nats, _ROUNDINGS)
        most = min(up(one.upper * a.queries), whole, self.tight, math.log(a.values))
        nats = Bound(min(one.lower, most), most, one.method, one.source)
        return Exposure(
            "this",
            self.epsilon,
            self.epsilon,
            nats,
            math.inf,
            "replace-one",
            queries=a.queries,
            delta=a.delta,
            delta_contents=a.delta,
        )

    @cached_property
    def tight(self) -> float:
        """The most that any mechanism of the whole ε and δ tells on average about a record, in nats."""
        a = self.asked
        return min(convert(ApproxDP(self.epsilon, a.delta), MIDP, values=a.values).nats, math.log(a.values))

    @property
    def worst_bits(self) -> float:
        """Nothing limits what a single answer tells but the record itself."""
        return self.entropy_bits

    def after(self, people: int = 1) -> float:
        """How far the fact comes to be believed, at most, on the answers that speak for it most.

        They are those that one in twenty gets of whom it holds.
        """
        return posterior_bound(_telling(self.mu(people)), self.asked.prior)

    def least(self, people: int = 1) -> float:
        """How far it is still believed, at least, on the answers that speak against it most."""
        return posterior_floor(_telling(self.mu(people)), self.asked.prior)

    @property
    def corner(self) -> float:
        """Both error rates of the most telling test that ε and δ allow: (1−δ)/(1+A)."""
        return (1.0 - self.asked.delta) * posterior_floor(self.epsilon, 0.5)

    @property
    def corners(self) -> list[tuple[float, float]]:
        """(false alarms, misses) at the ends and the kink of the line that no test crosses under ε and δ."""
        rest = 1.0 - self.asked.delta
        return [(0.0, rest), (self.corner, self.corner), (rest, 0.0)]

    @cached_property
    def tests(self) -> list[tuple[float, float]]:
        """(false alarms, least misses): Φ(Φ⁻¹(1−a) − μ). Source: Dong, Roth & Su 2022, definition 2.6."""
        at = sorted({i / 40 for i in range(1, 40)} | {i / 400 for i in range(1, 10)} | {self.corner})
        mu = self.mu()
        least = [(a, down(tail(mu - quantile_of_tail(a)), _ROUNDINGS)) for a in at if 0.0 < a < 1.0]
        return [(0.0, 1.0), *least, (1.0, 0.0)]

    @cached_property
    def orders(self) -> list[tuple[float, Bound | None, float, float]]:
        """For one query by order α: its capacity, ∞ for any mechanism, the divergence of two records."""
        noise = Gaussian(self.sigma)
        return [
            (
                alpha,
                capacity(noise, Renyi(alpha), AllPriors()),
                math.inf,
                up(capacity(noise, Renyi(alpha)).upper, 4),
            )
            for alpha in (1.0, *ORDERS)
        ]

    def error_at(self, epsilon: float) -> float:
        """How far a published number is off at another ε, with 95 % probability at most."""
        return up(quantile_of_tail(0.025) * _sigma(epsilon, self.asked.delta), _ROUNDINGS)

    @property
    def noise(self) -> str:
        """How wide it is."""
        return (
            " The noise is the least that keeps ε and δ for each query: its standard deviation is "
            f"{at_most(self.sigma, 4)} such units."
        )

    @cached_property
    def statement(self) -> Statement:
        """The statement of ε and δ, sharper where the noise is known to be Gaussian."""
        general = statement_of(self.exposure, family=self.asked.family, guesses=self.asked.values)
        return Statement(self.exposure, tuple(self._sharper(line) for line in general.lines))

    def _sharper(self, line: Reading) -> Reading:
        a = self.asked
        if line.key == "coin_flip":
            coin = guess_success(self.loss)
            text = (
                "Somebody who knows everybody else's data and would guess a yes/no fact about one person by "
                f"tossing a coin (50 %) is right with probability {percent(coin.upper)} at most after seeing "
                "this."
            )
            return _line(line, coin, text, "Φ(μ/2), μ = √n/σ for n queries", f"{_SOURCE}, corollary 2.13")
        if line.key == "one_in_k":
            among = guess_among(self.loss, a.values)
            text = (
                f"A guess among {a.values:,} equally likely possibilities about one person "
                f"(1 in {a.values:,} by chance) becomes right with probability {percent(among.upper)} at "
                "most."
            )
            return _line(line, among, text, "s = Φ(Φ⁻¹((1−s)/(k−1)) + μ)", f"{_SOURCE}, over all pairs")
        if line.key == "average_and_worst":
            text = (
                f"Between two given records the answers weigh more than {at_most(self.epsilon)} nats "
                f"({at_most(self.epsilon * BITS)} bits) for the true one with probability "
                f"{at_most(self.beyond.upper)} at most, but then by any amount: Gaussian noise sets no limit."
            )
            rare = replace(line, label="how often an answer weighs more than ε", unit="probability")
            return _line(rare, self.beyond, text, "P(L > ε) = Φ(μ/2 − ε/μ)", "Balle & Wang 2018, lemma 3")
        if line.key == "total_variation":
            apart = self.loss.total_variation()
            text = (
                "Any conclusion about one person drawn from this is at most "
                f"{percent(apart.upper).removesuffix(' %')} percentage points more likely to be drawn when "
                "it is true than when it is false."
            )
            return _line(line, apart, text, "2Φ(μ/2) − 1", f"{_SOURCE}, corollary 2.13")
        if line.key == "test_power":
            finds = tail(quantile_of_tail(line.detail["false_alarms"]) - self.mu())
            found = Bound(down(finds, _ROUNDINGS), min(up(finds, _ROUNDINGS), 1.0), "normal tail")
            return _line(line, found, power_said(found.upper), "Φ(μ − z), z = 2.326", _SOURCE)
        if line.key == "family":
            shared = guess_success(_loss(self.mu(a.family)))
            text = (
                f"If the records of up to {a.family:,} people move together (a household, say), a "
                "fifty-fifty guess about what they share becomes right with probability "
                f"{percent(shared.upper)} at most."
            )
            return _line(line, shared, text, "Φ(kμ/2)", f"{_SOURCE}, theorem 2.14")
        return line

    @property
    def beyond(self) -> Bound:
        """How often the answers weigh more than ε between two records at the full distance."""
        mu, epsilon = self.mu(), self.epsilon
        x, size = epsilon / mu - mu / 2, epsilon / mu + mu
        low, high = tail(up(x, 8, size)), tail(down(x, 8, size))
        return Bound(down(low, 8), min(up(high, 8), 1.0), "normal tail", unit="probability")


def _line(line: Reading, value: Bound, sentence: str, formula: str, source: str) -> Reading:
    return replace(
        line, lower=value.lower, upper=value.upper, sentence=sentence, formula=formula, source=source
    )
