"""Questions to a file: what was released has its interval, what was not says so; the column of weights."""

from __future__ import annotations

import csv
import itertools
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from command_line import leakcap, record_told, tables_example
from leakcap.errors import InvalidParameter, InvalidQuery
from leakcap.synthesis import Microdata, ask_file, fit_generator, synthesize
from leakcap.tables.boxes import box_sums
from leakcap.tables.residuals import covariance
from leakcap.tables.widths import variance_of
from synthesis.worlds import POLICY, people, released

FILE = "examples/tables/microdata.toml"


@pytest.fixture(scope="module")
def file() -> Microdata:
    return synthesize(released(), rows=1_000, seed=1)


def test_a_box_is_the_sum_of_its_cells_with_their_covariance(file: Microdata) -> None:
    """Against cells added up one by one in fractions, by the covariance of every two of them."""
    found = file.generator.released
    plan, sizes = found.plan, found.plan.workload.sizes
    for table in [(0, 1), (1, 3), (3,)]:
        own = [sizes[place] for place in table]
        for some in itertools.product(*(range(1, size + 1) for size in own)):
            chosen = {place: np.arange(sizes[place]) < many for place, many in zip(table, some, strict=True)}
            cells = list(itertools.product(*map(range, some)))
            weights = {place: own.astype(int).tolist() for place, own in chosen.items()}
            variance, steps = variance_of(plan, table, weights)
            assert variance == sum(covariance(plan, (table, a), (table, b)) for a in cells for b in cells)
            names = plan.workload.named(table)
            keys = found.table(*names).keys
            summed = found.sum_of(
                [({n: k[i] for n, k, i in zip(names, keys, one, strict=True)}, 1.0) for one in cells]
            )
            value, half = box_sums(found, (), chosen)
            assert math.isclose(float(value), summed.value, rel_tol=1e-12)
            # No more than the cells one by one: weights of a box's noises are added up before their size is.
            assert 2 * half <= (summed.high - summed.low) * (1 + 1e-12)
            assert half >= 1.959963984540054 * math.sqrt(variance)
            assert steps >= 0


def test_weights_of_a_box_are_those_of_its_noises(file: Microdata) -> None:
    """Σ|w| and Σw²s² by the noises themselves: each integer of a residual moved by one, one by one."""
    found = file.generator.released
    plan, chosen = found.plan, {1: np.array([True, False, True])}
    variance = steps = Fraction(0)
    start = box_sums(found, (), {**chosen, 3: np.array([True, True, True, False])})[0]
    for part, noisy in found.integers.items():
        for place in np.ndindex(noisy.shape):
            moved = noisy.copy()
            moved[place] += 1
            other = type(found)(
                found.planned, {**found.integers, part: moved}, found.spend, found.entry, found.repeated
            )
            weight = box_sums(other, (), {**chosen, 3: np.array([True, True, True, False])})[0] - start
            exact = Fraction(float(weight)).limit_denominator(20_000)
            variance += exact**2 * plan.variances[part]
            steps += abs(exact)
    assert variance_of(plan, (1, 3), {1: [1, 0, 1], 3: [1, 1, 1, 0]}) == (variance, steps)


def test_what_was_released_has_the_released_interval_and_the_rest_has_none(file: Microdata) -> None:
    found = file.generator.released
    table = ask_file(file, "ward", "sex")
    shown = found.table("sex", "ward")
    assert table.is_released
    assert np.array_equal(table.values, file.counts("ward", "sex") * file.weight)
    assert table.estimates is not None
    assert np.array_equal(table.estimates, shown.values.T)
    assert table.half_width == shown.half_width
    assert {keys: told for keys, _, told in table.cells} == {(b, a): told for (a, b), told in shown.cells}
    total = ask_file(file)
    ((_, value, told),) = total.cells
    assert (value, told) == (pytest.approx(len(file) * file.weight), next(found.table().cells)[1])
    unknown = ask_file(file, "ward", where={"sex": "f", "old": True})
    assert (unknown.is_released, unknown.estimates, unknown.half_width) == (False, None, None)
    assert unknown.values.tolist() == (file.counts("ward", "sex", "old")[:, 0, 1] * file.weight).tolist()
    assert all(told is None for _, _, told in unknown.cells)
    assert ask_file(file, "sex", "ward", "old").is_released is False


def test_exact_counts_lie_in_the_intervals_of_sums_over_keys() -> None:
    """Seeded noise, so that nothing is left to chance: of 40 releases of 12 sums each about 24 of 480 are
    outside; of half the width a third. What is asked of released tables does not hang on the law that rows
    are drawn from, so that one is fitted for all."""
    data, outside, halved, many = people().to_pylist(), 0, 0, 0
    fitted = fit_generator(released(seed=0))
    for seed in range(40):
        file = synthesize(replace(fitted, released=released(seed=seed)), rows=20, seed=1)
        for ward in POLICY["columns"]["ward"]["keys"]:
            for rooms in ([1, 2], [2, 3, 4], [4], [1, 2, 3, 4]):
                answer = ask_file(file, where={"ward": ward, "rooms": rooms})
                exact = sum(row["ward"] == ward and row["rooms"] in rooms for row in data)
                assert answer.estimates is not None
                assert answer.half_width is not None
                off = abs(float(answer.estimates) - exact)
                outside += off > answer.half_width
                halved += off > answer.half_width / 2
                many += 1
    assert many == 480
    assert outside < 55 < halved


def test_frames_say_on_what_an_answer_rests(file: Microdata) -> None:
    known, guessed = ask_file(file, "sex").to_pandas(), ask_file(file, "sex", "ward", "old").to_pandas()
    assert known.columns.tolist() == ["sex", "value", "released", "lower", "upper", "basis"]
    assert set(known["basis"]) == {"released"}
    assert set(guessed["basis"]) == {"modelled"}
    assert guessed["lower"].isna().all()
    assert len(guessed) == 12


@pytest.mark.parametrize(
    ("columns", "where", "message"),
    [
        (("age",), {}, "must be among sex"),
        (("sex", "sex"), {}, "each named once"),
        (("sex",), {"sex": "f"}, "each named once"),
        ((), {"age": 1}, "one of the tables' columns"),
        ((), {"rooms": 5}, "must have keys of `rooms`"),
        ((), {"rooms": True}, "must have keys of `rooms`"),
        ((), {"rooms": "1"}, "must have keys of `rooms`"),
        ((), {"rooms": []}, "must name a key"),
    ],
)
def test_what_the_file_does_not_have_is_refused(
    file: Microdata, columns: tuple[str, ...], where: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidParameter, match=message):
        ask_file(file, *columns, where=where)


def test_weights_add_up_to_what_was_released(file: Microdata, tmp_path: Path) -> None:
    total = float(file.generator.released.table().values)
    frame = file.to_pandas(weights=True)
    assert frame.columns[-1] == "weight"
    assert math.isclose(frame["weight"].sum(), total, rel_tol=1e-12)
    file.write(tmp_path / "p.csv", weights=True)
    with (tmp_path / "p.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert {float(row["weight"]) for row in rows} == {file.weight}
    file.write(tmp_path / "p.parquet", weights=True)
    assert pyarrow.parquet.read_table(tmp_path / "p.parquet") == file.to_arrow(weights=True)
    assert "weight" not in file.to_arrow().column_names


def test_a_weight_that_would_be_taken_for_another_is_refused(tmp_path: Path) -> None:
    taken = {**POLICY, "columns": {**POLICY["columns"], "Weight": POLICY["columns"]["old"]}}
    asked = {"columns": ("sex", "ward"), "ways": 2}
    survey = {
        **POLICY,
        "columns": {**POLICY["columns"], "w": {"bounds": [1.0, 9.0]}},
        "survey": {"weight": "w", "design": "poisson"},
    }
    rows = people().append_column("Weight", people()["old"]).append_column("w", [[2.0] * 4_000])
    for policy, wanted, message in [
        (taken, {"columns": ("sex", "Weight"), "ways": 2}, "the tables have `Weight`"),
        (survey, asked, "stand for a population by `w`"),
    ]:
        file = synthesize(released(asked=wanted, policy=policy, data=rows), rows=5, seed=1)
        for way in (
            file.to_arrow,
            file.to_pandas,
            lambda file=file, **kw: file.write(tmp_path / "a.csv", **kw),
        ):
            with pytest.raises(InvalidQuery, match=message) as caught:
                way(weights=True)
            assert "\n" not in str(caught.value)
            assert not (tmp_path / "a.csv").exists()


def test_weights_by_command_and_file_and_refused_before_anything_is_paid(tmp_path: Path) -> None:
    place = tables_example(tmp_path)
    text = (place / FILE).read_text()
    survey = '[survey]\nweight = "mean_radius"\n[columns]'
    policy = place / "examples/tables/policy.toml"
    kept = policy.read_text()
    policy.write_text(kept.replace("[columns]", survey).replace("[0.0, 50.0]", "[1.0, 50.0]"))
    done = leakcap("synthesize", FILE, "--output", "a.csv", "--weights", cwd=place)
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (2, 1)
    assert "stand for a population by `mean_radius`" in done.stderr
    assert not list(place.rglob("*.db")) + list(place.glob("a.csv"))
    policy.write_text(kept)
    record = record_told("synthesize", FILE, "--output", "a.csv", "--weights", place=place)
    (place / FILE).write_text(text.replace("rows = 500", "rows = 40\nweights = true"))
    other = record_told("synthesize", FILE, "--output", "b.csv", place=place)
    assert (record["weights"], other["weights"], other["rows"]) == (True, True, 40)
    with (place / "b.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert {row["weight"] for row in rows} == {repr(other["weight"])}
    assert ", weight." in " ".join(leakcap("synthesize", FILE, "--output", "b.csv", cwd=place).stdout.split())
