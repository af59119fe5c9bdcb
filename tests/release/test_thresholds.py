"""Private keys: what appears, what does not, and that δ is exactly what is said, by the law written out."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pyarrow
import pytest
from scipy.stats import binom

from leakcap import AllPriors, Channel, Renyi, capacity
from leakcap.errors import BudgetExceeded, InvalidPolicy, InvalidQuery
from leakcap.mechanism import TwoSidedGeometric
from leakcap.release import PrivateTable, Query, attach, load_policy, preview
from leakcap.release.measurements.thresholds import ThresholdMeasurement, delta_of, threshold_for
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.price import price_of
from leakcap.release.planning.scan import scans_of
from leakcap.release.sql.select import sql_queries
from leakcap.sampling.rational import printed
from seeded import SeededSource

COLUMNS: dict[str, Any] = {
    "d": {"keys": "private"},
    "n": {"keys": "private", "type": "integer"},
    "x": {"bounds": [0.0, 1.0]},
    "p": {"keys": ["u", "v"]},
}


def policy(relation: str = "add-remove-one", groups: int = 1, units: int = 3, **changes: Any) -> Any:
    return load_policy({
        "dataset": "t", "neighbours": relation, "caps": {"epsilon": 1e6, "delta": 0.9},
        "unit": {"id": "id", "max_rows": 3, "max_groups": groups}, "columns": COLUMNS,
        **({"rows": units} if relation == "replace-one" else {}), **changes,
    })  # fmt: skip


def data(rows: list[tuple[int, Any]], **more: Any) -> pyarrow.Table:
    ids, keys = [row[0] for row in rows], [row[1] for row in rows]
    columns = {
        "id": pyarrow.array(ids, pyarrow.int64()),
        "d": pyarrow.array(keys, pyarrow.string()),
        "n": pyarrow.array([len(key or "") for key in keys], pyarrow.int64()),
        "x": pyarrow.array([0.5] * len(rows), pyarrow.float64()),
        "p": pyarrow.array(["u"] * len(rows), pyarrow.string()),
    }
    return pyarrow.table({**columns, **more})


@functools.cache
def people(rows: tuple[tuple[int, Any], ...], groups: int) -> dict[str, int]:
    """How many people the real engine finds in each group."""
    plan = plan_query(
        Query(name="q", statistic="distinct", by=("d",), epsilon=1.0, delta=0.1), policy(groups=groups)
    )
    engine = attach(data(list(rows)))
    found = scans_of([plan], engine)[0].run(engine)[0]
    (names,) = found.codes
    return dict(zip(map(str, names), found.totals[0].tolist(), strict=True))


Law = dict[tuple[object, ...], int]


def unit_of(s: Fraction, threshold: int) -> int:
    """The probabilities of one group are integers over this."""
    return int((s.numerator + s.denominator) * s.denominator ** (threshold + 3))


def law(counts: dict[str, int], keys: str, s: Fraction, threshold: int) -> Law:
    """Every group is absent, or shows a number; beyond the largest count ratios are constant: one outcome.

    In integers: one is the unit to the power of how many keys there are.
    """
    most, unit = threshold + 3, unit_of(s, threshold)
    z = [(1 - s) / (1 + s) * s ** abs(k) for k in range(-most, most + 1)]

    def one(key: str) -> dict[object, int]:
        if key not in counts:
            return {None: unit}
        n = counts[key]
        shown: dict[object, Fraction] = {v: z[v - n + most] for v in range(threshold, most)}
        shown["more"] = s ** (most - n) / (1 + s)
        whole = {v: p * unit for v, p in shown.items()}
        assert all(p.denominator == 1 for p in whole.values())
        return {None: unit - int(sum(whole.values())), **{v: int(p) for v, p in whole.items()}}

    joint: Law = {(): 1}
    for key in keys:
        joint = {(*a, b): p * q for a, p in joint.items() for b, q in one(key).items()}
    return joint


def beyond(first: Law, second: Law, unit: int, odds: Fraction) -> Fraction:
    """The hockey-stick divergence, exactly."""
    more, less = odds.denominator, odds.numerator
    return Fraction(sum(max(more * p - less * second.get(y, 0), 0) for y, p in first.items()), more * unit)


@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("s", [Fraction(1, 3), Fraction(2, 3), Fraction(9, 10)])
def test_delta_is_exact_on_every_pair_of_small_tables(relation: str, groups: int, s: Fraction) -> None:
    """In rational arithmetic, with s in place of e^(−1/b): the worst pair has δ, and no pair has more."""
    others = [(8, "a"), (9, "a"), (9, "b")]
    contents = [[(1, key) for key in keys] for n in range(4) for keys in itertools.combinations("abcd", n)]
    counts = [people((*others, *rows), groups) for rows in contents]
    threshold = 2
    while s ** (threshold - 1) / (1 + s) > 1 - s:
        threshold += 1
    alone = s ** (threshold - 1) / (1 + s)
    claimed = 1 - (1 - alone) ** groups
    steps = groups * (1 if relation == "add-remove-one" else 2)
    laws, unit = {str(c): law(c, "abcd", s, threshold) for c in counts}, unit_of(s, threshold) ** 4
    pairs = (
        [(counts[0], c) for c in counts]
        if relation == "add-remove-one"
        else list(itertools.combinations(counts[1:], 2))
    )
    worst = max(
        beyond(laws[str(a)], laws[str(b)], unit, s**-steps) for pair in pairs for a, b in (pair, pair[::-1])
    )
    assert worst == claimed
    lower, unit = {str(c): law(c, "abcd", s, threshold - 1) for c in counts}, unit_of(s, threshold - 1) ** 4
    planted = max(
        beyond(lower[str(a)], lower[str(b)], unit, s**-steps) for pair in pairs for a, b in (pair, pair[::-1])
    )
    assert planted > claimed  # a threshold one too low is caught


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(20), Fraction(10**6, 7)])
@pytest.mark.parametrize("groups", [1, 3, 1000])
@pytest.mark.parametrize("delta", [0.1, 1e-6, 1e-12])
def test_the_threshold_is_the_least_that_keeps_delta(scale: Fraction, groups: int, delta: float) -> None:
    with mpmath.workdps(60):
        s = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)

        def alone(threshold: int) -> Any:
            return s ** (threshold - 1) / (1 + s)

        def true(threshold: int) -> Any:
            return 1 - (1 - alone(threshold)) ** groups

        found = threshold_for(scale, delta, groups)
        assert true(found) <= delta_of(scale, found, groups) <= delta
        assert delta_of(scale, found, groups) <= true(found) * (1 + 1e-9)
        assert alone(found) <= 1 - s
        assert found == 2 or true(found - 1) > delta * (1 - 1e-9) or alone(found - 1) > 1 - s


def test_a_threshold_is_found_by_halving_whatever_the_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a scale of 2⁴⁴ rounding is worth dozens of thresholds, which are not counted one by one."""
    asked: list[int] = []

    def counted(scale: Fraction, threshold: int, groups: int) -> float:
        asked.append(threshold)
        return delta_of(scale, threshold, groups)

    monkeypatch.setattr("leakcap.release.measurements.thresholds.delta_of", counted)
    for scale in (Fraction(1, 700), Fraction(1), Fraction(2**44)):
        for delta in (0.49, 1e-6, 1e-100):
            for groups in (1, 10**6):
                asked.clear()
                assert delta_of(scale, threshold_for(scale, delta, groups), groups) <= delta
                assert 0 < len(asked) <= 20


def test_a_delta_of_which_no_double_can_be_a_share_is_refused() -> None:
    for delta in (5e-324, 1e-300, 9e-101):
        with pytest.raises(InvalidQuery, match=r"`delta` of query `q` must be at least 1e-100\. Got "):
            plan_query(Query(name="q", statistic="count", by=("d",), epsilon=1.0, delta=delta), policy())


ALONE = 4_000


def sightings(seed: int) -> tuple[int, float]:
    """How many of many people, each alone in a group, are seen, and how often one may be."""
    table = data([(i, f"key {i}") for i in range(ALONE)])
    private = PrivateTable(table, policy=policy(), ledger="sqlite://", source=SeededSource(seed))
    release = private.distinct(by="d", epsilon=1.0, delta=0.05)
    return len(release.rows), release.price.delta


def test_who_is_alone_is_seen_as_rarely_as_delta_says() -> None:
    seen, delta = sightings(1)
    assert seen <= binom.isf(1e-6, ALONE, delta)  # a right engine fails with probability 10⁻⁶
    assert seen >= binom.ppf(1e-6, ALONE, delta)  # δ is exact, not merely an upper bound


def test_a_threshold_one_too_low_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ThresholdMeasurement, "appears", lambda self, noisy: noisy >= self.threshold - 1)
    seen, delta = sightings(2)
    assert seen > binom.isf(1e-6, ALONE, delta)


@pytest.mark.parametrize("statistic", ["count", "distinct", "sum", "mean", "variance", "standard_deviation"])
def test_answers_are_remembered_with_their_keys(statistic: str) -> None:
    rows = [(i, "b" if i % 2 else "a") for i in range(400)] + [(500, None), (501, "z" * 300)]
    private = PrivateTable(data(rows), policy=policy(), ledger="sqlite://", version="1")
    column = None if statistic in ("count", "distinct") else "x"
    asked = Query(name="q", statistic=statistic, column=column, by=("d", "n", "p"), epsilon=20.0, delta=1e-6)
    (first,), (again,) = private.release([asked]), private.release([asked])
    assert [row.keys for row in first.rows] == [{"d": d, "n": 1, "p": "u"} for d in "ab"]
    assert again.repeated
    assert again.rows == first.rows
    assert first.price.epsilon == 20.0
    assert 0 < first.price.delta <= 1e-6
    spent = {balance.name: balance.spent for balance in private.budget()}
    assert spent["delta"] == pytest.approx(first.price.delta, rel=1e-3)


@pytest.mark.parametrize("key", [None, "z" * 201])
def test_what_is_no_key_never_appears(key: Any) -> None:
    private = PrivateTable(data([(i, key) for i in range(500)]), policy=policy(), ledger="sqlite://")
    release = private.count(by="d", epsilon=50.0, delta=0.1)
    assert release.rows == ()
    assert release.value == ()


def test_no_person_tells_more_than_the_nats_that_are_charged() -> None:
    """The Shannon capacity from a person's keys to the answer, others fixed, by Blahut and Arimoto."""
    keys, decay = "abcd", math.log(3.0)
    s, scale = Fraction(1, 3), Fraction(1) / printed(decay)
    for others, groups, threshold in itertools.product(
        [[], [(8, "a")], [(8, "a"), (9, "b")]], [1, 2], [2, 3]
    ):
        mine = [list(k) for n in range(groups + 1) for k in itertools.combinations(keys, n)]
        laws = [law(Counter([k for _, k in others] + keys_), keys, s, threshold) for keys_ in mine]
        answers = sorted({answer for one in laws for answer in one}, key=str)
        unit = unit_of(s, threshold) ** len(keys)
        matrix = np.array([[one.get(answer, 0) / unit for answer in answers] for one in laws])
        plan = plan_query(
            Query(name="q", statistic="distinct", by=("d",), epsilon=1.0, delta=0.3), policy(groups=groups)
        )
        (part,) = plan.parts
        assert isinstance(part, ThresholdMeasurement)
        part = replace(
            part, noise=TwoSidedGeometric(scale), threshold=threshold, log_keys=math.log(len(keys))
        )
        truth = capacity(Channel(matrix), Renyi(1.0), AllPriors())
        assert truth.lower <= part.capacity().upper
        alone = float(s ** (threshold - 1) / (1 + s))
        if not others and groups == 1:  # an erasure channel: nothing of the second term can be left out
            assert truth.lower == pytest.approx(alone * math.log(len(keys)), rel=1e-6)
            assert truth.upper > 0.9 * alone * math.log(len(keys))


def test_nats_about_a_person_are_finite_and_about_the_table_are_not() -> None:
    asked = Query(name="q", statistic="count", by=("d",), epsilon=1.0, delta=1e-6)
    price = price_of(plan_query(asked, policy(unit="row")))
    pure = price_of(
        plan_query(Query(name="q", statistic="count", by=("p",), epsilon=1.0), policy(unit="row"))
    )
    assert price.nats_person.upper <= 0.5 + 1e-6 * 4437
    assert price.nats_person.upper > pure.nats_person.lower
    assert price.nats_table == price.nats_level == math.inf
    assert price.nats_person.lower == 0.0


def test_a_policy_that_caps_nats_about_a_person_admits_private_keys() -> None:
    rows = [(i, "ab"[i % 2]) for i in range(400)]
    rules = policy(caps={"epsilon": 10.0, "delta": 1e-3, "nats_per_person": 2.0})
    private = PrivateTable(data(rows), policy=rules, ledger="sqlite://")
    assert len(private.distinct(by="d", epsilon=1.0, delta=1e-6).rows) == 2
    with pytest.raises(BudgetExceeded, match="nats"):
        private.distinct(by="d", epsilon=6.0, delta=1e-6)


def test_how_many_keys_there_may_be() -> None:
    (text,), (number,), (public,) = (
        plan_query(
            Query(name="q", statistic="count", by=by, epsilon=1.0, delta=None if by == ("p",) else 1e-6),
            policy(),
        ).cells.axes
        for by in (("d",), ("n",), ("p",))
    )
    texts = sum(256**length for length in range(801))
    assert mpmath.log(texts) < text.log_keys < 4437
    assert 64 * math.log(2) < number.log_keys < 44.5
    assert math.log(2) <= public.log_keys < 0.6932


def refused(message: str, rules: Any = None, **fields: Any) -> None:
    with pytest.raises(InvalidQuery, match=message):
        plan_query(
            Query(**{"name": "q", "statistic": "count", "by": ("d",), "epsilon": 1.0, **fields}),
            rules or policy(),
        )


def test_refusals() -> None:
    refused("needs a δ. Add `delta`")
    refused("policy has no `delta` in its `caps`", policy(caps={"epsilon": 1.0}), delta=1e-6)
    refused("policy has no `delta` in its `caps`", policy(caps={"coin_flip": 0.7}), delta=1e-6)
    refused("must be left out", by=("p",), delta=1e-6)
    refused("needs groups with public", statistic="median", column="x", delta=1e-6)
    refused("needs groups with public", statistic="histogram", column="x", bins=3, delta=1e-6)
    refused("above 0 and below", delta=0.7)
    refused("`d`", by=(), where="d = 'a'")
    with pytest.raises(InvalidPolicy):
        policy(columns={"d": {"keys": "private", "bounds": [0.0, 1.0]}})


def test_sql_preview_and_toml_words() -> None:
    text = "SELECT d, COUNT(*), AVG(x) FROM t GROUP BY d"
    asked = sql_queries(text, policy(), 1.0, delta=1e-6)
    assert [query.delta for query in asked] == [5e-7, 5e-7]
    assert sum(price_of(plan_query(query, policy())).delta for query in asked) <= 1e-6
    assert preview(asked, policy=policy())[0].price.delta > 0
    with pytest.raises(InvalidQuery, match=r"column 11: .* needs a δ"):
        sql_queries(text, policy(), 1.0)
