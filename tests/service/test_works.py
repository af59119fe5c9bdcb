"""Models and tables as jobs, done by the process for jobs, and approved where that is asked for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from starlette.testclient import TestClient

from leakcap.release.engine.duck import DuckDB
from leakcap.service.api.curator import Curator
from leakcap.service.running.jobs import work
from leakcap.service.store import StoreError
from leakcap.service.store.jobs import JobQueue
from service.direct import curator_in
from service.test_api import COUNT, ask, client_of, signed_in, spent

FIT = {"model": {"kind": "tree", "features": ["age"], "target": "ward", "epsilon": 1.0}}
TABLES = {"tables": [{"columns": ["ward"]}], "rho": 0.05}
APPROVAL = "[data.ward.approval]\nabove_epsilon = 0.6\napprovers = 2\n"


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    found = curator_in(tmp_path)
    with (tmp_path / "policy.toml").open("a") as policy:
        policy.write("delta = 1e-6\n")  # the noise of tables is Gaussian
    yield found
    found.store.close()


def worked(curator: Curator, jobs: int = 1) -> None:
    """So many jobs are done, here."""
    left = iter([True] * jobs)
    work(curator.store, curator.engine, curator.configuration, going=lambda: next(left, False))


def asked_for(web: TestClient, who: dict[str, str], what: str, body: Any, key: str = "k1") -> Any:
    told = web.post(f"/v1/datasets/ward/{what}", json=body, headers={**who, "idempotency-key": key})
    assert told.status_code == 202, told.text
    return told.json()


@pytest.mark.parametrize(("what", "body", "part"), [("fits", FIT, "fit"), ("tables", TABLES, "tables")])
def test_it_is_done_once_and_its_answer_is_free(
    curator: Curator, what: str, body: dict[str, Any], part: str
) -> None:
    web = client_of(curator)
    ada = signed_in(web, "ada")
    job = asked_for(web, ada, what, body)
    assert asked_for(web, ada, what, body)["id"] == job["id"]
    assert web.get(f"/v1/jobs/{job['id']}/answer", headers=ada).status_code == 409
    worked(curator)
    told = web.get(f"/v1/jobs/{job['id']}", headers=ada).json()
    assert (told["state"], told["problem"]) == ("done", None)
    assert len(told["entries"]) == 1
    before = spent(curator)
    assert before > 0
    first, again = (web.get(f"/v1/jobs/{job['id']}/answer", headers=ada).json() for _ in range(2))
    assert first[part] == again[part]
    assert spent(curator) == before


@pytest.mark.parametrize("first", ["", "respond-async"])
def test_one_key_pays_once_at_once_and_later(curator: Curator, first: str) -> None:
    """The same question under one key, once as a job and once not, in either order."""
    web = client_of(curator)
    ada = {**signed_in(web, "ada"), "idempotency-key": "k1"}
    fresh = {**COUNT, "fresh": True}
    for prefer in (first, "" if first else "respond-async"):
        told = web.post("/v1/datasets/ward/releases", json=fresh, headers={**ada, "prefer": prefer})
        assert told.status_code in (200, 202)
        worked(curator)
    assert spent(curator) == 0.5


def test_what_cannot_be_asked_fails_with_its_reason(curator: Curator) -> None:
    web = client_of(curator)
    ada = signed_in(web, "ada")
    job = asked_for(web, ada, "fits", {"model": {**FIT["model"], "epsilon": 100.0}})
    worked(curator)
    found = web.get(f"/v1/jobs/{job['id']}", headers=ada).json()
    assert found["state"] == "failed"
    assert found["problem"]["type"] == "urn:leakcap:problem:budget-exceeded"
    assert spent(curator) == 0.0


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("fits", {"model": {"kind": "descent"}}),
        ("fits", {"model": {**FIT["model"], "epsilon": "much"}}),
        ("tables", {**TABLES, "nonsense": 1}),
        ("releases", {"queries": [{"name": "n", "statistic": "count", "where": "dose > 1", "epsilon": 0.1}]}),
        ("releases", {"sql": "SELECT name FROM ward", "epsilon": 0.1}),
    ],
)
def test_what_cannot_be_planned_takes_nobodys_turn(curator: Curator, what: str, body: dict[str, Any]) -> None:
    web = client_of(curator)
    headers = {**signed_in(web, "ada"), "idempotency-key": "k", "prefer": "respond-async"}
    told = web.post(f"/v1/datasets/ward/{what}", json=body, headers=headers)
    assert told.status_code == 422, told.text
    assert curator.store.jobs.list() == ()


@pytest.mark.parametrize(("approval", "most"), [("", 8), ("approval = {}\n", 3)])
def test_one_person_does_not_fill_the_queue(tmp_path: Path, approval: str, most: int) -> None:
    """Those that wait for approval have a bound of their own; whose key is known is answered as ever."""
    curator = curator_in(tmp_path, more=approval + "[limits]\napprovals_per_person = 3\n")
    web = client_of(curator)
    ada, ben = signed_in(web, "ada"), signed_in(web, "ben")

    def told(who: dict[str, str], key: str) -> Any:
        headers = {**who, "idempotency-key": key, "prefer": "respond-async"}
        return web.post("/v1/datasets/ward/releases", json=COUNT, headers=headers)

    assert [told(ada, f"k{n}").status_code for n in range(most)] == [202] * most
    refused = told(ada, "more")
    assert (refused.status_code, refused.json()["type"]) == (429, "urn:leakcap:problem:too-many-jobs")
    assert f"as one person may have, {most}." in refused.json()["detail"]
    assert told(ada, "k0").status_code == 202
    assert told(ben, "k0").status_code == 202
    assert len(curator.store.jobs.list()) == most + 1
    web.delete(f"/v1/jobs/{told(ada, 'k1').json()['id']}", headers=ada)
    assert told(ada, "more").status_code == 202
    curator.store.close()


def test_what_the_store_does_not_take_is_answered_at_the_next_attempt(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was paid for, and is not told as failed with nothing spent."""
    web = client_of(curator)
    job = asked_for(web, signed_in(web, "ada"), "fits", FIT)
    finish = JobQueue.finish

    def broken(self: Any, *given: Any, **more: Any) -> Any:
        monkeypatch.setattr(JobQueue, "finish", finish)
        raise StoreError("The disk is full.")

    monkeypatch.setattr(JobQueue, "finish", broken)
    worked(curator)
    assert curator.store.jobs.find(job["id"]).state == "running"
    assert curator.store.jobs.requeue_stale(timedelta(0)) == 1
    worked(curator)
    found = curator.store.jobs.find(job["id"])
    assert (found.state, found.attempt, found.problem) == ("done", 2, None)
    assert spent(curator) == 1.0


@pytest.mark.parametrize("kind", ["tree", "linear"])
def test_the_answer_of_a_done_fit_reads_no_rows_and_leaves_on_the_clock(
    curator: Curator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Under replace-one the rows are counted where something is paid, which is seen to be seen here."""
    file = tmp_path / "policy.toml"
    dose = "[columns.dose]\nbounds = [0.0, 9.0]\n"
    file.write_text("rows = 90\n" + file.read_text().replace("add-remove-one", "replace-one") + dose)
    rows = pyarrow.parquet.read_table(tmp_path / "ward.parquet")
    doses = pyarrow.array([float(n % 9) for n in range(90)])
    pyarrow.parquet.write_table(rows.append_column("dose", doses), tmp_path / "ward.parquet")
    web = client_of(replace(curator, configuration=curator.configuration.model_copy(update={"tick": 0.2})))
    ada, ran = signed_in(web, "ada"), list[str]()
    target = {"tree": "ward", "linear": "dose"}[kind]
    fit = {"model": {"kind": kind, "features": ["age"], "target": target, "epsilon": 1.0}}
    job = asked_for(web, ada, "fits", fit)
    run = DuckDB.run

    def seen(self: Any, statement: Any, *more: Any) -> Any:
        ran.append(str(statement))
        return run(self, statement, *more)

    monkeypatch.setattr(DuckDB, "run", seen)
    worked(curator)
    assert curator.store.jobs.find(job["id"]).problem is None
    assert len(ran) >= 2  # they are counted, and read
    del ran[:]
    begun = time.monotonic()
    told = web.get(f"/v1/jobs/{job['id']}/answer", headers=ada)
    assert time.monotonic() - begun >= 0.2
    assert told.json()["answers"][0]["repeated"] is True
    assert ran == []


def test_a_fit_to_another_number_of_rows_is_refused_before_it_is_paid(
    curator: Curator, tmp_path: Path
) -> None:
    file = tmp_path / "policy.toml"
    file.write_text("rows = 91\n" + file.read_text().replace("add-remove-one", "replace-one"))
    web = client_of(curator)
    ada = signed_in(web, "ada")
    job = asked_for(web, ada, "fits", FIT)
    worked(curator)
    told = web.get(f"/v1/jobs/{job['id']}", headers=ada).json()
    assert (told["state"], told["problem"]["committed"]) == ("failed", False)
    assert spent(curator) == 0.0


def test_a_cancelled_job_is_not_done(curator: Curator) -> None:
    web = client_of(curator)
    ada = signed_in(web, "ada")
    job = asked_for(web, ada, "tables", TABLES)
    assert web.delete(f"/v1/jobs/{job['id']}", headers=ada).json()["state"] == "cancelled"
    worked(curator)
    assert spent(curator) == 0.0


def test_a_job_of_a_data_set_that_is_gone_says_so(curator: Curator) -> None:
    """Its owner took it out of the configuration while the job was queued; another one is done meanwhile."""
    web = client_of(curator)
    ada = signed_in(web, "ada")
    curator.store.grants.give("local:ada", "analyst", "gone", by="test")
    lost, _ = curator.store.jobs.create("local:ada", "gone", "tables", TABLES, key="k0")
    job = asked_for(web, ada, "tables", TABLES)
    worked(curator, 2)
    found = curator.store.jobs.find(lost.id)
    assert (found.state, found.problem and found.problem["status"]) == ("failed", 404)
    assert curator.store.jobs.find(job["id"]).state == "done"


def test_others_do_not_see_the_answer(curator: Curator) -> None:
    """Neither another analyst nor the owner, who sees that it was asked."""
    web = client_of(curator)
    ada, ben, olga = (signed_in(web, name) for name in ("ada", "ben", "olga"))
    job = asked_for(web, ada, "tables", TABLES)
    worked(curator)
    assert web.get(f"/v1/jobs/{job['id']}", headers=ben).status_code == 404
    assert "entries" not in web.get(f"/v1/jobs/{job['id']}", headers=olga).json()
    for who in (ben, olga):
        assert web.get(f"/v1/jobs/{job['id']}/answer", headers=who).status_code in (403, 404)


def test_two_people_approve_and_none_of_them_asked(tmp_path: Path) -> None:
    curator = curator_in(tmp_path, more=APPROVAL)
    for name in ("ben", "olga", "ada"):
        curator.store.grants.give(f"local:{name}", "approver", "ward", by="test")
    web = client_of(curator)
    ada, ben, olga = (signed_in(web, name) for name in ("ada", "ben", "olga"))
    assert ask(web, ada, "small").status_code == 200
    told = ask(web, ada, "large", {"queries": [{**COUNT["queries"][0], "epsilon": 1.0}]})
    assert (told.status_code, told.json()["state"]) == (202, "awaiting approval")
    place = f"/v1/approvals/{told.json()['id']}"
    agreed = {"verdict": "approve"}
    assert web.post(place, json=agreed, headers=ada).status_code in (403, 404, 409)
    assert web.post(place, json=agreed, headers=ben).json()["state"] == "awaiting approval"
    assert web.post(place, json=agreed, headers=ben).status_code in (403, 409)
    worked(curator)
    assert spent(curator) == 0.5  # one person's approval, however often, lets nothing run
    assert web.post(place, json=agreed, headers=olga).json()["state"] == "queued"
    worked(curator)
    assert spent(curator) == 1.5
    assert web.get(f"/v1/jobs/{told.json()['id']}/answer", headers=ada).json()["answers"][0]["values"]
    curator.store.close()


def test_what_was_approved_under_another_policy_is_not_done(tmp_path: Path) -> None:
    """An owner may amend between: then it is asked again, and approved again."""
    curator = curator_in(tmp_path, more=APPROVAL.replace("approvers = 2", "approvers = 1"))
    curator.store.grants.give("local:olga", "approver", "ward", by="test")
    web = client_of(curator)
    ada, olga = signed_in(web, "ada"), signed_in(web, "olga")
    ask(web, ada, "first")
    job = asked_for(web, ada, "fits", FIT)
    policy = web.get("/v1/datasets/ward", headers=olga).json()["policy"]
    policy["caps"]["epsilon"] = 9.0
    amended = {"policy": policy, "reason": "agreed"}
    assert web.post("/v1/datasets/ward/amend", json=amended, headers=olga).status_code == 200
    place = f"/v1/approvals/{job['id']}"
    assert web.post(place, json={"verdict": "approve"}, headers=olga).json()["state"] == "queued"
    worked(curator)
    told = web.get(f"/v1/jobs/{job['id']}", headers=ada).json()
    assert told["state"] == "failed"
    assert "amended" in told["problem"]["detail"]
    assert spent(curator) == 0.5
    curator.store.close()


def test_a_refusal_says_why(tmp_path: Path) -> None:
    curator = curator_in(tmp_path, more=APPROVAL)
    curator.store.grants.give("local:olga", "approver", "ward", by="test")
    web = client_of(curator)
    ada, olga = signed_in(web, "ada"), signed_in(web, "olga")
    job = asked_for(web, ada, "tables", TABLES)
    priced = web.get(f"/v1/approvals/{job['id']}/preview", headers=olga)
    assert priced.status_code in (200, 422)
    given = {"verdict": "refuse", "reason": "too much for one table"}
    assert web.post(f"/v1/approvals/{job['id']}", json=given, headers=olga).json()["state"] == "refused"
    assert "too much for one table" in web.get(f"/v1/jobs/{job['id']}", headers=ada).text
    worked(curator)
    assert spent(curator) == 0.0
    curator.store.close()
