"""Tables of columns within columns, counted alike by every engine."""

from __future__ import annotations

from typing import Any

import pytest

from tables.nested.test_nested_release import by_hand, counted, engine_of, policy_of, rows_of


@pytest.mark.parametrize("kind", ["postgresql", pytest.param("spark", marks=pytest.mark.slow)])
def test_every_engine_counts_the_rows_with_a_listed_pair(kind: str, request: Any) -> None:
    rows = rows_of(6)
    found = counted(engine_of(kind, rows, request), policy_of())
    assert len(found) == 7
    for columns, counts in found.items():
        assert counts.tolist() == by_hand(rows, columns).tolist()
