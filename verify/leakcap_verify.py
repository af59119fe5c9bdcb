"""Checks leakcap's certificates without leakcap: exact rationals, and balls that hold the true number.

    leakcap-verify FILE …        each certificate is `proved`, `refuted` or `not proved`

A number in a certificate is a double in hex, an integer or a fraction, as text: it is read exactly. Rows and priors
are divided by their exact sums. Each kind gives two numbers with low ≤ truth ≤ high, from the witness; a claim is
proved where it lies outside of both, refuted where it contradicts one, and not proved otherwise, at any precision up
to 2,048 bits. What a certificate says of itself (its evidence, its source) is believed in nothing.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from functools import cache, partial, reduce
from hashlib import sha256
from math import inf
from operator import add, ge
from typing import Any, NamedTuple

from flint import acb, arb, ctx, fmpq, fmpz

__all__ = ["FORMULAS", "Malformed", "Verdict", "check", "main", "read"]

SCHEMA = "leakcap.certificate/1"
MANY = "leakcap.certificates/1"
FIELDS = ("schema", "kind", "evidence", "claim", "problem", "witness", "formula", "source")
BYTES, ENTRIES, CERTIFICATES, WORK, NODES = 64 << 20, 1 << 20, 10_000, 1 << 24, 1 << 10
PRECISIONS = (128, 512, 2048)
HEX = re.compile(r"(-?)0x([01])\.([0-9a-f]{1,13})p([+-][0-9]{1,4})")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
FRACTION = re.compile(r"(-?[0-9]{1,400})(?:/([0-9]{1,400}))?")
INFINITE = arb.pos_inf()

Number = fmpq | arb
Row = list[fmpq]
Ends = tuple[Number, Number]
"""low ≤ truth ≤ high."""


class Malformed(ValueError):
    """What stands there is no certificate that this program can read."""


class Verdict(NamedTuple):
    """What was found of one certificate, and what its claim says."""

    kind: str
    verdict: str
    claim: str


def need(good: object, rule: str) -> None:
    """Refuse what breaks a rule."""
    if not good:
        raise Malformed(rule)


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
    need(isinstance(text, str) and len(text) <= 802, "a number is text")
    if found := HEX.fullmatch(text):
        sign, whole, digits, power = found.groups()
        need(-1022 <= int(power) <= 1023, "a double's exponent is beyond doubles")
        mantissa, shift = fmpz(int(sign + whole + digits, 16)), int(power) - 4 * len(digits)
        return fmpq(mantissa * fmpz(2) ** shift) if shift >= 0 else fmpq(mantissa, fmpz(2) ** -shift)
    if not (found := FRACTION.fullmatch(text)):
        raise Malformed("a number is a double in hex or a fraction")
    top, bottom = int(found[1]), int(found[2] or 1)
    need(bottom, "a fraction has no zero below")
    return fmpq(top, bottom)


def end(text: Any) -> Number:
    """An end of a claim, which may be infinite."""
    return INFINITE if text == "inf" else number(text)


def law(cells: Any, size: int | None = None) -> Row:
    """Numbers that are not negative, divided by their exact sum."""
    need(isinstance(cells, list) and 0 < len(cells) <= ENTRIES, f"a distribution has 1 to {ENTRIES} entries")
    need(size is None or len(cells) == size, "a distribution has an entry for each secret or output")
    values = [number(cell) for cell in cells]
    need(len(values) < 1000 or all(value.q.bit_length() <= 1100 for value in values), "long rows are of doubles")
    need(all(value >= 0 for value in values), "a probability is not negative")
    total = sum(values, fmpq(0))
    need(abs(total - 1) <= fmpq(1, 10**9), "a distribution sums to one, up to rounding")
    return values if total == 1 else [value / total for value in values]


def table(rows: Any) -> list[Row]:
    """The rows of a channel."""
    need(isinstance(rows, list) and rows and isinstance(rows[0], list), "rows are a list of lists")
    need(len(rows) * max(len(rows[0]), 1) <= ENTRIES, f"a channel has {ENTRIES} entries at most")
    return [law(row, len(rows[0])) for row in rows]


def order(text: Any) -> Any:
    """An order above zero."""
    alpha = end(text)
    need(alpha is INFINITE or 0 < alpha <= 10**6, "an order is above 0, and at most a million or infinite")
    return alpha


def neighbours(listed: Any, rows: list[Row]) -> Iterator[tuple[int, int]]:
    """Pairs of rows, both ways round."""
    need(listed == "all" or isinstance(listed, list), "pairs are `all` or a list")
    count, many = len(rows), len(rows) ** 2 if listed == "all" else len(listed)
    need(many * len(rows[0]) <= WORK, f"pairs times outputs are {WORK} at most")
    if listed == "all":
        return ((x, y) for x in range(count) for y in range(count) if x != y)
    for pair in listed:
        good = isinstance(pair, list) and len(pair) == 2
        need(good and all(type(x) is int and 0 <= x < count for x in pair), "a pair is of two rows")
    return (pair for x, y in listed for pair in ((x, y), (y, x)))


def le(a: Number, b: Number) -> bool:
    """Whether a ≤ b for certain."""
    return b == INFINITE or bool(b - a >= 0)


def largest(values: Iterable[Number]) -> Ends:
    """Both ends of the largest of some numbers from zero on, balls or exact."""
    found = [fmpq(0), *values]
    exact = all(isinstance(value, fmpq) for value in found)
    return (max(found) if exact else reduce(arb.max, map(arb, found)),) * 2


def ratio(problem: Any, witness: Any) -> Ends:
    """ln max over pairs and outputs of P(y|x)/P(y|x'): ε."""
    rows, listed = only(problem, "rows", "pairs")
    only(witness)
    rows, most = table(rows), fmpq(1)
    cells: Any = ((max(column), min(column)) for column in zip(*rows, strict=True))
    if listed != "all":
        pairs = neighbours(listed, rows)
        cells = (both for x, y in pairs for both in zip(rows[x], rows[y], strict=True))
    for p, q in cells:
        if p > 0 == q:
            return INFINITE, INFINITE
        most = max(most, p / q) if q else most
    return (arb(most).log(),) * 2


def divergence(p: Row, q: Sequence[Number], alpha: fmpq) -> Number:
    """D_α(P‖Q) of exact rows; Q may be of balls."""
    both = [(a, b) for a, b in zip(p, q, strict=True) if a > 0]
    live = [(a, b) for a, b in both if not (isinstance(b, fmpq) and b == 0)]
    if not live or (len(live) < len(both) and alpha >= 1):
        return INFINITE
    if alpha == 1:
        # Exact masses that are the same add nothing; a ball that holds the mass may differ from it.
        apart = ((a, b) for a, b in live if isinstance(b, arb) or a != b)
        return sum((arb(a) * (arb(a) / arb(b)).log() for a, b in apart), arb(0))
    total = sum(((arb(a).log() * arb(alpha) + arb(b).log() * arb(1 - alpha)).exp() for a, b in live), arb(0))
    return total.log() / arb(alpha - 1)


def paired(name: str, problem: Any, witness: Any) -> Ends:
    """max over pairs of Σ (P − γQ)₊, total variation at γ = 1; or of D_α(P‖Q), Kullback–Leibler at α = 1."""
    rows, listed, text = only(problem, "rows", "pairs", name)
    only(witness)
    value: Any = order(text) if name == "order" else number(text)
    rows, zero = table(rows), fmpq(0)
    need(value >= 0 and value is not INFINITE, "gamma is not negative; `ratio` is for the infinite order")
    both = ((rows[x], rows[y]) for x, y in neighbours(listed, rows))
    if name == "order":
        return largest(divergence(p, q, value) for p, q in both)
    return largest(sum((max(a - value * b, zero) for a, b in zip(p, q, strict=True)), zero) for p, q in both)


def mixed(prior: Row, rows: list[Row]) -> list[Number]:
    """πC, in balls; exactly zero where no secret that the prior holds possible shows the output."""
    seen = [(arb(p), row) for p, row in zip(prior, rows, strict=True) if p]
    terms = ([p * arb(row[y]) for p, row in seen if row[y]] for y in range(len(rows[0])))
    return [sum(column, arb(0)) if column else fmpq(0) for column in terms]


def information(prior: Row, rows: list[Row], alpha: Any) -> arb:
    """Sibson's information of order α, in nats; mutual information at α = 1."""
    seen = [row for p, row in zip(prior, rows, strict=True) if p]
    if alpha is INFINITE:
        return arb(sum((max(column) for column in zip(*seen, strict=True)), fmpq(0))).log()
    if alpha == 1:
        q = mixed(prior, rows)
        return sum((arb(p) * divergence(row, q, alpha) for p, row in zip(prior, rows, strict=True) if p), arb(0))
    raised: Any = (
        [(p, c) for p, c in zip(prior, column, strict=True) if p and c] for column in zip(*rows, strict=True)
    )
    raised = (sum((arb(p) * (arb(c).log() * alpha).exp() for p, c in terms), arb(0)) for terms in raised if terms)
    total = sum(((terms.log() / alpha).exp() for terms in raised), arb(0))
    return total.log() * arb(alpha / (alpha - 1))


def capacity(names: tuple[str, ...], problem: Any, witness: Any) -> Ends:
    """sup over priors: at least that of the witness' prior, at most the distance to its centre."""
    (cells, *more), (prior, centre) = only(problem, *names), only(witness, "prior", "centre")
    rows: Any = geometric(cells, *more) if "decay" in names else table(cells)
    alpha = order(more[0] if "order" in names else "1")
    belief, middle = law(prior, len(rows)), law(centre, len(rows[0]))
    low = information(belief, rows, alpha)
    if alpha is INFINITE:
        return low, information([fmpq(1)] * len(rows), rows, alpha)
    return low, largest([divergence(row, [arb(q) if q else q for q in middle], alpha) for row in rows])[1]


def geometric(steps: Any, decay: Any) -> list[list[arb]]:
    """Rows of two-sided geometric noise on 0 … steps; outputs beyond either end tell what the end tells."""
    s, inner = (-arb(number(decay))).exp(), range(1, steps if type(steps) is int else 0)
    need(0 < len(inner) + 1 == steps <= 256 and 0 < s < 1, "1 to 256 steps, and a decay above 0")
    return [
        [s**x / (1 + s), *((1 - s) / (1 + s) * s ** abs(y - x) for y in inner), s ** (steps - x) / (1 + s)]
        for x in range(steps + 1)
    ]


def additive(problem: Any, witness: Any) -> Ends:
    """Of a number within so many scales of its noise: at least what both ends alike tell, at most their mixture's
    distance to an end or to the middle, where it is largest (Gaussian noise: D'' grows from the middle on).
    """
    (noise, text), _ = only(problem, "noise", "range"), only(witness)
    need(noise in ("laplace", "gaussian") and 0 < number(text) <= 64, "Laplace or Gaussian noise, a range up to 64")
    e, half, edge = arb(number(text)), arb(number(text)) / 2, arb(2 + math.isqrt(2 * ctx.prec))
    if noise == "gaussian":

        def apart(x: arb) -> arb:  # ln cosh(half·y) is at most half·|y|: what lies beyond the edges
            within: Any = lambda z, a: (half * (x + z)).cosh().log(analytic=a) * (-z * z / 2).exp()  # noqa: E731
            mean = acb.integral(within, acb(-edge), acb(edge)).real / (2 * arb.pi()).sqrt()
            beyond = half * (2 * x * tail(edge) + (-edge * edge / 2).exp())
            return (x * x + half * half) / 2 - mean - beyond * arb(0, 1)

        return apart(half), largest([apart(half), apart(arb(0))])[1]
    between = acb.integral(lambda u, a: -(-u).exp() * ((1 + (2 * u - e).exp()) / 2).log(analytic=a), acb(0), acb(e))
    within = acb.integral(lambda u, a: (-u).exp() * (half - u - u.cosh().log(analytic=a)), acb(0), acb(half))
    end = (between.real - ((1 + (-e).exp()) / 2).log() - (-e).exp() * ((1 + e.exp()) / 2).log()) / 2
    return end, largest([end, within.real - (-half).exp() * half.cosh().log()])[1]


def under_prior(problem: Any, witness: Any) -> Ends:
    """Sibson's information of order α under a given prior."""
    rows, prior, alpha = only(problem, "rows", "prior", "order")
    only(witness)
    rows = table(rows)
    return (information(law(prior, len(rows)), rows, order(alpha)),) * 2


def refines(problem: Any, witness: Any) -> Ends:
    """min over R of max |AR − B|. Of a gain V(B) − V(A) ≤ V(B) − V(AR) ≤ outputs · max_w Σπg · max |AR − B|."""
    (a, b), (post, gain, prior) = only(problem, "a", "b"), only(witness, "post", "gain", "prior")
    a, b, low, high = table(a), table(b), fmpq(0), fmpq(1)
    need(len(a) == len(b), "two channels have the same secrets")
    need(len(a) * len(a[0]) * len(b[0]) <= WORK, f"secrets times outputs are {WORK} at most")
    if post is not None:
        turn = table(post)
        need(len(turn) == len(a[0]) and len(turn[0]) == len(b[0]), "a post-processing fits both channels")
        high = max(abs(c - d) for x, y in zip(a, b, strict=True) for c, d in zip(exact_mix(x, turn), y, strict=True))
    if gain is not None:
        belief = law(prior, len(a))
        good = isinstance(gain, list) and all(isinstance(g, list) and len(g) == len(a) for g in gain)
        need(good and 0 < len(gain) * len(a) * len(a[0] + b[0]) <= WORK, "a gain has a row for each action")
        bets = [[p * number(g) for p, g in zip(belief, bet, strict=True)] for bet in gain]
        need(all(g >= 0 for bet in bets for g in bet), "a gain is a table of numbers from 0 on")
        mixed_by = [zip(*(exact_mix(bet, of) for bet in bets), strict=True) for of in (b, a)]
        served = [sum(map(max, columns), fmpq(0)) for columns in mixed_by]
        most = max(sum(bet, fmpq(0)) for bet in bets) * len(b[0])
        low = max((served[0] - served[1]) / most, fmpq(0)) if most else low
    return low, high


def exact_mix(weights: Row, rows: list[Row]) -> Row:
    """Σ_x weight_x · row_x, exactly."""
    used = [(p, row) for p, row in zip(weights, rows, strict=True) if p]
    return [sum((p * row[y] for p, row in used), fmpq(0)) for y in range(len(rows[0]))]


def conversion(edges: dict[str, Any], problem: Any, witness: Any) -> Ends:
    """What a guarantee implies: the value of an edge's formula, and of what attains it where it is tight."""
    edge: Any = problem.get("edge") if isinstance(problem, dict) else None
    need(isinstance(edge, str) and edge in edges, "`edge` is a conversion that this program knows")
    (names, formula), _ = edges[edge], only(witness)
    values = [number(value) for value in only(problem, "edge", *names.split())[1:]]
    need(all(0 <= v <= 10**6 for v in values), "numbers of a guarantee are from 0 to a million")
    need("alpha" not in problem or number(problem["alpha"]) > 1, "α is more than 1")
    value = formula(*map(arb, values)).max(arb(0))
    return (fmpq(0) if edge == "renyi_to_delta_at" else value), value  # all others are attained


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
    """A loss L: M(z) = E[e^{zL}; L < ∞], or with a lift a bound on |M| from Im z on; how often; P(L = ∞)."""

    moments: Callable[[acb, arb | None], acb]
    times: int
    never: fmpq
    mu: fmpq


def expected(mu: arb, rate: arb, w: acb, lift: arb | None) -> acb:
    """E[R(u)^w], u a standard normal, R = 1 − rate + rate·e^{μu − μ²/2}; with a lift y, a bound on it from Im w on.

    |E[R^w]| ≤ e^{y²/2} E[|R(u + iy)|^{Re w} e^{−Im w · arg R(u + iy)}] for 0 < yμ < π/2 (Cauchy), falling in Im w.
    """
    r, up = w.real, lift or arb(0)
    up_to, rare = max(float(r * mu), 0.0), max(float(-2 * r * rate.log()), 0.0)
    edge = arb(math.ceil(up_to + (1.5 * ctx.prec + rare) ** 0.5 + 2))

    def inside(u: acb, analytic: bool) -> acb:
        places = [u] if lift is None else [u + acb(0, up), u - acb(0, up)]
        logs = [(1 - rate + rate * (mu * z - mu * mu / 2).exp()).log(analytic=analytic) for z in places]
        power = logs[0] * w if lift is None else sum(logs) * (r / 2) + (logs[0] - logs[1]) * acb(0, w.imag / 2)
        return (power + (up * up - u * u) / 2).exp()

    # Beyond the edges: on all these lines |R| is 1 − rate at least, and at most 1 or e^{μu − μ²/2}.
    off = 2 * tail(edge) * (1 if r >= 0 else ((1 - rate).log() * r).exp())
    off += (r * (r - 1) * mu * mu / 2).exp() * (tail(edge - r * mu) + tail(edge + r * mu)) if r >= 0 else 0
    off *= (up * up / 2).exp() * arb(0, 1)
    return acb.integral(inside, acb(-edge), acb(edge)) / (2 * arb.pi()).sqrt() + acb(off, off)


def part(found: Any) -> Part:
    """Two rows; Laplace noise, ε scales away; or Gaussian noise at mu, on a sample that one person joins or leaves."""
    if isinstance(found, dict) and "p" in found:
        first, second, count = only(found, "p", "q", "count")
        p, q = law(first), law(second, len(first))
        both = [(arb(a), (arb(a) / arb(b)).log()) for a, b in zip(p, q, strict=True) if a and b]
        never, mu = sum((a for a, b in zip(p, q, strict=True) if not b), fmpq(0)), fmpq(0)

        def moments(z: acb, lift: arb | None) -> acb:
            return acb(0) + sum(a * ((z if lift is None else z.real) * ln).exp() for a, ln in both)
    elif isinstance(found, dict) and "epsilon" in found:
        text, count = only(found, "epsilon", "count")
        e, never, mu = arb(number(text)), fmpq(0), fmpq(0)
        need(0 < e <= 1000, "ε is above 0, and at most a thousand")

        def moments(z: acb, lift: arb | None) -> acb:
            high, low = (z * e).exp(), (-(z + 1) * e).exp()
            if lift is not None:  # both atoms in phase, and the density, which falls with Im z
                return acb((abs(high) + abs(low)) * (1 + 1 / abs(1 + 2 * z)) / 2)
            return (high + low + (high - low) / (1 + 2 * z)) / 2
    else:
        *texts, side, count = only(found, "mu", "rate", "side", "count")
        (mu, rate), added, never = map(number, texts), side == "added", fmpq(0)
        need(0 < mu <= 1000 and 0 < rate <= 1, "mu is above 0, and a rate is a probability above 0")
        need(added or side == "removed", "a side is added or removed")

        def moments(z: acb, lift: arb | None) -> acb:
            w = acb(-z.real if added else z.real + 1, -z.imag if added and lift is None else z.imag)
            return expected(arb(mu), arb(rate), w, lift) if rate < 1 else acb(w * (w - 1) * arb(mu) ** 2 / 2).exp()

    need(type(count) is int and 0 < count <= 10**7, "a count is from 1 to ten million")
    return Part(moments, count, never, mu)


def added_up(listed: Any) -> list[Part]:
    """The losses of a composition."""
    need(isinstance(listed, list) and 0 < len(listed) <= 64, "a composition has 1 to 64 parts")
    return list(map(part, listed))


def mean(parts: list[Part], z: acb, lifts: Sequence[arb] | None = None) -> acb:
    """M(z) of all losses together, or what bounds it."""
    each = (one.moments(z, lifts[k] if lifts else None) ** one.times for k, one in enumerate(parts))
    return math.prod(each, start=acb(1))


def delta_at(parts: list[Part], at: fmpq, witness: Sequence[Any]) -> arb:
    """δ at an ε: (1/2πi) ∫ M(z) e^{−zε} / (z(z + 1)) dz on Re z = c by the trapezoid rule, whose aliases are ≥ 0."""
    (*texts, lifts, nodes), x = witness, arb(at)
    c, h, right = (arb(number(text)) for text in texts)
    need(type(nodes) is int and 0 < nodes * len(parts) <= NODES, f"nodes times parts are {NODES} at most")
    need(h > 0 and 0 < c < right <= 10**6, "a step is above 0, and an abscissa between 0 and `right`")
    need(isinstance(lifts, list) and len(lifts) == len(parts), "each part has a lift")
    above = [arb(number(text)) for text in lifts]
    need(all(y > 0 and 2 * y * arb(one.mu) < arb.pi() for y, one in zip(above, parts, strict=True)), "0 < lift < π/2μ")
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


def composed(name: str, problem: Any, witness: Any) -> Ends:
    """δ at an ε of losses that add up; or the ε at a δ, by δ at a place on either side."""
    (listed, text), names = only(problem, "parts", name), ("abscissa", "step", "right", "lifts", "nodes")
    parts, given = added_up(listed), number(text)
    need(name == "at" or 0 <= given < 1, "a δ is from 0 on, and below 1")
    low: Number = fmpq(0)
    high: Number = INFINITE
    if ctx.prec > PRECISIONS[0]:  # More digits prove no more of a sum that is left too soon.
        return low, high
    if name == "at":
        return (delta_at(parts, given, only(witness, *names)),) * 2
    for side, found in zip(("lower", "upper"), only(witness, "lower", "upper"), strict=True):
        if found is not None:
            place, *how = only(found, "at", *names)
            need(number(place) >= 0, "an ε is from 0 on")
            value = delta_at(parts, number(place), how)
            if le(given, value) and side == "lower":
                low = number(place)
            if le(value, given) and side == "upper":
                high = number(place)
    return low, high


def renyi(problem: Any, witness: Any) -> Ends:
    """D_α of losses that add up."""
    (listed, text), _ = only(problem, "parts", "order"), only(witness)
    parts, alpha = added_up(listed), order(text)
    need(alpha is not INFINITE and alpha > 1, "an order is above 1")
    if any(one.never for one in parts):
        return INFINITE, INFINITE
    if ctx.prec > PRECISIONS[0] and any(one.mu for one in parts):  # More digits prove no more, and take hours.
        return fmpq(0), INFINITE
    value = sum((arb(one.times) * one.moments(acb(arb(alpha - 1)), None).real.log() for one in parts), arb(0))
    return (value / arb(alpha - 1),) * 2


class Settled(Exception):
    """What a witness shows by itself: a verdict, and why."""


# Ledgers: a row's hash is the SHA-256 of its text; money is whole ticks, 10⁻¹² of a unit; null is without a bound.
TICK, NAMES = 10**12, ("epsilon", "delta", "nats_person", "nats_table", "nats_level", "rho", "queries")
ROW = (*NAMES[:6], "curve", "kind", "event", "slot", "shown", "day", "seq", "previous", "format", "rest")
FILTER = [fmpq(k, 4) for k in (5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 192, 256, 384, 512, 1024)]
ORDERS = sorted([*FILTER, *(fmpq(k, 4) for k in (4, 7, 9, 11, 14, 18, 22, 28, 36, 56)), fmpq(11, 10)])
Tells = tuple[Number, Number, Number, Callable[[fmpq], Number]]


def two_sided(rate: fmpq, steps: fmpq) -> Tells:
    """Of geometric noise whose centre moves by whole steps: the series below, between and above both centres."""
    need(steps.q == 1, "a sensitivity is whole")
    r, e = arb(rate), arb(rate * steps)

    def curve(a: fmpq) -> Number:
        s, most, t = (-r).exp(), ((a - 1) * e).exp(), 2 * a - 1
        between = most * (1 - s) * ((-r * t).exp() - (-e * t).exp()) / (1 - (-r * t).exp())
        return ((most + between + (-a * e).exp()) / (1 + s)).log() / (a - 1)

    return rate * steps, fmpq(0), r * (arb(steps) - (1 - (-e).exp()) / r.sinh()), curve


def linear(rho: fmpq) -> Tells:
    """A curve of αρ: Gaussian noise has it, discrete Gaussian noise at most."""
    return INFINITE, fmpq(0), rho, lambda a: a * rho


PRICES: dict[str, tuple[str, Callable[..., Tells]]] = {  # ε; δ; ρ, which is D₁ too; D_α
    "EpsilonDeltaDpEvent": (
        "epsilon delta",
        lambda e, d: (e, d, NATS["pure_to_kl"][1](arb(e)), lambda a: NATS["pure_to_renyi"][1](arb(e), arb(a))),
    ),
    "DiscreteLaplaceDpEvent": ("noise_parameter sensitivity", two_sided),
    "ZCDpEvent": ("rho", linear),
    "GaussianDpEvent": ("noise_multiplier", lambda z: linear(1 / (2 * z * z))),
    "DiscreteGaussianDpEvent": ("variance squared_sensitivity", lambda v, s: linear(s / (2 * v))),
}


def tells(event: Any) -> list[Number]:
    """ε, δ, ρ, and Rényi's divergence at each order that an event has at most."""
    if (name := event["name"]) == "ComposedDpEvent":
        return [sum(column, fmpq(0)) for column in zip(*map(tells, only(event, "events", "name")[0]), strict=True)]
    if name == "SelfComposedDpEvent":
        inner, count, _ = only(event, "event", "count", "name")
        need(type(count) is int and count > 0, "a count is from 1 on")
        return [count * one for one in tells(inner)]
    if name not in PRICES:
        raise Settled("not proved", f"no price of `{str(name)[:60]}` is known")
    values = [number(str(value)) for value in only(event, *PRICES[name][0].split(), "name")[:-1]]
    need(min(values) >= 0, "numbers of an event are not negative")
    *three, curve = PRICES[name][1](*values)
    return [*three, three[2], *map(curve, ORDERS[1:])]


def size(event: Any) -> int:
    """How many measurements an event is of."""
    if event["name"] == "ComposedDpEvent":
        return sum(map(size, event["events"]))
    return int(event["count"]) * size(event["event"]) if event["name"] == "SelfComposedDpEvent" else 1


def of_event(problem: Any, witness: Any) -> Ends:
    """What an event tells at most, at an order; its ε at ∞."""
    (text, a), _ = only(problem, "event", "order"), only(witness)
    need(a == "inf" or number(a) in ORDERS, "an order is one of a ledger's, or infinite")
    found = tells(read(text.encode())[0])
    if found[1] != 0:  # what happens with its δ may tell anything
        raise Settled("not proved", "an event with a δ has no price without it")
    return fmpq(0), found[0 if a == "inf" else 3 + ORDERS.index(number(a))]


@cache
def short(event: str, charged: tuple[Any, ...], bits: int) -> str:
    """Which amount may be less than what an event tells, by its name; the curve of a charge need not pass its ε."""
    names, due = ("epsilon", "delta", "rho", *["curve"] * 31), (*charged[:2], charged[5], *charged[7:])
    for name, ticks, least in zip(names, due, tells(read(event.encode())[0]), strict=True):
        if ticks < (charged[0] if name == "curve" else inf) and not le(least * TICK, fmpq(ticks)):
            return name
    return ""


@cache
def extra(a: fmpq, each: fmpq, ever: bool) -> int:
    """What an order adds to Σρ(α) for its part of δ, in ticks: under a cap, or `ever`, after every answer at once."""
    more: Any = (0 if ever else (a - 1) * (1 - 1 / arb(a)).log() - arb(a).log()) - arb(each).log()
    return max(0, int((more / (a - 1) * TICK).upper().ceil().unique_fmpz()))


def least(spent: Sequence[Any], delta: fmpq, orders: Sequence[fmpq], ever: bool) -> Any:
    """The least ε that sums prove, in ticks: ε added up, or that of an order."""
    return min(spent[0], *(spent[7 + ORDERS.index(a)] + extra(a, delta / len(orders), ever) for a in orders))


def passed(spent: Sequence[Any], caps: Any, whole: Any) -> str:
    """Which of some caps sums pass, by its name; empty where all hold. `whole` are the caps on everything."""
    cap, epsilon = {name: caps.get(name, inf) for name in NAMES}, spent[0]
    alone = caps is whole or not {"epsilon", "delta", "rho"} & set(whole)
    if cap["delta"] == inf and (cap["rho"] < inf or (cap["epsilon"] < inf and alone)):
        cap["delta"] = 0
    if cap["epsilon"] < inf and 0 < cap["delta"] < inf:
        more = cap["delta"] - caps.get("delta_of_answers", cap["delta"] // 2)
        orders = [number(caps["order"])] if "order" in caps else FILTER
        epsilon = least(spent, fmpq(more, TICK), orders, False) if more > 0 else epsilon
        cap["delta"] -= more
    return next((name for name, one in zip(NAMES, (epsilon, *spent[1:]), strict=False) if one > cap[name]), "")


def known(caps: Any) -> None:
    """Refuse caps that this program would not hold."""
    one = {*NAMES, "order", "delta_of_answers"}
    several = [
        *caps.get("analysts", {}).values(),
        *(caps[name] for name in ("each_analyst", "each_period") if name in caps),
    ]
    more = {"analysts", "each_analyst", "groups", "each_period", "period", "each_person", "period_by"}
    need(len(caps.get("groups", {})) <= 100, "100 groups at most")
    need(set(caps) <= one | more and ("period" in caps) == ("each_period" in caps), "caps are of another kind")
    for held, also in (
        (caps, more),
        *((c, set()) for c in several),
        *((c, {"members"}) for c in caps.get("groups", {}).values()),
    ):
        need(set(held) <= one | also, "caps are of another kind")
        need(0 <= held.get("delta_of_answers", 0) <= held.get("delta", 0), "answers use more than all of δ")


def accounts(who: str, day: str, caps: Any) -> dict[str, Any]:
    """Whose accounts a charge is on, and their caps: that of whoever asked, of their groups, of a period."""
    named = {f"group {name}": one for name, one in caps.get("groups", {}).items() if who in one["members"]}
    named[f"analyst {who}"] = caps.get("analysts", {}).get(who, caps.get("each_analyst"))
    labels = {"day": day, "month": day[:7], "year": day[:4], "week": f"{date.fromisoformat(day):%G-W%V}"}
    return named | ({f"period {labels[caps['period']]}": caps["each_period"]} if "period" in caps else {})


def ledger(prices: bool, problem: Any, witness: Any) -> Ends:
    """The ε of all rows of a chain, but for δ. Rows that do not follow are no certificate; a passed cap refutes."""
    head, at, own, which = only(problem, "head", "delta", "delta_of_answers", "accounts")
    (texts,), delta, previous, nothing = only(witness, "rows"), number(at), "0" * 64, (0,) * 38
    caps, sums = dict[str, Any](), dict[str, tuple[Any, ...]](everything=nothing)
    need(0 < delta < 1 and which in ("all", "everything"), "δ is from 0 to 1, accounts are `all` or `everything`")
    need(sha256(texts[-1].encode()).hexdigest() == head, "`head` is not the last row's hash")
    parts = room = 0
    for place, text in enumerate(texts, 1):
        row = read(text.encode())[0]
        *amounts, curve, kind, event, slot, shown, day = only(row, *ROW)[:12]
        need(DAY.fullmatch(day), f"row {place} has no day")
        parts += event.count("{")
        need(parts <= 1 << 16, "events have 65,536 parts at most")
        follows = (row["seq"], row["previous"], row["format"], kind == "open") == (place, previous, 6, place == 1)
        need(follows, f"row {place} does not follow the row before it")
        previous, asked = sha256(text.encode()).hexdigest(), int(shown) if kind == "lost" else int(kind == "reserve")
        points = curve.split(",") if curve else [0 if all(n == 0 for n in amounts) else None] * 31
        charged = tuple(inf if n in (None, "") else int(n) for n in (*amounts, asked, *points))
        need(len(charged) == 38 and min(charged) >= 0, "a row has seven amounts and a curve, none below 0")
        charges = kind in ("open", "amend", "reserve", "plan", "lost")
        need(charges or not (any(charged) or event or slot), f"row {place} charges, and is no charge")
        room += size(read(event.encode())[0]) if kind == "plan" else -1 if slot else 0
        need(room >= 0 and (not slot or kind == "reserve"), f"row {place} is from a slot that no plan had")
        if kind in ("open", "amend"):
            if prices and kind == "amend":
                raise Settled("not proved", f"row {place} carries over what no event shows")
            carried = (*charged[:6], sums["everything"][6], *charged[7:])
            need(all(map(ge, carried, sums["everything"])), f"row {place} carries over less than was spent")
            caps, sums = read(shown.encode())[0]["caps"], {"everything": carried}
            known(caps)
            plain = place == 1 and not {"each_person", "period_by"} & set(caps)
            need(plain or which == "everything", "such accounts, and those after an amendment, are not shown")
        elif any(charged):
            if prices and (slot or not event):
                raise Settled("not proved", f"row {place} has no event of its own")
            if prices and (name := short(event, charged, ctx.prec)):
                if ctx.prec < PRECISIONS[-1]:
                    return fmpq(0), INFINITE
                raise Settled("not proved", f"row {place}: `{name}` may be less than its event's")
            held_apart = {"analysts", "each_analyst", "groups", "period"} & set(caps)
            need(which == "everything" or kind != "lost" or not held_apart, "whose what was lost was is not shown")
            one = which == "all" and kind == "reserve"
            for name, held in {"everything": caps, **(accounts(shown, day, caps) if one else {})}.items():
                free = slot and name == "everything"  # paid for by its plan
                added = (*[0] * 6, asked, *[0] * 31) if free else charged
                sums[name] = tuple(map(add, sums.get(name, nothing), added))
                if held is not None and (cap := passed(sums[name], held, caps)):
                    raise Settled("refuted", f"row {place} passes the cap `{cap}` of {name}")
    if sums["everything"][1] > int((number(own) * TICK).floor()):
        raise Settled("refuted", "answers have more δ of their own")
    found = least(sums["everything"], delta, FILTER, True)
    return fmpq(0), INFINITE if found == inf else fmpq(found, TICK)


KINDS: dict[str, tuple[Callable[[Any, Any], Ends], str, str]] = {
    "ratio": (ratio, "nats", "ln max_{x,x',y} P(y|x)/P(y|x')"),
    "hockey-finite": (partial(paired, "gamma"), "probability", "max_{x,x'} Σ_y (P(y|x) − γ P(y|x'))₊"),
    "renyi-finite": (partial(paired, "order"), "nats", "max_{x,x'} D_α(P(·|x) ‖ P(·|x'))"),
    "shannon": (partial(capacity, ("rows",)), "nats", "I(prior) ≤ sup_π I(π) ≤ max_x KL(P(·|x) ‖ centre)"),
    "sibson": (partial(capacity, ("rows", "order")), "nats", "I_α(prior) ≤ sup_π I_α(π) ≤ max_x D_α(P(·|x) ‖ centre)"),
    "additive-geometric": (partial(capacity, ("steps", "decay")), "nats", "sup_π I(X; X + Z), X whole"),
    "additive": (additive, "nats", "sup_π I(X; X + Z), 0 ≤ X ≤ range"),
    "renyi": (renyi, "nats", "D_α = ln E[e^{(α−1)L}]/(α−1), L a sum of losses"),
    "delta-composed": (partial(composed, "at"), "probability", "δ(ε) = E[(1 − e^{ε−L})₊], L a sum of losses"),
    "epsilon-composed": (partial(composed, "delta"), "nats", "min ε ≥ 0: E[(1 − e^{ε−L})₊] ≤ δ, L a sum of losses"),
    "information": (under_prior, "nats", "I_α(prior), Sibson's"),
    "conversion": (partial(conversion, NATS), "nats", "what follows from a guarantee"),
    "conversion-delta": (partial(conversion, DELTAS), "probability", "the δ that follows from a guarantee"),
    "price": (of_event, "nats", "D_α of an event between neighbours, at most"),
    "filter": (partial(ledger, True), "nats", "ε of a chain's charges, each no less than its event; its caps hold"),
    "filter-as-charged": (partial(ledger, False), "nats", "ε of a chain's charges as they stand; its caps hold"),
    "refines": (refines, "probability", "min over post-processings R of max |AR − B|"),
}
FORMULAS = {kind: formula for kind, (_, _, formula) in KINDS.items()}


def check(found: Any) -> Verdict:
    """What becomes of one certificate; `Malformed` where it is none."""
    need(isinstance(found, dict) and found.get("schema") == SCHEMA, f"`schema` is {SCHEMA}: this reads no other")
    only(found, *FIELDS)
    kind, formula, evidence = found["kind"], found["formula"], found["evidence"]
    need(evidence in ("proved", "numerical"), "`evidence` is proved or numerical")
    need(isinstance(found["source"], str) and isinstance(formula, str), "formula and source are text")
    lower, upper, unit = only(found["claim"], "lower", "upper", "unit")
    low, high = end(lower), end(upper)
    need(le(low, high) and le(fmpq(0), low), "a claim is 0 ≤ lower ≤ upper")
    said = " ≤ truth ≤ ".join(repr(float.fromhex(text)) if "x" in text else text for text in (lower, upper))
    if kind == "stated":
        return Verdict("stated", "not proved", said)
    need(isinstance(kind, str) and kind in KINDS, "`kind` is one that this program knows")
    measure, due, written = KINDS[kind]
    need(unit == due, f"the unit of {kind} is {due}")
    need(formula == written, f"the formula of {kind} is {written}")
    before = ctx.prec
    try:
        for bits in PRECISIONS:
            ctx.prec = bits
            least, most = measure(found["problem"], found["witness"])
            if le(most, high) and (le(low, fmpq(0)) or le(low, least)):
                return Verdict(kind, "proved", said + " " + unit)
            if least - high > 0 or low - most > 0:
                return Verdict(kind, "refuted", said + " " + unit)
    except Settled as settled:
        return Verdict(kind, settled.args[0], f"{said} {unit}: {ascii(settled.args[1])[1:-1][:200]}")
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise (
            error if isinstance(error, Malformed) else Malformed("a value is of another kind than it should be")
        ) from None
    finally:
        ctx.prec = before
    return Verdict(kind, "not proved", said + " " + unit)


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
