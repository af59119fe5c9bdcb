"""People of several rows: a person who comes or goes stays within ε, with all of their rows.

False alarms over the choice of seeds: 10⁻⁶ a test (`claims.py`). Half the rows paid for is the planted bug.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakcap.release import PrivateTable, query_from
from leakcap.sampling import discrete_laplace
from release.claims import beaten
from release.world import policy_of, table
from seeded import SeededSource

RUNS, EPSILON = 500, 1.0
FEW: list[dict[str, Any]] = [{"id": 1, "d": "a", "k": 1, "f": True, "x": 1.0}]
# Three rows, of which two count.
PERSON: list[dict[str, Any]] = [{"id": 2, "d": "b", "k": 2, "f": False, "x": 9.0}] * 3
QUERIES: list[dict[str, Any]] = [
    {"statistic": "contingency", "columns": ["d", "k"]},
    {"statistic": "ratio", "when": "f"},
    {"statistic": "cumulative", "column": "x", "bins": 3},
    {"statistic": "top", "column": "d", "top": 2},
]


def answers(rows: list[dict[str, Any]], seed: int, query: dict[str, Any]) -> Any:
    policy = policy_of(caps={"epsilon": 1e6}, unit={"id": "id", "max_rows": 2})
    private = PrivateTable(table(rows), policy=policy, ledger="sqlite://", source=SeededSource(seed))
    asked = [query_from({"name": str(i), "epsilon": EPSILON, **query}) for i in range(RUNS)]
    found = private.release(asked, fresh=True)
    return np.array([[(row.value, row.interval[1]) for row in one.rows] for one in found]).reshape(RUNS, -1)


def proofs(seed: int, query: dict[str, Any]) -> list[int]:
    left, right = answers(FEW, seed, query), answers([*FEW, *PERSON], seed + 1, query)
    other = answers([*FEW, *PERSON], seed + 2, query)  # marks that know nothing of what is tested
    marks = [np.quantile(column, [0.1, 0.3, 0.5, 0.7, 0.9]) for column in other.T]
    events = [[one[:, i] >= t for i, own in enumerate(marks) for t in own] for one in (left, right)]
    low = [[one[:, i] <= t for i, own in enumerate(marks) for t in own] for one in (left, right)]
    return beaten([*events[0], *low[0]], [*events[1], *low[1]], EPSILON)


@pytest.mark.slow
@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_a_person_stays_within_epsilon(query: dict[str, Any]) -> None:
    assert proofs(1, query) == []


@pytest.mark.slow
def test_noise_for_one_row_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "leakcap.mechanism.geometric.discrete_laplace",
        lambda b, n, source: discrete_laplace(b / 2, n, source),
    )
    assert proofs(3, QUERIES[0])
