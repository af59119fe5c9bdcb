"""What people who mean harm would try at the curator, each of which told or took too much once."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from leakcap.service.api.app import create_curator
from leakcap.service.api.curator import Curator
from leakcap.service.api.guard import CuratorGuard
from leakcap.service.api.rates import AtOnce, TooManyRequests
from leakcap.service.engine import process
from leakcap.service.engine.calling import EngineClient, EngineFailed
from leakcap.service.engine.messages import receive, send
from leakcap.service.running.jobs import work
from leakcap.service.store import JobState
from leakcap.service.ticks import rung
from service.visiting import HOME, staffed

COUNT = {"queries": [{"name": "n", "statistic": "count", "epsilon": 0.5}]}
FRESH = {**COUNT, "fresh": True}
APPROVED = "[data.ward.approval]\n"


@pytest.fixture
def curator(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Curator]:
    found = staffed(tmp_path, more=getattr(request, "param", ""))
    yield found
    found.store.close()


@pytest.fixture
def web(curator: Curator) -> TestClient:
    return TestClient(create_curator(curator), base_url=HOME, raise_server_exceptions=False)


def headers_of(curator: Curator, name: str, **more: Any) -> dict[str, str]:
    issued = curator.store.tokens.issue(f"local:{name}", lifetime=timedelta(hours=1), **more)
    return {"authorization": f"Bearer {issued.secret}"}


def ask(web: TestClient, who: Mapping[str, str], key: str, body: Any = COUNT, **more: str) -> Any:
    headers = {**who, "idempotency-key": key, **more}
    return web.post("/v1/datasets/ward/releases", json=body, headers=headers)


def decided(web: TestClient, curator: Curator, name: str, job: str, verdict: str = "approve") -> int:
    given = {"verdict": verdict, "reason": "a test"}
    return web.post(f"/v1/approvals/{job}", json=given, headers=headers_of(curator, name)).status_code


def spent(curator: Curator) -> float:
    return float(curator.engine.call("budget", "ward", "")["caps"][0]["spent"])


def worked(curator: Curator) -> None:
    """One round of the runner of jobs."""
    rounds = iter([True, False])
    work(curator.store, curator.engine, curator.configuration, going=lambda: next(rounds))


def test_a_token_for_other_data_sets_lists_no_jobs_of_this_one(web: TestClient, curator: Curator) -> None:
    assert ask(web, headers_of(curator, "ada"), "k", prefer="respond-async").status_code == 202
    listed = [
        web.get("/v1/jobs", headers=headers_of(curator, "ada", datasets=datasets)).json()["jobs"]
        for datasets in (None, ["stays"])
    ]
    assert [len(jobs) for jobs in listed] == [1, 0]
    curator.store.grants.take("local:ada", "analyst", "ward", by="test")
    assert web.get("/v1/jobs", headers=headers_of(curator, "ada")).json()["jobs"] == []


@pytest.mark.parametrize("first", ["", "respond-async"])
def test_a_key_is_paid_once_whether_the_answer_is_waited_for_or_not(
    web: TestClient, curator: Curator, first: str
) -> None:
    ada, second = headers_of(curator, "ada"), "respond-async" if not first else ""
    for prefer in (first, second):
        assert ask(web, ada, "k", FRESH, prefer=prefer).status_code in (200, 202)
        worked(curator)
    assert [one.state for one in curator.store.jobs.list()] == [JobState.DONE]
    assert spent(curator) == 0.5


def test_thirty_two_at_once_with_one_key_pay_once(web: TestClient, curator: Curator) -> None:
    ada = headers_of(curator, "ada")
    with ThreadPoolExecutor(32) as pool:
        found = list(pool.map(lambda _: ask(web, ada, "k", FRESH), range(32)))
    told = {json.dumps(one.json()["answers"][0]["values"]) for one in found if one.status_code == 200}
    assert len(told) == 1
    assert {one.status_code for one in found} <= {200, 429}
    assert spent(curator) == 0.5


def test_who_asks_is_not_told_where_the_data_is(web: TestClient, curator: Curator, tmp_path: Path) -> None:
    (tmp_path / "ward.parquet").rename(tmp_path / "gone.parquet")
    told = ask(web, headers_of(curator, "ada"), "k")
    assert told.status_code == 503
    assert str(tmp_path) not in told.text
    assert spent_file(tmp_path) is False


def spent_file(folder: Path) -> bool:
    return (folder / "ward.db").exists()


def test_a_policy_that_was_amended_before_anybody_asked_governs(web: TestClient, curator: Curator) -> None:
    """It did not: the data set could not be opened any more."""
    olga = headers_of(curator, "olga")
    policy = web.get("/v1/datasets/ward", headers=olga).json()["policy"]
    policy["caps"]["epsilon"] = 11.0
    amended = {"policy": policy, "reason": "more"}
    assert web.post("/v1/datasets/ward/amend", json=amended, headers=olga).status_code == 200
    assert ask(web, headers_of(curator, "ada"), "k").status_code == 200


@pytest.mark.parametrize("curator", [APPROVED], indirect=True)
def test_what_was_approved_under_one_policy_is_not_asked_under_another(
    web: TestClient, curator: Curator
) -> None:
    """Of a stated error the price hangs on the policy's bounds: approved for little, it could cost much."""
    ada, olga = headers_of(curator, "ada"), headers_of(curator, "olga")
    body = {"sql": "SELECT SUM(age) AS s FROM ward", "error": 600.0}
    job = ask(web, ada, "k", body).json()["id"]
    policy = web.get("/v1/datasets/ward", headers=olga).json()["policy"]
    policy["columns"]["age"]["bounds"] = [0.0, 600.0]
    amended = {"policy": policy, "reason": "wider"}
    assert web.post("/v1/datasets/ward/amend", json=amended, headers=olga).status_code == 200
    verdict = {"verdict": "approve"}
    assert (
        web.post(f"/v1/approvals/{job}", json=verdict, headers=headers_of(curator, "pia")).status_code == 200
    )
    worked(curator)
    found = curator.store.jobs.find(job)
    assert found.state is JobState.FAILED
    assert "the policy was amended" in str(found.problem).lower()
    assert spent(curator) == 0.0


@pytest.mark.parametrize("curator", [APPROVED], indirect=True)
def test_an_answer_that_was_approved_is_still_there_after_an_amendment(
    web: TestClient, curator: Curator
) -> None:
    ada, olga = headers_of(curator, "ada"), headers_of(curator, "olga")
    told = ask(web, ada, "k").json()
    assert told["asked"] == COUNT
    assert decided(web, curator, "pia", told["id"]) == 200
    worked(curator)
    before = web.get(f"/v1/jobs/{told['id']}/answer", headers=ada).json()["answers"]
    policy = web.get("/v1/datasets/ward", headers=olga).json()["policy"]
    policy["caps"]["epsilon"] = 11.0
    amended = {"policy": policy, "reason": "more"}
    assert web.post("/v1/datasets/ward/amend", json=amended, headers=olga).status_code == 200
    after = web.get(f"/v1/jobs/{told['id']}/answer", headers=ada).json()["answers"]
    assert after[0]["values"] == before[0]["values"]


@pytest.mark.parametrize("curator", [APPROVED.replace("]\n", "]\napprovers = 2\n")], indirect=True)
def test_two_approvals_are_two_other_peoples(web: TestClient, curator: Curator) -> None:
    curator.store.grants.give("local:ada", "approver", "ward", by="test")
    job = ask(web, headers_of(curator, "ada"), "k").json()["id"]
    said = [decided(web, curator, name, job) for name in ("ada", "pia", "pia", "olga")]
    assert said == [403, 200, 403, 403]
    assert curator.store.jobs.find(job).state is JobState.AWAITING_APPROVAL
    assert decided(web, curator, "pol", job, "refuse") == 200
    assert decided(web, curator, "pol", job) == 409
    worked(curator)
    assert spent(curator) == 0.0


OF_THE_LEDGER = ("ledger", "ledger/certificate", "statement?everyone=true", "budget")


def test_nobody_sees_answers_but_who_asked(web: TestClient, curator: Curator) -> None:
    """Neither jobs, ledgers nor statements repeat them to owners, approvers and auditors."""
    ada = headers_of(curator, "ada")
    body = {"queries": [{"name": "s", "statistic": "sum", "column": "age", "epsilon": 0.5}]}
    job = ask(web, ada, "k", body, prefer="respond-async").json()["id"]
    worked(curator)
    answer = web.get(f"/v1/jobs/{job}/answer", headers=ada).json()["answers"][0]["values"]
    numbers = set(re.findall(r"\d{5,}", json.dumps(answer)))
    assert numbers
    own = ("jobs", f"jobs/{job}", f"jobs/{job}/events", f"jobs/{job}/answer", "approvals", "acts")
    places = (*own, *(f"datasets/ward/{one}" for one in OF_THE_LEDGER))
    for name in ("olga", "pia", "udo", "root", "eve"):
        who = headers_of(curator, name)
        told = "".join(web.get(f"/v1/{place}", headers=who).text for place in places)
        assert not any(one in told for one in numbers), name


def test_the_stream_of_a_job_ends_with_the_right_to_see_it(web: TestClient, curator: Curator) -> None:
    ada = headers_of(curator, "ada")
    job = ask(web, ada, "k", prefer="respond-async").json()["id"]
    timer = threading.Timer(0.1, lambda: curator.store.people.remove("local:ada", by="test"))
    timer.start()
    started = time.monotonic()
    told = web.get(f"/v1/jobs/{job}/events", headers=ada).text
    timer.join()
    assert time.monotonic() - started < 30
    assert "cancelled" not in told


def test_spelling_the_header_otherwise_makes_no_second_credential(curator: Curator) -> None:
    header, counted = headers_of(curator, "ada")["authorization"], []

    class Rates:
        def count(self, credential: str, address: str) -> None:
            counted.append(credential)

    app = create_curator(curator)
    assert isinstance(app, CuratorGuard)
    app._rates = Rates()  # type: ignore[assignment]
    web = TestClient(app, base_url=HOME)
    for spelled in (header, header.replace("Bearer ", "bEARER   "), f"{header} "):
        assert web.get("/v1/me", headers={"authorization": spelled}).status_code == 200
    assert len(set(counted)) == 1


def test_one_person_does_not_fill_the_queue() -> None:
    at_once = AtOnce(2)
    with at_once.one("local:ada"), at_once.one("local:ada"):
        with pytest.raises(TooManyRequests, match="2 of your questions"), at_once.one("local:ada"):
            pass
        with at_once.one("local:ben"):
            pass
    with at_once.one("local:ada"):
        pass


def test_readiness_is_looked_at_once_a_second(
    web: TestClient, curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    told = DirectTold(curator.engine._told, calls)
    monkeypatch.setattr(curator.engine, "_told", told)
    assert {web.get("/readyz").status_code for _ in range(20)} == {200}
    assert len(calls) <= 3


class DirectTold:
    """What the engine says, counted."""

    def __init__(self, told: Any, calls: list[str]) -> None:
        self._said, self._calls = told, calls

    def __call__(self, message: Mapping[str, Any]) -> Any:
        self._calls.append(message["operation"])
        return self._said(message)


def test_a_fault_of_the_worker_is_a_problem_too(
    web: TestClient, curator: Curator, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    ada = headers_of(curator, "ada")

    def broken(*_: object) -> None:
        raise RuntimeError("diagnosis malignant")

    monkeypatch.setattr(curator.store.pauses, "list", broken)
    told = web.get("/v1/datasets", headers=ada)
    assert (told.status_code, told.headers["content-type"]) == (500, "application/problem+json")
    assert "malignant" not in told.text + caplog.text


class Calls:
    """A process of the engine on a thread, whose answers are planted."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, told: Any, tick: float) -> None:
        class Settings:
            data: Mapping[str, Any] = {}

        settings = Settings()
        settings.tick = tick  # type: ignore[attr-defined]
        monkeypatch.setattr(process, "answer", lambda message, *_, **__: told)
        monkeypatch.setattr(process.signal, "signal", lambda *_: None)
        monkeypatch.setattr(process.signal, "setitimer", lambda *_: None)
        self.path = str(folder / "engine.sock")
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self.path)
        self._listener.listen(4)
        threading.Thread(target=self._answer, args=(settings,), daemon=True).start()

    def _answer(self, settings: Any) -> None:
        with suppress(OSError):
            process.answer_calls(self._listener, settings, seconds=5.0)

    def asked(self, operation: str) -> tuple[Any, float]:
        started = time.monotonic()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(10)
            connection.connect(self.path)
            send(connection, {"operation": operation})
            return receive(connection), time.monotonic() - started


def test_who_waits_behind_a_question_does_not_time_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Calls(tmp_path, monkeypatch, {"result": {}}, tick=2.4)
    for computed in ("release", "fit", "tables"):
        assert calls.asked(computed)[1] >= 0.3  # the first rung of a clock eight times as fast
    assert calls.asked("budget")[1] < 0.3
    assert rung(0.01, 2.4 / 8) == pytest.approx(0.3)


def test_an_answer_that_is_no_json_does_not_end_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Calls(tmp_path, monkeypatch, {"result": float("nan")}, tick=0.001)
    for _ in range(2):
        told, _ = calls.asked("budget")
        assert told["problem"]["type"] == "urn:leakcap:problem:internal"


def test_a_question_that_took_too_long_is_not_put_to_the_next_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    class Ending(EngineClient):
        def _told(self, message: Mapping[str, Any]) -> Any:
            asked.append(message)
            time.sleep(0.06)

    with pytest.raises(EngineFailed, match="time"):
        Ending("", seconds=0.05).call("preview", "ward", "local:ada")
    assert len(asked) == 1


@pytest.mark.parametrize("after", [str(2**63), "9" * 400, "-1", "1e3"])
def test_a_number_that_no_database_holds_is_refused(web: TestClient, curator: Curator, after: str) -> None:
    assert web.get(f"/v1/acts?after={after}", headers=headers_of(curator, "root")).status_code == 422
