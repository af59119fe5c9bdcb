"""What users of SQL write next: each form is answered as DuckDB answers it, or refused in one line with a remedy."""

# ruff: noqa: E501 (statements stand on one line)

from __future__ import annotations

import re

import duckdb
import pytest

from leakcap.errors import InvalidQuery
from leakcap.release import attach
from leakcap.release.conditions.remedies import REMEDIES
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import scans_of
from leakcap.release.sql.select import StatementTerms, select_statement
from sql.test_conditional_aggregates import PEOPLE, POLICY, data, total

ANSWERED = (
    *(
        "COUNT(price)",
        "COUNT(1)",
        "COUNT(*) FILTER (WHERE price IS NULL)",
        "COUNT(*) FILTER (WHERE NOT open)",
    ),
    *("COUNT(*) FILTER (WHERE price BETWEEN 0 AND 4)", "COUNT(*) FILTER (WHERE price NOT BETWEEN 0 AND 4)"),
    *("COUNT(*) FILTER (WHERE shop IN ('a', 'b'))", "COUNT(*) FILTER (WHERE shop NOT IN ('a', 'b'))"),
    *("COUNT(*) FILTER (WHERE EXTRACT(MONTH FROM sent) = 2)", "SUM(EXTRACT(MONTH FROM sent) - 1)"),
    *(
        "SUM(COALESCE(price, 0))",
        "SUM(IFNULL(price, 3))",
        "SUM(NULLIF(price, 0.5))",
        "COUNT(NULLIF(quantity, 7))",
    ),
    *("SUM(ABS(price))", "SUM(ABS(price - quantity))", "SUM(2 * ABS(-price) - 1)", "SUM(ABS(quantity) + 1)"),
    *("SUM(CASE WHEN price > 2 THEN 2 ELSE price END)", "SUM(paid - sent)"),
)


@pytest.mark.parametrize("text", ANSWERED)
def test_what_is_answered_is_what_duckdb_answers(text: str) -> None:
    plain, table = duckdb.connect(), data()
    plain.register("sales", table)
    (query,) = select_statement(f"SELECT {text} FROM sales", POLICY, StatementTerms(1.0)).queries
    ((truth,),) = plain.execute(f"SELECT {text} FROM sales").fetchall()
    assert total(query, attach(table)) == pytest.approx(float(truth), abs=1e-4)
    plan = plan_query(query, POLICY)
    again = plan_query(plan.query, POLICY)
    assert scans_of([plan, again], attach(table))[0].places == ((0, 1),)


WHERE, SELECT, GROUP = (
    "SELECT COUNT(*) FROM sales WHERE {}",
    "SELECT {} FROM sales",
    "SELECT shop, COUNT(*) FROM sales GROUP BY {}",
)
# By what the remedy says, and where the form stands.
FORMS: dict[str, dict[str, tuple[str, ...]]] = {
    "List the texts by IN": {
        WHERE: ("shop LIKE 'a%'", "shop ILIKE 'A%'", "shop SIMILAR TO 'a'", "shop ~ 'a'", "shop GLOB 'a*'", "starts_with(shop, 'a')"),
    },
    "Compare the text as it is stored": {
        WHERE: ("UPPER(shop) = 'A'", "lower(shop) = 'a'", "TRIM(shop) = 'a'", "LENGTH(shop) = 1", "shop || 'x' = 'ax'", "CONCAT(shop, 'x') = 'ax'", "REPLACE(shop, 'a', 'b') = 'b'"),
        SELECT: ("COUNT(UPPER(shop))", "COUNT(shop || 'x')"),
        GROUP: ("shop, UPPER(shop)", "shop, shop || 'x'"),
    },
    "with a `prefix`, or with `groups`": {WHERE: ("LEFT(shop, 1) = 'a'", "SUBSTRING(shop, 1, 1) = 'a'")},
    "Group by a column with `cuts`": {
        WHERE: ("ROUND(price) = 1", "FLOOR(price) = 1", "CEIL(price) = 1", "TRUNC(price) = 1"),
        SELECT: ("SUM(ROUND(price))", "SUM(FLOOR(price))", "SUM(1 + ROUND(price))", "SUM(CASE WHEN open THEN FLOOR(price) END)"),
        GROUP: ("shop, FLOOR(price)",),
    },
    "Write CASE WHEN x > 10": {
        WHERE: ("LEAST(price, 3) > 1", "GREATEST(price, 3) > 1"),
        SELECT: ("SUM(LEAST(price, 3))", "SUM(GREATEST(price, quantity))"),
    },
    "Leave it out: the policy says": {
        WHERE: ("CAST(price AS INT) = 1", "price::INT = 1", "TRY_CAST(price AS INT) = 1"),
        SELECT: ("SUM(CAST(price AS INT))", "SUM(price::INT)"),
        GROUP: ("shop, CAST(price AS INT)",),
    },
    "For COALESCE(": {WHERE: ("COALESCE(price, 0) > 1",)},
    "For NULLIF(": {WHERE: ("NULLIF(price, 0) > 1",)},
    "For ABS(": {WHERE: ("ABS(price) > 3",)},
    "Ask in Python for `formula_sum`": {WHERE: ("SQRT(price) > 1",), SELECT: ("SUM(SQRT(price))",)},
    "Ask for STDDEV_POP": {SELECT: ("STDDEV(price)", "STDDEV_SAMP(price)")},
    "Ask for VAR_POP": {SELECT: ("VARIANCE(price)", "VAR_SAMP(price)")},
    "Ask for COVAR_POP": {SELECT: ("COVAR_SAMP(price, weight)",)},
    "Write PERCENTILE_CONT(0.9)": {
        SELECT: ("QUANTILE_CONT(price, 0.5)", "QUANTILE(price, 0.5)", "APPROX_QUANTILE(price, 0.5)", "QUANTILE_DISC(price, 0.5)", "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY price)"),
    },
    "One row decides it": {SELECT: ("MAX(price)", "MIN(price)", "ARG_MAX(price, weight)")},
    "It shows rows": {
        SELECT: ("ANY_VALUE(price)", "FIRST(price)", "LAST(price)", "LIST(price)", "ARRAY_AGG(price)", "STRING_AGG(shop, ',')"),
    },
    "Write COUNT(*) FILTER": {SELECT: ("COUNT_IF(open)",)},
    "LIMIT 1": {SELECT: ("MODE(shop)",)},
    "It looks at other rows": {
        SELECT: ("SUM(price) OVER ()", "ROW_NUMBER() OVER (ORDER BY price)", "RANK() OVER ()", "LAG(price) OVER (ORDER BY sent)"),
        GROUP: ("shop QUALIFY ROW_NUMBER() OVER () = 1",),
    },
    "After GROUP BY name the columns": {GROUP: ("ALL",)},
}  # fmt: skip


def refused(text: str) -> str:
    with pytest.raises(InvalidQuery) as caught:
        select_statement(text, PEOPLE, StatementTerms(1.0))
    return str(caught.value)


@pytest.mark.parametrize("said", FORMS)
def test_what_is_refused_is_refused_in_one_line_with_its_place_and_what_to_write_instead(said: str) -> None:
    (remedy,) = {one for one in REMEDIES.values() if said in one}
    for place, pieces in FORMS[said].items():
        for text in map(place.format, pieces):
            refusal = refused(text)
            assert refusal.startswith("Line 1, column "), (text, refusal)
            assert "\n" not in refusal
            assert len(refusal) < 330, refusal
            assert refusal.endswith(remedy), (text, refusal)


def test_every_remedy_is_given_for_a_form_and_no_two_forms_share_one_by_mistake() -> None:
    assert len(FORMS) == len(set(REMEDIES.values()))
    assert sum(len(pieces) for places in FORMS.values() for pieces in places.values()) > 60


# The word, what its remedy says to write, and a statement in which that stands.
INSTEAD = (
    ("STDDEV", "STDDEV_POP", "SELECT {}(price) FROM sales"),
    ("VARIANCE", "VAR_POP", "SELECT {}(price) FROM sales"),
    ("COVAR_SAMP", "COVAR_POP", "SELECT {}(price, weight) FROM sales"),
    ("MAX", "PERCENTILE_CONT(0.99) WITHIN GROUP (ORDER BY x)", SELECT),
    ("QUANTILE", "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)", SELECT),
    ("LEAST", "CASE WHEN x > 10 THEN 10 ELSE x END", "SELECT SUM({}) FROM sales"),
    ("COUNT_IF", "COUNT(*) FILTER (WHERE …)", SELECT),
    ("MODE", "ORDER BY 2 DESC LIMIT 1", "SELECT shop, COUNT(*) FROM sales GROUP BY shop {}"),
    ("LIKE", "IN", "SELECT COUNT(*) FROM sales WHERE shop {} ('a', 'b')"),
    ("ROUND", "BETWEEN", "SELECT COUNT(*) FROM sales WHERE price {} 1 AND 2"),
    ("LIST", "COUNT(*) with GROUP BY", "SELECT shop, COUNT(*) FROM sales GROUP BY shop"),
)


@pytest.mark.parametrize(("word", "said", "statement"), INSTEAD)
def test_what_to_write_instead_is_read(word: str, said: str, statement: str) -> None:
    assert said in REMEDIES[word]
    written = re.sub(r"\bx\b", "price", said).replace("…", "open")
    assert select_statement(statement.format(written), PEOPLE, StatementTerms(1.0)).queries


@pytest.mark.parametrize("word", [word for word in REMEDIES if REMEDIES[word].startswith("For ")])
def test_what_stands_for_a_condition_is_met_by_the_same_rows(word: str) -> None:
    """By DuckDB, which reads both; and ours refuses the first, and reads the second."""
    found = re.fullmatch(r"For (.+) write (.+)\.", REMEDIES[word])
    assert found is not None
    form, instead = (WHERE.format(re.sub(r"\bx\b", "price", one)) for one in found.groups())
    assert refused(form).endswith(REMEDIES[word])
    plain = duckdb.connect()
    values = (-4.0, -3.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 5.0)
    plain.execute(f"CREATE TABLE sales AS SELECT unnest([{', '.join(map(str, values))}, NULL]) AS price")
    ((count,),), ((same,),) = (plain.execute(one).fetchall() for one in (form, instead))
    assert 0 < count == same < len(values)
    assert select_statement(instead, PEOPLE, StatementTerms(1.0)).queries
