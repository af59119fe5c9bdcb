"""The log of acts: whoever changes, removes or adds one is found out."""

from __future__ import annotations

from datetime import timedelta

import pytest

from leakcap.ledger.chain import fingerprint
from leakcap.service.store import Store, StoreError
from service.test_store import execute


@pytest.fixture
def url(sqlite: str) -> str:
    """What the store itself does is tested on both kinds of database elsewhere."""
    return sqlite


@pytest.fixture
def busy(store: Store) -> Store:
    """A store in which each kind of act was done."""
    store.people.add("local:alice", by="local:root", display="Alice")
    store.people.add("local:ann", by="local:root")
    store.passwords.set("local:alice", "correct horse battery", by="local:alice")
    store.grants.give("local:alice", "analyst", "ward", by="local:root")
    store.grants.give("local:ann", "approver", "ward", by="local:root")
    token = store.tokens.issue("local:alice", lifetime=timedelta(days=1), label="laptop").token
    store.tokens.issue("local:alice", lifetime=timedelta(hours=1), kind="session")
    job, _ = store.jobs.create("local:alice", "ward", "fit", {}, key="k", needed=1)
    store.decisions.decide(job.id, "local:ann", "refuse", "Small groups.")
    store.pauses.pause("ward", by="local:root", reason="A record was withdrawn.")
    store.pauses.resume("ward", by="local:root")
    store.tokens.revoke("local:alice", token.id, by="local:alice")
    store.grants.take("local:alice", "analyst", "ward", by="local:root")
    store.people.remove("local:alice", by="local:root")
    return store


def test_each_act_is_there_with_who_did_it(busy: Store) -> None:
    told = [(act.act, act.by, act.subject, act.dataset) for act in busy.acts.all()]
    root, alice, ann = "local:root", "local:alice", "local:ann"
    assert told == [
        ("add person", "curator", root, ""),
        ("give role", "curator", root, ""),
        ("add person", root, alice, ""),
        ("add person", root, ann, ""),
        ("set password", alice, alice, ""),
        ("give role", root, alice, "ward"),
        ("give role", root, ann, "ward"),
        ("issue token", alice, alice, ""),
        ("refuse", ann, alice, "ward"),
        ("pause", root, "", "ward"),
        ("resume", root, "", "ward"),
        ("revoke token", alice, alice, ""),
        ("take role", root, alice, "ward"),
        ("remove person", root, alice, ""),
    ]
    assert [act.act for act in busy.acts.all(dataset="ward", after=7, most=2)] == ["refuse", "pause"]
    verified = busy.verify_acts()
    assert (verified.rows, verified.head) == (14, busy.acts.all()[-1].hash)


@pytest.mark.parametrize(
    ("edit", "first"),
    [
        ("UPDATE curator_acts SET by = 'local:ann' WHERE seq = 6", "Act 6 "),
        ("UPDATE curator_acts SET details = '{}' WHERE seq = 9", "Act 9 "),
        ("UPDATE curator_acts SET time = '2026-01-01T00:00:00.000000Z' WHERE seq = 1", "Act 1 "),
        ("DELETE FROM curator_acts WHERE seq = 5", "Act 5 "),
        ("DELETE FROM curator_acts WHERE seq = 14", "has 13 acts, and its head"),
        ("DELETE FROM curator_acts", "has 0 acts, and its head"),
        ("UPDATE curator_acts SET seq = 15 WHERE seq = 14", "Act 14 "),
        (
            "INSERT INTO curator_acts SELECT 15, format, time, by, act, subject, dataset, details, previous, "
            "hash FROM curator_acts WHERE seq = 14",
            "Act 15 ",
        ),
        ("UPDATE curator_head SET hash = '0'", "has 14 acts, and its head"),
        ("DELETE FROM curator_head", "has 14 acts, and its head"),
    ],
)
def test_a_planted_edit_is_found(busy: Store, url: str, edit: str, first: str) -> None:
    busy.close()
    execute(url, edit)
    with pytest.raises(StoreError, match=first):
        busy.verify_acts()


def test_a_row_hashed_anew_breaks_the_next(busy: Store, url: str) -> None:
    acts = busy.acts.all()
    fields = {
        "seq": 6, "format": 1, "time": "2026-11-27T09:00:00.000000Z", "by": "local:root", "act": "give role",
        "subject": "local:alice", "dataset": "ward", "details": '{"role":"owner"}', "previous": acts[4].hash,
    }  # fmt: skip
    assert fingerprint({**fields, "details": '{"role":"analyst"}'}) == acts[5].hash  # what is hashed is this
    anew = fingerprint(fields)
    busy.close()
    execute(
        url, f"UPDATE curator_acts SET details = '{{\"role\"\\:\"owner\"}}', hash = '{anew}' WHERE seq = 6"
    )
    with pytest.raises(StoreError, match="Act 7 "):
        busy.verify_acts()


def test_no_secret_stands_in_it(busy: Store) -> None:
    told = str(busy.acts.all())
    assert "horse" not in told
    assert "argon2" not in told
