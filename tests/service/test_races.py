"""Processes at one store at once: each job is done by one, each key is one job, each count counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from leakcap.service.store import JobState, Store
from warmed import Warmed

HEAD = """
import json, sys, time
from datetime import timedelta
from argon2 import PasswordHasher
from leakcap.errors import LeakcapError
from leakcap.service.store import Store
quick = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
store, me = Store.open(sys.argv[1], hasher=quick), sys.argv[2]
store.people.list()
print("ready", flush=True)
sys.stdin.readline()
told = []
"""
TAIL = "\nprint(json.dumps(told), flush=True)\n"
CLAIMING = """
while (job := store.jobs.claim(me)) is not None:
    told.append(job.id)
"""
UNLOCKED = """
from sqlalchemy import Select
Select.with_for_update = lambda self, **_: self
"""
Race = Callable[..., list[Any]]


@pytest.fixture
def race(url: str) -> Iterator[Race]:
    """What processes tell that run this code at the same moment."""
    processes: list[Warmed] = []

    def run(code: str, number: int = 4) -> list[Any]:
        ours = [Warmed(HEAD + code + TAIL, url, str(n)) for n in range(number)]
        processes.extend(ours)
        for one in ours:
            assert one.stdout.readline() == "ready\n", one.error()
        for one in ours:
            one.stdin.write("go\n")
            one.stdin.flush()
        told = [one.communicate(120) for one in ours]
        assert [error for _, error in told] == [""] * number
        return [json.loads(out) for out, _ in told]

    yield run
    for one in processes:
        one.close()


@pytest.fixture
def people(store: Store) -> Store:
    for name in ("alice", "ann", "bob", "carl", "dora"):
        store.people.add(f"local:{name}", by="local:root")
        store.grants.give(f"local:{name}", "approver", "ward", by="local:root")
    return store


def test_each_job_is_claimed_by_one(race: Race, people: Store) -> None:
    made = [people.jobs.create("local:alice", "ward", "fit", {}, key=str(n))[0].id for n in range(40)]
    told = race(CLAIMING)
    assert sorted(id_ for one in told for id_ in one) == sorted(made)
    assert {job.state for job in people.jobs.list()} == {JobState.RUNNING}
    assert sum(bool(one) for one in told) > 1, "one process did everything: no race"


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_planted_claim_without_a_lock_is_seen(race: Race, people: Store) -> None:
    """On PostgreSQL, where a lock is asked for; SQLite has one writer at a time."""
    for n in range(40):
        people.jobs.create("local:alice", "ward", "fit", {}, key=str(n))
    assert sum(len(one) for one in race(UNLOCKED + CLAIMING)) > 40


def test_a_key_makes_one_job(race: Race, people: Store) -> None:
    code = """
for n in range(20):
    job, new = store.jobs.create("local:alice", "ward", "fit", {"n": n}, key=f"k{n}")
    told.append([job.id, new])
"""
    told = race(code)
    assert len({id_ for one in told for id_, _ in one}) == 20
    assert sum(new for one in told for _, new in one) == 20
    assert len(people.jobs.list()) == 20


def test_the_last_approval_that_is_needed_is_one(race: Race, people: Store) -> None:
    """Four approvers at once, each on jobs that need three: three are counted, the fourth comes too late."""
    made = (people.jobs.create("local:alice", "ward", "fit", {}, key=str(n), needed=3) for n in range(10))
    jobs = [job.id for job, _ in made]
    code = f"""
name = "local:" + ["ann", "bob", "carl", "dora"][int(me)]
for job in {jobs!r}:
    try:
        told.append(store.decisions.decide(job, name, "approve").state)
    except LeakcapError as error:
        told.append(type(error).__name__)
"""
    told = race(code, 4)
    for number, job in enumerate(jobs):
        found = Counter(one[number] for one in told)
        assert found == {"awaiting approval": 2, "queued": 1, "StateConflict": 1}
        assert len(people.decisions.of(job)) == 3
    assert people.verify_acts().rows == 2 + 10 + 30


@pytest.mark.slow
def test_one_approver_in_many_processes_is_one_approver(race: Race, people: Store) -> None:
    job, _ = people.jobs.create("local:alice", "ward", "fit", {}, key="k", needed=2)
    code = f"""
try:
    told.append(store.decisions.decide({job.id!r}, "local:ann", "approve").state)
except LeakcapError as error:
    told.append(type(error).__name__)
"""
    told = Counter(one for many in race(code) for one in many)
    assert told == {"awaiting approval": 1, "Forbidden": 3}
    assert people.jobs.find(job.id).state is JobState.AWAITING_APPROVAL


@pytest.mark.slow
def test_a_name_is_given_once_and_the_log_holds(race: Race, people: Store) -> None:
    code = """
for n in range(10):
    try:
        store.people.add(f"local:new{n}", by="local:root")
        told.append(n)
    except LeakcapError as error:
        assert type(error).__name__ == "NameTaken", error
    store.tokens.issue("local:ann", lifetime=timedelta(days=1))
"""
    told = race(code)
    assert sorted(n for one in told for n in one) == list(range(10))
    assert people.verify_acts().rows == 2 + 10 + 10 + 40
    assert len(people.tokens.list("local:ann")) == 40


def test_attempts_at_the_same_moment_all_count(race: Race, people: Store) -> None:
    """Five are free; the sixth is counted too, and then one waits."""
    code = """
for _ in range(5):
    try:
        store.attempts.begin("alice", "192.0.2.1")
        told.append("tried")
    except LeakcapError as error:
        told.append(type(error).__name__)
"""
    told = Counter(one for many in race(code) for one in many)
    assert told["TooManyAttempts"] == 20 - told["tried"]
    assert 5 <= told["tried"] <= 7  # a second may pass


GIVING = """
if me == "0":
    time.sleep(0.05)
    store.passwords.give_one_time("local:ann", "a horse for one time", by="local:root")
more = 0 if me == "0" else 3
while more:
    try:
        store.tokens.issue("local:ann", lifetime=timedelta(days=1), session=SESSION)
    except LeakcapError as error:
        told.append(type(error).__name__)
    more -= store.people.find("local:ann").one_time is not None
"""
UNASKED = """
from leakcap.service.store import tokens
tokens._require_live = lambda *_: None
"""


@pytest.mark.parametrize("planted", ["", UNASKED], ids=["as it is", "planted"])
def test_no_token_outlives_the_one_time_password_that_met_its_making(
    race: Race, people: Store, planted: str
) -> None:
    """Two processes make tokens by a session, a third gives its person a one-time password meanwhile."""
    session = people.tokens.issue("local:ann", lifetime=timedelta(hours=1), kind="session").token.id
    told = race(planted + GIVING.replace("SESSION", repr(session)), 3)
    live = [one for one in people.tokens.list("local:ann") if one.revoked is None]
    assert (live != []) == bool(planted)
    assert {one for many in told for one in many} <= {"StateConflict"}
    people.verify_acts()


@pytest.mark.slow
def test_whoever_is_removed_meanwhile_keeps_nothing(race: Race, people: Store) -> None:
    code = """
for n in range(15):
    try:
        if me == "0":
            time.sleep(0.01 * (n == 7))
            if n == 7:
                store.people.remove("local:ann", by="local:root")
        else:
            store.tokens.issue("local:ann", lifetime=timedelta(days=1))
            store.grants.give("local:ann", "analyst", f"d{n}", by="local:root")
            store.jobs.create("local:ann", "ward", "fit", {}, key=f"{me} {n}".replace(" ", "-"))
    except LeakcapError as error:
        told.append(type(error).__name__)
"""
    told = race(code)
    assert {one for many in told for one in many} <= {"NotFound"}
    assert people.grants.of("local:ann") == ()
    assert all(token.revoked is not None for token in people.tokens.list("local:ann"))
    assert {job.state for job in people.jobs.list(subject="local:ann")} <= {JobState.CANCELLED}
    people.verify_acts()
