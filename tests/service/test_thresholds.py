"""A question that is cut into many: what was asked without approval counts together."""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from leakcap.errors import DataError, LedgerUnavailable
from leakcap.ledger import Ledger
from leakcap.service.api.app import create_curator
from leakcap.service.api.curator import Curator
from leakcap.service.engine.calling import EngineClient, EngineFailed
from leakcap.service.requests import request_number
from leakcap.service.running.jobs import work
from leakcap.service.store import Store
from leakcap.service.store.times import stored_time
from leakcap.wire import as_problem
from service.conftest import Hands
from service.straight import Said, request
from service.visiting import staffed
from warmed import Warmed

RULE = "approval = { above_epsilon = 0.5, approvers = 1 }\n"
GROUP = '[caps.groups.pair]\nmembers = ["local:ada", "local:ben"]\nepsilon = 9.0\n'
DAYS = timedelta(days=30)


def staffed_with(folder: Path, **options: Any) -> Curator:
    found = staffed(folder, **options)
    if not found.store.grants.of("local:ben"):
        found.store.people.add("local:ben", by="test")
    found.store.grants.give("local:ben", "analyst", "ward", by="test")
    return found


@pytest.fixture
def curator(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Curator]:
    found = staffed_with(tmp_path, **{"more": RULE, **getattr(request, "param", {})})
    yield found
    found.store.close()


_LAST: list[tuple[Curator, Any]] = []


def app_of(curator: Curator) -> Any:
    """One application for all questions: to make its routes takes a tenth of a second."""
    if not _LAST or _LAST[0][0] is not curator:
        _LAST[:] = [(curator, create_curator(curator))]
    return _LAST[0][1]


def asks(
    curator: Curator,
    name: str,
    key: str,
    *more: str,
    headers: Mapping[str, str] | None = None,
    body: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Said:
    """What is said to somebody's question of 0.1, or of what `fields` or the whole `body` say."""
    token = curator.store.tokens.issue(f"local:{name}", lifetime=timedelta(hours=1)).secret
    queries = [
        {"name": one, "statistic": "count", "where": f"age > {one[1:]}", "epsilon": 0.1, **fields}
        for one in (key, *more)
    ]
    sent = {"authorization": f"Bearer {token}", "idempotency-key": key, **(headers or {})}
    asked = body or {"queries": queries}
    return asyncio.run(request(app_of(curator), "POST", "/v1/datasets/ward/releases", sent, asked))


def test_five_of_a_tenth_pass_and_the_sixth_waits(curator: Curator) -> None:
    assert [asks(curator, "ada", f"q{n}").status for n in range(6)] == [200] * 5 + [202]
    # Another analyst has a threshold of their own, and whoever asks at once asks as much.
    assert asks(curator, "ben", "q10", "q11", "q12", "q13", "q14", "q15").status == 202
    assert asks(curator, "ben", "q20", "q21", "q22", "q23", "q24").status == 200


def test_a_planted_check_of_each_question_alone_lets_all_pass(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leakcap.service.store.thresholds._amounts", lambda *_: [])
    assert [asks(curator, "ada", f"q{n}").status for n in range(7)] == [200] * 7


def test_what_is_known_costs_nothing_and_counts_nothing(curator: Curator) -> None:
    assert asks(curator, "ada", "q1").status == 200
    for again in range(8):
        said = asks(curator, "ada", f"q1{again}", where="age > 1")  # under another key and name
        assert said.status == 200, said.told
        assert said.told["answers"][0]["repeated"] is True
    assert asks(curator, "ada", "q1").told["answers"][0]["repeated"] is True  # the same request
    assert [asks(curator, "ada", f"q{n}").status for n in range(2, 7)] == [200] * 4 + [202]
    assert asks(curator, "ada", "q1").status == 200  # what is known passes also then


def test_new_noise_for_what_is_known_counts(curator: Curator) -> None:
    token = curator.store.tokens.issue("local:ada", lifetime=timedelta(hours=1)).secret
    query = {"name": "n", "statistic": "count", "epsilon": 0.1}
    app, told = create_curator(curator), []
    for n in range(7):
        headers = {"authorization": f"Bearer {token}", "idempotency-key": f"k{n}"}
        body = {"queries": [query], "fresh": True}
        said = asyncio.run(request(app, "POST", "/v1/datasets/ward/releases", headers, body))
        told.append(said.status)
    assert told == [200] * 5 + [202] * 2


@pytest.mark.parametrize("curator", [{"policy": GROUP}], indirect=True)
def test_a_group_has_one_threshold_together(curator: Curator) -> None:
    told = [asks(curator, name, f"q{n}").status for n, name in enumerate(["ada", "ben"] * 3)]
    assert told == [200] * 5 + [202]


@pytest.mark.parametrize(
    "curator", [{"more": "approval = { above_rho = 0.01, approvers = 1 }\n"}], indirect=True
)
def test_a_threshold_in_rho(curator: Curator) -> None:
    """A pure ε of 0.1 has ρ = tanh(0.05)·0.1/…: below ε²/2 = 0.005, so that at least two and not ten pass."""
    told = [asks(curator, "ada", f"q{n}").status for n in range(10)]
    passed = told.count(200)
    query = {"name": "n", "statistic": "count", "where": "age > 80", "epsilon": 0.1}
    rho = curator.engine.call("unpaid", "ward", "local:ada", {"queries": [query]})["rho"]
    assert 0.0 < rho <= 0.005
    assert passed * rho <= 0.01 < (passed + 1) * rho
    assert told == [200] * passed + [202] * (10 - passed)


def test_the_days_pass_and_a_job_that_waits_still_waits(tmp_path: Path, clock: Hands) -> None:
    found = staffed_with(tmp_path, more=RULE)
    clock.now = datetime.now(UTC)
    for part in ("thresholds", "jobs", "tokens"):
        getattr(found.store, part)._clock = clock
    found.store.clock = clock
    assert [asks(found, "ada", f"q{n}").status for n in range(6)] == [200] * 5 + [202]
    clock.pass_(days=31)
    assert asks(found, "ada", "q5").status == 202  # the same request is the same job
    assert [asks(found, "ada", f"q{n}").status for n in range(10, 16)] == [200] * 5 + [202]
    found.store.close()


def test_what_is_refused_with_nothing_spent_is_given_back(tmp_path: Path) -> None:
    """The cap is 0.35: the fourth of 0.1 is refused, which takes nothing of the threshold."""
    found = staffed_with(tmp_path, more=RULE, epsilon=0.35)
    assert [asks(found, "ada", f"q{n}").status for n in range(6)] == [200] * 3 + [409] * 3
    assert len(counted(found.store)) == 3
    assert asks(found, "ada", "q9", statistic="nonsense").status == 422
    assert len(counted(found.store)) == 3
    found.store.close()


def test_what_was_lost_on_the_way_stays_counted(curator: Curator) -> None:
    """The engine answers, and the answer is lost: it may be spent."""

    class Losing(EngineClient):
        def call(self, operation: str, *given: Any, **more: Any) -> Any:
            told = curator.engine.call(operation, *given, **more)
            if operation == "release":
                raise EngineFailed("time")
            return told

    losing = replace(curator, engine=Losing("", seconds=1.0))
    assert [asks(losing, "ada", f"q{n}").status for n in range(6)] == [504] * 5 + [202]
    # Under the same keys the answers are there, and nothing more is counted.
    assert [asks(curator, "ada", f"q{n}").status for n in range(5)] == [200] * 5
    assert len(counted(curator.store)) == 5


def later(curator: Curator, name: str, key: str, **fields: Any) -> Said:
    """What is said to a question that is asked as a job."""
    return asks(curator, name, key, headers={"prefer": "respond-async"}, **fields)


def worked(curator: Curator, many: int = 1) -> None:
    left = iter([True] * many)
    work(curator.store, curator.engine, curator.configuration, going=lambda: next(left, False))


def rewritten(folder: Path) -> None:
    """The table with one person more: what was known of it is known no more."""
    table = {"id": list(range(91)), "age": [float(i % 90) for i in range(91)], "ward": ["a"] * 91}
    pyarrow.parquet.write_table(pyarrow.table(table), folder / "ward.parquet")


def spent(curator: Curator) -> float:
    told: float = curator.engine.call("budget", "ward", "local:ada")["caps"][0]["spent"]
    return told


def reasons(curator: Curator) -> list[str]:
    jobs = [one for one in curator.store.jobs.list() if one.state == "failed"]
    return [str(one.problem["detail"]) for one in jobs if one.problem is not None]


def test_what_is_known_when_it_is_queued_is_not_paid_for_when_the_table_has_changed(
    curator: Curator, tmp_path: Path
) -> None:
    """Eight known questions pass for nothing; as jobs of another table they would cost .8 together."""
    assert [asks(curator, "ada", f"q{n}").status for n in range(5)] == [200] * 5
    again = [later(curator, "ada", f"l{n}", where=f"age > {n % 5}") for n in range(8)]
    assert [one.status for one in again] == [202] * 8
    assert all("most" not in one.told["asked"] for one in again)
    rewritten(tmp_path)
    worked(curator, 8)
    assert len(reasons(curator)) == 8
    assert all("would now cost more" in one for one in reasons(curator))
    assert spent(curator) == pytest.approx(0.5)


def test_a_planted_engine_that_asks_for_no_price_pays_for_what_was_let_pass_as_known(
    curator: Curator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leakcap.release.table.require_within", lambda *_: None)
    assert asks(curator, "ada", "q0").status == 200
    assert later(curator, "ada", "l0", where="age > 0").status == 202
    rewritten(tmp_path)
    worked(curator)
    assert spent(curator) == pytest.approx(0.2)


def test_what_an_amendment_made_dearer_is_refused(curator: Curator, tmp_path: Path) -> None:
    """A person has up to twenty rows under the new policy: an error of 60 costs so much more."""
    sql = {"sql": "SELECT COUNT(*) AS n FROM ward", "error": 60.0}
    told = asks(curator, "ada", "l0", body=sql, headers={"prefer": "respond-async"})
    assert told.status == 202, told.told
    (held,) = counted(curator.store)
    new = tomllib.loads((tmp_path / "policy.toml").read_text())
    new["unit"]["max_rows"] = 20
    curator.engine.call("amend", "ward", "local:olga", {"policy": new, "reason": "more rows"})
    worked(curator)
    assert len(reasons(curator)) == 1
    assert f"more epsilon than the {float(held.epsilon)!r}" in reasons(curator)[0]
    assert spent(curator) == 0.0


def test_a_table_that_changes_between_price_and_payment_of_an_answer_at_once(
    curator: Curator, tmp_path: Path
) -> None:
    """The very moment after it was found known, the table is another one."""
    assert asks(curator, "ada", "q0").status == 200

    class Changing(EngineClient):
        def call(self, operation: str, *given: Any, **more: Any) -> Any:
            told = curator.engine.call(operation, *given, **more)
            if operation == "unpaid":
                rewritten(tmp_path)
            return told

    changing = replace(curator, engine=Changing("", seconds=1.0))
    told = asks(changing, "ada", "s0", where="age > 0")
    assert told.status == 422
    assert "would now cost more epsilon than the 0.0" in told.told["detail"]
    assert spent(curator) == pytest.approx(0.1)


def test_a_request_is_the_same_under_other_terms(curator: Curator) -> None:
    """Queued, done, and asked again when it is known: one job, one answer, and nothing more is counted."""
    first = later(curator, "ada", "q0")
    assert later(curator, "ada", "q0").told["id"] == first.told["id"]
    worked(curator)
    assert later(curator, "ada", "q0").told["id"] == first.told["id"]
    assert asks(curator, "ada", "q0").status == 200
    assert spent(curator) == pytest.approx(0.1)
    assert later(curator, "ada", "q0", where="age > 7").status == 409


def test_what_was_queued_and_never_begun_is_given_back(curator: Curator) -> None:
    """A cancelled job, one whose asker is no analyst any more or was removed; the same key is one place."""
    jobs, store = [later(curator, "ada", f"l{n}").told["id"] for n in range(4)], curator.store
    assert later(curator, "ada", "l0").told["id"] == jobs[0]
    assert len(counted(store)) == 4
    store.jobs.cancel(jobs[0])
    assert len(counted(store)) == 3
    assert later(curator, "ada", "l0").told["state"] == "cancelled"  # asked again: nothing is counted for it
    assert len(counted(store)) == 3
    assert later(curator, "ben", "b0").status == 202
    store.people.remove("local:ben", by="test")
    assert {one.subject for one in counted(store)} == {"local:ada"}
    store.grants.take("local:ada", "analyst", "ward", by="test")
    assert counted(store) == []


def test_a_job_that_a_cap_refuses_is_given_back(tmp_path: Path) -> None:
    found = staffed_with(tmp_path, more=RULE, epsilon=0.15)
    assert [later(found, "ada", f"l{n}").status for n in range(4)] == [202] * 4
    worked(found, 4)
    assert sorted(one.state for one in found.store.jobs.list()) == ["done"] + ["failed"] * 3
    assert len(counted(found.store)) == 1
    found.store.close()


def test_what_was_begun_stays_counted(curator: Curator) -> None:
    """Claimed and lost, claimed and cancelled, refused at a second attempt, answered at once under its key:
    each of them may be spent."""
    store = curator.store
    numbers = [later(curator, "ada", f"l{n}").told["id"] for n in range(4)]
    lost, cancelled, second = (store.jobs.claim("w") for _ in range(3))
    assert lost is not None
    assert cancelled is not None
    assert second is not None
    store.jobs.cancel(cancelled.id)
    store.jobs.requeue_stale(timedelta(seconds=-1))
    again = store.jobs.claim("w")
    assert again is not None
    assert again.attempt == 2
    store.jobs.finish(again, problem={"title": "Refused"}, unspent=True)
    store.jobs.cancel(second.id if again.id == lost.id else lost.id)
    assert asks(curator, "ada", "l3").status == 200
    store.jobs.cancel(numbers[3])
    assert {one.request for one in counted(store)} == {
        request_number("local:ada", "ward", f"l{n}") for n in range(4)
    }
    # Of the one that was answered at once the job's own place is free, and the answer's is not.
    assert len(counted(store)) == 4


def test_a_refusal_after_an_engine_ended_is_not_taken_for_nothing_spent(curator: Curator) -> None:
    """The first process may have spent before it ended: what the second one refuses stays counted."""

    class Ending(EngineClient):
        told: Any = None

        def _told(self, message: Mapping[str, Any]) -> Any:
            if message["operation"] != "release":
                return curator.engine._told(message)
            before, self.told = self.told, {"problem": as_problem(DataError("It is gone."))}
            return before

    ending = replace(curator, engine=Ending("", seconds=1.0))
    assert asks(ending, "ada", "q0").status == 503
    assert len(counted(curator.store)) == 1
    assert asks(ending, "ada", "q1").status == 503  # refused by the first that was asked
    assert len(counted(curator.store)) == 1


def test_a_ledger_that_cannot_be_used_is_not_taken_for_nothing_spent(
    curator: Curator, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It may have been lost in the middle of a commit. Who asks is not told where it is; its owner is."""

    def lost(*_: object, **__: object) -> None:
        raise LedgerUnavailable("The ledger `postgresql+psycopg://ward@db.example/ward` cannot be reached.")

    monkeypatch.setattr(Ledger, "reserve_request", lost)
    told = asks(curator, "ada", "q0")
    assert (told.status, told.told["type"]) == (503, "urn:leakcap:problem:ledger-unavailable")
    assert "db.example" not in str(told.told)
    assert "db.example" in caplog.text
    assert len(counted(curator.store)) == 1
    job = later(curator, "ada", "l0", epsilon=0.1)
    worked(curator)
    ended = curator.store.jobs.find(job.told["id"])
    assert (ended.state, ended.problem["status"]) == ("failed", 503)  # type: ignore[index]
    assert "db.example" not in str(ended.problem)
    assert len(counted(curator.store)) == 2
    monkeypatch.undo()
    assert asks(curator, "ada", "q0").status == 200


def test_a_job_counts_from_when_it_is_claimed(curator: Curator, clock: Hands) -> None:
    clock.now = datetime.now(UTC)
    for part in ("thresholds", "jobs"):
        getattr(curator.store, part)._clock = clock
    assert later(curator, "ada", "l0", epsilon=0.5).status == 202
    clock.pass_(days=20)
    worked(curator)
    clock.pass_(days=20)
    (one,) = counted(curator.store)
    assert one.time == stored_time(clock.now - timedelta(days=20))
    assert later(curator, "ada", "l1", epsilon=0.5).told["state"] == "awaiting approval"


def counted(store: Store) -> list[Any]:
    from leakcap.service.store.schema import UNAPPROVED

    with store._database.reading() as connection:
        return list(connection.execute(UNAPPROVED.select()))


def hold(store: Store, number: str, price: float, **more: Any) -> str | None:
    told: dict[str, Any] = {"prices": {"epsilon": price, "rho": price}, "limits": {"epsilon": 0.5}, **more}
    return store.thresholds.hold(number, "local:ada", "ward", within=DAYS, **told)


def test_several_attempts_at_one_request_count_as_the_dearest(store: Store) -> None:
    """A cheap question under a key opens nothing for a dear one, and whoever fails gives back their own."""
    first = hold(store, "r", 0.1)
    second = hold(store, "r", 0.3)
    assert first is not None
    assert second is not None
    assert hold(store, "r", 0.6) is None
    assert hold(store, "s", 0.3) is None
    store.thresholds.give_back(first)
    assert hold(store, "s", 0.3) is None  # the dearer attempt may yet be paid
    store.thresholds.give_back(second)
    assert hold(store, "s", 0.5) is not None


def test_what_has_no_bound_never_passes(store: Store) -> None:
    assert hold(store, "r", float("inf")) is None
    assert hold(store, "s", 0.5) is not None


def test_other_data_sets_and_other_people_count_apart(store: Store) -> None:
    assert hold(store, "r", 0.5)
    told: dict[str, Any] = {"prices": {"epsilon": 0.5}, "limits": {"epsilon": 0.5}, "within": DAYS}
    assert store.thresholds.hold("a", "local:ada", "stays", **told)
    assert store.thresholds.hold("b", "local:ben", "ward", **told)
    assert store.thresholds.hold("c", "local:cy", "ward", **told, groups=[["local:ada", "local:cy"]]) is None


HEAD = """
import json, sys
from datetime import timedelta
from leakcap.service.store import Store
store, me = Store.open(sys.argv[1]), sys.argv[2]
store.people.list()
print("ready", flush=True)
sys.stdin.readline()
"""
HOLDING = """
told = store.thresholds.hold(
    me, "local:ada", "ward",
    prices={"epsilon": 0.1, "rho": 1.0}, limits={"epsilon": 0.7}, within=timedelta(days=1),
)
print(json.dumps(told is not None), flush=True)
"""
UNLOCKED = """
from sqlalchemy import Select
Select.with_for_update = lambda self, **_: self
"""
RACERS = 32


@pytest.fixture
def race(url: str) -> Iterator[Callable[[str], int]]:
    """How many of 32 processes at the same moment were let pass."""
    processes: list[Warmed] = []

    def run(code: str) -> int:
        ours = [Warmed(HEAD + code, url, str(n)) for n in range(RACERS)]
        processes.extend(ours)
        for one in ours:
            assert one.stdout.readline() == "ready\n", one.error()
        for one in ours:
            one.stdin.write("go\n")
            one.stdin.flush()
        told = [one.communicate(120) for one in ours]
        assert [error for _, error in told] == [""] * RACERS
        return sum(json.loads(out) for out, _ in told)

    yield run
    for one in processes:
        one.close()


def test_of_32_processes_exactly_seven_pass(race: Callable[[str], int], store: Store) -> None:
    assert race(HOLDING) == 7
    assert len(counted(store)) == 7


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_planted_count_without_a_lock_is_seen(race: Callable[[str], int], store: Store) -> None:
    """On PostgreSQL, where a lock is asked for; SQLite has one writer at a time."""
    assert race(UNLOCKED + HOLDING) > 7
