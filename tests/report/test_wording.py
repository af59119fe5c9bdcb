"""No sentence is false for any parameters: every number in every sentence is found again by another route.

The other route is fifty-digit arithmetic on the worst mechanism: with probability δ the secret itself, else
k-ary randomised response. A sentence that no pattern below knows fails, so that none goes unchecked.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence

import mpmath
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leakcap.bound import Bound
from leakcap.report import promises, wording
from leakcap.report.document import Figure, Text
from leakcap.report.records import StatementRecord
from leakcap.report.sections import figure_of, headline
from leakcap.statement import Exposure, Statement, statement_of
from release.world import answers, planned, policy_of, table

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


SIZES = st.integers(2, 10**6)


@settings(max_examples=250, deadline=None)
@given(exposure=exposures(), family=SIZES, guesses=SIZES, more=st.integers(1, 10**4))
def test_every_number_of_every_sentence(exposure: Exposure, family: int, guesses: int, more: int) -> None:
    assert checked(statement_of(exposure, family=family, guesses=guesses, more=more)) >= 11


def flat(text: Text) -> str:
    return "".join(str(piece) for piece in text) if isinstance(text, tuple) else str(text)


@settings(max_examples=250, deadline=None)
@given(exposure=exposures())
def test_what_is_said_in_odds(exposure: Exposure) -> None:
    statement = statement_of(exposure)
    e, d = mp.mpf(exposure.epsilon_contents), mp.mpf(exposure.delta_contents)
    told = [flat(sentence) for sentence in wording.in_odds(statement)]
    found = re.fullmatch(
        rf".* at even odds: {NUMBER} of {NUMBER} such guesses are right without this\. With it at "
        rf"most {NUMBER} of "
        rf"{NUMBER} are right on average\.",
        told[0],
    )
    assert found
    half, of, right, again = (int(x.replace(",", "")) for x in found.groups())
    assert (2 * half, of) == (of, again)
    truth = guess(e, d) * of
    assert truth * (1 - mp.mpf("1e-14")) <= right <= min(truth + 1 + mp.mpf("1e-5"), of)
    assert right > half  # a gain, however small, is seen as one
    factor = mp.exp(e * (2 if d else 1))
    sentence = re.fullmatch(
        rf"Odds of 1 to 1 become at most {NUMBER} to 1, odds of 1 to 99 at most {NUMBER} to "
        rf"99(?:\.|, except with "
        rf"probability {NUMBER} at most\.)",
        told[1],
    )
    if sentence is None:
        assert told[1] == "Nothing here keeps odds of 1 to 1 from becoming a million to 1."
        assert factor > 999_999
    else:
        assert sentence[1] == sentence[2]
        covers(sentence[1], factor)
        assert (sentence[3] is not None) == bool(d)
        if d:
            covers(sentence[3], rare(e, d))
    assert (len(told) == 3) == (d == 0)
    if d == 0:
        belief = re.fullmatch(
            rf"A suspicion held with probability 1 % .* at most {NUMBER} % afterwards\.", told[2]
        )
        assert belief
        per_cent(belief[1], factor / (factor + 99))


@settings(max_examples=250, deadline=None)
@given(exposure=exposures(), family=SIZES)
def test_the_four_sentences_of_the_terminal(exposure: Exposure, family: int) -> None:
    statement = statement_of(exposure, family=family)
    e, d = mp.mpf(exposure.epsilon_contents), mp.mpf(exposure.delta_contents)
    told = wording.in_short(statement)
    assert len(told) <= 4
    coin = re.fullmatch(rf".* guesses right at most {NUMBER} % of the time, instead of 50 %\.", told[0])
    if coin:
        per_cent(coin[1], guess(e, d))
    else:
        assert "Nothing here keeps" in told[0]
        assert guess(e, d) > 0.99989
    shared = re.fullmatch(rf"What up to {NUMBER} people .* right at most {NUMBER} % of the time\.", told[-2])
    truth = guess(family * e, group(e, d, family))
    if shared:
        assert int(shared[1].replace(",", "")) == family
        per_cent(shared[2], truth)
    else:
        assert told[-2].endswith("has next to no protection.")
        assert truth > 0.99989
    own = re.fullmatch(rf"On average at most {NUMBER} bits are learned about one person .*", told[-1])
    if own:
        covers(own[1], mp.mpf(exposure.nats.upper) / LN2)
    else:
        assert "has no bound" in told[-1]
        assert d > 0
    factor = mp.exp(e * (2 if d else 1))
    assert (len(told) == 3) == (factor > 10**6)
    if len(told) == 4:
        odds = re.fullmatch(
            rf"Odds about one person .* by at most {NUMBER}(?:, except with probability {NUMBER} at most)?\.",
            told[1],
        )
        assert odds
        covers(odds[1], factor)
        assert (odds[2] is not None) == bool(d)
        if d:
            covers(odds[2], rare(e, d))


@example(value=5e-324, below=0.0, above=0.0)
@given(
    value=st.one_of(st.integers(-(10**9), 10**9), st.floats(-1e6, 1e6)),
    below=st.floats(0, 1e7),
    above=st.floats(0, 1e7),
)
def test_values_are_rounded_to_their_noise(value: float, below: float, above: float) -> None:
    low, high = value - below, value + above
    told = [shown(text.removeprefix("-")) * (-1 if text[0] == "-" else 1)
            for text in wording.to_its_noise(value, low, high)]  # fmt: skip
    half = (mp.mpf(high) - mp.mpf(low)) / 2
    near = mp.mpf("1.1e-5") * max(abs(mp.mpf(value)), abs(mp.mpf(low)), abs(mp.mpf(high)), 1)
    step = half / 10 if half > 0 else mp.mpf(0)
    if isinstance(value, int):
        step = max(step, mp.mpf(1))
    assert abs(told[0] - value) <= step / 2 + (near if half < near else mp.mpf("1e-9"))
    assert told[1] <= low + mp.mpf("1e-9") * (1 + abs(low))
    assert told[2] >= high - mp.mpf("1e-9") * (1 + abs(high))
    assert low - told[1] <= step + near
    assert told[2] - high <= step + near


@settings(max_examples=100, deadline=None)
@given(exposure=exposures())
def test_figures_and_headlines_round_outward(exposure: Exposure) -> None:
    statement = statement_of(exposure)
    for line in statement.lines:
        text = figure_of(line).text
        numbers = [shown(x) for x in re.findall(NUMBER, text)]
        if line.unit == "nats" and math.isfinite(line.upper):
            ends = numbers[: len(numbers) // 2]
            assert ends[-1] >= mp.mpf(line.upper) * (1 - mp.mpf("2e-12"))
            wide = mp.mpf("1.1e-5") if line.lower == line.upper else mp.mpf("2e-6")
            assert ends[0] <= mp.mpf(line.lower) * (1 + wide)
        elif line.unit == "probability":
            per_cent(str(numbers[0]), mp.mpf(line.upper))
        elif math.isfinite(line.upper):
            covers(str(numbers[0]), mp.mpf(line.upper))
        else:
            assert text == "no bound"
    assert len(headline(statement).cards) == 3


@settings(max_examples=100, deadline=None)
@given(exposure=exposures(), family=SIZES)
def test_a_statement_comes_back_from_its_record(exposure: Exposure, family: int) -> None:
    statement = statement_of(exposure, family=family)
    record = StatementRecord.model_validate_json(json.dumps(statement.to_dict(), allow_nan=False))
    assert record.statement().lines == statement.lines


def test_a_record_whose_words_were_changed_is_refused() -> None:
    told = statement_of(
        Exposure("all", 0.1, 0.1, Bound.exact(0.001, method="m"), 1.0, "replace-one")
    ).to_dict()
    text = json.dumps(told).replace("52.50 %", "50.50 %")
    with pytest.raises(Exception, match="do not follow from its numbers"):
        StatementRecord.model_validate_json(text).statement()


def test_a_false_sentence_is_caught() -> None:
    good = statement_of(Exposure("all", 0.5, 0.5, Bound.exact(0.03, method="m"), 1.0, "replace-one", units=9))
    assert checked(good) == len(good.lines)
    worse = Exposure("all", 0.51, 0.51, Bound.exact(0.031, method="m"), 1.1, "replace-one", units=10)
    for line in good.lines:
        with pytest.raises(AssertionError):
            checked(Statement(worse, (line,)))


@given(value=st.one_of(st.floats(1e-300, 1e300), st.floats(1e-9, 1e9)), up=st.booleans())
def test_cut_numbers_keep_their_side(value: float, up: bool) -> None:
    text = wording.signed(value, upward=up)
    near = mp.mpf(value)
    told = shown(text)
    slack = mp.mpf("2e-12") * near
    assert (
        near - slack <= told <= near * (1 + mp.mpf("1.1e-5"))
        if up
        else near * (1 - mp.mpf("1.1e-5")) <= told <= near + slack
    )
    assert isinstance(Figure(text, headline_note()).text, str)


UNITS = [
    (id_, rows, groups, tables)
    for id_, rows, groups in [(False, 1, None)] + [(True, r, g) for r in (1, 2, 3) for g in (None, 1, 2, 5)]
    for tables in ((False, True) if id_ else (False,))
]


@pytest.mark.parametrize("relation", ["replace-one", "add-remove-one"])
@pytest.mark.parametrize(("id_", "rows", "groups", "tables"), UNITS)
def test_what_is_protected_is_what_the_engine_uses(
    relation: str, id_: bool, rows: int, groups: int | None, tables: bool
) -> None:
    """The other route is the engine: one person's sixteen rows in four groups, and one row of nobody."""
    public = {"rows": 1 if id_ else 17} if relation == "replace-one" else {}
    unit = {"id": "id", "max_rows": rows, "max_groups": groups} if id_ else "row"
    people = {"people": {"id": "id", "columns": {"f": {"keys": [True]}}}} if tables else {}
    keys = {"k": {"keys": [0, 1, 2, 3]}}
    policy = policy_of(neighbours=relation, columns=keys, unit=unit, tables=people, **public)
    short, apart, left = promises.protects(policy), promises.neighbours(policy), promises.not_counted(policy)
    told = promises.used(policy)
    assert ("whether it is in the table at all" in short) == (relation == "add-remove-one")
    assert ("Not hidden: that" in short) == (relation == "replace-one")
    assert ("that it is in the table, and" in short) == (relation == "replace-one" and id_)
    assert relation != "replace-one" or f"that there are {policy.rows}" in short
    assert ("all tables say" in short) == ("in all tables" in apart) == tables
    assert ("in groups, rows whose key is not letter for letter" in left) is True
    odd = table([{"id": 1, "k": 9}, {"id": 2, "k": 3}, {"id": 3, "k": None}])
    assert answers(planned(policy, statistic="count", by=("k",)), odd) == [[0, 0, 0, 1]]
    assert ("one row of each joined table" in told) == tables
    data = [{"id": 7, "k": place % 4} for place in range(16)] + [{"id": None, "k": 0}]
    found = {by: answers(planned(policy, statistic="count", by=by), table(data))[0] for by in ((), ("k",))}
    if not id_:
        assert told == ""
        assert "without" not in left.removeprefix("Not counted, without a word")
        assert found == {(): [17], ("k",): [5, 4, 4, 4]}
        return
    most = re.search(r"An answer uses at most (\d+) rows? of one id", told)
    few = re.search(r", in at most (\d+) groups? where groups are asked for", told)
    assert most
    assert "rows without id" in left
    assert f"rows beyond {most[1]} of one id" in left
    assert found[()] == [int(most[1])]
    assert sum(found["k",]) <= int(most[1])
    assert sum(count > 0 for count in found["k",]) <= int((few or most)[1])
    assert (few is not None) == (groups is not None and groups < rows)
    spread = answers(planned(policy, statistic="count", by=("k",)), table(data[:4]))[0]
    assert sum(count > 0 for count in spread) == int((few or most)[1])  # one row in each of four groups
    assert "counts each id once, however many rows" in told
    assert answers(planned(policy, statistic="distinct"), table(data)) == [[1]]


def headline_note() -> wording.Note:
    return wording.Note("x", "y")
