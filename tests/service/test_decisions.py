"""Approvals: so many different approvers, none of them who asked, and one refusal is enough."""

from __future__ import annotations

import pytest

from leakcap.errors import InvalidParameter
from leakcap.service.store import Forbidden, Job, JobState, NotFound, StateConflict, Store

NAMES = ("alice", "ann", "bob", "carl")


@pytest.fixture
def job(store: Store) -> Job:
    """Asked for by alice, who is an approver too, as ann, bob and carl are; it needs two."""
    for name in NAMES:
        store.people.add(f"local:{name}", by="local:root")
        store.grants.give(f"local:{name}", "approver", "ward", by="local:root")
    found, _ = store.jobs.create("local:alice", "ward", "fit", {}, key="k", needed=2)
    assert found.state is JobState.AWAITING_APPROVAL
    return found


def test_two_different_approvers_let_it_run(store: Store, job: Job) -> None:
    assert store.jobs.claim("w") is None
    assert store.decisions.decide(job.id, "local:ann", "approve").state is JobState.AWAITING_APPROVAL
    assert store.jobs.claim("w") is None
    assert store.decisions.decide(job.id, "local:bob", "approve", "Fine.").state is JobState.QUEUED
    said = [(one.subject, one.verdict, one.reason) for one in store.decisions.of(job.id)]
    assert sorted(said) == [("local:ann", "approve", ""), ("local:bob", "approve", "Fine.")]
    with pytest.raises(StateConflict, match="is queued, and waits for no decision"):
        store.decisions.decide(job.id, "local:carl", "refuse", "Too late.")
    claimed = store.jobs.claim("w")
    assert claimed is not None
    assert claimed.id == job.id


def test_who_asked_does_not_decide(store: Store, job: Job) -> None:
    for verdict in ("approve", "refuse"):
        with pytest.raises(Forbidden, match="Nobody decides on what they asked for themselves"):
            store.decisions.decide(job.id, "local:alice", verdict, "Mine.")
    assert store.decisions.of(job.id) == ()


def test_nobody_decides_twice(store: Store, job: Job) -> None:
    store.decisions.decide(job.id, "local:ann", "approve")
    for verdict in ("approve", "refuse"):
        with pytest.raises(Forbidden, match="You have decided on job"):
            store.decisions.decide(job.id, "local:ann", verdict, "Again.")
    assert store.jobs.find(job.id).state is JobState.AWAITING_APPROVAL


def test_one_refusal_is_enough_and_says_why(store: Store, job: Job) -> None:
    store.decisions.decide(job.id, "local:ann", "approve")
    with pytest.raises(InvalidParameter, match="must say why"):
        store.decisions.decide(job.id, "local:bob", "refuse")
    refused = store.decisions.decide(job.id, "local:bob", "refuse", "Small groups.")
    assert refused.state is JobState.REFUSED
    assert refused.problem == {"title": "Refused by an approver", "detail": "Small groups."}
    with pytest.raises(StateConflict):
        store.decisions.decide(job.id, "local:carl", "approve")


@pytest.mark.parametrize("who", ["local:root", "local:nobody", "local:dora", "local:eve"])
def test_only_approvers_of_this_data_set_decide(store: Store, job: Job, who: str) -> None:
    store.people.add("local:dora", by="local:root")
    store.grants.give("local:dora", "approver", "stays", by="local:root")
    store.people.add("local:eve", by="local:root")
    store.grants.give("local:eve", "owner", "ward", by="local:root")
    with pytest.raises(Forbidden, match="Only an approver of the data set decides"):
        store.decisions.decide(job.id, who, "approve")


def test_an_approval_of_somebody_who_is_no_longer_an_approver_does_not_count(store: Store, job: Job) -> None:
    store.decisions.decide(job.id, "local:ann", "approve")
    store.people.remove("local:ann", by="local:root")
    assert store.decisions.decide(job.id, "local:bob", "approve").state is JobState.AWAITING_APPROVAL
    assert store.decisions.decide(job.id, "local:carl", "approve").state is JobState.QUEUED


def test_other_verdicts_and_jobs_are_refused(store: Store, job: Job) -> None:
    with pytest.raises(InvalidParameter, match="be `approve` or `refuse`"):
        store.decisions.decide(job.id, "local:ann", "Approve")
    with pytest.raises(NotFound):
        store.decisions.decide("nonsense", "local:ann", "approve")
