"""Every sentence of a statement, and the route by which each of its numbers is found again.

The route is fifty-digit arithmetic on the worst mechanism: with probability δ the secret itself, else k-ary
randomised response. A sentence that no pattern below knows fails, so that none goes unchecked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

import mpmath
from hypothesis import strategies as st

from leakcap.bound import Bound
from leakcap.statement import Exposure, Statement

mp = mpmath.mp.clone()
mp.dps = 50
NUMBER = r"([\d.,]+(?:e[+-]?\d+)?)"
LN2 = mp.log(2)


def shown(text: str) -> mpmath.mpf:
    return mp.mpf(text.replace(",", "").rstrip("."))


def covers(text: str, truth: mpmath.mpf, close: float = 0.012, least: float = 0.0) -> None:
    """What is shown is not below the truth, and not needlessly above it."""
    value = shown(text)
    assert value >= truth * (1 - mp.mpf("1e-10")), (text, truth)
    assert value <= truth * (1 + mp.mpf(close)) + least, (text, truth)


def per_cent(text: str, truth: mpmath.mpf) -> None:
    assert shown(text) <= 100
    covers(text, 100 * min(truth, mp.mpf(1)), close=1e-9, least=0.0101)


def guess(epsilon: mpmath.mpf, delta: mpmath.mpf, values: int = 2) -> mpmath.mpf:
    """How often the worst mechanism lets a guess be right."""
    keep = 1 / (1 + (values - 1) * mp.exp(-epsilon))
    return min(delta, 1) + (1 - min(delta, 1)) * keep


def group(epsilon: mpmath.mpf, delta: mpmath.mpf, people: int) -> mpmath.mpf:
    if delta == 0:
        return mp.mpf(0)
    return min(delta * mp.expm1(people * epsilon) / mp.expm1(epsilon), mp.mpf(1))


def tight(epsilon: mpmath.mpf) -> mpmath.mpf:
    d = epsilon / -mp.expm1(-epsilon)
    return d - 1 - mp.log(d)


def yes_no(epsilon: mpmath.mpf, delta: mpmath.mpf) -> mpmath.mpf:
    q = 1 / (1 + mp.exp(epsilon))
    h = -q * mp.log(q) - (1 - q) * mp.log(1 - q)
    return delta * LN2 + (1 - delta) * (LN2 - h)


def rare(epsilon: mpmath.mpf, delta: mpmath.mpf) -> mpmath.mpf:
    return min(delta * (1 + mp.exp(-2 * epsilon)) / -mp.expm1(-epsilon), mp.mpf(1))


@st.composite
def exposures(draw: st.DrawFn) -> Exposure:
    epsilon = draw(st.one_of(st.floats(1e-6, 1.0), st.floats(1.0, 700.0), st.sampled_from([1e-6, 700.0])))
    delta = draw(st.one_of(st.just(0.0), st.floats(1e-12, 0.3)))
    relation = draw(st.sampled_from(["replace-one", "add-remove-one"]))
    apart = 1.0 if relation == "replace-one" else draw(st.sampled_from([1.0, 1.5, 2.0]))
    contents = delta if apart == 1.0 else min(delta * (1 + math.exp(min(epsilon, 690.0))), 1.0)
    most = float(tight(mp.mpf(apart * epsilon)))
    own = math.inf if delta else most * draw(st.floats(0.01, 1.0))
    return Exposure(
        "all",
        epsilon,
        apart * epsilon,
        Bound(0.0 if delta else own / 2, own, method="test"),
        draw(st.one_of(st.just(math.inf), st.floats(1e-6, 1e5))),
        relation,
        units=draw(st.one_of(st.none(), st.integers(1, 10**12))),
        delta=delta,
        delta_contents=contents,
    )


def nats_and_bits(found: Sequence[str], truth: mpmath.mpf) -> None:
    covers(found[0], truth)
    covers(found[1], truth / LN2)


def _coin(s: Statement, m: Sequence[str], e: mpmath.mpf, d: mpmath.mpf) -> None:
    per_cent(m[0], guess(e, d))


def _one_in_k(s: Statement, m: Sequence[str], e: mpmath.mpf, d: mpmath.mpf) -> None:
    assert m[0] == m[1]
    per_cent(m[2], guess(e, d, int(m[0].replace(",", ""))))


def _odds(s: Statement, m: Sequence[str], e: mpmath.mpf, d: mpmath.mpf) -> None:
    covers(m[0], mp.exp(e * (2 if d else 1)))
    assert bool(m[1]) == bool(d)
    if d:
        covers(m[1], rare(e, d))


def _any_factor(s: Statement, m: Sequence[str], e: mpmath.mpf, d: mpmath.mpf) -> None:
    assert e * (2 if d else 1) >= 700


def _epsilon(s: Statement, m: Sequence[str], e: mpmath.mpf, d: mpmath.mpf) -> None:
    x = s.exposure
    nats_and_bits(m, mp.mpf(x.epsilon))
    assert bool(m[2]) == bool(x.delta)
    if x.delta:
        covers(m[2], mp.mpf(x.delta))
    both = (x.epsilon, x.delta) == (x.epsilon_contents, x.delta_contents)
    assert (m[3] == "anything about one person") == both
    assert bool(m[4]) == (x.epsilon != x.epsilon_contents)
    if m[4]:
        nats_and_bits(m[4:], e)
        assert bool(m[6]) == bool(d)
        if d:
            covers(m[6], d)


def _joining(s: Statement, m: Sequence[str], e: mpmath.mpf, d: mpmath.mpf) -> None:
    x = s.exposure
    e, d = mp.mpf(x.epsilon), mp.mpf(x.delta)
    assert (m[2] == "without it") == (x.relation == "add-remove-one")
    root = mp.sqrt(rare(e, d))
    value, chance = mp.tanh(e if d else e / 2) + 2 * root, root * (1 + mp.exp(e)) + d
    assert bool(m[1]) == bool(d and float(m[0]) < 100)
    per_cent(m[0], value if chance < 1 else mp.mpf(1))
    if m[1]:
        covers(m[1], chance)


def _own(s: Statement, m: Sequence[str], e: mpmath.mpf, d: mpmath.mpf) -> None:
    nats_and_bits(m, mp.mpf(s.exposure.nats.upper))


def _unbounded(s: Statement, m: Sequence[str], e: mpmath.mpf, d: mpmath.mpf) -> None:
    assert d > 0


def _no_table(s: Statement, m: Sequence[str], e: mpmath.mpf, d: mpmath.mpf) -> None:
    assert math.isinf(s.exposure.table_nats)


def _both(s: Statement, m: Sequence[str], e: mpmath.mpf, d: mpmath.mpf) -> None:
    nats_and_bits(m, mp.mpf(s.exposure.nats.upper))
    nats_and_bits(m[2:], e)


def _test(s: Statement, m: Sequence[str], e: mpmath.mpf, d: mpmath.mpf) -> None:
    """The larger slope of the worst mechanism's curve: everything is told with chance d, else a response."""
    found, odds = mp.mpf("0.01"), mp.exp(e)
    per_cent(m[0], min(odds * found + d, 1 - max(1 - found - d, 0) / odds))


def _family(s: Statement, m: Sequence[str], e: mpmath.mpf, d: mpmath.mpf) -> None:
    k = int(m[0].replace(",", ""))
    per_cent(m[1], guess(k * e, group(e, d, k)))


def _everybody(s: Statement, m: Sequence[str], e: mpmath.mpf, d: mpmath.mpf) -> None:
    n = int(m[0].replace(",", ""))
    truth = guess(n * e, group(e, d, n))
    assert n == s.exposure.units
    per_cent(m[1], truth)
    assert not m[2] or truth > 0.998


def _more(s: Statement, m: Sequence[str], e: mpmath.mpf, d: mpmath.mpf) -> None:
    times = int(m[0].replace(",", "")) + 1
    per_cent(m[1], guess(times * e, min(times * d, mp.mpf(1))))
    if d:
        nats_and_bits(m[3:], yes_no(times * e, min(times * d, mp.mpf(1))))
    else:
        nats_and_bits(m[3:], min(times * mp.mpf(s.exposure.nats.upper), tight(times * e)))


Check = Callable[[Statement, Sequence[str], mpmath.mpf, mpmath.mpf], None]
INFORMATION = rf"{NUMBER} nats \({NUMBER} bits\)"
PATTERNS: dict[str, list[tuple[str, Check]]] = {
    "coin_flip": [
        (rf".*a coin \(50 %\) can be at most {NUMBER} % sure after seeing this\.", _coin),
        (rf".*a coin \(50 %\) is right with probability {NUMBER} % at most after seeing this\.", _coin),
    ],
    "one_in_k": [
        (rf"A guess among {NUMBER} .* \(1 in {NUMBER} by chance\) .* probability {NUMBER} % at "
          rf"most\.", _one_in_k)
    ],
    "odds": [
        (rf"The odds .* at most {NUMBER}(?:, except with probability {NUMBER} at most)?\.", _odds),
        (r"The odds .* may move by any factor\.", _any_factor),
    ],
    "joining": [
        (
            rf"Joining changes any belief by at most {NUMBER} percentage points"
            rf"(?:, except with probability {NUMBER} at most)?: .* with this person's record and "
            rf"(without it|with another in its place)\.",
            _joining,
        )
    ],
    "epsilon": [
        (
            rf"The privacy loss is {INFORMATION}: (?:but for a slack of δ = {NUMBER}, )?no answer "
            rf"can weigh more "
            rf"than that for or against (.*?)\. Losses of several answers add up\.(?: Between two "
            rf"possible records "
            rf"it is {INFORMATION}(?:, with a slack of {NUMBER})?\.)?",
            _epsilon,
        )
    ],
    "presence": [
        (
            rf"A fifty-fifty guess .* in the table at all .* probability {NUMBER} % at most\.",
            lambda s, m, e, d: per_cent(m[0], guess(mp.mpf(s.exposure.epsilon), mp.mpf(s.exposure.delta))),
        )
    ],
    "information_own": [
        (rf"On average over its noise .* at most {INFORMATION} about one person, .*", _own),
        (r"How much is told on average .* has no bound: .*", _unbounded),
    ],
    "information_tight": [
        (
            rf"No mechanism with this privacy loss, .* more than {INFORMATION} about one person on average\.",
            lambda s, m, e, d: nats_and_bits(m, tight(e)),
        ),
        (
            rf"About one yes/no fact .* tells more than {INFORMATION} on average\.",
            lambda s, m, e, d: nats_and_bits(m, yes_no(e, d)),
        ),
    ],
    "information_published": [
        (
            rf"The bound printed .* is {INFORMATION}\.",
            lambda s, m, e, d: nats_and_bits(m, e * mp.tanh(e / 2)),
        )
    ],
    "average_and_worst": [
        (
            rf"On average an attacker learns at most {INFORMATION} about one person; with the "
            rf"unluckiest noise at "
            rf"most {INFORMATION}\.",
            _both,
        ),
        (
            rf"On average little is learned, but with a probability of up to {NUMBER} an answer .*",
            lambda s, m, e, d: covers(m[0], d),
        ),
    ],
    "total_variation": [
        (
            rf"Any conclusion .* at most {NUMBER} percentage points .*",
            lambda s, m, e, d: per_cent(m[0], d + (1 - d) * mp.tanh(e / 2)),
        )
    ],
    "test_power": [
        (rf"A test of a yes/no fact .* in 1 % of cases finds .* probability {NUMBER} % at most\.", _test)
    ],
    "family": [
        (
            rf"If the records of up to {NUMBER} people .* probability {NUMBER} % at most\.",
            _family,
        )
    ],
    "everybody": [
        (rf"If all {NUMBER} records .* probability {NUMBER} % at most\.( That is next to no "
          rf"protection\.)?", _everybody)
    ],
    "table": [
        (
            rf"About the whole table taken together at most {INFORMATION} are told on average\.",
            lambda s, m, e, d: nats_and_bits(m, mp.mpf(s.exposure.table_nats)),
        ),
        (r"How much is told about the whole table has no bound: .*", _no_table),
    ],
    "more": [
        (
            rf"After {NUMBER} more releases .* probability {NUMBER} % at most, and the average "
            rf"information about "
            rf"(one person|a yes/no fact) be at most {INFORMATION}\.",
            _more,
        )
    ],
}  # fmt: skip


def checked(statement: Statement) -> int:
    e, d = mp.mpf(statement.exposure.epsilon_contents), mp.mpf(statement.exposure.delta_contents)
    for line in statement.lines:
        for pattern, check in PATTERNS[line.key]:
            found = re.fullmatch(pattern, line.sentence)
            if found:
                check(statement, found.groups(), e, d)
                break
        else:
            raise AssertionError(f"a sentence that nobody checks: {line.sentence}")
    return len(statement.lines)
