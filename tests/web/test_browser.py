"""The explorer in a real browser: pages, a slider, uploads, releases, themes; nothing in the console, nothing
that axe calls serious."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from browser import chromium
from running_explorer import hospital, running

PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
PAGES = ("/epsilon?mechanism=gaussian&queries=7", "/release?statistic=count&epsilon=0.1")
MORE = (
    "/epsilon",
    "/epsilon?mechanism=continuous",
    "/choose?need=guess",
    "/mechanism",
    "/method",
    "/method?kind=key&table=least",
    "/method?kind=small",
    "/method/own",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[str]:
    with running(hospital(tmp_path, allow_release=True)) as address:
        yield address


@pytest.fixture
def page(browser: Browser, home: str) -> Iterator[Page]:
    """Closed before the explorer stops, which a picture may still be asked of."""
    context = browser.new_context(viewport=DESKTOP, accept_downloads=True)  # type: ignore[arg-type]
    opened = context.new_page()
    faults = watch(opened)
    yield opened
    seen = list(faults)  # what is cut off by closing is not the page's fault
    context.close()
    assert seen == []


def watch(page: Page) -> list[str]:
    """What the page's console says, errors thrown, and requests that go elsewhere."""
    faults: list[str] = []

    def said(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            faults.append(message.text)

    page.on("console", said)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on(
        "request",
        lambda r: None if "127.0.0.1" in r.url or r.url[:5] in ("data:", "blob:") else faults.append(r.url),
    )
    return faults


def visit(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("html[data-ready]")


def test_a_planted_fault_is_seen(browser: Browser, home: str) -> None:
    page = browser.new_page()
    faults = watch(page)
    visit(page, home + "/epsilon")
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<b style=\"color:red\">x</b><img src=x>')")
    # Later, since a driver's own evaluation is free of the policy.
    late = "setTimeout(() => { try { new Function('1')() } catch { console.error('eval refused') } })"
    page.evaluate(late)
    page.wait_for_timeout(200)
    assert any("eval refused" in fault for fault in faults)
    assert any("style" in fault for fault in faults)
    page.close()


@pytest.mark.parametrize("path", [*PAGES, *(pytest.param(path, marks=pytest.mark.slow) for path in MORE)])
def test_each_page_draws_fits_and_is_accessible(page: Page, home: str, path: str) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for size in (DESKTOP, PHONE):
            page.set_viewport_size(size)  # type: ignore[arg-type]
            visit(page, home + path)
            for plot in page.query_selector_all(".plot"):
                marks = plot.query_selector_all("svg path, svg line, svg rect")
                assert len(marks) >= 3, plot.get_attribute("data-key")
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        found = Axe().run(page).response["violations"]
        grave = [(v["id"], v["nodes"][0]["target"]) for v in found if v["impact"] in ("serious", "critical")]
        assert grave == []


def test_a_slider_by_keyboard(page: Page, home: str) -> None:
    visit(page, home + "/epsilon")
    before = page.inner_text(".hero b")
    drawn = page.inner_html(".plot[data-key=tests]")
    page.focus("input[type=range][data-for=eps]")
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("before => document.querySelector('.hero b').textContent !== before", arg=before)
    page.wait_for_url(re.compile(r"eps=0\.[23]"))
    assert page.inner_html(".plot[data-key=tests]") != drawn
    page.focus("input[type=range][data-for=queries]")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#queries")).to_have_value("2")
    page.wait_for_url(re.compile(r"queries=2&"))
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#queries")).to_have_value("1")
    page.wait_for_url(re.compile(r"queries=1&"))
    # The address alone shows the same: a page that was moved comes to it, however slow the machine is.
    alone = page.context.new_page()
    visit(alone, page.url)
    expect(page.locator(".hero")).to_have_text(alone.text_content(".hero") or "nothing")


def test_the_whole_page_can_be_walked_by_keyboard(page: Page, home: str) -> None:
    visit(page, home + "/epsilon")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.focus("input[name=mechanism]")
    page.keyboard.press("ArrowDown")
    page.wait_for_url(re.compile("mechanism=continuous"))
    expect(page.locator(".hero")).to_contain_text("a published number is off")
    # δ is there for Gaussian noise alone, in powers of ten.
    expect(page.locator("#delta")).to_be_hidden()
    page.keyboard.press("ArrowDown")
    page.wait_for_url(re.compile("mechanism=gaussian"))
    expect(page.locator(".hero")).to_contain_text("a single answer has no limit")
    page.focus("input[type=range][data-for=delta]")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(re.compile("delta=1e-7"))


def test_the_theme_is_switched_and_kept(page: Page, home: str) -> None:
    page.emulate_media(color_scheme="light")
    visit(page, home + "/epsilon")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert light != dark
    assert page.locator(".plot[data-key=error] svg").inner_html().count("#5fbcd9") >= 1
    visit(page, home + "/choose")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    expect(page.locator("#theme")).to_have_attribute("aria-pressed", "true")


def test_pictures_are_downloaded(page: Page, home: str) -> None:
    visit(page, home + "/epsilon")
    starts = {"png": b"\x89PNG", "svg": b"<svg", "json": b"{"}
    for kind, start in starts.items():
        with page.expect_download() as waiting:
            page.click(f"figure:has([data-key=information]) [data-download={kind}]")
        assert waiting.value.suggested_filename == f"leakcap-information.{kind}"
        content = Path(waiting.value.path()).read_bytes()
        assert content.startswith(start)
        assert len(content) > 1000


def test_an_upload_and_a_bad_one(page: Page, home: str, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text(",yes,no\nill,3/4,1/4\nwell,1/4,3/4\n")
    bad.write_text(",yes,no\n<b>ill</b>,3/4,1/2\nwell,1/4,3/4\n")
    visit(page, home + "/mechanism")
    expect(page.locator(".verdicts")).to_contain_text("B never leaks more than A")
    page.fill("#b", "")
    page.set_input_files("#file_a", good)
    page.click("text=Measure")
    expect(page.locator("#result")).to_contain_text("A (2×2)")
    expect(page.locator("#result")).to_contain_text("1.09862")
    page.wait_for_url(re.compile("a=%2Cyes%2Cno"))
    page.set_input_files("#file_a", bad)
    page.click("text=Measure")
    expect(page.locator("[role=alert]")).to_contain_text("must sum to")
    assert page.locator("#result table").count() == 0


def test_a_release_within_budget_and_one_beyond(page: Page, home: str) -> None:
    visit(page, home + "/release")
    expect(page.locator("#ledger")).to_contain_text("Nothing was released yet")
    expect(page.locator("#bins")).to_be_hidden()
    page.select_option("#statistic", "histogram")
    expect(page.locator("#bins")).to_be_visible()
    page.select_option("#statistic", "count")
    expect(page.locator("#bins")).to_be_hidden()
    page.fill("#where", "diagnosis = 'malignant'")
    page.fill("#epsilon", "0.5")
    page.click("text=Preview")
    expect(page.locator("section[aria-label=Preview]")).to_contain_text("± 6")
    page.click("text=Release for ε = 0.5")
    expect(page.locator(".answer")).to_have_text(re.compile(r"^[0-9]+$"))
    expect(page.locator("section[aria-label='Entries of the ledger']")).to_contain_text(
        "diagnosis = 'malignant'"
    )
    assert page.locator(".plot[data-key=spent] svg").count() == 1
    page.fill("#epsilon", "2.6")
    page.click("text=Preview")
    page.click("text=Release for ε = 2.6")
    expect(page.locator("[role=alert]")).to_contain_text("cap")
    assert page.locator(".answer").count() == 0
    page.click("a:has-text('statement')")
    expect(page.locator("h1")).to_have_text("count")
    expect(page.locator("main")).to_contain_text("62.25 %")


def test_keys_move_a_slider_however_small_its_step(page: Page, home: str) -> None:
    """One press at a time, each answered before the next: 0.1 is left behind, upwards and downwards."""
    visit(page, home + "/epsilon")
    slider = page.locator("input[type=range][data-for=eps]")
    for key, values in (("ArrowRight", ("0.11", "0.12")), ("ArrowLeft", ("0.11", "0.1", "0.098"))):
        for value in values:
            slider.focus()
            page.keyboard.press(key)
            expect(page.locator("#eps")).to_have_value(value)
            page.wait_for_url(re.compile(f"eps={re.escape(value)}&"))


@pytest.mark.slow
def test_a_method_by_keyboard(page: Page, home: str) -> None:
    """Base 3 to 4: with 0 others a guess is right with 1 − ½·¾ after one cell."""
    visit(page, home + "/method")
    expect(page.locator(".hero")).to_contain_text("66.67 %")
    page.focus("input[type=range][data-for=base]")
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("base=4"))
    expect(page.locator(".hero")).to_contain_text("62.50 %")
    page.focus("a.pick:has-text('Cell keys')")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("kind=key"))
    expect(page.locator("#variance")).to_have_value("3")
    # A variance that no table of this largest change has is said, and the nearest shown.
    page.focus("input[type=range][data-for=largest]")
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    expect(page.locator("[role=alert]")).to_contain_text("shown is 1.9")


@pytest.mark.slow
def test_back_goes_to_where_a_slider_stood(page: Page, home: str) -> None:
    """What the slider passes on its way leaves nothing to go back to."""
    visit(page, home + "/epsilon")
    page.locator("input[type=range][data-for=eps]").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(60)
    page.wait_for_url(re.compile(r"eps=0\.1[1-9]"))
    page.wait_for_timeout(1500)  # the slider rests
    moved = page.url
    page.locator("input[name=mechanism][value=response]").check()
    page.wait_for_url(re.compile("mechanism=response"))
    page.wait_for_timeout(1500)
    with page.expect_event("load"):
        page.go_back()
    assert page.url == moved
    expect(page.locator("input[name=mechanism][value=laplace]")).to_be_checked()
    with page.expect_event("load"):
        page.go_back()
    assert page.url == home + "/epsilon"
    expect(page.locator("#eps")).to_have_value("0.1")
