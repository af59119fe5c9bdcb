"""Tables as they are released: what is counted, what is paid, what the intervals hold, what is refused."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from leakcap.errors import BudgetExceeded, DataError, InvalidInput, InvalidParameter
from leakcap.release import Policy, PrivateTable, attach, load_policy
from leakcap.tables import TablesQuestion, reading, release_tables
from leakcap.tables import release as releasing
from leakcap.tables.answer import ReleasedTables, half_width
from leakcap.tables.charge import spend_of_tables
from leakcap.tables.reading import counts_of, statements_of_tables
from leakcap.tables.residuals import margin_of, noisy_residuals, residual_integers
from leakcap.tables.widths import NORMAL
from seeded import SeededSource

COLUMNS: dict[str, dict[str, Any]] = {
    "sex": {"keys": ["f", "m"]},
    "ward": {"keys": [3, 1, 2]},
    "smokes": {"keys": [True, False]},
    "age": {"bounds": [0.0, 100.0]},
    "band": {"from": "age", "cuts": [30.0, 60.0]},
}
CAPS = {"epsilon": 20.0, "delta": 1e-6}
PAIRS = TablesQuestion(columns=("sex", "ward", "smokes", "band"), ways=2, rho=0.05, where="age < 90")


def policy_of(**changes: Any) -> Policy:
    plain = {"dataset": "d", "neighbours": "add-remove-one", "caps": CAPS, "columns": COLUMNS}
    return load_policy({**plain, **changes})


def rows_of(size: int, seed: int = 4) -> list[dict[str, Any]]:
    """Rows of which some have a key that is missing, or none of the policy's."""
    rng = np.random.default_rng(seed)
    return [
        {
            "id": int(rng.integers(0, max(1, size // 4))),
            "sex": ["f", "m", "x", None][rng.choice(4, p=[0.5, 0.4, 0.05, 0.05])],
            "ward": [1, 2, 3, 9, None][rng.choice(5, p=[0.5, 0.3, 0.1, 0.05, 0.05])],
            "smokes": [True, False, None][rng.choice(3, p=[0.3, 0.65, 0.05])],
            "age": [float(rng.integers(0, 120)), math.nan][int(rng.random() < 0.05)],
        }
        for _ in range(size)
    ]


SCHEMA = pyarrow.schema(
    [("id", "int64"), ("sex", "string"), ("ward", "int64"), ("smokes", "bool"), ("age", "double")]
)


def table_of(rows: list[dict[str, Any]]) -> pyarrow.Table:
    return pyarrow.Table.from_pylist(rows, schema=SCHEMA)


def cell_of(row: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Where a row counts, worked out in Python; None where it does not."""
    if row["sex"] not in ("f", "m") or row["ward"] not in (1, 2, 3) or row["smokes"] is None:
        return None
    if math.isnan(row["age"]) or not row["age"] < 90:
        return None
    band = sum(row["age"] >= cut for cut in (30.0, 60.0))
    return ("fm".index(row["sex"]), (3, 1, 2).index(row["ward"]), int(not row["smokes"]), band)


def full_of(rows: list[dict[str, Any]]) -> Any:
    full = np.zeros((2, 3, 2, 3), dtype=np.int64)
    for row in rows:
        cell = cell_of(row)
        if cell is not None:
            full[cell] += 1
    return full


def check_counts(engine: Any, rows: list[dict[str, Any]], policy: Policy) -> None:
    planned = PAIRS.planned(policy)
    counts = counts_of(planned, statements_of_tables(planned, engine), engine)
    full = full_of(rows)
    assert list(counts) == list(planned.plan.workload.closure)
    assert len(counts) == 11
    for table, found in counts.items():
        assert np.array_equal(found, full.sum(axis=tuple(i for i in range(4) if i not in table)))


@pytest.mark.parametrize("size", [0, 1, 500])
def test_the_counts_are_those_of_the_rows_with_a_key_in_every_column(size: int) -> None:
    rows = rows_of(size)
    check_counts(attach(table_of(rows)), rows, policy_of())


def test_every_file_and_frame_has_the_same_counts(tmp_path: Path) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    rows = rows_of(300)
    pyarrow.parquet.write_table(table_of(rows), tmp_path / "d.parquet")
    pyarrow.csv.write_csv(table_of(rows), tmp_path / "d.csv")
    for data in (tmp_path / "d.parquet", tmp_path / "d.csv", table_of(rows).to_pandas()):
        check_counts(attach(data), rows, policy_of())


def test_many_tables_are_counted_by_several_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of one statement share no column with the next, some, or all."""
    rows = rows_of(200)
    engine = attach(table_of(rows))
    monkeypatch.setattr(reading, "gathered", lambda tables, sizes: list(tables))
    for most in (1, 2, 4):
        monkeypatch.setattr(reading, "_AT_ONCE", most)
        assert len(reading.statements_of_tables(PAIRS.planned(policy_of()), engine)) == math.ceil(6 / most)
        check_counts(engine, rows, policy_of())


def test_a_table_of_no_column_counts_all_rows() -> None:
    rows = rows_of(200)
    engine = attach(table_of(rows))
    known = [row for row in rows if row["age"] < 90]
    asked = TablesQuestion(tables=[{"columns": []}], rho=1.0, where="age < 90").planned(policy_of())
    found = counts_of(asked, statements_of_tables(asked, engine), engine)
    assert {table: int(one) for table, one in found.items()} == {(): len(known)}


def test_one_charge_that_is_repeated_for_free_and_verified() -> None:
    with PrivateTable(table_of(rows_of(300)), policy=policy_of(), ledger="sqlite://", version="1") as private:
        first = release_tables(private, PAIRS)
        again = release_tables(private, PAIRS)
        fresh = release_tables(private, PAIRS, fresh=True)
        other = release_tables(private, PAIRS.model_copy(update={"rho": 0.06}))
        assert [one.repeated for one in (first, again, fresh, other)] == [False, True, False, False]
        assert len(private.ledger.entries()) == 3
        private.ledger.verify()
        for table in first.plan.workload.closure:
            names = first.plan.workload.named(table)
            assert np.array_equal(first.table(*names).values, again.table(*names).values)
        assert any((first.integers[t] != fresh.integers[t]).any() for t in first.integers)
        assert first.entry == again.entry != fresh.entry
        assert math.isclose(first.spend.rho, float(first.plan.rho), rel_tol=1e-9)


def test_the_charge_is_that_of_all_tables_together() -> None:
    """The ledger's own reading of the event, and the curve of ρ."""
    from leakcap.ledger.curve import ORDERS

    for changes in ({}, {"neighbours": "replace-one", "rows": 40}, {"unit": {"id": "id", "max_rows": 3}}):
        policy = policy_of(**changes)
        plan = PAIRS.planned(policy).plan
        spend = spend_of_tables(plan, policy)
        assert plan.rows == (3 if "unit" in changes else 1)
        for order, nats in zip(ORDERS, spend.curve or (), strict=True):
            assert float(plan.rho) * order <= nats <= float(plan.rho) * order * (1 + 1e-9)
        assert float(plan.rho) <= spend.rho <= 0.05 + 1e-12
        assert spend.nats_person <= spend.rho * (1 + 1e-12)


def test_a_person_moves_the_integers_by_no_more_than_is_charged() -> None:
    """All of a person's rows, more than `max_rows` of them, by way of the engine: with and without."""
    policy = policy_of(unit={"id": "id", "max_rows": 3})
    planned = PAIRS.planned(policy)
    rows, far = rows_of(120), 0.0
    own = [dict(rows[0], id=10_000, sex="f", ward=2, smokes=True, age=50.0) for _ in range(6)]
    mixed = [dict(row, id=10_000) for row in rows_of(9, 7)]
    for theirs in (own, mixed, own[:1]):
        vectors = []
        for data in (rows, rows + theirs):
            engine = attach(table_of(data))
            counts = counts_of(planned, statements_of_tables(planned, engine, "5"), engine)
            vectors.append({t: residual_integers(one) for t, one in counts.items()})
        apart = sum(
            Fraction(int(((vectors[0][t] - vectors[1][t]) ** 2).sum())) / variance
            for t, variance in planned.plan.variances.items()
        )
        assert apart / 2 <= planned.plan.rho
        far = max(far, float(apart / 2 / planned.plan.rho))
    assert far == pytest.approx(1.0)


def releases(count: int, rho: float) -> Any:
    """Seeded releases of one table, and its exact counts."""
    rows = rows_of(400)
    question = TablesQuestion(
        tables=({"columns": ("sex", "ward")}, {"columns": ("ward", "smokes", "band"), "weight": 2.0}), rho=rho
    )
    full = full_of(rows)
    with PrivateTable(
        table_of(rows), policy=policy_of(caps={"rho": 9.0, "delta": 1e-6}), ledger="sqlite://"
    ) as private:
        planned = question.planned(private.policy)
        engine = private.engine
        counts = counts_of(planned, statements_of_tables(planned, engine), engine)
        source = SeededSource(77)
        spend = spend_of_tables(planned.plan, private.policy)
        for _ in range(count):
            noisy = noisy_residuals(planned.plan, counts, source)
            yield ReleasedTables(planned, noisy, spend, 1, False), counts
    assert full.sum() > 0


def covered(count: int, rho: float, half: float = 1.0) -> list[float]:
    """How often each cell of each table, a difference and a ratio of sums lie in their intervals."""
    held: dict[Any, int] = {}
    for found, counts in releases(count, rho):
        for table, exact in counts.items():
            one = found.table(*found.plan.workload.named(table))
            inside = np.abs(one.values - exact) <= one.half_width * half
            for place, yes in np.ndenumerate(inside):
                held[table, place] = held.get((table, place), 0) + int(yes)
        sums = found.sum_of([({"sex": "f", "ward": 1}, 1), ({"sex": "m", "ward": 1}, -1)])
        sex, ward = 0, 1
        truth = counts[sex, ward][0, 1] - counts[sex, ward][1, 1]
        middle, width = (sums.low + sums.high) / 2, (sums.high - sums.low) / 2
        held["difference"] = held.get("difference", 0) + int(abs(middle - truth) <= width * half)
    return [times / count for times in held.values()]


def test_every_interval_covers() -> None:
    """300 releases. At 95 % a share below .90 has a chance below 2·10⁻⁴ for one cell, and 10⁻² for all 50."""
    for rho in (0.02, 2.0):
        shares = covered(300, rho)
        assert len(shares) == 1 + 6 + 18 + 2 + 3 + 2 + 3 + 6 + 9 + 6 + 1
        assert min(shares) > 0.90
        assert np.mean(shares) > 0.945
        assert np.mean(shares) < 0.99


def test_half_of_an_interval_is_caught() -> None:
    assert min(covered(100, 0.02, half=0.5)) < 0.80


def test_tables_agree_and_sums_are_those_of_their_cells() -> None:
    found, _ = next(iter(releases(1, 0.1)))
    wards = found.table("ward")
    for columns, axis in ((("sex", "ward"), 0), (("ward", "smokes"), 1), (("ward", "band"), 1)):
        assert np.allclose(found.table(*columns).values.sum(axis=axis), wards.values, atol=1e-9)
    parts = found.sum_of([({"sex": s, "ward": w}, 1) for s, w in itertools.product("fm", (1, 2, 3))])
    total = found.sum_of([({}, 1)])
    assert parts.value == pytest.approx(total.value)
    assert found.table().values == pytest.approx(total.value)
    # A sum of cells has the width of the total but for the steps of its parts' noise.
    assert total.high - total.low <= parts.high - parts.low < 1.5 * (total.high - total.low)
    for keys, estimate in wards.cells:
        assert estimate.low < estimate.value < estimate.high
        assert found.sum_of([({"ward": keys[0]}, 1)]).value == pytest.approx(estimate.value)


def test_an_interval_is_about_the_fraction_and_not_its_double() -> None:
    found, _ = next(iter(releases(1, 0.1)))
    for table in found.plan.workload.closure:
        top, bottom = margin_of(found.plan.workload, found.integers, table)
        half = half_width(found.plan, [(table, Fraction(1))], found.plan.variance(table))
        exact = [Fraction(int(number), bottom) for number in np.ravel(top)]
        for (_, cell), one in zip(found.table(*found.plan.workload.named(table)).cells, exact, strict=True):
            assert Fraction(cell.low) <= one - half
            assert Fraction(cell.high) >= one + half


def test_the_normal_point_is_beyond_that_of_the_level() -> None:
    from mpmath import mp, ncdf

    with mp.workdps(40):
        left = mp.mpf(1) / 40 - ncdf(-mp.mpf(NORMAL.numerator) / NORMAL.denominator)
        assert 1e-14 < left < 1e-11


def refused(question: Any, policy: Policy, data: Any = None) -> str:
    with PrivateTable(
        table_of(rows_of(40)) if data is None else data, policy=policy, ledger="sqlite://"
    ) as private:
        with pytest.raises((InvalidInput, DataError, BudgetExceeded)) as error:
            release_tables(private, question())
        assert private.ledger.entries() == []
    assert "\n" not in str(error.value)
    return str(error.value)


POSITIVE = "must be positive and finite. Got"
SEX = {"columns": ("sex",)}
SEX_WARD = {"columns": ("sex", "ward"), "ways": 2}


@pytest.mark.parametrize(
    ("asked", "changes", "says"),
    [
        ({"columns": ("sex", "age"), "ways": 2, "rho": 0.1}, {}, "with public `keys`. Got `age`"),
        ({"columns": ("sex", "nobody"), "ways": 2, "rho": 0.1}, {}, "Got `nobody`"),
        ({**SEX_WARD}, {}, "must have `rho` or `epsilon`, not both"),
        ({**SEX_WARD, "rho": 1.0, "epsilon": 1.0}, {}, "`rho` or `epsilon`, not both"),
        ({"columns": ("sex",), "rho": 1.0}, {}, "`columns` and `ways`, or `tables`"),
        ({"ways": 2, "rho": 1.0}, {}, "`columns` and `ways`, or `tables`"),
        ({**SEX_WARD, "tables": (SEX,), "rho": 1.0}, {}, "`columns` and `ways`, or `tables`"),
        ({"columns": ("sex", "sex"), "ways": 2, "rho": 1.0}, {}, "Got `sex` twice"),
        ({"columns": ("sex",), "ways": 2, "rho": 1.0}, {}, "`ways` of tables `tables` must be at most 1,"),
        ({"tables": (SEX_WARD | {"ways": 3},), "rho": 1.0}, {}, "`ways` of tables `tables` must be at"),
        *(
            ({**SEX_WARD, price: number}, {}, f"`{price}` of tables `tables` {POSITIVE} {number}.")
            for price in ("rho", "epsilon")
            for number in (-1.0, 0.0, math.nan, math.inf)
        ),
        ({**SEX_WARD, "rho": 1e-300}, {}, "must be large enough that noise can be drawn for it. Got 1e-300."),
        (
            {**SEX_WARD, "rho": 1.0, "where": "nobody = 1", "name": "pairs"},
            {},
            "`where` of tables `pairs` names `nobody`",
        ),
        ({**SEX_WARD, "rho": 1.0}, {"caps": {"epsilon": 1.0}}, "needs a δ for all answers together"),
        ({**SEX_WARD, "rho": 0.5}, {"caps": {"epsilon": 0.5, "delta": 1e-6}}, "othing was spent"),
        ({**SEX_WARD, "rho": 0.1}, {"neighbours": "replace-one", "rows": 41}, "Nothing was spent"),
        ({**SEX_WARD, "epsilon": 1.0}, {"caps": {"rho": 1.0}}, "`caps` have no `delta`. Ask for a"),
        *(
            (
                {"tables": ({**SEX, "weight": number},), "rho": 1.0}, {},
                f"`weight` of tables `tables` {POSITIVE} {number}.",
            )
            for number in (0.0, -1.0, math.nan, math.inf)
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_and_nothing_is_spent(asked: Any, changes: Any, says: str) -> None:
    assert says in refused(lambda: TablesQuestion(**asked), policy_of(**changes))


def test_a_table_without_the_columns_is_refused_from_its_schema() -> None:
    data = table_of(rows_of(9)).drop_columns(["ward"])
    assert "no column `ward`" in refused(lambda: PAIRS, policy_of(), data)


def test_what_was_not_asked_for_is_no_table() -> None:
    found, _ = next(iter(releases(1, 0.1)))
    with pytest.raises(InvalidParameter, match="asked for, or a margin of one"):
        found.table("sex", "smokes")
    with pytest.raises(InvalidParameter, match=r"one of its public keys\. Got 'z'"):
        found.sum_of([({"sex": "z"}, 1.0)])
    for weight in (math.nan, math.inf, 1e308, 10**400, True, "1"):
        with pytest.raises(InvalidParameter, match="`weight` of `sum_of` must be a finite number"):
            found.sum_of([({"sex": "f"}, weight)])  # type: ignore[list-item]


def test_a_failure_after_the_commit_stays_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise DataError("The engine stopped.")

    with PrivateTable(table_of(rows_of(40)), policy=policy_of(), ledger="sqlite://") as private:
        monkeypatch.setattr(releasing, "counts_of", broken)
        with pytest.raises(DataError, match="stays"):
            release_tables(private, PAIRS)
        assert len(private.ledger.entries()) == 1
