"""The certificate of a curator's ledger: proved without it, for owners and auditors, and for nobody else."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

import leakcap.client
import leakcap_verify as verify
from client.in_process import HOME, InProcess, connected
from command_line import leakcap as run
from leakcap.client import Connection, NotAllowed, RemoteTable
from leakcap.errors import DataError, InvalidParameter
from leakcap.ledger import certifying
from leakcap.service.api.app import create_curator
from leakcap.service.api.curator import Curator
from service.direct import PASSWORD
from service.visiting import staffed, visitor

FILE = "/v1/datasets/ward/ledger/certificate"
ASKED = {"ada": "how many", "ben": "how many are old"}
"""Who asked, and what they called it."""


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    """Two analysts have asked, and others look after the data."""
    found = staffed(tmp_path)
    web = TestClient(create_curator(found), base_url=HOME, raise_server_exceptions=False)
    found.store.grants.give("local:ben", "analyst", "ward", by="test")
    wheres = {"ada": {}, "ben": {"where": "age >= 65"}}
    for name, title in ASKED.items():
        query = {"name": title, "statistic": "count", "epsilon": 0.5, **wheres[name]}
        headers = {**signed_in(web, name), "idempotency-key": name}
        told = web.post("/v1/datasets/ward/releases", json={"queries": [query]}, headers=headers)
        assert told.status_code == 200, told.text
    yield found
    found.store.close()


@pytest.fixture
def web(curator: Curator) -> TestClient:
    return TestClient(create_curator(curator), base_url=HOME, raise_server_exceptions=False)


def signed_in(web: TestClient, name: str) -> dict[str, str]:
    told = web.post("/v1/session", json={"name": name, "password": PASSWORD})
    assert told.status_code == 201
    return {"authorization": f"Bearer {told.json()['token']}"}


def table_of(curator: Curator, name: str) -> tuple[RemoteTable, InProcess]:
    connection, transport = connected(curator, name)
    return connection["ward"], transport


def test_it_is_proved_without_the_curator(web: TestClient) -> None:
    """1 = 0.5 + 0.5, exactly, at whatever δ: the answers have an ε each."""
    for query in ("", "?delta=1e-6"):
        told = web.get(FILE + query, headers=signed_in(web, "udo"))
        assert (told.status_code, told.headers["content-type"]) == (200, "application/json")
        (found,) = verify.read(told.content)
        checked = verify.check(found)
        assert (checked.kind, checked.verdict, checked.claim) == (
            "filter",
            "proved",
            "0.0 ≤ truth ≤ 1.0 nats",
        )
        assert found["problem"]["delta"] == ("1/1000000" if query else "1/1000000000")


def test_it_is_the_file_that_stands_beside_the_ledger(
    curator: Curator, web: TestClient, tmp_path: Path
) -> None:
    """Byte for byte, so that the hash in the annex is of both."""
    told = web.get(FILE, headers=signed_in(web, "olga")).content
    words = ("budget", "--ledger", curator.configuration.data["ward"].ledger, "--certificate")
    assert run(*words, tmp_path / "c.json").returncode == 0
    assert (tmp_path / "c.json").read_bytes() == told


def test_it_shows_charges_and_neither_people_nor_questions(web: TestClient) -> None:
    told = web.get(FILE, headers=signed_in(web, "udo")).text
    rows = [json.loads(row) for row in json.loads(told)["certificates"][0]["witness"]["rows"]]
    people = {row["shown"] for row in rows if row["kind"] == "reserve"}
    assert len(people) == 2
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in people)
    for words in (*ASKED.values(), *(f"local:{name}" for name in ASKED), "age >= 65"):
        assert words not in told
    assert not re.search(r"\d\d:\d\d", told)  # the day of a charge, and no time of it


@pytest.mark.parametrize(("name", "status"), [("ada", 403), ("pia", 403), ("root", 404), ("eve", 404)])
def test_others_get_none(web: TestClient, name: str, status: int) -> None:
    """An analyst knows their own rows, and would read everybody else's beside them."""
    told = web.get(FILE, headers=signed_in(web, name))
    assert told.status_code == status
    assert "certificates" not in told.text


@pytest.mark.parametrize("delta", ["0", "1", "-1", "nan", "inf", "x", "1e-13"])
def test_a_delta_that_is_none_is_refused(web: TestClient, delta: str) -> None:
    """10⁻¹² is the least that a ledger counts."""
    told = web.get(f"{FILE}?delta={delta}", headers=signed_in(web, "udo"))
    assert told.status_code == 422
    assert "delta" in told.json()["detail"]


def test_a_ledger_that_is_too_long_says_so(web: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certifying, "_MOST_ROWS", 1)
    told = web.get(FILE, headers=signed_in(web, "udo"))
    assert told.status_code == 409
    assert "a certificate holds 1 at most" in told.json()["detail"]


def test_the_console_gives_the_same_file(curator: Curator, web: TestClient) -> None:
    browser = visitor(curator, "udo")
    assert 'href="/audit/ward/certificate.json"' in browser.get("/audit/ward").text
    told = browser.get("/audit/ward/certificate.json")
    assert told.headers["content-disposition"] == 'attachment; filename="ward.certificate.json"'
    assert told.content == web.get(FILE, headers=signed_in(web, "udo")).content


def test_from_python(curator: Curator) -> None:
    table, transport = table_of(curator, "udo")
    assert verify.check(table.certificate(1e-6)).verdict == "proved"
    assert "delta=1e-06" in str(transport.requests[-1].url)
    with pytest.raises(NotAllowed, match="certify the ledger"):
        table_of(curator, "ada")[0].certificate()
    for wrong in (0.0, 1.0, float("nan"), "0.1"):
        with pytest.raises(InvalidParameter, match="delta"):
            table.certificate(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "said",
    [[], {}, {"certificates": []}, {"certificates": [{}]}, {"certificates": [{"schema": "another/1"}]}],
)
def test_what_is_no_certificate_is_not_taken_for_one(curator: Curator, said: Any) -> None:
    table, transport = table_of(curator, "udo")
    transport.before = lambda request: httpx.Response(200, json=said)
    with pytest.raises(DataError, match="certificate"):
        table.certificate()


def test_on_the_command_line(curator: Curator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asking(name: str) -> None:
        token = connected(curator, name)[0]._http._token
        monkeypatch.setattr(
            leakcap.client, "connect", lambda url: Connection(url, token, transport=InProcess(curator))
        )

    asking("udo")
    words = ("--server", HOME, "budget", "--certificate", "c.json", "--delta", "1e-6", "--json")
    done = run(*words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    text = (tmp_path / "c.json").read_bytes()
    assert json.loads(done.stdout)["certificate"]["sha256"] == hashlib.sha256(text).hexdigest()
    (found,) = verify.read(text)
    assert (verify.check(found).verdict, found["problem"]["delta"]) == ("proved", "1/1000000")
    twice = run(*words, "--delta", "1e-9", cwd=tmp_path)
    assert (twice.returncode, "said once" in twice.stderr) == (2, True)
    alone = run("--server", HOME, "budget", "--delta", "1e-6", cwd=tmp_path)
    assert (alone.returncode, "`--delta` must be left out" in alone.stderr) == (2, True)
    (tmp_path / "c.json").unlink()
    asking("ada")
    refused = run(*words, cwd=tmp_path)
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert not (tmp_path / "c.json").exists()
