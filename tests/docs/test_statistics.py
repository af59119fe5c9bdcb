"""The table on the page of statistics names all there are, and its examples run."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow
import pytest

from leakcap import PrivateTable
from leakcap.release import load_policy
from leakcap.release.statistics import statistics
from manual_pages import ROOT
from manual_visits import POLICY

TEXT = (ROOT / "docs/statistics.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| \[(\w+)\]\(#([\w-]+)\) \| .* \| `(table\..*)` \|$", TEXT, re.MULTILINE)


def test_every_statistic_is_in_the_table_and_the_plain_ones_come_first() -> None:
    names = [name for name, _, _ in ROWS]
    assert sorted(names) == sorted(statistics())
    assert names[:4] == ["count", "sum", "mean", "histogram"]
    heads = [
        re.sub(r"[^\w -]", "", head).lower().replace(" ", "-")
        for head in re.findall(r"^## (.*)$", TEXT, re.M)
    ]
    assert heads[:4] == names[:4]
    assert {anchor for _, anchor, _ in ROWS} <= set(heads)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> PrivateTable:
    file = tmp_path_factory.mktemp("statistics") / "policy.toml"
    Path(file).write_text(
        POLICY + '[columns.income]\nbounds = "unknown"\n[columns.w]\nbounds = [1.0, 50.0]\n', encoding="utf-8"
    )
    numbers = [float(i % 50) for i in range(300)]
    columns = dict.fromkeys(("stay", "age", "bmi", "income", "year", "w"), numbers)
    words = {"ward": ["north", "south"] * 150, "sex": ["f", "m"] * 150}
    people = pyarrow.table({"patient_id": list(range(300)), **columns, **words})
    return PrivateTable(people, policy=load_policy(file), ledger="sqlite://")


@pytest.mark.parametrize(("name", "example"), [(name, example) for name, _, example in ROWS])
def test_its_examples_are_of_the_statistic(table: PrivateTable, name: str, example: str) -> None:
    assert eval(example, {"table": table}).query.statistic == name
