"""`leakcap curator`: from data and a policy to people who may ask."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from command_line import WHOLE, walk
from leakcap.cli.main import app
from leakcap.errors import LeakcapError
from leakcap.service.configuration import load_configuration
from leakcap.service.identity.authenticate import choose_password, sign_in
from leakcap.service.store import OneTimePassword, Role, Store
from leakcap.service.store.passwords import HASHER
from service.conftest import QUICK
from service.direct import written


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords at as little work as Argon2 does: a tenth of a second less for each that is made."""
    defaults = Store.open.__func__.__kwdefaults__  # type: ignore[attr-defined]
    assert defaults["hasher"] is HASHER
    monkeypatch.setitem(defaults, "hasher", QUICK)


def commanded(*words: str | Path) -> str:
    told = CliRunner().invoke(app, ["curator", *map(str, words)])
    if told.exception is not None and not isinstance(told.exception, SystemExit):
        raise told.exception
    assert told.exit_code == 0, told.output
    return told.output


@pytest.fixture
def begun(tmp_path: Path, quick: None) -> Path:
    return begun_in(tmp_path)


def begun_in(tmp_path: Path) -> Path:
    written(tmp_path).unlink()
    (tmp_path / "ward.parquet").chmod(0o644)
    data, policy = tmp_path / "ward.parquet", tmp_path / "policy.toml"
    told = commanded(
        "init", data, "--policy", policy, "--owner", "olga", "--analyst", "ada", "--folder", tmp_path
    )
    (tmp_path / "told").write_text(told)
    return tmp_path


def test_it_is_ready_to_run(begun: Path) -> None:
    assert "1 data set" in commanded("check", begun / "curator.toml")
    assert (begun / "ward.parquet").stat().st_mode & 0o007 == 0
    assert (begun / "curator.db").stat().st_mode & 0o077 == 0


def test_the_passwords_that_were_shown_let_in_and_stand_nowhere(tmp_path: Path) -> None:
    """At the cost that a curator has."""
    begun = begun_in(tmp_path)
    with closing(sqlite3.connect(begun / "curator.db")) as kept:
        hashes = [one for (one,) in kept.execute("SELECT password FROM curator_people")]
    assert [one[:30] for one in hashes] == ["$argon2id$v=19$m=65536,t=3,p=4"] * 2
    told = (begun / "told").read_text()
    passwords = re.findall(r"local:(\w+)  password, shown once: (\S+)", told)
    assert [name for name, _ in passwords] == ["olga", "ada"]
    with Store.open(load_configuration(begun / "curator.toml").store) as store:
        (owner, own), (analyst, one_time) = passwords
        assert sign_in(owner, own, None, store).token.subject == "local:olga"
        with pytest.raises(OneTimePassword):
            sign_in(analyst, one_time, None, store)
        assert choose_password(analyst, one_time, "correct horse battery", None, store)
    for path in begun.iterdir():
        assert path.name == "told" or not any(one.encode() in path.read_bytes() for _, one in passwords)


def test_an_analyst_may_ask_and_no_more(begun: Path) -> None:
    with Store.open(load_configuration(begun / "curator.toml").store) as store:
        assert [one.role for one in store.grants.of("local:ada")] == [Role.ANALYST]
        assert {one.role for one in store.grants.of("local:olga")} == {Role.ADMIN, Role.OWNER, Role.AUDITOR}


def test_people_come_and_go(begun: Path) -> None:
    file = begun / "curator.toml"
    assert "token, shown once: lkc_" in commanded("add", file, "bot", "--agent", "--role", "analyst:ward")
    commanded("grant", file, "ada", "--role", "approver:ward")
    commanded("take", file, "ada", "--role", "analyst:ward")
    told = commanded("people", file)
    assert "local:bot (agent): analyst:ward" in told
    assert "local:ada: approver:ward" in told
    commanded("remove", file, "ada")
    assert "local:ada" not in commanded("people", file)
    with pytest.raises(LeakcapError, match="never given out again"):
        commanded("add", file, "ada", "--role", "analyst:ward")


@pytest.mark.parametrize(
    ("name", "role"),
    [("Ben", "analyst:ward"), ("ben", "analist:ward"), ("ben", "analyst:wards"), ("ben", "admin:ward")],
)
def test_nobody_is_added_by_mistake(begun: Path, name: str, role: str) -> None:
    before = commanded("people", begun / "curator.toml")
    with pytest.raises(LeakcapError):
        commanded("add", begun / "curator.toml", name, "--role", role)
    assert commanded("people", begun / "curator.toml") == before


def test_a_curator_is_begun_once(begun: Path) -> None:
    with pytest.raises(LeakcapError, match="is there already"):
        commanded("init", begun / "ward.parquet", "--policy", begun / "policy.toml", "--folder", begun)


def test_what_check_makes_is_what_run_takes(tmp_path: Path) -> None:
    """The ledgers that it begins are closed to other users, whatever the umask."""
    file = written(tmp_path)
    before = os.umask(0o022)
    try:
        for _ in range(2):
            assert "It can run" in commanded("check", file)
    finally:
        os.umask(before)
    assert (tmp_path / "ward.db").stat().st_mode & 0o077 == 0


def test_backup_and_restore_say_what_they_did(tmp_path: Path, quick: None) -> None:
    """The whole way by commands: kept, lost, looked at, put back."""
    file, kept = written(tmp_path), tmp_path / "kept"
    commanded("add", file, "ada", "--role", "analyst:ward")
    commanded("check", file)
    assert re.search(r"ward: 1 row, 0 spends, head [0-9a-f]{64}", commanded("backup", file, kept))
    for path in (*tmp_path.glob("ward.db*"), *tmp_path.glob("curator.db*")):
        path.unlink()
    words = ("restore", file, kept, "--anchor", f"ward={kept / 'ward.anchor.json'}")
    assert "would be put back" in commanded(*words, "--preview")
    assert "The store is put back" in commanded(*words)
    assert "local:ada: analyst:ward" in commanded("people", file)
    with pytest.raises(LeakcapError, match="DATASET=ANCHOR"):
        commanded("restore", file, kept, "--anchor", "ward")


def test_every_command_shows_an_example() -> None:
    commands = {name: one for name, one in walk(WHOLE) if name.startswith("curator ")}
    assert {"curator run", "curator backup", "curator restore"} <= set(commands)
    for name, one in commands.items():
        assert f"Example: leakcap {name}" in str(getattr(one, "help", "")), name
