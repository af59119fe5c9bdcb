"""Answers that the ledger remembers: shown to who paid for them, as they were released, to nobody else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from leakcap.web import Settings, create_app
from leakcap.web.serving.guard import Keys
from running_explorer import hospital, promised

HOME = "http://127.0.0.1:8421"
ORIGIN = {"origin": HOME}
ASK = {"statistic": "count", "epsilon": "0.5"}


def opened(settings: Settings, keys: Keys) -> TestClient:
    return TestClient(create_app(settings, keys=keys), base_url=HOME, raise_server_exceptions=False)


@pytest.mark.parametrize("separate", [False, True])
def test_an_answer_is_shown_to_whom_it_belongs(separate: bool, tmp_path: Path) -> None:
    """Where analysts have caps of their own, one does not read the answers of another for free."""
    keys = Keys(None, "c")
    mine = hospital(tmp_path, allow_release=True, analyst="ann")
    assert mine.policy is not None
    if separate:
        text = mine.policy.read_text()
        mine.policy.write_text(text + "\n[caps.each_analyst]\nepsilon = 1.0\n")
    web = opened(mine, keys)
    answer = web.post("/release", data=promised(web, keys, ASK), headers=ORIGIN)
    assert answer.status_code == 200, answer.text
    shown = answer.text.partition('class="answer">')[2].partition("<")[0]
    assert shown
    assert f'class="answer">{shown}<' in web.get("/release/entry/1").text
    other = opened(replace(mine, analyst="bob"), keys).get("/release/entry/1")
    assert other.status_code == 200
    assert ('class="answer"' in other.text) is not separate
    listed = opened(replace(mine, analyst="bob"), keys).get("/release").text
    assert (f"<b>{shown}</b>" in listed) is not separate
    assert f"<b>{shown}</b>" in web.get("/release").text


def test_groups_are_shown_as_released(tmp_path: Path) -> None:
    keys = Keys(None, "c")
    web = opened(hospital(tmp_path, allow_release=True), keys)
    answer = web.post("/release", data=promised(web, keys, ASK | {"by": "diagnosis"}), headers=ORIGIN)
    released = answer.text.partition('aria-label="Released"')[2]
    values = [part.partition("<")[0] for part in released.split('<td class="num">')[1:5:2]]
    page = web.get("/release/entry/1").text
    assert len(values) == 2
    assert all(f'<td class="num">{value}<' in page for value in values)


def test_a_large_table_is_counted_whole_and_shown_in_part(tmp_path: Path) -> None:
    """The page shows two hundred numbers of a table of 429, and says so."""
    keys = Keys(None, "c")
    settings = hospital(tmp_path, allow_release=True)
    web = opened(settings, keys)
    ask = {"statistic": "histogram", "column": "mean_radius", "bins": "429", "epsilon": "0.1"}
    answer = web.post("/release", data=promised(web, keys, ask), headers=ORIGIN)
    assert answer.status_code == 200, answer.text
    assert "429 numbers" in web.get("/release").text
    page = web.get("/release/entry/1").text
    assert page.count('<tr><th scope="row">') == 200
    assert "and 229 more" in page
