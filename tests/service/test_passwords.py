"""Passwords: only the right one, in any writing of it; as much work for nobody's name; nothing to read."""

from __future__ import annotations

import pytest
from argon2 import PasswordHasher

from leakcap.errors import InvalidParameter
from leakcap.service.store import NotFound, Store
from leakcap.service.store.passwords import HASHER
from service.conftest import QUICK, Hands

RIGHT = "correct horse battery"


@pytest.fixture
def url(sqlite: str) -> str:
    """What the store itself does is tested on both kinds of database elsewhere."""
    return sqlite


@pytest.fixture
def alice(store: Store) -> str:
    store.people.add("local:alice", by="local:root")
    store.passwords.set("local:alice", RIGHT, by="local:root")
    return "local:alice"


def test_the_right_one_and_no_other(store: Store, alice: str) -> None:
    assert store.passwords.verify(alice, RIGHT)
    for wrong in ("", RIGHT + " ", RIGHT.upper(), RIGHT[:-1], "x" * 100_000, "\0", "\ud800", RIGHT + "\0"):
        assert not store.passwords.verify(alice, wrong), wrong[:40]
    for nobody in ("local:bob", "local:root", "", "local:\N{CYRILLIC SMALL LETTER A}lice"):
        assert not store.passwords.verify(nobody, RIGHT)


def test_two_writings_of_one_letter_are_one(store: Store, alice: str) -> None:
    store.passwords.set(alice, "ein Fl\u00fcgel im Wind", by=alice)
    assert store.passwords.verify(alice, "ein Flu\u0308gel im Wind")


@pytest.mark.parametrize(
    "weak",
    ["short", "x" * 12, "abababababab", "my name is alice!", "a" * 257, "with a null\0 in it", "\ud800" * 20],
)
def test_a_weak_one_is_refused_and_not_repeated(store: Store, alice: str, weak: str) -> None:
    with pytest.raises(InvalidParameter) as refused:
        store.passwords.set(alice, weak, by=alice)
    assert weak not in str(refused.value)
    assert store.passwords.verify(alice, RIGHT)


def test_only_local_accounts_have_one(store: Store) -> None:
    store.people.add("uni:alice", by="local:root")
    with pytest.raises(InvalidParameter, match="signs in at its provider"):
        store.passwords.set("uni:alice", RIGHT, by="local:root")
    with pytest.raises(NotFound):
        store.passwords.set("local:nobody", RIGHT, by="local:root")


def test_a_name_that_nobody_has_takes_the_same_work(
    store: Store, alice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted, not timed: one hash of the same cost each, whoever is asked for."""
    done: list[str] = []
    original = PasswordHasher.verify

    def counted(self: PasswordHasher, stored: str, given: str) -> bool:
        done.append(stored.rpartition("$")[0].rpartition("$")[0])
        return original(self, stored, given)

    monkeypatch.setattr(PasswordHasher, "verify", counted)
    for subject, password in ((alice, RIGHT), (alice, "wrong"), ("local:nobody", "wrong"), ("", "x" * 5000)):
        store.passwords.verify(subject, password)
    assert len(done) == 4
    assert len(set(done)) == 1


def test_what_is_kept_is_argon2id_at_the_cost_of_the_rfc() -> None:
    assert HASHER.hash(RIGHT).startswith("$argon2id$v=19$m=65536,t=3,p=4$")


def test_a_cheaper_hash_is_made_anew_when_the_password_is_seen(store: Store, alice: str) -> None:
    store.passwords._hasher = dearer = PasswordHasher(time_cost=2, memory_cost=16, parallelism=1)
    assert store.passwords.verify(alice, RIGHT)
    store.passwords._hasher = QUICK
    assert QUICK.check_needs_rehash(_stored(store, alice))
    assert not dearer.check_needs_rehash(_stored(store, alice))
    assert store.passwords.verify(alice, RIGHT)


def _stored(store: Store, subject: str) -> str:
    from leakcap.service.store.schema import PEOPLE

    with store._database.reading() as connection:
        found = connection.execute(PEOPLE.select().where(PEOPLE.c.subject == subject)).one()
        return str(found.password)


def test_a_new_password_ends_the_sessions(store: Store, alice: str, clock: Hands) -> None:
    from datetime import timedelta

    session = store.tokens.issue(alice, lifetime=timedelta(hours=1), kind="session").secret
    token = store.tokens.issue(alice, lifetime=timedelta(hours=1)).secret
    store.passwords.set(alice, "another horse battery", by=alice)
    assert store.tokens.find(session) is None
    assert store.tokens.find(token) is not None
