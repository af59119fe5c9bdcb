"""What a question is let in by is looked up in one statement, and is what the books find one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import Engine, event

from leakcap.service.store import Pause, Store, StoreError, database
from leakcap.service.store.grants import Grant
from leakcap.service.store.tokens import SESSION, FoundToken
from service.conftest import Hands

Found = tuple[FoundToken | None, tuple[Grant, ...], Pause | None]
DAY = timedelta(days=1)


@contextmanager
def statements() -> Iterator[list[str]]:
    """What any store is asked meanwhile, but for where a transaction begins."""
    seen: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement != "BEGIN":
            seen.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def found(store: Store, secret: str, dataset: str) -> Found:
    """What a request for a release asks its store."""
    token = store.tokens.find(secret)
    subject = token.token.subject if token is not None else "local:nobody"
    return token, store.grants.of(subject), store.pauses.of(dataset)


@pytest.fixture
def people(store: Store, clock: Hands) -> dict[str, str]:
    """Everybody's secret: with several roles, one, none; an agent; narrowed; removed, revoked, expired."""
    secrets: dict[str, str] = {}
    for name in ("alice", "bob", "carol", "robot", "gone"):
        store.people.add(f"local:{name}", by="local:root", agent=name == "robot")
    for name, dataset, role in (
        ("alice", "ward", "analyst"), ("alice", "clinic", "owner"), ("alice", "ward", "auditor"),
        ("bob", "clinic", "analyst"), ("robot", "ward", "analyst"), ("gone", "ward", "analyst"),
    ):  # fmt: skip
        store.grants.give(f"local:{name}", role, dataset, by="local:root")
    store.grants.give("local:bob", "admin", by="local:root")

    def issue(name: str, who: str, **more: Any) -> str:
        issued = store.tokens.issue(f"local:{who}", **{"lifetime": DAY, **more})
        secrets[name] = issued.secret
        return issued.token.id

    for name in ("alice", "bob", "carol", "robot", "gone"):
        issue(name, name)
    issue("narrowed", "alice", scopes=["ask"], datasets=["ward"], agent=True)
    issue("session", "alice", kind=SESSION, vouched=True)
    issue("expired", "alice", lifetime=timedelta(seconds=1))
    store.tokens.revoke("local:alice", issue("revoked", "alice"), by="local:alice")
    store.people.remove("local:gone", by="local:root")
    secrets |= {
        "wrong": secrets["alice"][:-1] + ("A" if secrets["alice"][-1] != "A" else "B"),
        "unknown": "lkc_" + "0" * 16 + "_" + "x" * 43,
        "malformed": "lkc_x",
        "empty": "",
    }
    store.pauses.pause("ward", by="local:root", reason="a repair")
    clock.pass_(minutes=1)
    return secrets


@pytest.mark.parametrize("dataset", ["ward", "clinic", "nowhere"])
def test_it_is_what_the_books_find(store: Store, people: dict[str, str], dataset: str) -> None:
    for name, secret in people.items():
        found(store, secret, dataset)  # notes the day of the token's last use
        alone = found(store, secret, dataset)
        with store.foreseeing(secret, dataset):
            assert found(store, secret, dataset) == alone, name
    assert found(store, people["alice"], "ward")[2] is not None
    assert len(found(store, people["alice"], "ward")[1]) == 3
    for name in ("expired", "revoked", "gone", "wrong", "unknown", "malformed", "empty"):
        with store.foreseeing(people[name], dataset):
            assert store.tokens.find(people[name]) is None, name


def test_it_takes_one_statement(store: Store, people: dict[str, str]) -> None:
    found(store, people["alice"], "ward")
    with statements() as alone:
        found(store, people["alice"], "ward")
    with statements() as asked, store.foreseeing(people["alice"], "ward"):
        found(store, people["alice"], "ward")
    assert len(asked) == 1 < len(alone)


def test_another_data_set_token_or_person_is_looked_up(store: Store, people: dict[str, str]) -> None:
    store.grants.take("local:alice", "owner", "clinic", by="local:root")
    found(store, people["bob"], "clinic")
    with store.foreseeing(people["alice"], "ward"):
        assert found(store, people["bob"], "clinic")[0] is not None
        assert {one.dataset for one in store.grants.of("local:bob")} == {"clinic", ""}
        assert store.pauses.of("clinic") is None


def test_what_changes_is_known_from_the_next_moment_on(store: Store, people: dict[str, str]) -> None:
    secret = people["alice"]
    with store.foreseeing(secret, "ward"):
        store.pauses.resume("ward", by="local:root")  # whoever writes reads anew
        assert store.pauses.of("ward") is None
    with store.foreseeing(secret, "ward"):
        token = store.tokens.find(secret)
        assert token is not None
        store.forget_foreseen()
        store.tokens.revoke("local:alice", token.token.id, by="local:alice")
        assert store.tokens.find(secret) is None
    store.grants.take("local:bob", "analyst", "clinic", by="local:root")
    with store.foreseeing(people["bob"], "clinic"):
        assert {one.dataset for one in store.grants.of("local:bob")} == {""}


def test_what_one_thread_foresees_no_other_one_has(store: Store, people: dict[str, str]) -> None:
    with store.foreseeing(people["alice"], "ward"):
        store_of_others = ThreadPoolExecutor(1)
        with statements() as asked:
            store_of_others.submit(found, store, people["alice"], "ward").result()
        store_of_others.shutdown()
    assert len(asked) > 1


def test_a_process_opens_no_more_connections_than_it_keeps(
    url: str, opened: Callable[[str], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server begins a process for each connection: those that came and went with each burst of requests
    took a third of all time."""
    for name in ("_TO_A_SERVER", "_TO_A_FILE"):
        monkeypatch.setattr(database, name, 3)
    made: list[object] = []
    store = opened(url)
    event.listen(store._database._engine.pool, "connect", lambda *given: made.append(given))
    together = Barrier(16)

    def asked(_: int) -> object:
        together.wait()
        return [store.grants.of("local:root") for _ in range(5)]

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(asked, range(64)))
    assert len(made) <= 3


def test_who_waits_too_long_for_a_connection_is_told_so(
    url: str, opened: Callable[[str], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.05)
    store = opened(url)
    with (
        store._database.reading(),
        pytest.raises(StoreError, match=r"is busy: all connections to it were taken"),
    ):
        store.grants.of("local:root")
