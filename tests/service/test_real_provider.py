"""Signing in at a real OpenID provider (node-oidc-provider) with a code, from the terminal to an answer."""

from __future__ import annotations

import html
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import sync_playwright

from browser import chromium
from curator_played import LEAKCAP, free_port
from ending_with_us import with_us
from leakcap.service.configuration import load_configuration
from leakcap.service.store import Role, Store
from service.started import Started, started

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
IDENTITY = """
[identity.uni]
issuer = "http://127.0.0.1:%d"
audience = "leakcap-curator"
client_id = "leakcap-terminal"
"""


@contextmanager
def provider(port: int, redirect: str = "http://127.0.0.1:1/none") -> Iterator[None]:
    script = str(Path(__file__).with_name("provider.mjs"))
    words = ["node", script, str(ROOT / "build/oidc"), str(port), redirect]
    process = subprocess.Popen(with_us(["/usr/bin/env", *words]), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
        yield
    finally:
        process.terminate()
        process.communicate(timeout=20)


def submitted(browser: httpx.Client, page: httpx.Response, fields: Mapping[str, str]) -> httpx.Response:
    """The page's first form, sent with its hidden fields and these."""
    form = re.search(r'<form[^>]*action="([^"]+)"', page.text)
    assert form, page.text[-1500:]
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.text))
    return browser.post(page.url.join(html.unescape(form[1])), data={**hidden, **fields})


def typed(address: str, code: str, name: str) -> str:
    """A person types the code in a browser, signs in, and agrees; the last page."""
    with httpx.Client(follow_redirects=True, timeout=30) as browser:
        page = submitted(browser, browser.get(address), {"user_code": code})
        for fields in ({}, {"login": name, "password": "any"}, {}):
            page = submitted(browser, page, fields)
        return page.text


def signing_in(curator: Started, port: int, name: str, environment: Mapping[str, str]) -> str:
    """What `leakcap login` says to somebody who signs in at the provider under a name."""
    command = [*LEAKCAP, "login", f"http://127.0.0.1:{curator.port}", "--provider", "uni"]
    process = subprocess.Popen(
        with_us(command), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    told = ""
    try:
        assert process.stdout is not None
        while not (code := re.search(r"[A-Z]{4}-[A-Z]{4}", told)):
            line = process.stdout.readline()
            assert line, told
            told += line
        assert "Success" in typed(f"http://127.0.0.1:{port}/device", code[0], name)
        rest, _ = process.communicate(timeout=60)
        assert process.returncode == 0, told + rest
        return told + rest
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config"), "PYTHONUNBUFFERED": "1"}


def test_from_a_code_to_an_answer(tmp_path: Path, environment: dict[str, str]) -> None:
    port = free_port()
    with provider(port), started(tmp_path, after=IDENTITY % port) as curator:
        with Store.open(load_configuration(curator.file).store) as store:
            store.people.add("uni:8f14e45f", by="test")
            store.grants.give("uni:8f14e45f", Role.ANALYST, "ward", by="test")
        assert "uni:8f14e45f" in signing_in(curator, port, "8f14e45f", environment)
        server = f"http://127.0.0.1:{curator.port}"
        words = [*LEAKCAP, "--server", server, "sql", "SELECT COUNT(*) FROM ward", "--epsilon", "0.5"]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=90)
        assert done.returncode == 0, done.stdout + done.stderr
        # Somebody else of the same provider, whom nobody added, gets in and sees nothing.
        assert "uni:somebody" in signing_in(curator, port, "somebody", environment)
        refused = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=90)
        assert refused.returncode != 0


def test_from_the_console_to_the_provider_and_back(tmp_path: Path) -> None:
    """In one browser: the console's button, the provider's pages, the console's page; then others' tricks."""
    port, own = free_port(), free_port()
    (tmp_path / "secret").write_text("only for tests\n")
    (tmp_path / "secret").chmod(0o600)
    home = f"http://127.0.0.1:{own}"
    identity = IDENTITY % port + 'console_client_id = "leakcap-console"\nconsole_secret = "secret"\n'
    with (
        provider(port, f"{home}/sign-in/uni/callback"),
        started(tmp_path, after=identity, port=own) as curator,
        httpx.Client(follow_redirects=True, timeout=30) as browser,
    ):
        with Store.open(load_configuration(curator.file).store) as store:
            store.people.add("uni:8f14e45f", by="test")
            store.grants.give("uni:8f14e45f", Role.ANALYST, "ward", by="test")
        page = browser.get(f"{home}/sign-in/uni?to=/tokens")
        assert page.url.port == port
        for fields in ({"login": "8f14e45f", "password": "any"}, {}):
            page = submitted(browser, page, fields)
        assert page.url.path == "/sign-in/uni/callback", page.text[-1500:]
        assert 'content="0; url=/tokens"' in page.text
        assert "uni:8f14e45f" in browser.get(f"{home}/tokens").text
        # Asked again, the provider shows nothing and says that it knows them, and nobody else.
        again = browser.get(f"{home}/sign-in/uni?to=/tokens&again=yes")
        assert again.url.path == "/sign-in/uni/callback", again.text[-1500:]
        assert 'content="0; url=/tokens"' in again.text
        with httpx.Client(follow_redirects=True, timeout=30) as stranger:
            gone = stranger.get(f"{home}/sign-in/uni?to=/tokens&again=yes")
            assert (gone.status_code, gone.url.path) == (401, "/sign-in/uni/callback")
            assert "You are no longer signed in at your provider." in gone.text
        # The address alone opens nothing a second time, and nothing for anybody else.
        assert browser.get(page.url).status_code == 401
        assert httpx.get(page.url).status_code == 401
        # Somebody whom nobody added is told their name, by the provider's word.
        with httpx.Client(follow_redirects=True, timeout=30) as other:
            page = other.get(f"{home}/sign-in/uni")
            for fields in ({"login": "somebody", "password": "any"}, {}):
                page = submitted(other, page, fields)
            assert page.status_code == 403
            assert "uni:somebody" in page.text


def test_a_browser_keeps_the_session_after_the_way_from_another_site(tmp_path: Path) -> None:
    """What `SameSite` means only a real browser shows: the provider (127.0.0.1) is another site than the
    console (localhost). The cookie that ties them comes along, and the session's goes to the next page."""
    port, own = free_port(), free_port()
    (tmp_path / "secret").write_text("only for tests")
    (tmp_path / "secret").chmod(0o600)
    home = f"http://localhost:{own}"
    identity = IDENTITY % port + 'console_client_id = "leakcap-console"\nconsole_secret = "secret"\n'
    with (
        provider(port, f"{home}/sign-in/uni/callback"),
        started(tmp_path, f'public = "{home}"', identity, own) as curator,
        sync_playwright() as driver,
    ):
        with Store.open(load_configuration(curator.file).store) as store:
            store.people.add("uni:8f14e45f", by="test")
            store.grants.give("uni:8f14e45f", Role.ANALYST, "ward", by="test")
        opened = driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        page = opened.new_page()
        page.goto(f"{home}/tokens")
        page.click("text=Sign in with uni")
        page.fill("[name=login]", "8f14e45f")
        page.fill("[name=password]", "any")
        page.click("[type=submit]")
        page.click("[type=submit]")
        page.wait_for_url(f"{home}/tokens")
        page.wait_for_selector("text=Make a token")
        assert "uni:8f14e45f" in page.content()
        kept = {one["name"]: one["sameSite"] for one in page.context.cookies(home)}
        assert kept == {f"leakcap_{own}": "Strict"}
        opened.close()
