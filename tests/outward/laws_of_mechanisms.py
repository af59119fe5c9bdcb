"""Every mechanism by its definition alone: rows as balls, or its divergences and radii as integrals."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import singledispatch
from itertools import combinations, product

from flint import arb

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
from outward.balls import INFINITE, Row, Rows, ball, integral, largest


def unit(rows: list[list[arb]]) -> Rows:
    """Rows divided by their sums."""
    return [[value / sum(row, arb(0)) for value in row] for row in rows]


@singledispatch
def rows_of(mechanism: Mechanism) -> Rows:
    """All rows of a finite mechanism."""
    raise NotImplementedError(f"write the rows of {type(mechanism).__name__} in tests/outward")


@rows_of.register
def _(mechanism: RandomisedResponse) -> Rows:
    weight, k = arb(mechanism.epsilon).exp(), mechanism.k
    return unit([[weight if x == y else arb(1) for y in range(k)] for x in range(k)])


@rows_of.register
def _(mechanism: BinaryErasure) -> Rows:
    erased = arb(mechanism.erasure)
    return [[1 - erased, arb(0), erased], [arb(0), 1 - erased, erased]]


@rows_of.register
def _(mechanism: BinarySymmetric) -> Rows:
    flipped = arb(mechanism.crossover)
    return [[1 - flipped, flipped], [flipped, 1 - flipped]]


@rows_of.register
def _(mechanism: ZChannel) -> Rows:
    hidden = arb(mechanism.crossover)
    return [[arb(1), arb(0)], [hidden, 1 - hidden]]


@rows_of.register
def _(mechanism: SubsetSelection) -> Rows:
    weight, subsets = arb(mechanism.epsilon).exp(), list(combinations(range(mechanism.k), mechanism.size))
    return unit([[weight if x in s else arb(1) for s in subsets] for x in range(mechanism.k)])


@rows_of.register
def _(mechanism: HadamardResponse) -> Rows:
    weight, size = arb(mechanism.epsilon).exp(), 1
    while size <= mechanism.k:
        size *= 2
    signs = [[(-1) ** bin((x + 1) & y).count("1") for y in range(size)] for x in range(mechanism.k)]
    return unit([[weight if sign > 0 else arb(1) for sign in row] for row in signs])


@rows_of.register
def _(mechanism: BitVector) -> Rows:
    epsilon = arb(mechanism.epsilon)
    odds = epsilon if mechanism.optimised else epsilon / 2
    flip = 1 / (1 + odds.exp())
    clear = arb(0.5) if mechanism.optimised else flip

    def mass(x: int, shown: tuple[int, ...]) -> arb:
        total = arb(1)
        for place, bit in enumerate(shown):
            one = 1 - clear if place == x else flip
            total *= one if bit else 1 - one
        return total

    return [[mass(x, shown) for shown in product((0, 1), repeat=mechanism.k)] for x in range(mechanism.k)]


@rows_of.register
def _(mechanism: CuffYuExample51) -> Rows:
    told, rows = arb(mechanism.delta), []
    for a, b in product(range(mechanism.m), repeat=2):
        row = [arb(0)] * (mechanism.m + 1) + [1 - told]
        row[a if a == b else mechanism.m] = told
        rows.append(row)
    return rows


@rows_of.register
def _(mechanism: OneTimePadPair) -> Rows:
    k = mechanism.k
    return [[arb((a - b) % k == x) / k for a, b in product(range(k), repeat=2)] for x in range(k)]


def geometric_rows(step: arb, n: int) -> Rows:
    """Secrets 0 to n plus noise c·s^|z|, clamped to 0 to n."""
    s = (-step).exp()
    c = (1 - s) / (1 + s)
    row = [[c * s ** abs(x - y) for y in range(n + 1)] for x in range(n + 1)]
    for x in range(n + 1):
        row[x][0], row[x][n] = s**x / (1 + s), s ** (n - x) / (1 + s)
    return row


@rows_of.register
def _(mechanism: TruncatedGeometric) -> Rows:
    return geometric_rows(arb(mechanism.epsilon), mechanism.n)


@rows_of.register
def _(mechanism: TwoSidedGeometric) -> Rows:
    return geometric_rows(1 / ball(mechanism.scale), mechanism.sensitivity)


@rows_of.register
def _(mechanism: Staircase) -> Rows:
    """The two ends of an interval, by what an output's likelihood ratio is."""
    s = (-arb(mechanism.epsilon)).exp()
    step = 1 / (1 + (arb(mechanism.epsilon) / 2).exp()) if mechanism.gamma is None else arb(mechanism.gamma)
    peak = (1 - s) / (2 * (step + s * (1 - step)))
    # Left of both ends, right of both; between them both high, both low, or one of each.
    apart = step.min(1 - step)
    same = (2 * step - 1).max(arb(0)) * peak + (1 - 2 * step).max(arb(0)) * peak * s
    high, low = arb(0.5) + apart * peak, arb(0.5) - peak * (step + s * (1 - step)) + apart * peak * s
    return [[high, low, same], [low, high, same]]


def line_divergence(mechanism: Mechanism, ruler: Divergence) -> arb | None:
    """The divergence of the two farthest secrets of a mechanism with endless outputs; None if not known."""
    match mechanism:
        case Laplace():
            return _laplace(ruler, ball(mechanism.sensitivity) / ball(mechanism.scale))
        case Gaussian():
            return _gaussian(ruler, ball(mechanism.sensitivity) / ball(mechanism.sigma))
        case PlanarLaplace():
            return _planar(ruler, ball(mechanism.epsilon) * ball(mechanism.sensitivity))
        case DiscreteGaussian():
            return _discrete_gaussian(ruler, mechanism)
    raise NotImplementedError(f"write the divergences of {type(mechanism).__name__} in tests/outward")


def leakage_at_infinity(mechanism: Mechanism) -> arb | None:
    """ln ∫ sup_x of the densities, for secrets anywhere between the ends: ln(1 + peak·length)."""
    match mechanism:
        case Laplace():
            return (1 + ball(mechanism.sensitivity) / ball(mechanism.scale) / 2).log()
        case Gaussian():
            return (1 + ball(mechanism.sensitivity) / ball(mechanism.sigma) / (2 * arb.pi()).sqrt()).log()
        case PlanarLaplace():  # a disc, and a quarter of the plane's noise beyond each of its tangents
            r = ball(mechanism.epsilon) * ball(mechanism.sensitivity) / 2
            return (1 + r + r * r / 2).log()
        case DiscreteGaussian():
            return (1 + mechanism.sensitivity / theta(ball(mechanism.sigma))).log()
        case Staircase():
            s = (-arb(mechanism.epsilon)).exp()
            root = (arb(mechanism.epsilon) / 2).exp()
            step = 1 / (1 + root) if mechanism.gamma is None else arb(mechanism.gamma)
            return (1 + (1 - s) / (2 * (step + s * (1 - step)))).log()
    return None


def _laplace(ruler: Divergence, epsilon: arb) -> arb | None:
    """Mass ½ at loss ε, ½e^−ε at −ε, and density ½e^−z at loss ε − 2z between."""
    match ruler:
        case Renyi(alpha) if math.isinf(alpha):
            return epsilon
        case Renyi(alpha) if alpha == 1.0:
            return epsilon - 1 + (-epsilon).exp()
        case Renyi(alpha):
            t = arb(alpha) - 1
            # In units of e^|t|ε, so that nothing overflows.
            big = (t * epsilon).max(-(1 + t) * epsilon)
            ends = ((t * epsilon - big).exp() + (-(1 + t) * epsilon - big).exp()) / 2
            w = 1 + 2 * t
            between = (
                epsilon * (t * epsilon - big).exp() / 2
                if alpha == 0.5
                else (((t * epsilon - big).exp() - (-(1 + t) * epsilon - big).exp()) / (2 * w))
            )
            return ((ends + between).log() + big) / t
        case HockeyStick(gamma):
            if gamma == 0.0:
                return arb(1)
            t = arb(gamma).log()
            if t >= epsilon:
                return arb(0)
            return 1 - arb(gamma) if t <= -epsilon else 1 - ((t - epsilon) / 2).exp()
        case TotalVariation():
            return 1 - (-epsilon / 2).exp()
    return None


def _gaussian(ruler: Divergence, mu: arb) -> arb | None:
    match ruler:
        case Renyi(alpha):
            return INFINITE if math.isinf(alpha) else arb(alpha) * mu * mu / 2
        case HockeyStick(gamma):
            return arb(1) if gamma == 0.0 else gaussian_profile(arb(gamma).log(), mu)
        case TotalVariation():
            return (mu / arb(8).sqrt()).erf()
    return None


def gaussian_profile(t: arb, mu: arb) -> arb:
    """Φ(μ/2 − t/μ) − e^t·Φ(−μ/2 − t/μ)."""
    root = arb(2).sqrt()
    p, q = ((t / mu - mu / 2) / root).erfc() / 2, ((t / mu + mu / 2) / root).erfc() / 2
    return (p - t.exp() * q).max(arb(0))


def _planar(ruler: Divergence, epsilon: arb) -> arb | None:
    """The loss is 2c·cos θ, θ of density e^(c·cos θ)(c·K₁(c) + c²·K₀(c)·sin² θ)/π on [0, π]."""
    c = epsilon / 2
    k0, k1 = c.bessel_k(0), c.bessel_k(1)
    match ruler:
        case Renyi(alpha) if math.isinf(alpha):
            return epsilon
        case Renyi(alpha) if alpha == 1.0:
            weight = lambda z: (c * z.cos()).exp() * (c * k1 + c * c * k0 * z.sin() ** 2)  # noqa: E731
            return integral(lambda z: 2 * c * z.cos() * weight(z), arb(0), arb.pi()) / arb.pi()
        case Renyi(alpha):
            kappa = (2 * arb(alpha) - 1) * c
            rest = c * c * k0 / 2 if alpha == 0.5 else c * c * k0 * kappa.bessel_i(1) / kappa
            return (c * k1 * kappa.bessel_i(0) + rest).log() / (arb(alpha) - 1)
        case HockeyStick(gamma) if gamma == 0.0:
            return arb(1)
        case HockeyStick() | TotalVariation():
            gamma = ruler.exp_epsilon if isinstance(ruler, HockeyStick) else 1.0
            t = arb(gamma).log()
            if t >= epsilon:
                return arb(0)
            if t <= -epsilon:
                return 1 - arb(gamma)
            end = (t / epsilon).acos()
            density = lambda z: (c * z.cos()).exp() * (c * k1 + c * c * k0 * z.sin() ** 2)  # noqa: E731
            return integral(lambda z: density(z) * (1 - (t - 2 * c * z.cos()).exp()), arb(0), end) / arb.pi()
    return None


def theta(sigma: arb, shift: arb | int = 0) -> arb:
    """Σ e^(−(y − shift)²/(2σ²)) over the integers, term by term."""
    reach = int(float(sigma.mid()) * 42) + 3
    return sum(((-((y - shift) ** 2) / (2 * sigma * sigma)).exp() for y in range(-reach, reach + 1)), arb(0))


def _discrete_gaussian(ruler: Divergence, mechanism: DiscreteGaussian) -> arb | None:
    sigma, n = ball(mechanism.sigma), mechanism.sensitivity
    if sigma > 60:
        return None
    reach = int(float(sigma.mid()) * 42) + 3
    whole = theta(sigma)
    match ruler:
        case Renyi(alpha):
            if math.isinf(alpha):
                return INFINITE
            t = arb(alpha) - 1
            if alpha == 1.0:
                return arb(n) ** 2 / (2 * sigma * sigma)
            # Σ P·e^(tL), each exponent −y²/(2σ²) + t·n(n − 2y)/(2σ²), about its peak at y = −t·n.
            peak = -t * n
            low = int(float(peak.mid())) - reach
            logs = [
                (-(arb(y) ** 2) + t * n * (n - 2 * y)) / (2 * sigma * sigma)
                for y in range(low, low + 2 * reach)
            ]
            top = largest(logs)
            return (sum(((x - top).exp() for x in logs), arb(0)).log() + top - whole.log()) / t
        case HockeyStick() | TotalVariation():
            gamma = arb(ruler.exp_epsilon if isinstance(ruler, HockeyStick) else 1.0)
            law: Callable[[int], arb] = lambda y: (-(arb(y) ** 2) / (2 * sigma * sigma)).exp()  # noqa: E731
            span = range(-reach, n + reach + 1)
            return sum(((law(y) - gamma * law(y - n)).max(arb(0)) for y in span), arb(0)) / whole
    return None


def shown(row: Row) -> str:
    """A row in a message."""
    return ", ".join(value.str(8) for value in row)
