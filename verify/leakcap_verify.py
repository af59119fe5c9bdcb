"""Checks leakcap's certificates without leakcap: exact rationals, and balls that hold the true number.

    leakcap-verify FILE …        each certificate is `proved`, `refuted` or `not proved`

A number in a certificate is a double in hex, an integer or a fraction, as text: it is read exactly. Rows and
priors are divided by their exact sums. Each kind gives two numbers with low ≤ truth ≤ high, from the witness; a
claim is proved where it lies outside of both, refuted where it contradicts one, and not proved otherwise, at any
precision up to 2,048 bits. What a certificate says of itself (its evidence, its source) is believed in nothing.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from fractions import Fraction
from functools import cache, partial, reduce
from hashlib import sha256
from itertools import chain, permutations
from math import inf
from operator import add, ge
from typing import Any, NamedTuple

from flint import acb, arb, ctx, fmpq

__all__ = ["FORMULAS", "Malformed", "Verdict", "check", "main", "read"]

SCHEMA = "leakcap.certificate/1"
MANY = "leakcap.certificates/1"
FIELDS = ("schema", "kind", "evidence", "claim", "problem", "witness", "formula", "source")
BYTES, ENTRIES, CERTIFICATES, WORK, NODES = 64 << 20, 1 << 20, 10_000, 1 << 24, 1 << 10
PRECISIONS = (128, 512, 2048)
NUMBER = re.compile(r"-?0x[01]\.[0-9a-f]{1,13}p(?P<power>[+-][0-9]{1,4})|-?[0-9]{1,400}(?:/(?P<bottom>[0-9]{1,400}))?")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
INFINITE, ZERO, ONE = arb.pos_inf(), fmpq(0), fmpq(1)

Number = fmpq | arb
Row = list[fmpq]
Ends = tuple[Number, Number]
"""low ≤ truth ≤ high."""


class Malformed(ValueError):
    """What stands there is no certificate that this program can read."""


class Settled(Exception):
    """What a witness shows by itself: a verdict, and why."""


class Verdict(NamedTuple):
    """What was found of one certificate, and what its claim says."""

    kind: str
    verdict: str
    claim: str


def need(good: object, rule: str) -> None:
    """Refuse what breaks a rule."""
    if not good:
        raise Malformed(rule)


def doubt(bad: object, why: str, verdict: str = "not proved") -> None:
    """Settle what a witness shows by itself."""
    if bad:
        raise Settled(verdict, why)


def read(text: bytes) -> list[dict[str, Any]]:
    """The certificates in a file: one, or several under `certificates`."""
    need(len(text) <= BYTES, f"a file may have {BYTES} bytes at most")
    try:
        found = json.loads(text.decode(), object_pairs_hook=_once, parse_float=_no, parse_constant=_no)
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, Malformed) else Malformed("this is not JSON") from None
    need(isinstance(found, dict), "a file of certificates is a JSON object")
    if found.get("schema") != MANY:
        return [found]
    (_, listed), most = only(found, "schema", "certificates"), CERTIFICATES
    need(isinstance(listed, list) and 0 < len(listed) <= most, f"1 to {most} certificates")
    return list(listed)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    need(len(dict(pairs)) == len(pairs), "a name stands twice in one object")
    return dict(pairs)


def _no(text: str) -> Any:
    raise Malformed(f"numbers are text, as doubles in hex or fractions; {text[:20]} is neither")


def only(found: Any, *names: str) -> list[Any]:
    """The values of exactly these names."""
    need(isinstance(found, dict) and set(found) == set(names), f"expected {', '.join(names) or 'nothing'} alone")
    return [found[name] for name in names]


def number(text: Any) -> fmpq:
    """A double in hex, an integer or a fraction: exactly."""
    if not isinstance(text, str) or not (found := NUMBER.fullmatch(text)):
        raise Malformed("a number is text: a double in hex, an integer or a fraction")
    good = -1022 <= int(found["power"] or 0) <= 1023 and int(found["bottom"] or 1)
    need(good, "an exponent is one of doubles, and a fraction has no zero below")
    exact = Fraction(float.fromhex(text) if found["power"] else text)
    return fmpq(exact.numerator, exact.denominator)


def end(text: Any) -> Number:
    """An end of a claim, which may be infinite."""
    return INFINITE if text == "inf" else number(text)


def law(cells: Any) -> Row:
    """Numbers that are not negative, divided by their exact sum."""
    need(isinstance(cells, list) and 0 < len(cells) <= ENTRIES, f"a distribution has 1 to {ENTRIES} entries")
    values = [number(cell) for cell in cells]
    need(len(values) < 1000 or all(value.q.bit_length() <= 1100 for value in values), "long rows are of doubles")
    need(all(value >= 0 for value in values), "a probability is not negative")
    total = sum(values, ZERO)
    need(abs(total - 1) <= fmpq(1, 10**9), "a distribution sums to one, up to rounding")
    return values if total == 1 else [value / total for value in values]


def table(rows: Any) -> list[Row]:
    """The rows of a channel."""
    need(isinstance(rows, list) and rows and all(isinstance(row, list) for row in rows), "rows are a list of lists")
    need(sum(map(len, rows)) <= ENTRIES, f"a channel has {ENTRIES} entries at most")
    need(len(set(map(len, rows))) == 1, "rows are of one length")
    return list(map(law, rows))


def order_of(text: Any) -> Any:
    """An order above zero."""
    alpha = end(text)
    need(alpha is INFINITE or 0 < alpha <= 10**6, "an order is above 0, and at most a million or infinite")
    return alpha


def neighbours(pairs: Any, rows: list[Row]) -> Iterable[tuple[Row, Row]]:
    """Pairs of rows, both ways round."""
    many = len(rows) ** 2 if pairs == "all" else len(pairs)
    need(many * len(rows[0]) <= WORK, f"pairs times outputs are {WORK} at most")
    if pairs == "all":
        return permutations(rows, 2)
    need(all(type(x) is int and 0 <= x < len(rows) for pair in pairs for x in pair), "a pair is of two rows")
    return ((rows[a], rows[b]) for x, y in pairs for a, b in ((x, y), (y, x)))


def le(a: Number, b: Number) -> bool:
    """Whether a ≤ b for certain."""
    return b == INFINITE or bool(b - a >= 0)


def largest(values: Iterable[Number]) -> Number:
    """The largest of some numbers from zero on, balls or exact."""
    found = [ZERO, *values]
    exact = all(isinstance(value, fmpq) for value in found)
    return max(found) if exact else reduce(arb.max, map(arb, found))


def ratio(rows: list[Row], pairs: Any) -> Number:
    """ln max over pairs and outputs of P(y|x)/P(y|x'): ε."""
    most, both = ONE, [(max(column), min(column)) for column in zip(*rows, strict=True)]
    if pairs != "all":
        both = [two for p, q in neighbours(pairs, rows) for two in zip(p, q, strict=True)]
    for p, q in both:
        if p > 0 == q:
            return INFINITE
        most = max(most, p / q) if q else most
    return arb(most).log()


def divergence(p: Row, q: Sequence[Number], alpha: fmpq) -> Number:
    """D_α(P‖Q) of exact rows; Q may be of balls, but where it is zero."""
    if alpha != 1:
        return of_rows(p, q).renyi(alpha)
    # Exact masses that are the same add nothing; a ball that holds the mass may differ from it.
    apart = [(a, b) for a, b in zip(p, q, strict=True) if a and (isinstance(b, arb) or a != b)]
    if not all(b for _, b in apart):
        return INFINITE
    return sum((arb(a) * (arb(a) / arb(b)).log() for a, b in apart), arb(0))


def hockey_stick(rows: list[Row], pairs: Any, gamma: fmpq) -> Number:
    """max over pairs of Σ (P − γQ)₊; total variation at γ = 1."""
    each = (zip(p, q, strict=True) for p, q in neighbours(pairs, rows))
    return largest(sum((max(a - gamma * b, ZERO) for a, b in both), ZERO) for both in each)


def farthest(rows: list[Row], pairs: Any, order: Any) -> Number:
    """max over pairs of D_α(P‖Q); Kullback and Leibler's at α = 1."""
    need(order is not INFINITE, "`ratio` is for the infinite order")
    return largest(divergence(p, q, order) for p, q in neighbours(pairs, rows))


def information(rows: Any, prior: Row, order: Any) -> arb:
    """Sibson's information of order α under a prior, in nats; mutual information at α = 1."""
    seen = [(arb(p), row) for p, row in zip(prior, rows, strict=True) if p]
    columns, total = zip(*(row for _, row in seen), strict=True), arb(0)
    if order is INFINITE:
        return arb(sum(map(max, columns), ZERO)).log()
    for column in columns:
        cells = [(p, arb(c)) for (p, _), c in zip(seen, column, strict=True) if c]
        if cells and order == 1:
            mean = sum((p * c for p, c in cells), arb(0))
            total += sum((p * c * (c / mean).log() for p, c in cells), arb(0))
        elif cells:
            total += (sum((p * (c.log() * order).exp() for p, c in cells), arb(0)).log() / order).exp()
    return total if order == 1 else total.log() * arb(order / (order - 1))


def capacity(rows: Any, prior: Any, centre: Any, order: Any = ONE) -> Ends:
    """sup over priors: at least that of the witness' prior, at most the distance to its centre."""
    low, middle = information(rows, law(prior), order), [arb(q) if q else q for q in law(centre)]
    if order is INFINITE:
        return low, information(rows, [ONE] * len(rows), order)
    return low, largest(divergence(row, middle, order) for row in rows)


def geometric(steps: Any, decay: fmpq, **guess: Any) -> Ends:
    """Two-sided geometric noise on 0 … steps; outputs beyond either end tell what the end tells."""
    s, inner = (-arb(decay)).exp(), range(1, steps if type(steps) is int else 0)
    need(0 < len(inner) + 1 == steps <= 256 and 0 < s < 1, "1 to 256 steps, and a decay above 0")
    edge, share = 1 / (1 + s), (1 - s) / (1 + s)
    rows = ([edge * s**x, *(share * s ** abs(y - x) for y in inner), edge * s ** (steps - x)] for x in range(steps + 1))
    return capacity(list(rows), **guess)


def additive(noise: Any, range: fmpq) -> Ends:
    """Of a number within so many scales of its noise: at least what both ends alike tell, at most their mixture's
    distance to an end or to the middle, where it is largest (Gaussian noise: D'' grows from the middle on).
    """
    need(noise in ("laplace", "gaussian") and 0 < range <= 64, "Laplace or Gaussian noise, a range up to 64")
    e, half, edge = arb(range), arb(range) / 2, arb(2 + math.isqrt(2 * ctx.prec))
    if noise == "gaussian":

        def apart(x: arb) -> arb:  # ln cosh(half·y) is at most half·|y|: what lies beyond the edges
            inside: Any = lambda z, a: (half * (x + z)).cosh().log(analytic=a) * (-z * z / 2).exp()  # noqa: E731
            mean = acb.integral(inside, acb(-edge), acb(edge)).real / (2 * arb.pi()).sqrt()
            beyond = half * (2 * x * tail(edge) + (-edge * edge / 2).exp())
            return (x * x + half * half) / 2 - mean - beyond * arb(0, 1)

        return apart(half), largest([apart(half), apart(arb(0))])
    between = acb.integral(lambda u, a: -(-u).exp() * ((1 + (2 * u - e).exp()) / 2).log(analytic=a), acb(0), acb(e))
    within = acb.integral(lambda u, a: (-u).exp() * (half - u - u.cosh().log(analytic=a)), acb(0), acb(half))
    end = (between.real - ((1 + (-e).exp()) / 2).log() - (-e).exp() * ((1 + e.exp()) / 2).log()) / 2
    return end, largest([end, within.real - (-half).exp() * half.cosh().log()])


def refines(a: list[Row], b: list[Row], post: Any, gain: Any, prior: Any) -> Ends:
    """min over R of max |AR − B|. Of a gain V(B) − V(A) ≤ V(B) − V(AR) ≤ outputs · max_w Σπg · max |AR − B|."""
    low, high, good = ZERO, ONE, len(a) == len(b) and len(a) * len(a[0]) * len(b[0]) <= WORK
    need(good, f"two channels have the same secrets, and secrets times outputs are {WORK} at most")
    if post is not None:
        turn = table(post)
        need(len(turn) == len(a[0]) and len(turn[0]) == len(b[0]), "a post-processing fits both channels")
        both = (zip(exact_mix(x, turn), y, strict=True) for x, y in zip(a, b, strict=True))
        high = max(abs(c - d) for c, d in chain.from_iterable(both))
    if gain is not None:
        belief = law(prior)
        good = isinstance(gain, list) and all(isinstance(g, list) and len(g) == len(a) for g in gain)
        good = good and 0 < len(gain) * len(a) * len(a[0] + b[0]) <= WORK
        need(good, "a gain has a row for each action")
        bets = [[p * number(g) for p, g in zip(belief, bet, strict=True)] for bet in gain]
        need(all(g >= 0 for bet in bets for g in bet), "a gain is a table of numbers from 0 on")
        mixed_by = [zip(*(exact_mix(bet, of) for bet in bets), strict=True) for of in (b, a)]
        served = [sum(map(max, columns), ZERO) for columns in mixed_by]
        most = max(sum(bet, ZERO) for bet in bets) * len(b[0])
        low = max((served[0] - served[1]) / most, ZERO) if most else low
    return low, high


def exact_mix(weights: Row, rows: list[Row]) -> Row:
    """Σ_x weight_x · row_x, exactly."""
    used = [(p, row) for p, row in zip(weights, rows, strict=True) if p]
    return [sum((p * row[y] for p, row in used), ZERO) for y in range(len(rows[0]))]


def conversion(edges: dict[str, Any], edge: Any, **given: Any) -> Ends:
    """What a guarantee implies: the value of an edge's formula, and of what attains it where it is tight."""
    need(isinstance(edge, str) and edge in edges, "`edge` is a conversion that this program knows")
    values = list(map(number, only(given, *edges[edge][0].split())))
    need(all(0 <= v <= 10**6 for v in values), "numbers of a guarantee are from 0 to a million")
    need("alpha" not in given or number(given["alpha"]) > 1, "α is more than 1")
    value = edges[edge][1](*map(arb, values)).max(arb(0))
    return (ZERO if edge == "renyi_to_delta_at" else value), value  # all others are attained


def tail(x: arb) -> arb:
    """1 − Φ(x)."""
    return (x / arb(2).sqrt()).erfc() / 2


NATS: dict[str, Any] = {
    "pure_to_kl": ("epsilon", lambda e: e * (e / 2).tanh()),
    "pure_to_zcdp": ("epsilon", lambda e: e * (e / 2).tanh()),
    "pure_to_mi": ("epsilon", lambda e: e / (1 - (-e).exp()) - 1 - (e / (1 - (-e).exp())).log()),
    "pure_to_renyi": ("epsilon alpha", lambda e, a: ((a * e - e / 2).cosh() / (e / 2).cosh()).log() / (a - 1)),
    "gaussian_to_zcdp": ("mu", lambda m: m * m / 2),
    "gaussian_to_renyi": ("mu alpha", lambda m, a: a * m * m / 2),
    "zcdp_to_renyi": ("rho alpha", lambda r, a: a * r),
}
DELTAS: dict[str, Any] = {
    "pure_to_delta": ("epsilon", lambda e: (e / 2).tanh()),
    "pure_to_delta_at": ("epsilon at", lambda e, x: (e.exp() - x.exp()) / (1 + e.exp())),
    "gaussian_to_delta_at": ("mu at", lambda m, x: tail(x / m - m / 2) - x.exp() * tail(x / m + m / 2)),
    "renyi_to_delta_at": ("alpha epsilon at", lambda a, e, x: ((a - 1) * (e - x + (1 - 1 / a).log())).exp() / a),
}


class Part(NamedTuple):
    """A loss L: M(z) = E[e^{zL}; L < ∞], or with a lift a bound on |M| from Im z on; P(L = ∞); how often.

    Of Gaussian noise its mu and rate (below 0: somebody joins a sample); of a coin its ε; where D_α ≤ αρ, ρ.
    """

    moments: Any
    never: fmpq = ZERO
    mu: fmpq = ZERO
    rate: fmpq = ONE
    rho: fmpq = ZERO
    odds: fmpq | None = None
    times: int = 1

    def renyi(self, alpha: fmpq) -> Number:
        """D_α, α ≠ 1."""
        if self.rho or self.moments is None:
            return self.times * self.rho * alpha
        if self.never == 1 or (self.never and alpha > 1):
            return INFINITE
        value: arb = self.moments(acb(arb(alpha - 1)), None).real.log()
        return self.times * value / arb(alpha - 1)


def of_rows(p: Row, q: Sequence[Number]) -> Part:
    """Two laws of the same outcomes."""
    both = [(arb(a), (arb(a) / arb(b)).log()) for a, b in zip(p, q, strict=True) if a and b]

    def moments(z: acb, lift: arb | None) -> acb:
        return acb(0) + sum(a * ((z if lift is None else z.real) * ln).exp() for a, ln in both)

    return Part(moments, sum((a for a, b in zip(p, q, strict=True) if not b), ZERO))


def of_laplace(scales: Number, rate: Number = ZERO) -> Part:
    """Laplace noise, so many scales away; with a rate, on a grid of such steps: one step is a coin."""
    e, r = arb(scales), arb(rate)

    def moments(z: acb, lift: arb | None) -> acb:
        z = acb(z.real) if rate and lift is not None else z  # on a grid nothing falls with Im z
        high, low, t = (z * e).exp(), (-(z + 1) * e).exp(), 2 * z + 1
        if lift is not None and not rate:  # both atoms in phase, and the density, which falls
            return acb((abs(high) + abs(low)) * (1 + 1 / abs(t)) / 2)
        share = (1 - (-r).exp()) / (1 - (-r * t).exp()) if rate else 1 / t
        return (high + low + (high * (-r * t).exp() - low) * share) / (1 + (-r).exp())

    return Part(moments)


def of_gaussian(mu: fmpq, rate: fmpq, added: bool) -> Part:
    """Gaussian noise at mu, on a sample that one person joins or leaves.

    E[R^w], u a standard normal, R = 1 − rate + rate·e^{μu − μ²/2}. With a lift y, 0 < yμ < π/2, it is at most
    e^{y²/2} E[|R(u + iy)|^{Re w} e^{−Im w · arg R(u + iy)}] (Cauchy), which falls in Im w.
    """
    need(0 < mu <= 1000 and 0 < rate <= 1, "mu is above 0, and a rate is a probability above 0")
    m, q = arb(mu), arb(rate)
    a, b, none, drop = map(acb, (m, q, 1 - q, m * m / 2))  # once, and not at each of some 100,000 places

    def moments(z: acb, lift: arb | None) -> acb:
        w = acb(-z.real if added else z.real + 1, -z.imag if added and lift is None else z.imag)
        if rate == 1:
            return acb(w * (w - 1) * m * m / 2).exp()
        r, up = w.real, lift or arb(0)
        far, rare = max(float(r * m), 0.0), max(float(-2 * r * q.log()), 0.0)
        edge = arb(math.ceil(far + (1.5 * ctx.prec + rare) ** 0.5 + 2))
        above, half, turn, square = acb(0, up), acb(r / 2), acb(0, w.imag / 2), acb(up * up)

        def inside(u: acb, analytic: bool) -> acb:
            if lift is None:
                return ((none + b * (a * u - drop).exp()).log(analytic) * w - u * u / 2).exp()
            one, other = ((none + b * (a * x - drop).exp()).log(analytic) for x in (u + above, u - above))
            return ((one + other) * half + (one - other) * turn + (square - u * u) / 2).exp()

        # Beyond the edges: on all these lines |R| is 1 − rate at least, and at most 1 or e^{μu − μ²/2}.
        off = 2 * tail(edge) * (1 if r >= 0 else ((1 - q).log() * r).exp())
        off += (r * (r - 1) * m * m / 2).exp() * (tail(edge - r * m) + tail(edge + r * m)) if r >= 0 else 0
        off *= (up * up / 2).exp() * arb(0, 1)
        return acb.integral(inside, acb(-edge), acb(edge)) / (2 * arb.pi()).sqrt() + acb(off, off)

    return Part(moments, mu=mu, rate=-rate if added and rate < 1 else rate, rho=mu * mu / 2 if rate == 1 else ZERO)


def mean(parts: Sequence[Part], z: acb, lifts: Sequence[arb] | None = None) -> acb:
    """M(z) of all losses together, or what bounds it."""
    each = (one.moments(z, lifts[k] if lifts else None) ** one.times for k, one in enumerate(parts))
    return math.prod(each, start=acb(1))


def delta_at(
    losses: Told, at: Number, abscissa: Any, step: Any, right: Any, lifts: Any, nodes: Any, side: int = 0
) -> arb:
    """δ at an ε: (1/2πi) ∫ M(z) e^{−zε} / (z(z + 1)) dz on Re z = c by the trapezoid rule, whose aliases are ≥ 0."""
    parts, x, (c, h, right) = losses.sides[side], arb(at), (arb(number(text)) for text in (abscissa, step, right))
    need(type(nodes) is int and 0 < nodes * len(parts) <= NODES, f"nodes times parts are {NODES} at most")
    need(h > 0 and 0 < c < right <= 10**6, "a step is above 0, and an abscissa between 0 and `right`")
    above = list(map(arb, map(number, lifts)))
    good = all(y > 0 and 2 * y * arb(one.mu) < arb.pi() for y, one in zip(above, parts, strict=True))
    need(good, "each part has a lift, 0 < lift < π/2μ")
    total, period = acb(0), 2 * arb.pi() / h
    for z in (acb(c, h * k) for k in range(nodes + 1)):
        total += mean(parts, z) * (-z * x).exp() / (z * (z + 1)) * (2 if z.imag > 0 else 1)
        if not total.is_finite():
            return arb.nan()
    end = abs(mean(parts, acb(c, h * nodes), above)) * (-c * x).exp() / (arb.pi() * h * nodes)
    # They are e^{∓cjT} δ(ε ∓ jT), T = 2π/h: δ is at most 1, and at most M(s) e^{−sε} s^s/(1 + s)^{1+s} for each s.
    far, near = (-c * period).exp(), ((c - right) * period).exp()
    peak = (right * right.log() - (1 + right) * (1 + right).log() - right * x).exp()
    aliases = far / (1 - far) + abs(mean(parts, acb(right))) * peak * near / (1 - near)
    never = 1 - math.prod(((1 - arb(one.never)) ** one.times for one in parts), start=arb(1))
    value = total.real / period + never
    return arb((value - end - aliases).union(value + end))


def coins(count: int, odds: fmpq, at: Number) -> arb:
    """δ at an ε of so many coins with odds of e^odds: of those with the largest losses."""
    need(count <= WORK >> 8, "coins are of no great number")
    total, weight = arb(0), (1 + (-(e := arb(odds))).exp()) ** -count
    for k in range(count + 1):
        if (gap := arb(at) - (count - 2 * k) * e) >= 0:
            break
        total += weight * (1 - gap.exp()).max(arb(0))
        weight *= (-e).exp() * (count - k) / (k + 1)
    return total


def epsilon_at(losses: Told, delta: fmpq, lower: Any, upper: Any) -> Ends:
    """The ε at a δ of losses that add up, by δ at a place on either side."""
    need(delta < 1, "a δ is below 1")
    ends: list[Number] = [ZERO, INFINITE]
    for side, line in enumerate((lower, upper)):
        if line is not None:
            place = number(only(line, "at", *LINE.split())[0])
            need(place >= 0, "an ε is from 0 on")
            value = delta_at(losses, **line | {"at": place})
            if le(value, delta) if side else le(delta, value):
                ends[side] = place
    return ends[0], ends[1]


class Told(NamedTuple):
    """What an event tells at most: ε, δ, and, but for its δ, ρ, which bounds D₁ too, and the losses of somebody
    who leaves and of somebody who joins; whether these are all that it tells, and not only at most. Of a function of
    Laplace noise, how many scales away that is.
    """

    epsilon: Number
    delta: fmpq
    rho: Number
    sides: tuple[tuple[Part, ...], tuple[Part, ...]]
    exact: bool = True
    scales: Number = INFINITE

    def renyi(self, alpha: fmpq) -> Number:
        """D_α, α > 1, in both directions; no more than ε allows."""
        found = largest(sum((one.renyi(alpha) for one in side), ZERO) for side in self.sides)
        if not self.epsilon < INFINITE:
            return found
        return arb(found).min(of_laplace(self.epsilon, self.epsilon).renyi(alpha))


def of_loss(epsilon: Number, rho: Number, *both: Part, delta: fmpq = ZERO, scales: Number = INFINITE) -> Told:
    """What one loss tells, the same in both directions or not."""
    return Told(epsilon, delta, rho, ((both[0],), (both[-1],)), scales=scales)


def coin(epsilon: fmpq, delta: fmpq = ZERO) -> Told:
    """Any answer of this ε and δ: but for its δ a coin with odds of e^ε."""
    loss = of_laplace(epsilon, epsilon)._replace(odds=epsilon)
    return of_loss(epsilon, NATS["pure_to_kl"][1](arb(epsilon)), loss, delta=delta)._replace(exact=False)


def discrete_laplace(rate: fmpq, steps: fmpq) -> Told:
    """Geometric noise: ρ is D₁, and it is a function of Laplace noise a little farther away."""
    need(steps.q == 1 and rate > 0, "a sensitivity is whole, and a rate above 0")
    r, e = arb(rate), rate * steps
    rho = r * (arb(steps) - (1 - (-arb(e)).exp()) / r.sinh())
    return of_loss(e, rho, of_laplace(e, rate), scales=e + e * e / (4 * steps))


def gaussian(noise: fmpq, rate: fmpq = ONE) -> Told:
    """Gaussian noise of so many sensitivities; of a sample it tells no more than of everybody."""
    both = (of_gaussian(1 / noise, rate, added) for added in (False, True))
    return of_loss(INFINITE, 1 / (2 * noise * noise), *both)


def sampled(rate: fmpq, one: Told) -> Told:
    """The same on a Poisson sample."""
    ((left,), _) = one.sides
    need(one.exact and left.mu > 0 and left.rho > 0 and left.times == 1, "samples are of Gaussian noise")
    return gaussian(1 / left.mu, rate)


def response(blind: fmpq, size: fmpq) -> Told:
    """One of so many answers: the true one, but where it is drawn blindly."""
    need(size.q == 1 and size > 1 and 0 < blind <= 1, "a probability above 0, two answers or more")
    p = [1 - blind + blind / size, blind / size, (size - 2) * blind / size]
    epsilon = arb(p[0] / p[1]).log()
    return of_loss(epsilon, NATS["pure_to_kl"][1](epsilon), of_rows(p, [p[1], p[0], p[2]]))


def together(each: list[Told], count: fmpq = ONE) -> Told:
    """Several answers with fresh noise each, so many times."""
    need(each and count.q == 1 and 0 < count <= 10**12, "events are one or more, and a count from 1 to 10¹²")
    n = int(count.p)
    total = [n * sum(column, ZERO) for column in zip(*((*one[:3], one.scales) for one in each), strict=True)]
    parts = (chain(*(one.sides[side] for one in each)) for side in (0, 1))
    left, joined = (tuple(one._replace(times=n * one.times) for one in side) for side in parts)
    need(len(left) <= 4 * NODES, f"losses are {4 * NODES} at most")
    return Told(total[0], total[1], total[2], (left, joined), all(one.exact for one in each), total[3])


EVENTS: dict[str, tuple[str, Callable[..., Told]]] = {
    "EpsilonDeltaDpEvent": ("epsilon delta", coin),
    "DiscreteLaplaceDpEvent": ("noise_parameter sensitivity", discrete_laplace),
    "LaplaceDpEvent": (
        "noise_multiplier",
        lambda z: of_loss(1 / z, (-arb(1 / z)).exp() - 1 + 1 / z, of_laplace(1 / z), scales=1 / z),
    ),
    "GaussianDpEvent": ("noise_multiplier", gaussian),
    "PoissonSampledDpEvent": ("sampling_probability event", sampled),
    "DiscreteGaussianDpEvent": ("variance squared_sensitivity", lambda v, s: EVENTS["ZCDpEvent"][1](s / (2 * v))),
    "ZCDpEvent": ("rho", lambda rho: of_loss(INFINITE, rho, Part(None, rho=rho))._replace(exact=False)),
    "RandomizedResponseDpEvent": ("noise_parameter num_buckets", response),
    "RowsDpEvent": ("p q", lambda p, q: of_loss(INFINITE, INFINITE, of_rows(p, q), of_rows(q, p))),
    "ReversedDpEvent": ("event", lambda one: one._replace(sides=one.sides[::-1])),
    "ComposedDpEvent": ("events", together),
    "SelfComposedDpEvent": ("event count", lambda one, count: together([one], count)),
    "BoundedDpEvent": (
        "event epsilon",
        lambda one, e: one._replace(epsilon=e if le(e, one.epsilon) and one.delta == 0 else one.epsilon, exact=False),
    ),
}


def tells(event: Any) -> Told:
    """What an event tells."""
    doubt((name := event["name"]) not in EVENTS, f"no price of `{str(name)[:60]}` is known")
    fields, made = EVENTS[name][0].split(), EVENTS[name][1]
    values = only(event, *fields, "name")
    return made(*(field(one, str(v) if type(v) is int else v) for one, v in zip(fields, values, strict=False)))


def exactly(event: Any) -> Told:
    """An event that is its losses, which add up."""
    need((one := tells(event)).exact, "an event is exactly its losses")
    return one


READ: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("rows", "a", "b"), table),
    **dict.fromkeys(("p", "q", "prior"), law),
    **dict.fromkeys(("pairs", "noise", "steps", "head", "accounts", "account", "currency"), lambda found: found),
    **{"order": order_of, "event": tells, "losses": exactly, "events": lambda found: list(map(tells, found))},
}


def field(name: str, found: Any) -> Any:
    """A field of a problem, or of an event, by its name: if it is none of these, a number from 0 on."""
    if name in READ:
        return READ[name](found)
    exact = number(found)
    need(exact >= 0, f"`{name}` is not negative")
    return exact


def renyi(losses: Told, order: Any) -> Number:
    """D_α of losses that add up."""
    need(order is not INFINITE and order > 1, "an order is above 1, and finite")
    return sum((loss.renyi(order) for loss in losses.sides[0]), ZERO)


def price(event: Told, order: Any) -> Ends:
    """What an event tells at most, at an order; its ε at ∞. What happens with its δ may tell anything."""
    need(order is INFINITE or order >= 1, "an order is 1 or more")
    doubt(event.delta != 0, "an event with a δ has no price without it")
    return ZERO, event.epsilon if order is INFINITE else event.rho if order == 1 else event.renyi(order)


# Ledgers: a row's hash is the SHA-256 of its text; money is whole ticks, 10⁻¹² of a unit; null is without a bound.
TICK, NAMES = 10**12, ("epsilon", "delta", "nats_person", "nats_table", "nats_level", "rho", "queries")
ROW = (*NAMES[:6], "curve", "kind", "event", "slot", "shown", "day", "seq", "previous", "format", "rest")
FILTER = [fmpq(k, 4) for k in (5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 192, 256, 384, 512, 1024)]
ORDERS = sorted([*FILTER, *(fmpq(k, 4) for k in (4, 7, 9, 11, 14, 18, 22, 28, 36, 56)), fmpq(11, 10)])
told = cache(lambda text: (one := tells(read(text.encode())[0]), [(a, one.renyi(a)) for a in ORDERS[1:]]))


@cache
def short(text: str, charged: tuple[Any, ...], lines: str) -> str:
    """Which amount may be less than what an event tells, by its name."""
    (one, curve), (at, given, *more) = told(text), [INFINITE if n == inf else fmpq(n, TICK) for n in charged]
    if not le(one.delta, given):
        return "delta"
    if not le(one.epsilon, at) and not nearly(one, curve, at, given - one.delta, json.loads(lines)):
        return "epsilon"
    # But for a δ it is a coin with odds of e^ε at most, or has this curve, but nowhere more than ε.
    flip = coin(at).rho if isinstance(at, fmpq) else one.rho
    beside = largest(arb(at).min(arb(n)) / a for a, n in zip(ORDERS, [*(n for _, n in curve), at], strict=True))
    if not any(le(known, more[3]) for known in (one.rho, flip, beside)):
        return "rho"
    good = all(le(least, ticks) or le(at, ticks) for (_, least), ticks in zip(curve, more[6:], strict=True))
    return "" if good else "curve"


def nearly(one: Told, curve: Any, at: Number, left: Number, lines: Any) -> bool:
    """Whether an ε holds but for a δ: by the divergence at an order, as coins, or along a line in each direction."""
    by_order, parts, odds = DELTAS["renyi_to_delta_at"][1], one.sides[0], one.sides[0][0].odds
    if any(le(by_order(arb(a), arb(nats), arb(at)), left) for a, nats in curve):
        return True
    if odds is not None and all(part.odds == odds for part in parts):
        return le(coins(sum(part.times for part in parts), odds, at), left)
    need(not lines or len(lines) == 2, "lines are of both directions")
    good = lines and all(part.moments for part in parts)
    return bool(good) and all(le(delta_at(one, at, **line, side=k), left) for k, line in enumerate(lines))


@cache
def extra(a: fmpq, each: fmpq, ever: bool) -> int:
    """What an order adds to Σρ(α) for its part of δ, in ticks: under a cap, or `ever`, after every answer at once."""
    more: Any = (0 if ever else (a - 1) * (1 - 1 / arb(a)).log() - arb(a).log()) - arb(each).log()
    return max(0, int((more / (a - 1) * TICK).upper().ceil().unique_fmpz()))


def least(spent: Sequence[Any], delta: fmpq, orders: Sequence[fmpq], ever: bool) -> Any:
    """The least ε that sums prove, in ticks: ε added up, or that of an order."""
    return min(spent[0], *(spent[7 + ORDERS.index(a)] + extra(a, delta / len(orders), ever) for a in orders))


def held(spent: Sequence[Any], caps: Any, whole: Any) -> Iterator[tuple[str, Any, Any]]:
    """Each name with what is held against its cap, and the cap. `whole` are the caps on everything."""
    cap, epsilon = {name: caps.get(name, inf) for name in NAMES}, spent[0]
    alone = caps is whole or not {"epsilon", "delta", "rho"} & set(whole)
    if cap["delta"] == inf and (cap["rho"] < inf or (cap["epsilon"] < inf and alone)):
        cap["delta"] = 0
    if cap["epsilon"] < inf and 0 < cap["delta"] < inf:
        more = cap["delta"] - caps.get("delta_of_answers", cap["delta"] // 2)
        orders = [number(caps["order"])] if "order" in caps else FILTER
        epsilon = least(spent, fmpq(more, TICK), orders, False) if more > 0 else epsilon
        cap["delta"] -= more
    return zip(NAMES, (epsilon, *spent[1:]), cap.values(), strict=False)


def known(caps: Any) -> None:
    """Refuse caps that this program would not hold."""
    one, groups = {*NAMES, "order", "delta_of_answers"}, caps.get("groups", {}).values()
    more = {"analysts", "each_analyst", "groups", "each_period", "period", "each_person", "period_by"}
    each = [*caps.get("analysts", {}).values(), *(caps[n] for n in ("each_analyst", "each_period") if n in caps)]
    good = len(groups) <= 100 and ("period" in caps) == ("each_period" in caps)
    for also, listed in ((more, [caps]), ({"members"}, groups), (set(), each)):
        good = good and all(set(held) <= one | also for held in listed)
        good = good and all(0 <= held.get("delta_of_answers", 0) <= held.get("delta", 0) for held in listed)
    need(good, "caps are of another kind, or answers use more than all of δ")


def accounts(who: str, day: str, caps: Any) -> dict[str, Any]:
    """Whose accounts a charge is on, and their caps: that of whoever asked, of their groups, of a period."""
    named = {f"group {name}": one for name, one in caps.get("groups", {}).items() if who in one["members"]}
    named[f"analyst {who}"] = caps.get("analysts", {}).get(who, caps.get("each_analyst"))
    labels = {"day": day, "month": day[:7], "year": day[:4], "week": f"{date.fromisoformat(day):%G-W%V}"}
    return named | ({f"period {labels[caps['period']]}": caps["each_period"]} if "period" in caps else {})


NOTHING: tuple[Any, ...] = (0,) * 38


def walked(prices: bool, head: Any, which: Any, texts: Any, lines: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a chain's rows come to, and the caps, of each account; a passed cap refutes.

    Rows that do not follow one another are no certificate.
    """
    sums, limits, previous, rooms = {"everything": NOTHING}, dict[str, Any](everything={}), "0" * 64, list[list[Any]]()
    need(which in ("all", "everything"), "accounts are `all` or `everything`")
    need(isinstance(lines, dict) and len(lines) <= 64, "lines are for 64 rows at most")
    need(sha256(texts[-1].encode()).hexdigest() == head, "`head` is not the last row's hash")
    for place, text in enumerate(texts, 1):
        row, caps = read(text.encode())[0], limits["everything"]
        *amounts, curve, kind, event, slot, shown, day = only(row, *ROW)[:12]
        need(DAY.fullmatch(day), f"row {place} has no day")
        follows = (row["seq"], row["previous"], row["format"], kind == "open") == (place, previous, 6, place == 1)
        need(follows, f"row {place} does not follow the row before it")
        previous, asked = sha256(text.encode()).hexdigest(), int(shown) if kind == "lost" else int(kind == "reserve")
        points = curve.split(",") if curve else [0 if all(n == 0 for n in amounts) else None] * 31
        charged = tuple(inf if n in (None, "") else int(n) for n in (*amounts, asked, *points))
        need(len(charged) == 38 and min(charged) >= 0, "a row has seven amounts and a curve, none below 0")
        charges = kind in ("open", "amend", "reserve", "plan", "lost")
        need(charges or not (any(charged) or event or slot), f"row {place} charges, and is no charge")
        if kind in ("open", "amend"):
            doubt(prices and kind == "amend", f"row {place} carries over what no event shows")
            carried = (*charged[:6], sums["everything"][6], *charged[7:])
            need(all(map(ge, carried, sums["everything"])), f"row {place} carries over less than was spent")
            sums["everything"], limits["everything"] = carried, read(shown.encode())[0]["caps"]
            known(limits["everything"])
            plain = place == 1 and not {"each_person", "period_by"} & set(limits["everything"])
            need(plain or which == "everything", "such accounts, and those after an amendment, are not shown")
            continue
        if not any(charged):
            continue
        doubt(prices and not event, f"row {place} has no event of its own")
        name = short(event, charged, json.dumps(lines.get(str(place)))) if prices else ""
        doubt(name, f"row {place}: `{name}` may be less than its event's")
        if kind == "plan":
            whole = read(event.encode())[0]
            for law_of_each, count, _ in (only(one, "event", "count", "name") for one in whole.get("events", [whole])):
                need(type(count) is int and count > 0, "a plan is of so many answers")
                rooms.append([law_of_each, count])
        if slot:
            need(kind == "reserve" and any(n for _, n in rooms), f"row {place} is from a slot that no plan had")
            fits = [one for one in rooms if one[1] and (not prices or admitted(one[0], event))]
            doubt(not fits, f"row {place} may be more than its slot has")
            fits[0][1] -= 1
        apart = {"analysts", "each_analyst", "groups", "period"} & set(caps)
        need(which == "everything" or kind != "lost" or not apart, "whose what was lost was is not shown")
        own = accounts(shown, day, caps) if which == "all" and kind == "reserve" else {}
        for name, limit in {"everything": caps, **own}.items():
            free = slot and name == "everything"  # paid for by its plan
            added = (*[0] * 6, asked, *[0] * 31) if free else charged
            sums[name], limits[name] = tuple(map(add, sums.get(name, NOTHING), added)), limit or {}
            passed = (cap for cap, spent, most in held(sums[name], limits[name], caps) if spent > most)
            cap = next(passed, "")
            doubt(cap, f"row {place} passes the cap `{cap}` of {name}", "refuted")
    return sums, limits


def admitted(slot: Any, event: str) -> bool:
    """Whether an answer is a function of what a slot has: of a coin of its ε, or of Laplace or Gaussian noise."""
    own, most, name = tells(read(event.encode())[0]), tells(slot), slot["name"]
    (a, *more), (b, *_) = own.sides[0], most.sides[0]
    steps = not more and 0 < a.mu <= b.mu and 0 < a.rate <= b.rate and a.times <= b.times  # the rest is noise
    pure = name == "EpsilonDeltaDpEvent" and own.delta == most.delta == 0 and le(own.epsilon, most.epsilon)
    return steps or pure or (name == "LaplaceDpEvent" and le(own.scales, most.scales))


def spent(prices: bool, head: Any, delta: fmpq, delta_of_answers: fmpq, accounts: Any, rows: Any, lines: Any) -> Ends:
    """The ε of all rows of a chain, but for δ and what answers have of their own."""
    need(0 < delta < 1, "δ is from 0 to 1")
    sums = walked(prices, head, accounts, rows, lines)[0]["everything"]
    doubt(sums[1] > delta_of_answers * TICK, "answers have more δ of their own", "refuted")
    found = least(sums, delta, FILTER, True)
    return ZERO, INFINITE if found == inf else fmpq(found, TICK)


def balance(prices: bool, head: Any, account: Any, currency: Any, rows: Any, lines: Any) -> Ends:
    """What all rows of a chain come to in one currency, as it is held against the cap of an account."""
    need(currency in NAMES, f"a currency is one of {', '.join(NAMES)}")
    doubt(prices and currency.startswith("nats"), "nats are added up as they were charged")
    sums, caps = walked(prices, head, "everything" if account == "everything" else "all", rows, lines)
    shown = {*sums, *(f"group {name}" for name in caps["everything"].get("groups", {}))}
    need(account in shown or account.startswith("analyst "), "an account is one that rows show")
    each = held(sums.get(account, NOTHING), caps.get(account, {}), caps["everything"])
    found = {name: amount for name, amount, _ in each}[currency]
    return ZERO, INFINITE if found == inf else fmpq(found, 1 if currency == "queries" else TICK)


GUESS, LINE, CHAIN = "prior centre", "abscissa step right lifts nodes", "rows lines"
# What finds both ends, by names of fields; those of the problem and of the witness; unit (of a balance its currency).
KINDS: dict[str, tuple[Callable[..., Number | Ends], str, str, str, str]] = {
    "ratio": (ratio, "rows pairs", "", "nats", "ln max_{x,x',y} P(y|x)/P(y|x')"),
    "hockey-finite": (hockey_stick, "rows pairs gamma", "", "probability", "max_{x,x'} Σ_y (P(y|x) − γ P(y|x'))₊"),
    "renyi-finite": (farthest, "rows pairs order", "", "nats", "max_{x,x'} D_α(P(·|x) ‖ P(·|x'))"),
    "shannon": (capacity, "rows", GUESS, "nats", "I(prior) ≤ sup_π I(π) ≤ max_x KL(P(·|x) ‖ centre)"),
    "sibson": (capacity, "rows order", GUESS, "nats", "I_α(prior) ≤ sup_π I_α(π) ≤ max_x D_α(P(·|x) ‖ centre)"),
    "information": (information, "rows prior order", "", "nats", "I_α(prior), Sibson's"),
    "additive-geometric": (geometric, "steps decay", GUESS, "nats", "sup_π I(X; X + Z), X whole"),
    "additive": (additive, "noise range", "", "nats", "sup_π I(X; X + Z), 0 ≤ X ≤ range"),
    "renyi": (renyi, "losses order", "", "nats", "D_α = ln E[e^{(α−1)L}]/(α−1), L a sum of losses"),
    "delta-composed": (delta_at, "losses at", LINE, "probability", "δ(ε) = E[(1 − e^{ε−L})₊], L a sum of losses"),
    "epsilon-composed": (epsilon_at, "losses delta", "lower upper", "nats", "min ε ≥ 0: δ(ε) ≤ δ, L a sum of losses"),
    "conversion": (partial(conversion, NATS), "", "", "nats", "what follows from a guarantee"),
    "conversion-delta": (partial(conversion, DELTAS), "", "", "probability", "the δ that follows from a guarantee"),
    "price": (price, "event order", "", "nats", "D_α of an event between neighbours, at most"),
    "refines": (refines, "a b", "post gain prior", "probability", "min over post-processings R of max |AR − B|"),
}
for priced, named, how in ((True, "", "each no less than its event"), (False, "-as-charged", "as they stand")):
    caps = f"of a chain's charges, {how}; its caps hold"
    KINDS[f"filter{named}"] = partial(spent, priced), "head delta delta_of_answers accounts", CHAIN, "nats", f"ε {caps}"
    KINDS[f"balance{named}"] = partial(balance, priced), "head account currency", CHAIN, "", f"sum in a currency {caps}"
FORMULAS = {kind: known[-1] for kind, known in KINDS.items()}


def check(found: Any) -> Verdict:
    """What becomes of one certificate; `Malformed` where it is none."""
    need(isinstance(found, dict) and found.get("schema") == SCHEMA, f"`schema` is {SCHEMA}: this reads no other")
    only(found, *FIELDS)
    kind, formula, evidence = found["kind"], found["formula"], found["evidence"]
    need(evidence in ("proved", "numerical"), "`evidence` is proved or numerical")
    need(isinstance(found["source"], str) and isinstance(formula, str), "formula and source are text")
    lower, upper, unit = only(found["claim"], "lower", "upper", "unit")
    low, high = end(lower), end(upper)
    need(le(low, high) and le(ZERO, low), "a claim is 0 ≤ lower ≤ upper")
    said = " ≤ truth ≤ ".join(repr(float.fromhex(text)) if "x" in text else text for text in (lower, upper))
    if kind == "stated":
        return Verdict("stated", "not proved", said)
    need(isinstance(kind, str) and kind in KINDS, "`kind` is one that this program knows")
    need(formula == FORMULAS[kind], f"the formula of {kind} is {FORMULAS[kind]}")
    before, (measure, fields, shown, due, _) = ctx.prec, KINDS[kind]
    try:
        need(unit == (due or found["problem"]["currency"]), f"the unit of {kind} is {due or 'its currency'}")
        problem, witness = found["problem"], found["witness"]
        only(problem, *fields.split()) if fields else None
        only(witness, *shown.split())
        # More digits help only where a number of a finite channel is nearly a claim's end.
        for bits in PRECISIONS[:1] if fields.split(" ")[0] in ("event", "losses", "head") else PRECISIONS:
            ctx.prec = bits
            given = {name: field(name, problem[name]) for name in fields.split()} or problem
            ends = measure(**given, **witness)
            least, most = ends if isinstance(ends, tuple) else (ends, ends)
            if le(most, high) and (le(low, ZERO) or le(low, least)):
                return Verdict(kind, "proved", f"{said} {unit}")
            if least - high > 0 or low - most > 0:
                return Verdict(kind, "refuted", f"{said} {unit}")
    except Settled as settled:
        return Verdict(kind, settled.args[0], f"{said} {unit}: {ascii(settled.args[1])[1:-1][:200]}")
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        if isinstance(error, Malformed):
            raise
        raise Malformed("a value is of another kind than it should be") from None
    finally:
        ctx.prec = before
    return Verdict(kind, "not proved", f"{said} {unit}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Check files, or standard input for `-`; 0 proved, 1 refuted, 2 no certificate, 3 not proved."""
    files, code = list(sys.argv[1:] if arguments is None else arguments), 0
    if not files or files[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if files else 2
    verdicts: list[str] = []
    for name in files:
        try:
            with sys.stdin.buffer if name == "-" else open(name, "rb") as file:
                text = file.read(BYTES + 1)
            for found in map(check, read(text)):
                print(f"{found.verdict}: {found.kind}: {found.claim}")
                verdicts.append(found.verdict)
        except (OSError, Malformed) as error:
            print(f"no certificate: {str(error)[:200]}", file=sys.stderr)
            code = 2
    return code or (1 if "refuted" in verdicts else 3 if "not proved" in verdicts else 0)


if __name__ == "__main__":
    sys.exit(main())
