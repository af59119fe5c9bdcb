"""The curator over HTTP: who may ask what, what is paid once, and what leaves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from leakcap.service.api.app import create_curator
from leakcap.service.api.curator import Curator
from service.direct import PASSWORD, curator_in

HOME = "http://127.0.0.1:8422"
COUNT = {"queries": [{"name": "n", "statistic": "count", "epsilon": 0.5}]}


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    found = curator_in(tmp_path)
    yield found
    found.store.close()


@pytest.fixture
def web(curator: Curator) -> TestClient:
    return client_of(curator)


def client_of(curator: Curator) -> TestClient:
    return TestClient(create_curator(curator), base_url=HOME, raise_server_exceptions=False)


def signed_in(web: TestClient, name: str) -> dict[str, str]:
    told = web.post("/v1/session", json={"name": name, "password": PASSWORD})
    assert told.status_code == 201
    return {"authorization": f"Bearer {told.json()['token']}"}


def ask(web: TestClient, who: dict[str, str], key: str, body: Any = COUNT) -> Any:
    return web.post("/v1/datasets/ward/releases", json=body, headers={**who, "idempotency-key": key})


def spent(curator: Curator) -> float:
    caps = curator.engine.call("budget", "ward", "")["caps"]
    return float(caps[0]["spent"])


def test_an_answer_is_paid_for_by_who_asked(web: TestClient, curator: Curator) -> None:
    told = ask(web, signed_in(web, "ada"), "k1").json()
    assert told["answers"][0]["repeated"] is False
    entries = curator.engine.call("ledger", "ward", "")["entries"]
    assert [one["analyst"] for one in entries] == ["local:ada"]
    assert spent(curator) == 0.5


def test_a_repeated_post_never_pays_twice(web: TestClient, curator: Curator) -> None:
    """Also where new noise is asked for, which a repeated question would otherwise draw and pay."""
    ada, fresh = signed_in(web, "ada"), {**COUNT, "fresh": True}
    first = ask(web, ada, "k1", fresh).json()
    again = ask(web, ada, "k1", fresh).json()
    assert again["answers"][0]["values"] == first["answers"][0]["values"]
    assert spent(curator) == 0.5
    ask(web, ada, "k2", fresh)
    assert spent(curator) == 1.0  # the planted other key: what would be paid without the first


def test_a_minimal_answer_is_the_same_answer(web: TestClient, curator: Curator) -> None:
    ada = signed_in(web, "ada")
    short = ask(web, {**ada, "prefer": "return=minimal"}, "k1").json()
    whole = ask(web, ada, "k1").json()
    assert "releases" not in short
    assert whole["releases"]
    assert short["answers"][0]["values"] == whole["answers"][0]["values"]
    assert spent(curator) == 0.5


def test_a_key_stands_for_one_question(web: TestClient, curator: Curator) -> None:
    ada = signed_in(web, "ada")
    ask(web, ada, "k1")
    other = {"queries": [{**COUNT["queries"][0], "where": "age > 50"}]}
    told = ask(web, ada, "k1", other)
    assert (told.status_code, told.json()["type"]) == (409, "urn:leakcap:problem:request-reused")
    assert spent(curator) == 0.5


def test_two_people_may_use_one_key(web: TestClient, curator: Curator) -> None:
    fresh = {**COUNT, "fresh": True}
    assert ask(web, signed_in(web, "ada"), "k1", fresh).status_code == 200
    assert ask(web, signed_in(web, "ben"), "k1", fresh).status_code == 200
    assert spent(curator) == 1.0


def test_without_a_role_a_data_set_is_not_there(web: TestClient, curator: Curator) -> None:
    curator.store.people.add("local:eve", by="test")
    curator.store.passwords.set("local:eve", PASSWORD, by="test")
    eve = signed_in(web, "eve")
    hidden, absent = (web.get(f"/v1/datasets/{name}", headers=eve) for name in ("ward", "none"))
    assert hidden.status_code == absent.status_code == 404
    assert hidden.json()["detail"].replace("ward", "") == absent.json()["detail"].replace("none", "")
    assert ask(web, eve, "k1").status_code == 404
    assert spent(curator) == 0.0


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer lkc_0123456789abcdef_" + "A" * 43, "Basic YTph"])
def test_nobody_is_let_in_without_a_credential(web: TestClient, header: str) -> None:
    told = web.get("/v1/datasets", headers={"authorization": header} if header else {})
    assert (told.status_code, told.headers["www-authenticate"]) == (401, "Bearer")


def test_a_cap_that_would_be_passed_is_said_with_its_fields(web: TestClient, curator: Curator) -> None:
    told = ask(web, signed_in(web, "ada"), "k1", {"queries": [{**COUNT["queries"][0], "epsilon": 11.0}]})
    assert told.status_code == 409
    assert told.headers["content-type"] == "application/problem+json"
    (passed,) = told.json()["passed"]
    assert (passed["cap"], passed["left"], passed["asked"]) == ("epsilon", 10.0, 11.0)
    assert spent(curator) == 0.0


def test_a_paused_data_set_answers_nobody(web: TestClient, curator: Curator) -> None:
    ada, olga = signed_in(web, "ada"), signed_in(web, "olga")
    why = {"reason": "a ward is missing"}
    assert web.post("/v1/datasets/ward/pause", json=why, headers=ada).status_code == 403
    assert web.post("/v1/datasets/ward/pause", json=why, headers=olga).status_code == 204
    told = ask(web, ada, "k1")
    assert told.status_code == 409
    assert "a ward is missing" in told.json()["detail"]
    assert web.post("/v1/datasets/ward/resume", headers=olga, json={}).status_code == 204
    assert ask(web, ada, "k1").status_code == 200


def test_others_names_are_no_part_of_the_policy(tmp_path: Path) -> None:
    curator = curator_in(tmp_path)
    policy = tmp_path / "policy.toml"
    own = '\n[caps.analysts."local:{}"]\nepsilon = 1.0\n'
    policy.write_text(policy.read_text() + own.format("ada") + own.format("ben"))
    web = client_of(curator)
    told = web.get("/v1/datasets/ward", headers=signed_in(web, "ada"))
    assert list(told.json()["policy"]["caps"]["analysts"]) == ["local:ada"]
    assert "local:ben" not in told.text
    answer = ask(web, signed_in(web, "ada"), "k1").json()
    assert told.json()["fingerprint"] == answer["policy"]  # of the whole policy, which the ledger is bound to


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "a b"])
def test_another_name_is_not_answered(web: TestClient, host: str) -> None:
    """A rebound name is no name of the curator's."""
    assert web.get("/v1", headers={"host": host}).status_code == 421


def test_another_site_cannot_ask(web: TestClient) -> None:
    given = {"name": "ada", "password": PASSWORD}
    told = web.post("/v1/session", json=given, headers={"sec-fetch-site": "cross-site"})
    assert told.status_code == 403
    form = {"content-type": "text/plain"}
    assert web.post("/v1/session", content="{}", headers=form).status_code == 415


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"queries": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        b'{"sql": "SELECT 1", "epsilon": 1e999}',
        b'{"sql": "SELECT COUNT(*) FROM ward", "epsilon": NaN}',
        b'{"queries": [{"name": "n", "statistic": "count", "epsilon": ' + b"9" * 5000 + b"}]}",
        b'{"sql": "SELECT COUNT(*) FROM ward", "epsilon": 1' + b"0" * 400 + b"}",
        b"\xff\xfe",
        b"",
        b"null",
    ],
)
def test_bombs_and_rubbish_are_refused(web: TestClient, curator: Curator, body: bytes) -> None:
    headers = {**signed_in(web, "ada"), "idempotency-key": "k", "content-type": "application/json"}
    told = web.post("/v1/datasets/ward/releases", content=body, headers=headers)
    assert told.status_code in (400, 413, 422), told.text[:200]
    assert len(told.text) < 1000
    assert spent(curator) == 0.0


def test_a_fault_says_nothing(web: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    """Neither the answer nor the log repeats what an error says: it could be a value."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("row 17: diagnosis malignant")

    ada = signed_in(web, "ada")
    monkeypatch.setattr("leakcap.release.table.PrivateTable.releasing", broken)
    told = ask(web, ada, "k1")
    assert told.status_code == 500
    assert "malignant" not in told.text + caplog.text
    assert "RuntimeError at" in caplog.text
