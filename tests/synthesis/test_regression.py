"""A regression of the file beside that of released tables: by other routes, its price, and planted faults."""

from __future__ import annotations

import csv
import functools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from flint import arb

from leakcap.errors import BudgetExceeded, InvalidQuery
from leakcap.policy.document import Policy
from leakcap.release import PrivateTable
from leakcap.synthesis import RegressionAsked, compare_regression, regression_noise, synthesize
from leakcap.synthesis.choice import ChoiceQuestion
from leakcap.synthesis.regression import FileRegression
from leakcap.synthesis.regression_noise import (
    chi_square_point,
    covariance_of_sums,
    released_coefficients,
    released_sums,
)
from leakcap.synthesis.regression_terms import RegressionTerms
from leakcap.synthesis.releasing import release_for_file
from leakcap.tables import ReleasedTables, TablesQuestion
from leakcap.tables.residuals import covariance, noisy_residuals, residual_integers
from leakcap.tables.widths import variance_of
from seeded import SeededSource
from synthesis.worlds import POLICY, people, released

ASKED = RegressionAsked(target="rooms", features=("sex", "old", "ward"))
"""By hand: the constant, sex = m, old, ward = south, ward = west."""


def numbers(rows: list[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """Features and target of `ASKED`, row by row."""
    features = [
        [
            1.0,
            row["sex"] == "m",
            str(row["old"]).lower() == "true",
            row["ward"] == "south",
            row["ward"] == "west",
        ]
        for row in rows
    ]
    return np.array(features, dtype=float), np.array([float(row["rooms"]) for row in rows])


def least_squares(rows: list[dict[str, Any]]) -> np.ndarray:
    """By LAPACK, of the rows themselves."""
    return np.linalg.lstsq(*numbers(rows), rcond=None)[0]


def of_file(found: FileRegression) -> list[float]:
    return [one.file for one in found.coefficients if one.file is not None]


def of_written_rows(folder: Path, made: Any) -> np.ndarray:
    made.write(folder / "rows.csv")
    with (folder / "rows.csv").open(newline="") as file:
        return least_squares(list(csv.DictReader(file)))


def test_the_files_coefficients_are_those_of_its_written_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = synthesize(released(0.01), rows=2_000, seed=3)
    found = compare_regression(made, ASKED)
    names = [(one.column, one.key) for one in found.coefficients]
    assert names == [("", None), ("sex", "m"), ("old", None), ("ward", "south"), ("ward", "west")]
    known = of_written_rows(tmp_path, made)
    assert of_file(found) == pytest.approx(known, abs=1e-9)
    # Planted: the sums of another column.
    counts = type(made).counts
    monkeypatch.setattr(
        type(made),
        "counts",
        lambda self, *names: counts(self, *names)[::-1] if names[:1] == ("sex",) else counts(self, *names),
    )
    assert of_file(compare_regression(made, ASKED)) != pytest.approx(known, abs=1e-3)


def test_with_next_to_no_noise_the_released_regression_is_that_of_the_data() -> None:
    found = compare_regression(synthesize(released(5_000.0), rows=100, seed=1), ASKED)
    known = least_squares(people().to_pylist())
    for one, exact in zip(found.coefficients, known, strict=True):
        assert one.lower is not None
        assert one.upper is not None
        assert one.lower <= exact <= one.upper
        assert one.upper - one.lower < 0.25


def test_sums_hang_together_as_their_cells_do() -> None:
    """By the covariance of any two cells, cell by cell."""
    tables = released(0.01)
    sums = [one for one, _ in released_sums(tables, RegressionTerms.of(ASKED, tables.planned))]
    assert len(sums) == 6 * 7 // 2
    some = sums[::4]
    found = covariance_of_sums(tables.plan, some)

    def cells(one: Any) -> list[tuple[tuple[int, ...], tuple[int, ...], int]]:
        places = tuple(place for place, _ in one)
        shape = tuple(len(weights) for _, weights in one)
        return [
            (places, key, math.prod(weights[own] for (_, weights), own in zip(one, key, strict=True)))
            for key in np.ndindex(shape)
        ]

    for i, one in enumerate(some):
        for j, other in enumerate(some):
            known = sum(
                v * w * covariance(tables.plan, (a, here), (b, there))
                for a, here, v in cells(one)
                for b, there, w in cells(other)
            )
            assert found[i, j] == pytest.approx(float(known), rel=1e-12, abs=1e-9)


def heard(plan: Any, sums: list[Any]) -> int:
    """Σ over residuals of how many dimensions of each these sums hear, whatever its variance is."""
    alone = [replace(plan, variances={part: variance}) for part, variance in plan.variances.items()]
    return sum(int(np.linalg.matrix_rank(covariance_of_sums(one, sums))) for one in alone)


@pytest.mark.parametrize("target", ["rooms", "sex"])
@pytest.mark.parametrize("policy", [{}, {"neighbours": "replace-one", "rows": 4_000}])
def test_no_scale_of_any_noise_adds_to_the_dimensions_that_sums_hear(
    target: str, policy: dict[str, Any]
) -> None:
    """So that bounds hold where a choice decides which variance a residual has."""
    tables = released(0.01, policy=POLICY | policy)
    features = tuple(name for name in ("sex", "old", "ward", "rooms") if name != target)
    terms = RegressionTerms.of(RegressionAsked(target=target, features=features), tables.planned)
    sums = list(dict.fromkeys(one for one, _ in released_sums(tables, terms)))
    noisy = int((np.diag(covariance_of_sums(tables.plan, sums)) > 0.0).sum())
    assert 0 < heard(tables.plan, sums) <= noisy
    # Planted: the sums over single columns, which those of pairs hear, are not counted.
    pairs = [one for one in sums if len(one) == 2]
    assert heard(tables.plan, pairs) > len(pairs)


def test_points_of_chi_square_are_those_of_the_gamma_function() -> None:
    for freedom in (1, 2, 10, 231):
        for tail in (0.05, 0.05 / 66):
            point = arb(chi_square_point(freedom, tail))
            passed = (point / 2).gamma_upper(arb(freedom) / 2, regularized=1)
            assert passed <= arb(tail)
            assert passed >= arb(tail) * arb("0.99999")


RUNS, FALSE_ALARM = 60, 1e-6


def small() -> pyarrow.Table:
    draw = np.random.default_rng(7)
    old = draw.random(3_000) < 0.4
    return pyarrow.table(
        {
            "sex": np.array(["f", "m"])[draw.choice(2, 3_000)],
            "old": old,
            "rooms": np.where(old, draw.choice(2, 3_000), draw.choice(4, 3_000)) + 1,
        }
    )


TWO = RegressionAsked(target="rooms", features=("sex", "old"))


def runs() -> tuple[list[ReleasedTables], dict[Any, np.ndarray]]:
    """Releases of the same rows, and their exact counts."""
    first = released(0.02, asked={"columns": ("sex", "old", "rooms"), "ways": 2}, data=small())
    workload = first.plan.workload
    counts: dict[Any, np.ndarray] = {(): np.array(3_000)}
    for places in workload.closure[1:]:
        codes = np.array([[r[place] if place < 2 else r[place] - 1 for place in places] for r in rows()])
        edges = [np.arange(workload.sizes[place] + 1) - 0.5 for place in places]
        counts[places] = np.histogramdd(codes, edges)[0].astype(np.int64)
    source = SeededSource(1)
    each = [replace(first, integers=noisy_residuals(first.plan, counts, source)) for _ in range(RUNS)]
    return each, counts


def rows() -> list[tuple[float, float, float]]:
    return [(float(r["sex"] == "m"), float(r["old"]), float(r["rooms"])) for r in small().to_pylist()]


def missed(each: list[ReleasedTables]) -> int:
    """How often some exact coefficient was outside its interval."""
    known = np.linalg.lstsq(np.array([[1.0, *r[:2]] for r in rows()]), [r[2] for r in rows()], rcond=None)[0]
    outside = 0
    for tables in each:
        found = released_coefficients(tables, RegressionTerms.of(TWO, tables.planned))
        assert found is not None
        ends = [one for one in found if one is not None]
        outside += not all(low <= value <= high for (_, low, high), value in zip(ends, known, strict=True))
    return outside


def is_noise(each: list[ReleasedTables]) -> bool:
    """Whether sums over pairs of columns err as they were paid to: of a sound release false with probability
    10⁻⁶ or less.

    By Laurent and Massart's bounds of a χ² of one degree for each run: the mean of squares that hang together
    has no larger moments than one of them.
    """
    about = np.array([[1.0, a, b, 2 * c - 5] for a, b, c in rows()])
    exact, squares = about.T @ about, []
    for tables in each:
        terms = RegressionTerms.of(TWO, tables.planned)
        for (i, j, places, weights), (_, found) in zip(
            terms.pairs(), released_sums(tables, terms), strict=True
        ):
            if i < j and len(places) == 2:
                error = float(found) - exact[i, j]
                squares.append(error**2 / float(variance_of(tables.plan, places, weights)[0]))
    log, mean = math.log(2 / FALSE_ALARM), float(np.mean(squares))
    return 1 - 2 * math.sqrt(log / RUNS) <= mean <= 1 + 2 * math.sqrt(log / RUNS) + 2 * log / RUNS


def test_intervals_hold_and_the_noise_is_that_which_was_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were an interval missed with probability 5 %, 14 or more of 60 would be with 10⁻⁶ or less."""
    each, counts = runs()
    assert missed(each) < 14
    assert is_noise(each)
    # Planted: the data is looked at once more, unpaid, for sums without noise.
    bare = {places: residual_integers(own) for places, own in counts.items()}
    assert not is_noise([replace(one, integers=bare) for one in each])
    # Planted: intervals that forget the noise.
    monkeypatch.setattr(regression_noise, "chi_square_point", lambda freedom, tail: 1e-12)
    assert missed(each[:20]) >= 14


def test_what_it_is_compared_with_is_paid_before_it_is_read_and_the_rest_is_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    question = TablesQuestion(columns=("sex", "ward"), ways=2, rho=0.02)
    asked = RegressionAsked(target="rooms", features=("old",), rho=0.01)
    with PrivateTable(people(), policy=POLICY, ledger="sqlite://") as table:
        entries_at_reading: list[int] = []
        run = type(table.engine).run

        def watched(engine: Any, statement: Any) -> Any:
            entries_at_reading.append(len(table.ledger.entries()))
            return run(engine, statement)

        with monkeypatch.context() as patch:
            patch.setattr(type(table.engine), "run", watched)
            found, compared = release_for_file(
                table, question, asked.question(question), source=SeededSource(1)
            )
            assert set(entries_at_reading) == {2}
            assert [round(one.spend.rho, 3) for one in table.ledger.entries()] == [0.02, 0.01]
            entries_at_reading.clear()
            again = release_for_file(table, question, asked.question(question), source=SeededSource(2))
        assert entries_at_reading == []
        assert [one is not None and one.repeated for one in again] == [True, True]
        assert len(table.ledger.entries()) == 2
    assert compared is not None
    with pytest.raises(InvalidQuery, match=r"columns of the tables: sex, ward\. Got `rooms`"):
        compare_regression(synthesize(found, seed=1), asked, compared)
    whole = synthesize(released(0.02), seed=1)  # the table is closed by now
    told = compare_regression(whole, asked, compared)
    assert told.released is compared
    assert told.inside is not None


def test_both_are_paid_or_none() -> None:
    question = TablesQuestion(columns=("sex", "ward"), ways=2, rho=0.02)
    own = RegressionAsked(target="rooms", features=("old",), rho=0.01).question(question)
    policy = POLICY | {"caps": {"rho": 0.025}}
    for asked in (
        question,
        ChoiceQuestion(TablesQuestion(columns=("sex", "ward", "old"), ways=2, rho=0.02), 1),
    ):
        with PrivateTable(people(), policy=policy, ledger="sqlite://") as table:
            with pytest.raises(BudgetExceeded):
                release_for_file(table, asked, own)
            assert table.ledger.entries() == []


def test_a_price_of_its_own_is_said_with_the_rows_that_are_asked_about() -> None:
    question = TablesQuestion(columns=("sex", "ward"), ways=2, rho=0.02, where="rooms > 1")
    own = RegressionAsked(target="rooms", features=("old",), epsilon=0.1).question(question)
    assert own is not None
    assert (own.where, own.epsilon, own.columns, own.ways) == ("rooms > 1", 0.1, ("rooms", "old"), 2)
    assert RegressionAsked(target="rooms", features=("old",)).question(question) is None
    planned = own.planned(Policy.model_validate({**POLICY, "caps": {"epsilon": 1.0, "delta": 1e-6}}))
    kept = "that have a listed key in each of rooms, old, where rooms > 1."
    assert planned.about.startswith(f"All tables and margins are about the rows {kept}")


@pytest.mark.parametrize(
    ("target", "features", "message"),
    [
        ("age", ("sex",), "must be columns of the tables: sex, old, rooms, ward. Got `age`"),
        ("sex", ("sex",), "each once. Got `sex` twice"),
        ("rooms", ("old", "old"), "each once. Got `old` twice"),
        ("ward", ("sex",), "which has 3 keys that are text"),
        ("rooms", ("home",), "two keys or more. Got `home`"),
        ("rooms", ("town",), "no more than 20 numbers"),
        ("rooms", ("old", "sex"), "Not released: sex × rooms"),
    ],
)
def test_what_cannot_be_regressed_is_refused_in_one_line(
    target: str, features: tuple[str, ...], message: str
) -> None:
    more = {"home": {"keys": ["here"]}, "town": {"keys": [f"t{place}" for place in range(40)]}}
    policy = Policy.model_validate(POLICY | {"columns": POLICY["columns"] | more})
    columns = ("sex", "ward", "old", "rooms", *(name for name in more if name in features))
    tables = [{"columns": ["sex", "old"]}, {"columns": ["old", "rooms"]}, {"columns": columns, "ways": 1}]
    planned = TablesQuestion(tables=tables, rho=0.01).planned(policy)
    with pytest.raises(InvalidQuery, match=message) as told:
        RegressionTerms.of(RegressionAsked(target=target, features=features), planned).require_released()
    assert "\n" not in str(told.value)


@functools.cache
def comparable() -> Any:
    """A file that is compared with another release of tables like its own."""
    file = synthesize(released(0.5), rows=100, seed=1)
    assert compare_regression(file, ASKED, released(0.5, seed=2)).inside is not None
    return file


@pytest.mark.parametrize(
    ("column", "keys"),
    [
        ("ward", ["north", "west", "south"]),  # the coefficients of south and west would change places
        ("ward", ["south", "north", "west"]),  # they would be differences from another key
        ("ward", ["north", "south"]),
        ("rooms", [1, 2, 3, 4, 5]),
        ("old", ["false", "true"]),
    ],
)
def test_tables_with_other_keys_are_not_compared(column: str, keys: list[Any]) -> None:
    file = comparable()
    policy = {**POLICY, "columns": {**POLICY["columns"], column: {"keys": keys}}}
    data = people()
    if column == "old":
        old = pyarrow.array(["true" if one else "false" for one in data["old"].to_pylist()])
        data = data.set_column(data.column_names.index("old"), "old", old)
    other = released(0.5, policy=policy, data=data)
    with pytest.raises(InvalidQuery, match=rf"Those of `{column}` differ\.") as told:
        compare_regression(file, ASKED, other)
    assert "\n" not in str(told.value)


def test_what_the_noise_hides_and_what_rows_do_not_tell_apart_has_no_number() -> None:
    hidden = compare_regression(synthesize(released(1e-7), rows=50, seed=1), ASKED)
    assert {(one.released, one.lower, one.upper) for one in hidden.coefficients} == {(None, None, None)}
    assert hidden.inside is None
    alone = compare_regression(synthesize(released(0.5), rows=1, seed=1), ASKED)
    assert {one.file for one in alone.coefficients} == {None}
    assert all(one.released is not None for one in alone.coefficients)


def test_a_target_of_two_keys_counts_the_second() -> None:
    found = compare_regression(
        synthesize(released(5_000.0), seed=1), RegressionAsked(target="sex", features=("old",))
    )
    rows = people().to_pylist()
    women = [row["sex"] == "m" for row in rows if not row["old"]]
    assert found.target_key == "m"
    assert found.coefficients[0].released == pytest.approx(np.mean(women), abs=0.02)
