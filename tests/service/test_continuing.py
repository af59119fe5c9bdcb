"""A data set goes on with the ledger that it had: what was spent is not given back by a file that is gone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from leakcap.errors import LedgerError
from leakcap.service.api.curator import Curator
from leakcap.service.running.continuing import require_continued
from service.direct import curator_in

QUERY = {"queries": [{"name": "n", "statistic": "count", "epsilon": 1.0}], "fresh": True}


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    found = curator_in(tmp_path)
    require_continued(found.configuration, found.store)
    yield found
    found.store.close()


def asked(curator: Curator) -> None:
    curator.engine.call("release", "ward", "local:ada", QUERY)


def copied(folder: Path, source: str, target: str) -> None:
    for ending in ("", "-wal", "-shm"):
        (folder / f"{target}{ending}").unlink(missing_ok=True)
        if (folder / f"{source}{ending}").exists():
            shutil.copy(folder / f"{source}{ending}", folder / f"{target}{ending}")


def test_a_ledger_that_goes_on_is_served_again(curator: Curator) -> None:
    for _ in range(2):
        asked(curator)
        require_continued(curator.configuration, curator.store)
    acts = [one.act for one in curator.store.acts.all(dataset="ward")]
    assert acts.count("serve data set") == 3


def test_a_lost_ledger_is_not_begun_anew(curator: Curator, tmp_path: Path) -> None:
    """Also where nothing was noted since it was begun."""
    asked(curator)
    for path in tmp_path.glob("ward.db*"):
        path.unlink()
    with pytest.raises(LedgerError, match="is gone"):
        require_continued(curator.configuration, curator.store)


def test_an_older_copy_is_not_served(curator: Curator, tmp_path: Path) -> None:
    asked(curator)
    copied(tmp_path, "ward.db", "old.db")
    asked(curator)
    require_continued(curator.configuration, curator.store)
    copied(tmp_path, "ward.db", "now.db")
    copied(tmp_path, "old.db", "ward.db")
    with pytest.raises(LedgerError, match="older copy"):
        require_continued(curator.configuration, curator.store)
    copied(tmp_path, "now.db", "ward.db")
    require_continued(curator.configuration, curator.store)
