"""Section 4 of the theory: every row of the conversions, from what a channel has to what must follow."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

import leakcap as lc
from laws.inequalities.sample import INF, Floats, Law, Sample, below, h, range_level
from leakcap import leakage
from strange_channels import KINDS

__all__ = ["LAWS"]


def from_epsilon(s: Sample) -> Iterator[bool]:
    e, k = s.epsilon, s.size
    if e > 300.0:
        # A = ∞: every limit is infinite but for the number of secrets and certainty.
        yield below(leakage.bayes_capacity(s.channel).upper, k, 1e-11)
        yield bool((leakage.Hyper(s.channel, s.prior).inner <= 1.0 + 1e-11).all())
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
    yield below(leakage.bayes_capacity(s.channel).upper, k * a / (a + k - 1), 1e-11)
    post = leakage.Hyper(s.channel, s.prior).inner
    limit = s.prior * a / (s.prior * a + 1 - s.prior)
    yield bool((post <= limit + 1e-11).all())
    even = leakage.Hyper(s.channel, np.full(k, 1 / k)).inner
    yield bool((even <= a / (a + k - 1) + 1e-11).all())


def two_values(s: Sample) -> Iterator[bool]:
    rows = s.of(lc.Channel(s.channel.matrix[:2]))
    exact, e = rows.shannon.lower, min(rows.epsilon, 700.0)
    yield below(exact, math.log(2) - h(math.exp(e) / (1 + math.exp(e))))
    for budget in (0.2, 1.0):
        delta, a = rows.profile(budget), math.exp(budget)
        yield below(exact, delta * math.log(2) + (1 - delta) * (math.log(2) - h(a / (1 + a))))
        for smaller in (0.0, 0.1):
            yield below(rows.profile(smaller), 1 - (math.exp(smaller) + 1) * (1 - delta) / (a + 1), 1e-12)


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


def to_the_profile(s: Sample) -> Iterator[bool]:
    """From RDP at two orders, from Gaussian DP, and from the zCDP that ε gives, at its best order."""
    for alpha in (1.5, 6.0):
        budget = s.ask(lc.Renyi(alpha)).upper
        yield below(s.profile(0.7), lc.convert(lc.RenyiDP(alpha, budget), lc.ApproxDP, epsilon=0.7).delta)
    gaussian = lc.GaussianDP(0.0).tightest(s.channel)
    for epsilon in (0.0, 0.7, 2.0):
        yield below(s.profile(epsilon), lc.convert(gaussian, lc.ApproxDP, epsilon=epsilon).delta)
    rho = s.epsilon * math.tanh(s.epsilon / 2)
    if 0.0 < rho < 100.0:
        # Canonne, Kamath & Steinke: δ ≤ e^{(α−1)(αρ−ε)} (1 − 1/α)^α / (α − 1) at every order.
        orders = 1.0 + np.geomspace(1e-2, 1e4, 60)
        logs = (orders - 1) * (orders * rho - 0.7) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
        yield below(s.profile(0.7), math.exp(min(float(logs.min()), 0.0)))


def databases(s: Sample) -> Iterator[bool]:
    """Two records of two or three values; ε between databases that differ in one."""
    values = int(s.rng.integers(2, 4))
    rows = _answers(s, values**2)
    people = [(x, z) for x in range(values) for z in range(values)]
    table = lc.Channel(rows, inputs=people)
    near = neighbours(people)
    e = lc.capacity(table, lc.Renyi(INF), lc.Neighbours(tuple(near))).upper
    first, second = s.rng.dirichlet(np.ones(values)), s.rng.dirichlet(np.ones(values))
    apart, joint = np.outer(first, second).ravel(), s.rng.dirichlet(np.full(values**2, 0.4))
    together = joint.reshape(values, values)
    extent = math.log(float((together / np.outer(together.sum(1), together.sum(0))).max()))
    for record in (0, 1):
        alone, belief = leakage.individual(table, apart, record)
        yield below(leakage.information_privacy(alone, belief), e, 1e-11)
        moved, belief = leakage.individual(table, joint, record)
        yield below(leakage.information_privacy(moved, belief), min(2 * e, e + extent), 1e-11)
    if math.isfinite(e):
        reached = _reached(table)
        yield below(reached, e, 1e-11)
        yield below(e, reached, 1e-11)
    # Semantic privacy: the belief after y, and after y had the first record held another value.
    changed = np.array([people.index(((x + 1) % values, z)) for x, z in people])
    after, instead = (joint[:, None] * r for r in (rows, rows[changed]))
    shift = after / after.sum(0) - instead / instead.sum(0)
    yield bool((0.5 * np.abs(shift).sum(0) <= math.expm1(2 * e) + 1e-12).all())


def _answers(s: Sample, count: int) -> Floats:
    """Rows of an awkward channel on databases, over the outputs that are possible at all."""
    kind = KINDS[int(s.rng.integers(len(KINDS)))]
    rows = kind(s.rng, count, int(s.rng.integers(2, 9)))
    return np.asarray(rows[:, rows.any(axis=0)])


def neighbours(people: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pairs of databases that differ in one record."""
    pairs = ((i, j) for i in range(len(people)) for j in range(i))
    return [(i, j) for i, j in pairs if sum(a != b for a, b in zip(people[i], people[j], strict=True)) == 1]


def _reached(table: lc.Channel) -> float:
    """Information privacy of independent records does come to ε: one record known, the other near certain.

    With mass η on x and the rest on x′ the lift is A/(1 − η + ηA), A the ratio of the two rows; what η takes
    away is given back here.
    """
    eta, best, people = 1e-15, 0.0, table.inputs
    for x, y in itertools.permutations(range(len(people)), 2):
        for record in (0, 1):
            if people[x][1 - record] == people[y][1 - record]:
                prior = np.zeros(len(people))
                prior[x], prior[y] = eta, 1.0 - eta
                shown = leakage.information_privacy(*leakage.individual(table, prior, record))
                best = max(best, shown)
    lift = math.exp(best)
    return math.log(lift * (1.0 - eta) / (1.0 - eta * lift)) if eta * lift < 1.0 else INF


LAWS: tuple[Law, ...] = (
    from_epsilon,
    two_values,
    from_information,
    from_variation,
    to_the_profile,
    databases,
)
