"""Found by attacking the explorer: other sites, other programs of the machine, and those who only wait."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Coroutine
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import leakcap.web.serving.timeouts
from leakcap.web import Settings, create_app
from leakcap.web.serving.guard import Keys
from running_explorer import hospital, running

HOME = "http://127.0.0.1:8421"
TOKEN = "t" * 43
FORM = {"origin": HOME, "content-type": "application/x-www-form-urlencoded"}


def client(settings: Settings | None = None, keys: Keys | None = None) -> TestClient:
    app = create_app(Settings() if settings is None else settings, keys=keys)
    return TestClient(app, base_url=HOME, raise_server_exceptions=False, follow_redirects=False)


@pytest.mark.parametrize("place", ["iframe", "frame", "embed", "object", "image", "empty"])
def test_another_site_cannot_make_it_compute_in_a_frame(place: str) -> None:
    framed = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": place}
    assert client().get("/epsilon", headers=framed).status_code == 403
    link = {**framed, "sec-fetch-dest": "document"}
    assert client().get("/epsilon", headers=link).status_code == 200


@pytest.mark.parametrize(
    "before",
    ['a={"x": 1}; ', "a b c; ", "=; ;;", 'x="unclosed; ', "leakcap_8421=stale; ", "$Version=1; ", "é=1; "],
)
def test_cookies_of_other_programs_keep_nobody_out(before: str) -> None:
    keys = Keys(TOKEN, "leakcap_8421")
    web = client(Settings(token=TOKEN), keys)
    cookie = f"{before}leakcap_8421={keys.session}".encode()
    assert web.get("/epsilon", headers={b"cookie": cookie}).status_code == 200
    wrong = f"{before}leakcap_842={keys.session}".encode()
    assert web.get("/epsilon", headers={b"cookie": wrong}).status_code == 401


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "text/plain",
        "application/json",
        "multipart/form-data; boundary=b; charset=punycode",
        "multipart/form-data; boundary=b; charset=unicode_escape",
        "application/x-www-form-urlencoded; charset=utf-16",
        "multipart/form-data",
        "multipart/form-data; boundary=" + "b" * 500,
    ],
)
def test_a_form_is_utf8_and_nothing_else(kind: str) -> None:
    answer = client().post("/enter", content=b"--b\r\n", headers={"origin": HOME, "content-type": kind})
    assert answer.status_code == 415


def test_whoever_has_no_token_cannot_send_much() -> None:
    web = client(Settings(token=TOKEN), Keys(TOKEN, "c"))
    assert web.post("/enter", content=b"token=" + b"x" * 5000, headers=FORM).status_code == 413
    assert web.post("/enter", content=b"token=" + TOKEN.encode(), headers=FORM).status_code == 303


def test_secrets_do_not_show_themselves() -> None:
    keys = Keys(TOKEN, "c")
    for shown in (repr(Settings(token=TOKEN)), repr(keys), str(keys), f"{Settings(token=TOKEN)}"):
        assert TOKEN not in shown
        assert keys.session not in shown
        assert keys.form not in shown


def test_the_token_is_made_where_one_is_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`leakcap.web.serve` from Python is as closed as the command."""
    import leakcap.web.server as server

    def ended(coroutine: Coroutine[object, object, object]) -> None:
        coroutine.close()

    monkeypatch.setattr("asyncio.run", ended)
    told: list[str] = []
    server.serve(hospital(tmp_path, allow_release=True, port=0), ready=told.append)
    server.serve(hospital(tmp_path, port=0), ready=told.append)
    server.serve(Settings(port=0), ready=told.append)
    tokens = [address.partition("token=")[2] for address in told]
    assert [len(token) >= 43 for token in tokens] == [True, True, False]
    assert tokens[0] != tokens[1]


def test_no_traceback_reaches_the_log(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's log is written by a process that has seen the data."""
    monkeypatch.delenv("LEAKCAP_DEBUG", raising=False)

    def broken(query: object) -> None:
        raise RuntimeError("patient 7 is ill")

    monkeypatch.setattr("leakcap.web.choosing.epsilon.asked", broken)
    with running(Settings()) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as wire:
            wire.sendall(b"GET /epsilon HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
            answer = b"".join(iter(lambda: wire.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 500")
    assert b"patient" not in answer
    said = "".join(capfd.readouterr())
    assert "patient" not in said
    assert "Traceback" not in said


@pytest.mark.parametrize("words", [b"", b"GET /epsilon HT", b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: "])
def test_who_says_nothing_is_not_waited_for(words: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leakcap.web.serving.timeouts, "PATIENCE", 0.3)
    with running(Settings()) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as wire:
            wire.sendall(words)
            started = time.monotonic()
            with contextlib.suppress(ConnectionResetError):
                assert wire.recv(100) == b""
            assert time.monotonic() - started < 5.0


def test_who_drips_its_head_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leakcap.web.serving.timeouts, "PATIENCE", 0.5)
    with running(Settings()) as address:
        host, port = address.removeprefix("http://").split(":")
        started, lost = time.monotonic(), False
        with socket.create_connection((host, int(port)), timeout=10) as wire:
            wire.sendall(b"GET /epsilon HTTP/1.1\r\nhost: 127.0.0.1\r\n")
            while not lost and time.monotonic() < started + 10.0:
                time.sleep(0.05)
                try:
                    wire.sendall(b"x: y\r\n")
                except OSError:
                    lost = True
        assert lost


def test_who_does_not_read_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leakcap.web.serving.timeouts, "PATIENCE", 0.5)
    ask = b"GET /static/vega.min.js HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
    with running(Settings()) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.socket() as wire:
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            wire.settimeout(10)
            wire.connect((host, int(port)))
            wire.sendall(ask * 40)
            time.sleep(2.0)
            taken = 0
            with contextlib.suppress(ConnectionResetError):
                while part := wire.recv(1 << 20):
                    taken += len(part)
            assert taken < 8_000_000  # forty files are more than twenty million bytes


def test_a_reader_who_reads_is_served_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same patience, and several requests on one connection."""
    monkeypatch.setattr(leakcap.web.serving.timeouts, "PATIENCE", 0.5)
    ask = b"GET /static/vega.min.js HTTP/1.1\r\nhost: 127.0.0.1\r\n%b\r\n"
    with running(Settings()) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as wire:
            wire.sendall(ask % b"" + ask % b"connection: close\r\n")
            answer = b"".join(iter(lambda: wire.recv(65536), b""))
    assert answer.count(b"HTTP/1.1 200") == 2
