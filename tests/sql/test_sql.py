"""SQL: what is supported means what it says, and all else is refused where it stands."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leakcap.errors import InvalidQuery
from leakcap.release import Query, load_policy
from leakcap.release.conditions.condition import to_text
from leakcap.release.conditions.where import parse_where
from leakcap.release.engine import Integers
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.statements import select_of
from leakcap.release.sql.select import sql_queries

POLICY = load_policy(
    {
        "dataset": "visits",
        "neighbours": "add-remove-one",
        "caps": {"epsilon": 10.0},
        "columns": {
            "stay": {"bounds": [0.0, 60.0]},
            "year": {"keys": [2023, 2024]},
            "ward": {"keys": ["a", "b;--", "it's"]},
            'odd "name"': {"keys": [True, False]},
            "select": {"bounds": [-1.0, 1.0]},
            "date": {"keys": ["x"]},
        },
    }
)


def asked(text: str, **options: Any) -> list[Query]:
    return sql_queries(text, POLICY, options.pop("epsilon", 1.0), **options)


def test_the_statement_of_the_manual() -> None:
    text = "SELECT ward, COUNT(*), AVG(stay) FROM visits WHERE year = 2024 GROUP BY ward"
    shared = {"by": ("ward",), "where": "year = 2024", "epsilon": 0.25}
    assert asked(text, epsilon=0.5) == [
        Query(name="count", statistic="count", **shared),
        Query(name="mean of stay", statistic="mean", column="stay", **shared),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select count(*) from visits", [("count", "count", None, None, ())]),
        ("SELECT COUNT(*) AS n FROM visits;", [("n", "count", None, None, ())]),
        ('SELECT SUM("select") FROM "visits"', [("sum of select", "sum", "select", None, ())]),
        (
            "SELECT v.ward AS w, mean(v.stay) days FROM visits AS v "
            'WHERE (v.stay < 3) GROUP BY w, v."odd ""name"""',
            [("days", "mean", "stay", "stay < 3.0", ("ward", 'odd "name"'))],
        ),
        (
            "SELECT AVG(stay), AVG(stay) FROM visits",
            [("mean of stay", "mean", "stay", None, ()), ("mean of stay 2", "mean", "stay", None, ())],
        ),
        ("SELECT COUNT(stay) FROM visits", [("count of stay", "count", None, "NOT (stay IS NULL)", ())]),
        (
            "SELECT COUNT(stay) FROM visits WHERE year = 2023 OR ward = 'b;--'",
            [("count of stay", "count", None, "((year = 2023 OR ward = 'b;--') AND NOT (stay IS NULL))", ())],
        ),
        ("SELECT COUNT(*)\nFROM visits\n\tGROUP BY date", [("count", "count", None, None, ("date",))]),
    ],
)  # fmt: skip
def test_what_is_supported(text: str, expected: list[tuple[Any, ...]]) -> None:
    found = asked(text)
    conditions = [None if q.where is None else to_text(parse_where(q.where, POLICY)) for q in found]
    assert [
        (q.name, q.statistic, q.column, where, q.by) for q, where in zip(found, conditions, strict=True)
    ] == expected


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("SELECT * FROM visits", (1, 8), "a column"),
        ("SELECT ward FROM visits GROUP BY ward", (1, 8), "nothing is counted"),
        ("SELECT stay, COUNT(*) FROM visits", (1, 8), "`stay` is selected but not in GROUP BY"),
        ("SELECT COUNT(*) FROM patients", (1, 22), "`patients` is not the table"),
        ("SELECT COUNT(*) FROM main.visits", (1, 22), "`main` is not the table"),
        ("SELECT COUNT(*) FROM visits, visits", (1, 28), "',' is not supported"),
        ("SELECT COUNT(*) FROM visits JOIN b ON TRUE", (1, 29), "JOIN is not supported"),
        ("SELECT COUNT(*) FROM (SELECT 1)", (1, 31), "FROM is expected here"),
        ("WITH a AS (SELECT 1) SELECT COUNT(*) FROM a", (1, 20), "FROM is expected here"),
        ("SELECT COUNT(*) FROM visits HAVING COUNT(*) > 3", (1, 29), "HAVING needs GROUP BY"),
        ("SELECT COUNT(*)\nFROM visits\nORDER BY 1", (3, 1), "ORDER BY needs GROUP BY"),
        ("SELECT COUNT(*) FROM visits LIMIT 3", (1, 29), "LIMIT needs GROUP BY"),
        ("SELECT COUNT(*) FROM visits UNION SELECT 1", (1, 29), "UNION is not supported"),
        ("SELECT COUNT(*) FROM visits WHERE year = 2024 UNION SELECT 1", (1, 47), "UNION is not supported"),
        ("SELECT COUNT(*) FROM visits; DROP TABLE visits", (1, 30), "DROP is not supported"),
        ("SELECT SUM(DISTINCT stay) FROM visits", (1, 12), "DISTINCT is not supported"),
        ("SELECT DISTINCT ward FROM visits", (1, 8), "DISTINCT is not supported"),
        ("SELECT COUNT(*) OVER () FROM visits", (1, 17), "OVER is not supported"),
        ("SELECT SUM(stay) + 1 FROM visits", (1, 18), "'+' is not supported"),
        ("SELECT SUM(stay % 2) FROM visits", (1, 17), "SUM takes one column"),
        ("SELECT MAX(stay) FROM visits", (1, 8), "MAX is not supported"),
        ("SELECT SUM(nothing) FROM visits", (1, 12), "`nothing` is not a column"),
        ("SELECT SUM(STAY) FROM visits", (1, 12), "Did you mean `stay`?"),
        ("SELECT SUM(ward) FROM visits", (1, 8), "has no `bounds`"),
        ("SELECT SUM(b.stay) FROM visits v", (1, 12), "`b` is not the table"),
        ("SELECT COUNT(*) FROM visits GROUP BY stay", (1, 8), "has no `keys`"),
        ("SELECT COUNT(*) FROM visits GROUP BY ward, ward", (1, 44), "twice"),
        ("SELECT COUNT(*) FROM visits GROUP BY 1", (1, 38), "no column is selected at place 1"),
        ("SELECT COUNT(*) FROM visits GROUP BY ward HAVING TRUE", (1, 43), "HAVING"),
        ("SELECT COUNT(*) FROM visits WHERE", (1, 34), "more is expected here, not the end"),
        ("SELECT COUNT(*) FROM visits\nWHERE year = 2024\n  AND abs(stay) > 3", (3, 7), "may not use ABS"),
        ("SELECT COUNT(*) FROM visits WHERE year = (SELECT 1)", (1, 35), "SUBQUERY"),
        ("SELECT COUNT(*) FROM visits WHERE year = 2024 -- all", (1, 42), "comments"),
        ("SELECT COUNT(*) FROM visits WHERE nothing = 1", (1, 35), "names `nothing`"),
    ],
)
def test_what_is_refused_and_where(text: str, place: tuple[int, int], what: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        asked(text)
    assert str(caught.value).startswith(f"Line {place[0]}, column {place[1]}: ")
    assert what in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "text", ["", " ", "SELECT 'open", "SELECT \0", "x" * 10_001, "-- nothing", "a " * 1_001]
)
def test_what_is_no_statement_at_all(text: str) -> None:
    with pytest.raises(InvalidQuery):
        asked(text)


def test_epsilon_is_shared_and_never_exceeded() -> None:
    three = "SELECT COUNT(*), SUM(stay), AVG(stay) FROM visits"
    for epsilon in (1.0, 0.1, 0.3, 1e-9, 7.77):
        for weights in (None, [1, 1, 1], [2.0, 1.0, 0.1]):
            shares = [Decimal(repr(q.epsilon)) for q in asked(three, epsilon=epsilon, weights=weights)]
            assert sum(shares) <= Decimal(repr(epsilon))
            # Each share is in whole ticks of the ledger, so each loses less than one.
            assert sum(shares) > Decimal(repr(epsilon)) - 3 * Decimal("1e-12")
            assert all(share * 10**12 % 1 == 0 for share in shares)
    assert [q.epsilon for q in asked(three, epsilon=1.0, weights=[2, 1, 1])] == [0.5, 0.25, 0.25]
    for weights in ([1, 1], [1, 1, 0], [1, 1, float("nan")], [1, 1, -1]):
        with pytest.raises(InvalidQuery, match="`weights`"):
            asked(three, weights=weights)
    for epsilon in (0.0, -1.0, float("nan"), float("inf"), True, "1"):
        with pytest.raises(InvalidQuery, match="`epsilon`"):
            asked(three, epsilon=epsilon)


def test_the_table_may_have_a_name_of_its_own() -> None:
    assert asked("SELECT COUNT(*) FROM t", tables=["t"]) == asked("SELECT COUNT(*) FROM visits")
    with pytest.raises(InvalidQuery, match="called `t` or `visits`"):
        asked("SELECT COUNT(*) FROM u", tables=["t"])


names = st.sampled_from([*POLICY.columns])
conditions = st.sampled_from(
    ["stay > 1", "ward IN ('a', 'it''s')", "NOT year = 2024", '"select" IS NULL OR stay BETWEEN 1 AND 2']
)  # fmt: skip


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@settings(max_examples=60, deadline=None)
@given(
    parts=st.lists(st.sampled_from(["COUNT(*)", "SUM(stay)", 'AVG("select")']), min_size=1, max_size=4),
    by=st.lists(st.sampled_from(["year", "ward", 'odd "name"', "date"]), unique=True),
    where=st.none() | conditions,
    gap=st.sampled_from([" ", "\n", "\t  "]),
)  # fmt: skip
def test_a_statement_says_what_was_written_into_it(
    parts: list[str], by: list[str], where: str | None, gap: str
) -> None:
    keys = [quoted(name) for name in by]
    pieces = ["SELECT", ", ".join(keys + parts), "FROM visits"]
    pieces += ["WHERE", where] if where else []
    pieces += ["GROUP BY", ", ".join(keys)] if keys else []
    found = asked(gap.join(pieces))
    kinds = {"C": "count", "S": "sum", "A": "mean"}
    assert [q.statistic for q in found] == [kinds[part[0].upper()] for part in parts]
    assert {q.by for q in found} == {tuple(by)}
    assert {q.where and parse_where(q.where, POLICY) for q in found} == {where and parse_where(where, POLICY)}


words = st.sampled_from(
    [
        *(
            "SELECT",
            "COUNT(*)",
            "FROM",
            "visits",
            "WHERE",
            "GROUP BY",
            "stay",
            "ward",
            "year",
            ",",
            "(",
            ")",
            "=",
        ),
        *(
            "2024",
            "'a'",
            '"',
            "'",
            ";",
            ".",
            "*",
            "AS",
            "n",
            "SUM(stay)",
            "AVG(",
            "OR",
            "1=1",
            "--",
            "/*",
            "*/",
        ),
        *(
            "read_csv('/etc/passwd')",
            "UNION ALL",
            "\n",
            "\0",
            "é",
            "$1",
            "::INT",
            "{",
            "\\",
            "\U0001f600",
            "x'00'",
        ),
        *(
            "COPY t TO 'x'",
            "PRAGMA",
            "INSTALL httpfs",
            "ATTACH",
            "SET x = 1",
            "CALL",
            "EXPLAIN",
            "VALUES",
            "BEGIN",
        ),
    ]
)
garbage = st.one_of(
    st.text(max_size=60),
    st.lists(words, max_size=14).map(" ".join),
    st.lists(words, max_size=8).map(lambda more: "SELECT COUNT(*) FROM visits " + " ".join(more)),
    st.lists(words, max_size=8).map(lambda more: "SELECT COUNT(*) FROM visits WHERE " + " ".join(more)),
    st.lists(words, max_size=8).map(lambda more: "SELECT " + " ".join(more) + " FROM visits GROUP BY ward"),
)


@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(garbage)
def test_garbage_is_refused_and_never_reaches_an_engine(text: str) -> None:
    """Whatever is let through consists of the policy's names and of conditions that were read and rebuilt."""
    try:
        found = asked(text)
    except InvalidQuery:
        return
    for query in found:
        assert {query.column, *query.by} <= {None, *POLICY.columns}
        plan = plan_query(query, POLICY)
        assert not re.search(
            "read_csv|passwd|PRAGMA|COPY|::", Integers({}).text(select_of([plan])), re.IGNORECASE
        )
