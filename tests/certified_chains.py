"""Chains of a ledger as a certificate shows them: taken apart, changed, linked anew.

What they come to is found by another route than the checker's: mpmath, noise summed value by value.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from mpmath import mp, mpf

from leakcap.ledger import Caps, Charge, Ledger, Spend
from leakcap.ledger.measured import guarantee

ORDERS = (
    *("1", "11/10", "5/4", "3/2", "7/4", "2", "9/4", "5/2", "11/4", "3", "7/2", "4", "9/2", "5", "11/2", "6"),
    *("7", "8", "9", "10", "12", "14", "16", "20", "24", "32", "48", "64", "96", "128", "256"),
)
ADAPTIVE = (
    *("5/4", "3/2", "2", "5/2", "3", "4", "5", "6", "8", "10", "12", "16", "20", "24", "32", "48", "64"),
    *("96", "128", "256"),
)
Rows = list[dict[str, Any]]

COUNT = '{"name":"DiscreteLaplaceDpEvent","noise_parameter":"1/10","sensitivity":1}'
SUM = '{"name":"DiscreteLaplaceDpEvent","noise_parameter":"1/40","sensitivity":8}'
TWICE = f'{{"count":2,"event":{COUNT},"name":"SelfComposedDpEvent"}}'
BOTH = f'{{"events":[{SUM},{TWICE}],"name":"ComposedDpEvent"}}'
NORMAL = '{"name":"GaussianDpEvent","noise_multiplier":"25/2"}'
GRID = '{"name":"DiscreteGaussianDpEvent","squared_sensitivity":"1","variance":"200"}'
SAMPLED = f'{{"event":{NORMAL},"name":"PoissonSampledDpEvent","sampling_probability":"1/100"}}'
RESPONSE = '{"name":"RandomizedResponseDpEvent","noise_parameter":"9/10","num_buckets":5}'
EXPONENTIAL = '{"name":"LaplaceDpEvent","noise_multiplier":"10"}'
AT_MOST = f'{{"epsilon":"3/10","event":{BOTH},"name":"BoundedDpEvent"}}'
NARROW = f'{{"event":{EXPONENTIAL},"name":"PoissonSampledDpEvent","sampling_probability":"1/100"}}'


def of(event: str, epsilon: float = float("inf"), **more: Any) -> Charge:
    """A charge of all that an event tells."""
    spend = Spend(epsilon, curve=guarantee(event).curve, event=event, **more)
    return Charge("n", "count where ill", spend)


def ledger(caps: Caps, charges: Sequence[Charge]) -> Ledger:
    book = Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=caps)
    for charge in charges:
        book.reserve([charge])
    return book


def asked(epsilon: float, analyst: str = "", **spend: Any) -> Charge:
    return Charge("n", "count where ill", Spend(epsilon=epsilon, **spend), analyst)


def certificate(caps: Caps, charges: Sequence[Charge], delta: float = 1e-6) -> dict[str, Any]:
    with ledger(caps, charges) as book:
        return json_of(book.certificate(delta))


def json_of(found: dict[str, Any]) -> dict[str, Any]:
    return dict(json.loads(json.dumps(found)))


def rows_of(found: dict[str, Any]) -> Rows:
    return [json.loads(text) for text in found["witness"]["rows"]]


def written(found: dict[str, Any], rows: Rows) -> dict[str, Any]:
    """The certificate with these rows, as whoever has the source can make it: numbered and linked anew."""
    texts, previous = [], "0" * 64
    for place, row in enumerate(rows, 1):
        text = json.dumps({**row, "seq": place, "previous": previous}, sort_keys=True, separators=(",", ":"))
        texts.append(text)
        previous = hashlib.sha256(text.encode()).hexdigest()
    return {
        **found,
        "problem": {**found["problem"], "head": previous},
        "witness": {**found["witness"], "rows": texts},
    }


def relinked(found: dict[str, Any], change: Callable[[Rows], Any]) -> dict[str, Any]:
    rows = rows_of(found)
    change(rows)
    return written(found, rows)


def exact(text: str) -> mpf:
    value = Fraction(float.fromhex(text)) if "x" in text else Fraction(text)
    return mpf(value.numerator) / mpf(value.denominator)


def holds(found: dict[str, Any]) -> bool:
    """Whether the rows are a chain that ends with the head."""
    previous = "0" * 64
    for text in found["witness"]["rows"]:
        if json.loads(text)["previous"] != previous:
            return False
        previous = hashlib.sha256(text.encode()).hexdigest()
    return bool(previous == found["problem"]["head"])


def epsilon(found: dict[str, Any]) -> mpf:
    """What the charges of the rows come to at the problem's δ, after every answer at once."""
    mp.dps = 40
    added, curve = mpf(0), [mpf(0)] * len(ORDERS)
    for row in rows_of(found):
        if row["kind"] != "reserve":
            continue
        added += mp.inf if row["epsilon"] is None else mpf(row["epsilon"]) / mpf(10) ** 12
        ticks = row["curve"].split(",")
        curve = [one + mpf(t) / mpf(10) ** 12 for one, t in zip(curve, ticks, strict=True)]
    delta = exact(found["problem"]["delta"])
    each = (curve[ORDERS.index(a)] + mp.log(len(ADAPTIVE) / delta) / (exact(a) - 1) for a in ADAPTIVE)
    return min(added, *each)


def divergence(event: dict[str, Any], alpha: mpf) -> mpf:
    """D_α of an event by its definition; of noise on whole numbers a sum over all of them."""
    mp.dps = 40
    name = event["name"]
    if name == "ComposedDpEvent":
        return mp.fsum(divergence(one, alpha) for one in event["events"])
    if name == "SelfComposedDpEvent":
        return event["count"] * divergence(event["event"], alpha)
    if name == "EpsilonDeltaDpEvent":
        p = mp.exp(exact(event["epsilon"])) / (1 + mp.exp(exact(event["epsilon"])))
        return _finite([p, 1 - p], [1 - p, p], alpha)
    if name == "DiscreteLaplaceDpEvent":
        r, steps = exact(event["noise_parameter"]), event["sensitivity"]
        places = range(-int(60 / r) - steps, int(60 / r) + 2 * steps)
        each, ratio = (1 - mp.exp(-r)) / (1 + mp.exp(-r)), mp.exp(-r)
        rows = ([each * ratio ** abs(y - x) for y in places] for x in (0, steps))
        return _finite(*rows, alpha)
    if name == "GaussianDpEvent":  # ∫ φ(x)^α φ(x − 1/z)^(1 − α) dx
        shift = 1 / exact(event["noise_multiplier"])
        if alpha == 1:
            return shift**2 / 2
        power = mp.quad(
            lambda x: mp.npdf(x - shift) ** alpha * mp.npdf(x) ** (1 - alpha), [-40, 0, alpha * shift, 60]
        )
        return mp.log(power) / (alpha - 1)
    if name == "LaplaceDpEvent":  # ∫ of both densities, from one kink to the next
        far = 1 / exact(event["noise_multiplier"])

        def term(x: mpf) -> mpf:
            p, q = mp.exp(-abs(x - far)) / 2, mp.exp(-abs(x)) / 2
            return p * mp.log(p / q) if alpha == 1 else p**alpha * q ** (1 - alpha)

        value = mp.quad(term, [-mp.inf, 0, far, mp.inf])
        return value if alpha == 1 else mp.log(value) / (alpha - 1)
    if name == "RandomizedResponseDpEvent":
        size, blind = event["num_buckets"], exact(event["noise_parameter"])
        rows = [[blind / size + (1 - blind) * (x == y) for y in range(size)] for x in (0, 1)]
        return _finite(*rows, alpha)
    if name == "PoissonSampledDpEvent":  # the larger of both directions
        shift, rate = 1 / exact(event["event"]["noise_multiplier"]), exact(event["sampling_probability"])

        def mean(power: mpf) -> mpf:
            def inside(x: mpf) -> mpf:
                return mp.npdf(x) * (1 - rate + rate * mp.npdf(x - shift) / mp.npdf(x)) ** power

            return mp.quad(inside, [-20, 0, alpha * shift, 20 + alpha * shift])

        return max(mp.log(mean(power)) for power in (alpha, 1 - alpha)) / (alpha - 1)
    if name == "BoundedDpEvent":
        coin = {"name": "EpsilonDeltaDpEvent", "epsilon": event["epsilon"]}
        return min(divergence(one, alpha) for one in (event["event"], coin))
    raise KeyError(name)


def epsilon_of_coins(count: int, odds: mpf, delta: mpf) -> mpf:
    """The least ε at a δ of so many coins with odds of e^odds, by bisection over a sum over all outcomes."""
    mp.dps = 40
    p = mp.exp(odds) / (1 + mp.exp(odds))

    def exceeded(x: mpf) -> mpf:
        each = (
            mp.binomial(count, k)
            * (p ** (count - k) * (1 - p) ** k - mp.exp(x) * p**k * (1 - p) ** (count - k))
            for k in range(count + 1)
        )
        return mp.fsum(one for one in each if one > 0)

    low, high = mpf(0), count * odds
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if exceeded(middle) > delta else (low, middle)
    return high


def _finite(p: list[mpf], q: list[mpf], alpha: mpf) -> mpf:
    if alpha == 1:
        return mp.fsum(a * mp.log(a / b) for a, b in zip(p, q, strict=True))
    return mp.log(mp.fsum(a**alpha * b ** (1 - alpha) for a, b in zip(p, q, strict=True))) / (alpha - 1)
