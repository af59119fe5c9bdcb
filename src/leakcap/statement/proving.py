"""What a tally proves: pairs of an ε and a δ, each of which holds, on a grid fine enough for every line.

**Fixed beforehand.** All answers together are a function of one Gaussian draw at distance μ, μ² = Σμᵢ², and
of their randomised responses: the loss is a sum of independent ones, listed where they are few. Where they
are many the most numerous count as Gaussian noise too: randomised response of ε is a function of Gaussian
noise at μ(ε) with 2Φ(μ/2) − 1 = tanh(ε/2), since its trade-off curve has one corner.

**One after another.** Take pairs of laws D(a) with D(a) ⊗ D(b) ⪯ D(a+b) (told apart no better), and an
interaction whose every answer is dominated by D of its price, each chosen by the answers before it, whose
prices never add up to more than s. Then D(s) dominates all of it. *Proof*, by induction over how many answers
are left: once the first, of price a, is seen, the rest is an interaction of s − a, dominated by D(s − a)
whatever was seen. So the whole is dominated by D(a) ⊗ D(s − a), which does not hang on what was seen (Dong,
Roth & Su 2022, theorem 3.2), and that by D(s). ∎ So it is with Gaussian noise, a being μ²; with randomised
response, a being ε (an ε-DP pair is a function of it); with Laplace noise, a being the distance
(`docs/ledger.md`); with a chance of δ to tell all; and with products of these, a being a vector. Rényi
divergences of every order add up too (Feldman & Zrnic 2021). The sums are those that were reached: it holds
for every way of asking that stays within all of them, in the mean over the noise. Which of the bounds is
least is no choice, since each holds for all such ways of asking; so no order has to pay for another here, as
it has to where the cap is on ε, and which order keeps it hangs on what was seen (`leakcap.ledger.curve`).

**Steps on samples.** Steps of Gaussian noise on Poisson samples are told from steps without the person by one
pair each (`leakcap.accounting.SampledSteps`), which looks different from its two sides. So many of them are a
price that adds up like the others, D being their product; the product with all else is the accountant's.

Sources: Koskela, Tobaben & Honkela 2023; Smith & Thakurta 2022 for Gaussian noise; Kairouz, Oh & Viswanath
2015 for ε and δ; Canonne, Kamath & Steinke 2020 for the δ of a Rényi divergence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, product
from typing import TypeAlias

from leakcap.definition.normal import normal_profile, quantile_of_logit, tail
from leakcap.ledger.curve import ORDERS, curve_of_pure
from leakcap.ledger.steps import GaussianSteps, accounted
from leakcap.numeric.rounding import down, sum_up, up
from leakcap.statement.tally import Tally

__all__ = ["Proven", "gaussian_distance_of_pure", "proven_pairs", "two_steps_of"]

Proven = tuple[tuple[float, float], ...]
"""Pairs (ε, δ), each of which holds in both directions."""

_Floats: TypeAlias = list[float]
_STEPS = 32
_LEAST = 1e-13
"""A δ that is small enough for every line: where the grid ends."""
_FAR = 7.5
"""Standard deviations of the loss after which so much is left."""
_LISTED, _LISTED_BESIDE_NOISE = 4096, 64
"""So many losses of randomised responses are listed, alone and beside Gaussian noise."""
_MARGIN = 1e-10
"""Relative: beyond the roundings of `normal_profile` and of binomials by `lgamma`."""
_NEARLY = 4e-13
"""Of ε: discrete Gaussian noise is a function of continuous noise but for a factor of e^(±10⁻¹³)."""
_ABOVE = 1e-15
"""Absolute: what `leakcap.ledger.lattice_gaussian` cuts off, for a million integers that are moved."""
_FAR_OUT, _TOLERANCE = 1e-9, 1e-2
"""Of steps on samples: a δ below which no line hangs on it, and how near to a larger one the accountant has
to come; but for very rare samples it comes as near as doubles go."""
_LOUD, _MANY = Fraction(1, 2), 10**7
"""The accountant is asked of steps with this much noise or more, so many of a kind; else Rényi's curve is."""
_CLOSE = 1e-9
"""Relative: a difference of two tails is good enough where their roundings are that small beside it."""


@lru_cache(maxsize=512)
def proven_pairs(tally: Tally, at_once: bool) -> Proven:
    """What holds of a tally at each ε of a grid from 0 on, the least of all bounds, rounded up.

    >>> [round(delta, 6) for epsilon, delta in proven_pairs(Tally(gaussian=0.0488), True)[:1]]
    [0.08795]
    >>> proven_pairs(Tally(pure=((1.0, 1),), laplace=1.25), True)[-1]
    (1.0, 0.0)
    """
    top = _top(tally)
    grid = [top * step / _STEPS for step in range(_STEPS)] + [top]
    found = map(min, zip(*_bounds(tally, at_once, grid), [1.0] * len(grid), strict=True))
    # A profile falls, whatever way it was bounded.
    return tuple(zip(grid, accumulate(found, min), strict=True))


def two_steps_of(pairs: Proven) -> Proven:
    """What follows between two contents that are each a step from absence: (2ε, (1 + e^ε)δ), rounded up.

    Source: Dwork & Roth 2014, theorem 2.2 and its extension to δ.

    >>> two_steps_of(((0.0, 0.25),))
    ((0.0, 0.5),)
    """
    return tuple(
        (
            2.0 * epsilon,
            min(up(delta * (1.0 + math.exp(epsilon)), 4) if delta and epsilon else 2 * delta, 1.0),
        )
        for epsilon, delta in pairs
        if epsilon < 700.0 or delta == 0.0
    )


def gaussian_distance_of_pure(epsilon: float) -> float:
    """The least μ of which randomised response of ε is a function, rounded up.

    >>> round(gaussian_distance_of_pure(1e-6) / 1e-6, 6) == round(math.sqrt(math.pi / 2), 6)
    True
    """
    return up(2.0 * quantile_of_logit(epsilon), 64) if epsilon else 0.0


def _top(tally: Tally) -> float:
    """Where the grid ends: at an ε that holds without a δ, or where next to nothing is left."""
    ends = []
    if tally.usable:
        squared = tally.gaussian + math.fsum(_as_gaussian(e, n) for e, n in tally.pure)
        ends.append(squared / 2 + _FAR * math.sqrt(squared))
        ends.append(tally.epsilon + tally.gaussian / 2 + _FAR * math.sqrt(tally.gaussian))
    orders = [*zip(ORDERS, tally.curve, strict=False)]
    if tally.usable and tally.steps:
        ends, orders = [], [*orders, *zip(ORDERS, _curve_beside_steps(tally), strict=True)]
    ends += [nats - math.log(_LEAST) / (order - 1) for order, nats in orders if order > 1]
    end = max(min(ends), 1e-9)
    pure = tally.usable and not tally.noisy and 0.8 * tally.epsilon <= end
    return max(tally.epsilon, 1e-9) if pure else end


def _bounds(tally: Tally, at_once: bool, grid: _Floats) -> list[_Floats]:
    found: list[_Floats] = []
    if tally.usable:
        if tally.steps:
            found += [_with_steps(tally, *one, grid) for one in _beside_steps(tally, at_once)]
        else:
            found += [_mixed(*one, grid) for one in (_exactly(tally) if at_once else _adaptively(tally))]
        if not tally.noisy:
            found.append([float(at < tally.epsilon) for at in grid])
            if math.isfinite(tally.laplace):
                found.append([-math.expm1(min(at - tally.laplace, 0.0) / 2.0) for at in grid])
    left = [_beside(one, tally.delta) for one in found]
    return [*left, _beside(_of_curve(tally.curve, grid), tally.leak)] if tally.curve else left


def _beside(delta: _Floats, left_out: float) -> _Floats:
    """With what is left out beside it: where it told nothing more it told all."""
    shown = [each * (1.0 + _MARGIN) for each in delta]
    return shown if left_out == 0.0 else [min(math.nextafter(each + left_out, 2.0), 1.0) for each in shown]


_Losses: TypeAlias = Sequence[tuple[float, float]]
"""Each with its chance."""
_NO_LOSS: _Losses = ((0.0, 1.0),)


def _exactly(tally: Tally) -> list[tuple[float, _Losses]]:
    """Gaussian noise beside the listed losses of randomised responses; what is too much to list as noise."""
    kept, rest = _listed(tally.pure, _LISTED_BESIDE_NOISE if tally.gaussian > 0.0 else _LISTED)
    if rest and tally.gaussian == 0.0:
        kept, rest = _listed(tally.pure, _LISTED_BESIDE_NOISE)
    squared = sum_up([tally.gaussian, *(_as_gaussian(e, n) for e, n in rest)])
    losses = _NO_LOSS
    for epsilon, n in kept:
        losses = [
            (math.nextafter(one + other, math.inf), chance * weight)
            for (one, chance), (other, weight) in product(losses, _binomial(epsilon, n))
        ]
    return [(squared, losses)]


_Groups = Sequence[tuple[float, int]]


def _listed(groups: _Groups, most: int) -> tuple[_Groups, _Groups]:
    """Those whose losses together are at most so many, the fewest answers first; and the others."""
    kept, rest, size = [], [], 1
    for epsilon, n in sorted(groups, key=lambda one: (one[1], -one[0])):
        if size * (n + 1) <= most:
            kept.append((epsilon, n))
            size *= n + 1
        else:
            rest.append((epsilon, n))
    return kept, rest


def _as_gaussian(epsilon: float, n: int) -> float:
    """The squared distance of Gaussian noise of which n randomised responses are a function."""
    return up(n * gaussian_distance_of_pure(epsilon) ** 2, 4)


def _adaptively(tally: Tally) -> list[tuple[float, _Losses]]:
    """Pure answers as Gaussian noise, or as one randomised response of their ε added up."""
    found = [(sum_up([tally.gaussian, *(_as_gaussian(e, n) for e, n in tally.pure)]), _NO_LOSS)]
    return [*found, (tally.gaussian, _binomial(tally.epsilon, 1))] if tally.pure else found


@lru_cache(maxsize=256)
def _binomial(epsilon: float, n: int) -> _Losses:
    """The losses of n randomised responses of ε, and their chances, rounded up."""
    right, wrong = -math.log1p(math.exp(-epsilon)), -epsilon - math.log1p(math.exp(-epsilon))
    ways = [math.lgamma(k + 1) for k in range(n + 1)]
    each = []
    for k in range(n + 1):
        rare = k * right + (n - k) * wrong + (ways[n] - ways[k] - ways[n - k] if n > 1 else 0.0)
        # What is rarer than e^−700 counts as that.
        each.append((math.nextafter((2.0 * k - n) * epsilon, math.inf), math.exp(max(rare, -700.0))))
    return tuple(each)


def _mixed(squared: float, losses: _Losses, grid: _Floats) -> _Floats:
    """E[δ(ε − L)] over these losses, δ the profile of Gaussian noise at this squared distance."""
    if squared > 0.0:
        mu = up(math.sqrt(squared), 2)
        return [
            _ABOVE + math.fsum(p * _gaussian(mu, at - _NEARLY - loss) for loss, p in losses) for at in grid
        ]
    return [math.fsum(p * -math.expm1(at - loss) for loss, p in losses if loss > at) for at in grid]


@lru_cache(maxsize=64)
def _curve_beside_steps(tally: Tally) -> tuple[float, ...]:
    """Rényi divergences of the steps, the Gaussian noise and the randomised responses together."""
    steps = [(accounted(GaussianSteps(noise, rate, 1, False)), n) for noise, rate, n in tally.steps]
    responses = [(curve_of_pure(epsilon), n) for epsilon, n in tally.pure]
    return tuple(
        sum_up(
            [
                up(order * tally.gaussian / 2),
                *(up(one.renyi(order) * n) for one, n in steps),
                *(up(curve[place] * n) for curve, n in responses),
            ]
        )
        for place, order in enumerate(ORDERS)
    )


def _beside_steps(tally: Tally, at_once: bool) -> list[tuple[float, _Groups]]:
    """Gaussian noise and randomised responses that stand beside the steps: as they are, or for answers asked
    one after another as `_adaptively` has them."""
    if at_once:
        kept, rest = _listed(tally.pure, _LISTED_BESIDE_NOISE)
        return [(sum_up([tally.gaussian, *(_as_gaussian(e, n) for e, n in rest)]), kept)]
    as_noise = sum_up([tally.gaussian, *(_as_gaussian(e, n) for e, n in tally.pure)])
    return [(as_noise, ()), *([(tally.gaussian, ((tally.epsilon, 1),))] if tally.pure else [])]


def _with_steps(tally: Tally, squared: float, responses: _Groups, grid: _Floats) -> _Floats:
    """δ(ε) of all of it, the larger of both directions, by the accountant."""
    from leakcap.accounting import PrivacyLoss, dominating_loss
    from leakcap.accounting.routes import deltas_at
    from leakcap.arrays import np
    from leakcap.definition import PureDP
    from leakcap.mechanism import Gaussian

    found: dict[PrivacyLoss, int] = {}
    for noise, rate, n in tally.steps:
        one = accounted(GaussianSteps(noise, rate, 1, False)).loss
        assert one is not None  # the steps are between presence and absence
        found[one] = found.get(one, 0) + n
    if squared > 0.0:
        found[PrivacyLoss.of_mechanism(Gaussian(down(1.0 / math.sqrt(squared), 4)))] = 1
    for epsilon, n in responses:
        found[dominating_loss(PureDP(up(epsilon, 4)))] = n
    # Far out Rényi divergences say enough, and the accountant would have to work most there.
    delta = _of_curve(_curve_beside_steps(tally), grid)
    quick = all(noise >= _LOUD and n <= _MANY for noise, _, n in tally.steps)
    near = [place for place, most in enumerate(delta) if most > _FAR_OUT and quick]
    at = np.array([max(grid[place] - _NEARLY, 0.0) for place in near])
    loss = PrivacyLoss.of(found)
    both = [deltas_at(one.parts, at, _TOLERANCE, _FAR_OUT)[1].tolist() for one in (loss, loss.reverse)]
    for place, *most in zip(near, *both, strict=True):
        delta[place] = min(delta[place], _ABOVE + max(most))
    return delta


@lru_cache(maxsize=1 << 14)
def _gaussian(mu: float, epsilon: float) -> float:
    if epsilon < 0.0:
        # δ(−ε) = 1 − e^−ε + e^−ε·δ(ε), of a pair that looks the same from both sides.
        return -math.expm1(epsilon) + math.exp(epsilon) * _gaussian(mu, -epsilon)
    middle = epsilon / mu - mu / 2
    first, size = tail(middle), epsilon / mu + mu
    found = first - math.exp(epsilon) * tail(middle + mu) if epsilon < 700.0 else 0.0
    # The tail at x errs by x² roundings of x, and a few of its own.
    error = 1e-15 * first * (4.0 + size * size)
    return found + error if error < _CLOSE * found else normal_profile(mu, epsilon)


def _of_curve(curve: Sequence[float], grid: _Floats) -> _Floats:
    """The least δ of any order; at ε = 0 also by Kullback and Leibler's divergence.

    Sources: Canonne, Kamath & Steinke 2020, proposition 12; Pinsker; Bretagnolle & Huber 1979.
    """
    orders = [
        (order - 1, min(nats, 1e300), (order - 1) * math.log1p(-1 / order) - math.log(order))
        for order, nats in zip(ORDERS[1:], curve[1:], strict=True)
    ]
    found = [
        math.exp(min(min(less * (nats - at) + shift for less, nats, shift in orders), 0.0)) for at in grid
    ]
    if math.isfinite(curve[0]):
        at_zero = min(math.sqrt(curve[0] / 2), math.sqrt(-math.expm1(-curve[0])))
        found[0] = min(found[0], at_zero)
    return found
