"""The explorer draws tables, trees and streams from the ledger, each number as it was released."""

from __future__ import annotations

import html
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright
from starlette.testclient import TestClient

from browser import chromium
from command_line import ROOT, leakcap
from leakcap.cli.serve import _from_files
from leakcap.errors import InvalidQuery
from leakcap.ledger import Ledger
from leakcap.release import PrivateTable, load_policy
from leakcap.report.pages import workload
from leakcap.report.words.wording import to_its_noise
from leakcap.synthesis import ChosenTables, release_chosen_tables
from leakcap.synthesis.choice import ChoiceQuestion
from leakcap.synthesis.files import load_synthesis
from leakcap.synthesis.releasing import release_for_file
from leakcap.tables.release import remembered_tables
from leakcap.web import Settings, app, create_app
from leakcap.web.releasing import drawn
from leakcap.web.serving import bounded
from leakcap.web.serving.guard import Keys
from running_explorer import running
from seeded import SeededSource

HOME = "http://127.0.0.1:8421"


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test plants in this process is heard where pages are drawn, too."""
    monkeypatch.setattr(app, "bounded", lambda action, *given: action(*given))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three answers in two ledgers; and no data, which no page needs."""
    folder = tmp_path_factory.mktemp("drawn")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("*.db*"))
    for words in (
        ["tables", "examples/tables/tables.toml"],
        ["hierarchy", "examples/tables/hierarchy.toml"],
        ["running", "examples/running/visits.toml", "--through", "2026-03"],
    ):
        done = leakcap(*words, "--json", cwd=folder)
        assert done.returncode == 0, done.stderr
        (folder / f"{words[0]}.json").write_text(done.stdout)
    (folder / "examples/running/visits.csv").unlink()
    (folder / "examples/hospital/patients.parquet").unlink()
    return folder


def page(folder: Path, files: list[str], number: int, **more: object) -> str:
    """The page of an entry, as text."""
    settings = Settings(**_from_files([folder / "examples" / file for file in files]), **more)
    web = TestClient(create_app(settings, keys=Keys(None, "c")), base_url=HOME)
    told = web.get(f"/release/entry/{number}")
    assert told.status_code == 200
    body = re.sub(r"<title>[^<]*</title>", "", told.text)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", re.sub(r"</t[dh]>", " | ", body))).split())


def test_every_cell_and_margin_of_tables_is_shown_with_its_interval(place: Path) -> None:
    record = json.loads((place / "tables.json").read_text())
    shown = page(place, ["tables/tables.toml"], 1)
    for table in record["tables"]:
        for cell in table["cells"]:
            value, low, high = to_its_noise(cell["value"], cell["lower"], cell["upper"])
            assert f"{value}{' u' if cell.get('drowned') else ''} ({low} to {high}) |" in shown


def test_every_node_of_a_tree_is_shown_and_drawn(place: Path) -> None:
    record = json.loads((place / "hierarchy.json").read_text())
    settings = Settings(**_from_files([place / "examples/tables/hierarchy.toml"]))
    web = TestClient(create_app(settings, keys=Keys(None, "c")), base_url=HOME)
    pictured = html.unescape(web.get("/release/entry/2").text)
    shown = page(place, ["tables/tables.toml", "tables/hierarchy.toml"], 2)
    for level in record["levels"]:
        for key, value, low, high in zip(
            level["keys"], level["values"], level["lower"], level["upper"], strict=True
        ):
            assert f"{key} ({level['level']}): {value:,}, {low:,} to {high:,}" in pictured
            assert re.search(rf"{key} \| {level['level']} \| {value:,}( u)? \| {low:,} to {high:,} \|", shown)


def test_every_period_of_a_running_count_is_shown_and_drawn(place: Path) -> None:
    record = json.loads((place / "running.json").read_text())
    settings = Settings(**_from_files([place / "examples/running/visits.toml"]))
    web = TestClient(create_app(settings, keys=Keys(None, "c")), base_url=HOME)
    text = html.unescape(web.get("/release/entry/1").text)
    spec = json.loads(re.search(r'data-key="running" data-spec="(.*?)" role="img"', text)[1])  # type: ignore[index]
    rows = {(row["period"], row["series"]): row for row in spec["data"]["values"]}
    for series in record["series"]:
        for step in series["steps"]:
            row = rows[step["period"], f"ward {series['keys'][0]}"]
            assert (row["total"], row["low"], row["high"]) == (
                step["total"], step["total_lower"], step["total_upper"],
            )  # fmt: skip
    assert "#" not in json.dumps({name: part for name, part in spec.items() if name != "$schema"}["config"])


def test_without_the_question_a_line_says_what_is_missing(place: Path) -> None:
    for files, number in ((["tables/hierarchy.toml"], 1), (["tables/tables.toml"], 2)):
        shown = page(place, files, number)
        assert "not which cell each belongs to" in shown
        assert " to " not in shown.partition("The answer")[2].partition("What it alone")[0]
    dearer = (place / "examples/tables/tables.toml").read_text().replace("epsilon = 2.0", "epsilon = 2.01")
    (place / "examples/tables/dearer.toml").write_text(dearer)
    assert "not which cell each belongs to" in page(place, ["tables/dearer.toml"], 1)


def test_the_list_leads_to_each(place: Path) -> None:
    settings = Settings(**_from_files([place / "examples/tables/tables.toml"]))
    text = TestClient(create_app(settings, keys=Keys(None, "c")), base_url=HOME).get("/release").text
    links = re.findall(r'<a href="/release/entry/(\d)">(\w+)<', text)
    assert links == [("2", "tree"), ("2", "statement"), ("1", "tables"), ("1", "statement")]


def test_another_analysts_answer_is_not_drawn(place: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("*.db*"))
    policy = tmp_path / "examples/tables/policy.toml"
    policy.write_text(
        policy.read_text().replace("[caps]", "[caps]\neach_analyst = { epsilon = 3.0, delta = 1e-6 }")
    )
    done = leakcap("tables", "examples/tables/tables.toml", "--analyst", "ada", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "diagnosis by radius" in page(tmp_path, ["tables/tables.toml"], 1, analyst="ada")
    for other in ("", "bob"):
        assert "diagnosis by radius" not in page(tmp_path, ["tables/tables.toml"], 1, analyst=other)


def test_a_withdrawn_answer_is_said_to_be_no_valid_one(place: Path, tmp_path: Path) -> None:
    shutil.copytree(place / "examples", tmp_path / "examples")
    with Ledger.resume(f"sqlite:///{tmp_path / 'examples/running/visits.db'}") as book:
        book.withdraw([1], reason="A ward is missing.", by="ada")
    assert "no valid answer any more" in page(tmp_path, ["running/visits.toml"], 1)
    assert "no valid answer any more" not in page(place, ["running/visits.toml"], 1)


@pytest.mark.usefixtures("in_this_process")
def test_what_is_too_large_for_a_page_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn, "_MOST_NUMBERS", 5)
    for files, number in ((["tables/tables.toml"], 1), (["running/visits.toml"], 1)):
        assert "more numbers than a page waits for" in page(place, files, number)


@pytest.mark.usefixtures("in_this_process")
def test_a_table_too_large_for_a_page_is_listed_with_its_error(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page that named it pointed to a list which it did not have."""
    record = json.loads((place / "tables.json").read_text())
    asked = [table for table in record["tables"] if table["asked"]]
    largest = max(len(table["cells"]) for table in asked)
    whole = page(place, ["tables/tables.toml"], 1)
    assert "standard deviation of a cell's error" not in whole
    monkeypatch.setitem(workload._CELLS, "reviewer", largest - 1)
    shown = page(place, ["tables/tables.toml"], 1)
    assert "Also published, and not on this page" in shown
    assert "standard deviation of a cell's error" in shown
    assert "is in --json of the command that asked" in shown.replace("`", "")
    for table in record["tables"]:
        name = " by ".join(table["columns"]) + " (margin)" * (not table["asked"])
        assert f"| {len(table['cells']):,} |" in shown
        assert name in shown or not table["columns"], name


def test_what_takes_too_long_to_draw_is_ended_and_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of the page is there, and the next answer is drawn again."""
    bounded.bounded(bool)
    with monkeypatch.context() as patch:
        patch.setattr(bounded, "SECONDS", 0.0)
        shown = page(place, ["tables/hierarchy.toml"], 2)
    assert "more numbers than a page waits for" in shown
    assert "What it alone lets an attacker do" in shown
    assert "more numbers" not in page(place, ["tables/hierarchy.toml"], 2)


@pytest.fixture(scope="module")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ChosenTables]:
    """A folder whose ledger knows tables that were chosen, without the data; and these tables."""
    folder = tmp_path_factory.mktemp("chosen")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("*.db*"))
    file = folder / "examples/tables/microdata.toml"
    file.write_text(file.read_text().replace("rows = 500", "choose = 2"))
    asked = load_synthesis(file)
    assert asked.choose == 2
    with PrivateTable(asked.tables.data, policy=asked.tables.policy, ledger=asked.tables.ledger) as table:
        found = release_chosen_tables(table, asked.tables.question, 2, source=SeededSource(1))
    (folder / "examples/hospital/patients.parquet").unlink()
    return folder, found


def test_chosen_tables_are_shown_with_the_choice(chosen: tuple[Path, ChosenTables]) -> None:
    folder, found = chosen
    shown = page(folder, ["tables/microdata.toml"], 1)
    first, second = (" × ".join(columns) for columns in found.chosen)
    assert f"2 tables of 3 chosen by a private score, in this order: {first}, {second}." in shown
    assert "Intervals and bounds hold for all 3 at once." in shown
    assert "was paid for choosing and for all of them, entry 1" in shown
    assert "of any linear mechanism" not in shown
    for columns in (*found.chosen, *((name,) for name in found.plan.workload.columns)):
        table = found.table(*columns)
        for (_, cell), unreliable in zip(table.cells, table.drowned.tolist(), strict=True):
            value, low, high = to_its_noise(cell.value, cell.low, cell.high)
            assert f"{value}{' u' * unreliable} ({low} to {high}) |" in shown
    settings = Settings(**_from_files([folder / "examples/tables/microdata.toml"]))
    web = TestClient(create_app(settings, keys=Keys(None, "c")), base_url=HOME)
    assert ">chosen tables<" in web.get("/release").text


def test_another_choice_or_all_tables_are_not_what_was_chosen(chosen: tuple[Path, ChosenTables]) -> None:
    folder, _ = chosen
    file = folder / "examples/tables/microdata.toml"
    for line in ("choose = 1", ""):
        (folder / "examples/tables/other.toml").write_text(file.read_text().replace("choose = 2", line))
        assert "not which cell each belongs to" in page(folder, ["tables/other.toml"], 1)


def test_no_choice_is_planned_to_draw_what_was_not_chosen(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planning one of many candidates took all of a page's time from the answers that come after it."""
    file = place / "examples/tables/microdata.toml"
    choice = place / "examples/tables/first.toml"
    choice.write_text(file.read_text().replace("rows = 500", "choose = 2"))
    asked: list[ChoiceQuestion] = []
    planned = ChoiceQuestion.planned
    monkeypatch.setattr(
        ChoiceQuestion, "planned", lambda one, policy: asked.append(one) or planned(one, policy)
    )
    settings = Settings(**_from_files([choice, place / "examples/tables/tables.toml"]))
    assert [type(one).__name__ for one in settings.questions] == ["ChoiceQuestion", "TablesQuestion"]
    assert settings.ledger is not None
    with Ledger.read(settings.ledger) as book:
        (entry,) = (one for one in book.entries() if one.id == 1)
    assert drawn.drawn_answer(settings, entry).blocks
    assert asked == []
    # An entry that says that it was chosen is held against the choice.
    drawn.drawn_answer(settings, replace(entry, details={**entry.details, "among": 3}))
    assert len(asked) == 1


def test_tables_that_a_regression_paid_for_are_drawn_too(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("*.db*"))
    file = tmp_path / "examples/tables/microdata.toml"
    words = '[regression]\ntarget = "diagnosis"\nfeatures = ["texture"]\nrho = 0.02\n'
    file.write_text(f"{file.read_text()}\n{words}")
    asked = load_synthesis(file)
    with PrivateTable(asked.tables.data, policy=asked.tables.policy, ledger=asked.tables.ledger) as table:
        release_for_file(table, *asked.questions, source=SeededSource(1))
    assert "diagnosis by radius" in page(tmp_path, ["tables/microdata.toml"], 1)
    shown = page(tmp_path, ["tables/microdata.toml"], 2)
    assert "regression of diagnosis" in shown
    assert "diagnosis by texture, with margins" in shown


def test_what_nobody_repeated_is_not_called_repeated(place: Path) -> None:
    for files, number in ((["tables/tables.toml"], 1), (["tables/hierarchy.toml"], 2)):
        shown = page(place, files, number)
        assert f"entry {number} |" in shown or f"entry {number}" in shown
        assert "repeated" not in shown


def test_of_many_answers_only_the_one_is_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = load_policy(place / "examples/tables/policy.toml")
    settings = Settings(**_from_files([place / "examples/tables/tables.toml"]))
    read: list[int] = []
    answer = Ledger.answer
    monkeypatch.setattr(Ledger, "answer", lambda book, entry: read.append(entry) or answer(book, entry))
    assert settings.ledger is not None
    with Ledger.read(settings.ledger) as book:
        (planned,) = (question.planned(policy) for question in settings.questions)
        assert list(remembered_tables(book, planned)) == read == [1]
        read.clear()
        assert remembered_tables(book, planned, 2) == {}
        assert read == []
        assert not remembered_tables(book, planned, 1)[1].repeated


def test_a_series_that_goes_on_is_no_fault(place: Path) -> None:
    """Its charge is reserved until its last period is answered, a year perhaps: that is no warning."""
    settings = Settings(**_from_files([place / "examples/running/visits.toml"]))
    web = TestClient(create_app(settings, keys=Keys(None, "c")), base_url=HOME)
    for path in ("/release", "/release/entry/1"):
        text = web.get(path).text
        assert '<span class="tag">paid for, 12 periods</span>' in text
        assert "reserved" not in text
        assert "tag warm" not in text


def test_one_file_may_be_written_in_several_ways(place: Path, tmp_path: Path) -> None:
    tables = place / "examples/tables"
    other = (tables / "hierarchy.toml").read_text()
    for policy, ledger in (
        ("../tables/policy.toml", "../tables/tables.db"),
        (tables / "policy.toml", tables / "tables.db"),
    ):
        text = other.replace('"policy.toml"', f'"{policy}"').replace('"tables.db"', f'"{ledger}"')
        (tables / "written.toml").write_text(text)
        assert len(_from_files([tables / "tables.toml", tables / "written.toml"])["questions"]) == 2
    (tables / "written.toml").write_text(other.replace('"tables.db"', '"another.db"'))
    with pytest.raises(InvalidQuery, match="`ledger` of"):
        _from_files([tables / "tables.toml", tables / "written.toml"])
    assert _from_files([tables / "tables.toml", tables / "written.toml"], {"ledger"})


def test_files_of_two_ledgers_are_refused(place: Path) -> None:
    with pytest.raises(InvalidQuery, match=r"`policy` of .*visits.toml` must be that of"):
        _from_files([place / "examples/tables/tables.toml", place / "examples/running/visits.toml"])


def test_pages_fit_and_are_accessible(place: Path) -> None:
    """Wide and narrow, light and dark: a silent console, nothing grave for axe, nothing cut off."""
    faults: list[str] = []
    files = ["tables.toml", "hierarchy.toml"]
    settings = Settings(**_from_files([place / "examples/tables" / name for name in files]))
    with running(settings) as home, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        for path, scheme, width in (("1", "light", 390), ("1", "dark", 1280), ("2", "dark", 390)):
            opened = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
            opened.on("console", lambda message: faults.append(message.text))
            opened.goto(f"{home}/release/entry/{path}")
            opened.wait_for_selector("html[data-ready]")
            assert opened.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
            found = Axe().run(opened).response["violations"]
            assert [v["id"] for v in found if v["impact"] in ("serious", "critical")] == []
            tinted = "getComputedStyle(document.querySelector('.heat-9') || document.body).backgroundColor"
            assert opened.evaluate(tinted) != "rgba(0, 0, 0, 0)"
            opened.close()
        browser.close()
    assert faults == []
