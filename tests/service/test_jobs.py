"""Jobs: one for a key, done by one process at a time, taken up again when that fell silent."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from leakcap.errors import InvalidParameter
from leakcap.service.store import Job, JobState, KeyReused, NotFound, StateConflict, Store, TooManyJobs
from service.conftest import Hands

SILENT = timedelta(seconds=30)


@pytest.fixture
def alice(store: Store) -> str:
    for name in ("alice", "ann", "bob"):
        store.people.add(f"local:{name}", by="local:root")
    for name in ("ann", "bob"):
        store.grants.give(f"local:{name}", "approver", "ward", by="local:root")
    return "local:alice"


def queued(store: Store, subject: str, key: str = "k", dataset: str = "ward") -> Job:
    return store.jobs.create(subject, dataset, "fit", {"epsilon": 0.5}, key=key)[0]


def claimed(store: Store, worker: str = "w") -> Job:
    found = store.jobs.claim(worker)
    assert found is not None
    return found


def test_the_same_key_is_the_same_job(store: Store, alice: str) -> None:
    first, new = store.jobs.create(alice, "ward", "fit", {"a": 1, "b": [2]}, key="k")
    again, newer = store.jobs.create(alice, "ward", "fit", {"b": [2], "a": 1}, key="k")
    assert (first, new, newer) == (again, True, False)
    store.people.add("local:carl", by="local:root")
    other, _ = store.jobs.create("local:carl", "ward", "fit", {"a": 1, "b": [2]}, key="k")
    assert other.id != first.id
    for dataset, kind, body in (
        ("stays", "fit", first.body),
        ("ward", "table", first.body),
        ("ward", "fit", {}),
    ):
        with pytest.raises(KeyReused, match="came with another request before"):
            store.jobs.create(alice, dataset, kind, body, key="k")
    assert len(store.jobs.list(subject=alice)) == 1


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("key", ["", "x" * 129, "a b", "ä", "a\n", "\0"], ids=ascii)
def test_a_key_is_printable_ascii(store: Store, alice: str, key: str) -> None:
    with pytest.raises(InvalidParameter, match="be 1 to 128 printable ASCII characters"):
        queued(store, alice, key)


def test_first_come_first_served_and_each_once(store: Store, alice: str, clock: Hands) -> None:
    one, other = queued(store, alice, "1"), queued(store, alice, "2")
    clock.pass_(seconds=1)
    first, second = claimed(store, "v"), claimed(store, "w")
    assert (first.id, second.id, store.jobs.claim("x")) == (one.id, other.id, None)
    assert (first.state, first.claimed_by, first.attempt, first.heartbeat) == ("running", "v", 1, clock.now)
    assert store.jobs.heartbeat(first, "half of it")
    assert store.jobs.find(one.id).progress == "half of it"
    done = store.jobs.finish(first, result=[7, 8])
    assert (done.state, done.result, done.problem, done.progress) == (JobState.DONE, (7, 8), None, "")
    failed = store.jobs.finish(second, problem={"title": "Too much"})
    assert (failed.state, failed.result, failed.problem) == (JobState.FAILED, None, {"title": "Too much"})
    with pytest.raises(StateConflict):
        store.jobs.finish(first, result=[9])
    with pytest.raises(InvalidParameter, match="or else a problem"):
        store.jobs.finish(first)


def test_people_take_turns(store: Store, alice: str, clock: Hands) -> None:
    """Ada's second waits for Ben's first, which came later; after an hour turns count no longer."""
    store.people.add("local:ben", by="local:root")
    for key in ("1", "2", "3"):
        queued(store, alice, key)
    assert claimed(store).key == "1"
    queued(store, "local:ben", "b1")
    queued(store, "local:ben", "b2")
    clock.pass_(seconds=1)
    assert [claimed(store).key for _ in range(3)] == ["b1", "2", "b2"]
    queued(store, "local:ben", "b3")
    clock.pass_(hours=2)
    assert [claimed(store).key for _ in range(2)] == ["3", "b3"]


def test_of_many_at_once_no_more_are_made_than_are_allowed(store: Store, alice: str) -> None:
    def make(n: int) -> str:
        try:
            return store.jobs.create(alice, "ward", "fit", {}, key=str(n), most=3)[0].key
        except TooManyJobs as error:
            return str(error)

    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(make, range(12)))
    assert sum(one.isdigit() for one in told) == len(store.jobs.list()) == 3
    assert {one for one in told if not one.isdigit()} == {
        "As many of your jobs are queued or running as one person may have, 3. Wait for one of them, or "
        "cancel one. Nothing was spent."
    }
    first = claimed(store)
    assert make(20).startswith("As many of your jobs")  # what runs counts
    store.jobs.finish(first, result=[1])
    assert make(21) == "21"
    assert store.jobs.create(alice, "ward", "fit", {}, key="a", needed=1, most=1)[0].needed == 1
    with pytest.raises(TooManyJobs, match="As many of your jobs wait for approval as one person may have, 1"):
        store.jobs.create(alice, "ward", "fit", {}, key="b", needed=1, most=1)


def test_a_silent_process_loses_its_job_to_another(store: Store, alice: str, clock: Hands) -> None:
    queued(store, alice)
    first = claimed(store)
    clock.pass_(seconds=29)
    assert store.jobs.requeue_stale(SILENT) == 0
    assert store.jobs.heartbeat(first)
    clock.pass_(seconds=31)
    assert store.jobs.requeue_stale(SILENT) == 1
    second = claimed(store)  # under the same name: what counts is the attempt
    assert not store.jobs.heartbeat(first, "late")
    with pytest.raises(StateConflict, match="no longer this process's"):
        store.jobs.finish(first, result=[1])
    assert store.jobs.finish(second, result=[2]).result == (2,)


def test_a_job_that_ends_its_process_three_times_fails(store: Store, alice: str, clock: Hands) -> None:
    job = queued(store, alice)
    for attempt in (1, 2, 3):
        assert claimed(store).attempt == attempt
        clock.pass_(seconds=31)
        store.jobs.requeue_stale(SILENT)
    found = store.jobs.find(job.id)
    assert found.state is JobState.FAILED
    assert found.problem == {"title": "Job failed", "detail": "Its process ended three times."}
    assert store.jobs.claim("w") is None


def test_a_cancelled_job_is_nobodys(store: Store, alice: str) -> None:
    waiting, running = queued(store, alice, "1"), queued(store, alice, "2")
    assert store.jobs.cancel(waiting.id).state is JobState.CANCELLED
    taken = claimed(store)
    assert taken.id == running.id
    store.jobs.cancel(running.id)
    assert not store.jobs.heartbeat(taken)
    with pytest.raises(StateConflict):
        store.jobs.finish(taken, result=[1])
    with pytest.raises(StateConflict, match="is cancelled, and can no longer be cancelled"):
        store.jobs.cancel(running.id)
    for missing in ("", "nonsense"):
        with pytest.raises(NotFound, match="There is no such job"):
            store.jobs.cancel(missing)
        with pytest.raises(NotFound, match="There is no such job"):
            store.jobs.find(missing)


def test_jobs_of_a_paused_data_set_wait(store: Store, alice: str) -> None:
    queued(store, alice, "1", "stays")
    ward = queued(store, alice, "2")
    store.pauses.pause("stays", by="local:root", reason="A record was withdrawn.")
    assert claimed(store).id == ward.id
    assert store.jobs.claim("w") is None
    with pytest.raises(StateConflict, match="`stays` is paused"):
        store.pauses.pause("stays", by="local:root", reason="Again.")
    assert [pause.dataset for pause in store.pauses.list()] == ["stays"]
    store.pauses.resume("stays", by="local:root")
    assert store.pauses.of("stays") is None
    assert claimed(store).dataset == "stays"
    with pytest.raises(StateConflict, match="`stays` is not paused"):
        store.pauses.resume("stays", by="local:root")
    with pytest.raises(InvalidParameter, match="must say why"):
        store.pauses.pause("stays", by="local:root", reason=" ")


def test_lists_are_of_whom_and_what_was_asked(store: Store, alice: str) -> None:
    made = [queued(store, alice, str(n), "ward" if n % 2 else "stays").id for n in range(6)]
    assert [job.id for job in store.jobs.list()] == made[::-1]
    assert [job.id for job in store.jobs.list(dataset="ward", most=2)] == [made[5], made[3]]
    claimed(store)
    assert [job.id for job in store.jobs.list(state=JobState.RUNNING)] == [made[0]]
    assert store.jobs.list(subject="local:ann") == ()
