"""The notebook of the example: every cell runs, and what it shows is what a reader needs."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow
import pytest

from leakcap.cards import Shown
from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, Query
from leakcap.release.results.showing import between
from release.world import policy_of
from stays.notebook import Cell, page_of, run_notebook
from stays.office import desk


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[Cell]:
    office = desk(tmp_path_factory.mktemp("notebook"))
    with pytest.MonkeyPatch.context() as here:
        here.chdir(office)
        return run_notebook(Path("stays.ipynb"))


def shown(cells: list[Cell], source: str) -> str:
    """The text that a cell showed, without marks."""
    (found,) = [one for one in cells if one.code and one.source.splitlines()[-1].partition("(")[0] == source]
    assert found.html.startswith("<div")
    assert "script" not in found.html
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", found.html))


def test_every_value_that_a_cell_ends_in_is_shown_as_html(cells: list[Cell]) -> None:
    ended = [one for one in cells if one.value is not None]
    assert len(ended) == 7
    assert all(one.html for one in ended)
    assert "BudgetExceeded" in page_of(cells)


def test_previews_are_one_table(cells: list[Cell]) -> None:
    text = shown(cells, "stays.preview")
    assert "stays by month and sex ± 50 for each group 0.3" in text
    assert "All together ε = 1.9. Nothing was read and nothing was spent." in text


def test_answers_by_two_keys_are_rows_and_columns(cells: list[Cell]) -> None:
    text = shown(cells, "answers")
    assert re.search(r"month by sex F M 2024-01 \S+ \(\S+ to \S+\) \S+ \(\S+ to \S+\) 2024-02", text)
    assert "chapter by age_band 0-17 18-44 45-64 65-79 80+ Neoplasms" in text
    assert "95 % interval 2024-Q1" in text
    covered = shown(cells, "table")
    assert "About all rows that have an id, if no patient has more than 60" in covered


def test_balances_and_what_was_repeated_are_told(cells: list[Cell]) -> None:
    assert "repeated from the ledger, for free" in shown(cells, "stays.sql")
    assert "epsilon 1.9 2.1" in shown(cells, "stays.budget")
    assert "nats_table no bound not capped" in shown(cells, "stays.budget")


def test_what_is_refused_is_the_line_that_asked_and_the_message(cells: list[Cell]) -> None:
    line, message = cells[-1].error
    assert line == "line 1: stays.count(epsilon=100.0)"
    assert message.startswith("BudgetExceeded: `epsilon` cap of dataset `stays` would be exceeded: 2.1 left")


def test_the_line_that_asked_shows_no_password() -> None:
    with pytest.raises(InvalidQuery) as found:
        raise InvalidQuery("No such table.")  # as in PrivateTable("postgresql://ann:pw@host/data")
    told = found.value._render_traceback_()
    assert len(told) == 2
    assert "pw@" not in "".join(told)


def test_intervals_round_outward_and_whole_numbers_are_whole() -> None:
    assert between((1234567.0, 1234568.4)) == "1,234,567 to 1.23457e+06"
    assert between((0.12345678, 0.12345612)) == "0.123456 to 0.123457"
    assert between((-0.12345612, float("inf"))) == "-0.123457 to inf"


def test_a_wide_answer_is_listed() -> None:
    """Where nine keys or more would go across: a line for each row."""
    columns = {"a": {"keys": ["x", "y"]}, "b": {"keys": list(range(9))}, "c": {"keys": list(range(9))}}
    data = pyarrow.table({"a": ["x"], "b": [1], "c": [1]})
    private = PrivateTable(data, policy=policy_of(columns=columns), ledger="sqlite://")
    (wide,) = private.release([Query(name="w", statistic="count", by=("b", "c"), epsilon=1.0)])
    assert "private value" in wide._repr_html_()
    (narrow,) = private.release([Query(name="n", statistic="count", by=("b", "a"), epsilon=1.0)])
    assert "b by a" in narrow._repr_html_()


def test_a_list_stays_a_list() -> None:
    assert Shown([1, 2])[:1] == [1]
