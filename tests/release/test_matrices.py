"""Covariances and correlations: the joint norm by enumeration, ε, coverage, numpy's answers without noise.

False alarms over the choice of seeds: 10⁻⁶ a test (`claims.py`). Each has a planted bug that it catches.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, dry_run, preview, query_from
from leakcap.release.numbers.products import joint_diameter, joint_norm
from leakcap.release.plan import Plan
from leakcap.release.planning.price import price_of
from leakcap.release.sql.select import sql_queries
from leakcap.sampling import discrete_laplace
from release.claims import beaten, covers, noisy_numbers, released
from release.test_sensitivity import ROWS, vectors
from release.world import COLUMNS, answers, planned, policy_of
from release.world import table as arrow

QUERY: dict[str, Any] = {"statistic": "covariance", "columns": ("x", "y")}


def feature(t: Any) -> Any:
    """One row in units of the parts: count, sums, products, squares less than whole."""
    t = np.asarray(t)
    i, j = np.triu_indices(len(t), 1)
    return np.concatenate([[1.0], t, t[i] * t[j], 1 - t * t])


@settings(max_examples=300, deadline=None)
@given(st.integers(2, 6).flatmap(lambda d: st.lists(st.floats(-1, 1), min_size=2 * d, max_size=2 * d)))
def test_the_joint_norm_and_diameter_hold_for_all_rows(numbers: list[float]) -> None:
    d = len(numbers) // 2
    one, other = feature(numbers[:d]), feature(numbers[d:])
    assert np.abs(one).sum() <= joint_norm(d, 1, counted=True) + 1e-9
    assert np.abs(one - other).sum() <= joint_diameter(d, 1, 1, counted=True) + 1e-9
    assert np.abs(one[1:]).sum() <= joint_norm(d, 1, counted=False) + 1e-9
    # Two rows of one unit against none, and against one.
    assert np.abs(one + other - one).sum() <= joint_diameter(d, 2, 1, counted=True) + 1e-9


@pytest.mark.parametrize("d", [2, 3, 5])
def test_the_joint_norm_is_reached_and_beats_parts_for_themselves(d: int) -> None:
    assert np.abs(feature(np.ones(d))).sum() == joint_norm(d, 1, counted=True)
    separate = 1 + d + d * (d - 1) / 2 + d / 2
    assert joint_norm(d, 1, counted=True) == separate - d / 2


def steps(found: list[list[int]], plan: Plan) -> Any:
    """A vector in units of its parts."""
    units = [max(1, part.contribution.high) for part in plan.parts]
    return np.array([np.array(cells) / unit for cells, unit in zip(found, units, strict=True)]).ravel()


@pytest.mark.parametrize(
    ("most", "query"),
    [
        (2, QUERY),
        *(
            pytest.param(most, {**QUERY, **more}, marks=pytest.mark.slow)
            for most in (1, 2)
            for more in ({}, {"by": ("d",)}, {"where": "f"})
            if most == 1 or more
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
def test_one_unit_stays_within_what_is_paid_for(relation: str, most: int, query: dict[str, Any]) -> None:
    units = {"rows": 3} if relation == "replace-one" else {}
    plan = planned(policy_of(neighbours=relation, unit={"id": "id", "max_rows": most}, **units), **query)
    rows = [{**row, "y": y} for row in ROWS for y in (2.0, 5.0, 8.0) if row["x"] in (-7.0, 10.0, 0.0)]
    contents = [[], *(list(c) for n in (1, 2) for c in itertools.combinations_with_replacement(rows, n))]
    found = [steps(v, plan) for v in vectors(plan, contents[:: (7 if most == 2 else 1)])]
    scale = Fraction(plan.parts[0].scale) / max(1, plan.parts[0].contribution.high)
    nothing, *present = found
    if units:
        widest = max(np.abs(a - b).sum() for a, b in itertools.combinations(present, 2))
    else:
        widest = max(np.abs(other - nothing).sum() for other in present)
    assert widest <= float(scale) * (1 + 1e-12)
    assert widest >= 0.65 * float(scale)
    both = max(np.abs(a - b).sum() for a, b in itertools.combinations(found, 2))
    assert both <= float(sum(part.loss_contents for part in plan.parts) * scale) * (1 + 1e-12)


VALUES = [(-3.0, 2.0), (10.0, 8.0), (3.25, 9.0), (99.0, 3.0), (0.1, None), (None, 4.0), (math.nan, 4.0)]


def test_the_integers_are_those_of_the_definition() -> None:
    policy = policy_of(columns={"x": COLUMNS["x"], "y": {"bounds": [2.0, 8.0]}})
    plan = planned(policy, **QUERY)
    data = arrow([{"x": x, "y": y} for x, y in VALUES])
    n, sx, sy, qx, pxy, qy = (total for (total,) in answers(plan, data))
    exact = [(max(-3.0, min(10.0, x)), max(2.0, min(8.0, y))) for x, y in VALUES if x is not None and y is not None and x == x]  # fmt: skip # noqa: E501
    half = [plan.parts[i].contribution.high for i in (1, 2)]
    step = [float(plan.parts[i].unit) for i in (1, 2)]
    matrix = np.cov(np.array(exact).T, bias=True)
    assert n == len(exact)
    assert (half[0] ** 2 - qx / n - (sx / n) ** 2) * step[0] ** 2 == pytest.approx(matrix[0, 0], rel=1e-6)
    assert (half[1] ** 2 - qy / n - (sy / n) ** 2) * step[1] ** 2 == pytest.approx(matrix[1, 1], rel=1e-6)
    assert (pxy / n - sx * sy / n**2) * step[0] * step[1] == pytest.approx(matrix[0, 1], rel=1e-6)


def test_prices_and_grids_from_wide_to_narrow() -> None:
    for epsilon, rows, bounds in itertools.product(
        (1e-3, 1.0, 50.0), (1, 1000), ((-1e90, 1e90), (0.0, 1e-80), (1e9, 1e9 + 1e-6))
    ):
        columns = {"x": {"bounds": list(bounds)}, "y": {"bounds": [0.0, 1.0]}}
        policy = policy_of(columns=columns, unit={"id": "id", "max_rows": rows}, max_rows=9)
        price = price_of(planned(policy, **QUERY, epsilon=epsilon))
        assert price.epsilon == epsilon
        assert math.isfinite(price.nats_table)
    public = planned(policy_of(neighbours="replace-one", rows=9, columns={"x": {**COLUMNS["x"], "fill": 0.0}, "y": COLUMNS["y"]}), **QUERY)  # fmt: skip # noqa: E501
    assert (public.exact_count, len(public.parts)) == (9, 5)


EPSILON, RUNS = 1.5, 4_000
SOME: list[dict[str, Any]] = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate([(0.0, 3.0), (3.0, 5.0), (9.0, 7.0)])]  # fmt: skip # noqa: E501
POLICY = policy_of(caps={"epsilon": 1e5})


def proofs(seed: int) -> list[int]:
    plan = planned(POLICY, **QUERY, epsilon=EPSILON)
    centre = np.array([part[0] for part in answers(plan, arrow(SOME))], dtype=float)
    scales = np.array([float(part.scale) for part in plan.parts])
    events = []
    for i, rows in enumerate((SOME, [*SOME, {"x": 99.0, "y": 99.0, "id": 77}])):
        array = (noisy_numbers(rows, runs=RUNS, seed=seed + i, epsilon=EPSILON, **QUERY) - centre) / scales
        score = array.sum(axis=1)
        events.append(
            [*(score >= t for t in range(-4, 6)), *((array[:, :3] >= t).all(axis=1) for t in (0, 1))]
        )
    return beaten(*events, EPSILON)


def test_neighbours_stay_within_epsilon() -> None:
    assert proofs(10) == []


def test_a_third_of_the_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "leakcap.mechanism.geometric.discrete_laplace",
        lambda b, n, source: discrete_laplace(b / 3, n, source),
    )
    assert proofs(20)


HITS = 400
_CLOUD = np.random.default_rng(5).multivariate_normal([2.0, 5.0], [[4.0, 1.5], [1.5, 1.0]], 500)
CLOUD = [{"x": float(np.clip(x, -3, 10)), "y": float(np.clip(y, 2, 8))} for x, y in _CLOUD]


def hits(statistic: str, seed: int) -> list[int]:
    points = np.array([[row["x"], row["y"]] for row in CLOUD]).T
    truth = np.cov(points, bias=True)[np.triu_indices(2)]
    truth = truth if statistic == "covariance" else np.array([np.corrcoef(points)[0, 1]])
    rows = released(CLOUD, runs=HITS, seed=seed, statistic=statistic, columns=("x", "y"), epsilon=1.0).rows
    assert all(row.interval[0] <= row.value <= row.interval[1] for row in rows)
    if statistic == "correlation":
        assert all(-1 <= row.interval[0] <= row.interval[1] <= 1 for row in rows)
    inside = [
        row.interval[0] <= t <= row.interval[1] for row, t in zip(rows, list(truth) * HITS, strict=True)
    ]
    return [int(n) for n in np.array(inside).reshape(HITS, -1).sum(axis=0)]


@pytest.mark.parametrize("statistic", ["covariance", "correlation"])
def test_intervals_cover(statistic: str) -> None:
    assert all(covers(n, HITS) for n in hits(statistic, 30))


def test_four_times_the_noise_is_not_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "leakcap.mechanism.geometric.discrete_laplace",
        lambda b, n, source: discrete_laplace(4 * b, n, source),
    )
    assert not all(covers(n, HITS) for n in hits("covariance", 40))


def test_matrices_have_no_negative_eigenvalues_even_where_noise_drowns_them() -> None:
    columns = {name: {"bounds": [0.0, 1.0]} for name in ("x", "y", "k")}
    private = PrivateTable(arrow([{"x": 0.5, "y": 0.5, "k": 1}] * 30), policy=policy_of(columns=columns), ledger="sqlite://")  # fmt: skip # noqa: E501
    release = private.covariance(["x", "y", "k"], epsilon=0.5)
    matrix = np.zeros((3, 3))
    for (i, j), row in zip(itertools.combinations_with_replacement(range(3), 2), release.rows, strict=True):
        matrix[i, j] = matrix[j, i] = row.value
    assert np.linalg.eigvalsh(matrix)[0] >= -1e-9 * max(1.0, matrix.max())
    assert private.covariance(["x", "y", "k"], epsilon=0.5).rows == release.rows
    assert not private.correlation(["x", "y", "k"], epsilon=0.5).repeated
    assert not private.covariance(["x", "y"], epsilon=0.5).repeated


@pytest.mark.parametrize("statistic", ["covariance", "correlation"])
def test_a_cell_with_all_its_rows_drowned_has_an_answer(statistic: str) -> None:
    """Columns that do not vary, few rows, small ε: noisy variances may be negative in one cell or in all."""
    rows = [{"x": 0.5, "y": 5.0}] * 40
    found = released(rows, runs=200, seed=8, statistic=statistic, columns=("x", "y"), epsilon=0.2).rows
    assert all(math.isfinite(end) for row in found for end in row.interval)
    assert all(row.interval[0] <= row.value <= row.interval[1] for row in found)


def test_previews_refusals_and_dry_runs() -> None:
    for bad in (("x",), ("x", "x"), ("x", "d"), ("x", "zz"), None):
        with pytest.raises(InvalidQuery):
            planned(policy_of(), **{**QUERY, "columns": bad})
    query = query_from({"name": "q", **QUERY, "epsilon": 8.0})
    (shown,) = preview([query], policy=policy_of())
    (release,) = dry_run([query], policy_of())
    values = [row.value for row in release.rows]
    assert values == pytest.approx(
        [13.0**2 / 12, 0.0, 6.0**2 / 12], abs=shown.error + 0.9
    )  # 1,000 rows at random
    assert shown.error < 3


def test_sql_of_two_columns() -> None:
    text = "SELECT d, COVAR_POP(x, y), CORR(tests.y, x) AS r FROM tests WHERE f GROUP BY d"
    asked = sql_queries(text, policy_of(), 1.0)
    assert [(q.name, q.statistic, q.columns) for q in asked] == [
        ("covariance of x and y", "covariance", ("x", "y")),
        ("r", "correlation", ("y", "x")),
    ]
    for bad in ("COVAR_POP(x)", "CORR(x, y, x)", "CORR(x, x)", "CORR(x, d)", "COVAR_POP(*)", "CORR(x, zz)"):
        with pytest.raises(InvalidQuery, match="Line 1, column"):
            sql_queries(f"SELECT {bad} FROM tests", policy_of(), 1.0)
