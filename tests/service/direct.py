"""A curator inside a test: the engine's operations without its process, everything else as it is."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow
import pyarrow.parquet
from argon2 import PasswordHasher

from leakcap.service.api.curator import Curator
from leakcap.service.configuration import Configuration, load_configuration
from leakcap.service.engine.calling import EngineClient, EngineFailed
from leakcap.service.engine.process import answer
from leakcap.service.engine.tables import OpenTables
from leakcap.service.job_times import LastTimePassed
from leakcap.service.running.providers import providers_of
from leakcap.service.store import Store

POLICY = """
dataset = "ward"
neighbours = "add-remove-one"
unit = { id = "id" }
[columns.age]
bounds = [0.0, 120.0]
[columns.ward]
keys = ["a", "b", "c"]
[caps]
epsilon = %s
"""
CURATOR = """
tick = 0.001
[data.ward]
policy = "policy.toml"
source = "ward.parquet"
ledger = "ward.db"
job_times = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0]
"""
QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
PASSWORD = "correct horse battery staple"


class DirectEngine(EngineClient):
    """Calls that are answered here, through the same JSON."""

    def __init__(self, configuration: Configuration) -> None:
        super().__init__("", seconds=1.0)
        self._configuration, self._tables = configuration, OpenTables(configuration.data)
        self._one_at_a_time = threading.Lock()

    def _told(self, message: Mapping[str, Any]) -> Any:
        with self._one_at_a_time:
            try:
                told = answer(json.loads(json.dumps(message)), self._configuration, self._tables)
            except LastTimePassed:
                raise EngineFailed("time") from None
        return json.loads(json.dumps(told, allow_nan=False))


def written(folder: Path, *, epsilon: float = 10.0, more: str = "", rows: int = 90, policy: str = "") -> Path:
    """A data set of `rows` people, its policy and a configuration, in a folder; the configuration's file."""
    table = {
        "id": list(range(rows)),
        "age": [float(i % 90) for i in range(rows)],
        "ward": ["abc"[i % 3] for i in range(rows)],
    }
    pyarrow.parquet.write_table(pyarrow.table(table), folder / "ward.parquet")
    (folder / "ward.parquet").chmod(0o600)
    (folder / "policy.toml").write_text(POLICY % epsilon + policy)
    file = folder / "curator.toml"
    file.write_text(CURATOR + more)
    return file


def three(store: Store) -> None:
    """An owner `olga`, analysts `ada` and `ben`, and nobody's roles else."""
    for name, *roles in (("ada", "analyst"), ("ben", "analyst"), ("olga", "owner", "auditor")):
        store.people.add(f"local:{name}", by="test")
        store.passwords.set(f"local:{name}", PASSWORD, by="test")
        for role in roles:
            store.grants.give(f"local:{name}", role, "ward", by="test")


@cache
def _filled(fill: Callable[[Store], None]) -> bytes:
    """The file of a store that was filled so: fifty transactions, once for all the tests of a process."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "curator.db"
        with Store.open(f"sqlite:///{file}", hasher=QUICK) as store:
            fill(store)
        return file.read_bytes()


def store_of(url: str, fill: Callable[[Store], None]) -> Store:
    """A new store, filled so; of a file a copy of one."""
    file = Path(url.removeprefix("sqlite:///"))
    if not url.startswith("sqlite:///") or file.exists():
        store = Store.open(url, hasher=QUICK)
        fill(store)
        return store
    file.touch(0o600)
    file.write_bytes(_filled(fill))
    return Store.open(url, hasher=QUICK)


def curator_in(folder: Path, *, fill: Callable[[Store], None] = three, **options: Any) -> Curator:
    """A curator of that data set and of those people."""
    configuration = load_configuration(written(folder, **options))
    store = store_of(configuration.store, fill)
    return Curator(configuration, store, DirectEngine(configuration), providers_of(configuration))
