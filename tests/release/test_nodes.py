"""The nodes of a tree, beside sqlglot's own walk over it."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from leakcap.release.columns.typed import tree_nodes

SELECTS = (
    "a",
    "SELECT 1",
    "SELECT COUNT(*), SUM(x) AS s FROM t WHERE x BETWEEN 1 AND 2 AND y IN ('a', 'b') GROUP BY CUBE (a, b)",
    "WITH u AS (SELECT a, b FROM t) SELECT CASE WHEN a > 1 THEN b ELSE -b END FROM u JOIN v ON u.a = v.a",
)


@pytest.mark.parametrize("text", SELECTS)
@pytest.mark.parametrize(
    "kinds", [(), (exp.Column,), (exp.Literal, exp.Identifier), (exp.Select,), (exp.Cast,)]
)
def test_they_are_those_of_the_walk_in_its_order(text: str, kinds: tuple[type[exp.Expression], ...]) -> None:
    tree = sqlglot.parse_one(text, dialect="duckdb")
    walked = [node for node in tree.walk() if not kinds or isinstance(node, kinds)]
    assert [id(node) for node in tree_nodes(tree, *kinds)] == [id(node) for node in walked]  # type: ignore[arg-type]
