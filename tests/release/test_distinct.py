"""Distinct people: sensitivity by enumeration, ε, coverage, and what the engine counts.

False alarms over the choice of seeds: 10⁻⁶ a test (`claims.py`). Each has a planted bug that it catches.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow
import pytest

from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, attach, dry_run, query_from
from leakcap.release.measurements.sensitivity import Presence
from leakcap.release.planning.price import price_of
from leakcap.release.planning.scan import scans_of
from leakcap.release.sql.select import sql_queries
from leakcap.sampling import discrete_laplace
from release.claims import beaten, covers
from release.test_sensitivity import distance, vectors, widest
from release.world import COLUMNS, answers, planned, policy_of
from release.world import table as arrow
from seeded import SeededSource

PERSON: list[dict[str, Any]] = [{"d": d, "f": f} for d in ("a", "b", "c", "z", None) for f in (True, False)]
RELATIONS: list[tuple[str, dict[str, Any]]] = [("add-remove-one", {}), ("replace-one", {"rows": 3})]


def people(most: int, **changes: Any) -> Any:
    return policy_of(unit={"id": "id", "max_rows": most}, **changes)


@pytest.mark.parametrize("query", [{}, {"where": "f"}, {"by": ("d",)}, {"by": ("d",), "where": "f"}], ids=str)
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_one_person_reaches_the_sensitivity_and_never_passes_it(
    relation: tuple[str, dict[str, Any]], most: int, query: dict[str, Any]
) -> None:
    neighbours, units = relation
    plan = planned(people(most, neighbours=neighbours, **units), statistic="distinct", **query)
    contents = [[], *(list(c) for n in (1, 2) for c in itertools.combinations(PERSON, n))]
    found = vectors(plan, contents)
    (part,) = plan.parts
    reached = widest(found, 0, absent=neighbours == "add-remove-one")
    public = (
        neighbours == "replace-one" and not query
    )  # the number of people is public, and pays all the same
    assert reached == (0 if public else part.sensitivity)
    largest = max(distance(a[0], b[0]) for a, b in itertools.combinations(found, 2))
    assert largest == part.contribution.diameter


@pytest.mark.parametrize(("rows", "cells"), list(itertools.product((1, 2, 3), (1, 2, 3, 4))))
def test_formulas_against_enumeration(rows: int, cells: int) -> None:
    vectors_ = [v for v in itertools.product((0, 1), repeat=cells) if sum(v) <= rows]
    claimed = Presence(0, 1, min(rows, cells), cells)
    assert claimed.sensitivity(replace=False) == max(map(sum, vectors_))
    pairs = itertools.product(vectors_, repeat=2)
    assert claimed.sensitivity(replace=True) == max(distance(list(a), list(b)) for a, b in pairs)


def test_a_person_with_more_rows_than_the_bound_is_found_wherever_the_row_is() -> None:
    """All people together need no bound on rows: each counts once, whichever row is looked for."""
    data = arrow([{"id": 1, "d": d, "f": d == "c"} for d in ("a", "b", "c")] + [{"id": None, "f": True}])
    assert answers(planned(people(1), statistic="distinct", where="f"), data) == [[1]]
    (grouped,) = answers(planned(people(2), statistic="distinct", by=("d",)), data)
    assert sorted(grouped) == [0, 1, 1]


def test_where_there_are_few_groups_a_person_counts_in_each_of_theirs() -> None:
    """No row is left out where nobody can be in more groups than the noise is for; beyond that some are."""
    rows = [{"id": 1, "d": d} for d in "aaaaaaaabc"] + [{"id": 2, "d": "b"}, {"id": None, "d": "a"}]
    for most, every in ((3, True), (9, True), (2, False)):
        plan = planned(people(most), statistic="distinct", by=("d",))
        assert plan.bounded is not every
        (grouped,) = answers(plan, arrow(rows))
        assert (grouped == [1, 2, 1]) is every
        assert sum(grouped) <= 1 + min(most, 3)
        (part,) = plan.parts
        assert part.sensitivity == min(most, 3)


def test_ids_are_told_apart_byte_by_byte() -> None:
    data = pyarrow.table({"id": ["a", "A", "a", " a", None, ""], "x": [1.0] * 6})
    policy = policy_of(columns={"x": COLUMNS["x"]}, unit={"id": "id", "max_rows": 5})
    assert answers(planned(policy, statistic="distinct"), data) == [[4]]


def test_people_and_rows_do_not_share_a_reading_unless_they_may() -> None:
    policy = people(1)
    data = arrow([{"id": 1, "d": d} for d in ("a", "b", "c")] + [{"id": 2, "d": "a"}])
    engine = attach(data)
    shapes: list[dict[str, Any]] = [
        *({"statistic": s, "where": "d = 'c'"} for s in ("distinct", "count")),
        *({"statistic": s, "by": ("d",)} for s in ("distinct", "count")),
    ]
    plans = [planned(policy, **shape) for shape in shapes]
    scans = scans_of(plans, engine)
    assert len(scans) == 3
    totals = {place: total for scan in scans for place, total in scan.run(engine).items()}
    found = [[one.tolist() for one in totals[place].totals] for place in range(4)]
    # People are counted without a quota; it keeps one row of each, the same one for both groupings.
    assert found[0] == [[1]]
    assert found[1] in ([[0]], [[1]])
    assert found[2] == found[3]
    assert sum(found[2][0]) == 2
    assert found[2][0][0] >= 1


def test_prices() -> None:
    assert price_of(planned(people(3), statistic="distinct")).noise_scales == {"people": 1.0}
    grouped = price_of(planned(people(2, max_rows=9), statistic="distinct", by=("d",)))
    assert grouped.noise_scales == {"people": 2.0}
    assert (grouped.epsilon, grouped.epsilon_contents) == (1.0, 1.5)
    one = price_of(planned(people(1, max_rows=9), statistic="distinct", by=("d",)))
    rows = price_of(planned(people(1, max_rows=9), statistic="count", by=("d",)))
    assert one.nats_person == rows.nats_person


RUNS, EPSILON = 6_000, 1.0


def released(rows: list[tuple[int, int]], seed: int) -> Any:
    """One release with a group for each run: (id, how many of the two rows) in every group alike.

    A person has rows in one group only, so that the bound of two rows is theirs; the noise is for two groups.
    """
    ids = [run * 10 + id_ for run in range(RUNS) for id_, n in rows for _ in range(n)]
    runs = [run for run in range(RUNS) for _, n in rows for _ in range(n)]
    policy = policy_of(
        columns={"run": {"keys": list(range(RUNS))}}, unit={"id": "id", "max_rows": 1}
    )  # fmt: skip
    data = pyarrow.table({"id": ids, "run": runs})
    private = PrivateTable(data, policy=policy, ledger="sqlite://", source=SeededSource(seed))
    return private.distinct(by="run", epsilon=EPSILON).rows


def proofs(seed: int) -> list[int]:
    left = np.array([row.value for row in released([(1, 1), (2, 1)], seed)])
    right = np.array([row.value for row in released([(1, 1), (2, 1), (3, 2)], seed + 1)])
    marks = range(-1, 6)
    return beaten([*(left <= t for t in marks)], [*(right <= t for t in marks)], EPSILON)


def test_neighbours_stay_within_epsilon() -> None:
    assert proofs(1) == []


def test_half_the_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "leakcap.mechanism.geometric.discrete_laplace",
        lambda b, n, source: discrete_laplace(b / 2, n, source),
    )
    assert proofs(3)


def hits(seed: int) -> int:
    rows = released([(1, 1), (2, 2)], seed)
    return sum(row.interval[0] <= 2 <= row.interval[1] for row in rows)


def test_intervals_cover() -> None:
    assert covers(hits(5), RUNS)


def test_twice_the_noise_is_not_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "leakcap.mechanism.geometric.discrete_laplace",
        lambda b, n, source: discrete_laplace(2 * b, n, source),
    )
    assert not covers(hits(6), RUNS)


def test_sql_dry_runs_and_refusals() -> None:
    policy = people(2)
    asked = sql_queries("SELECT d, COUNT(DISTINCT t.id), COUNT(*) FROM tests t GROUP BY d", policy, 1.0)
    assert [(q.statistic, q.name) for q in asked] == [("distinct", "distinct"), ("count", "count")]
    with pytest.raises(InvalidQuery, match=r"column 14: DISTINCT is not supported but for"):
        sql_queries("SELECT COUNT(DISTINCT d) FROM tests", policy, 1.0)
    with pytest.raises(InvalidQuery):
        sql_queries("SELECT COUNT(DISTINCT id, d) FROM tests", policy, 1.0)
    with pytest.raises(InvalidQuery, match="the policy's unit is a row"):
        planned(policy_of(), statistic="distinct")
    with pytest.raises(InvalidQuery, match="be left out of a count"):
        query_from({"name": "q", "statistic": "distinct", "column": "x", "epsilon": 1.0})
    (release,) = dry_run([query_from({"name": "q", "statistic": "distinct", "epsilon": 5.0})], policy)
    assert abs(release.rows[0].value - 1000) < 20
