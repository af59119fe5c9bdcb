"""The console in a real browser: every page at two widths and in both themes, by keyboard, with nothing that
axe calls serious, nothing on the console and nothing from elsewhere.

With `LEAKCAP_PICTURES` the pages are kept as pictures in that folder, to be looked at.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import ConsoleMessage, Page, expect, sync_playwright

from browser import chromium
from leakcap.service.api.app import create_curator
from leakcap.service.api.curator import Curator
from leakcap.service.running.jobs import work
from leakcap.service.store.confirmed import AMEND, ROLE
from service.direct import PASSWORD
from service.visiting import Browser, staffed, visitor

pytestmark = pytest.mark.slow

PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
PAGES: dict[str, tuple[str, ...]] = {
    "ada": ("/", "/datasets/ward", "/datasets/ward/ask", "/answers", "/answers/ward/2", "/budgets",
            "/jobs", "/jobs/{done}", "/jobs/{waiting}", "/tokens", "/password", "/nowhere"),
    "pia": ("/queue", "/queue/{waiting}"),
    "olga": ("/datasets/ward", "/people", "/audit/ward"),
    "root": ("/", "/people", "/requests", "/audit"),
    "": ("/sign-in", "/password"),
}  # fmt: skip
HOSTILE = '<img src=x onerror="document.title=1">"\'&'


@contextlib.contextmanager
def running(curator: Curator) -> Iterator[str]:
    """The address of a running worker."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(create_curator(curator), log_level="error", lifespan="off", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), daemon=True)
        thread.start()
        try:
            give_up = time.monotonic() + 20
            while not server.started and time.monotonic() < give_up:
                time.sleep(0.01)
            assert server.started
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=20)


def asked(browser: Browser, **fields: str) -> str:
    """Where the answer is, or the job."""
    form = browser.form(browser.preview(**fields), "/datasets/ward/releases")
    return str(browser.send("/datasets/ward/releases", form).headers.get("location", ""))


def used(curator: Curator) -> dict[str, str]:
    """A curator with some history; the numbers of a job that is done and of one that waits."""
    store, ada = curator.store, visitor(curator, "ada")
    asked(ada, name="how many")
    asked(ada, statistic="mean", column="age", by="ward", epsilon="0.3")
    done = asked(ada, by="ward", epsilon="4.5").removeprefix("/jobs/")
    for name in ("pia", "pol"):
        store.decisions.decide(done, f"local:{name}", "approve", "nobody is harmed by it")
    going = iter([True, False])
    work(store, curator.engine, curator.configuration, going=lambda: next(going))
    waiting = asked(ada, where="age > 60", by="ward", epsilon="5").removeprefix("/jobs/")
    store.decisions.decide(waiting, "local:pol", "approve", HOSTILE)
    ada.send("/tokens", {"form": ada.token(), "label": HOSTILE, "days": "30", "scope": "ask"})
    store.people.add("uni:" + "8f14e45f-" * 12 + "x", by="local:root", display="A very long name of somebody")
    store.people.add("local:rita", by="local:root")
    store.grants.give("local:rita", "admin", by="local:root")
    role, policy = (
        {"role": "approver"},
        {"policy": {"caps": {"epsilon": 1.0}}, "reason": HOSTILE, "before": "x"},
    )
    for by in ("local:root", "shell:" + "operator-" * 8):
        store.confirmations.ask(ROLE, by=by, subject="local:ada", dataset="ward", body=role)
    store.confirmations.ask(AMEND, by="local:olga", dataset="ward", body=policy)
    gone = store.confirmations.ask(ROLE, by="local:rita", subject="local:eve", dataset="ward", body=role)
    store.confirmations.refuse(gone.id, "local:root", "not hers")
    return {"done": done, "waiting": waiting}


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str], Curator]]:
    more = 'title = "Patients <of> the ward & more"\napproval = { above_epsilon = 4.0, approvers = 2 }\n'
    more += (
        '[identity.uni]\nissuer = "https://id.example"\naudience = "curator"\nclient_id = "terminal"\n'
        'console_client_id = "console"\ntitle = "The university"\n'
    )
    curator = staffed(tmp_path_factory.mktemp("curator"), more=more, epsilon=20.0)
    numbers = used(curator)
    with running(curator) as address:
        yield address, numbers, curator
    curator.store.close()


@pytest.fixture
def page(browser: Chromium) -> Iterator[Page]:
    context = browser.new_context(viewport=DESKTOP, accept_downloads=True)  # type: ignore[arg-type]
    opened = context.new_page()
    faults = watch(opened)
    yield opened
    seen = list(faults)
    context.close()
    assert seen == []


def watch(page: Page) -> list[str]:
    """What the page's console says, errors thrown, and requests that go elsewhere."""
    faults: list[str] = []

    def said(message: ConsoleMessage) -> None:
        # A page that says 404 is one that was asked for.
        if message.type in ("error", "warning") and "status of 4" not in message.text:
            faults.append(message.text)

    page.on("console", said)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on(
        "request", lambda r: None if "127.0.0.1" in r.url or r.url[:5] == "data:" else faults.append(r.url)
    )
    return faults


def visit(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("html[data-ready]")


def sign_in(page: Page, home: str, name: str) -> None:
    visit(page, f"{home}/sign-in")
    page.fill("#name", name)
    page.fill("#password", PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Sign out")


def check(page: Page, name: str) -> None:
    """No page is wider than its window, none has what axe calls serious; kept as a picture if asked."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for size in (DESKTOP, PHONE):
            page.set_viewport_size(size)  # type: ignore[arg-type]
            if folder := os.environ.get("LEAKCAP_PICTURES"):
                file = Path(folder) / f"{name}-{size['width']}-{scheme}.png"
                page.screenshot(path=file, full_page=True)
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name
        found = Axe().run(page).response["violations"]
        grave = [(v["id"], v["nodes"][0]["target"]) for v in found if v["impact"] in ("serious", "critical")]
        assert grave == [], name
    page.set_viewport_size(DESKTOP)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PAGES)
def test_each_page_fits_and_is_accessible(
    page: Page, place: tuple[str, dict[str, str], Curator], name: str
) -> None:
    home, numbers, _ = place
    if name:
        sign_in(page, home, name)
    for path in PAGES[name]:
        address = path.format(**numbers)
        visit(page, home + address)
        words = re.sub(r"\W+", "-", path).strip("-") or "home"
        check(page, f"{name or 'nobody'}-{words}")
        assert page.title() != "1"
        assert page.locator("main img").count() == 0


def test_a_question_from_form_to_answer_by_keyboard(
    page: Page, place: tuple[str, dict[str, str], Curator]
) -> None:
    home, _, curator = place
    sign_in(page, home, "ada")
    visit(page, f"{home}/datasets/ward/ask")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    expect(page.locator("#bins")).to_be_hidden()
    page.select_option("#statistic", "histogram")
    expect(page.locator("#bins")).to_be_visible()
    page.select_option("#statistic", "count")
    page.fill("#where", "age > 30")
    page.fill("#epsilon", "0.5")
    page.focus("#epsilon")
    page.keyboard.press("Enter")
    page.wait_for_selector("#preview")
    assert page.evaluate("document.activeElement.id") == "preview"
    check(page, "ada-preview")
    before = curator.engine.call("budget", "ward", "")["caps"][0]["spent"]
    page.evaluate("document.querySelectorAll('#preview form').forEach((f) => { f.submit(); f.submit(); })")
    page.wait_for_selector(".answer")
    value = page.inner_text(".answer")
    check(page, "ada-answer")
    page.reload()
    assert page.inner_text(".answer") == value
    assert curator.engine.call("budget", "ward", "")["caps"][0]["spent"] == before + 0.5
    with page.expect_download() as waiting:
        page.click("button[value=csv]")
    assert value in Path(waiting.value.path()).read_text()
    page.go_back()
    page.click("#preview form button")
    page.wait_for_selector(".answer")
    assert page.inner_text(".answer") == value
    assert curator.engine.call("budget", "ward", "")["caps"][0]["spent"] == before + 0.5


def test_sql_is_completed_from_the_policy(page: Page, place: tuple[str, dict[str, str], Curator]) -> None:
    home, _, _ = place
    sign_in(page, home, "ada")
    visit(page, f"{home}/datasets/ward/ask")
    page.click("summary:has-text('In SQL')")
    page.fill("#sql", "SELECT COUNT(*) FROM ward WHERE")
    words = page.eval_on_selector_all("#words option", "all => all.map((o) => o.value)")
    assert {"ward", "age", "GROUP BY", "'a'"} <= set(words)
    page.fill("#word", "age")
    page.keyboard.press("Enter")
    page.keyboard.type("> 30")
    expect(page.locator("#sql")).to_have_value("SELECT COUNT(*) FROM ward WHERE age > 30")
    check(page, "ada-sql")
    page.fill("#sql", "SELECT age FROM ward")
    page.click("form[aria-label='A statement in SQL'] button.primary")
    expect(page.locator("#problem")).to_be_visible()
    check(page, "ada-sql-refused")


def test_without_a_script_the_pages_do_the_same(
    browser: Chromium, place: tuple[str, dict[str, str], Curator]
) -> None:
    home, numbers, _ = place
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{home}/sign-in")
    page.fill("#name", "pia")
    page.fill("#password", PASSWORD)
    page.click("text=Sign in")
    page.goto(f"{home}/queue/{numbers['waiting']}")
    page.click("text=Refuse")
    assert "reason" in page.inner_text("[role=alert]")
    page.context.clear_cookies()
    page.goto(f"{home}/sign-in")
    page.fill("#name", "ada")
    page.fill("#password", PASSWORD)
    page.click("text=Sign in")
    page.goto(f"{home}/datasets/ward/ask")
    assert page.is_visible("#bins")  # all fields are there where no script hides any
    page.fill("#epsilon", "0.25")
    page.click("form#ask button.primary")
    page.click("text=Ask for ε = 0.25")
    assert page.inner_text(".answer")
    context.close()


def test_a_first_password_is_chosen_by_keyboard(
    page: Page, place: tuple[str, dict[str, str], Curator]
) -> None:
    home, _, curator = place
    given, own = "a horse for one time", "another horse battery"
    curator.store.people.add("local:yan", by="local:root")
    curator.store.passwords.give_one_time("local:yan", given, by="local:root")
    visit(page, f"{home}/sign-in")
    page.fill("#name", "yan")
    page.fill("#password", given)
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Choose your password")
    check(page, "yan-first")
    assert page.evaluate("document.activeElement.id") == "password"
    for text in (given, own, own):
        page.keyboard.type(text)
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=The password is changed.")
    check(page, "yan-changed")
    page.click("text=To the data sets")
    page.wait_for_selector("text=Sign out")


def test_secrets_are_shown_once(page: Page, place: tuple[str, dict[str, str], Curator]) -> None:
    home, _, _ = place
    sign_in(page, home, "root")
    visit(page, f"{home}/people")
    page.fill("#new-name", "zoe")
    page.click("text=Add >> nth=-1")
    password = page.inner_text(".secret")
    check(page, "root-added")
    visit(page, f"{home}/people")
    assert password not in page.content()
    visit(page, f"{home}/tokens")
    page.fill("#label", "nightly")
    page.click("text=Make >> nth=-1")
    secret = page.inner_text(".secret")
    assert re.fullmatch("lkc_[0-9a-f]{16}_[A-Za-z0-9_-]{43}", secret)
    check(page, "root-token")
    visit(page, f"{home}/tokens")
    assert secret not in page.content()
