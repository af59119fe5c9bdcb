"""Margins of grouped answers: sums of the cells, with the law of the sum of their noises.

False alarms over the choice of seeds: 10⁻⁶ a comparison (`claims.py`). Intervals with the noise of one cell
are caught.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from leakcap.release import Release, query_from, with_margins
from leakcap.release.columns.grid import Grid
from leakcap.release.columns.variance import boxed_variances
from leakcap.release.measurements.measurement import NoisyMeasurement
from leakcap.release.numbers.exact_integers import exact_integers
from leakcap.release.numbers.laws import Law, NoiseSums
from leakcap.release.statistics import statistics
from release.claims import covers, released
from release.margined import FIVE, ROWS, Row, table_of
from release.world import COLUMNS, policy_of


def total(rows: list[Row], column: str) -> float:
    return sum(row[column] for row in rows)


def spread(rows: list[Row], column: str) -> float:
    return (
        total([{column: row[column] ** 2} for row in rows], column) / len(rows)
        - (total(rows, column) / len(rows)) ** 2
    )


def jointly(rows: list[Row], name: str) -> float:
    """Of x with y."""
    n = len(rows)
    product = sum(row["x"] * row["y"] for row in rows) / n - total(rows, "x") * total(rows, "y") / n**2
    return product if name == "covariance" else product / math.sqrt(spread(rows, "x") * spread(rows, "y"))


CASES: dict[str, list[tuple[dict[str, Any], Callable[[list[Row]], float]]]] = {
    "count": [({}, len)],
    "histogram": [({"column": "f"}, len)],
    "sum": [({"column": "x"}, lambda rows: total(rows, "x"))],
    "formula_sum": [
        (
            {"formula": "x * y", "range": (-30.0, 80.0)},
            lambda rows: sum(row["x"] * row["y"] for row in rows),
        )
    ],
    "mean": [({"column": "x"}, lambda rows: total(rows, "x") / len(rows))],
    "ratio": [
        ({"when": "f"}, lambda rows: sum(row["f"] for row in rows) / len(rows)),
        (
            {"column": "y", "when": "f"},
            lambda rows: total([row for row in rows if row["f"]], "y") / total(rows, "y"),
        ),
        ({"column": "x", "over": "y"}, lambda rows: total(rows, "x") / total(rows, "y")),
    ],
    "variance": [({"column": "x"}, lambda rows: spread(rows, "x"))],
    "standard_deviation": [({"column": "x"}, lambda rows: math.sqrt(spread(rows, "x")))],
    "covariance": [({"columns": ("x", "y")}, lambda rows: jointly(rows, "covariance"))],
    "correlation": [({"columns": ("x", "y")}, lambda rows: jointly(rows, "correlation"))],
}


MATRICES = ("covariance", "correlation")


WALKED = [(name, place) for name, own in CASES.items() if name not in MATRICES for place in range(len(own))]


RUNS, EPSILON = 600, 0.5


KEPT = [["run"], ["run", "d"], ["run", "k"]]


def test_every_statistic_that_adds_up_has_a_case() -> None:
    assert {name for name, one in statistics().items() if one.adds_up} == set(CASES)


@functools.cache
def true_of(name: str, place: int, own: tuple[tuple[str, Any], ...]) -> float:
    """Of the rows that have these keys."""
    return CASES[name][place][1]([row for row in ROWS if dict(own).items() <= row.items()])


def policy_and_caps(gaussian: bool, runs: int) -> tuple[Any, dict[str, float]]:
    caps = {"epsilon": 100.0} | ({"delta": 1e-6} if gaussian else {})
    return policy_of(columns={**COLUMNS, "run": {"keys": list(range(runs))}}, caps=caps), caps


@functools.cache
def plain_of(name: str, place: int, gaussian: bool, runs: int) -> Release:
    """Many runs without margins, drawn before a mistake is planted in the margins."""
    own_noise: dict[str, Any] = {"rho": 0.05, "noise": "gaussian"} if gaussian else {"epsilon": EPSILON}
    query, _ = CASES[name][place]
    delta = policy_and_caps(gaussian, runs)[1].get("delta")
    asked = {"statistic": name, **query, "by": ["run", "d", "k"], **own_noise}
    return released(ROWS, runs=runs, seed=3, delta=delta, **asked)


def hits(
    name: str, place: int, *, gaussian: bool = False, runs: int = RUNS, kept: list[list[str]] = KEPT
) -> dict[str, list[bool]]:
    """For each kind of margin and each of its keys whether the intervals of many runs hold the truth."""
    one = plain_of(name, place, gaussian, runs)
    found = with_margins(one, policy_and_caps(gaussian, runs)[0], kept)
    seen: dict[str, list[bool]] = {}
    for row in found.rows[len(one.rows) :]:
        if row.keys.get("column") == row.keys.get("with", ""):
            continue  # a variance, which stands above
        own = {column: row.keys[column] for column in ("d", "k") if row.keys[column] != "total"}
        true = true_of(name, place, tuple(own.items()))
        low, high = row.interval
        assert low <= row.value <= high
        slack = 1e-9 * abs(true)
        seen.setdefault(str(own), []).append(low - slack <= true <= high + slack)
    return seen


@pytest.mark.parametrize(("name", "place"), WALKED)
def test_intervals_of_margins_hold_the_truth_as_often_as_they_say(name: str, place: int) -> None:
    seen = hits(name, place)
    assert len(seen) == 1 + 3 + 2
    assert {len(own) for own in seen.values()} == {RUNS}
    assert all(covers(sum(own), RUNS) for own in seen.values()), {k: sum(v) for k, v in seen.items()}


def hits_of_all(name: str, place: int, *, gaussian: bool = False, runs: int = RUNS) -> int:
    """How often the margin over all groups is held: the one margin that a planted mistake needs."""
    ((key, held),) = hits(name, place, gaussian=gaussian, runs=runs, kept=KEPT[:1]).items()
    assert (key, len(held)) == ("{}", runs)
    return sum(held)


def with_the_noise_of_one_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant the mistake: six noises are taken for one."""
    monkeypatch.setattr(NoisyMeasurement, "error", lambda self, beyond: self.noise.error(beyond))
    plain = NoiseSums.__new__

    def of_one_cell(cls: type[NoiseSums], law: Law, scales: tuple[float, ...], beyond: float) -> NoiseSums:
        return plain(cls, law, tuple(scale / math.sqrt(6) for scale in scales), beyond)

    monkeypatch.setattr(NoiseSums, "__new__", of_one_cell)


@pytest.mark.parametrize(("name", "place"), WALKED)
def test_intervals_with_the_noise_of_one_cell_are_caught(
    name: str, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_of(name, place, False, RUNS)
    with_the_noise_of_one_cell(monkeypatch)
    assert not covers(hits_of_all(name, place), RUNS)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("runs", [40, pytest.param(RUNS, marks=pytest.mark.slow)])
def test_intervals_of_matrices_of_margins_hold_the_truth(name: str, gaussian: bool, runs: int) -> None:
    seen = hits(name, 0, gaussian=gaussian, runs=runs)
    assert {len(own) for own in seen.values()} == {runs}
    assert all(covers(sum(own), runs) for own in seen.values()), {k: sum(v) for k, v in seen.items()}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_with_the_noise_of_one_cell_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_of(name, 0, True, 80)
    with_the_noise_of_one_cell(monkeypatch)
    assert not covers(hits_of_all(name, 0, gaussian=True, runs=80), 80)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_a_matrix_of_a_margin_is_that_of_its_sums(noise: str) -> None:
    """Of the same noisy integers, which are added up here."""
    table = table_of(caps={"epsilon": 99.0, "delta": 1e-6}, columns={**FIVE, "y": {"bounds": [2.0, 8.0]}})
    asked = {"name": "q", "statistic": "covariance", "columns": ["x", "y"], "by": ["d", "k"], "noise": noise}
    plain = table.release(
        [query_from({**asked, **({"rho": 2.0} if noise == "gaussian" else {"epsilon": 9.0})})]
    )[0]
    assert plain.drawn is not None
    found = with_margins(plain, table.policy, [["d"], []])
    assert [row.keys for row in found.rows[18:21]] == [
        {"d": "a", "k": "total", "column": one, "with": other} for one, other in ("xx", "xy", "yy")
    ]
    assert len(found.rows) == 6 * 3 + 3 * 3 + 3
    count, x, y, _, xy, _ = (sum(map(int, part.numbers)) for part in plain.drawn.parts)
    steps = [Fraction(part.unit) for part in plain.drawn.parts[1:3]]
    exact = float((Fraction(xy, count) - Fraction(x * y, count**2)) * steps[0] * steps[1])
    assert found.rows[-2].value == pytest.approx(exact, rel=1e-9)
    widths = [row.interval[1] - row.interval[0] for row in (found.rows[-2], found.rows[1])]
    assert widths[0] < widths[1], "six groups together say more than one"
    again = table.release(
        [query_from({**asked, **({"rho": 2.0} if noise == "gaussian" else {"epsilon": 9.0})})]
    )
    assert again[0].repeated
    assert with_margins(again[0], table.policy, [["d"], []]).rows == found.rows


@pytest.mark.parametrize(("name", "place"), [one for one in WALKED if one[0] in ("mean", "ratio")])
def test_quotients_with_gaussian_noise_have_the_law_of_both_sums(
    name: str, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fieller's intervals: they hold the truth as often as they say, hardly more, and not with the noise of
    one cell."""
    seen = hits(name, place, gaussian=True)
    assert all(covers(sum(own), RUNS) for own in seen.values()), {k: sum(v) for k, v in seen.items()}
    # 593 of 600 and more have a probability below 10⁻⁶ at 95 %; a box holds the truth of ratios 599 times.
    assert sum(seen["{}"]) < 593
    with_the_noise_of_one_cell(monkeypatch)
    assert not covers(hits_of_all(name, place, gaussian=True), RUNS)


def test_a_variance_of_a_margin_is_that_of_its_sums() -> None:
    table = table_of()
    for name in ("variance", "standard_deviation"):
        plain = table.release(
            [query_from({"name": "q", "statistic": name, "column": "x", "by": ["d", "k"], "epsilon": 9.0})]
        )[0]
        assert plain.drawn is not None
        sums, squares, counts = (sum(map(int, part.numbers)) for part in plain.drawn.parts)
        step = Fraction(plain.drawn.parts[0].unit)
        low, high = Fraction(-3) / step, Fraction(10) / step
        middle = (math.floor(low) + math.ceil(high)) // 2
        less = max(math.ceil(high) - middle, middle - math.floor(low)) ** 2 // 2
        exact = float((less + Fraction(squares, counts) - Fraction(sums, counts) ** 2) * step**2)
        last = with_margins(plain, table.policy, [[]]).rows[-1]
        assert last.value == pytest.approx(exact if name == "variance" else math.sqrt(exact), rel=1e-9)
        assert last.interval[0] <= last.value <= last.interval[1]


@pytest.mark.parametrize(
    ("numbers", "errors"), [((30, -40, 9), (7, 20, 3)), ((-4, 15, 3), (9, 60, 2)), ((0, 0, -5), (3, 9, 4))]
)
def test_a_box_of_variances_holds_all_that_are_in_it_and_no_more(
    numbers: tuple[int, ...], errors: tuple[int, ...]
) -> None:
    grid = Grid(exponent=0, low=-8, high=8)
    low, high = boxed_variances("variance", grid, [exact_integers([one]) for one in numbers], errors, None)
    sides = [range(one - off, one + off + 1) for one, off in zip(numbers, errors, strict=True)]
    inside = [32 + Fraction(q, n) - Fraction(s * s, n * n) for s, q, n in itertools.product(*sides) if n >= 1]
    least, most = (min(inside), max(inside)) if inside else (Fraction(0), Fraction(64))
    # Half a step of the deviation is what the grid may have rounded.
    ends = [math.sqrt(min(max(one, Fraction(0)), Fraction(64))) for one in (least, most)]
    assert max(ends[0] - 0.5, 0.0) ** 2 == pytest.approx(float(low[0]), abs=1e-9)
    assert (ends[1] + 0.5) ** 2 <= float(high[0]) * (1 + 1e-12)
    # The turning point may lie between two whole numbers of rows.
    assert float(high[0]) <= (math.sqrt(ends[1] ** 2 + 2.0) + 0.5) ** 2
