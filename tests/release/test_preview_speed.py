"""A preview plans; it builds no statement. Ten thousand bins cost it no more than their labels do."""

from __future__ import annotations

import time

from leakcap.release import load_policy, preview, query_from

POLICY = {
    "dataset": "ward",
    "neighbours": "add-remove-one",
    "caps": {"epsilon": 1.0},
    "columns": {"age": {"bounds": [0.0, 120.0]}},
}


def test_a_preview_of_many_bins_is_quick() -> None:
    query = query_from(
        {"name": "ages", "statistic": "histogram", "column": "age", "bins": 10_000, "epsilon": 0.1}
    )
    policy = load_policy(POLICY)
    preview([query], policy=policy)
    started = time.process_time()
    (plan,) = preview([query], policy=policy)
    assert time.process_time() - started < 0.5  # growing the search tree took two seconds and more
    assert plan.price.cells == 10_000
