"""Margins and contingency tables of keys within keys: sums over the listed pairs."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pyarrow
import pytest

from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, Query
from leakcap.release.planning.plan import plan_query
from leakcap.release.results.margins import with_margins
from release.nested import LAND, PAIRS, POLICY, exact, hostile_rows
from seeded import SeededSource


def test_margins_are_sums_over_the_districts_of_each_region() -> None:
    """Regions have different numbers of districts: each sum has the law of as many noises as it is of."""
    rows = hostile_rows(3)
    with PrivateTable(pyarrow.table(rows), policy=POLICY, ledger="sqlite://") as table:
        release = table.count(by=["region", "district", "sex"], epsilon=0.1)
        found = with_margins(release, table.policy)
        noise = release.drawn.parts[0].noise  # type: ignore[union-attr]
        values = {tuple(row.keys.values()): (row.value, row.interval) for row in found.rows}
        raw = {tuple(row.keys.values()): row.value for row in release.rows}
    kept = {tuple(word != "total" for word in key) for key in values}
    assert kept == {
        *itertools.product([True], [True], [True, False]),
        *itertools.product([True, False], [False], [True, False]),
    }
    for key, (value, (low, high)) in values.items():
        cells = [cell for cell in raw if all(w in ("total", c) for w, c in zip(key, cell, strict=True))]
        assert value == sum(raw[cell] for cell in cells)
        off = noise.error_of_sum(len(cells), 0.05) if len(cells) > 1 else noise.error(0.05)
        assert high - value == pytest.approx(off), (key, len(cells))
        assert low == pytest.approx(max(0, value - off)) or low == pytest.approx(value - off)
    with PrivateTable(pyarrow.table(rows), policy=POLICY, ledger="sqlite://") as table:
        mean = with_margins(table.mean("age", by=["region", "district"], epsilon=1e4), table.policy)
        told = {tuple(row.keys.values()): row.value for row in mean.rows}
        for region, own in LAND.items():
            ages = [
                age
                for r, d, age in zip(rows["region"], rows["district"], rows["age"], strict=True)
                if r == region and d in own
            ]
            # Wider than the noise of 2·10⁻³ by far: a mean of more than ten rows at ε = 10⁴.
            assert told[region, "total"] == pytest.approx(np.mean(ages), abs=0.5)
        with pytest.raises(InvalidQuery, match="must not keep `district` without `region`"):
            with_margins(table.count(by=["region", "district"], epsilon=0.1), table.policy, [["district"]])


@pytest.mark.parametrize("by", list(itertools.permutations(["district", "sex", "region"])))
@pytest.mark.parametrize("kept", [None, [["region"], []], [["sex", "region"]]])
def test_margins_in_any_order_of_the_columns(by: tuple[str, ...], kept: list[list[str]] | None) -> None:
    """Each is the sum of its own noisy cells, and no other margin stands there."""
    with PrivateTable(pyarrow.table(hostile_rows(4)), policy=POLICY, ledger="sqlite://") as table:
        release = table.count(by=list(by), epsilon=0.1)
        found = with_margins(release, table.policy, kept)
    raw = {tuple(row.keys.values()): row.value for row in release.rows}
    margins = {tuple(row.keys[name] for name in by): row.value for row in found.rows[len(raw) :]}
    labels = {"region": list(LAND), "district": ["total"], "sex": ["f", "m"]}
    wanted = [{"region", "sex"}, {"region"}, {"sex"}, set()] if kept is None else [set(one) for one in kept]
    summed = set()
    for names in wanted:
        summed |= set(itertools.product(*(labels[name] if name in names else ["total"] for name in by)))
    of_pairs = {key for key in margins if key[by.index("district")] != "total"}
    assert margins.keys() - of_pairs == summed
    # The pairs summed over `sex` alone are the only margin that has districts.
    assert len(of_pairs) == (len(PAIRS) if kept is None else 0)
    for key, value in margins.items():
        parts = [raw[c] for c in raw if all(w in ("total", x) for w, x in zip(key, c, strict=True))]
        assert value == sum(parts)


@pytest.mark.parametrize(
    "columns", [*itertools.permutations(["region", "district", "sex"]), ("region", "district")]
)
@pytest.mark.parametrize("by", [(), ("month",)])
def test_a_contingency_table_is_the_count_by_its_columns_with_margins(
    columns: tuple[str, ...], by: tuple[str, ...]
) -> None:
    """The same cells as a count, whose sums by plain Python are the margins; none has districts alone."""
    rows = hostile_rows(7)
    own = ("region", "district", "sex")[: len(columns)]
    with PrivateTable(
        pyarrow.table(rows), policy=POLICY, ledger="sqlite://", source=SeededSource(11)
    ) as table:
        release = table.contingency(list(columns), by=list(by), epsilon=1.0)
        assert release.totals == dict.fromkeys(columns, "total")
        values = {tuple(row.keys[name] for name in (*by, *columns)): row for row in release.rows}
        assert len(values) == len(release.rows)
        plan = plan_query(release.query, table.policy)
        labels = plan.cells.labels()
        cells = list(zip(*(words.tolist() for words in labels.values()), strict=True))
        widths: dict[int, set[float]] = {}
        kept = [
            names
            for size in range(len(own) + 1)
            for names in itertools.combinations(own, size)
            if "district" not in names or "region" in names
        ]
        expected = set[tuple[Any, ...]]()
        for names in kept:
            sums, added = Counter[tuple[Any, ...]](), Counter[tuple[Any, ...]]()
            for cell in cells:
                told = dict(zip((*by, *columns), cell, strict=True))
                key = tuple(told[one] if one in (*by, *names) else "total" for one in (*by, *columns))
                sums[key] += int(values[cell].value)
                added[key] += 1
            assert expected.isdisjoint(sums)
            expected |= set(sums)
            for key, total in sums.items():
                assert values[key].value == total
                low, high = values[key].interval
                widths.setdefault(added[key], set()).add(float(high - low))
        assert expected == set(values)
        assert all(len(one) == 1 for one in widths.values())
        ordered = [widths[added].copy().pop() for added in sorted(widths)]
        assert ordered == sorted(ordered)
        assert len(set(ordered)) > 1
        # A count by the same columns, with all its margins, has these intervals too.
        if not by:
            (part,) = plan.parts
            for added, (width,) in ((added, tuple(one)) for added, one in widths.items()):
                assert width == 2 * part.noise.error_of_sum(added, 0.05)  # type: ignore[attr-defined]


def test_a_contingency_table_of_pairs_counts_listed_pairs_alone() -> None:
    rows = hostile_rows(8)
    query = Query(name="q", statistic="contingency", columns=("district", "region"), epsilon=1.0)
    counted = Counter(zip(rows["district"], rows["region"], strict=True))
    found = exact(query, POLICY, rows)
    assert found == {key[::-1]: counted[key[::-1]] for key in PAIRS}
