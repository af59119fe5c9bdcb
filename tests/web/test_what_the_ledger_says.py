"""The explorer follows the ledger: whose answer it is, what was spent of a cap, what became of an answer."""

from __future__ import annotations

import html
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from starlette.testclient import TestClient

from leakcap.release import PrivateTable, Query, admit, amend
from leakcap.tables import TablesQuestion, release_tables
from leakcap.web import Settings, create_app
from leakcap.web.serving.guard import Keys

HOME = "http://127.0.0.1:8421"
ROWS = pyarrow.table({"id": range(500), "ward": ["A", "B"] * 250, "sex": ["f", "m", "m", "f", "f"] * 100})
CELLS = TablesQuestion(name="cells", tables=({"columns": ["ward", "sex"]},), epsilon=0.5)
COUNT = Query(name="all", statistic="count", epsilon=0.5)


POLICY = """dataset = "{dataset}"
neighbours = "add-remove-one"
unit = {{ id = "id", max_rows = 1 }}
[caps]
{caps}
[columns]
ward = {{ keys = ["A", "B"] }}
sex = {{ keys = ["f", "m"] }}
"""
CAPS = "epsilon = 2.7\ndelta = 1e-6"


def written(folder: Path, dataset: str = "stays", caps: str = CAPS) -> Path:
    path = folder / f"{dataset}.toml"
    path.write_text(POLICY.format(dataset=dataset, caps=caps))
    return path


def text(settings: Settings, path: str) -> str:
    web = TestClient(create_app(settings, keys=Keys(None, "c")), base_url=HOME)
    told = web.get(path)
    assert told.status_code == 200
    return html.unescape(told.text)


def test_an_admitted_data_sets_page_shows_nobody_anothers_answers(tmp_path: Path) -> None:
    """Its own policy may be older than the caps that the ledger holds analysts to."""
    url, own, beside = f"sqlite:///{tmp_path / 'd.db'}", written(tmp_path), written(tmp_path, "visits")
    PrivateTable(ROWS, policy=own, ledger=url).close()
    admit(beside, url, reason="one register")
    with PrivateTable(ROWS, policy=beside, ledger=url, analyst="ada") as table:
        table.release([COUNT])
        release_tables(table, CELLS)
    page = {
        name: Settings(policy=beside, ledger=url, analyst=name, questions=(CELLS,)) for name in ("ada", "bob")
    }
    shown = [r'<p class="answer">', "ward by sex"]
    for name in page:  # No account is an analyst's yet.
        assert [words in text(page[name], f"/release/entry/{n}") for n, words in enumerate(shown, 1)] == [
            1,
            1,
        ]
    own = written(tmp_path, caps=CAPS + "\neach_analyst = { epsilon = 2.0, delta = 1e-6 }")
    amend(own, url, reason="analysts come in")
    for name, sees in (("ada", True), ("bob", False)):
        found = [words in text(page[name], f"/release/entry/{n}") for n, words in enumerate(shown, 1)]
        assert found == [sees, sees]
        listed = text(page[name], "/release")
        assert (">tables<" in listed) is sees
        assert ('<td class="num"><b>' in listed) is sees


def drawn(page: str) -> tuple[list[dict[str, Any]], str]:
    """The chart's points, and its words."""
    found = re.search(r'data-key="spent" data-spec="(.*?)" role="img" aria-label="(.*?)"', page)
    assert found is not None
    return json.loads(found[1])["data"]["values"], found[2]


@pytest.mark.parametrize("gaussian", [True, False])
def test_the_chart_spends_what_the_cap_counts(tmp_path: Path, gaussian: bool) -> None:
    """Its last point is the account's, and no point is above the cap, whatever the answers' noise."""
    url, policy = f"sqlite:///{tmp_path / 'd.db'}", written(tmp_path)
    with PrivateTable(ROWS, policy=policy, ledger=url) as table:
        if gaussian:
            release_tables(table, TablesQuestion(tables=({"columns": ["sex"]},), rho=0.05))
            release_tables(table, CELLS)
        for number in range(30 if not gaussian else 2):
            table.release([Query(name=f"n{number}", statistic="count", epsilon=0.08, where="ward = 'A'")],
                          fresh=True)  # fmt: skip
        balance = table.ledger.balances()[0]
    rows, words = drawn(text(Settings(policy=policy, ledger=url), "/release"))
    points = [row["epsilon"] for row in rows if row["which"] == "spent"]
    assert points[-1] == balance.spent <= 2.7
    assert points == sorted(points)
    assert points[0] == 0.0
    assert re.search(r"ε = \S+ spent of 2\.7\.$", words)


def test_without_a_cap_on_epsilon_it_is_said_to_be_proved(tmp_path: Path) -> None:
    policy = written(tmp_path, caps="rho = 1.0")
    url = f"sqlite:///{tmp_path / 'd.db'}"
    with PrivateTable(ROWS, policy=policy, ledger=url) as table:
        release_tables(table, TablesQuestion(tables=({"columns": ["sex"]},), rho=0.05))
    page = text(Settings(policy=policy, ledger=url), "/release")
    assert drawn(page)[1].endswith("proved by all answers together.")


def test_an_answer_from_a_slot_alone_tells_what_its_noise_tells(tmp_path: Path) -> None:
    """It costs nothing beside its plan, and its page says what the answer by itself lets an attacker do."""
    url, path = f"sqlite:///{tmp_path / 'd.db'}", written(tmp_path)
    path.write_text(path.read_text() + '[[plan]]\nname = "weekly"\ncount = 2\nepsilon = 0.5\n')
    with PrivateTable(ROWS, policy=path, ledger=url) as table:
        table.release([replace(COUNT, slot="weekly")])
        (of_slot,) = (entry for entry in table.ledger.entries() if entry.slot)
        assert of_slot.spend.epsilon == 0.0
    alone = text(Settings(policy=path, ledger=url), f"/release/entry/{of_slot.id}")
    assert f"right with probability {100 / (1 + math.exp(-0.5)):.2f} % at most" in alone
    now = path.read_text().replace('"add-remove-one"', '"replace-one"\nrows = 500')
    path.write_text(now)
    amend(path, url, reason="the number of people is public")
    alone = text(Settings(policy=path, ledger=url), f"/release/entry/{of_slot.id}")
    assert f"can be at most {100 / (1 + math.exp(-1.0)):.2f} % sure" in alone


def test_what_was_withdrawn_or_replaced_says_so(tmp_path: Path) -> None:
    url, policy = f"sqlite:///{tmp_path / 'd.db'}", written(tmp_path)
    with PrivateTable(ROWS, policy=policy, ledger=url) as table:
        for fresh in (False, True):
            table.release([COUNT], fresh=fresh)
        release_tables(table, CELLS)
        table.ledger.revise({1: 2}, reason="counted <twice>", by="ada")
        table.ledger.withdraw([3], reason="Wrong ward.", by="ada")
    settings = Settings(policy=policy, ledger=url)
    told = [
        re.findall(r'notice">This answer was (.*?) It is no valid', text(settings, f"/release/entry/{n}"))
        for n in (1, 2, 3)
    ]
    days = [re.sub(r"\d{4}-\d\d-\d\d", "DAY", one) for found in told for one in found]
    assert days == ["replaced by entry 2 on DAY: counted <twice>.", "withdrawn on DAY: Wrong ward."]
    listed = text(settings, "/release")
    assert re.findall(r'tag warm">(\w+)<', listed) == ["withdrawn", "replaced"]
