"""The least that any of several proven pairs (ε, δ) says: of a guess, a test, odds, a belief, information.

Each pair holds by itself, so each line may take its own. They are corners of the polygon below which the
privacy profile lies, and what a line bounds is least at a corner. Which pair is best is found in doubles; its
own bound is then computed outward.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

from leakcap.numeric.enclosure import Digits, Interval, enclose
from leakcap.numeric.rounding import up
from leakcap.statement.guessing import group_success, joining, success
from leakcap.statement.proving import Proven

__all__ = [
    "least_advantage",
    "least_beyond",
    "least_guess",
    "least_joining",
    "least_odds",
    "least_power",
    "least_shared",
    "yes_no_nats",
]

_SELDOM = 1e-3
_TAILS = (1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5)
"""How often odds may pass what a line about beliefs starts from; fixed beforehand."""


def least_guess(pairs: Proven, values: int = 2) -> float:
    """How often one guess among `values` equally likely values is right at most, rounded up.

    >>> round(least_guess(((1.0, 0.0), (0.0, 0.2))), 12), least_guess(((0.0, 0.0),), 4)
    (0.6, 0.25)
    """

    def rough(epsilon: float, delta: float) -> float:
        odds = (values - 1) * math.exp(-epsilon)
        return (1.0 + delta * odds) / (1.0 + odds)

    return success(*_best(pairs, rough), values)


def least_advantage(pairs: Proven) -> float:
    """The largest total variation, (A−1+2δ)/(A+1), rounded up.

    >>> least_advantage(((1.0, 0.0), (0.0, 0.25)))
    0.25
    """

    def rough(epsilon: float, delta: float) -> float:
        odds = math.exp(-epsilon)
        return (1.0 - odds + 2.0 * delta * odds) / (1.0 + odds)

    epsilon, delta = _best(pairs, rough)

    def formula(d: Digits) -> Interval:
        odds = (-d.of(epsilon)).exp()
        return (1 - odds + d.of(delta) * 2 * odds) / (1 + odds)

    return min(enclose(formula)[1], 1.0)


def least_power(pairs: Proven, false_alarms: float) -> float:
    """How often a test is right of those of whom it holds, at so many false alarms: min(Aa + δ,
    1 − (1−a−δ)/A), rounded up. Source: Wasserman & Zhou 2010; Kairouz, Oh & Viswanath 2015.

    >>> least_power(((0.0, 0.25),), 0.25), round(least_power(((2.0, 0.0),), 0.01), 6)
    (0.5, 0.073891)
    """

    def rising(epsilon: float, delta: float) -> float:
        return math.exp(min(epsilon, 700.0)) * false_alarms + delta

    def falling(epsilon: float, delta: float) -> float:
        return 1.0 - max(1.0 - false_alarms - delta, 0.0) * math.exp(-epsilon)

    one, other = _best(pairs, rising), _best(pairs, falling)
    first = (
        enclose(lambda d: d.of(one[0]).exp() * d.of(false_alarms) + d.of(one[1]))[1] if one[0] < 700 else 1.0
    )

    def second(d: Digits) -> Interval:
        missed = (1 - d.of(false_alarms) - d.of(other[1])).positive_part()
        return 1 - missed * (-d.of(other[0])).exp()

    return min(first, enclose(second)[1], 1.0)


def least_beyond(pairs: Proven, epsilon: float) -> float:
    """How often answers weigh more than `epsilon` for or against: the least δ'(1+e^{−ε})/(1−e^{ε'−ε}) over
    pairs with ε' < ε, rounded up. A pair of this very ε without a δ says never.

    Source: Kasiviswanathan & Smith 2014, lemma 3.3, by Markov's inequality.

    >>> least_beyond(((1.0, 0.0),), 1.0), round(least_beyond(((0.5, 1e-6),), 1.0) * 1e6, 6)
    (0.0, 3.476458)
    """
    if any(delta == 0.0 and one <= epsilon for one, delta in pairs):
        return 0.0
    factor = 1.0 + math.exp(-epsilon)
    found = [up(delta * factor / -math.expm1(one - epsilon), 8) for one, delta in pairs if one < epsilon]
    return min([*found, 1.0])


def least_odds(pairs: Proven, seldom: float) -> tuple[float, float]:
    """The least ε that answers weigh at most, for or against, but with probability `seldom`; and that, or
    zero where it holds always.

    With a pair (ε, δ) it is ln((δ + A·s)/(s − δ)), where δ is below s: see `least_beyond`.

    >>> least_odds(((1.0, 0.0), (0.0, 0.2)), 1e-6)
    (1.0, 0.0)
    """
    always = min((epsilon for epsilon, delta in pairs if delta == 0.0), default=math.inf)
    found = math.inf
    for epsilon, delta in pairs:
        if 0.0 < delta < seldom:
            less = math.log1p((delta / seldom) * math.exp(-epsilon)) - math.log1p(-delta / seldom)
            found = min(found, up(epsilon + less, 16))
    # What is said with an exception is worth having where it is less than half.
    return (found, seldom) if 2.0 * found < always else (always, 0.0)


def least_joining(pairs: Proven) -> tuple[float, float]:
    """How far joining moves a belief, in total variation, and how often it may be more: see `joining`.

    With a chance η that odds move by more than e^x the laws differ elsewhere by e^{±x}; the mean of that
    chance given the answer is above t with probability η/t at most, and (η/t)e^ε + δ under the other law. So
    a belief moves by tanh(x/2) + 2t at most, but with probability (η/t)(1 + e^ε) + δ, which is 1/1,000 here.

    >>> least_joining(((1.0, 0.0),)) == joining(1.0, 0.0)
    True
    """
    always = min((joining(epsilon, 0.0)[0] for epsilon, delta in pairs if delta == 0.0), default=math.inf)
    at, slack = min(pairs, key=lambda one: (math.exp(min(one[0], 700.0)) * 1e-6 + one[1], one))
    found = math.inf
    if slack < _SELDOM and at < 700.0:
        for seldom in _TAILS:
            epsilon, _ = least_odds(pairs, seldom)
            beside = 2.0 * seldom * (1.0 + math.exp(at)) / (_SELDOM - slack)
            found = min(found, up(math.tanh(epsilon / 2) + beside, 32))
    if 2.0 * found < always and found < 1.0:
        return found, _SELDOM
    return min(always, 1.0), 0.0


def least_shared(pairs: Proven, people: int) -> float:
    """How often a fifty-fifty guess is right about what so many people share, rounded up.

    >>> round(least_shared(((0.0, 0.05),), 4), 12)
    0.6
    """

    def rough(epsilon: float, delta: float) -> float:
        if not delta:
            slack = 0.0
        elif people * epsilon > 700.0:
            slack = 1.0
        else:
            grown = math.expm1(people * epsilon) / math.expm1(epsilon) if epsilon else people
            slack = min(delta * grown, 1.0)
        odds = math.exp(-people * epsilon)
        return (1.0 + slack * odds) / (1.0 + odds) if slack < 1.0 else 1.0

    epsilon, delta = _best(pairs, rough)
    return group_success(epsilon, delta, people)


def yes_no_nats(pairs: Proven) -> float:
    """Nats about one yes-or-no fact at most, rounded up: ∫ δ(ε)/(1+e^ε) dε, from 0 on.

    The information about a fair coin is an f-divergence with f''(t) = 1/(t(1+t)), and so an integral of the
    hockey-stick divergences; a pair that looks alike from both sides and dominates has no prior that tells
    more (`docs/theory/conversions.md`). δ is convex in e^ε and below the chords between the pairs.

    Source: Polyanskiy, Poor & Verdú 2010; Sason & Verdú 2016 for f-divergences as such integrals.

    >>> round(yes_no_nats(((0.0, 1.0),)), 9) == round(math.log(2), 9)
    True
    """
    corners, least = [], 1.0
    for epsilon, delta in sorted(pairs):
        least = min(least, delta)
        corners.append((epsilon, least))
    if corners[0][0] > 0.0:
        corners.insert(0, (0.0, least_advantage(pairs)))
    total = 0.0
    for (start, high), (end, low) in pairwise(corners):
        length, before, after = end - start, _weight(start), _weight(end)
        # The weight is convex, and below its chord. δ is below its chord in e^ε, which lies above that in ε
        # by a twelfth of the step times the fall, in the mean, and never above `high`.
        lines = (high * before + low * after) / 3.0 + (high * after + low * before) / 6.0
        curved = (high - low) * length / 12.0 * before
        total += length * min(lines + curved, high * before)
    end, left = corners[-1]
    total += left * math.log1p(math.exp(-end))
    return min(up(total, 8 * len(corners)), math.nextafter(math.log(2.0), 1.0))


def _weight(epsilon: float) -> float:
    return math.exp(-epsilon) / (1.0 + math.exp(-epsilon))


def _best(pairs: Proven, rough: Callable[[float, float], float]) -> tuple[float, float]:
    return min(pairs, key=lambda pair: (rough(*pair), pair))
