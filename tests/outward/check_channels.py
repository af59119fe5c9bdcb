"""Capacities and leakage of channels of doubles: the truth is that of the rows divided by their sums."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product

import numpy as np
from flint import arb
from scipy import sparse

from leakcap import leakage
from leakcap.adversary import (
    AllPriors,
    AllPriorsJoint,
    BayesianAdversary,
    BayesianNeighbours,
    DependentRecords,
    EntropyFloor,
    GivenPrior,
    InputCost,
    Neighbours,
    StrongAdversary,
)
from leakcap.capacities import capacity
from leakcap.capacities.records.databases import personal_capacities
from leakcap.channel import Channel
from leakcap.definition import (
    KLDP,
    MIDP,
    ApproxDP,
    DeltaDP,
    GaussianDP,
    InformationPrivacy,
    LevelCapacity,
    LocalInformationPrivacy,
    MaximalLeakage,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from leakcap.definition.information import Centre
from leakcap.divergence import Divergence, HockeyStick, Renyi, TotalVariation
from leakcap.gain import identity, k_guesses
from outward.balls import Case, Row, Rows, ball, diameter, divergence, largest, sibson
from outward.registry import checks

ORDERS = (0.01, 0.5, 1 - 1e-9, 1.0, 1 + 1e-9, 1.001, 2.0, 30.0, math.inf)
RULERS: tuple[Divergence, ...] = (
    *(Renyi(order) for order in ORDERS),
    *(HockeyStick(shift) for shift in (0.5, 1.0, 1.1, 3.0)),
    TotalVariation(),
)


@lru_cache(maxsize=1)
def tables() -> tuple[np.ndarray, ...]:
    """Random, skewed, nearly equal, sparse, tiny and huge ratios; two to five secrets."""
    rng = np.random.default_rng(18)
    found = []
    for secrets, outputs in ((2, 2), (3, 4), (5, 3), (2, 30)):
        for power in (1.0, 8.0):
            rows = rng.dirichlet(np.ones(outputs), size=secrets) ** power
            found.append(rows / rows.sum(axis=1, keepdims=True))
    for gap in (1e-3, 1e-7, 1e-12):
        base = rng.dirichlet(np.ones(4))
        rows = base * (1.0 + gap * rng.uniform(-1.0, 1.0, size=(3, 4)))
        found.append(rows / rows.sum(axis=1, keepdims=True))
    rows = rng.dirichlet(np.ones(5), size=4) * (rng.random((4, 5)) < 0.6)
    rows[:, 0] += 0.1
    found.append(rows / rows.sum(axis=1, keepdims=True))
    found.append(np.array([[1.0 - 1e-200, 1e-200], [1e-300, 1.0]]))
    found.append(np.array([[0.1, 0.2, 0.7], [0.7, 0.1, 0.2], [0.2, 0.7, 0.1]]))
    return tuple(found)


def exact_rows(rows: np.ndarray) -> Rows:
    """The rows as fractions, divided by their sums."""
    fractions = [[Fraction(value) for value in row] for row in rows.tolist()]
    return [[ball(value / sum(row)) for value in row] for row in fractions]


def some(full: bool) -> Iterator[tuple[str, np.ndarray]]:
    for index, rows in enumerate(tables()):
        if full or index % 3 == 0:
            yield f"table {index}", rows


def priors(count: int) -> list[list[float]]:
    rng = np.random.default_rng(count)
    return [
        [1.0 / count] * count,
        rng.dirichlet(np.ones(count)).tolist(),
        [1.0 - 1e-9, 1e-9] + [0.0] * (count - 2),
    ]


def exact_prior(prior: list[float]) -> Row:
    fractions = [Fraction(value) for value in prior]
    return [ball(value / sum(fractions)) for value in fractions]


@checks(
    "leakcap.capacities.diameter.diameter",
    "leakcap.capacities.verb.capacity",
    "leakcap.capacities.verb.solve",
    "leakcap.capacities.verb.solver",
    "leakcap.capacities.verb.HasExact.exact",
)
def diameters(full: bool) -> Iterator[Case]:
    for name, rows in some(full):
        thin = Channel(sparse.csr_array(rows))
        every = tuple(combinations(range(len(rows)), 2))
        for ruler in RULERS:
            truth = diameter(ruler, exact_rows(rows))
            for kind, found in (
                ("dense", capacity(Channel(rows), ruler)),
                ("listed", capacity(Channel(rows), ruler, Neighbours(every))),
                ("sparse", capacity(thin, ruler)),
            ):
                listed = kind != "dense" and isinstance(ruler, HockeyStick) and ruler.exp_epsilon < 1.0
                yield Case(f"{name} {kind} {ruler}", found, truth, 1e-12, 1e-13 if not listed else math.inf)


@checks("leakcap.capacities.radius.radius")
def maximal_leakages(full: bool) -> Iterator[Case]:
    for name, rows in some(full):
        truth = sibson(math.inf, exact_rows(rows), [arb(1) / len(rows)] * len(rows))
        for kind, channel in (("dense", Channel(rows)), ("sparse", Channel(sparse.csr_array(rows)))):
            found = capacity(channel, Renyi(math.inf), AllPriors())
            yield Case(f"{name} {kind}", found, truth, 1e-14, 1e-14)
            yield Case(f"{name} measure", MaximalLeakage(1.0).measure(channel), truth, 1e-14, 1e-14)


@checks("leakcap.capacities.given.given_prior")
def informations(full: bool) -> Iterator[Case]:
    for name, rows in some(full):
        for kind, channel in (("dense", Channel(rows)), ("sparse", Channel(sparse.csr_array(rows)))):
            for prior in priors(len(rows)):
                for order in ORDERS:
                    found = capacity(channel, Renyi(order), GivenPrior(tuple(prior)))
                    truth = sibson(order, exact_rows(rows), exact_prior(prior))
                    wide = 1e-10 if rows[rows > 0].min() > 1e-100 else math.inf
                    yield Case(f"{name} {kind} {order} {prior[:2]}", found, truth, wide, 1e-12)


def best_of_two(order: float, rows: Rows) -> arb:
    """Sibson's capacity of two secrets, by ternary search over the prior."""
    low, high = arb(0), arb(1)
    for _ in range(160):
        a, b = (2 * low + high) / 3, (low + 2 * high) / 3
        first, second = (sibson(order, rows, [1 - x, x]) for x in (a, b))
        low, high = (a, high) if second > first else (low, b)
        low, high = arb(low.mid()), arb(high.mid())
    return sibson(order, rows, [1 - low, low]) + arb(0, 1e-45)


def even(order: float, rows: Rows) -> arb:
    """The capacity where the uniform prior is best, by symmetry."""
    return sibson(order, rows, [arb(1) / len(rows)] * len(rows))


def solved(full: bool) -> Iterator[tuple[str, np.ndarray, float, arb]]:
    """Channels whose capacities are known: two secrets, and rows that are permuted in a circle."""
    for name, rows in some(full):
        circular = len(rows) == 3 and rows.shape == (3, 3) and rows[0, 0] == 0.1
        if len(rows) != 2 and not circular:
            continue
        for order in (0.5, 1.0, 2.0) if not full else (0.1, 0.5, 0.999, 1.0, 1.001, 2.0, 20.0):
            exact = exact_rows(rows)
            yield name, rows, order, even(order, exact) if circular else best_of_two(order, exact)


@checks(
    "leakcap.capacities.solvers.shannon.shannon_capacity",
    "leakcap.capacities.solvers.sibson.sibson_capacity",
    "leakcap.capacities.solvers.sparse_shannon.large_shannon_capacity",
    "leakcap.definition.information.MIDP.measure",
    "leakcap.definition.information.LevelCapacity.measure",
)
def solvers(full: bool) -> Iterator[Case]:
    from leakcap.capacities.solvers.sparse_rows import SparseRows
    from leakcap.capacities.solvers.sparse_shannon import large_shannon_capacity

    for name, rows, order, truth in solved(full):
        found = capacity(Channel(rows), Renyi(order), AllPriors())
        yield Case(f"{name} radius {order}", found, truth, math.inf)
        level = LevelCapacity(order, 1.0, centre=Centre.SIBSON).measure(Channel(rows))
        yield Case(f"{name} level {order}", level, truth, math.inf)
        if order == 1.0:
            yield Case(f"{name} MI-DP", MIDP(1.0).measure(Channel(rows)), truth, math.inf)
            large = large_shannon_capacity(SparseRows(sparse.csr_array(rows)))
            yield Case(f"{name} sparse", large, truth, math.inf)


def joint(order: float, rows: Rows, prior: Row) -> arb:
    """D_α(P_XY ‖ P_X × P_Y)."""
    centre = [
        sum((w * row[y] for w, row in zip(prior, rows, strict=True)), arb(0)) for y in range(len(rows[0]))
    ]
    p = [w * c for w, row in zip(prior, rows, strict=True) for c in row]
    q = [w * c for w in prior for c in centre]
    return divergence(Renyi(order), p, q)


@checks("leakcap.capacities.level.level")
def level_capacities(full: bool) -> Iterator[Case]:
    """Above every prior's value, and at infinity the diameter."""
    for name, rows in some(full):
        exact, channel = exact_rows(rows), Channel(rows)
        truth = diameter(Renyi(math.inf), exact)
        yield Case(f"{name} ∞", capacity(channel, Renyi(math.inf), AllPriorsJoint()), truth, 1e-12, 1e-13)
        if len(rows) > 2 or (rows == 0).any() or rows.min() < 1e-100:
            continue
        for order in (0.5, 1.0, 2.0, 8.0):
            found = capacity(channel, Renyi(order), AllPriorsJoint())
            values = [joint(order, exact, [1 - arb(x) / 256, arb(x) / 256]) for x in range(1, 256)]
            best = largest(values)
            assert arb(found.upper) >= best, (name, order, found, best)
            witness = [arb(float(w)) for w in np.asarray(found.witness)]
            attained = joint(order, exact, [w / sum(witness, arb(0)) for w in witness])
            yield Case(
                f"{name} {order} attained", type(found)(0.0, found.upper, "attained"), attained, math.inf
            )
            lower = type(found)(found.lower, math.inf, "attained")
            yield Case(f"{name} {order} below", lower, attained + arb(1e-9), math.inf)


@checks(
    "leakcap.leakage.correlated.dalenius_capacity",
    "leakcap.leakage.limits.bayes_capacity",
    "leakcap.leakage.limits.lift_capacity",
    "leakcap.leakage.limits.gain_capacity",
    "leakcap.leakage.limits.additive_gain_capacity",
    "leakcap.leakage.additive.additive_bayes_capacity",
    "leakcap.leakage.over_priors.g_capacity",
    "leakcap.leakage.worst_priors.worst_guess",
    "leakcap.leakage.worst_priors.worst_case",
)
def leakages(full: bool) -> Iterator[Case]:
    for name, rows in some(full):
        exact, channel, count = exact_rows(rows), Channel(rows), len(rows)
        tops = sum((largest(list(column)) for column in zip(*exact, strict=True)), arb(0))
        yield Case(f"{name} Bayes", leakage.bayes_capacity(channel), tops, 1e-13)
        yield Case(f"{name} one guess", leakage.g_capacity(channel, identity(count)), tops, 1e-13)
        if not (rows == 0).any():
            ratio = diameter(Renyi(math.inf), exact).exp()
            yield Case(f"{name} lift", leakage.lift_capacity(channel), ratio, 1e-12)
            worst = leakage.g_capacity(channel, identity(count), max_case=True)
            yield Case(f"{name} worst guess", worst, worst_of_sets(exact), 1e-12)
            any_gain = leakage.g_capacity(channel, k_guesses(count, 2), max_case=True)
            yield Case(f"{name} worst case", type(worst)(0.0, any_gain.upper, "m"), arb(1), math.inf)
        mixing = np.full((2, count), 1.0 / count)
        mixing[0] = [0.9, *[0.1 / (count - 1)] * (count - 1)]
        cascade = [mix(exact, weights) for weights in exact_rows(mixing)]
        told = sum((largest(list(column)) for column in zip(*cascade, strict=True)), arb(0))
        yield Case(f"{name} Dalenius", leakage.dalenius_capacity(channel, Channel(mixing)), told, 1e-13)
        sets = [s for size in range(1, count + 1) for s in combinations(exact, size)]
        gains = [(sum((largest(list(c)) for c in zip(*s, strict=True)), arb(0)) - 1) / len(s) for s in sets]
        yield Case(f"{name} additive", leakage.additive_bayes_capacity(channel), largest(gains), 1e-12, 1e-13)
        for prior in priors(count):
            weights = exact_prior(prior)
            live = [row for w, row in zip(weights, exact, strict=True) if not w.is_zero()]
            above = sum((largest(list(c)) for c in zip(*live, strict=True)), arb(0))
            yield Case(f"{name} gains {prior[:2]}", leakage.gain_capacity(channel, prior), above, 1e-13)
            centre = [
                sum((w * c for w, c in zip(weights, col, strict=True)), arb(0))
                for col in zip(*exact, strict=True)
            ]
            lifts = [
                c / q
                for row, w in zip(exact, weights, strict=True)
                if not w.is_zero()
                for c, q in zip(row, centre, strict=True)
                if not q.is_zero()
            ]
            yield Case(
                f"{name} lift", leakage.gain_capacity(channel, prior, max_case=True), largest(lifts), 1e-13
            )
            apart = (
                sum(
                    (
                        w * abs(c - q)
                        for w, row in zip(weights, exact, strict=True)
                        for c, q in zip(row, centre, strict=True)
                    ),
                    arb(0),
                )
                / 2
            )
            yield Case(
                f"{name} additive gains", leakage.additive_gain_capacity(channel, prior), apart, 1e-12, 1e-13
            )


def worst_of_sets(rows: Rows) -> arb:
    """max over outputs, secrets x and sets S with x of C_xy over the mean of S."""
    best = arb(1)
    for column in zip(*rows, strict=True):
        for size in range(1, len(column) + 1):
            for chosen in combinations(column, size):
                best = best.max(largest(list(chosen)) * size / sum(chosen, arb(0)))
    return best


@checks(
    "leakcap.definition.base.Definition.measure",
    "leakcap.definition.approximate.ApproxDP.measure",
    "leakcap.definition.approximate.DeltaDP.measure",
    "leakcap.definition.bayesian.InformationPrivacy.measure",
    "leakcap.definition.bayesian.LocalInformationPrivacy.measure",
    "leakcap.definition.information.KLDP.measure",
    "leakcap.definition.information.MaximalLeakage.measure",
    "leakcap.definition.pure.PureDP.measure",
    "leakcap.definition.renyi.RenyiDP.measure",
    "leakcap.definition.gaussian.GaussianDP.measure",
    "leakcap.definition.renyi.ZeroConcentratedDP.measure",
    "leakcap.definition.slope.largest_slope",
)
def measures(full: bool) -> Iterator[Case]:
    for name, rows in some(full):
        exact, channel = exact_rows(rows), Channel(rows)
        known = (
            (PureDP(1.0), Renyi(math.inf)),
            (ApproxDP(0.0, 0.1), HockeyStick(1.0)),
            (DeltaDP(0.1), TotalVariation()),
            (KLDP(1.0), Renyi(1.0)),
            (RenyiDP(2.0, 1.0), Renyi(2.0)),
            (InformationPrivacy(1.0), Renyi(math.inf)),
        )
        for definition, ruler in known:
            yield Case(
                f"{name} {definition}", definition.measure(channel), diameter(ruler, exact), 1e-11, 1e-13
            )
        slope = ZeroConcentratedDP(1.0).measure(channel)
        for order in (1.0, 1.5, 3.0, 40.0):
            truth = diameter(Renyi(order), exact) / arb(order)
            yield Case(f"{name} slope {order}", type(slope)(0.0, slope.upper, "m"), truth, math.inf)
        attained = getattr(slope.witness, "__float__", lambda: 1.0)()
        truth = diameter(Renyi(attained), exact) / arb(attained)
        if truth.is_finite():
            low = type(slope)(slope.lower, math.inf, "m")
            yield Case(f"{name} slope attained at {attained}", low, truth, math.inf)
        uniform = [arb(1) / len(rows)] * len(rows)
        centre = [
            sum((w * c for w, c in zip(uniform, col, strict=True)), arb(0))
            for col in zip(*exact, strict=True)
        ]
        if not (rows == 0).any():
            lifts = [abs((c / q).log()) for row in exact for c, q in zip(row, centre, strict=True)]
            local = LocalInformationPrivacy(1.0).measure(channel)
            yield Case(f"{name} local", local, largest(lifts), 1e-11, 1e-13)
            mu = GaussianDP(1.0).measure(channel)
            for p, q in product(exact, exact):
                for vertex in trade_off(p, q):
                    if p is not q:
                        yield Case(f"{name} μ", type(mu)(-math.inf, mu.upper, "m"), vertex, math.inf)


def trade_off(p: Row, q: Row) -> list[arb]:
    """Φ⁻¹(1−a) − Φ⁻¹(b) at the vertices (a, b) of a trade-off function."""
    order = sorted(range(len(p)), key=lambda y: float((q[y] / p[y]).mid()))
    found = []
    for cut in range(1, len(order)):
        level = sum((p[y] for y in order[cut:]), arb(0))
        missed = sum((q[y] for y in order[:cut]), arb(0))
        found.append(quantile(level) + quantile(missed))
    return found


def quantile(tail: arb) -> arb:
    """The x with P(Z > x) = tail, by Newton's method on ln P."""
    flip = tail > 0.5
    goal = 1 - tail if flip else tail
    x = (-2 * goal.log()).sqrt() if goal < 0.02 else arb(0)
    for _ in range(200):
        upper = (x / arb(2).sqrt()).erfc() / 2
        density = (-x * x / 2).exp() / (2 * arb.pi()).sqrt()
        x = arb((x + (upper.log() - goal.log()) * upper / density).mid())
    return -x if flip else x


def database(rows: np.ndarray) -> Channel:
    return Channel(rows, inputs=[(0, 0), (0, 1), (1, 0), (1, 1)])


@checks(
    "leakcap.capacities.records.bayesian.bayesian_adversary",
    "leakcap.capacities.records.bayesian.bayesian_neighbours",
    "leakcap.capacities.records.databases.strong_adversary",
    "leakcap.capacities.records.databases.personal_capacities",
    "leakcap.capacities.records.dependence.dependent_records",
    "leakcap.capacities.floor.entropy_floor",
    "leakcap.capacities.cost.input_cost",
)
def databases(full: bool) -> Iterator[Case]:
    rng = np.random.default_rng(7)
    for case in range(8 if full else 2):
        rows = rng.dirichlet(np.ones(3), size=4)
        exact, channel = exact_rows(rows), database(rows)
        prior = rng.dirichlet(np.ones(4)).tolist()
        weights = exact_prior(prior)
        asked = BayesianAdversary(tuple(prior))
        yield Case(
            f"Bayesian {case}", capacity(channel, Renyi(1.0), asked), conditional(exact, weights), 1e-11
        )
        for ruler in (Renyi(1.0), Renyi(math.inf), HockeyStick(1.5), TotalVariation()):
            near = capacity(channel, ruler, BayesianNeighbours(tuple(prior)))
            yield Case(f"neighbours {case} {ruler}", near, averaged(ruler, exact, weights), 1e-11, 1e-13)
        for ruler in (HockeyStick(1.5), TotalVariation()):
            close = largest(
                [divergence(ruler, exact[a], exact[b]) for a, b in HAMMING for a, b in ((a, b), (b, a))]
            )
            yield Case(
                f"strong {case} {ruler}", capacity(channel, ruler, StrongAdversary()), close, 1e-11, 1e-13
            )
        pairs = [best_of_two(1.0, [exact[a], exact[b]]) for a, b in HAMMING]
        yield Case(
            f"MI-DP {case}", capacity(channel, Renyi(1.0), StrongAdversary()), largest(pairs), math.inf
        )
        own = personal_capacities(channel)
        for record in (0, 1):
            mine = [v for v, (a, b) in zip(pairs, HAMMING, strict=True) if (b - a == 1) == (record == 1)]
            yield Case(f"personal {case} {record}", own[record], largest(mine), math.inf)
        epsilon = largest(
            [abs((c / d).log()) for a, b in HAMMING for c, d in zip(exact[a], exact[b], strict=True)]
        )
        alone = capacity(channel, Renyi(math.inf), DependentRecords(1))
        yield Case(f"dependent {case}", alone, epsilon, 1e-11, 1e-13)
        whole = capacity(channel, Renyi(math.inf), EntropyFloor(0.0))
        yield Case(f"floor {case}", whole, diameter(Renyi(math.inf), exact), 1e-11, 1e-12)
        free = capacity(Channel(rows[:2]), Renyi(1.0), InputCost((0.0, 1.0), 1.0))
        yield Case(f"cost {case}", free, best_of_two(1.0, exact[:2]), math.inf)


HAMMING = ((0, 1), (0, 2), (1, 3), (2, 3))


def conditional(rows: Rows, prior: Row) -> arb:
    """max over records and known subsets of I(X_i; Y | X_S), for two records of two values."""
    values = []
    for record in (0, 1):
        groups = [[x for x in range(4) if (x >> (1 - record)) & 1 == v] for v in (0, 1)]
        mixed = [mix([rows[x] for x in g], [prior[x] for x in g]) for g in groups]
        mass = [sum((prior[x] for x in g), arb(0)) for g in groups]
        values.append(sibson(1.0, mixed, mass))
        total = arb(0)
        for other in (0, 1):
            kept = [x for x in range(4) if (x >> record) & 1 == other]
            whole = sum((prior[x] for x in kept), arb(0))
            total += whole * sibson(1.0, [rows[x] for x in kept], [prior[x] / whole for x in kept])
        values.append(total)
    return largest(values)


def averaged(ruler: Divergence, rows: Rows, prior: Row) -> arb:
    """max over records and known subsets of the divergence between two values of a record."""
    values = [divergence(ruler, rows[a], rows[b]) for x, y in HAMMING for a, b in ((x, y), (y, x))]
    for record in (0, 1):
        groups = [[x for x in range(4) if (x >> (1 - record)) & 1 == v] for v in (0, 1)]
        p, q = (mix([rows[x] for x in g], [prior[x] for x in g]) for g in groups)
        values += [divergence(ruler, p, q), divergence(ruler, q, p)]
    return largest(values)


def mix(rows: Rows, weights: Row) -> Row:
    total = sum(weights, arb(0))
    return [
        sum((w * c for w, c in zip(weights, column, strict=True)), arb(0)) / total
        for column in zip(*rows, strict=True)
    ]
