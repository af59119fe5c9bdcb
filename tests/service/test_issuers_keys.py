"""An issuer's keys: fetched from where they belong, kept for a while, asked for seldom."""

from __future__ import annotations

import json
import ssl
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from joserfc.jwk import RSAKey

from leakcap.errors import InvalidParameter
from leakcap.service.identity import OidcProvider, Providers
from leakcap.service.identity.fetching import FetchFailed, fetch_document, require_address, require_issuer
from leakcap.service.identity.refusals import Refused
from service.issuers import Issuer, key_of, signed

NOW = datetime(2026, 11, 27, 9, tzinfo=UTC)
HOME = "https://id.example"


class Pair:
    """An issuer, and a provider that reads it by a clock that is set by hand."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.issuer = Issuer(HOME)
        self.provider = OidcProvider(
            "uni", HOME, "curator", "terminal", ("RS256",), self.issuer.fetch, lambda: self.seconds
        )

    def let_in(self, text: str) -> bool:
        try:
            return self.provider.verify(text, NOW) == "8f14e45f"
        except Refused:
            return False


@pytest.fixture
def pair() -> Pair:
    return Pair()


def test_keys_are_fetched_once(pair: Pair) -> None:
    assert all(pair.let_in(pair.issuer.token(NOW)) for _ in range(5))
    assert pair.issuer.asked == [f"{HOME}/.well-known/openid-configuration", f"{HOME}/keys"]


def test_a_new_key_is_found_at_once_and_an_old_one_is_refused_then(pair: Pair) -> None:
    old = pair.issuer.token(NOW)
    assert pair.let_in(old)
    pair.seconds += 31
    pair.issuer.names = [f"{HOME}/2"]
    assert pair.let_in(old)  # nothing has told that the keys changed
    assert pair.let_in(pair.issuer.token(NOW))
    assert not pair.let_in(old)


def test_a_withdrawn_key_is_refused_after_five_minutes_without_a_new_one(pair: Pair) -> None:
    old = pair.issuer.token(NOW)
    assert pair.let_in(old)
    pair.issuer.names = []
    pair.seconds += 299
    assert pair.let_in(old)
    pair.seconds += 2
    assert not pair.let_in(old)


def test_unknown_keys_ask_the_issuer_every_thirty_seconds_at_most(pair: Pair) -> None:
    def knock() -> None:
        for n in range(50):
            assert not pair.let_in(pair.issuer.token(NOW, {"kid": f"none{n}"}))

    knock()
    assert len(pair.issuer.asked) == 2
    pair.seconds += 29
    knock()
    assert len(pair.issuer.asked) == 2
    pair.seconds += 2
    knock()
    assert len(pair.issuer.asked) == 4


def test_an_issuer_that_is_away_for_a_while_is_waited_for(pair: Pair) -> None:
    sound = pair.issuer.token(NOW)
    assert pair.let_in(sound)
    pair.issuer.fails = True
    pair.seconds += 890
    assert pair.let_in(sound)
    pair.seconds += 20
    assert not pair.let_in(sound)  # fifteen minutes: what was withdrawn meanwhile is not known
    pair.issuer.fails = False
    pair.seconds += 31
    assert pair.let_in(sound)


def test_an_issuer_that_never_answered_is_asked_seldom(pair: Pair) -> None:
    pair.issuer.fails = True
    assert [pair.let_in(pair.issuer.token(NOW)) for _ in range(9)] == [False] * 9
    assert len(pair.issuer.asked) == 1
    assert "token_endpoint" not in pair.provider.public()


def test_many_threads_ask_once(pair: Pair) -> None:
    slow, fetch = threading.Event(), pair.issuer.fetch

    def slowly(url: str) -> Mapping[str, Any]:
        slow.wait(2)
        return fetch(url)

    provider = OidcProvider("uni", HOME, "curator", "terminal", ("RS256",), slowly)
    token, told = pair.issuer.token(NOW), []
    threads = [threading.Thread(target=lambda: told.append(provider.verify(token, NOW))) for _ in range(8)]
    for one in threads:
        one.start()
    slow.set()
    for one in threads:
        one.join()
    assert told == ["8f14e45f"] * 8
    assert len(pair.issuer.asked) == 2


@pytest.mark.parametrize(
    ("keys", "kid", "good"),
    [
        ([{}], "1", True),
        ([{}], None, True),
        ([{}], "2", False),
        ([{}, {"kid": "2"}], None, False),
        ([{}, {}], "1", False),
        ([{"use": "enc"}], "1", False),
        ([{"alg": "RS512"}], "1", False),
        ([{"alg": "RS256", "key_ops": ["verify"]}], "1", True),
        ([{"key_ops": ["encrypt"]}], "1", False),
        ([{"key_ops": "verify"}], "1", False),
        ([{"kty": "EC"}], "1", False),
        ([{"n": "AQAB"}], "1", False),
        ([{"n": 7}], "1", False),
        (["none", 7, None, {}], "1", True),
    ],
)
def test_of_the_keys_the_one_that_is_meant_is_taken(
    pair: Pair, keys: list[Any], kid: str | None, good: bool
) -> None:
    public = key_of("RS256", "1").as_dict(private=False, kid="1")
    pair.issuer.names = []
    pair.issuer.extra = [{**public, **one} if isinstance(one, dict) else one for one in keys]
    header = {"alg": "RS256", "typ": "JWT"} | ({} if kid is None else {"kid": kid})
    assert pair.let_in(signed(header, pair.issuer.claims(NOW), key_of("RS256", "1"))) is good


def test_a_short_rsa_key_is_not_used(pair: Pair) -> None:
    for bits, good in ((1024, False), (2048, True)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            key = RSAKey.import_key(rsa.generate_private_key(65537, bits))
        pair.issuer.extra = [key.as_dict(private=False, kid="s")]
        pair.seconds += 301
        assert pair.let_in(signed(pair.issuer.header(kid="s"), pair.issuer.claims(NOW), key)) is good


@pytest.mark.parametrize(
    "where",
    [
        "http://id.example/keys",
        "http://127.0.0.1/keys",
        "https://127.0.0.1/keys",
        "https://localhost/keys",
        "https://a.localhost./keys",
        "https://10.0.0.1/keys",
        "https://[::1]/keys",
        "https://[::ffff:127.0.0.1]/keys",
        "https://169.254.169.254/latest",
        "https://0x7f.1/keys",
        "https://2130706433/keys",
        "https://user@id.example/keys",
        "file:///etc/passwd",
        "ftp://id.example/keys",
        "https://id.example:x/keys",
        "",
        7,
        None,
    ],
)
def test_an_issuers_document_does_not_lead_inside(pair: Pair, where: object) -> None:
    pair.issuer.jwks_uri = where
    assert not pair.let_in(pair.issuer.token(NOW))
    assert pair.issuer.asked == [f"{HOME}/.well-known/openid-configuration"]


def test_keys_may_lie_elsewhere_on_the_internet_or_at_the_issuer() -> None:
    assert require_address("https://keys.example/all", HOME) == "https://keys.example/all"
    assert require_address("https://10.0.0.1/keys", "https://10.0.0.1/uni")
    assert require_address("http://127.0.0.1:81/keys", "http://localhost:80")


def test_a_document_of_another_issuer_is_not_believed(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch = pair.issuer.fetch
    other = OidcProvider(
        "uni", HOME, "curator", "terminal", ("RS256",), lambda url: {**fetch(url), "issuer": HOME + "/"}
    )
    with pytest.raises(Refused, match="keys of the issuer cannot be fetched"):
        other.verify(pair.issuer.token(NOW), NOW)


def test_what_clients_must_know_is_public(pair: Pair) -> None:
    assert pair.provider.public() == {
        "alias": "uni",
        "issuer": HOME,
        "client_id": "terminal",
        "audience": "curator",
        "device_authorization_endpoint": f"{HOME}/device",
        "token_endpoint": f"{HOME}/token",
    }


GOOD = {"alias": "uni", "issuer": HOME, "audience": "curator", "client_id": "terminal"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"alias": "local"}, "not be `local`"),
        ({"alias": "Uni"}, "lower-case letters"),
        ({"alias": "a:b"}, "lower-case letters"),
        ({"issuer": "http://id.example"}, "begin with https://"),
        ({"issuer": "https://id.example/?a=b"}, "no query"),
        ({"issuer": "https://a:b@id.example"}, "without a user"),
        ({"issuer": "https://"}, "with a host"),
        ({"issuer": "https://id.ex\u0430mple"}, "be a URL"),
        ({"issuer": 7}, "be a URL"),
        ({"audience": "terminal"}, "not be the `client_id`"),
        ({"audience": ""}, "be text"),
        ({"client_id": None}, "be text"),
        ({"algorithms": ("HS256",)}, "be some of RS256"),
        ({"algorithms": ("RS256", "none")}, "be some of RS256"),
        ({"algorithms": ()}, "be some of RS256"),
    ],
)
def test_a_bad_configuration_is_refused_by_name(changes: dict[str, Any], said: str) -> None:
    OidcProvider(**GOOD)
    with pytest.raises(InvalidParameter, match=f"`{next(iter(changes))}` of `OidcProvider` must .*{said}"):
        OidcProvider(**{**GOOD, **changes})


def test_two_providers_differ_in_alias_and_issuer() -> None:
    one = OidcProvider(**GOOD)
    for changes in ({"alias": "office"}, {"issuer": "https://other.example"}):
        with pytest.raises(InvalidParameter, match="be another one for each"):
            Providers([one, OidcProvider(**{**GOOD, **changes})])
    require_issuer("http://127.0.0.1:9000/realm")


Answer = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def serving(answer: Answer, certificate: Path | None = None) -> Iterator[str]:
    """A server on loopback that answers every request so, by https with a certificate; its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http{'' if certificate is None else 's'}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def says(status: int, body: bytes, **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        with suppress(OSError):
            handler.wfile.write(body)

    return answer


def drips(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(40):
        try:
            handler.wfile.write(b" ")
            handler.wfile.flush()
        except OSError:
            return
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (says(404, b"{}"), "status 404"),
        (says(302, b"", Location="/elsewhere"), "status 302"),
        (says(302, b"", Location="http://169.254.169.254/"), "status 302"),
        (says(200, b"[1]"), "no JSON object"),
        (says(200, b"<html>"), "JSONDecodeError"),
        (says(200, b"\xff\xfe\xfd"), "Unicode"),
        (says(200, b"{" + b" " * 300_000), "too large"),
        (says(200, b"x" * 99, Content_Encoding="gzip"), "compressed"),
        (says(200, b"[" * 100_000), "RecursionError|JSONDecodeError"),
        (drips, "too slow"),
    ],
)
def test_a_bad_answer_is_no_document(answer: Answer, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leakcap.service.identity.fetching._LONGEST_SECONDS", 0.2)
    with serving(answer) as url, pytest.raises(FetchFailed, match=said):
        fetch_document(url)


def test_a_document_is_fetched_and_no_proxy_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    with serving(says(200, b'{"issuer": "x"}')) as url:
        assert fetch_document(url) == {"issuer": "x"}
    with pytest.raises(FetchFailed, match="ConnectError"):
        fetch_document(url)


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1 that signs itself, with its key, in one file."""
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests")])
    begins = datetime.now(UTC) - timedelta(days=1)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(1)
        .not_valid_before(begins)
        .not_valid_after(begins + timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(True, 0), True)
        .sign(private, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    key = private.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    path.write_bytes(key + made.public_bytes(pem))
    return path


def test_by_https_a_certificate_that_nobody_vouches_for_is_refused(
    certified: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leakcap.service.identity.fetching._LOOPBACK", set())  # as any host elsewhere
    with serving(says(200, b'{"issuer": "x"}'), certified) as url:
        assert url.startswith("https://")
        with pytest.raises(FetchFailed, match="ConnectError"):
            fetch_document(url)
        monkeypatch.setenv("SSL_CERT_FILE", str(certified))
        assert fetch_document(url) == {"issuer": "x"}
        with pytest.raises(FetchFailed, match="ConnectError"):
            fetch_document(url.replace("127.0.0.1", "localhost"))  # another name than the certificate's


def test_certificates_that_cannot_be_read_are_no_failure_of_the_curator(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "none.pem").write_text("nothing of the kind")
    for name in ("none.pem", "missing.pem"):
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / name))
        with pytest.raises(FetchFailed):
            fetch_document("https://id.invalid/keys")


def test_a_whole_provider_on_loopback_verifies() -> None:
    """By http, as the curator does it: document, keys, token."""
    issuer: list[Issuer] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        body = json.dumps(issuer[0].fetch(issuer[0].url + handler.path)).encode()
        says(200, body, Content_Type="application/json")(handler)

    with serving(answer) as url:
        issuer.append(Issuer(url))
        provider = OidcProvider("uni", url, "curator", "terminal")
        assert provider.verify(issuer[0].token(NOW), NOW) == "8f14e45f"
        assert provider.public()["device_authorization_endpoint"] == f"{url}/device"
