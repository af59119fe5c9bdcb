"""Private bounds: what they promise on heavy, empty and infinite columns, ε, and how they are used.

False alarms over the choice of seeds: 10⁻⁶ a test (`claims.py`). Each has a planted bug that it catches.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyarrow
import pytest

from leakcap.errors import InvalidPolicy, InvalidQuery
from leakcap.release import PrivateTable, dry_run, load_policy, preview, query_from
from leakcap.release.statistics import statistic_of
from leakcap.release.statistics.ranges import EDGES
from leakcap.sampling import bernoulli_exp
from release.claims import beaten, covers
from release.test_quantiles import likeliest
from release.world import planned, policy_of
from seeded import SeededSource

COLUMNS: dict[str, Any] = {"x": {"bounds": "unknown"}, "d": {"keys": ["a", "b"]}}
QUERY: dict[str, Any] = {"statistic": "bounds", "column": "x"}
RUNS = 1_300


def released(values: list[float | None], seed: int, epsilon: float = 1.0) -> Any:
    columns = {**COLUMNS, "run": {"keys": list(range(RUNS))}}
    policy = policy_of(columns=columns, caps={"epsilon": 100.0})
    data = pyarrow.table({
        "x": pyarrow.array(values * RUNS, pyarrow.float64()),
        "run": np.repeat(np.arange(RUNS), len(values)),
    })  # fmt: skip
    private = PrivateTable(data, policy=policy, ledger="sqlite://", source=SeededSource(seed))
    rows = private.bounds("x", by="run", epsilon=epsilon).rows
    return np.array([[row.value, *row.interval] for row in rows]).reshape(RUNS, 2, 3)


VALUES: list[float | None] = [float(v) for v in np.random.default_rng(3).lognormal(3.0, 1.0, 300)] + [
    None,
    math.nan,
]
KNOWN = [v for v in VALUES if v is not None and v == v]


def kept(seed: int, values: list[float | None] = VALUES) -> tuple[int, int, int]:
    plan = planned(policy_of(columns=COLUMNS), **QUERY)
    beyond = statistic_of(plan.query).expected(plan).error
    found = released(values, seed)
    known = np.array([v for v in values if v is not None and v == v])
    below = (known[None, :] < found[:, 0, 0][:, None]).sum(axis=1) < beyond
    above = (known[None, :] >= found[:, 1, 0][:, None]).sum(axis=1) < beyond
    near = (found[:, 0, 2] >= known.min()) & (found[:, 1, 1] <= known.max())
    assert (found[:, 0, 0] < found[:, 1, 0]).all()
    return int((below & above).sum()), int(near.sum()), int((below & above & near).sum())


@pytest.mark.parametrize(
    "values", [VALUES, [1e300] * 200, [0.0] * 100, [-5.0] * 50 + [7.0] * 300, [3.0]], ids=len
)
def test_few_rows_lie_beyond_and_no_end_lies_beyond_all_rows(values: list[float | None]) -> None:
    if values == [1e300] * 200:  # beyond every grid: what is clamped to the last bin
        found = released(values, 1)
        assert (found[:, 1, 0] == EDGES[-1]).mean() > 0.9
        return
    assert all(covers(n, RUNS) for n in kept(1, values))


def test_blunt_choices_break_the_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "leakcap.mechanism.selection.bernoulli_exp", lambda n, d, source: bernoulli_exp(n, 6 * d, source)
    )
    assert not all(covers(n, RUNS) for n in kept(2))


def events(values: list[float | None], seed: int) -> list[Any]:
    found = released(values, seed, epsilon=1.0)
    low, high = found[:, 0, 0], found[:, 1, 0]
    return [
        *(low <= t for t in (-1.0, 0.0, 1.0, 8.0)),
        *(low >= t for t in (-1.0, 0.0, 1.0, 8.0)),
        *(high >= t for t in (16.0, 64.0, 2.0**40)),
        (low >= 4) & (high <= 64),
    ]


def proofs(seed: int) -> list[int]:
    few: list[float | None] = [9.0] * 30
    return beaten(events(few, seed), events([*few, -1e200], seed + 1), 1.0)


def test_neighbours_stay_within_epsilon() -> None:
    assert proofs(5) == []


def test_an_end_that_is_looked_up_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "leakcap.mechanism.selection.bernoulli_exp", lambda n, d, source: bernoulli_exp(40 * n, d, source)
    )
    # With sharp coins the wanted rank decides, so let one row be as many as the shift.
    monkeypatch.setattr("leakcap.release.statistics.ranges.shift_for", lambda scale, bins, beyond: 0)
    assert proofs(7)


def test_edges_are_powers_of_two_that_a_policy_takes_as_bounds() -> None:
    assert list(EDGES) == sorted(EDGES)
    assert all(edge == 0 or math.frexp(abs(edge))[0] == 0.5 for edge in EDGES)
    for low, high in itertools.pairwise(EDGES[:: len(EDGES) // 7]):
        load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
                     "columns": {"x": {"bounds": [low, high]}}})  # fmt: skip


def test_infinities_and_nan_are_never_an_error() -> None:
    data = pyarrow.table({"x": [math.inf, -math.inf, math.nan, 5e-324, -0.0, None] * 200})
    private = PrivateTable(data, policy=policy_of(columns={"x": COLUMNS["x"]}), ledger="sqlite://")
    release = private.bounds("x", epsilon=5.0)
    assert [row.value for row in release.rows] == [EDGES[0], EDGES[-1]]
    assert private.bounds("x", epsilon=5.0).repeated


def test_a_column_without_bounds_is_for_nothing_else() -> None:
    policy = policy_of(columns=COLUMNS)
    for bad in (
        {"statistic": "sum"},
        {"statistic": "histogram", "bins": 3},
        {"statistic": "median"},
        {"statistic": "mean"},
    ):
        with pytest.raises(InvalidQuery):
            planned(policy, column="x", **bad)
    for bad in ({"column": "d"}, {"column": "zz"}, {"column": None}, {"column": "x", "bins": 3}):
        with pytest.raises(InvalidQuery):
            planned(policy, **{**QUERY, **bad})
    assert planned(policy, statistic="count", where="x > 3").parts
    for column in (
        {"bounds": "unknown", "fill": 1.0},
        {"bounds": "unknown", "keys": ["a"]},
        {"bounds": "none"},
    ):
        with pytest.raises(InvalidPolicy):
            policy_of(columns={"x": column})


def test_policies_without_it_keep_their_fingerprint() -> None:
    assert policy_of().fingerprint() == "b2091c4e8da2a0c2e527388dd4b4c9db3b721c1a06415910576523cf08617f82"
    assert (
        policy_of(columns=COLUMNS).fingerprint()
        != policy_of(columns={**COLUMNS, "x": {"bounds": [0.0, 1.0]}}).fingerprint()
    )


def test_previews_and_dry_runs() -> None:
    policy = policy_of(columns=COLUMNS)
    query = query_from({"name": "q", **QUERY, "epsilon": 2.0})
    (shown,) = preview([query], policy=policy)
    # A coin for each row off at scale 2: the least whole number that is far enough.
    off, bins = shown.error / 2, len(EDGES) - 1
    assert likeliest(bins, math.exp(-off / 2)) <= 0.025 < likeliest(bins, math.exp(-(off - 1) / 2))
    # The noise of a dry run has no seed, and at ε = 2 an end was out of place in one run of 400. Here each
    # end has ε = 50 and strays by a row with a probability of at most bins·e⁻²⁵.
    assert 2 * (len(EDGES) - 2) * math.exp(-25) < 1e-6
    (release,) = dry_run([query_from({"name": "q", **QUERY, "epsilon": 100.0})], policy)
    low, high = (row.value for row in release.rows)
    assert -1024 <= low < 0 < high <= 1024
