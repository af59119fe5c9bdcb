"""Queries and tables that once ended in an error that is not ours, after the spend, or for one row's sake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas
import pytest

from leakcap.errors import InvalidInput
from leakcap.release import PrivateTable, Query, attach
from leakcap.release.planning.plan import text_of
from leakcap.release.planning.price import price_of
from release.world import exact, planned, policy_of

STRANGE: tuple[dict[str, Any], ...] = (
    {"epsilon": 10**400},
    {"name": 5},
    {"where": 5},
    {"by": "d"},
    {"statistic": "histogram", "column": "x", "bins": 2.5},
)


@pytest.mark.parametrize("fields", STRANGE, ids=lambda fields: "-".join(fields))
def test_a_query_of_the_wrong_types_is_refused_in_our_words(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Query(**{"name": "q", "statistic": "count", "epsilon": 1.0, **fields})


def test_a_key_that_no_engine_can_read_is_refused_before_the_spend() -> None:
    """Half a surrogate pair is text for Python and for no database."""
    with pytest.raises(InvalidInput):
        policy_of(columns={"d": {"keys": ["a", "\ud800"]}})


def test_an_empty_line_is_a_row_where_the_number_of_rows_is_public(tmp_path: Path) -> None:
    """In a CSV file of one column a missing value is an empty line: it must not stop the release."""
    path = tmp_path / "t.csv"
    path.write_text("x\n1\n\n3\n")
    policy = policy_of(neighbours="replace-one", rows=3, columns={"x": {"bounds": [0.0, 10.0], "fill": 1.0}})
    assert PrivateTable(path, policy=policy, ledger="sqlite://").sum("x", epsilon=1.0).price.epsilon == 1.0


class Odd:
    """A category whose text cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError("secret")


def test_no_category_of_a_pandas_column_stops_the_release() -> None:
    frame = pandas.DataFrame({"d": pandas.Categorical(["a", Odd(), "b"])})
    assert exact(planned(policy_of(), statistic="histogram", column="d"), attach(frame)) == [[1, 1, 0]]


def test_different_queries_have_different_texts() -> None:
    """The ledger repeats an answer to the same text for free: one query must not be taken for another."""
    keys = {"keys": ["a", "b"]}
    policy = policy_of(
        columns={"p": keys, "q": keys, "p, q": keys, "x": {"bounds": [0.0, 1.0]}, "x by p": keys}
    )
    one = planned(policy, statistic="count", by=("p", "q"))
    other = planned(policy, statistic="count", by=("p, q",))
    assert text_of(one) != text_of(other)
    third = planned(policy, statistic="histogram", column="x by p")
    assert text_of(third) != text_of(planned(policy, statistic="histogram", column="x", bins=1, by=("p",)))


@pytest.mark.parametrize(
    "query", [{}, {"where": "x > 5 AND x < 3"}], ids=["nobody is left out", "nobody is taken in"]
)
def test_the_lower_end_of_the_information_is_no_more_than_is_told(query: dict[str, Any]) -> None:
    """These counts are public numbers: they tell nothing, so nothing above 0 is a certified lower end."""
    plan = planned(policy_of(neighbours="replace-one", rows=3), statistic="count", **query)
    assert price_of(plan).nats_person.lower == 0.0
