"""Every inequality of the theory's sections 1 to 4, each named, on random channels of the awkward kinds.

The channels have 2 to 8 secrets and outputs and are plain, near-deterministic, near-equal, with zero entries
or a zero column. Formulas are written out here a second time, from the theory and not from the code.

Section 1  radius ≤ level ≤ diameter at every order · all three rise with the order · at α = 1 the radius is
           the level, at ∞ the level is ε and the radius ln Σ_y max_x C_xy
Section 2  Rényi divergence rises with the order · Pinsker, TV² ≤ KL/2 · the privacy profile starts at TV,
           falls, is convex and ends at ε
Section 3  Sibson ≤ joint · Csiszár ≤ Sibson for α ≥ 1, and the other way below · information ≤ capacity ·
           average ≤ max-case ≤ lift · average ≤ Bayes capacity ≤ lift ≤ e^ε · the reciprocal gain's max-case
           leakage is the lift · pointwise leakage and LIP are at least the log-lift · a correlated secret is
           told no more · the four privacies in order · the entropy floor falls from ε to the uniform log-lift
           · post-processing is a refinement and leaks less
Section 4  ε to KL, MI, binary MI, R_α, RDP, zCDP, Bayes capacity, posteriors · KL to MI · MI to TV, to the
           profile, to Fano's guesses · (ε, δ) to a smaller ε and to binary MI · TV to MI, three ways ·
           LIP to ε · RDP to the profile · ε to independent and to dependent records, and semantic privacy
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

import leakcap as lc
from leakcap import gain, leakage
from leakcap.leakage import individual
from strange_channels import strange_channels

INF = math.inf
Floats = np.ndarray
Law = Callable[["Sample"], Iterator[bool]]


def below(low: float, high: float, slack: float = 1e-9) -> bool:
    """low ≤ high, but for solvers' gaps (1e-9) and rounding."""
    return low <= high + slack * max(1.0, abs(high)) if math.isfinite(high) else high > 0


def h(p: float) -> float:
    return -sum(v * math.log(v) for v in (p, 1.0 - p) if v > 0.0)


@dataclass
class Sample:
    channel: lc.Channel
    prior: Floats
    rng: np.random.Generator

    def ask(self, ruler: lc.Divergence, adversary: lc.Adversary | None = None) -> lc.Bound:
        return lc.capacity(self.channel, ruler, adversary)

    @cached_property
    def epsilon(self) -> float:
        return self.ask(lc.Renyi(INF)).upper

    @cached_property
    def shannon(self) -> lc.Bound:
        return self.ask(lc.Renyi(1.0), lc.AllPriors())

    @cached_property
    def variation(self) -> float:
        return self.ask(lc.TotalVariation()).upper

    @cached_property
    def divergence(self) -> float:
        return self.ask(lc.Renyi(1.0)).upper

    @property
    def size(self) -> int:
        return self.channel.shape[0]

    @property
    def fewest(self) -> int:
        return min(self.channel.shape)

    def profile(self, epsilon: float) -> float:
        return self.ask(lc.HockeyStick(math.exp(epsilon))).upper


# --- section 1 ---


def radius_level_diameter(s: Sample) -> Iterator[bool]:
    before = (0.0, 0.0, 0.0)
    for alpha in (0.5, 1.0, 2.0, 8.0, INF):
        ruler = lc.Renyi(alpha)
        radius, level = s.ask(ruler, lc.AllPriors()), s.ask(ruler, lc.AllPriorsJoint())
        diameter = s.ask(ruler)
        yield below(radius.lower, level.upper)
        yield below(level.lower, diameter.upper)
        yield all(below(b, n.upper) for b, n in zip(before, (radius, level, diameter), strict=True))
        before = (radius.lower, level.lower, diameter.lower)
        if alpha == 1.0:
            yield below(level.upper, radius.lower)
            yield below(radius.upper, level.lower)
    yield math.isclose(level.upper, s.epsilon, rel_tol=1e-12, abs_tol=1e-12) or level.upper == s.epsilon
    yield math.isclose(
        radius.upper, math.log(s.channel.matrix.max(axis=0).sum()), rel_tol=1e-12, abs_tol=1e-12
    )


# --- section 2 ---


def rulers(s: Sample) -> Iterator[bool]:
    rows = s.channel.matrix
    p, q = rows[0], rows[1]
    values = [float(lc.Renyi(a).between(p, q)) for a in (0.3, 0.9, 1.0, 1.0 + 1e-9, 2.0, 30.0, 1e6, INF)]
    yield all(below(low, high, 1e-11) for low, high in itertools.pairwise(values))
    distance = float(lc.TotalVariation().between(p, q))
    yield below(2.0 * distance**2, values[2], 1e-13)
    grid = np.linspace(0.0, 3.0, 13)
    profile = [float(lc.HockeyStick(g).between(p, q)) for g in 1.0 + grid]
    yield abs(profile[0] - distance) <= 1e-12
    yield all(below(late, early, 1e-13) for early, late in itertools.pairwise(profile))
    yield all(
        below(b, 0.5 * (a + c), 1e-13) for a, b, c in zip(profile, profile[1:], profile[2:], strict=False)
    )
    if values[-1] < 600.0:
        yield float(lc.HockeyStick(math.exp(values[-1])).between(p, q)) <= 1e-12


# --- section 3 ---


def informations(s: Sample) -> Iterator[bool]:
    c, p = s.channel, s.prior
    for alpha in (0.5, 3.0):
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
    whole = lc.Channel(s.channel.matrix[p > 0])
    # ε-LIP ⇒ 2ε between the secrets that are possible at all.
    yield below(lc.capacity(whole, lc.Renyi(INF)).upper, 2.0 * both, 1e-11)


def correlated(s: Sample) -> Iterator[bool]:
    other = lc.Channel(s.rng.dirichlet(np.full(s.size, 0.4), 3))
    about = other >> s.channel
    yield below(leakage.bayes_capacity(about).upper, leakage.bayes_capacity(s.channel).upper, 1e-11)
    yield below(lc.capacity(about, lc.Renyi(INF)).upper, s.epsilon, 1e-11)
    belief = s.rng.dirichlet(np.ones(3))
    told = leakage.dalenius(leakage.lift, s.channel, other, belief)
    yield below(told, leakage.lift(s.channel, belief @ other.matrix), 1e-11)
    yield below(lc.capacity(about, lc.Renyi(1.0), lc.AllPriors()).lower, s.shannon.upper)


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
    entropy = h_of(s.prior)
    under = s.ask(lc.Renyi(INF), lc.EntropyFloor(max(entropy - 1e-12, 0.0))).upper
    yield below(leakage.log_lift(s.channel, s.prior), under, 1e-9)


def h_of(prior: Floats) -> float:
    return -sum(float(v) * math.log(v) for v in prior if v > 0)


def refined(s: Sample) -> Iterator[bool]:
    less = s.channel >> lc.Channel(s.rng.dirichlet(np.full(3, 0.5), s.channel.shape[1]))
    # Near the tolerance it may be undecided, never denied.
    yield lc.refines(s.channel, less).holds is not False
    goal = gain.matrix(s.rng.exponential(size=(4, s.size)))
    measures: list[Callable[[lc.Channel], float]] = [
        lambda c: leakage.posterior_vulnerability(c, s.prior, goal),
        lambda c: leakage.mutual_information(c, s.prior),
        lambda c: leakage.bayes_capacity(c).upper,
        lambda c: leakage.lift(c, s.prior),
    ]
    for measure in measures:
        yield below(measure(less), measure(s.channel), 1e-11)


# --- section 4 ---


def from_epsilon(s: Sample) -> Iterator[bool]:
    e = s.epsilon
    if e > 300.0:
        return
    a = math.exp(e)
    yield below(s.divergence, e * math.tanh(e / 2), 1e-11)
    yield below(e * math.tanh(e / 2), min(e, e * e / 2), 1e-12)
    d = e / -math.expm1(-e) if e > 0 else 1.0
    yield below(s.shannon.lower, d - 1 - math.log(d))
    for alpha in (1.5, 4.0):
        if alpha * e < 300.0:
            yield below(s.ask(lc.Renyi(alpha), lc.AllPriors()).lower, range_level(e, alpha))
            ratio = math.sinh(alpha * e) - math.sinh((alpha - 1) * e)
            pair = s.ask(lc.Renyi(alpha)).upper
            yield below(pair, math.log(ratio / math.sinh(e)) / (alpha - 1) if e > 1e-4 else e, 1e-9)
            yield below(pair, alpha * e * math.tanh(e / 2), 1e-11)
    k = s.size
    yield below(leakage.bayes_capacity(s.channel).upper, k * a / (a + k - 1), 1e-11)
    post = leakage.Hyper(s.channel, s.prior).inner
    limit = s.prior * a / (s.prior * a + 1 - s.prior)
    yield bool((post <= limit + 1e-11).all())
    even = leakage.Hyper(s.channel, np.full(k, 1 / k)).inner
    yield bool((even <= a / (a + k - 1) + 1e-11).all())


def range_level(epsilon: float, alpha: float) -> float:
    """R_α of the theory, from its two-point formula."""
    if epsilon < 1e-3:
        return alpha * epsilon**2 / 8 * (1 + epsilon)
    one, power = math.expm1(epsilon), math.expm1(alpha * epsilon)
    f = (power - alpha * one) / ((alpha - 1) * one * power)
    return (math.log1p(f * power) - alpha * math.log1p(f * one)) / (alpha - 1)


def two_values(s: Sample) -> Iterator[bool]:
    rows = lc.Channel(s.channel.matrix[:2])
    exact = lc.capacity(rows, lc.Renyi(1.0), lc.AllPriors()).lower
    e = min(lc.capacity(rows, lc.Renyi(INF)).upper, 700.0)
    yield below(exact, math.log(2) - h(math.exp(e) / (1 + math.exp(e))))
    for budget in (0.2, 1.0):
        delta = lc.capacity(rows, lc.HockeyStick(math.exp(budget))).upper
        a = math.exp(budget)
        yield below(exact, delta * math.log(2) + (1 - delta) * (math.log(2) - h(a / (1 + a))))
        for smaller in (0.0, 0.1):
            small = lc.capacity(rows, lc.HockeyStick(math.exp(smaller))).upper
            yield below(small, 1 - (math.exp(smaller) + 1) * (1 - delta) / (a + 1), 1e-12)


def from_information(s: Sample) -> Iterator[bool]:
    kappa = s.shannon.upper
    yield below(s.shannon.lower, s.divergence)
    yield below(s.variation, math.sqrt(2 * kappa), 1e-11)
    if kappa < math.log(2):
        # δ = 1 − 2h⁻¹(ln 2 − κ), read the other way: ln 2 − h((1 − δ)/2) ≤ κ.
        yield below(math.log(2) - h((1 - s.variation) / 2), kappa, 1e-11)
    k = s.size
    success = float(s.channel.matrix.max(axis=0).sum()) / k
    yield below(math.log(k) - h(success) - (1 - success) * math.log(k - 1), kappa, 1e-11)
    for budget in (0.5, 2.0):
        yield below(s.profile(budget), lc.convert(lc.MIDP(kappa), lc.ApproxDP, epsilon=budget).delta)


def from_variation(s: Sample) -> Iterator[bool]:
    delta, k = s.variation, s.fewest
    yield below(s.shannon.lower, delta * math.log(k))
    yield below(s.shannon.lower, 2 * h(delta) + 2 * delta * math.log(k + 1) if delta < 0.5 else INF)
    if delta <= 1 - 1 / k:
        yield below(s.shannon.lower, h(delta) + delta * math.log(k - 1))


def from_renyi(s: Sample) -> Iterator[bool]:
    for alpha in (1.5, 6.0):
        budget = s.ask(lc.Renyi(alpha)).upper
        yield below(s.profile(0.7), lc.convert(lc.RenyiDP(alpha, budget), lc.ApproxDP, epsilon=0.7).delta)


def databases(s: Sample) -> Iterator[bool]:
    """Two records of two or three values; ε between databases that differ in one."""
    values = int(s.rng.integers(2, 4))
    rows = s.rng.dirichlet(np.full(4, 3.0), values**2)
    people = list(itertools.product(range(values), repeat=2))
    table = lc.Channel(rows, inputs=people)
    near = [(i, j) for i, j in itertools.combinations(range(len(people)), 2) if 0 in difference(people, i, j)]
    e = lc.capacity(table, lc.Renyi(INF), lc.Neighbours(tuple(near))).upper
    first, second = s.rng.dirichlet(np.ones(values)), s.rng.dirichlet(np.ones(values))
    apart, joint = np.outer(first, second).ravel(), s.rng.dirichlet(np.full(values**2, 0.4))
    together = joint.reshape(values, values)
    extent = math.log(float((together / np.outer(together.sum(1), together.sum(0))).max()))
    for record in (0, 1):
        alone, belief = individual(table, apart, record)
        yield below(leakage.information_privacy(alone, belief), e, 1e-11)
        moved, belief = individual(table, joint, record)
        yield below(leakage.information_privacy(moved, belief), min(2 * e, e + extent), 1e-11)
    # Semantic privacy: the belief after y, and after y had the first record held another value.
    changed = np.array([people.index(((x + 1) % values, z)) for x, z in people])
    after, instead = (joint[:, None] * r for r in (rows, rows[changed]))
    shift = after / after.sum(0) - instead / instead.sum(0)
    yield bool((0.5 * np.abs(shift).sum(0) <= math.expm1(2 * e) + 1e-12).all())


def difference(people: list[tuple[int, ...]], i: int, j: int) -> list[int]:
    return [a - b for a, b in zip(people[i], people[j], strict=True)]


LAWS: dict[Law, int] = {
    radius_level_diameter: 25,
    rulers: 1,
    informations: 10,
    guesses: 1,
    pointwise: 1,
    correlated: 1,
    four_privacies: 1,
    entropy_floor: 2,
    refined: 20,
    from_epsilon: 1,
    two_values: 1,
    from_information: 1,
    from_variation: 1,
    from_renyi: 4,
    databases: 1,
}
"""Every law, and on which share of the channels it runs: the costly ones on one in that many."""


def violations(law: Law, count: int, every: int, seed: int) -> tuple[int, list[str]]:
    tested, found = 0, []
    rng = np.random.default_rng(seed)
    for k, (channel, prior) in enumerate(strange_channels(count, seed=seed)):
        # The kinds alternate, so a stride that shares a factor with their number would miss some.
        if (k // 5) % every:
            continue
        for place, holds in enumerate(law(Sample(channel, prior, rng))):
            tested += 1
            if not holds:
                found.append(f"{law.__name__}, claim {place}, channel {k}: {channel.matrix!r}, {prior!r}")
    return tested, found


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_on_some_channels(law: Law) -> None:
    tested, found = violations(law, 60, 6 if law is radius_level_diameter else 2 if LAWS[law] > 1 else 1, 11)
    assert found == []
    assert tested >= 50


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_on_ten_thousand_channels(law: Law) -> None:
    tested, found = violations(law, 10_000, LAWS[law], 12)
    assert found[:3] == []
    assert tested >= 10_000 // LAWS[law]


class _Louder(Sample):
    """A world that measures everything a tenth too large, on whichever side is the smaller."""

    def ask(self, ruler: lc.Divergence, adversary: lc.Adversary | None = None) -> lc.Bound:
        bound = super().ask(ruler, adversary)
        return lc.Bound.exact(1.1 * bound.upper if ruler == lc.Renyi(1.0) else bound.upper, method="louder")


def test_a_measure_that_is_too_large_is_caught() -> None:
    erasure = lc.Channel(np.hstack([0.3 * np.eye(4), np.full((4, 1), 0.7)]))
    response = lc.Channel((np.ones((2, 2)) + np.eye(2)) / 3)
    rng = np.random.default_rng(0)
    honest = (Sample(erasure, np.full(4, 0.25), rng), Sample(response, np.full(2, 0.5), rng))
    louder = tuple(_Louder(s.channel, s.prior, rng) for s in honest)
    for laws, sample in (((from_variation,), 0), ((from_epsilon,), 1)):
        for law in laws:
            assert all(law(honest[sample])), law
            assert not all(law(louder[sample])), law
