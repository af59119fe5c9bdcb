"""What a guarantee means for a person: guesses, beliefs, odds. Plain numbers in, plain numbers out."""

from __future__ import annotations

import math

from leakcap.errors import require
from leakcap.numeric.rounding import up
from leakcap.numeric.search import bisect

__all__ = [
    "bayes_capacity",
    "fano_guess",
    "guess_bound",
    "odds_factor",
    "posterior_bound",
    "posterior_floor",
    "semantic_privacy",
    "surprise_tail",
    "two_way_guess",
]


def posterior_bound(epsilon: float, prior: float) -> float:
    """The most that a fact of prior probability p can come to be believed under ε-DP: pA/(pA+1−p), A = e^ε.

    Attained by randomised response. Source: Tu 2013, the guessing game, sharpened.

    >>> round(posterior_bound(math.log(3.0), 0.5), 12)
    0.75
    """
    _check(epsilon, "epsilon", "posterior_bound")
    _check_probability(prior, "prior", "posterior_bound")
    if prior == 0.0 or math.isinf(epsilon):
        return 0.0 if prior == 0.0 else 1.0
    return prior / (prior + (1.0 - prior) * math.exp(-epsilon))


def posterior_floor(epsilon: float, prior: float) -> float:
    """The least that a fact of prior probability p can come to be believed under ε-DP: p/(p+(1−p)A).

    >>> round(posterior_floor(math.log(3.0), 0.5), 12)
    0.25
    """
    _check(epsilon, "epsilon", "posterior_floor")
    _check_probability(prior, "prior", "posterior_floor")
    low = prior * math.exp(-epsilon)
    return low / (low + 1.0 - prior) if prior < 1.0 else 1.0


def guess_bound(epsilon: float, k: int) -> float:
    """The best chance to guess one of k equally likely values under ε-DP: A/(A+k−1), A = e^ε.

    Attained by k-ary randomised response.

    >>> round(guess_bound(math.log(3.0), 3), 12)
    0.6
    """
    _check_count(k, "guess_bound")
    return posterior_bound(epsilon, 1.0 / k)


def bayes_capacity(epsilon: float, k: int) -> float:
    """The largest factor by which an ε-DP output helps a guess at one of k values: kA/(A+k−1).

    Attained by k-ary randomised response. Source: Alvim et al. 2011.

    >>> round(bayes_capacity(math.log(3.0), 3), 12)
    1.8
    """
    return k * guess_bound(epsilon, k)


def fano_guess(nats: float, k: int) -> float:
    """The best chance to guess one of k equally likely values from κ nats of mutual information.

    The largest s with ln k − h(s) − (1−s) ln(k−1) ≤ κ; attained by k-ary randomised response.
    Source: Fano's inequality.

    >>> round(fano_guess(math.log(2.0), 2), 12), round(fano_guess(0.0, 4), 12)
    (1.0, 0.25)
    """
    _check(nats, "nats", "fano_guess")
    _check_count(k, "fano_guess")
    if nats >= math.log(k):
        return 1.0
    if nats == 0.0:
        return 1.0 / k
    # In d = s − 1/k, and with the divergence from the uniform law, so that few nats keep their digits.
    advantage = bisect(lambda d: _information_of_guess(d, k) - nats, 0.0, 1.0 - 1.0 / k)
    return min(1.0 / k + math.nextafter(advantage, 1.0), 1.0)


def _information_of_guess(d: float, k: int) -> float:
    """ln k − h(s) − (1−s) ln(k−1) at s = 1/k + d, as the sum of two non-negative terms."""
    share = d * k / (k - 1.0)
    return _divergence(d * k) / k + (1.0 - 1.0 / k) * _divergence(-share)


def _divergence(r: float) -> float:
    """(1+r) ln(1+r) − r, precise near zero."""
    if r <= -1.0:
        return 1.0
    if abs(r) < 1e-3:
        return r * r * (0.5 - r * (1 / 6 - r * (1 / 12 - r * (1 / 20 - r / 30))))
    return (1.0 + r) * math.log1p(r) - r


def two_way_guess(delta: float) -> float:
    """The best chance in a fifty-fifty guess between two neighbours at total variation δ: (1+δ)/2.

    >>> two_way_guess(0.1)
    0.55
    """
    _check_probability(delta, "delta", "two_way_guess")
    return 0.5 * (1.0 + delta)


def odds_factor(epsilon: float) -> float:
    """How far the odds of any two values can move, as a factor: e^ε; ∞ beyond the range of doubles.

    >>> odds_factor(0.0)
    1.0
    """
    _check(epsilon, "epsilon", "odds_factor")
    return math.exp(epsilon) if epsilon < 709.0 else math.inf


def semantic_privacy(epsilon: float) -> float:
    """How far one person's joining moves any belief, in total variation: at most tanh(ε/2), rounded up.

    The beliefs compared are those of somebody who takes the person's record into account and of somebody who
    does not, after the same output; both may have believed anything before, that records depend on each other
    too. Attained by randomised response on the exclusive or of two people's bits. The proof: `joining_change`
    in `leakcap.leakage`. Source: Ganta, Kasiviswanathan & Smith 2008, whose e^{2ε} − 1 (Tu 2013, theorem 3)
    is more than twice as much.

    >>> round(semantic_privacy(1.0), 12)
    0.46211715726
    """
    _check(epsilon, "epsilon", "semantic_privacy")
    return min(up(math.tanh(epsilon / 2.0), 4), 1.0)


def surprise_tail(alpha: float, nats: float, level: float) -> float:
    """P(D_α(P_{X|Y} ‖ P_X) ≥ R) ≤ (e^{(α−1)ε}−1)/(e^{(α−1)R}−1) for capacity ε at level α > 0, R = `level`.

    The chance that an output tells much more than the cap: ε/R at α = 1, none beyond ε at α = ∞.
    Source: the broken-wifi article, 2022.

    >>> round(surprise_tail(2.0, math.log(1.1), math.log(2.0)), 12), surprise_tail(1.0, 0.125, 0.5)
    (0.1, 0.25)
    """
    require(alpha > 0.0, "alpha", "surprise_tail", "be positive, ∞ allowed", alpha)
    _check(nats, "nats", "surprise_tail")
    _check(level, "level", "surprise_tail")
    if level <= nats:
        return 1.0
    if nats == 0.0 or math.isinf(level) or math.isinf(alpha):
        # Where α < 1 an infinite divergence counts for 1 only: it may come with probability 1 − e^{(α−1)ε}.
        return -math.expm1((alpha - 1.0) * nats) if alpha < 1.0 and math.isinf(level) else 0.0
    t = alpha - 1.0
    if t == 0.0:
        return nats / level
    if t < 0.0:
        return math.expm1(t * nats) / math.expm1(t * level)
    return math.exp(t * (nats - level)) * math.expm1(-t * nats) / math.expm1(-t * level)


def _check(value: float, name: str, owner: str) -> None:
    require(value >= 0.0 and not math.isnan(value), name, owner, "be ≥ 0", value)


def _check_probability(value: float, name: str, owner: str) -> None:
    require(0.0 <= value <= 1.0, name, owner, "be a probability in [0, 1]", value)


def _check_count(k: int, owner: str) -> None:
    require(k == int(k) and k >= 2, "k", owner, "be an integer ≥ 2", k)
