"""What mechanisms claim of themselves, over the whole range of their parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from flint import arb

from leakcap.adversary import AllPriors, Neighbours
from leakcap.divergence import Divergence, HockeyStick, Renyi, TotalVariation
from leakcap.mechanism import (
    BinaryErasure,
    BinarySymmetric,
    BitVector,
    CuffYuExample51,
    DiscreteGaussian,
    Gaussian,
    HadamardResponse,
    Laplace,
    Mechanism,
    OneTimePadPair,
    PlanarLaplace,
    RandomisedResponse,
    Staircase,
    SubsetSelection,
    TruncatedGeometric,
    TwoSidedGeometric,
    ZChannel,
)
from outward.balls import Case, Rows, ball, diameter, sibson
from outward.laws_of_mechanisms import leakage_at_infinity, line_divergence, rows_of
from outward.registry import checks

ORDERS = (1e-3, 0.3, 0.5, 1 - 1e-9, 1.0, 1 + 1e-12, 1.001, 1.5, 2.0, 8.0, 1e6, math.inf)
SHIFTS = (0.0, 0.5, 1.0, 1 + 1e-9, 2.0, math.exp(4.0), 1e300)
EPSILONS = (1e-12, 1e-6, 1e-3, 0.1, 1 / 3, 1.0, math.log(3), 4.0, 30.0, 300.0, 700.0)
RULERS: tuple[Divergence, ...] = (
    *(Renyi(order) for order in ORDERS),
    *(HockeyStick(shift) for shift in SHIFTS),
    TotalVariation(),
)
BY_ROWS = (
    *(RandomisedResponse(k, e) for k in (2, 3, 10) for e in EPSILONS),
    *(BinaryErasure(p) for p in (0.0, 1e-300, 1e-9, 0.3, 0.999, 1.0)),
    *(BinarySymmetric(p) for p in (0.0, 1e-300, 1e-9, 0.11, 0.499999, 0.5, 0.9, 1.0)),
    *(SubsetSelection(k, w, e) for k, w in ((3, 1), (5, 2), (5, 4)) for e in EPSILONS),
    *(HadamardResponse(k, e) for k in (2, 3, 7) for e in EPSILONS),
    *(BitVector(k, e, o) for k, o in ((2, False), (4, False), (4, True)) for e in EPSILONS),
    *(CuffYuExample51(m, d) for m in (2, 3) for d in (0.0, 1e-9, 0.1, 0.5, 1.0)),
    *(OneTimePadPair(k) for k in (2, 3)),
    *(TruncatedGeometric(n, e) for n in (1, 2, 9) for e in EPSILONS),
    *(TwoSidedGeometric(s, n) for n in (1, 6) for s in (1 / 700, 0.3, 1.0, Fraction(10, 3), 300.0, 1e9)),
    *(Staircase(e, 1.0, g) for g in (None, 0.0, 0.3, 0.5, 0.9, 1.0) for e in EPSILONS),
)
ENDLESS = (
    *(Laplace(s, w) for s, w in ((1e12, 1.0), (1e6, 1.0), (3.0, 1.0), (10.0, 1.0), (1.0, 1.0), (0.5, 7.0))),
    *(Laplace(s, w) for s, w in ((1.0, 300.0), (1 / 700, 1.0), (1e300, 1.0))),
    *(Gaussian(s, w) for s, w in ((1e-3, 1.0), (0.1, 1.0), (1.0, 1.0), (3.0, 2.0), (50.0, 1.0), (1e6, 1.0))),
    *(Gaussian(s, w) for s, w in ((1e12, 1.0), (1e300, 1.0), (7.0, 0.1))),
    *(
        PlanarLaplace(e, d)
        for e, d in ((1e-9, 1.0), (1e-3, 1.0), (0.1, 3.0), (1.0, 1.0), (8.0, 1.0), (300.0, 1.0))
    ),
    *(
        DiscreteGaussian(s, n)
        for s, n in ((1e-3, 1), (0.1, 1), (0.4, 1), (0.5, 3), (1.0, 1), (1.0, 40), (1.0, 200))
    ),
    *(DiscreteGaussian(s, n) for s, n in ((Fraction(5, 2), 3), (10.0, 1), (10.0, 400), (50.0, 1))),
)


def some(items: tuple[Mechanism, ...], full: bool, every: int) -> Iterator[Mechanism]:
    """All of them, or some of every kind."""
    counted: dict[type, int] = {}
    for item in items:
        count = counted[type(item)] = counted.get(type(item), -1) + 1
        if full or count % every == 0:
            yield item


def best_radius(order: Renyi, mechanism: Mechanism, rows: Rows) -> arb | None:
    """Sibson's capacity where it is known which prior is best; None elsewhere."""
    even = [arb(1) / len(rows)] * len(rows)
    match mechanism:
        case CuffYuExample51(m):
            prior = [arb(0)] * len(rows)
            for place in (*range(0, m * m, m + 1), 1):
                prior[place] = arb(1) / (m + 1)
            return sibson(order.alpha, rows, prior)
        case HadamardResponse(k) if k & (k + 1):
            return None
        case TruncatedGeometric() | TwoSidedGeometric() if len(rows) > 2 and not math.isinf(order.alpha):
            return None
        case Staircase():
            return leakage_at_infinity(mechanism) if math.isinf(order.alpha) else None
    return sibson(order.alpha, rows, even)


def width(mechanism: Mechanism, ruler: Divergence) -> float:
    """The widest that an interval may be, of its value."""
    if isinstance(mechanism, PlanarLaplace):
        return 1e-12
    if isinstance(mechanism, DiscreteGaussian) and not isinstance(ruler, Renyi):
        return 1e-9
    return 1e-15


@checks(
    "leakcap.mechanism.base.Mechanism.diameter",
    "leakcap.mechanism.base.Mechanism.closed_form",
    "leakcap.mechanism.base.Mechanism.exact",
)
def diameters_by_rows(full: bool) -> Iterator[Case]:
    for mechanism in some(BY_ROWS, full, 4):
        rows = rows_of(mechanism)
        for ruler in RULERS:
            found = mechanism.exact(ruler, Neighbours())
            assert found is not None, mechanism
            yield Case(f"{mechanism} {ruler}", found, diameter(ruler, rows), width(mechanism, ruler), 5e-324)


@checks(
    "leakcap.mechanism.base.Mechanism.radius",
    "leakcap.mechanism.bit_vector.BitVector.radius",
    "leakcap.mechanism.cuff_yu.CuffYuExample51.entry_capacity",
    "leakcap.mechanism.staircase.Staircase.radius",
)
def radii_by_rows(full: bool) -> Iterator[Case]:
    for mechanism in some(BY_ROWS, full, 4):
        rows = rows_of(mechanism)
        if isinstance(mechanism, CuffYuExample51):
            yield Case(str(mechanism), mechanism.entry_capacity(), arb(mechanism.delta) * arb(2).log(), 1e-15)
        for order in ORDERS:
            found, truth = (
                mechanism.exact(Renyi(order), AllPriors()),
                best_radius(Renyi(order), mechanism, rows),
            )
            if found is not None and truth is not None:
                wide = 1e-13 if order == 1.0 and "ends" in found.method else width(mechanism, Renyi(order))
                yield Case(f"{mechanism} radius {order}", found, truth, wide, 5e-324)


@checks("leakcap.mechanism.binary.ZChannel.radius")
def radii_of_the_z_channel(full: bool) -> Iterator[Case]:
    """The largest information over priors, by ternary search."""
    for crossover in (0.0, 1e-12, 0.1, 0.5, 0.95, 1 - 1e-9, 1.0)[:: 1 if full else 2]:
        rows = rows_of(ZChannel(crossover))
        for order in ORDERS:
            low, high = arb(0), arb(1)
            if math.isinf(order):  # any prior that leaves no secret out
                low = high = arb(0.5)
            for _ in range(0 if math.isinf(order) else 200):
                a, b = (2 * low + high) / 3, (low + 2 * high) / 3
                first, second = (sibson(order, rows, [1 - x, x]) for x in (a, b))
                low, high = (a, high) if second > first else (low, b)
                low, high = arb(low.mid()), arb(high.mid())
            truth = sibson(order, rows, [1 - low, low])
            # Flat at its top: known to half of the digits that the search has left.
            truth = truth + arb(0, 1e-50)
            yield Case(
                f"Z {crossover} {order}", ZChannel(crossover).radius(Renyi(order)), truth, 1e-15, 1e-30
            )


@checks(
    "leakcap.mechanism.laplace.Laplace.diameter",
    "leakcap.mechanism.gaussian.Gaussian.diameter",
    "leakcap.mechanism.planar_laplace.PlanarLaplace.diameter",
    "leakcap.mechanism.discrete_gaussian.DiscreteGaussian.diameter",
)
def diameters_of_endless_noise(full: bool) -> Iterator[Case]:
    for mechanism in some(ENDLESS, full, 2):
        for ruler in RULERS:
            truth = line_divergence(mechanism, ruler)
            found = mechanism.exact(ruler, Neighbours())
            assert found is not None
            if truth is not None:
                yield Case(f"{mechanism} {ruler}", found, truth, width(mechanism, ruler), 2e-16)


@checks(
    "leakcap.mechanism.laplace.Laplace.radius",
    "leakcap.mechanism.gaussian.Gaussian.radius",
    "leakcap.mechanism.planar_laplace.PlanarLaplace.radius",
    "leakcap.mechanism.discrete_gaussian.DiscreteGaussian.exact",
)
def maximal_leakages_of_endless_noise(full: bool) -> Iterator[Case]:
    for mechanism in some(ENDLESS, full, 2):
        found, truth = mechanism.exact(Renyi(math.inf), AllPriors()), leakage_at_infinity(mechanism)
        if truth is not None and not (isinstance(mechanism, DiscreteGaussian) and ball(mechanism.sigma) > 60):
            assert found is not None
            yield Case(f"{mechanism} maximal leakage", found, truth, 1e-15, 5e-324)
