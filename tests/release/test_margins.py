"""Margins of grouped answers: sums of the cells, with the law of the sum of their noises.

False alarms over the choice of seeds: 10⁻⁶ a comparison (`claims.py`). Intervals with the noise of one cell
are caught.
"""

from __future__ import annotations

import csv
import functools
import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from command_line import Done, leakcap
from leakcap.errors import InvalidQuery
from leakcap.mechanism import DiscreteGaussian
from leakcap.release import PrivateTable, Release, consistent, covering, load_policy, query_from, with_margins
from leakcap.release.columns.grid import Grid
from leakcap.release.columns.variance import boxed_variances
from leakcap.release.measurements.measurement import NoisyMeasurement
from leakcap.release.numbers.exact_integers import exact_integers
from leakcap.release.numbers.laws import Law, NoiseSums
from leakcap.release.results.margins import MarginRelease, margins_fit
from leakcap.release.statistics import statistic_of, statistics
from release.claims import covers, released
from release.world import COLUMNS, policy_of
from release.world import table as arrow
from seeded import SeededSource

Row = dict[str, Any]
chance = np.random.default_rng(11)
ROWS: list[Row] = [
    {"d": "abc"[int(d)], "k": 1 + int(k), "f": bool(f), "x": float(x), "y": float(y)}
    for d, k, f, x, y in zip(
        chance.integers(0, 3, 240),
        chance.integers(0, 2, 240),
        chance.integers(0, 2, 240),
        chance.uniform(-3, 10, 240).round(3),
        chance.uniform(2, 8, 240).round(3),
        strict=True,
    )
]


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
"""Of each statistic that adds up what is asked, and what is true of some rows."""
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


def hits(name: str, place: int, *, gaussian: bool = False, runs: int = RUNS) -> dict[str, list[bool]]:
    """For each kind of margin and each of its keys whether the intervals of many runs hold the truth."""
    one = plain_of(name, place, gaussian, runs)
    found = with_margins(one, policy_and_caps(gaussian, runs)[0], KEPT)
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
    assert not covers(sum(hits(name, place)["{}"]), RUNS)


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
    assert not covers(sum(hits(name, 0, gaussian=True, runs=80)["{}"]), 80)


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
    assert not covers(sum(hits(name, place, gaussian=True)["{}"]), RUNS)


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


FIVE: dict[str, Any] = {
    "d": {"keys": ["a", "b", "c"]},
    "k": {"keys": [1, 2]},
    "f": {"keys": [True, False]},
    "g": {"keys": ["total", "other"]},
    "h": {"keys": [0, 1, 2]},
    "x": {"bounds": [-3.0, 10.0]},
}


def table_of(seed: int = 1, **more: Any) -> PrivateTable:
    more = {"columns": FIVE, **more}
    rows = [{**row, "g": ["total", "other"][i % 2], "h": i % 3} for i, row in enumerate(ROWS)]
    data = pyarrow.table({name: [row[name] for row in rows] for name in more["columns"]})
    policy = policy_of(**more)
    return PrivateTable(data, policy=policy, ledger="sqlite://", source=SeededSource(seed))


@pytest.mark.parametrize("columns", [2, 3, 4, 5])
def test_all_margins_of_so_many_columns_are_the_sums_of_their_cells(columns: int) -> None:
    names = list(FIVE)[:columns]
    table = table_of()
    plain = table.count(by=names, epsilon=1.0)
    found = with_margins(plain, table.policy)
    cells = {tuple(row.keys.values()): row.value for row in plain.rows}
    words = [found.totals[name] for name in names]
    assert found.totals["d"] == "total"
    assert found.totals.get("g", "(total)") == "(total)"  # a key is called total
    expected = {}
    for choice in itertools.product(
        *([*FIVE[name]["keys"], word] for name, word in zip(names, words, strict=True))
    ):
        expected[choice] = sum(
            value
            for key, value in cells.items()
            if all(want in (own, word) for want, own, word in zip(choice, key, words, strict=True))
        )
    got = [(tuple(row.keys.values()), row.value) for row in found.rows]
    assert dict(got) == expected
    assert len(got) == len(expected)
    assert found.rows[: len(plain.rows)] == plain.rows == found.raw
    assert (found.price, found.drawn) == (plain.price, plain.drawn)
    assert found.record.totals == found.totals


def test_a_count_with_margins_is_the_contingency_table_of_its_columns() -> None:
    """Two ways to one table: the same noise, values and intervals."""
    one, other = table_of(5), table_of(5)
    crossed = one.contingency(["d", "k", "f"], epsilon=1.0)
    counted = with_margins(other.count(by=["d", "k", "f"], epsilon=1.0), other.policy)
    assert counted.rows == crossed.rows
    assert counted.totals == crossed.totals == crossed.record.totals
    assert one.contingency(["d", "k", "f"], epsilon=1.0).totals == crossed.totals


def test_a_mean_of_a_margin_is_the_sum_over_the_count() -> None:
    table = table_of()
    plain = table.mean("x", by=["d", "k"], epsilon=5.0)
    assert plain.drawn is not None
    sums, counts = (part.numbers for part in plain.drawn.parts)
    step = float(plain.drawn.parts[0].unit)
    everything = (sum(sums) / sum(counts) + plain.drawn.centre) * step
    assert with_margins(plain, table.policy, [[]]).rows[-1].value == pytest.approx(everything, rel=1e-12)


def test_gaussian_noise_of_a_margin_has_the_law_of_its_sum() -> None:
    table = table_of(caps={"epsilon": 9.0, "delta": 1e-6})
    plain = table.count(by=["d", "k"], epsilon=1.0, noise="gaussian")
    assert plain.drawn is not None
    noise = plain.drawn.parts[0].noise
    assert isinstance(noise, DiscreteGaussian)
    for row in with_margins(plain, table.policy).rows[6:]:
        cells = {("a", "total"): 2, ("total", 1): 3, ("total", "total"): 6}
        key = tuple(row.keys.values())
        if key in cells:
            assert row.interval[1] - row.value == noise.error_of_sum(cells[key], 0.05)


def test_a_repeat_has_its_margins_for_free() -> None:
    table = table_of()
    first = with_margins(table.sum("x", by=["d", "k"], epsilon=1.0), table.policy)
    again = table.sum("x", by=["d", "k"], epsilon=1.0)
    assert again.repeated
    assert with_margins(again, table.policy).rows == first.rows


def refused(release: Release, policy: Any, kept: Any = None) -> str:
    with pytest.raises(InvalidQuery) as error:
        with_margins(release, policy, kept)
    return str(error.value)


@pytest.mark.parametrize("kept", [[["d", "k"]], [["zz"]], [["d", "d"]], [["total"]]])
def test_margins_keep_some_of_the_columns(kept: Any) -> None:
    table = table_of()
    said = refused(table.count(by=["d", "k"], epsilon=1.0), table.policy, kept)
    assert "must each keep some of the columns d, k" in said


@pytest.mark.parametrize(("kept", "got"), [(["d"], "['d']"), ("d", "'d'"), ([["k"], "d"], "[['k'], 'd']")])
def test_margins_are_lists_of_columns_not_names(kept: Any, got: str) -> None:
    table = table_of()
    said = refused(table.count(by=["d", "k"], epsilon=1.0), table.policy, kept)
    assert said == (
        f'`margins` of query `count` must be a list of lists of columns, as [["d"], []]. Got {got}.'
    )


def test_named_margins_stand_once_in_an_order_of_their_own() -> None:
    table = table_of()
    plain = table.count(by=["d", "k"], epsilon=1.0)
    found = with_margins(plain, table.policy, [[], ["k"], []])
    assert [tuple(row.keys.values()) for row in found.rows[6:]] == [
        ("total", 1),
        ("total", 2),
        ("total", "total"),
    ]
    assert with_margins(plain, table.policy, []).rows == plain.rows


def test_what_does_not_add_up_is_refused_by_name_before_anything_is_paid() -> None:
    unit = {"id": "id", "max_rows": 2, "max_groups": 2}
    policy = policy_of(unit=unit)
    asked = {
        "distinct": {},
        "median": {"column": "x", "bins": 4},
    }
    for name, fields in asked.items():
        query = query_from({"name": "q", "statistic": name, "by": ["d", "k"], "epsilon": 1.0, **fields})
        label = statistic_of(query).label
        with pytest.raises(InvalidQuery, match=f"groups of a {label} are not added up. Margins go with "):
            margins_fit(query, policy)
    crossed = query_from({"name": "q", "statistic": "contingency", "columns": ["d", "k"], "epsilon": 1.0})
    with pytest.raises(InvalidQuery, match="has its margins already"):
        margins_fit(crossed, policy)
    with pytest.raises(InvalidQuery, match="it has one number"):
        margins_fit(query_from({"name": "q", "statistic": "count", "epsilon": 1.0}), policy)
    private = {**COLUMNS, "z": {"keys": "private", "type": "text"}}
    open_ = query_from({"name": "q", "statistic": "count", "by": ["z", "d"], "epsilon": 1.0, "delta": 1e-6})
    with pytest.raises(InvalidQuery, match="where keys are private"):
        margins_fit(open_, policy_of(columns=private, caps={"epsilon": 9.0, "delta": 1e-5}, unit=unit))


def test_too_many_margins_have_to_be_named() -> None:
    columns = {f"c{i}": {"keys": [0]} for i in range(12)} | {"wide": {"keys": list(range(999_990))}}
    policy = policy_of(columns=columns)
    query = query_from(
        {"name": "q", "statistic": "count", "by": [f"c{i}" for i in range(12)], "epsilon": 1.0}
    )
    with pytest.raises(InvalidQuery, match="of 12 columns there are 4,095"):
        margins_fit(query, policy)
    margins_fit(query, policy, [["c0"], []])
    wide = query_from({"name": "q", "statistic": "count", "by": ["wide", "c0", "c1"], "epsilon": 1.0})
    with pytest.raises(InvalidQuery, match="at most 1,000,000 are allowed"):
        margins_fit(wide, policy)


def test_answers_that_were_changed_have_no_margins() -> None:
    table = table_of()
    plain = table.count(by=["d", "k"], epsilon=1.0)
    fitted = consistent([table.count(epsilon=1.0), plain])[1]
    with_all = with_margins(plain, table.policy)
    (ordered,) = table.sql("SELECT d, k, COUNT(*) AS n FROM tests GROUP BY d, k ORDER BY n", epsilon=1.0)
    for release in (fitted, with_all, ordered, plain.at(d="a", k=1)):
        assert "must be a whole answer as it was given" in refused(release, table.policy)


def test_margins_are_no_news_to_a_fit() -> None:
    table = table_of()
    all_, plain = table.count(epsilon=0.1), table.count(by=["d", "k"], epsilon=1.0)
    raw = consistent([all_, plain])
    fitted = consistent([all_, with_margins(plain, table.policy)])
    assert fitted[0].rows[0].value == raw[0].rows[0].value
    assert [row.value for row in fitted[1].rows[:6]] == [row.value for row in raw[1].rows]
    assert fitted[1].rows[-1].value == fitted[0].rows[0].value


def test_rows_that_were_cut_are_not_added_to_margins() -> None:
    policy = load_policy(
        {
            "dataset": "tests",
            "neighbours": "add-remove-one",
            "caps": {"epsilon": 100.0},
            "columns": COLUMNS,
            "unit": {"id": "id", "max_rows": 2},
        }
    )
    data = arrow([{**row, "id": i // 5} for i, row in enumerate(ROWS)])
    table = PrivateTable(data, policy=policy, ledger="sqlite://", source=SeededSource(1))
    found = with_margins(table.count(by=["d", "k"], epsilon=1.0), policy)
    assert covering([found], table.rows_cut(up_to=9, epsilon=1.0), policy) == [found]
    assert found.coverage.covers == "rows kept"


def test_a_margin_says_what_it_is_of() -> None:
    table = table_of()
    for plain, words in (
        (table.count(by="d", epsilon=1.0), "margins are sums of the noisy cells"),
        (table.mean("x", by="d", epsilon=1.0), "margins are of sums of the noisy cells"),
    ):
        found = with_margins(plain, table.policy)
        assert isinstance(found, MarginRelease)
        assert words in found.post_processing
        assert found.record.post_processed == found.post_processing


def file(folder: Path, more: str) -> Path:
    (folder / "policy.toml").write_text(
        'dataset = "tests"\nneighbours = "add-remove-one"\ncaps = { epsilon = 9.0 }\n'
        '[columns]\nd = { keys = ["a", "b", "c"] }\nk = { keys = [1, 2] }\nx = { bounds = [-3.0, 10.0] }\n'
    )
    (folder / "data.csv").write_text("d,k,x\n" + "".join(f"{r['d']},{r['k']},{r['x']}\n" for r in ROWS))
    path = folder / "release.toml"
    path.write_text(
        f'policy = "policy.toml"\ndata = "data.csv"\nledger = "ledger.db"\n{more}\n'
        '[[query]]\nname = "stays"\nstatistic = "count"\nby = ["d", "k"]\nepsilon = 1.0\n'
        '[[query]]\nname = "all"\nstatistic = "count"\nepsilon = 1.0\n'
        '[[query]]\nname = "middle"\nstatistic = "median"\ncolumn = "x"\nby = ["d"]\nepsilon = 1.0\n'
    )
    return path


def asked(folder: Path, more: str) -> Done:
    """What `leakcap release` says of a file with these lines."""
    return leakcap("release", file(folder, more), "--json")


def test_a_query_file_asks_for_margins(tmp_path: Path) -> None:
    stays, *_ = json.loads(asked(tmp_path, 'margins = { stays = [["d"], []] }').stdout)["releases"]
    assert stays["totals"] == {"d": "total", "k": "total"}
    assert [tuple(row["keys"].values()) for row in stays["values"][6:]] == [
        ("a", "total"),
        ("b", "total"),
        ("c", "total"),
        ("total", "total"),
    ]
    sums = [row["value"] for row in stays["values"]]
    assert sums[6:] == [sums[0] + sums[1], sums[2] + sums[3], sums[4] + sums[5], sum(sums[:6])]


def test_one_file_of_csv_has_the_margins_too(tmp_path: Path) -> None:
    """Every line of the record, whatever the noise: those of margins after those of cells."""
    target = tmp_path / "values.csv"
    done = leakcap("release", file(tmp_path, 'margins = { stays = "all" }'), "--json", "--csv", target)
    stays, *_ = json.loads(done.stdout)["releases"]
    with target.open(newline="") as lines:
        found = [line for line in csv.DictReader(lines) if line["statistic"] == "stays"]
    assert len(found) == 4 * 3
    for line, row in zip(found, stays["values"], strict=True):
        assert [line["d"], line["k"]] == [str(key) for key in row["keys"].values()]
        assert int(line["value"]) == row["value"]
        assert [float(line["lower"]), float(line["upper"])] == row["interval"]
    numbers = {(line["d"], line["k"]): int(line["value"]) for line in found}
    assert all(numbers[d, "total"] == numbers[d, "1"] + numbers[d, "2"] for d in "abc")
    assert numbers["total", "total"] == sum(numbers[d, "total"] for d in "abc")


def test_all_margins_of_a_query_file(tmp_path: Path) -> None:
    stays, *_ = json.loads(asked(tmp_path, 'margins = { stays = "all" }').stdout)["releases"]
    assert len(stays["values"]) == 4 * 3


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('margins = { nobody = "all" }', "must be the name of a query"),
        ('margins = { middle = "all" }', "groups of a median are not added up"),
        ('margins = { all = "all" }', "it has one number"),
        ('margins = { stays = [["x"]] }', "must each keep some of the columns d, k"),
        ('margins = { stays = "some" }', "margins"),
        ('consistent = ["stays", "all"]\nmargins = { stays = "all" }', "`consistent` has it"),
    ],
)
def test_a_file_that_cannot_have_them_is_refused_before_the_ledger_begins(
    tmp_path: Path, more: str, said: str
) -> None:
    done = asked(tmp_path, more)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert not (tmp_path / "ledger.db").exists()
