"""The explorer as an attacker meets it: from another site, another machine, or with a matrix that is none."""

from __future__ import annotations

import asyncio
import random
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

import leakcap.web.app
import leakcap.web.serving.arriving
from leakcap.errors import InvalidParameter
from leakcap.web import Settings, create_app
from leakcap.web.channels.comparing import given
from leakcap.web.choosing import choose_epsilon, epsilon, office_method
from leakcap.web.server import address
from leakcap.web.serving import bounded
from leakcap.web.serving.guard import MOST_BODY, Keys
from running_explorer import hospital, promised

HOME = "http://127.0.0.1:8421"
TOKEN = "t" * 43
PAGES = ["/epsilon", "/choose", "/method", "/mechanism", "/release", "/nothing", "/enter", "/static/app.js"]


def client(settings: Settings | None = None, keys: Keys | None = None, base: str = HOME) -> TestClient:
    app = create_app(Settings() if settings is None else settings, keys=keys)
    return TestClient(app, base_url=base, raise_server_exceptions=False, follow_redirects=False)


@pytest.fixture
def keys() -> Keys:
    return Keys(None, "leakcap_8421")


@pytest.mark.parametrize("path", PAGES)
def test_every_answer_carries_a_strict_policy(path: str) -> None:
    answer = client().get(path)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "server" not in answer.headers


@pytest.mark.parametrize("path", ["/epsilon", "/choose", "/method", "/method/own", "/mechanism", "/release"])
def test_no_page_holds_what_the_policy_forbids(path: str, tmp_path: Path) -> None:
    text = client(hospital(tmp_path)).get(path).text
    assert not re.search(r"<script(?![^>]*\ssrc=)", text)
    assert not re.search(r"\sstyle\s*=|\son[a-z]+\s*=\s*[\"']|javascript:", text)
    assert not re.search(r"(?:src|hx-get|hx-post|action)\s*=\s*[\"']?(?:https?:)?//", text)


STRANGERS = """
evil.example 127.0.0.1.evil.example localhost.evil.example:8421 192.0.2.1 [::2]:8421
[::1]evil.example [::1]:evil.example [::1].evil.example:80 [[::1]] [::1 ::1] [::1]: [::1]@evil.example ::1
localhost:80@evil.example localhost:evil.example localhost: localhost:99999 localhost:000080 localhost:-1
localhost/evil localhost?x localhost,evil.example evil.example#@localhost user@localhost [::1%25evil.example]
[::1%evil] [localhost] [127.0.0.1] localhost. .localhost 127.1 2130706433 0x7f000001 %6cocalhost
[::ffff:127.0.0.1]
"""
"""Host headers that are not ours, however a browser or a proxy might read them."""


@pytest.mark.parametrize("host", ["", "localhost evil.example", "localhost\t", *STRANGERS.split()])
def test_a_rebound_name_sees_nothing(host: str) -> None:
    answer = client().get("/epsilon", headers={"host": host})
    assert answer.status_code == 421
    assert "ε" not in answer.text


NO_ADDRESSES = "[::1%evil.example] [192.0.2.7] 192.0.2.7evil [2001:db8::7]evil 2001:db8::7 192.0.2.7:x 7"


@pytest.mark.parametrize("host", NO_ADDRESSES.split())
def test_on_all_addresses_an_address_is_nothing_but_one(host: str) -> None:
    web = client(Settings(host="0.0.0.0", token=TOKEN), keys := Keys(TOKEN, "c"))
    cookie = {"cookie": f"c={keys.session}"}
    assert web.get("/epsilon", headers={"host": "[2001:db8::7]:80", **cookie}).status_code == 200
    assert web.get("/epsilon", headers={"host": host, **cookie}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1:8421", "localhost:9000", "[::1]:8421", "LOCALHOST"])
def test_our_own_names_are_let_in(host: str) -> None:
    assert client().get("/epsilon", headers={"host": host}).status_code == 200


def test_on_all_addresses_only_addresses_and_given_names_count() -> None:
    keys = Keys(TOKEN, "c")
    web = client(Settings(host="0.0.0.0", names=("stats.example",), token=TOKEN), keys)
    cookie = {"cookie": f"c={keys.session}"}
    assert web.get("/epsilon", headers={"host": "192.0.2.7:8421", **cookie}).status_code == 200
    assert web.get("/epsilon", headers={"host": "stats.example:8421", **cookie}).status_code == 200
    assert web.get("/epsilon", headers={"host": "evil.example:8421", **cookie}).status_code == 421
    assert web.get("/epsilon", headers={"host": "0.0.0.0:8421", **cookie}).status_code == 200


def test_two_hosts_are_none() -> None:
    twice = [("host", "127.0.0.1:8421"), ("host", "127.0.0.1:8421")]
    assert client().request("GET", "/epsilon", headers=twice).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "null"},
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:9999"},
        *({"origin": HOME + more} for more in ("/", ".evil.example", "@evil.example", "#", ",http://x")),
        *({"origin": f"http://{host}", "host": host} for host in ("[::1]evil.example", "localhost:1@evil")),
        {"origin": "127.0.0.1:8421"},
        {"origin": "file://127.0.0.1:8421"},
        {"origin": HOME.upper()},
        {"origin": HOME, "sec-fetch-site": "cross-site"},
        {"origin": HOME, "sec-fetch-site": "same-site"},
    ],
)
def test_a_form_from_elsewhere_does_nothing(headers: dict[str, str], keys: Keys, tmp_path: Path) -> None:
    web = client(hospital(tmp_path, allow_release=True), keys)
    fields = {"form_key": keys.form, "statistic": "count", "epsilon": "0.1"}
    status = 421 if "host" in headers else 403
    assert web.post("/release", data=fields, headers=headers).status_code == status
    assert not (tmp_path / "hospital.db").exists()


def test_a_form_without_its_key_does_nothing(keys: Keys, tmp_path: Path) -> None:
    web = client(hospital(tmp_path, allow_release=True), keys)
    fields = {"statistic": "count", "epsilon": "0.1"}
    for wrong in ({}, {"form_key": ""}, {"form_key": keys.form[:-1]}, {"form_key": "é" * 40}):
        assert web.post("/release", data=fields | wrong, headers={"origin": HOME}).status_code == 403
    assert not (tmp_path / "hospital.db").exists()
    answer = web.post("/release", data=promised(web, keys, fields), headers={"origin": HOME})
    assert answer.status_code == 200
    assert (tmp_path / "hospital.db").exists()


def test_without_the_option_nothing_is_released(keys: Keys, tmp_path: Path) -> None:
    web = client(hospital(tmp_path), keys)
    fields = {"form_key": keys.form, "statistic": "count", "epsilon": "0.1"}
    assert web.post("/release", data=fields, headers={"origin": HOME}).status_code == 403
    assert not (tmp_path / "hospital.db").exists()
    assert "Release for" not in web.get("/release", params={"statistic": "count", "epsilon": "0.1"}).text


def test_other_sites_read_nothing() -> None:
    embedded = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert client().get("/epsilon", headers=embedded).status_code == 403
    followed = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client().get("/epsilon", headers=followed).status_code == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(method: str) -> None:
    assert client().request(method, "/epsilon").status_code == 405


def test_a_token_is_asked_for_and_its_cookie_stays_here() -> None:
    keys = Keys(TOKEN, "leakcap_8421")
    web = client(Settings(token=TOKEN), keys)
    for path in ("/", "/epsilon", "/release", "/epsilon.json", "/nothing"):
        refused = web.get(path)
        assert refused.status_code == 401
        assert '<code>leakcap serve</code> printed, or go to <a href="/enter">' in refused.text
    assert web.get("/enter", params={"token": TOKEN[:-1]}).status_code == 403
    assert web.post("/enter", data={"token": "é"}, headers={"origin": HOME}).status_code == 403
    entered = web.get("/enter", params={"token": TOKEN})
    assert entered.status_code == 303
    assert TOKEN not in entered.headers["location"]
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    assert web.get("/epsilon").status_code == 200
    assert client(Settings(token=TOKEN), keys).get("/epsilon", headers={"cookie": "x; =;"}).status_code == 401


def test_who_needs_a_token(tmp_path: Path) -> None:
    assert not Settings().needs_token
    assert Settings(host="0.0.0.0").needs_token
    assert Settings(host="192.0.2.1").needs_token
    assert hospital(tmp_path, allow_release=True).needs_token
    assert hospital(tmp_path).needs_token  # a ledger says what was asked
    assert not Settings(policy=tmp_path / "policy.toml").needs_token
    assert address(Settings(token="abc"), 1) == "http://127.0.0.1:1/enter?token=abc"
    with pytest.raises(InvalidParameter):
        Settings(allow_release=True)


def test_a_body_has_a_size(keys: Keys) -> None:
    web = client(keys=keys)
    big = b"x" * (MOST_BODY + 1)
    form = {"origin": HOME, "content-type": "application/x-www-form-urlencoded"}
    assert web.post("/mechanism", content=big, headers=form).status_code == 413
    assert web.post("/mechanism", content=iter([big]), headers=form).status_code == 413
    lying = {**form, "content-length": "9" * 30}
    assert web.post("/mechanism", content=b"", headers=lying).status_code == 413


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leakcap.web.serving.arriving, "_BODY_SECONDS", 0.05)
    headers = [
        (b"host", b"127.0.0.1"),
        (b"origin", b"http://127.0.0.1"),
        (b"content-type", b"application/x-www-form-urlencoded"),
    ]
    scope = {"type": "http", "method": "POST", "path": "/mechanism", "headers": headers}
    sent: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        await asyncio.sleep(60)
        return {"type": "http.request"}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    asyncio.run(create_app(Settings())(scope, receive, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 408


@pytest.mark.parametrize(
    "path",
    ["/static/..%2fapp.py", "/static/%2e%2e/guard.py", "/static//etc/passwd", "/static/LICENSE.htmx%00.js"],
)
def test_only_listed_files_are_served(path: str) -> None:
    assert client().get(path).status_code == 404


BOMBS = {
    "exponent": "1e999999999,1/2\n0,1",
    "late exponent": '{"matrix": [["1e99999999", "1/2"], [0, 1]]}',
    "escaped exponent": '[["\\u0031e99999999", "1/2"], [0, 1]]',
    "digits": "[[" + "9" * 60000 + ", 0]]",
    "nested": "[" * 100000,
    "nested, closed": "[" * 900 + "]" * 900,
    "many rows": "1\n" * 60000,
    "one long line": ",".join("0" * 60000),
    "long": "input,output,probability\n" + "".join(f"a{i},b{i},1\n" for i in range(2000)),
    "cell": "a" * 100000,
    "quotes": '"' * 100000,
    "slashes": ",".join(["1/" + "9" * 60] * 1000),
    "entries": '{"entries": [[0, 999999999999, 1]], "inputs": ["a"], "outputs": ["b"]}',
    "negative entries": '{"entries": [[0, -1, 1]], "inputs": ["a"], "outputs": ["b"]}',
    "labels": '{"matrix": [[1]], "inputs": 7}',
    "unhashable": '{"matrix": [[1]], "inputs": [{"a": 1}]}',
    "binary": "\x00\x01",
    "surrogate": '[["\\ud800", 1]]',
    "nan": "nan,nan\n1,0",
    "infinite": "[[Infinity, 1]]",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_matrix_that_is_none_is_refused_at_once(name: str, keys: Keys) -> None:
    bounded.bounded(bool)  # its process takes a while to start
    started = time.perf_counter()
    fields = {"form_key": keys.form, "a": BOMBS[name]}
    answer = client(keys=keys).post("/mechanism", data=fields, headers={"origin": HOME})
    assert answer.status_code == 422, answer.text[-600:]
    assert "Internal error" not in answer.text
    assert 'role="alert"' in answer.text
    assert time.perf_counter() - started < 5.0


def dense(rows: int, columns: int, seed: int) -> str:
    """A matrix of fractions as awkward as the page takes, which its solvers are long with."""
    generator = random.Random(seed)
    lines = []
    for _ in range(rows):
        weights = [generator.randint(1, 999) for _ in range(columns)]
        lines.append(",".join(f"{weight}/{sum(weights)}" for weight in weights))
    return "\n".join(lines)


def test_no_matrix_keeps_the_page_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is asked, by whoever needs no token: the answer is there, or a refusal is, in bounded time."""
    for shape in ((128, 16), (16, 128), (2, 128), (45, 45), (20, 20)):
        bounded.bounded(given, {})  # starts a process that has loaded what compares
        with monkeypatch.context() as brief:
            brief.setattr(bounded, "SECONDS", 0.25)
            started = time.perf_counter()
            answer = client().get("/mechanism", params={"a": dense(*shape, 1), "b": dense(*shape, 2)})
        assert time.perf_counter() - started < 0.25 + 3.0, shape  # drawing the page on a busy machine
        assert answer.status_code in (200, 422), shape
        assert answer.status_code == 200 or "takes more than 0.25 seconds" in answer.text, shape
    monkeypatch.setattr(bounded, "SECONDS", 30.0)
    assert client().get("/mechanism").status_code == 200


def test_the_process_that_computes_loads_no_server() -> None:
    """FastAPI and what comes with it were two thirds of the second and a half that it took to start."""
    told = "{'fastapi', 'starlette', 'uvicorn', 'numpy'} & __import__('sys').modules.keys()"
    assert bounded.bounded(given, {}).query["gain"] == "identity"
    assert bounded.bounded(eval, told) == {"numpy"}


def worst(path: str) -> list[str]:
    """The queries of a route that ask for most: every slider at either end, every choice."""
    if path.startswith("/epsilon"):
        sliders, kinds, name = epsilon.SLIDERS, [*epsilon.MECHANISMS], "mechanism"
    elif path == "/choose":
        further = (choose_epsilon.QUERIES, choose_epsilon.PEOPLE, choose_epsilon.ROWS, choose_epsilon.GROUPS)
        sliders, kinds, name = (*choose_epsilon.SLIDERS.values(), *further), [*choose_epsilon.NEEDS], "need"
    elif path == "/method":
        methods = [f"kind={kind}&base={base}" for kind in office_method.KINDS for base in (2, 20)]
        tables = [
            f"kind=key&table={one}&largest=8&variance={v}" for one in ("entropy", "least") for v in (1, 8)
        ]
        return [f"{path}?{one}&below=20&top=40&matched=largest" for one in methods + tables]
    else:
        return [f"{path}?x={'9' * 4000}"]
    ends = ["&".join(f"{s.name}={end(s.least, s.most)}" for s in sliders) for end in (min, max)]
    found = [f"{path}?{name}={kind}&{end}" for kind in kinds for end in ends]
    dear = "&counts=people&neighbours=add-remove-one"
    return found + [one + dear for one in found if path == "/choose"]


def test_no_route_is_long_without_a_token() -> None:
    """Found by walking: each address that the application has. Two seconds are four times what any takes once
    its libraries are loaded, which the first answer does."""
    app: Any = create_app(Settings())
    routes = [route.path for route in app._app.routes if "GET" in (route.methods or ())]
    asked = [one for path in routes for one in worst(path.replace("{name}", "a").replace("{number}", "1"))]
    assert len(routes) > 8
    assert len(asked) > 30
    web = client()
    assert web.get("/method?kind=key&table=least&largest=2&variance=1").status_code == 200
    for query in asked:
        started = time.process_time()
        web.get(query)
        assert time.process_time() - started < 2.0, query[:80]


def test_a_preview_ends_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy without a ledger needs no token, and a query may be as large as it likes."""
    web = client(replace(hospital(tmp_path), ledger=None, data=None))
    bounded.bounded(bool)
    monkeypatch.setattr(bounded, "SECONDS", 0.0)
    answer = web.get("/release", params={"statistic": "count", "epsilon": "1"})
    assert (answer.status_code, "more than 0 seconds" in answer.text) == (422, True)


def test_uploads_are_read_like_text(keys: Keys) -> None:
    web = client(keys=keys)
    good = {"file_a": ("../../etc/x.csv", b"1/2,1/2\n1/4,3/4", "text/csv")}
    answer = web.post("/mechanism", data={"form_key": keys.form}, files=good, headers={"origin": HOME})
    assert answer.status_code == 200
    assert "1.0986" not in answer.text  # not the survey
    bad = {"file_a": ("x.csv", b"\xff\xfe\x00", "text/csv")}
    answer = web.post("/mechanism", data={"form_key": keys.form}, files=bad, headers={"origin": HOME})
    assert answer.status_code == 422
    many = {f"f{i}": ("x", b"1", "text/csv") for i in range(9)}
    answer = web.post("/mechanism", data={"form_key": keys.form}, files=many, headers={"origin": HOME})
    assert 400 <= answer.status_code < 500


EVIL = "<img src=x onerror=alert(1)>{{7*7}}${7*7}\"'"


def test_words_of_others_are_shown_as_words(keys: Keys, tmp_path: Path) -> None:
    web = client(hospital(tmp_path, allow_release=True, analyst="<b>me</b>"), keys)
    matrix = f',"{EVIL[:28]}",no\n<i>a</i>,1/2,1/2\n<i>b</i>,1/4,3/4\n'
    pages = [
        web.get("/mechanism", params={"a": matrix, "prior": EVIL}).text,
        web.get("/mechanism", params={"a": EVIL}).text,
        web.get("/epsilon", params={"eps": EVIL, "mechanism": EVIL}).text,
        web.get("/release", params={"statistic": EVIL, "where": EVIL, "name": EVIL, "epsilon": "1"}).text,
        web.get("/" + quote(EVIL)).text,
    ]
    fields = {"statistic": "count", "name": EVIL, "epsilon": "0.1"}
    pages.append(web.post("/release", data=promised(web, keys, fields), headers={"origin": HOME}).text)
    pages.append(web.get("/release").text)
    pages.append(web.get("/release/entry/1").text)
    assert "&lt;img src=x" in pages[-1]
    for page in pages:
        assert "<img src=x" not in page
        assert "<b>me" not in page
        assert "<i>a" not in page
        assert "49" not in re.findall(r"onerror=alert\(1\)&gt;(..)", page)


def test_no_header_is_made_of_a_readers_words() -> None:
    part = {"hx-request": "true"}
    answer = client().get("/epsilon", params={"eps": "1\r\nx-evil: 1", "queries": "2"}, headers=part)
    assert "x-evil" not in answer.headers
    address = answer.headers["hx-replace-url"]
    assert re.fullmatch(r"/epsilon\?[a-z0-9=&.-]+", address)
    text = client().get("/mechanism", params={"a": "1,0\r\n0,1", "prior": "\r\nx: y"}, headers=part)
    assert "\r" not in text.headers["hx-replace-url"]
    assert "x" not in text.headers


def test_a_fault_says_nothing_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(query: object) -> None:
        raise RuntimeError("patient 7 is ill")

    monkeypatch.setattr(leakcap.web.app.epsilon, "asked", broken)
    answer = client().get("/epsilon")
    assert answer.status_code == 500
    assert "RuntimeError" in answer.text
    assert "patient" not in answer.text
    assert "Traceback" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_only_released_values_reach_a_page(keys: Keys, tmp_path: Path) -> None:
    web = client(hospital(tmp_path, allow_release=True), keys)
    ask = {"statistic": "mean", "column": "mean_radius", "where": "mean_radius / 0 > 1", "epsilon": "0.1"}
    shown = [web.get("/release", params=ask).text]
    released = web.post("/release", data=promised(web, keys, ask), headers={"origin": HOME}).text
    shown += [released, web.get("/release").text, web.get("/release/policy.json").text]
    # The true mean and the first patient's values, which are public with the example.
    for page in shown:
        assert "14.127" not in page
        assert "17.99" not in page
        assert "842302" not in page
