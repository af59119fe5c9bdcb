"""People: a name is one person's for ever, and nothing that looks like it is anybody's."""

from __future__ import annotations

import contextlib
from datetime import timedelta

import pytest

from leakcap.errors import InvalidParameter
from leakcap.service.store import (
    Forbidden,
    JobState,
    NameTaken,
    NotFound,
    Store,
    local_subject,
    provider_subject,
    require_subject,
)

LOOK_ALIKES = [
    "\u0430lice",  # Cyrillic
    "Alice",
    "ALICE",
    "alice ",
    " alice",
    "alice\u200b",
    "alice\n",
    "al\u0131ce",
    "alice\u0301",
    "\uff41lice",
    "alice\0",
    "",
]


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("name", LOOK_ALIKES, ids=ascii)
def test_a_look_alike_is_nobody(store: Store, name: str) -> None:
    store.people.add("local:alice", by="local:root")
    store.grants.give("local:alice", "analyst", "ward", by="local:root")
    with pytest.raises(InvalidParameter, match="must"):
        local_subject(name)
    with pytest.raises(InvalidParameter, match="must"):
        store.people.add(f"local:{name}", by="local:root")
    with pytest.raises((NotFound, InvalidParameter)):
        store.grants.give(f"local:{name}", "analyst", "ward", by="local:root")
    with pytest.raises((NotFound, InvalidParameter)):
        store.tokens.issue(f"local:{name}", lifetime=timedelta(days=1))
    assert [one.subject for one in store.people.list()] == ["local:alice", "local:root"]
    assert {one.subject for one in store.grants.of_dataset("ward")} == {"local:alice"}


@pytest.mark.parametrize(
    ("sub", "good"),
    [
        ("alice", True),
        ("8f14e45f-ceea-467f", True),
        ("CN=Alice Smith,O=Uni", True),
        ("a" * 200, True),
        ("a" * 201, False),
        *((name, False) for name in LOOK_ALIKES if name not in ("Alice", "ALICE")),
    ],
)
def test_the_sub_of_a_provider_is_printable_ascii(sub: str, good: bool) -> None:
    if good:
        assert require_subject(provider_subject("uni", sub)) == f"uni:{sub}"
    else:
        with pytest.raises(InvalidParameter, match="`sub` of `person` must"):
            provider_subject("uni", sub)


def test_a_provider_is_no_local_account_and_another_provider_another_person(store: Store) -> None:
    with pytest.raises(InvalidParameter, match="not be `local`"):
        provider_subject("local", "alice")
    for subject in ("local:alice", "uni:alice", "office:alice"):
        store.people.add(subject, by="local:root")
    store.grants.give("uni:alice", "analyst", "ward", by="local:root")
    assert store.grants.of("local:alice") == store.grants.of("office:alice") == ()


def test_a_subject_that_differs_in_case_alone_is_not_added(store: Store) -> None:
    store.people.add("uni:Abc", by="local:root")
    with pytest.raises(NameTaken, match=r"`uni:aBC` looks like `uni:Abc`, which is taken"):
        store.people.add("uni:aBC", by="local:root")
    store.people.remove("uni:Abc", by="local:root")
    with pytest.raises(NameTaken, match="looks like"):
        store.people.add("uni:abc", by="local:root")


def test_whoever_was_removed_has_nothing_and_their_name_is_nobodys(store: Store) -> None:
    store.people.add("local:alice", by="local:root")
    store.passwords.set("local:alice", "correct horse battery", by="local:root")
    store.grants.give("local:alice", "analyst", "ward", by="local:root")
    token = store.tokens.issue("local:alice", lifetime=timedelta(days=1)).secret
    job, _ = store.jobs.create("local:alice", "ward", "fit", {}, key="k")
    assert store.passwords.verify("local:alice", "correct horse battery")
    assert store.tokens.find(token) is not None

    store.people.remove("local:alice", by="local:root")

    assert not store.passwords.verify("local:alice", "correct horse battery")
    assert store.tokens.find(token) is None
    assert store.grants.of("local:alice") == ()
    assert store.jobs.find(job.id).state is JobState.CANCELLED
    with pytest.raises(NameTaken, match="was removed, and a name is never given out again"):
        store.people.add("local:alice", by="local:root")
    for again in (
        lambda: store.grants.give("local:alice", "analyst", "ward", by="local:root"),
        lambda: store.passwords.set("local:alice", "correct horse battery", by="local:root"),
        lambda: store.tokens.issue("local:alice", lifetime=timedelta(days=1)),
        lambda: store.jobs.create("local:alice", "ward", "fit", {}, key="l"),
        lambda: store.people.remove("local:alice", by="local:root"),
    ):
        with pytest.raises(NotFound, match="Nobody here is called"):
            again()
    assert [one.subject for one in store.people.list()] == ["local:root"]
    tombstone = store.people.find("local:alice")
    assert tombstone is not None
    assert tombstone.removed is not None
    assert [one.subject for one in store.people.list(removed=True)] == ["local:alice", "local:root"]


@pytest.mark.parametrize("subject", ["local:a\0", "local:\ud800", "x\0", "\ud800"], ids=ascii)
def test_text_that_no_database_holds_is_nobody(store: Store, subject: str) -> None:
    """From an address of the service, as %00: refused or not there, and no failure of the store."""
    for asked in (
        lambda: store.people.find(subject),
        lambda: store.jobs.find(subject),
        lambda: store.grants.of_dataset(subject),
        lambda: store.pauses.of(subject),
        lambda: store.tokens.revoke(subject, subject, by="local:root"),
    ):
        with contextlib.suppress(InvalidParameter, NotFound):
            assert asked() in (None, ())


def test_nobody_gives_themselves_a_role(store: Store) -> None:
    with pytest.raises(Forbidden, match="Nobody gives a role to themselves"):
        store.grants.give("local:root", "analyst", "ward", by="local:root")
    assert {one.role for one in store.grants.of("local:root")} == {"admin"}


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("role", "dataset"), [("admin", "ward"), ("analyst", ""), ("owner", "")])
def test_a_role_is_of_a_data_set_or_of_the_curator(store: Store, role: str, dataset: str) -> None:
    store.people.add("local:alice", by="local:root")
    with pytest.raises(InvalidParameter, match="be left out for `admin`, and be named for every other"):
        store.grants.give("local:alice", role, dataset, by="local:root")


def test_roles_are_given_once_and_taken_once(store: Store) -> None:
    store.people.add("local:alice", by="local:root")
    first = store.grants.give("local:alice", "analyst", "ward", by="local:root")
    assert store.grants.give("local:alice", "analyst", "ward", by="local:other") == first
    job, _ = store.jobs.create("local:alice", "ward", "fit", {}, key="k")
    elsewhere, _ = store.jobs.create("local:alice", "stays", "fit", {}, key="l")
    store.grants.take("local:alice", "analyst", "ward", by="local:root")
    assert store.grants.of("local:alice") == ()
    assert store.jobs.find(job.id).state is JobState.CANCELLED
    assert store.jobs.find(elsewhere.id).state is JobState.QUEUED
    with pytest.raises(NotFound, match="does not have the role"):
        store.grants.take("local:alice", "analyst", "ward", by="local:root")
    with pytest.raises(InvalidParameter, match="`role` of `grant` must be one of owner, analyst, approver, "):
        store.grants.give("local:alice", "king", "ward", by="local:root")
