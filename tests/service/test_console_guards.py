"""What the console's pages, cookies and words give away, and what strangers' words can do: nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from leakcap.service.api.curator import Curator
from service.direct import PASSWORD
from service.visiting import HOME, Browser, staffed, visitor

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onfocus='alert(1)' autofocus='",
    "{{ 7*7 }}{% raw %}",
    "</title></textarea></option></code><b>x</b>",
    "`<i>`",
    "javascript:alert(1)",
)


class Tags(HTMLParser):
    """Every tag with its attributes' names, and scripts that are written into the page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "action")]


def harmless(page: str) -> None:
    """No tag, attribute or address that the templates do not write themselves."""
    found = Tags(page)
    assert not {"i", "iframe", "object"} & {tag for tag, _ in found.tags}
    assert [names for tag, names in found.tags if tag == "script" and "src" not in names] == []
    assert [
        names for tag, names in found.tags if any(n.startswith("on") or n == "style" for n in names)
    ] == []
    assert [names for tag, names in found.tags if tag == "img" and names != ("src", "alt")] == []
    assert [link for link in found.links if not link.startswith(("/", "#"))] == []


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    found = staffed(tmp_path, more="approval = { approvers = 2 }\n")
    yield found
    found.store.close()


def test_planted_words_would_be_seen() -> None:
    for bad in (
        "<i>x</i>",
        "<script>x</script>",
        "<p onclick='x'>",
        "<img src=x>",
        "<a href='javascript:x'>x</a>",
    ):
        with pytest.raises(AssertionError):
            harmless(f"<html>{bad}</html>")


@pytest.mark.parametrize(
    "words", [*HOSTILE[:2], *(pytest.param(words, marks=pytest.mark.slow) for words in HOSTILE[2:])]
)
def test_words_of_others_are_words(curator: Curator, words: str) -> None:
    """Names, labels, reasons, titles and questions that a stranger chose, on every page that shows them."""
    data = {name: one.model_copy(update={"title": words}) for name, one in curator.configuration.data.items()}
    hostile = replace(
        curator, configuration=curator.configuration.model_copy(update={"data": data, "name": words})
    )
    store = hostile.store
    ada, pia, root, olga = (visitor(hostile, name) for name in ("ada", "pia", "root", "olga"))
    store.people.add("uni:" + ascii(words)[1:-1].strip()[:150], by="local:root", display=words)
    ada.send("/tokens", {"form": ada.token(), "label": words, "days": "1"})
    form = ada.form(ada.preview(name=words), "/datasets/ward/releases")
    job = ada.send("/datasets/ward/releases", form).headers["location"].removeprefix("/jobs/")
    store.decisions.decide(job, "local:pol", "approve", words)
    olga.send("/datasets/ward/pause", {"form": olga.token(), "reason": words})
    shown = [
        *(ada.get(path) for path in ("/", "/datasets/ward", "/datasets/ward/ask", f"/jobs/{job}", "/tokens")),
        *(pia.get(path) for path in ("/queue", f"/queue/{job}")),
        *(root.get(path) for path in ("/people", "/audit")),
        *(olga.get(path) for path in ("/audit/ward", "/people")),
        ada.preview(where=words),
        ada.send(
            "/datasets/ward/previews", {"form": ada.token(), "how": "sql", "sql": words, "sql_rho": words}
        ),
        root.send("/people", {"form": root.token(), "provider": "local", "name": words}),
        root.send("/grants", {"form": root.token(), "subject": words, "role": words, "dataset": words}),
        Browser(hostile).send("/sign-in", {"name": words, "password": words, "to": words}),
        Browser(hostile).get("/sign-in?to=" + "/" + "x%22%3E%3Cscript%3E"),
        ada.get("/datasets/%3Cscript%3E"),
    ]
    for page in shown:
        harmless(page.text)
    assert all(words in unescape(page.text) for page in shown[:5])


def test_keys_of_a_policy_are_words(tmp_path: Path) -> None:
    curator = staffed(tmp_path)
    policy = tmp_path / "policy.toml"
    policy.write_text(policy.read_text().replace('"c"]', '"c", "<i>x</i>", "\' onclick=\'x"]'))
    ada = visitor(curator, "ada")
    page = ada.get("/datasets/ward")
    assert escape("<i>x</i>") in page.text
    harmless(page.text)
    harmless(ada.get("/datasets/ward/ask").text)
    answer = ada.send("/datasets/ward/releases", ada.form(ada.preview(by="ward"), "/datasets/ward/releases"))
    assert escape("<i>x</i>") in answer.text
    harmless(answer.text)
    curator.store.close()


def test_every_page_is_sent_with_what_forbids_scripts_of_others(curator: Curator) -> None:
    ada = visitor(curator, "ada")
    for path in ("/", "/sign-in", "/nowhere", "/tokens", "/static/console.js"):
        headers = ada.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-frame-options"] == "DENY"
    assert ada.get("/tokens").headers["cache-control"] == "no-store"


@pytest.mark.parametrize("public", ["", "https://curator.example.org"])
def test_the_cookie_is_for_the_console_alone(tmp_path: Path, public: str) -> None:
    curator = staffed(tmp_path)
    changed = {"public": public, "behind_proxy": bool(public)}
    curator = replace(curator, configuration=curator.configuration.model_copy(update=changed))
    answer = Browser(curator, public or HOME).send("/sign-in", {"name": "ada", "password": PASSWORD})
    name, _, rest = answer.headers["set-cookie"].partition("=")
    flags = {part.strip().lower() for part in rest.split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/"} <= flags
    assert ("secure" in flags) == bool(public)
    assert name == ("__Host-leakcap" if public else "leakcap_8422")
    assert not any(flag.startswith("domain") for flag in flags)
    curator.store.close()


def test_a_session_ends_when_its_person_signs_out(curator: Curator) -> None:
    ada = visitor(curator, "ada")
    stolen = dict(ada.web.cookies)
    thief = Browser(curator)
    thief.web.cookies.update(stolen)
    assert thief.get("/tokens").status_code == 200
    assert ada.send("/sign-out", {"form": ada.token()}).headers["location"] == "/sign-in"
    assert thief.get("/tokens").status_code == 303
    assert ada.get("/tokens").status_code == 303


def test_a_token_of_a_program_is_no_session(curator: Curator) -> None:
    """Nor is a session's cookie asked for what programs ask."""
    ada = visitor(curator, "ada")
    made = ada.send("/tokens", {"form": ada.token(), "label": "x", "days": "1", "scope": "read"})
    secret = re.search(r"lkc_[0-9a-f]{16}_[\w-]{43}", made.text)
    assert secret
    other = Browser(curator)
    other.web.cookies.set("leakcap_8422", secret[0])
    assert other.get("/tokens").status_code == 303
    assert ada.web.get("/v1/me").status_code == 401
    assert ada.web.get("/v1/me", headers={"authorization": f"Bearer {secret[0]}"}).status_code == 200


def test_signing_in_says_the_same_of_every_name_and_leads_nowhere_else(curator: Curator) -> None:
    browser = Browser(curator)
    pages = [
        browser.send("/sign-in", {"name": n, "password": "wrong"}).text for n in ("ada", "nobody", "A<B")
    ]
    told = {re.sub(r' value="[^"]*"', "", page) for page in pages}
    assert len(told) == 1
    assert "Name or password is wrong." in told.pop()
    for to in ("https://evil.example", "//evil.example", "/\\evil.example", "/a\r\nx: y", "javascript:x"):
        answer = Browser(curator).send("/sign-in", {"name": "ada", "password": PASSWORD, "to": to})
        assert answer.headers["location"] == "/"
    answer = Browser(curator).send("/sign-in", {"name": "ada", "password": PASSWORD, "to": "/queue"})
    assert answer.headers["location"] == "/queue"


@pytest.mark.parametrize("body", [b"\xff\xfe", b"a=%ff", b"&" * 100_000, b"a=1&" * 5000, b"form=%00"])
def test_rubbish_is_refused_in_words(curator: Curator, body: bytes) -> None:
    ada = visitor(curator, "ada")
    headers = {"origin": HOME, "content-type": "application/x-www-form-urlencoded"}
    for path in ("/tokens", "/sign-in", "/datasets/ward/previews"):
        answer = ada.web.post(path, content=body, headers=headers)
        assert 400 <= answer.status_code < 500
        assert 'role="alert"' in answer.text
        assert len(answer.text) < 6000


def test_what_the_guard_refuses_is_a_page_for_readers_and_a_problem_for_programs(curator: Curator) -> None:
    browser = Browser(curator)
    page = browser.get("/tokens", host="evil.example")
    assert (page.status_code, page.headers["content-type"]) == (421, "text/html; charset=utf-8")
    told = browser.get("/v1/me", host="evil.example")
    assert (told.status_code, told.headers["content-type"]) == (421, "application/problem+json")
    cross = {"sec-fetch-site": "cross-site"}
    assert browser.get("/sign-in", **cross).status_code == 403
    followed = {**cross, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert browser.get("/sign-in", **followed).status_code == 200
