"""The rows of a person are counted alike on every engine: with conditions, groups, ids that are missing."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from engines.test_row_key import ENGINES, MOST, PEOPLE, Row, holding, policy, rows_of_people, totals


def by_hand(rows: list[Row], up_to: int, wards: str) -> list[int]:
    """In each of these wards, or in both together, how many people have one row, two, and so on."""
    found = []
    for ward in wards.split():
        sizes = Counter(row[0] for row in rows if row[2] in ward and row[0] is not None)
        people = Counter(min(n, up_to) for n in sizes.values())
        found += [people[n] for n in range(1, up_to + 1)]
    return found


@pytest.mark.parametrize("kind", ENGINES)
def test_every_engine_counts_people_by_their_rows(kind: str, request: Any) -> None:
    nobody: list[Any] = [(None, "n", "a", 1.0, 1.0)] * 4
    rows = rows_of_people() + nobody
    asked: dict[str, Any] = {"statistic": "rows_per_person", "up_to": 7}
    with holding(kind, rows, request) as engine:
        for most, groups in ((1, None), (2, 2), (1000, 1000)):
            rules = policy(most, groups=groups)
            choices = totals(engine, rules, **asked)
            assert len(choices) == 3
            assert all(one == by_hand(rows, 7, "ab") for one in choices)
            heavy = [row for row in rows if row[3] >= 8]
            assert totals(engine, rules, **asked, where="x >= 8")[0] == by_hand(heavy, 7, "ab")
        assert totals(engine, policy(2), **asked, by=("d",))[0] == by_hand(rows, 7, "a b")
        # One of two wards each: all are counted once, where the seed says.
        limited = policy(5, groups=1)
        ones = totals(engine, limited, **asked, by=("d",))[0]
        assert sum(ones) == sum(person % (MOST + 1) > 0 for person in range(PEOPLE))
        assert all(a <= b for a, b in zip(ones, by_hand(rows, 7, "a b"), strict=True))
        people = totals(engine, limited, statistic="distinct", by=("d",))[0]
        assert [sum(ones[:7]), sum(ones[7:])] == people
        assert totals(engine, limited, "other", **asked, by=("d",))[0] != ones
        many = totals(engine, policy(), statistic="rows_per_person", up_to=3000)[0]
        assert sum(many) == sum(ones)
