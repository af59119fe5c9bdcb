"""The built manual in Chromium, from the disk: nothing missing or unreadable; search and sliders work."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from docs.styles import fewest_pages

OF_COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules of axe that a theme can break alone."""
COLOURS = {"runOnly": {"type": "rule", "values": OF_COLOURS}}
OTHERS = {"rules": {rule: {"enabled": False} for rule in OF_COLOURS}}
EVERY: dict[str, object] = {}

FEW = ["concepts/orders.html", "theory/leakage.html", "reference/implications.html"]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.fail("NO BROWSER: install Chromium (`make chromium`) to test the manual.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(chromium: Browser, scheme: str, width: int) -> tuple[Page, list[str]]:
    page = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light"
    ).new_page()
    faults: list[str] = []
    page.on("console", lambda message: faults.append(f"{page.url} {message.text}"))
    page.on("pageerror", lambda error: faults.append(f"{page.url} {error}"))
    page.on("request", lambda asked: asked.url.startswith("file:") or faults.append(asked.url))
    return page, faults


def look(page: Page, at: Path, rules: Mapping[str, object] | None = EVERY) -> None:
    """Nothing may be wider than the page or break one of these rules; `None`: the width alone."""
    page.goto(at.as_uri())
    page.wait_for_load_state("load")
    plots = page.locator("figure.played .plot")
    for k in range(plots.count()):
        plots.nth(k).locator("svg").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 1, (
        f"{at}: wider than the page"
    )
    if rules is None:
        return
    # Axe would write out every element that is right, which takes longer than to look at it.
    asked = {"preload": False, "resultTypes": ["violations"], **rules}
    found = Axe().run(page, options=asked).response["violations"]
    serious = [(v["id"], v["nodes"][0]["target"]) for v in found if v["impact"] in ("serious", "critical")]
    assert serious == [], f"{at}: {serious}"


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("dark", 390), ("light", 1280)])
def test_pages(chromium: Browser, site: Path, scheme: str, width: int) -> None:
    page, faults = opened(chromium, scheme, width)
    for name in FEW:
        look(page, site / name)
    assert faults == []


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1280)])
def test_every_page(chromium: Browser, site: Path, scheme: str, width: int) -> None:
    """Every page on a phone, where regions scroll, by every rule but those of colours; in both themes the
    colours of all styles that any page has."""
    page, faults = opened(chromium, scheme, width)
    pages = [path for path in site.rglob("*.html") if "code" not in path.relative_to(site).parts]
    pages = [path for path in pages if path.name != "404.html"]
    assert len(pages) > 60
    coloured = set(fewest_pages(pages))
    for path in pages:
        if scheme == "light":
            look(page, path, EVERY if path in coloured else OTHERS)
        else:
            look(page, path, COLOURS if path in coloured else None)
    assert faults == []


@pytest.mark.slow
def test_a_bad_page_is_seen(chromium: Browser, tmp_path: Path) -> None:
    """Grey on grey in both ways of looking, a picture without words and a page too wide."""
    page, _ = opened(chromium, "light", 390)
    head = "<!doctype html><html lang=en><title>t</title><main><h1>t</h1>"
    for text, rules in (
        ("<p style='color:#ccc'>pale</p>", COLOURS),
        ("<p style='color:#ccc'>pale</p>", EVERY),
        ("<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>", EVERY),
        ("<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>", OTHERS),
        ("<div style='width:900px'>wide</div>", None),
    ):
        (tmp_path / "bad.html").write_text(f"{head}{text}</main>", encoding="utf-8")
        with pytest.raises(AssertionError, match=r"bad\.html"):
            look(page, tmp_path / "bad.html", rules)
    (tmp_path / "good.html").write_text(f"{head}<p>good</p></main>", encoding="utf-8")
    look(page, tmp_path / "good.html")


def test_a_slider_redraws_and_search_finds(chromium: Browser, site: Path) -> None:
    page, faults = opened(chromium, "light", 1280)
    page.goto((site / "concepts" / "odds.html").as_uri())
    plot = page.locator("figure.played")
    plot.get_by_text("at most 52.5 times of 100").wait_for()
    plot.locator("input[type=range]").fill("6")
    plot.get_by_text("at most 73.2 times of 100").wait_for()
    page.locator("input[name=query]").fill("refinement")
    page.locator(".md-search-result__item").first.wait_for()
    assert faults == []
