"""The release form: every statistic whose fields it has, columns of any kind, tables that are joined."""

from __future__ import annotations

import re
from dataclasses import fields as fields_of
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from starlette.testclient import TestClient

from leakcap.cli.serve import _from_files
from leakcap.release import Query, load_policy, preview
from leakcap.release.statistics import statistics
from leakcap.web import Settings, create_app
from leakcap.web.releasing.asking import FIELDS
from leakcap.web.releasing.questions import QUESTIONS, condition
from leakcap.web.serving.guard import Keys
from running_explorer import promised

HOME = "http://127.0.0.1:8421"
POLICY = """
dataset = "visits"
neighbours = "add-remove-one"
unit = { id = "person", max_rows = 1 }
[caps]
epsilon = 50.0
delta = 1e-6
[[plan]]
name = "monthly"
count = 2
epsilon = 2.0
delta = 1e-7
[columns]
stay = { bounds = [0.0, 60.0] }
age = { bounds = [1.0, 100.0] }
ward = { keys = ["a", "b", "c"] }
income = { bounds = "unknown" }
street = { keys = "private" }
[tables.people]
id = "pid"
columns.sex = { keys = ["f", "m"] }
"""
QUERIES = (
    'policy = "policy.toml"\ndata = "v.parquet"\nledger = "l.db"\ntables = { people = "p.parquet" }\n'
    '[[query]]\nname = "n"\nstatistic = "count"\nepsilon = 0.1\n'
)
ASKED = {
    "contingency": {"columns": "ward, stay", "bins": "3"},
    "covariance": {"columns": "stay, age"},
    "correlation": {"columns": "stay, age"},
    "cumulative": {"column": "stay", "edges": "0, 10, 60"},
    "top": {"column": "ward", "top": "2"},
    "rows_cut": {"up_to": "40"},
    "rows_per_person": {"up_to": "40"},
    "bounds": {"column": "income"},
    "formula_sum": {"formula": "stay * age / 100", "range": "0, 20"},
    "ratio": {"when": "ward = 'a'"},
    "quantiles": {"column": "stay", "quantiles": "0.1, 0.9"},
    "histogram": {"column": "stay", "bins": "3", "top": "7", "over": "age"},
    "count": {"by": "people.sex", "join": "people"},
    "mean": {"column": "stay", "slot": "monthly"},
    "variance": {"column": "stay", "noise": "gaussian"},
    "standard_deviation": {"column": "stay", "noise": "best"},
    "distinct": {"rho": "0.5", "noise": "gaussian"},
    "weighted_mean": {"column": "stay", "design_weight": "age"},
    "weighted_ratio": {"column": "stay", "over": "age", "design_weight": "age"},
    "weighted_total": {"column": "stay", "design_weight": "age"},
    "sum": {"column": "stay", "by": "street", "delta": "1e-7"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "release.toml").write_text(QUERIES)
    ids = list(range(90))
    number = [float(i) for i in ids]
    texts = {"ward": ["a", "b", "c"] * 30, "street": ["x"] * 90}
    data = {"person": ids, "stay": number, "age": number, "income": number, **texts}
    pyarrow.parquet.write_table(pyarrow.table(data), tmp_path / "v.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"pid": ids, "sex": ["f", "m"] * 45}), tmp_path / "p.parquet")
    return tmp_path


@pytest.mark.parametrize("statistic", sorted(statistics()))
def test_each_statistic_is_previewed_and_released(folder: Path, statistic: str) -> None:
    keys = Keys(None, "c")
    settings = Settings(**_from_files([folder / "release.toml"]), allow_release=True)
    web = TestClient(create_app(settings, keys=keys), base_url=HOME)
    own = ASKED.get(statistic, {"column": "stay"} if "column" in statistics()[statistic].fields else {})
    ask = {"statistic": statistic, "epsilon": "2.0", **own}
    page = web.get("/release", params=ask)
    assert page.status_code == 200
    assert 'aria-label="Preview"' in page.text, re.findall(r'role="alert">([^<]*)', page.text)
    # Where the error is for a number of rows, it says which and whence.
    counted = re.search(r"where [\d,]+ rows count", page.text)
    assert (" rows are assumed" in page.text) == (counted is not None)
    made = web.post("/release", data=promised(web, keys, ask), headers={"origin": HOME})
    assert made.status_code == 200
    assert 'aria-label="Released"' in made.text, re.findall(r'role="alert">([^<]*)', made.text)
    processed = statistics()[statistic].post_processing
    marked = "Post-processed, which costs nothing" in made.text
    assert marked == (processed(Query(name="n", statistic="count", epsilon=1.0)) is not None)


def test_the_page_shows_columns_whose_range_or_keys_are_not_public(folder: Path) -> None:
    settings = Settings(**_from_files([folder / "release.toml"]))
    page = TestClient(create_app(settings, keys=Keys(None, "c")), base_url=HOME).get("/release")
    assert page.status_code == 200
    assert page.text.count("not public: ") == 2
    for name in FIELDS:
        assert f'name="{name}"' not in page.text  # who may not release is not asked
    settings = Settings(**_from_files([folder / "release.toml"]), allow_release=True)
    page = TestClient(create_app(settings, keys=Keys(None, "c")), base_url=HOME).get("/release")
    for name in FIELDS:
        assert f'name="{name}"' in page.text


@pytest.mark.parametrize("statistic", sorted(statistics()))
def test_the_form_shows_the_fields_of_the_statistic_alone(folder: Path, statistic: str) -> None:
    settings = Settings(**_from_files([folder / "release.toml"]), allow_release=True)
    web = TestClient(create_app(settings, keys=Keys(None, "c")), base_url=HOME)
    page = web.get("/release", params={"statistic": statistic, "epsilon": "1"}).text
    fields = re.findall(r'<div data-of="([^"]*)"( hidden)?>.*? name="([a-z_]+)"', page)
    assert {name for _, _, name in fields} == set().union(*(one.fields for one in statistics().values()))
    for of, hidden, name in fields:
        assert set(of.split()) == {known for known, one in statistics().items() if name in one.fields}
        assert (hidden == "") == (name in statistics()[statistic].fields)


def test_every_statistic_is_offered_once_in_plain_words() -> None:
    named = [name for group in QUESTIONS.values() for name in group]
    assert sorted(named) == sorted(statistics())


@pytest.mark.parametrize("name", ["stay", "Stay (days)", 'a "b"', "order", "ε"])
@pytest.mark.parametrize("key", ["a", "it's", 3, True])
def test_the_example_of_a_condition_fits_the_policy(name: str, key: object) -> None:
    columns = {name: {"bounds": [-3.5, 60.0]}, "secret": {"keys": "private"}, "ward": {"keys": [key]}}
    about = {"dataset": "d", "neighbours": "add-remove-one", "unit": {"id": "p", "max_rows": 1}}
    policy = load_policy({**about, "caps": {"epsilon": 1.0, "delta": 1e-6}, "columns": columns})
    example = condition(policy)
    assert " AND " in example
    preview([Query(name="n", statistic="count", where=example, epsilon=0.1)], policy=policy)


def test_the_form_has_every_field_of_a_query() -> None:
    assert set(FIELDS) == {field.name for field in fields_of(Query)}
