"""Second routes: what the tests compare with, in thirty digits or by listing every outcome."""

from __future__ import annotations

import math
from collections.abc import Sequence

from flint import acb, arb, ctx, fmpz
from mpmath import mp, mpf

mp.dps = 30
BITS = 160
"""Of balls (python-flint), in which special functions and integrals take a tenth of mpmath's time."""
Row = Sequence[float]


def listed(pairs: Sequence[tuple[Row, Row]]) -> list[tuple[float, float]]:
    """(P, Q) of every outcome of all queries."""
    outcomes = [(1.0, 1.0)]
    for p, q in pairs:
        outcomes = [(a * c, b * d) for a, b in outcomes for c, d in zip(p, q, strict=True)]
    return outcomes


def hockey_stick(outcomes: Sequence[tuple[float, float]], epsilon: float) -> float:
    gamma = math.exp(epsilon)
    return math.fsum(max(p - gamma * q, 0.0) for p, q in outcomes)


def responses(epsilon: float, queries: int, at: float) -> mpf:
    """δ of binary randomised responses: a binomial sum."""
    e, x = mpf(epsilon), mpf(at)
    keep = mp.exp(e) / (1 + mp.exp(e))
    return mp.fsum(
        mp.binomial(queries, k)
        * keep**k
        * (1 - keep) ** (queries - k)
        * (1 - mp.exp(x - (2 * k - queries) * e))
        for k in range(queries + 1)
        if (2 * k - queries) * e > x
    )


def gaussian(mu: float, epsilon: float | mpf) -> mpf:
    """δ of one Gaussian query: Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ)."""
    with ctx.workprec(BITS):
        m, e = arb(mu), ball(epsilon)
        root = arb(2).sqrt()
        near, far = ((e / m + half) / root for half in (-m / 2, m / 2))
        return number((near.erfc() - e.exp() * far.erfc()) / 2)


def ball(value: float | mpf) -> arb:
    """The same number, exactly."""
    sign, mantissa, exponent, _ = mpf(value)._mpf_
    size = arb(fmpz(int(mantissa))) * arb(2) ** int(exponent)
    return -size if sign else size


def number(value: arb) -> mpf:
    """The middle of a ball that is as narrow as thirty digits ask."""
    assert value.rel_accuracy_bits() > 100 or abs(value) < arb(10) ** -30
    mantissa, exponent = value.mid().man_exp()
    return mp.ldexp(mpf(int(mantissa)), int(exponent))


def fixed_log_moment(mu: float, rate: float, z: complex) -> acb:
    """ln E e^(zL) of a sample of fixed size with Gaussian noise, both halves of its law integrated."""
    with ctx.workprec(BITS):
        m, r = arb(mu), arb(rate)

        def term(u: acb, _: bool) -> acb:
            log = (1 - r + r * (m * u - m * m / 2).exp()).log()
            return (-u * u / 2).exp() * ((log * acb(z + 1)).exp() + (-log * acb(z)).exp())

        # Beyond, e^(−12²/2) is left, times what the ratio's power grows by.
        far = mu * (abs(z.real) + 2) + 24
        whole = acb.integral(term, acb(m / 2), acb(far)) / (2 * arb.pi()).sqrt()
        return ((1 - r) * (m / arb(8).sqrt()).erf() + whole).log()


def laplace(scale: mpf, epsilon: mpf) -> mpf:
    """δ of one Laplace query at ε-distance `scale`."""
    if epsilon >= scale:
        return mpf(0)
    return 1 - mp.exp(epsilon) if epsilon <= -scale else 1 - mp.exp((epsilon - scale) / 2)


def two_laplaces(scale: float, other: float, epsilon: float) -> mpf:
    """E[δ_other(ε − L)] over the loss L of the first: δ of both."""

    def rest(x: mpf) -> mpf:
        return laplace(mpf(other), x)

    e, s, other = mpf(epsilon), mpf(scale), mpf(other)
    atoms = rest(e - s) / 2 + mp.exp(-s) / 2 * rest(e + s)
    kinks = sorted({-s, s, *(x for x in (e - other, e + other) if -s < x < s)})
    return atoms + mp.quad(lambda x: mp.exp((x - s) / 2) / 4 * rest(e - x), kinks)


def sampled_gaussian(mu: float, rate: float, epsilon: mpf) -> mpf:
    """δ of (1−q)N(0,1) + qN(μ,1) against N(0,1): a threshold test."""
    gamma, q, m = mp.exp(epsilon), mpf(rate), mpf(mu)
    if gamma <= 1 - q:
        return 1 - gamma
    cut = (mp.log((gamma - 1 + q) / q) + m**2 / 2) / m
    return (1 - q) * mp.ncdf(-cut) + q * mp.ncdf(m - cut) - gamma * mp.ncdf(-cut)


def two_sampled_gaussians(mu: float, rate: float, epsilon: float) -> mpf:
    q, m, e = mpf(rate), mpf(mu), mpf(epsilon)

    def integrand(x: mpf) -> mpf:
        ratio = 1 - q + q * mp.exp(m * x - m**2 / 2)
        return mp.npdf(x) * ratio * sampled_gaussian(mu, rate, e - mp.log(ratio))

    # Beyond it the second query's δ is a straight line: a kink in the integrand.
    kink = (mp.log((mp.exp(e) / (1 - q) - 1 + q) / q) + m**2 / 2) / m
    return mp.quad(integrand, sorted([-11, -4, 0, 2, kink, 5, 12]))
