"""Tokens: shown once, kept as a hash, and of use only to whom, for what and for as long as they were made."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from leakcap.errors import InvalidParameter
from leakcap.service.store import Issued, NotFound, Store, TokenScope
from service.conftest import Hands

DAY = timedelta(days=1)


@pytest.fixture
def url(sqlite: str) -> str:
    """What the store itself does is tested on both kinds of database elsewhere."""
    return sqlite


@pytest.fixture
def alice(store: Store) -> str:
    store.people.add("local:alice", by="local:root")
    return "local:alice"


def test_a_token_is_found_with_what_it_was_narrowed_to(store: Store, alice: str) -> None:
    made = store.tokens.issue(
        alice, lifetime=DAY, label="laptop", scopes=["ask", "read"], datasets=["ward"], agent=True
    )
    told = store.tokens.find(made.secret)
    assert told is not None
    assert told == (made.token, False, made.token.created)
    found = told.token
    assert (found.scopes, found.datasets, found.agent) == ({TokenScope.ASK, TokenScope.READ}, {"ward"}, True)
    assert made.secret.startswith(f"lkc_{found.id}_")
    assert len(made.secret.rpartition("_")[2]) <= 43


def test_nothing_but_the_whole_secret_finds_it(store: Store, alice: str) -> None:
    one, other = (store.tokens.issue(alice, lifetime=DAY) for _ in range(2))
    head, tail = one.secret[:21], one.secret[21:]
    swapped = head + other.secret[21:]
    flipped = one.secret[:-1] + ("A" if one.secret[-1] != "A" else "B")
    hashed = head + "0" * 43
    cut = (one.secret[:-1], one.secret + "A", one.secret.upper(), " " + one.secret, one.secret + "\n", tail)
    for wrong in (swapped, flipped, hashed, *cut, head, "", "lkc_", "lkc_0_0", one.token.id, "é" * 64):
        assert store.tokens.find(wrong) is None, wrong


def test_it_ends_by_itself(store: Store, alice: str, clock: Hands) -> None:
    made = store.tokens.issue(alice, lifetime=DAY)
    clock.pass_(hours=23, minutes=59)
    assert store.tokens.find(made.secret) is not None
    clock.pass_(minutes=1)
    assert store.tokens.find(made.secret) is None
    assert store.tokens.find(made.secret, clock.now - timedelta(minutes=1)) is not None


def test_it_is_revoked_by_whose_it_is_and_at_once(store: Store, alice: str) -> None:
    made = store.tokens.issue(alice, lifetime=DAY)
    with pytest.raises(NotFound):
        store.tokens.revoke("local:root", made.token.id, by="local:root")
    assert store.tokens.find(made.secret) is not None
    store.tokens.revoke(alice, made.token.id, by=alice)
    assert store.tokens.find(made.secret) is None
    with pytest.raises(NotFound):
        store.tokens.revoke(alice, made.token.id, by=alice)
    assert [one.revoked is not None for one in store.tokens.list(alice)] == [True]


def test_signing_out_ends_a_session_and_no_token(store: Store, alice: str) -> None:
    session = store.tokens.issue(alice, lifetime=timedelta(hours=1), kind="session").secret
    token = store.tokens.issue(alice, lifetime=DAY).secret
    for presented in (session, token, "lkc_nonsense"):
        store.tokens.end(presented)
    assert store.tokens.find(session) is None
    assert store.tokens.find(token) is not None


def test_the_day_of_the_last_use_is_known(store: Store, alice: str, clock: Hands) -> None:
    made = store.tokens.issue(alice, lifetime=DAY * 9)
    assert [one.last_used for one in store.tokens.list(alice)] == [None]
    store.tokens.find(made.secret)
    clock.pass_(days=2)
    store.tokens.find(made.secret)
    assert [one.last_used for one in store.tokens.list(alice)] == ["2026-11-29"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"lifetime": timedelta(0)}, "be positive and at most 366 days"),
        ({"lifetime": timedelta(days=367)}, "be positive and at most 366 days"),
        ({"lifetime": timedelta(hours=25), "kind": "session"}, "be positive and at most 1 days"),
        ({"lifetime": DAY, "scopes": ["all"]}, "be some of read, ask, approve, audit, own"),
        ({"lifetime": DAY, "kind": "key"}, "be `token` or `session`"),
        ({"lifetime": DAY, "label": "a\nb"}, "be one line"),
    ],
)
def test_bad_wishes_are_refused(store: Store, alice: str, asked: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        store.tokens.issue(alice, **asked)  # type: ignore[arg-type]


def test_the_secret_is_in_no_file_and_no_repr(store: Store, alice: str, tmp_path: Path) -> None:
    made: Issued = store.tokens.issue(alice, lifetime=DAY)
    secret = made.secret[21:]
    assert secret not in repr(made) + str(store.acts.all())
    store.close()
    files = [path.read_bytes() for path in tmp_path.iterdir()]
    assert all(secret.encode() not in one for one in files)
    assert any(made.token.id.encode() in one for one in files)  # the search would find it


def test_old_sessions_are_forgotten_and_tokens_are_not(store: Store, alice: str, clock: Hands) -> None:
    store.tokens.issue(alice, lifetime=timedelta(hours=1), kind="session")
    store.tokens.issue(alice, lifetime=timedelta(hours=1))
    clock.pass_(days=2)
    assert store.tokens.forget(clock.now - DAY) == 1
    assert store.tokens.list(alice, kind="session") == ()
    assert len(store.tokens.list(alice)) == 1
