"""Joins in SQL: what is declared means what it says; everything else is refused by name and place."""

# ruff: noqa: E501 (statements and refusals stand side by side)
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leakcap.errors import InvalidQuery
from leakcap.release import Query, load_policy
from leakcap.release.engine import Integers
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.statements import select_of
from leakcap.release.sql.select import sql_queries

POLICY = load_policy(
    {
        "dataset": "visits",
        "unit": {"id": "person_id", "max_rows": 3},
        "neighbours": "add-remove-one",
        "caps": {"epsilon": 10.0},
        "columns": {"stay": {"bounds": [0.0, 60.0]}, "ward": {"keys": ["a", "b"]}},
        "tables": {
            "people": {"id": "person_id", "columns": {"sex": {"keys": ["f", "m"]}, "ward": {"keys": ["a"]}}},
            "wards": {"public": True, "key": "code", "on": "ward", "columns": {"beds": {"bounds": [0, 9.0]}}},
        },
    }
)
ON = "ON v.person_id = p.person_id"


def asked(text: str) -> list[Query]:
    return sql_queries(text, POLICY, 1.0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"SELECT p.sex, COUNT(*) FROM visits v JOIN people p {ON} GROUP BY p.sex",
            [("count", None, None, ("people.sex",), ("people",))],
        ),
        (
            f"SELECT p.sex AS s, AVG(v.stay) FROM visits AS v INNER JOIN people AS p {ON} GROUP BY s;",
            [("mean", "stay", None, ("people.sex",), ("people",))],
        ),
        (
            "SELECT SUM(stay), COUNT(DISTINCT visits.person_id) FROM visits JOIN people "
            "ON people.person_id = visits.person_id WHERE people.sex = 'f' AND visits.ward = 'b'",
            [
                ("sum", "stay", "(\"people.sex\" = 'f' AND ward = 'b')", (), ("people",)),
                ("distinct", None, "(\"people.sex\" = 'f' AND ward = 'b')", (), ("people",)),
            ],
        ),
        (
            f"SELECT AVG(w.beds) FROM visits v JOIN people p {ON} JOIN wards w ON v.ward = w.code "
            "WHERE NOT p.ward = 'a' OR w.beds > 3 GROUP BY p.ward, ward",
            [
                (
                    "mean",
                    "wards.beds",
                    '(NOT ("people.ward" = \'a\') OR "wards.beds" > 3.0)',
                    ("people.ward", "ward"),
                    ("people", "wards"),
                )
            ],
        ),
        # Names may be swapped, however ill-advised: each is looked up, none is guessed.
        (
            "SELECT COUNT(visits.sex) FROM visits people JOIN people visits "
            "ON people.person_id = visits.person_id WHERE people.stay > 1",
            [("count", None, '(stay > 1.0 AND NOT ("people.sex" IS NULL))', (), ("people",))],
        ),
        ("SELECT COUNT(*) FROM visits WHERE stay > 1", [("count", None, "stay > 1.0", (), ())]),
        # An alias may be what a table of WITH is called, which is not asked for then.
        (
            "WITH p AS (SELECT ward FROM visits WHERE stay > 8) SELECT COUNT(*) FROM visits v "
            f"JOIN people p {ON} WHERE p.sex = 'f'",
            [("count", None, "\"people.sex\" = 'f'", (), ("people",))],
        ),
    ],
)
def test_declared_joins(text: str, expected: list[tuple[Any, ...]]) -> None:
    queries = asked(text)
    assert [(q.statistic, q.column, q.where, q.by, q.join) for q in queries] == expected
    for query in queries:
        plan_query(query, POLICY)


REFUSED = {
    "WITH wards AS (SELECT ward, stay FROM visits WHERE stay > 8) SELECT COUNT(*) FROM visits JOIN wards AS w ON visits.ward = w.code": "column 95: `wards` is a table of WITH, which may not be joined. Call",
    "WITH Wards AS (SELECT ward FROM visits) SELECT COUNT(*) FROM visits JOIN wards ON visits.ward = wards.code": "column 74: `wards` is a table of WITH, which is written `Wards`",
    "WITH a AS (SELECT stay FROM visits) SELECT COUNT(*) FROM visits JOIN a ON visits.person_id = a.person_id": "column 70: `a` is a table of WITH, which may not be joined",
    f"WITH people AS (SELECT stay FROM visits), t AS (SELECT p.sex FROM visits v JOIN people p {ON}) SELECT COUNT(*) FROM t": "column 81: `people` is a table of WITH",
    f"WITH visits AS (SELECT * FROM visits WHERE stay > 8) SELECT COUNT(*) FROM visits v JOIN people p {ON}": "a subquery may not be joined",
    f"SELECT COUNT(*) FROM visits v LEFT JOIN people p {ON}": "column 31: LEFT JOIN is not supported",
    f"SELECT COUNT(*) FROM visits v LEFT OUTER JOIN people p {ON}": "column 31: LEFT JOIN is not supported",
    f"SELECT COUNT(*) FROM visits v RIGHT JOIN people p {ON}": "column 31: RIGHT JOIN is not supported",
    f"SELECT COUNT(*) FROM visits v FULL JOIN people p {ON}": "column 31: FULL JOIN is not supported",
    "SELECT COUNT(*) FROM visits v CROSS JOIN people p": "column 31: CROSS JOIN is not supported. It would pair",
    "SELECT COUNT(*) FROM visits v NATURAL JOIN people p": "column 31: NATURAL JOIN is not supported",
    "SELECT COUNT(*) FROM visits v, people p": "column 30: a comma between tables is not supported",
    f"SELECT COUNT(*) FROM visits SEMI JOIN people p {ON}": "column 29: SEMI JOIN is not supported",
    f"SELECT COUNT(*) FROM visits v ANTI JOIN people p {ON}": "column 31",
    f"SELECT COUNT(*) FROM visits ANTI JOIN people p {ON}": "column 29: ANTI JOIN is not supported",
    f"SELECT COUNT(*) FROM visits ASOF JOIN people p {ON}": "column 29",
    "SELECT COUNT(*) FROM visits JOIN people USING (person_id)": "column 41: USING is not supported",
    "SELECT COUNT(*) FROM visits v JOIN visits w ON v.person_id = w.person_id": "column 36: `visits` is joined with itself",
    f"SELECT COUNT(*) FROM people p JOIN visits v {ON}": "column 22: FROM starts with `people`. It starts with the data",
    "SELECT COUNT(*) FROM people": "column 22: FROM starts with `people`",
    f"SELECT COUNT(*) FROM visits v JOIN (SELECT * FROM people) p {ON}": "column 36: a subquery or parenthesis",
    f"SELECT COUNT(*) FROM (visits v JOIN people p {ON})": "column 22: a subquery or parenthesis",
    "SELECT COUNT(*) FROM visits v JOIN people p": "column 44: JOIN `people` needs its key. Join by the declared key: ON v.person_id = p.person_id.",
    "SELECT COUNT(*) FROM visits v JOIN people p ON TRUE": "a join by an expression is not supported",
    "SELECT COUNT(*) FROM visits v JOIN people p ON 1 = 1": "column 48: a join by an expression",
    "SELECT COUNT(*) FROM visits v JOIN people p ON (v.person_id = p.person_id)": "column 48: a join by an expression",
    "SELECT COUNT(*) FROM visits v JOIN people p ON abs(v.person_id) = p.person_id": "column 48: a join by an expression",
    "SELECT COUNT(*) FROM visits v JOIN people p ON v.person_id = abs(p.person_id)": "column 62: a join by an expression",
    "SELECT COUNT(*) FROM visits v JOIN people p ON v.person_id + 1 = p.person_id": "column 60: a join by anything but equal keys",
    "SELECT COUNT(*) FROM visits v JOIN people p ON v.person_id <= p.person_id": "column 60: a join by anything but equal keys",
    "SELECT COUNT(*) FROM visits v JOIN people p ON person_id = p.person_id": "columns after ON are qualified",
    "SELECT COUNT(*) FROM visits v JOIN people p ON v.ward = p.ward": "column 48: the join is not by the declared key",
    "SELECT COUNT(*) FROM visits v JOIN people p ON v.person_id = v.person_id": "not by the declared key",
    "SELECT COUNT(*) FROM visits v JOIN people p ON p.person_id = p.person_id": "not by the declared key",
    f"SELECT COUNT(*) FROM visits v JOIN people p {ON} OR 1 = 1": "column 74: a join by more than the declared key",
    f"SELECT COUNT(*) FROM visits v JOIN people p {ON} AND p.sex = 'f'": "column 74: a join by more",
    f"SELECT COUNT(*) FROM visits v JOIN people p {ON} + 1": "column 74: a join by more",
    f"SELECT COUNT(*) FROM visits v JOIN people p {ON} JOIN people q ON v.person_id = q.person_id": "column 79: `people` is joined twice",
    f"SELECT COUNT(*) FROM visits v JOIN people p {ON} JOIN wards w ON p.ward = w.code": "not by the declared key",
    f"SELECT COUNT(*) FROM visits v JOIN people v {ON}": "column 36: two tables are called `v`",
    f"SELECT COUNT(*) FROM visits v JOIN secrets p {ON}": "column 36: `secrets` is no table of the policy. It declares `people` or `wards`.",
    f"SELECT COUNT(*) FROM visits v JOIN main.people p {ON}": "column 36: `main` is no table of the policy",
    f"SELECT COUNT(*) FROM visits v JOIN read_csv('x') p {ON}": "`read_csv` is no table of the policy",
    f"SELECT p.person_id FROM visits v JOIN people p {ON} GROUP BY p.person_id": "column 10: `people.person_id` is not a column",
    f"SELECT COUNT(*) FROM visits v JOIN people p {ON} WHERE sex = 'f'": "`sex`, which is not a column of the policy",
    f"SELECT q.sex, COUNT(*) FROM visits v JOIN people p {ON} GROUP BY q.sex": "column 8: `q` is not a table of FROM",
    f"SELECT people.sex, COUNT(*) FROM visits v JOIN people p {ON}": "column 8: `people` is not a table of FROM",
    f"SELECT COUNT(*) FROM visits v JOIN people p {ON} WHERE people.sex = 'f'": "`people` is not a table of FROM",
    f"SELECT COUNT(*) FROM visits v JOIN people p {ON} WHERE v.p.sex = 'f'": "a column by the name of a joined table only",
    f"SELECT COUNT(*) FROM visits v JOIN people p {ON} WHERE p.sex = v.ward": "with a literal, not with another column",
    f'SELECT COUNT(*) FROM visits v JOIN people "a.b" {ON}': "a table's alias may not have a dot",
    f"SELECT COUNT(*) FROM visits v JOIN people p {ON} HAVING COUNT(*) > 5": "HAVING needs GROUP BY",
    f"SELECT COUNT(DISTINCT p.person_id) FROM visits v JOIN people p {ON}": "DISTINCT is not supported but for",
    "SELECT COUNT(*) FROM visits v JOIN": "more is expected here, not the end",
    "SELECT COUNT(*) FROM visits v INNER people p": "INNER is not expected here",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[21:75])
def test_refused_by_name_and_place(text: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        asked(text)
    assert REFUSED[text] in str(caught.value)
    assert str(caught.value).startswith("Line 1, column ")


def test_a_policy_without_tables_has_no_joins() -> None:
    policy = POLICY.model_copy(update={"tables": {}})
    with pytest.raises(InvalidQuery, match="column 31: JOIN is not supported"):
        sql_queries(f"SELECT COUNT(*) FROM visits v JOIN people p {ON}", policy, 1.0)


WORDS = st.sampled_from(
    [
        "SELECT",
        "COUNT(*)",
        "FROM",
        "visits",
        "v",
        "JOIN",
        "people",
        "p",
        "ON",
        "v.person_id",
        "=",
        "p.person_id",
        "WHERE",
        "p.sex",
        "=",
        "'f'",
        "GROUP",
        "BY",
        ".",
        ",",
        "(",
        ")",
        "LEFT",
        "USING",
        "AND",
        "OR",
        "wards",
        "w",
        "v.ward",
        "w.code",
        "sex",
        '"',
        "'",
        ";",
        "--",
        "p",
        "v",
        "ward",
    ]
)


@given(st.lists(WORDS, max_size=14))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_garbage_raises_nothing_else_and_never_reaches_the_engine(words: list[str]) -> None:
    text = f"SELECT COUNT(*) FROM visits v JOIN people p {ON} " + " ".join(words)
    try:
        queries = asked(text)
    except InvalidQuery:
        return
    for query in queries:
        written = Integers({}).lower(select_of([plan_query(query, POLICY)])).sql("duckdb")
        assert written.count("JOIN") - written.count("JOIN leakcap_too_many") == len(query.join)
        assert ";" not in written
        assert "--" not in written
