"""What a report says is protected, against what the engine does with a person's rows."""

from __future__ import annotations

import re

import pytest

from leakcap.report.sections import policy_section
from leakcap.report.words import promises
from release.world import answers, planned, policy_of, table

UNITS = [
    (id_, rows, groups, tables)
    for id_, rows, groups in [(False, 1, None)] + [(True, r, g) for r in (1, 2, 3) for g in (None, 1, 2, 5)]
    for tables in ((False, True) if id_ else (False,))
]


@pytest.mark.parametrize("relation", ["replace-one", "add-remove-one"])
@pytest.mark.parametrize(("id_", "rows", "groups", "tables"), UNITS)
def test_what_is_protected_is_what_the_engine_uses(
    relation: str, id_: bool, rows: int, groups: int | None, tables: bool
) -> None:
    """The other route is the engine: one person's sixteen rows in four groups, and one row of nobody."""
    public = {"rows": 1 if id_ else 17} if relation == "replace-one" else {}
    unit = {"id": "id", "max_rows": rows, "max_groups": groups} if id_ else "row"
    people = {"people": {"id": "id", "columns": {"f": {"keys": [True]}}}} if tables else {}
    keys = {"k": {"keys": [0, 1, 2, 3]}}
    policy = policy_of(neighbours=relation, columns=keys, unit=unit, tables=people, **public)
    short, apart, left = promises.protects(policy), promises.neighbours(policy), promises.not_counted(policy)
    told = promises.used(policy)
    assert ("whether it is in the table at all" in short) == (relation == "add-remove-one")
    assert ("Not hidden: that" in short) == (relation == "replace-one")
    assert ("that it is in the table, and" in short) == (relation == "replace-one" and id_)
    assert relation != "replace-one" or f"that there are {policy.rows}" in short
    assert ("all tables say" in short) == ("in all tables" in apart) == tables
    assert ("in groups, rows whose key is not letter for letter" in left) is True
    odd = table([{"id": 1, "k": 9}, {"id": 2, "k": 3}, {"id": 3, "k": None}])
    assert answers(planned(policy, statistic="count", by=("k",)), odd) == [[0, 0, 0, 1]]
    assert ("one row of each joined table" in told) == tables
    public_facts = str(policy_section(policy))
    assert ("1 row'" in public_facts) == (id_ and rows == 1)
    assert "1 rows" not in public_facts
    data = [{"id": 7, "k": place % 4} for place in range(16)] + [{"id": None, "k": 0}]
    found = {by: answers(planned(policy, statistic="count", by=by), table(data))[0] for by in ((), ("k",))}
    if not id_:
        assert told == ""
        assert "without" not in left.removeprefix("Not counted, without a word")
        assert found == {(): [17], ("k",): [5, 4, 4, 4]}
        return
    most = re.search(r"An answer uses at most (\d+) rows? of one id", told)
    few = re.search(r", in at most (\d+) groups? where groups are asked for", told)
    assert most
    assert "rows without id" in left
    assert f"rows beyond {most[1]} of one id" in left
    assert found[()] == [int(most[1])]
    assert sum(found["k",]) <= int(most[1])
    assert sum(count > 0 for count in found["k",]) <= int((few or most)[1])
    assert (few is not None) == (groups is not None and groups < rows)
    spread = answers(planned(policy, statistic="count", by=("k",)), table(data[:4]))[0]
    assert sum(count > 0 for count in spread) == int((few or most)[1])  # one row in each of four groups
    assert "counts each id once, however many rows" in told
    assert answers(planned(policy, statistic="distinct"), table(data)) == [[1]]
