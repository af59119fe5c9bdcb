"""Certificates that people show to the nginx example, before a curator that asks for them."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import socket
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from leakcap.cli.certified import thumbprint_in
from leakcap.client.certificates import with_certificate
from leakcap.errors import InvalidParameter
from leakcap.service.configuration import load_configuration
from leakcap.service.store import Role, Store
from service.authorities import Authority, Shown
from service.behind_nginx import CURATOR, EXAMPLE, NAME, Proxy, in_front
from service.started import Started, started

pytestmark = pytest.mark.slow

CLIENT = Path(__file__).parents[2] / "clients/r"
ASKING = EXAMPLE.with_name("client-certificates.conf")
ASKED = {"queries": [{"name": "n", "statistic": "count", "epsilon": 0.01}]}


@dataclass(frozen=True)
class Office:
    """A curator, the proxy's secret, its authority, and people's certificates and tokens."""

    curator: Started
    secret: str
    authority: Authority
    shown: Mapping[str, Shown]
    tokens: Mapping[str, str]


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """Ada and Ben may ask and have a certificate each; Ben's is made out to Ada."""
    folder, secret, authority = tmp_path_factory.mktemp("office"), secrets.token_hex(32), Authority()
    (folder / "proxy.secret").write_text(secret)
    (folder / "proxy.secret").chmod(0o600)
    asks = '[client_certificates]\nsecret = "proxy.secret"\n'
    with started(folder, CURATOR, after=asks) as curator:
        shown = {"ada": authority.issued("ada"), "ben": authority.issued("ada")}
        tokens = {"ada": curator.token}
        with Store.open(load_configuration(curator.file).store) as store:
            store.people.add("local:ben", by="test")
            store.grants.give("local:ben", Role.ANALYST, "ward", by="test")
            tokens["ben"] = store.tokens.issue("local:ben", lifetime=timedelta(hours=1)).secret
            for name, one in shown.items():
                store.certificates.register(f"local:{name}", one.thumbprint, by="test")
        yield Office(curator, secret, authority, shown, tokens)


def configured(office: Office, folder: Path, changes: Mapping[str, str] = {}) -> None:
    """The example of what asks for certificates, with the test's places and secret, and what it plants."""
    text = ASKING.read_text(encoding="utf-8")
    for old, new in {'"SECRET"': f'"{office.secret}"', "/etc/leakcap/tls": str(folder), **changes}.items():
        assert old in text, old
        text = text.replace(old, new)
    (folder / "client-certificates.conf").write_text(text, encoding="utf-8")
    (folder / "authority.pem").write_text(office.authority.root.pem)


@pytest.fixture(scope="module")
def proxy(office: Office, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("asking")
    configured(office, folder)
    with in_front(folder, office.curator) as found:
        yield found


def request(token: str, *headers: str, body: Any = None, key: str = "k") -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    place = "GET /v1/me" if body is None else "POST /v1/datasets/ward/releases"
    lines = [f"{place} HTTP/1.1", f"Host: {NAME}", "Connection: close", f"Authorization: Bearer {token}"]
    if content:
        lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
        lines += [f"Idempotency-Key: {key}"]
    return "\r\n".join([*lines, *headers, "", ""]).encode() + content


def status(told: bytes) -> int:
    """Of the answer; 0 where there is none."""
    return int(told.split(b" ", 2)[1]) if told.startswith(b"HTTP/1.1 ") else 0


def told_of(proxy: Proxy, text: bytes, shown: Path | None, seconds: float = 20) -> int:
    """The status, 0 where the proxy shut the door before any answer."""
    try:
        return status(proxy.told(text, seconds=seconds, shown=shown))
    except (ssl.SSLError, ConnectionError):
        return 0


def said_by_curator(office: Office) -> int:
    """How many requests reached the curator."""
    return len(office.curator.logged())


def test_with_certificate_and_token_of_ones_own_one_is_answered(
    office: Office, proxy: Proxy, tmp_path: Path
) -> None:
    for name, one in office.shown.items():
        file = one.file(tmp_path, name)
        assert thumbprint_in(file) == one.thumbprint
        assert told_of(proxy, request(office.tokens[name]), file) == 200
        assert told_of(proxy, request(office.tokens[name], body=ASKED), file) == 200


class Tunnel(socketserver.StreamRequestHandler):
    """A proxy of the network, by which the curator's name is found: each `CONNECT` leads to this machine."""

    def handle(self) -> None:
        port = int(self.rfile.readline().split()[1].rpartition(b":")[2])
        while self.rfile.readline() not in (b"\r\n", b""):
            pass
        with socket.create_connection(("127.0.0.1", port)) as onward:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            back = threading.Thread(target=_carried, args=(onward, self.connection))
            back.start()
            _carried(self.connection, onward)
            back.join()


def _carried(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while part := source.recv(65536):
            sink.sendall(part)
        sink.shutdown(socket.SHUT_WR)


@pytest.fixture(scope="module")
def tunnel() -> Iterator[str]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Tunnel) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_the_r_client_shows_the_certificate_and_is_not_answered_without(
    office: Office, proxy: Proxy, tunnel: str, tmp_path: Path
) -> None:
    own = office.shown["ada"].file(tmp_path, "ada")
    in_r("R", "CMD", "INSTALL", f"--library={tmp_path}", str(CLIENT))
    known = {"R_LIBS": str(tmp_path), "ADA": office.tokens["ada"], "https_proxy": tunnel}
    known |= {"TRUSTED": str(proxy.certificate)}
    url = f"https://{NAME}:{proxy.port}"
    # The test's own authority is trusted for this call, by no other change.
    asks = (
        "made <- leakcap:::request_to; trusting <- function(...) httr2::req_options(made(...), "
        "cainfo = Sys.getenv('TRUSTED')); utils::assignInNamespace('request_to', trusting, 'leakcap'); "
        "query <- leakcap::leakcap_query('count', epsilon = 0.01); "
        "answer <- tryCatch(leakcap::leakcap_ask(con, 'ward', query), error = identity); "
        "cat(class(answer)[1])"
    )
    for shown in (f"'{own}'", "NULL"):
        con = f"con <- leakcap::leakcap_connect('{url}', Sys.getenv('ADA'), certificate = {shown})"
        said = in_r("Rscript", "-e", f"{con}; {asks}", **known)
        assert (said == "leakcap_answer") == (shown != "NULL"), said
    # By the environment, at this address alone.
    con = f"con <- leakcap::leakcap_connect('{url}', Sys.getenv('ADA'))"
    for server in (url, "https://elsewhere.example.org"):
        more = {**known, "LEAKCAP_CERTIFICATE": str(own), "LEAKCAP_SERVER": server}
        assert (in_r("Rscript", "-e", f"{con}; {asks}", **more) == "leakcap_answer") == (server == url)
    own.chmod(0o644)
    said = in_r("Rscript", "-e", f"tryCatch({{{con}}}, error = function(e) cat(conditionMessage(e)))", **more)
    assert said == ""
    more["LEAKCAP_SERVER"] = url
    said = in_r("Rscript", "-e", f"tryCatch({{{con}}}, error = function(e) cat(conditionMessage(e)))", **more)
    assert "may be opened by others" in said


def in_r(*words: str, **known: str) -> str:
    """What R prints."""
    done = subprocess.run(
        words, env={**os.environ, **known}, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_nobody_comes_in_without_a_certificate_that_the_authority_signed_for_them(
    office: Office, proxy: Proxy, tmp_path: Path
) -> None:
    """None of these reaches the curator: with the right one the same request does."""
    other = Authority("The office's authority")  # called the same, with a key of its own
    shown = {
        "expired": office.authority.issued("ada", days=(-3, -1)),
        "not yet valid": office.authority.issued("ada", days=(1, 3)),
        "of another authority that is called the same": other.issued("ada"),
        "its own authority": other.root,
        "for servers": office.authority.issued("ada", server=True),
    }
    files = {kind: one.file(tmp_path, f"shown-{number}") for number, (kind, one) in enumerate(shown.items())}
    ben = office.shown["ben"]
    below = Authority.played_by(ben).issued("ada").file(tmp_path, "below")
    below.write_text(below.read_text() + ben.pem)
    files["signed by somebody whom the authority signed"] = below
    before, text = said_by_curator(office), request(office.tokens["ada"])
    for kind, file in files.items():
        assert told_of(proxy, text, file) in (0, 400), kind
    assert told_of(proxy, text, None) in (0, 400)
    assert said_by_curator(office) == before
    assert told_of(proxy, text, office.shown["ada"].file(tmp_path, "ada")) == 200
    assert said_by_curator(office) == before + 1


def test_a_certificate_without_its_key_is_nothing(office: Office, tmp_path: Path) -> None:
    """Certificates are no secret: Ada's with Ben's key cannot even be loaded, let alone shown."""
    taken = Shown(office.shown["ada"].certificate, office.shown["ben"].key)
    with pytest.raises(InvalidParameter, match="must hold a certificate and its key"):
        with_certificate(ssl.create_default_context(), taken.file(tmp_path, "taken"))


def test_anothers_certificate_does_not_go_with_ones_own_token(
    office: Office, proxy: Proxy, tmp_path: Path
) -> None:
    """A stolen token is worth nothing without the key, and a look-alike's certificate is another one."""
    files = {name: one.file(tmp_path, name) for name, one in office.shown.items()}
    look_alike = office.authority.issued("ada").file(tmp_path, "look-alike")
    asked = {"body": ASKED, "key": "stolen"}
    for token, shown in (("ada", files["ben"]), ("ben", files["ada"]), ("ada", look_alike)):
        assert told_of(proxy, request(office.tokens[token]), shown) == 401
        assert told_of(proxy, request(office.tokens[token], **asked), shown) == 401
    assert told_of(proxy, request("lkc_" + "0" * 16 + "_" + "A" * 43), files["ada"]) == 401


def headers_of(one: Shown, secret: str) -> list[str]:
    return [
        f"X-Leakcap-Proxy: {secret}",
        "X-Leakcap-Verified: SUCCESS",
        f"X-Leakcap-Certificate: {one.escaped}",
    ]


def test_what_a_client_says_through_the_proxy_is_not_believed(
    office: Office, proxy: Proxy, tmp_path: Path
) -> None:
    """Even with the secret: the proxy writes what it verified in place of what was sent."""
    ben, ada = office.shown["ben"].file(tmp_path, "ben"), office.shown["ada"]
    claims = headers_of(ada, office.secret)
    for said in (claims, [one.lower() for one in claims], [one.replace("-", "_", 2) for one in claims]):
        assert told_of(proxy, request(office.tokens["ada"], *said), ben) == 401
        # They change nothing for whoever comes rightly, either.
        assert told_of(proxy, request(office.tokens["ben"], *said), ben) == 200


def direct(office: Office, token: str, headers: list[str]) -> int:
    """To the worker's port, past the proxy."""
    connection = http.client.HTTPConnection("127.0.0.1", office.curator.port, timeout=20)
    try:
        connection.putrequest("GET", "/v1/me")
        connection.putheader("Authorization", f"Bearer {token}")
        for one in headers:
            connection.putheader(*one.split(": ", 1))
        connection.endheaders()
        return connection.getresponse().status
    finally:
        connection.close()


def test_past_the_proxy_nobody_is_let_in(office: Office) -> None:
    """Somebody on the machine with Ada's token and certificate, and without the proxy's secret."""
    ada, token = office.shown["ada"], office.tokens["ada"]
    guesses = ["", "SECRET", office.secret[:-1], office.secret.upper(), "0" * 64]
    for secret in guesses:
        assert direct(office, token, headers_of(ada, secret)) == 401
    assert direct(office, token, headers_of(ada, office.secret)[1:]) == 401
    assert direct(office, token, []) == 401
    # The secret is what it hangs on: who has it, and it is root's and the curator's alone, is the proxy.
    assert direct(office, token, headers_of(ada, office.secret)) == 200


def test_a_proxy_that_asks_for_none_lets_nobody_in(office: Office, tmp_path: Path) -> None:
    """The plain example before a curator that asks for certificates; and one that lets them be left out, or
    takes them of any authority."""
    (tmp_path / "plain").mkdir()
    ada = office.shown["ada"].file(tmp_path, "ada")
    with in_front(tmp_path / "plain", office.curator) as plain:
        claims = headers_of(office.shown["ada"], "0" * 64)
        assert told_of(plain, request(office.tokens["ada"], *claims), ada) == 401
    for kind in ("optional", "optional_no_ca"):
        folder = tmp_path / kind
        folder.mkdir()
        configured(office, folder, {"ssl_verify_client on": f"ssl_verify_client {kind}"})
        with in_front(folder, office.curator) as lax:
            assert told_of(lax, request(office.tokens["ada"]), None) == 401
            expired = office.authority.issued("ada", days=(-3, -1))
            with Store.open(load_configuration(office.curator.file).store) as store:
                store.certificates.register("local:ada", expired.thumbprint, by="test")
            try:
                shown = expired.file(tmp_path, "expired")
                assert told_of(lax, request(office.tokens["ada"]), shown) in (0, 400, 401)
                assert told_of(lax, request(office.tokens["ada"]), ada) == 200
            finally:
                with Store.open(load_configuration(office.curator.file).store) as store:
                    store.certificates.withdraw("local:ada", expired.thumbprint, by="test")


def test_a_proxy_that_passes_on_what_clients_say_would_be_found(office: Office, tmp_path: Path) -> None:
    """The attack of Ben with Ada's certificate in a header gets through where the line is missing that writes
    the verified one: so the test of the example sees it."""
    ben, ada = office.shown["ben"].file(tmp_path, "ben"), office.shown["ada"]
    line = "proxy_set_header X-Leakcap-Certificate $ssl_client_escaped_cert;"
    configured(office, tmp_path, {line: ""})
    with in_front(tmp_path, office.curator) as careless:
        claim = headers_of(ada, "")[2]
        assert told_of(careless, request(office.tokens["ada"], claim), ben) == 200
