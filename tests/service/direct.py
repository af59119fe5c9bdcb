"""A curator inside a test: the engine's operations without its process, everything else as it is."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
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


def curator_in(folder: Path, **options: Any) -> Curator:
    """A curator of that data set, with an owner `olga`, analysts `ada` and `ben`, and nobody's roles else."""
    configuration = load_configuration(written(folder, **options))
    store = Store.open(configuration.store, hasher=QUICK)
    for name, *roles in (("ada", "analyst"), ("ben", "analyst"), ("olga", "owner", "auditor")):
        store.people.add(f"local:{name}", by="test")
        store.passwords.set(f"local:{name}", PASSWORD, by="test")
        for role in roles:
            store.grants.give(f"local:{name}", role, "ward", by="test")
    return Curator(configuration, store, DirectEngine(configuration), providers_of(configuration))
