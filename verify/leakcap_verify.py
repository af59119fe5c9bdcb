"""Checks leakcap's certificates without leakcap: exact rationals, and balls that hold the true number.

    leakcap-verify FILE …        each certificate is `proved`, `refuted` or `not proved`

A number in a certificate is a double in hex, an integer or a fraction, as text: it is read exactly. Rows and priors
are divided by their exact sums. Each kind gives two numbers with low ≤ truth ≤ high, from the witness; a claim is
proved where it lies outside of both, refuted where it contradicts one, and not proved otherwise, at any precision up
to 2,048 bits. What a certificate says of itself (its evidence, its source) is believed in nothing.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from flint import arb, ctx, fmpq, fmpz

__all__ = ["FORMULAS", "Malformed", "Verdict", "check", "main", "read"]

SCHEMA = "leakcap.certificate/1"
MANY = "leakcap.certificates/1"
FIELDS = ("schema", "kind", "evidence", "claim", "problem", "witness", "formula", "source")
BYTES, DEPTH, ENTRIES, CERTIFICATES, WORK = 64 << 20, 16, 1 << 20, 10_000, 1 << 24
PRECISIONS = (128, 512, 2048)
HEX = re.compile(r"(-?)0x([01])\.([0-9a-f]{1,13})p([+-][0-9]{1,4})")
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
    need(text.lstrip()[:1] == b"{", "a file of certificates is a JSON object")
    depth = level = 0
    # A string that does not end is matched to the end of the text: each byte is looked at once.
    for sign in re.finditer(rb'"(?:[^"\\]|\\.?)*(?:"|\Z)|[\[{]|[\]}]', text, re.DOTALL):
        level += (sign[0] in (b"[", b"{")) - (sign[0] in (b"]", b"}"))
        depth = max(depth, level)
    need(depth <= DEPTH, f"lists may stand {DEPTH} deep at most")
    try:
        found = json.loads(
            text.decode(), object_pairs_hook=_once, parse_float=_no, parse_int=_whole, parse_constant=_no
        )
    except Malformed:
        raise
    except (ValueError, RecursionError):
        raise Malformed("this is not JSON") from None
    if found.get("schema") != MANY:
        return [found]
    need(set(found) == {"schema", "certificates"}, f"{MANY} has `certificates` and nothing else")
    listed = found["certificates"]
    need(isinstance(listed, list) and 0 < len(listed) <= CERTIFICATES, f"1 to {CERTIFICATES} certificates")
    need(all(isinstance(one, dict) for one in listed), "each certificate is an object")
    return list(listed)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    need(len(dict(pairs)) == len(pairs), "a name stands twice in one object")
    return dict(pairs)


def _no(text: str) -> Any:
    raise Malformed(f"numbers are text, as doubles in hex or fractions; {text[:20]} is neither")


def _whole(text: str) -> int:
    need(len(text) <= 20, "an integer has 20 digits at most")
    return int(text)


def only(found: Any, *names: str) -> list[Any]:
    """The values of exactly these names."""
    need(isinstance(found, dict) and set(found) == set(names), f"expected {', '.join(names) or 'nothing'} alone")
    return [found[name] for name in names]


def number(text: Any) -> fmpq:
    """A double in hex, an integer or a fraction: exactly."""
    need(isinstance(text, str) and len(text) <= 802, "a number is text")
    if found := HEX.fullmatch(text):
        sign, whole, digits, power = found.groups()
        need(abs(int(power)) <= 1100, "a double's exponent is beyond doubles")
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


def largest(values: Any) -> Ends:
    """Both ends of the largest of some numbers, balls or exact; the least that there is, is zero."""
    low: Number = fmpq(0)
    high = low
    for value in values:
        low, high = (value if le(low, value) else low), upper_of(high, value)
    return low, high


def upper_of(a: Number, b: Number) -> Number:
    """A number that is not below either."""
    if le(a, b):
        return b
    return a if le(b, a) else arb(a).max(arb(b))


def le(a: Number, b: Number) -> bool:
    """Whether a ≤ b for certain."""
    if isinstance(a, fmpq) and isinstance(b, fmpq):
        return bool(a <= b)
    return bool(arb(a) <= arb(b))


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
    (cells, *orders), (prior, centre) = only(problem, "rows", *names), only(witness, "prior", "centre")
    rows, alpha = table(cells), order(*orders or ["1"])
    belief, middle = law(prior, len(rows)), law(centre, len(rows[0]))
    low = information(belief, rows, alpha)
    if alpha is INFINITE:
        return low, information([fmpq(1)] * len(rows), rows, alpha)
    balls = [arb(q) if q else q for q in middle]
    return low, largest(divergence(row, balls, alpha) for row in rows)[1]


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


NATS: dict[str, Any] = {
    "pure_to_kl": ("epsilon", lambda e: e * (e / 2).tanh()),
    "pure_to_zcdp": ("epsilon", lambda e: e * (e / 2).tanh()),
    "pure_to_mi": ("epsilon", lambda e: e / (1 - (-e).exp()) - 1 - (e / (1 - (-e).exp())).log()),
    "pure_to_renyi": ("epsilon alpha", lambda e, a: ((a * e - e / 2).cosh() / (e / 2).cosh()).log() / (a - 1)),
    "gaussian_to_zcdp": ("mu", lambda m: m * m / 2),
    "gaussian_to_renyi": ("mu alpha", lambda m, a: a * m * m / 2),
    "zcdp_to_renyi": ("rho alpha", lambda r, a: a * r),
}
TAIL: Callable[[arb], arb] = lambda x: (x / arb(2).sqrt()).erfc() / 2  # noqa: E731 (1 − Φ)
DELTAS: dict[str, Any] = {
    "pure_to_delta": ("epsilon", lambda e: (e / 2).tanh()),
    "pure_to_delta_at": ("epsilon at", lambda e, x: (e.exp() - x.exp()) / (1 + e.exp())),
    "gaussian_to_delta_at": ("mu at", lambda m, x: TAIL(x / m - m / 2) - x.exp() * TAIL(x / m + m / 2)),
    "renyi_to_delta_at": ("alpha epsilon at", lambda a, e, x: ((a - 1) * (e - x + (1 - 1 / a).log())).exp() / a),
}
KINDS: dict[str, tuple[Callable[[Any, Any], Ends], str, str]] = {
    "ratio": (ratio, "nats", "ln max_{x,x',y} P(y|x)/P(y|x')"),
    "hockey-finite": (partial(paired, "gamma"), "probability", "max_{x,x'} Σ_y (P(y|x) − γ P(y|x'))₊"),
    "renyi-finite": (partial(paired, "order"), "nats", "max_{x,x'} D_α(P(·|x) ‖ P(·|x'))"),
    "shannon": (partial(capacity, ()), "nats", "I(prior) ≤ sup_π I(π) ≤ max_x KL(P(·|x) ‖ centre)"),
    "sibson": (partial(capacity, ("order",)), "nats", "I_α(prior) ≤ sup_π I_α(π) ≤ max_x D_α(P(·|x) ‖ centre)"),
    "information": (under_prior, "nats", "I_α(prior), Sibson's"),
    "conversion": (partial(conversion, NATS), "nats", "what follows from a guarantee"),
    "conversion-delta": (partial(conversion, DELTAS), "probability", "the δ that follows from a guarantee"),
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
            if lt(high, least) or lt(most, low):
                return Verdict(kind, "refuted", said + " " + unit)
    finally:
        ctx.prec = before
    return Verdict(kind, "not proved", said + " " + unit)


def lt(a: Number, b: Number) -> bool:
    """Whether a < b for certain."""
    return not (isinstance(a, fmpq) and isinstance(b, fmpq) and a == b) and bool(arb(a) < arb(b))


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
