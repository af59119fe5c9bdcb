"""The console: who sees which page, which forms count, and what is paid once."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.routing import APIRoute

from leakcap.service.api.curator import Curator
from leakcap.service.console.application import ROOMS
from service.direct import PASSWORD
from service.visiting import HOME, PEOPLE, Browser, staffed, visitor

APPROVAL = "approval = { above_epsilon = 0.7, approvers = 2 }\n"

ANALYST, OWNER, APPROVER, AUDITOR, ADMIN, NOBODY = "ada", "olga", "pia", "udo", "root", "eve"
AUDITED = {ANALYST: 403, OWNER: 200, APPROVER: 403, AUDITOR: 200, ADMIN: 404, NOBODY: 404}
SEEN: dict[str, dict[str, int]] = {
    # page: what each gets; 404 where a data set is not to be known of at all
    "/": dict.fromkeys((ANALYST, OWNER, APPROVER, AUDITOR, ADMIN, NOBODY), 200),
    "/datasets/ward": {ANALYST: 200, OWNER: 200, APPROVER: 200, AUDITOR: 200, ADMIN: 404, NOBODY: 404},
    "/datasets/ward/ask": {ANALYST: 200, OWNER: 200, APPROVER: 403, AUDITOR: 403, ADMIN: 404, NOBODY: 404},
    "/datasets/none": dict.fromkeys((ANALYST, OWNER, APPROVER, AUDITOR, ADMIN, NOBODY), 404),
    "/answers": {ANALYST: 200, OWNER: 403, APPROVER: 403, AUDITOR: 403, ADMIN: 403, NOBODY: 403},
    "/answers/ward/1": {ANALYST: 404, OWNER: 403, APPROVER: 403, AUDITOR: 403, ADMIN: 404, NOBODY: 404},
    "/budgets": {ANALYST: 200, OWNER: 200, APPROVER: 200, AUDITOR: 200, ADMIN: 403, NOBODY: 403},
    "/queue": {ANALYST: 403, OWNER: 403, APPROVER: 200, AUDITOR: 403, ADMIN: 403, NOBODY: 403},
    "/jobs": {ANALYST: 200, OWNER: 200, APPROVER: 200, AUDITOR: 403, ADMIN: 403, NOBODY: 403},
    "/jobs/{job}": {ANALYST: 200, OWNER: 200, APPROVER: 200, AUDITOR: 404, ADMIN: 404, NOBODY: 404},
    "/queue/{job}": {ANALYST: 403, OWNER: 403, APPROVER: 200, AUDITOR: 404, ADMIN: 404, NOBODY: 404},
    "/jobs/{job}/answer.csv": {**dict.fromkeys((OWNER, APPROVER, AUDITOR, ADMIN, NOBODY), 404), ANALYST: 409},
    "/people": {ANALYST: 403, OWNER: 200, APPROVER: 403, AUDITOR: 403, ADMIN: 200, NOBODY: 403},
    "/requests": {ANALYST: 403, OWNER: 200, APPROVER: 403, AUDITOR: 403, ADMIN: 200, NOBODY: 403},
    "/tokens": dict.fromkeys((ANALYST, OWNER, APPROVER, AUDITOR, ADMIN, NOBODY), 200),
    "/audit": {ANALYST: 403, OWNER: 200, APPROVER: 403, AUDITOR: 200, ADMIN: 200, NOBODY: 403},
    "/audit/ward": AUDITED,
    "/audit/ward/anchor.json": AUDITED,
    "/audit/ward/certificate.json": AUDITED,
    "/audit/ward/ledger.json": AUDITED,
}  # fmt: skip


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    found = staffed(tmp_path, more=APPROVAL)
    yield found
    found.store.close()


@pytest.fixture
def ada(curator: Curator) -> Browser:
    return visitor(curator, ANALYST)


def spent(curator: Curator) -> float:
    return float(curator.engine.call("budget", "ward", "")["caps"][0]["spent"])


def waiting_job(ada: Browser) -> str:
    """The number of a job that waits for two approvals."""
    form = ada.form(ada.preview(epsilon="1"), "/datasets/ward/releases")
    answer = ada.send("/datasets/ward/releases", form)
    assert answer.status_code == 303
    return str(answer.headers["location"].removeprefix("/jobs/"))


def test_each_role_sees_its_pages_and_no_others(curator: Curator, ada: Browser) -> None:
    job = waiting_job(ada)
    for name in (ANALYST, OWNER, APPROVER, AUDITOR, ADMIN, NOBODY):
        browser = visitor(curator, name)
        got = {page: browser.get(page.replace("{job}", job)).status_code for page in SEEN}
        assert got == {page: row[name] for page, row in SEEN.items()}, name


def test_every_page_stands_in_the_matrix() -> None:
    pages = addresses("GET")
    told = {p.replace("/ward", "/{dataset}").replace("{job}", "{number}") for p in SEEN} - {"/datasets/none"}
    told = {p.replace("answer.csv", "answer.{kind}").replace("/1", "/{number}") for p in told}
    assert pages - {"/sign-in", "/sign-in/{alias}", "/sign-in/{alias}/callback", "/password"} == told


def test_the_navigation_leads_nowhere_that_is_refused(curator: Curator) -> None:
    for name in PEOPLE:
        browser = visitor(curator, name)
        links = set(re.findall(r'<a [^>]*href="(/[^"]*)"', browser.get("/").text))
        assert "/tokens" in links
        assert {browser.get(link).status_code for link in links} == {200}, name


def test_nobody_is_shown_anything_without_signing_in(curator: Curator) -> None:
    browser = Browser(curator)
    for page in SEEN:
        answer = browser.get(page.replace("{job}", "0" * 20))
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/sign-in")
        assert browser.follow(answer).status_code == 200


def addresses(method: str) -> set[str]:
    routes = [one for room in ROOMS for one in room.routes.routes if isinstance(one, APIRoute)]
    return {one.path for one in routes if method in one.methods}


def posts() -> list[str]:
    """Every address that takes a form, but those where a password is the permission."""
    return sorted(path.replace("{dataset}", "ward") for path in addresses("POST") - {"/sign-in", "/password"})


def test_a_form_of_no_session_or_another_does_nothing(curator: Curator, ada: Browser) -> None:
    """Also for those who may do what it asks."""
    senders = {name: visitor(curator, name) for name in (ANALYST, OWNER, APPROVER, ADMIN)}
    stolen = {name: senders[ADMIN if name != ADMIN else OWNER].token() for name in senders}
    job, before = waiting_job(ada), (curator.store.verify_acts(), curator.store.tokens.list("local:ada"))
    asked = {"verdict": "approve", "reason": "x", "label": "x", "days": "1", "subject": "local:eve"}
    tried = [(name, {"form": token}) for name, token in stolen.items()]
    tried += [(OWNER, {}), (OWNER, {"form": ""}), (OWNER, {"form": "0" * 64})]
    assert len(posts()) == 18
    for path in posts():
        for name, token in tried:
            answer = senders[name].send(path.replace("{number}", job), {**asked, **token})
            assert answer.status_code == 403, (name, path)
            assert "another session" in answer.text
    assert before == (curator.store.verify_acts(), curator.store.tokens.list("local:ada"))
    assert curator.store.jobs.find(job).state == "awaiting approval"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": HOME + ".evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"host": "evil.example"},
        {"content-type": "text/plain"},
        {"content-type": "application/json"},
        {"content-type": "multipart/form-data; boundary=x"},
    ],
)
def test_a_form_from_elsewhere_does_nothing(curator: Curator, headers: dict[str, str]) -> None:
    """With a right token and a right password, too."""
    olga = visitor(curator, OWNER)
    fields = {"form": olga.token(), "reason": "stopped"}
    assert olga.send("/datasets/ward/pause", fields, **headers).status_code in (403, 415, 421)
    assert curator.store.pauses.list() == ()
    entering = {"name": "ada", "password": PASSWORD}
    assert "set-cookie" not in Browser(curator).send("/sign-in", entering, **headers).headers
    changing = {**entering, "chosen": "another horse battery", "again": "another horse battery"}
    assert "set-cookie" not in Browser(curator).send("/password", changing, **headers).headers
    assert curator.store.passwords.verify("local:ada", PASSWORD)
    assert olga.send("/datasets/ward/pause", fields).status_code == 303  # the planted right one
    assert len(curator.store.pauses.list()) == 1


def test_what_is_only_looked_at_changes_nothing(curator: Curator, ada: Browser) -> None:
    job = waiting_job(ada)
    people = [visitor(curator, name) for name in (ANALYST, OWNER, APPROVER, ADMIN)]

    def kept() -> object:
        acts, jobs = curator.store.verify_acts(), curator.store.jobs.list()
        return acts, jobs, curator.store.grants.all(), curator.engine.call("anchor", "ward", "")

    before = kept()
    for browser in people:
        for path in [*SEEN, *posts()]:
            browser.get(path.replace("{job}", job).replace("{number}", job))
    assert kept() == before


def test_a_question_sent_twice_is_paid_once(curator: Curator, ada: Browser) -> None:
    """A second click, a reload and the back button send the same form."""
    form = ada.form(ada.preview(), "/datasets/ward/releases")
    first = ada.send("/datasets/ward/releases", form)
    again = [ada.send("/datasets/ward/releases", form) for _ in range(3)]
    assert first.status_code == 200
    value = re.search(r'class="answer">([^<]+)', first.text)
    assert value
    assert all(value[0] in one.text for one in again)
    assert spent(curator) == 0.5
    file = ada.send("/datasets/ward/releases", {**ada.form(first, "/datasets/ward/releases"), "as": "csv"})
    assert file.headers["content-disposition"] == 'attachment; filename="answer.csv"'
    assert value[1] in file.text
    assert spent(curator) == 0.5


def test_an_answer_is_found_again_by_who_paid_for_it_alone(curator: Curator, ada: Browser) -> None:
    curator.store.grants.give("local:eve", "analyst", "ward", by="test")
    first = ada.send("/datasets/ward/releases", ada.form(ada.preview(), "/datasets/ward/releases"))
    value = re.search(r'class="answer">([^<]+)', first.text)
    assert value
    assert 'href="/answers/ward/1"' in ada.get("/answers").text
    assert value[0] in ada.get("/answers/ward/1").text
    assert visitor(curator, "eve").get("/answers/ward/1").status_code == 404
    assert spent(curator) == 0.5


def test_a_question_that_waits_is_one_job_however_often_it_is_sent(curator: Curator, ada: Browser) -> None:
    form = ada.form(ada.preview(epsilon="1"), "/datasets/ward/releases")
    places = {ada.send("/datasets/ward/releases", form).headers["location"] for _ in range(3)}
    assert len(places) == 1
    assert len(curator.store.jobs.list()) == 1


def test_what_was_not_previewed_is_not_asked(curator: Curator, ada: Browser) -> None:
    form = ada.form(ada.preview(), "/datasets/ward/releases")
    other = ada.form(ada.preview(where="age > 50"), "/datasets/ward/releases")
    changed = [
        {**form, "asked": form["asked"].replace("0.5", "5.0")},
        {**form, "asked": other["asked"]},
        {**form, "key": other["key"]},
        {**form, "seal": ""},
        {"form": form["form"]},
    ]
    for one in changed:
        answer = ada.send("/datasets/ward/releases", one)
        assert answer.status_code == 422
        assert "Nothing was spent" in answer.text
    later = visitor(curator, ANALYST)  # the same person in another session
    assert later.send("/datasets/ward/releases", {**form, "form": later.token()}).status_code == 422
    assert spent(curator) == 0.0
    assert ada.send("/datasets/ward/releases", form).status_code == 200


def test_under_another_policy_a_question_is_previewed_again(
    curator: Curator, ada: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = ada.form(ada.preview(), "/datasets/ward/releases")
    real = Curator.ask

    def amended(self: Curator, operation: str, *rest: object, **more: object) -> object:
        told = real(self, operation, *rest, **more)  # type: ignore[arg-type]
        if operation == "describe":
            told["policy"]["columns"]["age"]["bounds"] = [0.0, 100.0]
        return told

    monkeypatch.setattr(Curator, "ask", amended)
    assert ada.send("/datasets/ward/releases", form).status_code == 422
    monkeypatch.undo()
    assert spent(curator) == 0.0


def test_an_answer_leaves_on_the_clock(tmp_path: Path) -> None:
    slow = staffed(tmp_path)
    slow = replace(slow, configuration=slow.configuration.model_copy(update={"tick": 0.25}))
    ada = visitor(slow, ANALYST)
    form = ada.form(ada.preview(), "/datasets/ward/releases")
    for fields in (form, {**form, "seal": ""}):
        began = time.monotonic()
        ada.send("/datasets/ward/releases", fields)
        assert time.monotonic() - began >= 0.25
    began = time.monotonic()
    for _ in range(4):
        ada.get("/tokens")
    assert time.monotonic() - began < 1.0  # the planted page without a clock
    slow.store.close()


def test_sql_is_previewed_and_asked(curator: Curator, ada: Browser) -> None:
    asked = {
        "how": "sql",
        "sql": "SELECT ward, COUNT(*) AS n\nFROM ward GROUP BY ward",
        "sql_epsilon": "0.25",
    }
    page = ada.send("/datasets/ward/previews", {"form": ada.token(), **asked})
    assert "count by ward" in page.text
    answer = ada.send("/datasets/ward/releases", ada.form(page, "/datasets/ward/releases"))
    assert [key for key in "abc" if f'<th scope="row">{key}</th>' in answer.text] == ["a", "b", "c"]
    assert spent(curator) == 0.25
    wrong = ada.send("/datasets/ward/previews", {"form": ada.token(), **asked, "sql": "SELECT age FROM ward"})
    assert wrong.status_code == 422
    assert 'role="alert"' in wrong.text
    assert "SELECT age FROM ward</textarea>" in wrong.text  # what was written is still there


def test_two_people_approve_and_the_third_sees_the_answer(curator: Curator, ada: Browser) -> None:
    job = waiting_job(ada)
    pia, pol = visitor(curator, "pia"), visitor(curator, "pol")
    assert "was asked of ward so far" not in pia.get(f"/queue/{job}").text
    ada.send("/datasets/ward/releases", ada.form(ada.preview(), "/datasets/ward/releases"))
    page = pia.get(f"/queue/{job}")
    assert "was asked of ward so far" in page.text
    assert "ε = 1" in page.text
    assert "0 of 2 approvals" in page.text
    form = pia.form(page, f"/queue/{job}")
    unreasoned = pia.send(f"/queue/{job}", {**form, "verdict": "refuse"})
    assert (unreasoned.status_code, 'role="alert"' in unreasoned.text) == (409, True)
    after = pia.follow(pia.send(f"/queue/{job}", {**form, "verdict": "approve", "reason": "harmless"}))
    assert "another approver has to as well" in after.text
    assert pia.send(f"/queue/{job}", {**form, "verdict": "approve"}).status_code == 409
    assert curator.store.jobs.find(job).state == "awaiting approval"
    form = pol.form(pol.get(f"/queue/{job}"), f"/queue/{job}")
    assert pol.send(f"/queue/{job}", {**form, "verdict": "approve"}).status_code == 303
    assert curator.store.jobs.find(job).state == "queued"
    assert "harmless" in ada.get(f"/jobs/{job}").text


def test_who_asked_does_not_approve(curator: Curator, ada: Browser) -> None:
    curator.store.grants.give("local:ada", "approver", "ward", by="test")
    job = waiting_job(ada)
    assert "another approver decides" in ada.get(f"/queue/{job}").text
    answer = ada.send(f"/queue/{job}", {"form": ada.token(), "verdict": "approve", "reason": ""})
    assert answer.status_code == 409
    assert curator.store.decisions.of(job) == ()
