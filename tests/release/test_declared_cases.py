"""`case` in a policy: a CASE with keys that the owner declares means what an analyst's means, and no more."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from engines.words import COLUMNS, random_rows
from engines.words import table as hostile_table
from engines.written_words import CASES
from leakcap.errors import InvalidPolicy, InvalidQuery
from leakcap.owner import check
from leakcap.release import PrivateTable, attach, load_policy, preview, query_from
from leakcap.release.conditions.declared import with_cases
from leakcap.report.words.promises import policy_rows
from leakcap.tables import TablesQuestion
from release.world import exact, planned, policy_of

WHO = "CASE WHEN age < 18 THEN 'child' WHEN ward = 'n' THEN NULL ELSE 'adult' END"
POLICY: dict[str, Any] = {
    "dataset": "stays",
    "neighbours": "add-remove-one",
    "unit": {"id": "p", "max_rows": 1},
    "caps": {"epsilon": 9.0},
    "columns": {
        "age": {"bounds": [0, 120]},
        "ward": {"keys": ["n", "s"]},
        "who": {"case": WHO},
        "young": {"case": "CASE who WHEN 'child' THEN TRUE ELSE FALSE END"},
        "named": {"from": "who", "groups": {"small": ["child"], "large": ["adult"]}},
    },
    "tables": {
        "people": {
            "id": "p",
            "columns": {
                "sex": {"keys": ["f", "m"]},
                "woman": {"case": "CASE WHEN sex = 'f' THEN TRUE WHEN sex = 'm' THEN FALSE END"},
            },
        }
    },
}
ROWS = pyarrow.table(
    {
        "p": list(range(6)),
        "age": [1.0, 20.0, 30.0, None, 5.0, 80.0],
        "ward": ["n", "s", "n", "s", None, "s"],
    }
)
PEOPLE = pyarrow.table({"p": list(range(6)), "sex": ["f", "m", "f", "m", "f", None]})


def test_a_declared_case_is_what_an_analyst_s_case_is() -> None:
    rows = random_rows(5, 300, {})
    engine = attach(hostile_table(rows))
    for place, (case, value) in enumerate(CASES.items()):
        policy = policy_of(columns={**COLUMNS, "declared": {"case": case}})
        mine = planned(policy, statistic="count", by=("declared",))
        written = planned(policy_of(columns=COLUMNS), statistic="count", by=(case,))
        assert mine.cells.axes[0].tree == written.cells.axes[0].tree, place
        labels = mine.cells.labels()["declared"].tolist()
        assert labels == written.cells.labels()[written.query.by[0]].tolist()
        worked = [value(row) for row in rows]
        assert exact(mine, engine)[0] == [worked.count(key) for key in labels]
        assert sum(map(worked.count, labels)) > 0


@pytest.mark.parametrize(
    ("asked", "counts"),
    [
        # The thirty-year-old lies in ward n, and is in no group; whose age is missing meets ELSE.
        ({"by": ["who"]}, {"child": 2, "adult": 3}),
        ({"by": ["young"]}, {True: 2, False: 4}),
        ({"by": ["named"]}, {"small": 2, "large": 3}),
        ({"by": ["young"], "where": "who IS NULL"}, {True: 0, False: 1}),
        ({"by": ["who"], "where": "who <> 'child' AND age > 20"}, {"child": 0, "adult": 1}),
        ({"by": ["people.woman"], "join": ["people"]}, {True: 3, False: 2}),
    ],
)
def test_it_goes_where_a_column_with_keys_goes(asked: dict[str, Any], counts: dict[Any, int]) -> None:
    fields = {name: one if isinstance(one, str) else tuple(one) for name, one in asked.items()}
    plan = planned(load_policy(POLICY), statistic="count", **fields)
    engine = attach(ROWS, tables={"people": PEOPLE})
    (labels,) = plan.cells.labels().values()
    assert dict(zip(labels.tolist(), exact(plan, engine)[0], strict=True)) == counts


def test_the_same_case_is_one_question() -> None:
    table = PrivateTable(ROWS, policy=POLICY, ledger="sqlite://")
    first = table.count(by="who", epsilon=1.0)
    again = table.sql(f"SELECT {WHO} AS x, COUNT(*) AS count FROM stays GROUP BY x", epsilon=1.0)[0]
    assert [row.value for row in again.rows] == [row.value for row in first.rows]
    assert table.budget()[0].left == 8.0
    # Another order of conditions is another question, and so is another letter in a key.
    for other in (WHO.replace("adult", "Adult"), WHO.replace("< 18", "<= 18")):
        left = table.budget()[0].left
        table.count(by=other, epsilon=1.0)
        assert table.budget()[0].left == left - 1.0


def test_its_text_is_a_part_of_the_policy() -> None:
    policy = load_policy(POLICY)
    assert load_policy(json.loads(policy.text())).text() == policy.text() == with_cases(policy).text()
    assert with_cases(with_cases(policy)) == with_cases(policy)
    columns = {**POLICY["columns"], "who": {"case": WHO.replace("18", "17")}}
    assert load_policy({**POLICY, "columns": columns}).fingerprint() != policy.fingerprint()
    opened = PrivateTable(ROWS, policy=policy, ledger="sqlite://").policy
    assert pickle.loads(pickle.dumps(opened)).text() == policy.text()
    assert dict(policy_rows(policy))["who"] == f"{WHO}: one of child, adult"


def test_tables_and_previews_read_it_from_the_policy_alone() -> None:
    policy = load_policy({**POLICY, "caps": {"epsilon": 9.0, "delta": 1e-6}})
    asked = query_from({"name": "n", "statistic": "count", "by": ["who"], "epsilon": 1.0})
    (seen,) = preview([asked], policy=policy)
    assert seen.price.cells == 2
    question = TablesQuestion(name="t", columns=("who", "young"), ways=2, rho=0.1)
    assert question.planned(policy).plan.workload.sizes == (2, 2)


REFUSED = {
    "CASE WHEN ABS(age) < 18 THEN 'child' ELSE 'adult' END": "`case` of `columns.who` may not use ABS",
    "CASE WHEN age + 1 < 18 THEN 'child' ELSE 'adult' END": "may not use",
    "CASE WHEN age IN (SELECT 1) THEN 'child' ELSE 'adult' END": "may not",
    "CASE WHEN age < 'x' THEN 'child' ELSE 'adult' END": "must compare `age` with a number",
    "CASE WHEN ward = 'west' THEN 'child' ELSE 'adult' END": "not a key of `ward`",
    "CASE WHEN CASE WHEN age < 1 THEN TRUE END THEN 'child' ELSE 'adult' END": "may not stand in another",
    "CASE WHEN age < 18 THEN 'child' ELSE 'adult' END -- no": "may not use comments",
    "CASE WHEN age < 18 THEN 'child' ELSE 'adult' ALL END": "must be written `CASE WHEN",
    "CASE WHEN age BETWEEN 2 5 THEN 'child' ELSE 'adult' END": "too many, or one too few",
    "CASE WHEN age < 18 THEN 'child' ELSE 2 END": "must be all texts, all whole numbers",
    "CASE WHEN age < 18 THEN 1 ELSE TRUE END": "must be all texts, all whole numbers",
    "CASE WHEN age < 18 THEN NULL END": "At least one of them must not be NULL",
    "CASE WHEN age < 18 THEN age ELSE 0 END": "must be written `CASE WHEN condition THEN constant",
    "CASE WHEN age < 18 THEN 1.5 END": "must be written `CASE WHEN condition THEN constant",
    "CASE WHEN age < 18 THEN 9223372036854775808 END": "must fit in 64 bits",
    "CASE WHEN age < 18 THEN '\0' ELSE 'adult' END": "a database can hold",
    "CASE WHEN TRUE THEN 'child' END": "must name a column in one of its conditions",
    "CASE WHEN stays.age < 18 THEN 'child' END": "without the name of the table",
    "CASE WHEN nobody THEN 'child' ELSE 'adult' END": "`nobody`, which is no column",
    "CASE WHEN who = 'child' THEN 'child' ELSE 'adult' END": "follows from itself",
    "CASE WHEN young THEN 'child' ELSE 'adult' END": "follows from itself",
    "age < 18": "must be written `CASE WHEN",
    "SELECT 1; SELECT 2": "must be written `CASE WHEN",
    "CASE WHEN "
    + "(" * 3000
    + "age < 18"
    + ")" * 3000
    + " THEN 'child' ELSE 'adult' END": "must be written `CASE WHEN",
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_query_may_not_say_a_policy_may_not(case: str, tmp_path: Path) -> None:
    """In one line, at opening, with no ledger begun; and by the owner's check."""
    columns = {**POLICY["columns"], "who": {"case": case}}
    bad = {**POLICY, "columns": columns}
    with pytest.raises(InvalidPolicy) as refused:
        PrivateTable(ROWS, policy=bad, ledger=tmp_path / "ledger.db")
    assert REFUSED[case] in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not list(tmp_path.iterdir())
    with pytest.raises(InvalidPolicy):
        check(ROWS, load_policy(bad))


def test_a_case_of_another_table_is_held_to_the_same_rules() -> None:
    """Also where nothing is asked of it: its text is read before it speaks of `people.sex`."""
    columns = {
        **POLICY["tables"]["people"]["columns"],
        "woman": {"case": "CASE WHEN sex = 'f' THEN 1 ELSE NULL END -- no"},
    }
    bad = {**POLICY, "tables": {"people": {"id": "p", "columns": columns}}}
    with pytest.raises(InvalidPolicy, match=r"`case` of `tables\.people\.columns\.woman`"):
        PrivateTable(ROWS, policy=bad, ledger="sqlite://")


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"from": "age", "case": WHO}, "leave `from` and other operations out"),
        ({"case": WHO, "cuts": [1]}, "leave `from` and other operations out"),
        ({"case": WHO, "keys": ["child"]}, "`keys` of `columns.x` follow"),
        ({"case": WHO, "keys": "private"}, "its `keys` follow"),
        ({"case": WHO, "bounds": [0, 1]}, "no `bounds` and no `fill`"),
        ({"from": ["who", "who"], "compare": "<"}, "keys of a `case`, which have no order"),
        ({"from": "who", "prefix": 1, "keys": ["c"]}, "needs text that is stored"),
        ({"from": "who", "groups": {"old": ["grandmother"]}}, "no key of `who`"),
        ({"from": ["who", 1], "compute": "+"}, "no numbers as `bounds`"),
    ],
)
def test_what_goes_with_a_case_and_what_does_not(column: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidPolicy) as refused:
        load_policy({**POLICY, "columns": {**POLICY["columns"], "x": column}})
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_keys_of_a_case_are_compared_as_such() -> None:
    with pytest.raises(InvalidQuery, match="whose keys have no order"):
        planned(load_policy(POLICY), statistic="count", where="who < 'child'")
    with pytest.raises(InvalidQuery, match="not a key of `who`"):
        planned(load_policy(POLICY), statistic="count", where="who = 'Child'")
