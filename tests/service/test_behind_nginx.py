"""The nginx example lets questions through, nothing that hides in them, and waits for nobody who is slow."""

from __future__ import annotations

import json
import re
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from service.behind_nginx import NAME, Proxy, proxied

pytestmark = pytest.mark.slow

HIDDEN = f"GET /v1/tokens HTTP/1.1\r\nHost: {NAME}\r\nX: ".encode()
"""What a smuggler hides: no other test asks for this address."""
BODY = b"0\r\n\r\n" + HIDDEN
OPEN = f"POST /v1/session HTTP/1.1\r\nHost: {NAME}\r\nContent-Type: application/json\r\n".encode()
WHOLE = b"Content-Length: %d\r\n" % len(BODY)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with proxied(tmp_path_factory.mktemp("proxied")) as found:
        yield found


def request(method: str, path: str, body: bytes = b"", *headers: str, host: str = NAME) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close", *headers]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def statuses(told: bytes) -> list[int]:
    return [int(one) for one in re.findall(rb"HTTP/1\.[01] (\d{3}) ", told)]


def hidden_arrived(proxy: Proxy) -> bool:
    return any(one["route"] == "/v1/tokens" for one in proxy.curator.logged())


def test_a_question_is_answered(proxy: Proxy) -> None:
    asked = json.dumps({"queries": [{"name": "n", "statistic": "count", "epsilon": 0.5}]}).encode()
    headers = (f"Authorization: Bearer {proxy.curator.token}", "Idempotency-Key: one")
    told = proxy.told(request("POST", "/v1/datasets/ward/releases", asked, *headers), seconds=20)
    assert statuses(told) == [200]
    assert b"Strict-Transport-Security: max-age" in told
    assert b"nginx/" not in told


SMUGGLED = {
    "CL.TE": OPEN + WHOLE + b"Transfer-Encoding: chunked\r\n\r\n" + BODY,
    "TE.CL": OPEN + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n"
    + b"%x\r\n" % len(HIDDEN) + HIDDEN + b"\r\n0\r\n\r\n",
    "TE.TE": OPEN + WHOLE + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + BODY,
    "CL.CL": OPEN + b"Content-Length: 5\r\n" + WHOLE + b"\r\n" + BODY,
    "CL.CL, the longer first": OPEN + WHOLE + b"Content-Length: 5\r\n\r\n" + BODY,
    "two lengths in one": OPEN + b"Content-Length: 5, %d\r\n\r\n" % len(BODY) + BODY,
    "folded length": OPEN + WHOLE.rstrip() + b"\r\n 0\r\n\r\n" + BODY,
    "folded encoding": OPEN + WHOLE + b"X: y\r\n Transfer-Encoding: chunked\r\n\r\n" + BODY,
    "folded value": OPEN + WHOLE + b"Transfer-Encoding:\r\n chunked\r\n\r\n" + BODY,
    "blank before the colon": OPEN + WHOLE + b"Transfer-Encoding : chunked\r\n\r\n" + BODY,
    "vertical tab": OPEN + WHOLE + b"Transfer-Encoding:\x0bchunked\r\n\r\n" + BODY,
    "almost chunked": OPEN + WHOLE + b"Transfer-Encoding: xchunked\r\n\r\n" + BODY,
    "chunked and more": OPEN + WHOLE + b"Transfer-Encoding: chunked, identity\r\n\r\n" + BODY,
    "underscore": OPEN + WHOLE + b"Transfer_Encoding: chunked\r\n\r\n" + BODY,
    "bare CR": OPEN + WHOLE + b"X: y\rTransfer-Encoding: chunked\r\n\r\n" + BODY,
    "bare LF": OPEN + WHOLE + b"X: y\nTransfer-Encoding: chunked\r\n\r\n" + BODY,
    "plus": OPEN + b"Content-Length: +%d\r\n\r\n" % len(BODY) + BODY,
    "negative": OPEN + b"Content-Length: -1\r\n\r\n" + BODY,
    "hexadecimal": OPEN + b"Content-Length: 0x5\r\n\r\n" + BODY,
    "HTTP/1.0": OPEN.replace(b"1.1", b"1.0") + WHOLE + b"Transfer-Encoding: chunked\r\n\r\n" + BODY,
    "length in GET": OPEN.replace(b"POST", b"GET") + b"Content-Length: %d\r\n\r\n" % len(HIDDEN) + HIDDEN,
    "upgrade": OPEN + WHOLE + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
    b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n" + BODY,
    "null in a name": OPEN + WHOLE + b"Transfer\x00-Encoding: chunked\r\n\r\n" + BODY,
    "chunk with an extension": OPEN + b"Transfer-Encoding: chunked\r\n\r\n%x;\n" % len(HIDDEN) + HIDDEN
    + b"\r\n0\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("kind", SMUGGLED)
def test_nothing_is_smuggled(kind: str, proxy: Proxy) -> None:
    told = proxy.told(SMUGGLED[kind])
    assert not hidden_arrived(proxy)
    assert all(status >= 400 for status in statuses(told))
    assert len(statuses(told)) <= 1
    # The connection that others would have used is as it was.
    assert statuses(proxy.told(request("GET", "/v1"))) == [200]


HIDING_PLACES = (
    "/static/../../curator.toml", "/static/..%2f..%2fcurator.toml", "/static/%2e%2e/%2e%2e/curator.toml",
    "/static/..%252f..%252fcurator.toml", "/static/..\\..\\curator.toml", "/static/%00/../curator.toml",
    "/static//etc/passwd", "/static/..;/curator.toml", "/v1/datasets/..%2f..%2fme",
    "/v1/datasets/ward%2f..%2fward",
    "/..%2f..%2f..%2fetc/passwd", "/metrics", "//metrics", "/%6detrics", "/v1/../metrics", "/x/..%2fmetrics",
    "/readyz", "/./readyz",
)  # fmt: skip


@pytest.mark.parametrize("path", HIDING_PLACES)
def test_no_path_leads_elsewhere(path: str, proxy: Proxy) -> None:
    told = proxy.told(request("GET", path, b"", f"Authorization: Bearer {proxy.curator.token}"))
    assert all(400 <= status < 500 for status in statuses(told)), told[:300]
    assert not re.search(rb"\[data\.|root:|ledger = |leakcap_requests|\"ready\"", told)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", f"{NAME}.evil.example", f"evil@{NAME}", ""])
def test_other_names_are_not_answered(host: str, proxy: Proxy) -> None:
    before = len(proxy.curator.logged())
    told = proxy.told(request("GET", "/v1", host=host))
    assert all(400 <= status < 500 for status in statuses(told)), told
    assert len(proxy.curator.logged()) == before
    with pytest.raises((ssl.SSLError, ConnectionError)):
        proxy.connection(name="evil.example")


def test_what_clients_say_of_themselves_is_not_believed(proxy: Proxy) -> None:
    """With another's address a client would be let into the metrics, or get a count of guesses of its own."""
    claims = ("X-Forwarded-For: 10.0.0.1", "Forwarded: for=10.0.0.1", "X-Forwarded-Host: evil.example")
    password = json.dumps({"name": "ada", "password": "wrong"}).encode()
    for number in range(25):
        claim = f"X-Forwarded-For: 10.0.0.{number}"
        told = proxy.told(request("POST", "/v1/session", password, claim), seconds=10)
        if statuses(told) == [429]:
            break
    assert statuses(told) == [429]
    assert statuses(proxy.told(request("GET", "/v1", b"", *claims))) == [200]


def test_large_bodies_and_heads_are_refused(proxy: Proxy) -> None:
    assert statuses(proxy.told(request("POST", "/v1/session", b" " * 600_000)))[:1] in ([413], [])
    assert statuses(proxy.told(request("GET", "/v1", b"", f"X: {'y' * 70_000}")))[:1] in ([400], [431], [])


def test_slow_clients_keep_nobody_waiting(proxy: Proxy) -> None:
    """A hundred heads and bodies that never end, from another address; each is closed after ten seconds."""
    begun = time.monotonic()
    with ExitStack() as kept:
        slow = [kept.enter_context(proxy.connection("127.0.0.2")) for _ in range(100)]
        for number, one in enumerate(slow):
            head = b"GET /v1 HTTP/1.1\r\nHost: cur"
            one.sendall(head if number % 2 else OPEN + b"Content-Length: 9\r\n\r\n{")
        for _ in range(3):
            started = time.monotonic()
            assert statuses(proxy.told(request("GET", "/v1"), seconds=10)) == [200]
            assert time.monotonic() - started < 5.0
        # Bodies that are not whole never reach the curator.
        assert not any(one["status"] == 408 for one in proxy.curator.logged())
        for one in slow:
            one.settimeout(30)
            with suppress(ssl.SSLError, ConnectionError):
                while one.recv(4096):
                    pass
    assert time.monotonic() - begun < 45


def test_the_detector_sees_a_second_request(proxy: Proxy) -> None:
    """Last, because it leaves its trace: two honest requests on one connection are two in the log."""
    first = request("GET", "/v1").replace(b"Connection: close\r\n", b"")
    assert not hidden_arrived(proxy)
    assert len(statuses(proxy.told(first + request("GET", "/v1/tokens")))) == 2
    assert hidden_arrived(proxy)
