"""The store: made once, readable by its owner alone, of one schema, and found again by another process."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from leakcap.service.store import Store, StoreError
from warmed import done_warmed

Open = Callable[[str], Store]


def execute(url: str, *statements: str) -> None:
    """What someone with the database can do."""
    engine = create_engine(url)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def test_what_one_writes_another_reads(opened: Open, url: str) -> None:
    opened(url).people.add("local:alice", by="curator")
    assert [person.subject for person in opened(url).people.list()] == ["local:alice"]


def test_another_schema_is_refused_by_name(opened: Open, url: str) -> None:
    opened(url).close()
    execute(url, "UPDATE curator_schema SET version = 5")
    with pytest.raises(StoreError, match=r"has schema 5, this leakcap reads 4\. A newer leakcap wrote it"):
        opened(url)
    execute(url, "UPDATE curator_schema SET version = 1")
    with pytest.raises(StoreError, match=r"has schema 1, .* before the first release: begin a new one"):
        opened(url)
    execute(url, "DELETE FROM curator_schema")
    with pytest.raises(StoreError, match="does not say which schema it has"):
        opened(url)


def test_a_database_of_something_else_is_refused_and_left_alone(
    opened: Open, url: str, tmp_path: Path
) -> None:
    if url.startswith("sqlite"):
        (tmp_path / "store.db").touch(0o600)
    execute(url, "CREATE TABLE leakcap_event (seq INTEGER)")
    with pytest.raises(StoreError, match=r"already holds other tables \(`leakcap_event`\)"):
        opened(url)
    execute(url, "DROP TABLE leakcap_event")
    opened(url)


def test_without_create_nothing_is_made(url: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="There is no store in"):
        Store.open(url, create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_others_may_read_is_refused(opened: Open, tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    opened(f"sqlite:///{file}").people.add("local:alice", by="curator")
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    file.chmod(0o640)
    with pytest.raises(StoreError, match=r"may be opened by others \(mode 0640\).*chmod 600"):
        opened(f"sqlite:///{file}")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqlite://", "in memory"),
        ("sqlite:///x.db?mode=ro", "nothing else"),
        ("mysql://host/x", "cannot live in `mysql`"),
        ("nonsense", "cannot be read"),
        ("sqlite:////no/such/folder/store.db", "cannot be opened. Check that its directory"),
    ],
)
def test_bad_urls_are_refused(url: str, said: str) -> None:
    with pytest.raises(StoreError, match=said):
        Store.open(url)


def test_no_message_repeats_a_password() -> None:
    with pytest.raises(StoreError) as found:
        Store.open("postgresql+psycopg://ann:sesame@127.0.0.1:1/none")
    assert "sesame" not in str(found.value)
    assert found.value.__suppress_context__


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    file.write_bytes(b"nothing of the kind" * 300)
    file.chmod(0o600)
    with pytest.raises(StoreError, match="not an SQLite file"):
        Store.open(f"sqlite:///{file}")


def test_what_fails_half_way_leaves_no_trace(store: Store, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("the disk is full")

    monkeypatch.setattr("leakcap.service.store.people.append_act", broken)
    with pytest.raises(StoreError, match="disk is full"):
        store.people.add("local:alice", by="local:root")
    assert store.people.find("local:alice") is None


def test_many_threads_share_one_store(store: Store) -> None:
    store.people.add("local:alice", by="local:root")
    made = store.tokens.issue("local:alice", lifetime=timedelta(days=1)).secret

    def asked(number: int) -> tuple[bool, str]:
        job, _ = store.jobs.create("local:alice", "ward", "fit", {}, key=str(number % 8))
        return store.tokens.find(made) is not None, job.id

    with ThreadPoolExecutor(32) as threads:
        told = list(threads.map(asked, range(64)))
    assert all(found for found, _ in told)
    assert len({job for _, job in told}) == 8


FORKED = """
import os, sys
from leakcap.service.store import Store
store = Store.open(sys.argv[1])
store.people.add("local:parent", by="curator")
child = os.fork()
store.people.add(f"local:{'child' if child == 0 else 'after'}", by="curator")
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
store.people.add("local:last", by="curator")
"""


def test_a_store_goes_on_after_a_fork_on_both_sides(opened: Open, url: str) -> None:
    done = done_warmed(FORKED, url)
    assert (done.returncode, done.stderr) == (0, "")
    store = opened(url)
    names = [person.subject for person in store.people.list()]
    assert names == ["local:after", "local:child", "local:last", "local:parent"]
    assert store.verify_acts().rows == 4


FIRST = """
import os, sys, time
from leakcap.service.store import Store
go, children = time.time() + 0.05, []
for number in range(6):
    children.append(os.fork())
    if children[-1] == 0:
        time.sleep(max(0.0, go - time.time()))
        Store.open(sys.argv[1]).people.add(f"local:a{number}", by="curator")
        os._exit(0)
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
"""


def test_processes_that_make_the_store_at_once_make_one(opened: Open, url: str) -> None:
    done = done_warmed(FIRST, url)
    assert (done.returncode, done.stderr) == (0, "")
    store = opened(url)
    assert len(store.people.list()) == 6
    assert store.verify_acts().rows == 6
