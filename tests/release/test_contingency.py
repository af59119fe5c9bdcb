"""Contingency tables: margins agree, their noise has its exact law, one person moves them by the sensitivity.

False alarms over the choice of seeds: 10⁻⁶ a test (`claims.py`). Each has a planted bug that it catches.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import flint
import mpmath
import numpy as np
import pytest

from leakcap.errors import InvalidQuery
from leakcap.mechanism.noise_sums import laplace_error, laplace_sum_error, laplace_sum_tail, laplace_variance
from leakcap.release import PrivateTable, dry_run, preview, query_from
from leakcap.release.statistics import statistic_of
from leakcap.sampling import discrete_laplace
from release.claims import beaten, covers, released
from release.test_sensitivity import ROWS, vectors, widest
from release.world import answers, planned, policy_of
from release.world import table as arrow
from seeded import SeededSource

QUERY: dict[str, Any] = {"statistic": "contingency", "columns": ("d", "f")}
SOME = [
    {"d": d, "f": f, "id": i}
    for i, (d, f) in enumerate([("a", True), ("a", True), ("b", False), ("c", None)])
]


def law(scale: Fraction, count: int) -> flint.arb_poly:
    """The law of S, as the coefficients of a power of one noise's series, in balls of fifty digits."""
    s = (-flint.arb(scale.denominator) / scale.numerator).exp()
    reach = int(80 * scale) + 30
    one = flint.arb_poly([(1 - s) / (1 + s) * s ** abs(z) for z in range(-reach, reach + 1)])
    return one**count


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(5, 4)])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_tails_of_sums_against_the_series_multiplied_out(scale: Fraction, count: int) -> None:
    with flint.ctx.workprec(200):
        masses = law(scale, count).coeffs()
        for at in (1, 2, 5):
            wanted = sum(masses[len(masses) // 2 + at :], start=flint.arb(0))
            assert wanted.rad() < 1e-30
            assert laplace_sum_tail(scale, count, at) == pytest.approx(float(wanted), rel=1e-9)


def test_one_noise_and_very_many() -> None:
    for scale in (Fraction(1, 9), Fraction(10), Fraction(10**6)):
        assert laplace_sum_error(scale, 1, beyond=0.05) == laplace_error(scale, beyond=0.05)
    deviation = math.sqrt(10**4 * laplace_variance(Fraction(50)))
    assert laplace_sum_error(Fraction(50), 10**4, beyond=0.05) == pytest.approx(
        1.959964 * deviation, rel=1e-3
    )
    with mpmath.workdps(30):
        wanted = mpmath.nsum(lambda z: z * z * mpmath.exp(-abs(z) / 7), [-mpmath.inf, mpmath.inf])
        wanted /= mpmath.nsum(lambda z: mpmath.exp(-abs(z) / 7), [-mpmath.inf, mpmath.inf])
        assert laplace_variance(Fraction(7)) == pytest.approx(float(wanted), rel=1e-12)


@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
@pytest.mark.parametrize("most", [1, 2])
def test_one_unit_reaches_the_sensitivity_and_never_passes_it(relation: str, most: int) -> None:
    units = {"rows": 3} if relation == "replace-one" else {}
    policy = policy_of(neighbours=relation, unit={"id": "id", "max_rows": most}, **units)
    plan = planned(policy, **QUERY)
    contents = [[], *(list(c) for n in (1, 2) for c in itertools.combinations(ROWS[::4], n))]
    assert widest(vectors(plan, contents), 0, absent=not units) == plan.parts[0].sensitivity


def test_table_margins_and_total_agree_and_are_labelled() -> None:
    private = PrivateTable(arrow(SOME), policy=policy_of(), ledger="sqlite://", source=SeededSource(1))
    release = private.contingency(["d", "f"], epsilon=1.0)
    cells = {(row.keys["d"], row.keys["f"]): row.value for row in release.rows}
    assert len(cells) == 12
    for d in ("a", "b", "c"):
        assert cells[d, "total"] == cells[d, True] + cells[d, False]
    for f in (True, False):
        assert cells["total", f] == sum(cells[d, f] for d in ("a", "b", "c"))
    assert cells["total", "total"] == sum(cells[d, "total"] for d in ("a", "b", "c"))
    again = private.contingency(["d", "f"], epsilon=1.0)
    assert again.repeated
    assert again.rows == release.rows
    assert release.price.epsilon == 1.0
    assert release.post_processing is not None
    (by,) = private.release(
        [query_from({"name": "q", **QUERY, "columns": ["f", "x"], "bins": 3, "by": "d", "epsilon": 1.0})]
    )
    assert len(by.rows) == 3 * (2 * 3 + 2 + 3 + 1)


def test_the_cells_are_those_of_the_rows() -> None:
    (table,) = answers(planned(policy_of(), **QUERY), arrow(SOME))
    assert table == [2, 0, 0, 1, 0, 0]


def test_refusals_previews_and_dry_runs() -> None:
    shapes: list[dict[str, Any]] = [
        *({"columns": c} for c in (("d",), ("d", "d"), ("d", "zz"), ("d", "x"))),
        *({"columns": ("d", "f"), **more} for more in ({"bins": 3}, {"column": "x"}, {"by": ("d",)})),
    ]
    for bad in shapes:
        with pytest.raises(InvalidQuery):
            planned(policy_of(), **{"statistic": "contingency", **bad})
    query = query_from({"name": "q", **QUERY, "columns": ["d", "f"], "epsilon": 1.0})
    (shown,) = preview([query], policy=policy_of())
    assert (shown.error, shown.remark) == (
        3.0,
        f"for each cell; the total {laplace_sum_error(Fraction(1), 6, beyond=0.05)}",
    )
    (release,) = dry_run([query], policy_of())
    assert abs(release.rows[-1].value - 1000) < 60


def test_a_key_called_total_stays_a_key() -> None:
    policy = policy_of(columns={"d": {"keys": ["a", "total"]}, "f": {"keys": [True, False]}})
    plan = planned(policy, **QUERY)
    assert set(statistic_of(plan.query).labels(plan)["d"]) == {"a", "total", "(total)"}


RUNS, EPSILON = 4_000, 1.0


def margins(rows: list[dict[str, Any]], seed: int) -> Any:
    found = released(rows, runs=RUNS, seed=seed, epsilon=EPSILON, **QUERY).rows
    return np.array([row.value for row in found]).reshape(RUNS, -1), found


def proofs(seed: int) -> list[int]:
    left, right = (
        margins(rows, seed + i)[0] for i, rows in enumerate((SOME, [*SOME, {"d": "a", "f": True}]))
    )
    places = range(0, left.shape[1])
    a, b = ([seen[:, p] <= t for p in places for t in (0, 2)] for seen in (left, right))
    return beaten(a, b, EPSILON)


def test_neighbours_stay_within_epsilon() -> None:
    assert proofs(1) == []


def test_half_the_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "leakcap.mechanism.geometric.discrete_laplace",
        lambda b, n, source: discrete_laplace(b / 2, n, source),
    )
    assert proofs(3)


def hits(seed: int) -> list[int]:
    truth = [2, 0, 0, 1, 0, 0, 2, 1, 0, 2, 1, 3]
    rows = margins(SOME, seed)[1]
    inside = np.array(
        [row.interval[0] <= t <= row.interval[1] for row, t in zip(rows, truth * RUNS, strict=True)]
    )
    return [int(n) for n in inside.reshape(RUNS, -1).sum(axis=0)]


def test_intervals_of_cells_and_margins_cover_as_often_as_they_say() -> None:
    found = hits(5)
    assert all(covers(n, RUNS) for n in found)
    # The total's is no wider than its own law asks for: five standard deviations.
    exact = 1 - 2 * laplace_sum_tail(Fraction(1), 6, laplace_sum_error(Fraction(1), 6, beyond=0.05) + 1)
    assert 0.95 <= exact < 0.975
    assert abs(found[-1] / RUNS - exact) < 5 * math.sqrt(exact * (1 - exact) / RUNS)


def test_margins_with_the_error_of_one_cell_would_not_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "leakcap.mechanism.geometric.laplace_sum_error",
        lambda b, n, *, beyond: laplace_error(b, beyond=beyond),
    )
    assert not covers(hits(7)[-1], RUNS)
