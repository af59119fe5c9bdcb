"""Everything is lost, and comes back: people, roles and spends; what a backup lacks is named and booked."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from leakcap.errors import InvalidParameter, LedgerError
from leakcap.ledger.anchors import Anchor
from leakcap.service.configuration import Configuration, load_configuration
from leakcap.service.custody import back_up, put_back
from leakcap.service.store import Role, Store
from leakcap.service.store.errors import StoreError
from service.direct import QUICK, DirectEngine, written


def asked(configuration: Configuration, operation: str, epsilon: float = 0.0) -> Any:
    queries = [{"name": "n", "statistic": "count", "epsilon": epsilon}]
    body = {"queries": queries} if epsilon else {}
    return DirectEngine(configuration).call(operation, "ward", "local:ada", body)


def spent(configuration: Configuration) -> float:
    caps = asked(configuration, "budget")["caps"]
    return float(next(one["spent"] for one in caps if one["cap"] == "epsilon"))


@pytest.fixture
def begun(tmp_path: Path) -> tuple[Path, Configuration, str]:
    """A curator's folder, with Ada's token and one answer for ε = 0.5."""
    file = written(tmp_path)
    configuration = load_configuration(file)
    with Store.open(configuration.store, hasher=QUICK) as store:
        store.people.add("local:ada", by="test")
        store.grants.give("local:ada", Role.ANALYST, "ward", by="test")
        token = store.tokens.issue("local:ada", lifetime=timedelta(days=1)).secret
    asked(configuration, "release", 0.5)
    return tmp_path, configuration, token


def lose(folder: Path) -> None:
    for path in (*folder.glob("curator.db*"), *folder.glob("ward.db*")):
        path.unlink()


def test_all_is_lost_and_comes_back(begun: tuple[Path, Configuration, str]) -> None:
    folder, configuration, token = begun
    made = back_up(configuration, folder / "kept", by="test")
    assert {one.stat().st_mode & 0o077 for one in (folder / "kept").iterdir()} == {0}
    lose(folder)
    anchor = Anchor.read(str(folder / "kept/ward.anchor.json"))
    assert anchor == made.ledgers["ward"].anchor
    found = put_back(configuration, folder / "kept", anchors={"ward": anchor}, by="test")
    assert spent(configuration) == 0.5
    assert found.ended == 1
    with Store.open(configuration.store, create=False) as store:
        assert store.tokens.find(token) is None
        assert [(one.role, one.dataset) for one in store.grants.of("local:ada")] == [("analyst", "ward")]
        assert store.acts.all()[-1].act == "restore the store"
        assert store.verify_acts().rows == made.acts.rows + 1  # type: ignore[union-attr]
    assert os.stat(folder / "curator.db").st_mode & 0o077 == 0


def test_what_the_backup_lacks_is_named_and_booked(begun: tuple[Path, Configuration, str]) -> None:
    """An anchor kept elsewhere knows of a spend after the backup: it does not come back as budget."""
    folder, configuration, _ = begun
    back_up(configuration, folder / "kept", by="test")
    asked(configuration, "release", 1.25)
    newest = folder / "auditor.json"
    newest.write_text(json.dumps(asked(configuration, "anchor")))
    anchors = {"ward": Anchor.read(str(newest))}
    lose(folder)
    with pytest.raises(LedgerError, match=r"1 spend|lacks"):
        put_back(configuration, folder / "kept", anchors=anchors, by="test")
    assert not (folder / "curator.db").exists(), "nothing is written unless all of it can be"
    found = put_back(
        configuration, folder / "kept", anchors=anchors, by="test", book_lost=True, reason="the disk is gone"
    )
    assert found.ledgers["ward"].lost == 1
    assert spent(configuration) == 1.75


def test_without_an_anchor_nothing_is_put_back(begun: tuple[Path, Configuration, str]) -> None:
    folder, configuration, _ = begun
    back_up(configuration, folder / "kept", by="test")
    lose(folder)
    with pytest.raises(LedgerError, match="anchor"):
        put_back(configuration, folder / "kept", anchors={}, by="test")
    assert not (folder / "curator.db").exists()


def test_preview_writes_nothing(begun: tuple[Path, Configuration, str]) -> None:
    folder, configuration, _ = begun
    made = back_up(configuration, folder / "kept", by="test")
    lose(folder)
    before = sorted(folder.iterdir())
    anchors = {"ward": made.ledgers["ward"].anchor}
    put_back(configuration, folder / "kept", anchors=anchors, by="test", preview=True)
    assert sorted(path for path in folder.iterdir() if not path.name.startswith("ward.db")) == before


def test_what_is_refused(begun: tuple[Path, Configuration, str]) -> None:
    folder, configuration, _ = begun
    made = back_up(configuration, folder / "kept", by="test")
    anchor = made.ledgers["ward"].anchor
    with pytest.raises(InvalidParameter, match="names no data set"):
        put_back(configuration, folder / "kept", anchors={"nobody": anchor}, by="test")
    shutil.copytree(folder / "kept", folder / "open")
    (folder / "open").chmod(0o755)
    with pytest.raises(InvalidParameter, match="may be opened by others"):
        back_up(configuration, folder / "open", by="test")
    (folder / "kept/store.backup").unlink()
    lose(folder)
    with pytest.raises(InvalidParameter, match="no backup of the store"):
        put_back(configuration, folder / "kept", anchors={"ward": anchor}, by="test")


def test_a_store_that_stands_is_left(begun: tuple[Path, Configuration, str]) -> None:
    folder, configuration, token = begun
    made = back_up(configuration, folder / "kept", by="test")
    for path in folder.glob("ward.db*"):
        path.unlink()
    anchors = {"ward": made.ledgers["ward"].anchor}
    assert put_back(configuration, folder / "kept", anchors=anchors, by="test").ended is None
    with Store.open(configuration.store, create=False) as store:
        assert store.tokens.find(token) is not None


def test_a_store_that_was_edited_is_not_kept(begun: tuple[Path, Configuration, str]) -> None:
    folder, configuration, _ = begun
    with closing(sqlite3.connect(folder / "curator.db")) as connection:
        connection.execute("UPDATE curator_acts SET by = 'nobody' WHERE seq = 1")
        connection.commit()
    with pytest.raises(StoreError, match="was changed"):
        back_up(configuration, folder / "kept", by="test")
    assert list((folder / "kept").iterdir()) == []
