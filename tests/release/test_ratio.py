"""Shares and ratios: the law of two noises, sensitivity, ε, coverage that is not more than it says.

False alarms over the choice of seeds: 10⁻⁶ a test (`claims.py`). Each has a planted bug that it catches.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyarrow
import pytest

from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, dry_run, load_policy, preview, query_from
from leakcap.release.numbers.exact_integers import exact_integers
from leakcap.release.numbers.fieller import fieller_ends
from leakcap.release.planning.price import price_of
from leakcap.release.statistics import statistic_of
from leakcap.sampling import discrete_laplace
from release.claims import beaten, covers, released
from release.test_sensitivity import ROWS, vectors, widest
from release.test_tails import enumerated
from release.world import answers, planned, policy_of
from release.world import table as arrow
from seeded import SeededSource

POSITIVE: dict[str, Any] = {"x": {"bounds": [0.0, 10.0]}, "y": {"bounds": [2.0, 8.0]}, "d": {"keys": ["a", "b", "c"]}, "f": {"keys": [True, False]}}  # fmt: skip # noqa: E501
QUERIES: list[dict[str, Any]] = [
    {"when": "f"},
    {"when": "f", "by": ("d",)},
    {"column": "x", "when": "f"},
    {"column": "x", "over": "y"},
    {"column": "x", "over": "y", "by": ("d",)},
]


@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
@pytest.mark.parametrize("most", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_one_unit_stays_within_what_is_paid_for(relation: str, most: int, query: dict[str, Any]) -> None:
    units = {"rows": 3} if relation == "replace-one" else {}
    policy = policy_of(columns=POSITIVE, neighbours=relation, unit={"id": "id", "max_rows": most}, **units)
    plan = planned(policy, statistic="ratio", **query)
    contents = [[], *(list(c) for n in (1, 2) for c in itertools.combinations_with_replacement(ROWS[::2], n))]
    found = vectors(plan, contents)
    for index, part in enumerate(plan.parts):
        reached = widest(found, index, absent=not units)
        assert reached <= part.sensitivity
        assert reached >= part.sensitivity / 2
    assert price_of(plan).epsilon == 1.0


SOME: list[dict[str, Any]] = [{"x": x, "y": y, "f": f, "id": i} for i, (x, y, f) in enumerate([(3.0, 5.0, True), (9.0, 3.0, False), (1.0, None, None), (7.0, 6.0, True)])]  # fmt: skip # noqa: E501


def test_the_integers_are_those_of_the_definition() -> None:
    policy = policy_of(columns=POSITIVE)
    assert answers(planned(policy, statistic="ratio", when="f"), arrow(SOME)) == [[2, 2]]
    plan = planned(policy, statistic="ratio", column="x", over="y")
    (above,), (below,) = answers(plan, arrow(SOME))
    assert above * float(plan.parts[0].unit) == 19.0
    assert below * float(plan.parts[1].unit) == 14.0
    assert statistic_of(plan.query).answers(plan, [exact_integers([above]), exact_integers([below])]).values[
        0
    ] == pytest.approx(19 / 14)


RUNS, HITS, EPSILON = 4_000, 1_500, 1.0


def events(rows: list[dict[str, Any]], seed: int) -> list[Any]:
    found = released(rows, runs=RUNS, seed=seed, epsilon=EPSILON, statistic="ratio", when="f").rows
    value, width = (
        np.array(v) for v in zip(*((r.value, r.interval[1] - r.interval[0]) for r in found), strict=True)
    )
    marks = (0.3, 0.5, 0.6, 0.7, 0.8)
    return [
        *(value <= t for t in marks),
        *(value >= t for t in marks),
        *(width <= t for t in marks),
        (value >= 0.7) & (width <= 0.6),
    ]


def proofs(seed: int) -> list[int]:
    few = [{"f": True, "id": i} for i in range(4)] + [{"f": False, "id": 9}] * 2
    return beaten(events(few, seed), events([*few, {"f": False, "id": 11}], seed + 1), EPSILON)


def test_neighbours_stay_within_epsilon() -> None:
    assert proofs(1) == []


def test_a_fifth_of_the_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "leakcap.mechanism.geometric.discrete_laplace",
        lambda b, n, source: discrete_laplace(b / 5, n, source),
    )
    assert proofs(3)


CLOUD = [
    {"x": float(x), "y": float(y), "f": bool(x > 4)}
    for x, y in np.random.default_rng(2).uniform([0, 2], [10, 8], (60, 2))
]


def hits(seed: int, **query: Any) -> int:
    x, y, f = (np.array([row[name] for row in CLOUD]) for name in ("x", "y", "f"))
    truth = f.mean() if query == {"when": "f"} else (np.clip(x, -3, 10).sum() / y.sum())
    epsilon = 0.25 if "when" in query else EPSILON  # a step more matters little there
    rows = released(CLOUD, runs=HITS, seed=seed, epsilon=epsilon, statistic="ratio", **query).rows
    assert all(row.interval[0] <= row.value <= row.interval[1] for row in rows)
    return sum(row.interval[0] <= truth <= row.interval[1] for row in rows)


@pytest.mark.parametrize("query", [{"when": "f"}, {"column": "x", "over": "y"}], ids=str)
def test_intervals_cover_and_hardly_more(query: dict[str, Any]) -> None:
    found = hits(5, **query)
    assert covers(found, HITS)
    assert found < 0.99 * HITS


def test_twice_the_noise_is_not_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "leakcap.mechanism.geometric.discrete_laplace",
        lambda b, n, source: discrete_laplace(2 * b, n, source),
    )
    assert not covers(hits(7, column="x", over="y"), HITS)


def test_ends_are_those_of_the_whole_set() -> None:
    generator = np.random.default_rng(1)
    for _ in range(100):
        x, y = generator.integers(-20, 60), generator.integers(-10, 60) or 1
        scales = tuple(generator.uniform(0.5, 4, 2))
        middle = min(9.0, max(-9.0, x / y))
        low, high = fieller_ends(lambda r: (1.0, -r), (x, y), scales, (-9.0, middle, 9.0))
        if low > -9 and high < 9:
            r = np.linspace(-9, 9, 181)
            for s in r[(r < low - 1e-9) | (r > high + 1e-9)]:
                assert enumerated([(1.0, scales[0]), (-s, scales[1])], abs(x - s * y)) <= 0.05


def test_repeats_refusals_previews_and_dry_runs() -> None:
    private = PrivateTable(arrow(SOME), policy=policy_of(columns=POSITIVE), ledger="sqlite://")
    share = private.ratio(when="f", epsilon=1.0)
    assert private.ratio(when="f", epsilon=1.0).rows == share.rows
    assert not private.ratio(when="NOT f", epsilon=1.0).repeated
    assert not private.ratio("x", when="f", epsilon=1.0).repeated
    for bad in ({}, {"when": "f", "over": "x"}, {"over": "x"}, {"column": "x", "over": "x"}, {"when": "zz"},
                {"column": "x", "over": "d"}, {"when": "f", "column": "d"}):  # fmt: skip
        with pytest.raises(InvalidQuery):
            planned(policy_of(columns=POSITIVE), statistic="ratio", **bad)
    with pytest.raises(InvalidQuery, match="not negative"):
        planned(policy_of(), statistic="ratio", column="y", over="x")
    queries = [
        query_from({"name": str(i), "statistic": "ratio", "epsilon": 2.0, **q}) for i, q in enumerate(QUERIES)
    ]
    for query, shown in zip(queries, preview(queries, policy=policy_of(columns=POSITIVE)), strict=True):
        assert 0 < shown.error < 1
        (release,) = dry_run([query], policy_of(columns=POSITIVE))
        truth = 0.5 if query.when else 1.0
        assert all(abs(row.value - truth) < 0.3 for row in release.rows)


@pytest.mark.parametrize(
    "over", [(0.0, 1e-80), (0.0, 1e-9), (0.5, 1.0), (0.0, 1e9), (0.0, 1e80), (1e80, 1.1e80)]
)
@pytest.mark.parametrize("column", [(0.0, 1e-80), (0.0, 1e-9), (-1.0, 1.0), (-1e80, 0.0), (-3e80, 1e80)])
def test_no_ratio_warns_however_far_its_ends_are(
    column: tuple[float, float], over: tuple[float, float]
) -> None:
    """Warnings are errors here. Scaled by powers of two, the interval is that of the numbers' own steps."""
    policy = load_policy({
        "dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6},
        "columns": {"a": {"bounds": list(column)}, "b": {"bounds": list(over)}},
    })  # fmt: skip
    data = pyarrow.table({"a": [sum(column) / 2] * 40, "b": [over[1] / 2] * 40})
    table = PrivateTable(data, policy=policy, ledger="sqlite://", source=SeededSource(1))
    asked = [
        query_from({"name": "q", "statistic": "ratio", "column": "a", "over": "b", "epsilon": epsilon})
        for epsilon in (1e-6, 1e-3, 1.0)
    ]
    for release in table.release(asked * 3, fresh=True):
        (row,) = release.rows
        assert row.interval[0] <= row.value <= row.interval[1]
        assert all(map(math.isfinite, (*row.interval, row.value)))
