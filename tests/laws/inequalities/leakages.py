"""Section 3 of the theory: leakages under a prior, gains, correlation, the entropy floor, refinement."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

import leakcap as lc
from laws.inequalities.sample import INF, Law, Sample, below, entropy
from leakcap import gain, leakage

__all__ = ["LAWS"]


def informations(s: Sample) -> Iterator[bool]:
    """At an order below one and an order above, any."""
    c, p = s.channel, s.prior
    for alpha in (s.rng.uniform(0.2, 0.95), math.exp(s.rng.uniform(0.05, 3.0))):
        sibson, joint = leakage.sibson(c, p, alpha=alpha), leakage.joint_renyi(c, p, alpha=alpha)
        csiszar = leakage.csiszar(c, p, alpha=alpha)
        limit = s.ask(lc.Renyi(alpha), lc.AllPriors()).upper
        yield below(sibson, joint, 1e-11)
        yield below(csiszar.lower, sibson, 1e-11) if alpha > 1.0 else below(sibson, csiszar.upper, 1e-11)
        yield below(sibson, limit, 1e-11)
        yield below(leakage.arimoto(c, p, alpha=alpha), limit, 1e-11)
    yield below(leakage.mutual_information(c, p), s.shannon.upper, 1e-12)


def guesses(s: Sample) -> Iterator[bool]:
    c, p, n = s.channel, s.prior, s.size
    bayes, lift = leakage.gain_capacity(c, p).upper, leakage.lift(c, p)
    top = leakage.bayes_capacity(c).upper
    yield below(bayes, lift, 1e-11)
    yield below(lift, leakage.lift_capacity(c).upper, 1e-11)
    yield below(bayes, top, 1e-11)
    yield below(top, math.exp(min(s.epsilon, 700.0)), 1e-11)
    goals = [gain.identity(n), gain.k_guesses(n, min(2, n)), gain.property_of([x % 2 for x in range(n)])]
    goals += [gain.distance(s.rng.random((n, n))), gain.matrix(s.rng.exponential(size=(4, n)))]
    for goal in goals:
        mean, worst = leakage.g_leakage(c, p, goal), leakage.g_leakage(c, p, goal, max_case=True)
        yield below(mean, worst, 1e-11)
        yield below(mean, bayes, 1e-11)
        yield below(worst, lift, 1e-11)
    reciprocal = leakage.g_leakage(c, p, gain.distribution_reciprocal(p), max_case=True)
    yield math.isclose(reciprocal, lift, rel_tol=1e-11)


def pointwise(s: Sample) -> Iterator[bool]:
    c, p = s.channel, s.prior
    log_lift = leakage.log_lift(c, p)
    yield below(log_lift, float(leakage.pointwise_maximal_leakage(c, p).max()), 1e-11)
    both = leakage.local_information_privacy(c, p)
    yield below(log_lift, both, 1e-11)
    yield below(both, s.epsilon, 1e-11)
    yield below(leakage.mutual_information(c, p), log_lift, 1e-11)
    # ε-LIP ⇒ 2ε between the secrets that are possible at all.
    whole = s.of(lc.Channel(c.matrix[p > 0]))
    yield below(whole.epsilon, 2.0 * both, 1e-11)


def correlated(s: Sample) -> Iterator[bool]:
    other = lc.Channel(s.rng.dirichlet(np.full(s.size, 0.4), 3))
    about = s.of(other >> s.channel)
    yield below(leakage.bayes_capacity(about.channel).upper, leakage.bayes_capacity(s.channel).upper, 1e-11)
    yield below(about.epsilon, s.epsilon, 1e-11)
    belief = s.rng.dirichlet(np.ones(3))
    about_x, alpha = belief @ other.matrix, math.exp(s.rng.uniform(-1.5, 3.0))
    measures: list[Callable[..., float]] = [
        leakage.lift,
        leakage.mutual_information,
        leakage.local_information_privacy,
        lambda c, p: leakage.sibson(c, p, alpha=alpha),
    ]
    for measure in measures:
        told = leakage.dalenius(measure, s.channel, other, belief)
        yield below(told, measure(s.channel, about_x), 1e-11)
    yield below(about.shannon.lower, s.shannon.upper)


def four_privacies(s: Sample) -> Iterator[bool]:
    seen = leakage.privacies(s.channel, s.prior)
    yield below(seen.mutual_information, seen.relative_entropy, 1e-11)
    yield below(seen.relative_entropy, seen.information, 1e-11)
    yield below(seen.information, seen.inferential, 1e-11)


def entropy_floor(s: Sample) -> Iterator[bool]:
    top = math.log(s.size)
    bounds = [s.ask(lc.Renyi(INF), lc.EntropyFloor(b)) for b in (0.0, 0.3 * top, 0.8 * top, top)]
    yield all(below(late.lower, early.upper, 1e-11) for early, late in itertools.pairwise(bounds))
    yield below(bounds[0].lower, s.epsilon, 1e-11)
    yield below(s.epsilon, bounds[0].upper, 1e-11)
    uniform = leakage.log_lift(s.channel, np.full(s.size, 1.0 / s.size))
    yield abs(bounds[-1].lower - uniform) <= 1e-9
    yield abs(bounds[-1].upper - uniform) <= 1e-9
    floor = lc.EntropyFloor(max(entropy(s.prior) - 1e-12, 0.0))
    yield below(leakage.log_lift(s.channel, s.prior), s.ask(lc.Renyi(INF), floor).upper, 1e-9)


def refined(s: Sample) -> Iterator[bool]:
    """A post-processing is never denied as a refinement, and it never leaks more, by any measure."""
    less = s.channel >> lc.Channel(s.rng.dirichlet(np.full(3, 0.5), s.channel.shape[1]))
    # Near the tolerance it may be undecided, never denied.
    yield lc.refines(s.channel, less).holds is not False
    goal, alpha = gain.matrix(s.rng.exponential(size=(4, s.size))), math.exp(s.rng.uniform(-1.5, 3.0))
    measures: list[Callable[[lc.Channel], float]] = [
        lambda c: leakage.posterior_vulnerability(c, s.prior, goal),
        lambda c: leakage.g_leakage(c, s.prior, goal, max_case=True),
        lambda c: leakage.mutual_information(c, s.prior),
        lambda c: leakage.sibson(c, s.prior, alpha=alpha),
        lambda c: leakage.arimoto(c, s.prior, alpha=alpha),
        lambda c: leakage.joint_renyi(c, s.prior, alpha=alpha),
        lambda c: leakage.bayes_capacity(c).upper,
        lambda c: leakage.lift(c, s.prior),
        lambda c: leakage.local_information_privacy(c, s.prior),
        lambda c: s.of(c).epsilon,
        lambda c: s.of(c).variation,
        lambda c: s.of(c).divergence,
    ]
    for measure in measures:
        yield below(measure(less), measure(s.channel), 1e-11)
    yield below(leakage.csiszar(less, s.prior, alpha=alpha).lower, _csiszar(s, alpha), 1e-11)


def _csiszar(s: Sample, alpha: float) -> float:
    return leakage.csiszar(s.channel, s.prior, alpha=alpha).upper


LAWS: tuple[Law, ...] = (informations, guesses, pointwise, correlated, four_privacies, entropy_floor, refined)
