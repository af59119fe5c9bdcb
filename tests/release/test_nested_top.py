"""The largest keys of a column within those of the groups: among each group's own, and as many as it has.

False alarm over the choice of seeds: 10⁻⁶. Draws that take a neighbouring group's counts are caught.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest
from scipy.stats import chi2

from leakcap.errors import InvalidQuery
from leakcap.policy import load_policy
from leakcap.release import PrivateTable, Query
from leakcap.release.measurements import permute_and_flip
from leakcap.release.measurements.permute_and_flip import TopMeasurement
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.price import price_of
from release.nested import CHAIN, LAND, PAIRS, POLICY, hostile_rows
from release.test_top import law
from seeded import ALARM, SeededSource

GROUPS: list[tuple[dict[str, Any], tuple[str, ...], str]] = [
    (POLICY, ("region",), "district"),
    (POLICY, ("sex", "region"), "district"),
    (POLICY, ("region", "district"), "sex"),
    (CHAIN, ("state", "region"), "town"),
]


@pytest.mark.parametrize(("policy", "by", "column"), GROUPS)
@pytest.mark.parametrize("top", [1, 2])
def test_without_noise_they_are_the_largest_of_each_group(
    policy: dict[str, Any], by: tuple[str, ...], column: str, top: int
) -> None:
    """Against plain Python, with an ε so large that noise is none."""
    rows = hostile_rows(3)
    if policy is CHAIN:
        draw = np.random.default_rng(4)
        words: dict[str, list[Any]] = {
            "state": [1, 2],
            "region": ["north", "south"],
            "town": ["a", "b", "c", "?"],
        }
        rows = {
            name: [one[place] for place in draw.integers(len(one), size=300)] for name, one in words.items()
        }
    with PrivateTable(pyarrow.table(rows), policy=policy, ledger="sqlite://") as table:
        found = table.top(column, top, by=list(by), epsilon=1e5)
        again = table.top(column, top, by=list(by), epsilon=1e5)
        cells = table.count(by=[*by, column], epsilon=1e5).rows
    counts = Counter(zip(*(rows[name] for name in (*by, column)), strict=True))
    expected: dict[tuple[Any, ...], list[int]] = {}
    for row in cells:
        *group, own = row.keys.values()
        expected.setdefault(tuple(group), []).append(counts[(*group, own)])
    told: dict[tuple[Any, ...], list[int]] = {}
    for row in found.rows:
        group = tuple(row.keys[name] for name in by)
        assert row.value == counts[(*group, row.keys[column])]
        assert row.keys["rank"] == len(told.setdefault(group, [])) + 1
        told[group].append(int(row.value))
    assert told == {group: sorted(own, reverse=True)[:top] for group, own in expected.items()}
    assert again.repeated
    assert again.rows == found.rows
    if by == ("region",):
        assert {(row.keys["region"], row.keys["district"]) for row in found.rows} <= set(PAIRS)


def drawn(runs: int) -> dict[tuple[int, ...], int]:
    """What was chosen in the group of three, between one of two and one of one, again and again."""
    counts = [9, 1, 3, 5, 4, 7] * runs
    scale = Fraction(3, 2)
    plan = plan_query(
        Query(name="q", statistic="top", column="district", top=2, by=("region",), epsilon=1.0),
        load_policy(POLICY),
    )
    part = plan.parts[0]
    assert isinstance(part, TopMeasurement)
    assert part.sizes == tuple(map(len, LAND.values()))
    known = {name: getattr(part, name) for name in part.__dataclass_fields__}
    many = TopMeasurement(**{**known, "scale": scale, "sizes": part.sizes * runs})
    found = many.draw(np.array(counts), SeededSource(1)).reshape(runs, 2 + 2 + 1)
    assert (np.sort(found[:, :2]) == [0, 1]).all()
    assert (found[:, 4] == 0).all()
    return Counter(map(tuple, found[:, 2:4].tolist()))


def misfit(seen: dict[tuple[int, ...], int], runs: int) -> float:
    wanted = law((3, 5, 4), 2, 1.5)
    assert sum(seen.values()) == runs
    return float(
        chi2.sf(
            sum((seen.get(a, 0) - runs * p) ** 2 / (runs * p) for a, p in wanted.items()), len(wanted) - 1
        )
    )


def test_draws_have_the_law_of_the_group_alone() -> None:
    assert misfit(drawn(8000), 8000) > ALARM


def test_counts_of_another_group_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: groups are taken to begin one cell later."""
    plain = permute_and_flip.picked
    monkeypatch.setattr(permute_and_flip, "picked", lambda counts, *more: plain(np.roll(counts, 1), *more))
    assert misfit(drawn(2000), 2000) < ALARM


def test_the_largest_region_of_a_district_is_refused() -> None:
    """It has one."""
    columns = POLICY["columns"] | {"district": {"within": "region", "keys": LAND | {"South": ["P"]}}}
    query = Query(name="q", statistic="top", column="region", top=1, by=("district",), epsilon=1.0)
    with pytest.raises(InvalidQuery, match="must not have both `region` and `district`"):
        plan_query(query, load_policy({**POLICY, "columns": columns}))


def test_the_price_is_that_of_any_choice_of_two() -> None:
    """And what the whole table tells is no more than how many answers there are."""
    asked: dict[str, Any] = {"name": "q", "statistic": "top", "top": 2, "epsilon": 0.3}
    nested = plan_query(
        Query(**asked, column="district", by=("region",)), load_policy({**POLICY, "max_rows": 900})
    )
    flat = plan_query(Query(**asked, column="sex", by=("region",)), load_policy(POLICY))
    assert price_of(nested).epsilon == price_of(flat).epsilon == 0.3
    assert [part.loss for part in nested.parts] == [part.loss for part in flat.parts]
    # Two of two, two of three and one of one: 2 · 6 · 1 answers.
    assert np.log(12) <= nested.parts[0].table_nats(900) < np.log(12) * (1 + 1e-9)
