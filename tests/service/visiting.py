"""People at the console inside a test: what a browser would send, from the forms that its pages hold."""

from __future__ import annotations

from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

from httpx2 import Response
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from leakcap.service.api.app import create_curator
from leakcap.service.api.curator import Curator
from leakcap.service.store import Store
from service.direct import PASSWORD, curator_in, three

__all__ = ["HOME", "PEOPLE", "Browser", "Forms", "staffed", "visitor"]

HOME = "http://127.0.0.1:8422"
PEOPLE: Mapping[str, tuple[tuple[str, str], ...]] = {
    "ada": (("analyst", "ward"),),
    "olga": (("owner", "ward"),),
    "pia": (("approver", "ward"),),
    "pol": (("approver", "ward"),),
    "udo": (("auditor", "ward"),),
    "root": (("admin", ""),),
    "eve": (),
}
"""One person for each role, a second approver, and one without any."""


def everybody(store: Store) -> None:
    """All of `PEOPLE`."""
    three(store)
    for name, roles in PEOPLE.items():
        subject = f"local:{name}"
        if store.people.find(subject) is None:
            store.people.add(subject, by="test")
            store.passwords.set(subject, PASSWORD, by="test")
        for one in store.grants.of(subject):
            store.grants.take(subject, one.role, one.dataset, by="test")
        for role, dataset in roles:
            store.grants.give(subject, role, dataset, by="test")


def staffed(folder: Path, **options: object) -> Curator:
    """A curator with everybody."""
    return curator_in(folder, fill=everybody, **options)


class Forms(HTMLParser):
    """The forms of a page: each one's address, and the fields that it sends untouched."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self._select = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        if tag == "form" and known.get("method") == "post":
            self.found.append((known["action"], {}))
        elif tag in ("input", "textarea") and self.found and known.get("name"):
            if known.get("type") not in ("checkbox", "radio"):
                self.found[-1][1][known["name"]] = known.get("value", "")
        elif tag == "select":
            self._select = known.get("name", "")
        elif tag == "option" and self._select and self.found:
            fields = self.found[-1][1]
            if self._select not in fields or "selected" in known:
                fields[self._select] = known.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self._select = ""


_LAST: list[tuple[Curator, ASGIApp]] = []


def _app_of(curator: Curator) -> ASGIApp:
    """One application for all browsers of a curator: to make its routes takes a tenth of a second."""
    if not _LAST or _LAST[0][0] is not curator:
        _LAST[:] = [(curator, create_curator(curator))]
    return _LAST[0][1]


class Browser:
    """One person's browser: cookies, and forms with the headers that a browser sends."""

    def __init__(self, curator: Curator, home: str = HOME) -> None:
        self.home = home
        self.web = TestClient(
            _app_of(curator), base_url=home, raise_server_exceptions=False, follow_redirects=False
        )

    def get(self, path: str, **headers: str) -> Response:
        return self.web.get(path, headers=headers)

    def send(self, path: str, fields: Mapping[str, object], **headers: str) -> Response:
        own = {"origin": self.home, "sec-fetch-site": "same-origin"}
        return self.web.post(path, data=dict(fields), headers={**own, **headers})

    def follow(self, answer: Response) -> Response:
        assert answer.status_code == 303, answer.text[:500]
        return self.get(answer.headers["location"])

    def form(self, page: str | Response, action: str) -> dict[str, str]:
        """What the page's form to this address sends."""
        text = page if isinstance(page, str) else page.text
        found = [fields for to, fields in Forms(text).found if to == action]
        assert found, f"no form to {action} among {[to for to, _ in Forms(text).found]}"
        return found[0]

    def sign_in(self, name: str) -> Browser:
        answer = self.send("/sign-in", {"name": name, "password": PASSWORD})
        assert answer.status_code == 303, answer.text[:300]
        return self

    def token(self) -> str:
        """The token of this session's forms."""
        return self.form(self.get("/tokens"), "/tokens")["form"]

    def preview(self, dataset: str = "ward", **fields: str) -> Response:
        asked = {"how": "fields", "statistic": "count", "epsilon": "0.5", **fields}
        return self.send(f"/datasets/{dataset}/previews", {"form": self.token(), **asked})


def visitor(curator: Curator, name: str) -> Browser:
    """Somebody who has signed in."""
    return Browser(curator).sign_in(name)
