"""Tables of columns within columns as they are released: what is counted, its price, what adds up."""

from __future__ import annotations

import datetime
import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow
import pytest

from engines.held import held
from leakcap.errors import InvalidParameter, InvalidQuery
from leakcap.release import Policy, PrivateTable, exposure_so_far, load_policy
from leakcap.report.records.recovered import released_of
from leakcap.report.records.tables import TablesRecord
from leakcap.statement import statement_of
from leakcap.synthesis import fit_generator
from leakcap.tables import TablesQuestion, reading, release_tables
from leakcap.tables.reading import counts_of, statements_of_tables
from leakcap.tables.residuals import noisy_residuals, residual_integers
from release.nested import CHAIN, LAND, PAIRS, POLICY, hostile_rows
from seeded import SeededSource

QUESTION = TablesQuestion(
    tables=(
        {"columns": ["region", "sex"]},  # type: ignore[arg-type]
        {"columns": ["district", "sex"], "weight": 2},
        {"columns": ["month"]},
    ),
    rho=0.05,
)


def policy_of(**changes: Any) -> Policy:
    return load_policy({**POLICY, **changes})


def rows_of(seed: int = 0) -> list[tuple[Any, ...]]:
    """Region, district, sex and day; pairs that are not listed and missing keys among them."""
    found = hostile_rows(seed)
    days = [datetime.date.fromisoformat(day) for day in found["day"]]
    return list(zip(found["region"], found["district"], found["sex"], days, strict=True))


STORED = {"region": "string", "district": "string", "sex": "string", "day": "date"}


def engine_of(kind: str, rows: list[tuple[Any, ...]], request: Any = None) -> Any:
    return held(kind, STORED, rows, request, "nested_tables")


def counted(engine: Any, policy: Policy, question: TablesQuestion = QUESTION) -> dict[tuple[str, ...], Any]:
    """The exact counts of every table by its columns."""
    planned = question.planned(policy)
    found = counts_of(planned, statements_of_tables(planned, engine), engine)
    return {planned.plan.workload.named(table): one for table, one in found.items()}


def by_hand(rows: list[tuple[Any, ...]], columns: tuple[str, ...]) -> Any:
    """The same in plain Python: a row counts that has a listed pair, a sex and a day."""
    keys = {"sex": ["f", "m"], "month": list(range(1, 13)), "district": PAIRS, "region": list(LAND)}
    axes = [one for one in columns if not (one == "region" and "district" in columns)]
    found = np.zeros([len(keys[one]) for one in axes], dtype=int)
    for region, district, sex, day in rows:
        if (region, district) in PAIRS and sex in ("f", "m") and day is not None and day.year == 2026:
            own = {"sex": sex, "month": day.month, "district": (region, district), "region": region}
            found[tuple(keys[one].index(own[one]) for one in axes)] += 1
    return found


def test_every_table_counts_the_rows_with_a_listed_pair() -> None:
    rows = rows_of()
    found = counted(engine_of("duckdb", rows), policy_of())
    assert set(found) == {
        (), ("region",), ("region", "district"), ("sex",), ("region", "sex"),
        ("region", "district", "sex"), ("month",),
    }  # fmt: skip
    for columns, counts in found.items():
        assert counts.tolist() == by_hand(rows, columns).tolist()
    assert 0 < found[()] < sum(row[0] in LAND for row in rows)


def test_tables_that_lack_the_inner_column_would_count_other_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: each table is read by itself, rows with unlisted pairs too."""

    def alone(planned: Any) -> list[tuple[int, ...]]:
        down = planned.plan.workload.chains.down_to
        return [tuple(sorted({i for one in table for i in down(one)})) for table in planned.maximal]

    monkeypatch.setattr(reading, "gathered", lambda tables, sizes: list(tables))
    rows, policy = rows_of(), policy_of()
    engine = engine_of("duckdb", rows)
    assert counted(engine, policy)["month",].sum() == by_hand(rows, ("month",)).sum()
    monkeypatch.setattr(reading, "_with_listed", alone)
    assert counted(engine, policy)["month",].sum() > by_hand(rows, ("month",)).sum()


def vectors(question: TablesQuestion, policy: Policy, tables: list[list[tuple[Any, ...]]]) -> list[Any]:
    """All that is released of each of the tables, each number over its noise."""
    planned = question.planned(policy)
    plan, found = planned.plan, []
    for rows in tables:
        engine = engine_of("duckdb", rows)
        counts = counts_of(planned, statements_of_tables(planned, engine), engine)
        found.append(np.concatenate([
            residual_integers(counts[t], [plan.workload.bases[i] for i in t]).ravel() / math.sqrt(float(v))
            for t, v in plan.variances.items()
        ]))  # fmt: skip
    return found


KINDS_OF_ROWS = [
    ("North", "Ashby", "f", None), ("North", "Newton", "m", None), ("South", "Newton", "f", None),
    ("West", "Ryde", "f", None), ("North", "Poole", "f", None), (None, "Ashby", "m", None),
]  # fmt: skip
SMALL = TablesQuestion(tables=({"columns": ["region", "sex"]}, {"columns": ["district"]}), rho=0.05)  # type: ignore[arg-type]


@pytest.mark.parametrize("neighbours", ["add-remove-one", "replace-one"])
def test_no_row_moves_what_is_released_farther_than_is_paid_for(neighbours: str) -> None:
    """Every pair of neighbours of one row or two, through the engine; the farthest pays nearly all of it."""
    policy = policy_of(neighbours=neighbours, **({} if neighbours == "add-remove-one" else {"rows": 2}))
    chosen = (itertools.combinations_with_replacement(KINDS_OF_ROWS, n) for n in (0, 1, 2))
    tables = [list(one) for of_size in chosen for one in of_size]
    found = vectors(SMALL, policy, tables)
    rho, farthest = float(SMALL.planned(policy).plan.rho), 0.0
    for (a, one), (b, other) in itertools.combinations(list(zip(tables, found, strict=True)), 2):
        more = len(b) == len(a) + 1 and all(b.count(row) >= a.count(row) for row in a)
        replaced = len(b) == len(a) and sum(min(a.count(row), b.count(row)) for row in set(a)) == len(a) - 1
        # A row that does not count stands for one that is absent.
        if more or (replaced and neighbours == "replace-one"):
            farthest = max(farthest, float(((one - other) ** 2).sum()) / 2)
    assert farthest <= rho * (1 + 1e-9)
    assert farthest > 0.93 * rho


def released(question: TablesQuestion = QUESTION, seed: int = 1, **changes: Any) -> Any:
    data = pyarrow.table(hostile_rows())
    with PrivateTable(data, policy=policy_of(**changes), ledger="sqlite://") as table:
        return release_tables(table, question, source=SeededSource(seed))


def test_districts_add_up_to_regions_and_all_to_one_total() -> None:
    found = released()
    whole = found.table("region", "district", "sex")
    assert whole.columns == ("region", "district", "sex")
    assert whole.keys == (tuple(PAIRS), ("f", "m"))
    assert [keys for keys, _ in whole.cells][:2] == [("North", "Ashby", "f"), ("North", "Ashby", "m")]
    regions = found.table("region", "sex").values
    starts = [0, 2, 5]
    assert np.allclose(np.add.reduceat(whole.values, starts, axis=0), regions, atol=1e-9)
    assert np.allclose(whole.values.sum(axis=1), found.table("district").values, atol=1e-9)
    assert found.table("month").values.sum() == pytest.approx(float(found.table().values), abs=1e-9)
    assert found.table("district", "sex").values.tolist() == whole.values.tolist()
    # A region of one district has that district's count, and its interval.
    west, ryde = found.between({"region": "West"}), found.between({"district": "Ryde"})
    assert west.value == pytest.approx(ryde.value, abs=1e-9)
    assert west.high - west.low == pytest.approx(ryde.high - ryde.low, abs=0.5)


def test_intervals_hold_cells_margins_and_differences() -> None:
    """Of 40 releases at least 90 % each: at 95 % that many misses have a probability below 10⁻⁵ for the cells
    of each table together, and of ·07 for the one difference; the seeds are fixed."""
    rows, policy = rows_of(), policy_of()
    planned, first = QUESTION.planned(policy), released()
    engine = engine_of("duckdb", rows)
    counts = counts_of(planned, statements_of_tables(planned, engine), engine)
    truth = {columns: by_hand(rows, columns) for columns in (("region", "district", "sex"), ("region",))}
    south = truth["region", "district", "sex"].sum(axis=1)[PAIRS.index(("South", "Newton"))]
    inside, apart = dict.fromkeys(truth, 0), 0
    for seed in range(40):
        noisy = noisy_residuals(planned.plan, counts, SeededSource(seed))
        found = replace(first, integers=noisy)
        for columns, exact in truth.items():
            cells = [one for _, one in found.table(*columns).cells]
            inside[columns] += sum(
                one.low <= own <= one.high for one, own in zip(cells, exact.ravel(), strict=True)
            )
        gap = found.sum_of([({"region": "South", "district": "Newton"}, 1), ({"region": "North"}, -1)])
        apart += gap.low <= south - truth["region",][0] <= gap.high
    assert all(count >= 0.9 * 40 * truth[columns].size for columns, count in inside.items())
    assert apart >= 36


def test_asked_in_any_order_it_is_one_question_and_free() -> None:
    other = TablesQuestion(
        tables=(
            {"columns": ["month"]},  # type: ignore[arg-type]
            {"columns": ["sex", "region", "district"], "weight": 1},
            {"columns": ["sex", "region"]},
            {"columns": ["sex", "district"]},
        ),
        rho=0.05,
    )
    with PrivateTable(pyarrow.table(hostile_rows()), policy=policy_of(), ledger="sqlite://") as table:
        first, again = release_tables(table, QUESTION), release_tables(table, other)
        assert (first.text, again.repeated, len(table.ledger.entries())) == (again.text, True, 1)
        for name in (("month",), ("region", "district", "sex"), ("region",)):
            mine = {frozenset(keys): one.value for keys, one in first.table(*name).cells}
            assert mine == {frozenset(keys): one.value for keys, one in again.table(*name).cells}
        table.ledger.verify()
    assert "with district within region" in first.text


def test_three_levels_of_names_that_stand_under_several() -> None:
    rows = {"state": [1, 1, 2, 2, 2], "region": ["north", "south", "north", "north", "south"],
            "town": ["a", "a", "a", "c", "a"], "sex": ["f", "m", "f", "f", "m"]}  # fmt: skip
    question = TablesQuestion(tables=({"columns": ["town", "sex"]}, {"columns": ["state"]}), rho=0.05)  # type: ignore[arg-type]
    with PrivateTable(
        pyarrow.table(rows), policy=CHAIN | {"caps": {"epsilon": 9.0, "delta": 1e-6}}, ledger="sqlite://"
    ) as table:
        with pytest.raises(InvalidQuery, match="must name `region` beside `town`"):
            question.planned(table.policy)
        whole = TablesQuestion(tables=({"columns": ["state", "region", "town"]},), rho=1.0)  # type: ignore[arg-type]
        found = release_tables(table, whole)
    keys = [keys for keys, _ in found.table("town").cells]
    assert keys[:3] == [(1, "north", "a"), (1, "north", "b"), (1, "south", "a")]
    assert len(keys) == 5


def test_a_record_gives_back_what_was_released_and_an_edited_one_is_refused() -> None:
    data = pyarrow.table(hostile_rows())
    with PrivateTable(data, policy=policy_of(), ledger="sqlite://") as table:
        found = release_tables(table, QUESTION)
        total = statement_of(exposure_so_far(table.ledger.entries(), table.policy))
        record = TablesRecord.of(found, total, table.budget())
    record = TablesRecord.model_validate_json(record.model_dump_json(by_alias=True))
    assert record.within == {"district": "region"}
    again = released_of(record)
    for table_ in found.plan.workload.names:
        assert (again.table(*table_).values == found.table(*table_).values).all()
    edited = record.model_copy(update={"within": {}})
    with pytest.raises(InvalidParameter, match="`within` does not follow from the rest"):
        released_of(edited)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"ranges": ("region",)},
            "`ranges` of `Workload` must be of columns whose keys lie within no",
        ),
        ({"prefixes": ("district",)}, "`prefixes` of `Workload` must be of columns whose keys lie within"),
        ({"nested": False}, "must not have both `region` and `district`|must not name `district`"),
    ],
)
def test_what_nested_columns_cannot_be_asked_is_said_in_one_line(changes: Any, words: str) -> None:
    with pytest.raises(InvalidQuery, match=words) as caught:
        QUESTION.model_copy(update=changes).planned(policy_of())
    assert "\n" not in str(caught.value)


def test_two_columns_within_one_are_refused() -> None:
    columns = POLICY["columns"] | {"hospital": {"within": "region", "keys": LAND}}
    asked = TablesQuestion(columns=("region", "district", "hospital"), ways=2, rho=0.05)
    with pytest.raises(InvalidQuery, match="must not have two columns within `region` of which neither"):
        asked.planned(policy_of(columns=columns))


def test_cells_that_cannot_be_are_refused_and_microdata_say_what_to_ask() -> None:
    found = released()
    for keys in ({"region": "North", "district": "Poole"}, {"district": "Newton"}, {"region": "N"}):
        with pytest.raises(InvalidParameter, match="of a cell must be"):
            found.sum_of([(keys, 1)])
    with pytest.raises(InvalidParameter, match="must be single keys"):
        found.between({"region": "North", "district": ("Ashby", "Newton")})
    with pytest.raises(InvalidParameter, match="must be of columns whose keys lie within no other's"):
        found.table("district", cumulative=["district"])
    with pytest.raises(InvalidQuery, match="Ask for the tables with `nested = false`"):
        fit_generator(found)
