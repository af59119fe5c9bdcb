"""A certificate beside the token: only of the person, only by the proxy's word, at every way in."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from starlette.testclient import TestClient
from typer.testing import CliRunner

from leakcap.cli.curator import curator as commands
from leakcap.errors import InvalidParameter
from leakcap.service.api.app import create_curator
from leakcap.service.api.curator import Curator
from leakcap.service.configuration import load_configuration
from leakcap.service.console.session import form_token
from leakcap.service.identity.client_certificates import thumbprint_of
from leakcap.service.identity.refusals import Refused
from leakcap.service.running.checking import require_fit
from leakcap.service.store import NotFound, StateConflict, Store
from service.authorities import Authority, Shown
from service.direct import PASSWORD, written
from service.visiting import HOME, staffed

SECRET = "s" * 40
MORE = '[client_certificates]\nsecret = "proxy.secret"\n'


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="module")
def shown(authority: Authority) -> Mapping[str, Shown]:
    """One certificate each; Ben's is made out to Ada's name: only its thumbprint is another."""
    return {"ada": authority.issued("ada"), "ben": authority.issued("ada"), "root": authority.issued("root")}


def configured(folder: Path, secret: str = SECRET) -> str:
    """What a configuration has more, and the proxy's secret beside it."""
    (folder / "proxy.secret").write_text(secret)
    (folder / "proxy.secret").chmod(0o600)
    return MORE


@pytest.fixture
def curator(tmp_path: Path, shown: Mapping[str, Shown]) -> Iterator[Curator]:
    more = configured(tmp_path)
    written(tmp_path, more=more)
    found = staffed(tmp_path, more=more)
    for name, one in shown.items():
        if found.store.people.find(f"local:{name}") is None:
            found.store.people.add(f"local:{name}", by="test")
        found.store.certificates.register(f"local:{name}", one.thumbprint, by="test")
    yield found
    found.store.close()


@pytest.fixture(autouse=True)
def behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """All configurations of this file are of a curator behind a proxy."""
    monkeypatch.setattr("service.direct.CURATOR", _CURATOR)


_CURATOR = """
tick = 0.001
behind_proxy = true
[data.ward]
policy = "policy.toml"
source = "ward.parquet"
ledger = "ward.db"
"""


@pytest.fixture
def web(curator: Curator) -> TestClient:
    return TestClient(create_curator(curator), base_url=HOME, raise_server_exceptions=False)


def proven(one: Shown | None, secret: str = SECRET, verified: str = "SUCCESS") -> dict[str, str]:
    """The headers that the proxy writes."""
    escaped = "" if one is None else one.escaped
    return {
        "x-leakcap-proxy": secret,
        "x-leakcap-verified": verified,
        "x-leakcap-certificate": escaped,
    }


def token_of(curator: Curator, name: str) -> dict[str, str]:
    issued = curator.store.tokens.issue(f"local:{name}", lifetime=timedelta(hours=1))
    return {"authorization": f"Bearer {issued.secret}"}


def test_with_ones_own_certificate_one_is_let_in(
    web: TestClient, curator: Curator, shown: Mapping[str, Shown]
) -> None:
    for name, one in shown.items():
        said = web.get("/v1/me", headers={**token_of(curator, name), **proven(one)})
        assert (said.status_code, said.json()["subject"]) == (200, f"local:{name}")
    told = {"name": "ada", "password": PASSWORD}
    assert web.post("/v1/session", json=told, headers=proven(shown["ada"])).status_code == 201


def attacks(shown: Mapping[str, Shown], authority: Authority) -> dict[str, list[tuple[str, str]]]:
    """What is sent beside Ada's own token; every one has to be refused."""
    ada, ben = shown["ada"], shown["ben"]
    good = proven(ada)
    unknown = authority.issued("ada")
    ended = {name: list({**good, **change}.items()) for name, change in {
        "another person's certificate": proven(ben),
        "a certificate that nobody registered": proven(unknown),
        "no certificate": proven(None),
        "a wrong secret": proven(ada, "t" * 40),
        "an empty secret": proven(ada, ""),
        "a secret cut short": proven(ada, SECRET[:-1]),
        "the proxy says none": proven(ada, verified="NONE"),
        "the proxy says failed": proven(ada, verified="FAILED:certificate has expired"),
        "nearly success": proven(ada, verified="SUCCESS "[:-1].lower()),
        "the thumbprint in place of it": {"x-leakcap-certificate": ada.thumbprint},
        "two certificates in one": {"x-leakcap-certificate": ada.escaped + ben.escaped},
        "the other first": {"x-leakcap-certificate": ben.escaped + ada.escaped},
        "words before it": {"x-leakcap-certificate": f"%0A{ada.escaped}"},
        "a space in it": {"x-leakcap-certificate": ada.escaped.replace("%0A", "%0A%20", 1)},
        "not in percent signs": {"x-leakcap-certificate": ada.pem.replace("\n", "")},
        "endless": {"x-leakcap-certificate": ada.escaped * 30},
    }.items()}  # fmt: skip
    return {
        **ended,
        "nothing at all": [],
        "no secret": [one for one in good.items() if one[0] != "x-leakcap-proxy"],
        "no word on verifying": [one for one in good.items() if one[0] != "x-leakcap-verified"],
        "underscores": [(name.replace("-", "_"), value) for name, value in good.items()],
        "the secret twice": [*good.items(), ("X-Leakcap-Proxy", SECRET)],
        "the certificate twice": [*proven(ben).items(), ("x-leakcap-certificate", ada.escaped)],
        "the other way round": [*good.items(), ("X-LEAKCAP-CERTIFICATE", ben.escaped)],
    }


def let_in(web: TestClient, curator: Curator, shown: Mapping[str, Shown], authority: Authority) -> list[str]:
    """The attacks that get through, at each way in."""
    found = []
    own = token_of(curator, "ada")
    signed = curator.store.tokens.issue("local:ada", lifetime=timedelta(hours=1), kind="session")
    cookie = {"cookie": f"leakcap_8422={signed.secret}"}
    told = {"name": "ada", "password": PASSWORD}
    ways: dict[str, Callable[[list[tuple[str, str]]], Any]] = {
        "token": lambda more: web.get("/v1/me", headers=[*own.items(), *more]),
        "password": lambda more: web.post("/v1/session", json=told, headers=more),
        "console": lambda more: web.get("/", headers=[*cookie.items(), *more], follow_redirects=False),
        "form": lambda more: web.post(
            "/sign-in", data=told, headers=[("origin", HOME), *more], follow_redirects=False
        ),
    }
    for name, more in attacks(shown, authority).items():
        for way, come in ways.items():
            said = come(more)
            out = said.status_code in (401, 303) and "set-cookie" not in said.headers
            if not out or said.headers.get("location", "/sign-in") != "/sign-in":
                found.append(f"{name}, {way}: {said.status_code}")
    # With the right headers each way leads in: else nothing was shown.
    own_headers = list(proven(shown["ada"]).items())
    assert [come(own_headers).status_code for come in ways.values()] == [200, 201, 200, 303]
    return found


def test_everything_else_is_refused_at_every_way_in(
    web: TestClient, curator: Curator, shown: Mapping[str, Shown], authority: Authority
) -> None:
    assert len(attacks(shown, authority)) >= 20
    assert let_in(web, curator, shown, authority) == []


PLANTED: dict[str, tuple[str, Any]] = {
    "whose certificate it is is not asked": (
        "leakcap.service.api.curator.require_holder",
        lambda holder, subject: None,
    ),
    "the proxy's secret is not compared": (
        "leakcap.service.identity.client_certificates.same_text",
        lambda given, wanted: True,
    ),
    "signing in asks for no certificate of one's own": (
        "leakcap.service.api.verbs.identity.require_holder",
        lambda holder, subject: None,
    ),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_hole_is_found(
    planted: str,
    web: TestClient,
    curator: Curator,
    shown: Mapping[str, Shown],
    authority: Authority,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(*PLANTED[planted])
    assert let_in(web, curator, shown, authority)


def test_a_refusal_says_the_same_and_nothing_of_what_was_shown(
    web: TestClient, curator: Curator, shown: Mapping[str, Shown], caplog: pytest.LogCaptureFixture
) -> None:
    own, told = token_of(curator, "ada"), set()
    with caplog.at_level("INFO"):
        for headers in ({}, proven(shown["ben"]), proven(shown["ada"], "t" * 40)):
            told.add(web.get("/v1/me", headers={**own, **headers}).text)
    assert len(told) == 1
    assert "no verified certificate" in caplog.text
    assert not any(word in caplog.text for word in ("t" * 40, SECRET, "BEGIN", shown["ben"].thumbprint))


def test_with_anothers_certificate_no_password_is_tried(
    web: TestClient, curator: Curator, shown: Mapping[str, Shown], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    monkeypatch.setattr(curator.store.passwords, "verified", lambda subject, _: tried.append(subject))
    for name in ("ada", "root", "nobody", "local:ben"):
        told = {"name": name, "password": PASSWORD}
        assert web.post("/v1/session", json=told, headers=proven(shown["ben"])).status_code == 401
    assert tried == []


def test_a_certificate_that_is_withdrawn_ends_at_once(
    web: TestClient, curator: Curator, shown: Mapping[str, Shown], authority: Authority
) -> None:
    """Registered and withdrawn by an administrator, over HTTP; each is an act. A person may have two."""
    root, ada = token_of(curator, "root"), {**token_of(curator, "ada")}
    session = curator.store.tokens.issue("local:root", lifetime=timedelta(hours=1), kind="session")
    root = {"authorization": f"Bearer {session.secret}", **proven(shown["root"])}
    new = authority.issued("ada")
    place = "/v1/people/local:ada/certificates"
    assert web.get("/v1/me", headers={**ada, **proven(new)}).status_code == 401
    assert web.post(place, json={"thumbprint": new.thumbprint}, headers=root).status_code == 204
    assert web.get("/v1/me", headers={**ada, **proven(new)}).status_code == 200
    assert web.get("/v1/me", headers={**ada, **proven(shown["ada"])}).status_code == 200
    people = web.get("/v1/people", headers=root).json()["people"]
    (told,) = (one["certificates"] for one in people if one["subject"] == "local:ada")
    assert told == [shown["ada"].thumbprint, new.thumbprint]
    assert web.delete(f"{place}/{shown['ada'].thumbprint}", headers=root).status_code == 204
    assert web.get("/v1/me", headers={**ada, **proven(shown["ada"])}).status_code == 401
    assert web.get("/v1/me", headers={**ada, **proven(new)}).status_code == 200
    acts = [(one.act, one.by) for one in curator.store.acts.all() if "certificate" in one.act]
    assert acts[-2:] == [("register certificate", "local:root"), ("withdraw certificate", "local:root")]


def test_one_certificate_is_one_persons(curator: Curator, shown: Mapping[str, Shown]) -> None:
    book = curator.store.certificates
    for subject in ("local:ben", "local:ada"):
        with pytest.raises(StateConflict, match="registered already"):
            book.register(subject, shown["ada"].thumbprint, by="test")
    with pytest.raises(NotFound):
        book.withdraw("local:ben", shown["ada"].thumbprint, by="test")
    with pytest.raises(NotFound):
        book.register("local:nobody", "ab" * 32, by="test")
    for text in (shown["ada"].thumbprint.upper(), "ab:" * 32, "", "ab" * 31, f"{'ab' * 32}\n"):
        with pytest.raises(InvalidParameter, match="`thumbprint` of `certificate`"):
            book.register("local:ada", text, by="test")
    curator.store.people.remove("local:ada", by="test")
    assert book.holder(shown["ada"].thumbprint) is None
    assert "local:ada" not in book.by_subject()


def test_the_thumbprint_is_that_of_other_software(shown: Mapping[str, Shown]) -> None:
    """Two libraries agree; any other byte of it is another certificate, or none."""
    one = shown["ada"]
    headers = [(name.encode(), value.encode()) for name, value in proven(one).items()]
    assert thumbprint_of(headers, SECRET) == one.thumbprint
    signed = ssl.PEM_cert_to_DER_cert(one.pem)
    for place in range(0, len(signed), 37):
        changed = signed[:place] + bytes([signed[place] ^ 1]) + signed[place + 1 :]
        pem = ssl.DER_cert_to_PEM_cert(changed).replace("\n", "%0A").replace("+", "%2B")
        headers[2] = (headers[2][0], pem.encode())
        try:
            assert thumbprint_of(headers, SECRET) != one.thumbprint
        except Refused:
            continue


WRONG = {
    "too short": ("s" * 31, "32 to 200 letters"),
    "with a quote": ("s" * 40 + '"; x', "32 to 200 letters"),
    "not there": (None, "Got `"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_secret_that_could_be_guessed_does_not_start(kind: str, tmp_path: Path) -> None:
    secret, said = WRONG[kind]
    more = configured(tmp_path, secret or "")
    if secret is None:
        (tmp_path / "proxy.secret").unlink()
    file = written(tmp_path, more=more)
    with pytest.raises(InvalidParameter, match=said) as told:
        require_fit(load_configuration(file), file)
    assert not secret or secret not in str(told.value)
    with pytest.raises(InvalidParameter, match=said), Store.open(f"sqlite:///{tmp_path / 's.db'}") as store:
        Curator(load_configuration(file), store, None, None)  # type: ignore[arg-type]


def test_a_secret_that_others_read_does_not_start(tmp_path: Path) -> None:
    file = written(tmp_path, more=configured(tmp_path))
    (tmp_path / "proxy.secret").chmod(0o644)
    with pytest.raises(InvalidParameter, match="is the proxy's secret, and other users"):
        require_fit(load_configuration(file), file)


def test_without_a_proxy_there_are_no_certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.direct.CURATOR", _CURATOR.replace("behind_proxy = true", ""))
    with pytest.raises(InvalidParameter, match="`client_certificates` are asked for by a proxy"):
        load_configuration(written(tmp_path, more=configured(tmp_path)))


def test_the_command_registers_and_withdraws(curator: Curator, authority: Authority, tmp_path: Path) -> None:
    """A file with certificate and key is as good; several certificates, or none, are refused by name."""
    file, one = tmp_path / "curator.toml", authority.issued("ada")
    shown = one.file(tmp_path, "ada")
    run = CliRunner()
    words = ["certificate", str(file), "ada", str(shown)]
    told = run.invoke(commands, words)
    assert (told.exit_code, told.output.split()[0]) == (0, one.thumbprint)
    assert curator.store.certificates.holder(one.thumbprint) == "local:ada"
    assert run.invoke(commands, [*words, "--withdraw"]).exit_code == 0
    assert curator.store.certificates.holder(one.thumbprint) is None
    for text in (one.pem * 2, "", "-----BEGIN CERTIFICATE-----\nAA*A\n-----END CERTIFICATE-----\n"):
        shown.write_text(text)
        told = run.invoke(commands, words)
        assert isinstance(told.exception, InvalidParameter)
        assert "must be a PEM file with one certificate" in str(told.exception)


def test_the_console_registers_what_openssl_prints(
    web: TestClient, curator: Curator, shown: Mapping[str, Shown], authority: Authority
) -> None:
    """And an analyst registers nothing."""
    one = authority.issued("ada")
    printed = f"sha256 Fingerprint={one.certificate.fingerprint(hashes.SHA256()).hex(':').upper()}"
    for name, status in (("ada", 403), ("root", 303)):
        session = curator.store.tokens.issue(f"local:{name}", lifetime=timedelta(hours=1), kind="session")
        headers = {"cookie": f"leakcap_8422={session.secret}", "origin": HOME, **proven(shown[name])}
        sent = {"form": form_token(session.secret), "subject": "local:ada", "thumbprint": printed}
        came = web.post("/people/certificates", data=sent, headers=headers, follow_redirects=False)
        assert came.status_code == status
        assert (curator.store.certificates.holder(one.thumbprint) == "local:ada") == (status == 303)
    assert one.thumbprint in web.get("/people", headers=headers).text
    gone = {**sent, "thumbprint": one.thumbprint}
    assert (
        web.post(
            "/people/certificates/withdraw", data=gone, headers=headers, follow_redirects=False
        ).status_code
        == 303
    )
    assert curator.store.certificates.holder(one.thumbprint) is None
