"""Groups that tables are counted by: every table is a margin of one, and none is needlessly large."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest

from leakcap.tables import gathering
from leakcap.tables.gathering import gathered

PAIRS_OF_TWELVE = list(itertools.combinations(range(12), 2))
ADULT = [74, 9, 100, 16, 7, 15, 6, 5, 2, 100, 99, 2]


@pytest.mark.parametrize("seed", range(20))
def test_every_table_is_a_margin_of_a_group_and_no_group_is_large(seed: int) -> None:
    draw = np.random.default_rng(seed)
    sizes = draw.choice([1, 2, 7, 30, 200, 20_000], 9).tolist()
    tables = {tuple(sorted(draw.choice(9, draw.integers(0, 5), replace=False).tolist())) for _ in range(15)}
    groups = gathered(list(tables), sizes)
    assert len(groups) <= len(tables)
    for table in tables:
        assert any(set(table) <= set(group) for group in groups)
    for group in groups:
        assert group in tables or math.prod(sizes[place] for place in group) <= 10_000
        assert any(set(table) <= set(group) for table in tables)


def test_it_depends_on_the_tables_alone_and_not_on_their_order() -> None:
    found = gathered(PAIRS_OF_TWELVE, ADULT)
    assert found == gathered(PAIRS_OF_TWELVE[::-1], ADULT)
    assert len(found) < 66 / 2


def test_hundreds_of_columns_are_gathered_in_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = list(itertools.combinations(range(100), 2))
    start = time.process_time()
    assert len(gathered(pairs, [10] * 100)) < len(pairs) / 4
    assert time.process_time() - start < 30
    asked: list[object] = []
    monkeypatch.setattr(gathering, "_brought", lambda *given: asked.append(given) or 0)
    chain = [(place, place + 1) for place in range(2_999)]  # nearly a minute, if each were asked of each
    assert gathered(chain, [2] * 3_000) == chain
    assert not asked
    monkeypatch.undo()
    monkeypatch.setattr(gathering, "_MOST_TABLES", 10)
    assert gathered(pairs, [10] * 100) == pairs
