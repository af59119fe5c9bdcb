"""Quantiles: privacy and certificates from exact laws, the sampler and whole releases by seeded draws.

The law of a choice is written down as in the paper, order by order, which is not how it is drawn. False
alarms over the choice of seeds: 10⁻⁶ a test. Each has a planted bug that it catches.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, dry_run, load_policy, preview, query_from
from leakcap.release.measurements.quantiles import (
    QuantileMeasurement,
    chosen_bins,
    quantile_answers,
    rank_error,
    ranks_of,
    shift_for,
)
from leakcap.release.numbers.exact_integers import ExactIntegers, exact_integers
from leakcap.release.plan import Plan
from leakcap.release.planning.price import price_of
from leakcap.release.sql.select import sql_queries
from release.claims import beaten, covers, released
from release.world import answers, answers_of_each, planned, policy_of
from release.world import table as arrow
from seeded import ALARM, SeededSource

Law = tuple[float, ...]
EDGES = (-3.0, 0.0, 4.0, 10.0)
SHAPES: list[dict[str, Any]] = [
    {"statistic": "median", "edges": EDGES},
    {"statistic": "quantiles", "quantiles": (0.1,), "edges": EDGES},
    {"statistic": "quantiles", "quantiles": (0.3, 0.75), "edges": EDGES, "where": "f"},
    {"statistic": "interquartile_range", "edges": EDGES},
    {"statistic": "median", "edges": EDGES, "by": ("k",)},
]
ROWS: list[dict[str, Any]] = [
    {"x": x, "k": k, "f": f} for x in (None, -9.0, -3.0, 0.0, 2.0, 99.0) for k, f in ((1, True), (2, False))
]
OTHERS: list[list[dict[str, Any]]] = [
    [],
    [{"id": 8, "x": x, "k": 1, "f": True} for x in (-1.0,)],
    [{"id": 8 + i, "x": x, "k": 1, "f": True} for i, x in enumerate((-1.0, 5.0, 5.0, 6.0, 7.0))],
]


@functools.cache
def law(gaps: tuple[int, ...], unit: Fraction) -> Law:
    """Permute-and-flip by its definition: every order of the candidates, heads with e^(−gap/2·scale), where
    `unit` is what one of the gap is of the scale.
    """
    chance = [math.exp(-float(gap * unit / 2)) for gap in gaps]
    total = [0.0] * len(gaps)
    orders = list(itertools.permutations(range(len(gaps))))
    for order in orders:
        left = 1.0 / len(orders)
        for candidate in order:
            total[candidate] += left * chance[candidate]
            left *= 1.0 - chance[candidate]
    return tuple(total)


def laws(plan: Plan, exact: list[list[int]], *, wrong: int = 1) -> list[Law]:
    """The law of every choice, part by part and group by group; choices are independent."""
    found, bins = [], len(plan.cells.axes[-1].labels)
    for part, counts in zip(plan.parts, exact, strict=True):
        assert isinstance(part, QuantileMeasurement)
        for group in range(0, len(counts), bins):
            # In units of one over the rank's denominator all of it is whole.
            own = [part.denominator * count for count in counts[group : group + bins]]
            upto = [0, *itertools.accumulate(own)]
            target = part.numerator * (upto[-1] // part.denominator) + part.shift
            gaps = [max(0, start - target, target - end) for start, end in itertools.pairwise(upto)]
            # No start is before the first bin's, and no end after the last one's.
            gaps[0], gaps[-1] = max(0, target - upto[1]), max(0, upto[-2] - target)
            found.append(law(tuple(gaps), wrong / part.scale))
    return found


def worst(policy: Any, query: dict[str, Any], most: int, *, wrong: int = 1) -> tuple[float, float]:
    """Over small tables and all data of one unit: the loss between neighbours, and between any contents.

    The loss of two is the largest log-ratio over all outcomes of independent choices.
    """
    plan = planned(policy, **query, column="x")
    contents = [[], *([row] for row in ROWS)]
    contents += [[a, b] for a, b in itertools.combinations_with_replacement(ROWS, 2)] if most > 1 else []
    neighbours = apart = 0.0
    for others in OTHERS:
        tables = [[*others, *({**row, "id": 1} for row in rows)] for rows in contents]
        found = [laws(plan, exact, wrong=wrong) for exact in answers_of_each(plan, tables)]
        logs = np.log(found)
        losses = (logs[:, None] - logs).max(axis=-1).sum(axis=-1)
        absent = max(losses[0].max(), losses[:, 0].max())
        any_two = losses[1:, 1:].max()
        neighbours = max(neighbours, absent if policy.neighbours == "add-remove-one" else any_two)
        apart = max(apart, absent, any_two)
    return float(neighbours), float(apart)


@pytest.mark.parametrize("query", SHAPES, ids=str)
@pytest.mark.parametrize("most", [pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
def test_every_pair_of_neighbours_by_the_exact_law(relation: str, most: int, query: dict[str, Any]) -> None:
    units = {"rows": 4} if relation == "replace-one" else {}
    unit: Any = {"id": "id", "max_rows": 2} if most == 2 else "row"
    # Groups move between two contents of two rows in as many ways as the pairs show.
    policy = policy_of(neighbours=relation, unit=unit, columns={**policy_of().columns}, **units)
    price = price_of(planned(policy, **query, column="x"))
    neighbours, apart = worst(policy, query, most)
    assert neighbours <= price.epsilon * (1 + 1e-9)
    assert apart <= price.epsilon_contents * (1 + 1e-9)
    assert price.epsilon == 1.0


@pytest.mark.parametrize("query", SHAPES[:2], ids=str)
def test_the_bound_is_nearly_met_so_that_a_sixth_of_the_scale_is_caught(query: dict[str, Any]) -> None:
    assert worst(policy_of(), query, 1, wrong=6)[0] > 1.0


def part_of(scale: Fraction, rank: Fraction, shift: int) -> QuantileMeasurement:
    plan = planned(policy_of(), statistic="median", column="x", bins=4)
    first = plan.parts[0]
    assert isinstance(first, QuantileMeasurement)
    return replace(first, scale=scale, numerator=rank.numerator, denominator=rank.denominator, shift=shift)


CASES = [
    (Fraction(1, 2), Fraction(1, 2), 0),
    (Fraction(37, 3), Fraction(1, 10), -7),
    (Fraction(10**18 * 6, 7), Fraction(423456789012345679, 10**18), 10**17),
]
COUNTS = (3, 0, 4, 1)


def fit(scale: Fraction, rank: Fraction, shift: int, *, drawn: Fraction) -> float:
    """p-value of the drawn choices against the law written out."""
    picks = chosen_bins(part_of(drawn, rank, shift), exact_integers(COUNTS * 20_000), 4, SeededSource(11))
    target = rank * sum(COUNTS) + Fraction(shift, rank.denominator)
    upto = list(itertools.accumulate(COUNTS))
    starts, ends = [-math.inf, *upto[:-1]], [*upto[:-1], math.inf]
    gaps = [Fraction(max(0, s - target, target - e)) for s, e in zip(starts, ends, strict=True)]
    whole = tuple(int(gap * rank.denominator) for gap in gaps)
    expected = np.array(law(whole, 1 / scale)) * len(picks)
    return float(chisquare(np.bincount(picks, minlength=4), expected).pvalue)


@pytest.mark.parametrize("q", [1e-300, 0.12345678901234568, 1 - 2**-53])
@pytest.mark.parametrize("counts", [(0, 0, 0, 0), (3, 0, 4, 1)])
def test_no_data_makes_a_choice_fail_however_odd_the_quantile(q: float, counts: tuple[int, ...]) -> None:
    """What is multiplied must fit also where all counts are zero; else an error would tell that they are."""
    plan = planned(policy_of(), statistic="quantiles", quantiles=(q,), column="x", bins=4, epsilon=0.7)
    for part in plan.parts:
        assert isinstance(part, QuantileMeasurement)
        for scale in (part.scale, Fraction(1, 3)):
            found = chosen_bins(replace(part, scale=scale), exact_integers(counts), 4, SeededSource(1))
            assert found[0] in range(4)
    assert price_of(plan).epsilon == 0.7


@pytest.mark.parametrize("case", CASES, ids=str)
def test_choices_have_their_law(case: tuple[Fraction, Fraction, int]) -> None:
    assert fit(*case, drawn=case[0]) > ALARM


@pytest.mark.parametrize("case", CASES, ids=str)
def test_choices_at_nine_tenths_of_the_scale_do_not(case: tuple[Fraction, Fraction, int]) -> None:
    assert fit(*case, drawn=case[0] * Fraction(9, 10)) < ALARM


@pytest.mark.parametrize(
    "values", [[], [5.0], [0.0] * 40, [-3.0, 10.0] * 9, [float(i) for i in range(-3, 11)] * 6]
)
def test_certificates_hold_by_the_exact_law_whatever_the_data(values: list[float]) -> None:
    """For every value that may be called the quantile, however many rows share it."""
    edges = (-3.0, 0.0, 0.5, 5.0, 5.5, 10.0)
    for q in (0.05, 0.5, 0.9):
        fields = {"statistic": "quantiles", "quantiles": (q,), "column": "x", "edges": edges, "epsilon": 2.0}
        plan = planned(policy_of(), **fields)
        _, below, above = laws(plan, answers(plan, arrow([{"x": v} for v in values])))
        rank = Fraction(str(q)) * len(values)
        known = [v for v in values if sum(w < v for w in values) <= rank <= sum(w <= v for w in values)]
        for truth in known:
            assert sum(p for p, e in zip(below, edges[:-1], strict=True) if e > truth) <= 0.025
            assert sum(p for p, e in zip(above, edges[1:], strict=True) if e < truth) <= 0.025


def likeliest(bins: int, p: float) -> float:
    """How likely one of the other bins is chosen, which show heads with probability p, term by term."""
    return sum(math.comb(bins - 1, n) * p**n * (1 - p) ** (bins - 1 - n) * n / (n + 1) for n in range(bins))


def test_the_shift_is_the_smallest_that_certifies() -> None:
    for scale, bins, beyond in itertools.product((Fraction(1, 3), Fraction(50)), (2, 9, 256), (0.05, 0.0125)):
        shift = shift_for(scale, bins, beyond)
        tail = [likeliest(bins, math.exp(-t / float(2 * scale))) for t in (shift, shift - 1)]
        assert tail[0] <= beyond < tail[1]


@pytest.mark.parametrize("bins", [2, 3, 5])
def test_no_table_makes_a_far_choice_likelier_than_the_likeliest(bins: int) -> None:
    """Permute-and-flip by its definition, over all orders: first head of a random order."""

    def far_off(heads: list[float], far: list[bool]) -> float:
        total = 0.0
        for order in itertools.permutations(range(bins)):
            left = 1.0
            for place in order:
                total += left * heads[place] * far[place]
                left *= 1.0 - heads[place]
        return total / math.factorial(bins)

    generator = np.random.default_rng(bins)
    for p in (0.4, 0.05, 0.001):
        limit = likeliest(bins, p)
        assert far_off([1.0] + [p] * (bins - 1), [False] + [True] * (bins - 1)) == pytest.approx(limit)
        for _ in range(30):
            far = [False, *(generator.uniform(size=bins - 1) < 0.7).tolist()]
            heads = [float(generator.uniform(0, p) if off else generator.uniform(p, 1)) for off in far]
            assert far_off([1.0, *heads[1:]], far) <= limit + 1e-12


RUNS = 6_000


def proofs(seed: int) -> list[int]:
    """An empty table against one row in the upper of two bins, in value and in both ends at once."""
    fields: dict[str, Any] = {
        "statistic": "median",
        "column": "x",
        "edges": [-3.0, 0.0, 10.0],
        "epsilon": 2.0,
    }
    none = [{"x": None}]
    tables = [
        released(rows, runs=RUNS, seed=seed + i, **fields) for i, rows in enumerate((none, [{"x": 9.0}]))
    ]
    seen = [
        np.array([[row.value > 0, row.interval[0] == 0.0, row.interval[1] == 0.0] for row in t.rows])
        for t in tables
    ]
    events = [[(s[:, 0] == a) for a in (True, False)] + [s[:, 1], s[:, 2]] for s in seen]
    return beaten(events[0], events[1], 2.0)


def test_neighbours_stay_within_epsilon() -> None:
    assert proofs(1) == []


def test_an_eighth_of_the_scale_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(part: QuantileMeasurement, counts: Any, bins: int, source: Any) -> ExactIntegers:
        return chosen_bins(replace(part, scale=part.scale / 8), counts, bins, source)

    monkeypatch.setattr("leakcap.release.measurements.quantiles.chosen_bins", planted)
    assert proofs(3)


VALUES = [float(v) for v in np.random.default_rng(8).normal(3.0, 2.0, 201)]
WANTED = {"median": (0.5,), "interquartile_range": (0.25, 0.75)}


def hits(statistic: str, seed: int) -> int:
    fields: dict[str, Any] = {"statistic": statistic, "column": "x", "bins": 64, "epsilon": 3.0}
    rows = released([{"x": v} for v in VALUES], runs=500, seed=seed, **fields).rows
    assert all(row.interval[0] <= row.value <= row.interval[1] for row in rows)
    ordered = [max(-3.0, min(10.0, v)) for v in sorted(VALUES)]
    ends = [ordered[math.ceil(q * len(VALUES)) - 1] for q in WANTED[statistic]]
    truth = ends[-1] - ends[0] if len(ends) > 1 else ends[0]
    return sum(row.interval[0] <= truth <= row.interval[1] for row in rows)


@pytest.mark.parametrize("statistic", list(WANTED))
def test_intervals_cover(statistic: str) -> None:
    assert covers(hits(statistic, 21), 500)


def test_eight_times_the_noise_is_not_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(part: QuantileMeasurement, counts: Any, bins: int, source: Any) -> ExactIntegers:
        return chosen_bins(replace(part, scale=part.scale * 8), counts, bins, source)

    monkeypatch.setattr("leakcap.release.measurements.quantiles.chosen_bins", planted)
    assert not covers(hits("median", 22), 500)


def test_with_much_budget_the_answers_are_the_quantiles() -> None:
    values = [float(v) for v in range(1001)]
    policy = load_policy(
        {
            "dataset": "d",
            "neighbours": "add-remove-one",
            "caps": {"epsilon": 1e4},
            "columns": {"x": {"bounds": [0.0, 1000.0]}},
        }
    )
    private = PrivateTable(arrow([{"x": v} for v in values]), policy=policy, ledger="sqlite://")
    release = private.quantiles("x", (0.1, 0.5, 0.99), bins=100, epsilon=300.0)
    assert [row.keys["quantile"] for row in release.rows] == ["0.1", "0.5", "0.99"]
    for row, truth in zip(release.rows, (100.0, 500.0, 990.0), strict=True):
        assert abs(row.value - truth) <= 10
        assert row.interval[1] - row.interval[0] <= 40
    spread = private.interquartile_range("x", bins=100, epsilon=300.0)
    assert abs(spread.rows[0].value - 500) <= 20
    again = private.quantiles("x", (0.1, 0.5, 0.99), bins=100, epsilon=300.0)
    assert again.repeated
    assert again.rows == release.rows


def test_prices_previews_sql_and_dry_runs() -> None:
    policy = policy_of(max_rows=50)
    plan = planned(policy, statistic="median", column="x", by=("d",))
    price = price_of(plan)
    assert (price.mechanism, price.cells, price.epsilon, price.epsilon_contents) == (
        "permute-and-flip",
        3,
        1.0,
        2.0,
    )
    # Three choices among 256 for each of three groups.
    assert price.nats_table == pytest.approx(9 * math.log(256))
    assert price.nats_person.lower == 0.0
    (seen,) = preview([plan.query], policy=policy)
    parts = [part for part in plan.parts if isinstance(part, QuantileMeasurement)]
    assert seen.error == rank_error(parts, 256)
    # A coin for each row off at scale 2, to half a row.
    there, before = (likeliest(256, math.exp(-off / 2)) for off in (seen.error, seen.error - 0.5))
    assert there <= 0.05 < before
    (asked,) = sql_queries("SELECT MEDIAN(x) FROM tests", policy, 5.0)
    (release,) = dry_run([asked], policy)
    assert not release.grouped
    assert release.text == "median of x in 256 bins"
    assert ranks_of("quantiles", (0.5,)) == ranks_of("median", None)
    assert quantile_answers("interquartile_range", [(0.0, 1.0), (1.0, 2.0)], [1, 1, 1, 0, 0, 0]) == [
        (0.0, (0.0, 0.0))
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"statistic": "quantiles", "column": "x"},
        {"statistic": "quantiles", "column": "x", "quantiles": [0.0]},
        {"statistic": "quantiles", "column": "x", "quantiles": [0.5, 0.5]},
        {"statistic": "quantiles", "column": "x", "quantiles": []},
        {"statistic": "median", "column": "x", "quantiles": [0.5]},
        {"statistic": "median", "column": "x", "bins": 1},
        {"statistic": "median", "column": "x", "bins": 1025},
        {"statistic": "median", "column": "x", "edges": [0.0, 1.0]},
        {"statistic": "median", "column": "d"},
        {"statistic": "median"},
        {"statistic": "mean", "column": "x", "bins": 4},
        {"statistic": "median", "column": "x", "epsilon": 1e-200},
        {"statistic": "median", "column": "x", "epsilon": 1e200},
    ],
    ids=str,
)
def test_refusals(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidQuery):
        planned(policy_of(), **vars(query_from({"name": "q", "epsilon": 1.0, **fields})))
