"""One table asked both ways: held here, and through a curator; with the same noise both give the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

from client.in_process import InProcess, connected
from leakcap.client import RemoteTable
from leakcap.release import PrivateTable, Release
from leakcap.service.api.curator import Curator
from leakcap.service.configuration import load_configuration
from leakcap.service.running.providers import providers_of
from leakcap.service.store import Store
from seeded_noise import noise_of
from service.direct import QUICK, DirectEngine

Table = PrivateTable | RemoteTable


def inline(value: Any) -> str:
    """A value as TOML has it in one line."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{json.dumps(name)} = {inline(one)}' for name, one in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(inline, value))}]"
    if isinstance(value, date):
        return value.isoformat()
    return repr(value) if isinstance(value, float) else json.dumps(value)


def toml(content: Mapping[str, Any]) -> str:
    """A document, a line for each of its names."""
    return "".join(f"{name} = {inline(value)}\n" for name, value in content.items())


def curator_of(
    folder: Path,
    policy: Mapping[str, Any],
    data: pyarrow.Table,
    tables: Mapping[str, pyarrow.Table] | None = None,
) -> Curator:
    """A curator of one data set, `day`, with an analyst `ada`."""
    for name, one in {"day": data, **(tables or {})}.items():
        pyarrow.parquet.write_table(one, folder / f"{name}.parquet")
    (folder / "policy.toml").write_text(toml(policy), encoding="utf-8")
    source: dict[str, Any] = {"policy": "policy.toml", "source": "day.parquet", "ledger": "curator-day.db"}
    source |= {"tables": {name: f"{name}.parquet" for name in tables}} if tables else {}
    file = folder / "curator.toml"
    file.write_text(toml({"tick": 0.001, "data": {"day": source}}), encoding="utf-8")
    configuration = load_configuration(file)
    store = Store.open(configuration.store, hasher=QUICK)
    store.people.add("local:ada", by="test")
    store.grants.give("local:ada", "analyst", "day", by="test")
    return Curator(configuration, store, DirectEngine(configuration), providers_of(configuration))


@dataclass
class Both:
    """The same data under the same policy, held here and held by a curator."""

    here: PrivateTable
    there: RemoteTable
    curator: Curator
    transport: InProcess
    asked: int = field(default=0)

    def ask(self, question: Callable[[Any], Any]) -> tuple[list[Release], list[Release]]:
        """The answers of both, drawn from the same noise."""
        self.asked += 1
        found = []
        for table in (self.here, self.there):
            with noise_of(f"question {self.asked}"):
                told = question(table)
            found.append([told] if isinstance(told, Release) else list(told))
        return found[0], found[1]

    def close(self) -> None:
        self.here.close()
        self.curator.store.close()


def both_of(
    folder: Path,
    policy: Mapping[str, Any],
    data: pyarrow.Table,
    tables: Mapping[str, pyarrow.Table] | None = None,
) -> Both:
    """The two, each with a ledger of its own."""
    curator = curator_of(folder, policy, data, tables)
    connection, transport = connected(curator)
    here = PrivateTable(
        folder / "day.parquet",
        policy=folder / "policy.toml",
        ledger=folder / "day.db",
        tables={name: folder / f"{name}.parquet" for name in tables or {}},
        analyst="local:ada",
    )
    return Both(here, connection["day"], curator, transport)


def differing(here: Sequence[Release], there: Sequence[Release]) -> list[str]:
    """The fields in which answers differ, by the answer's name."""
    assert len(here) == len(there) > 0
    found = []
    for one, other in zip(here, there, strict=True):
        for each in fields(Release):
            a, b = getattr(one, each.name), getattr(other, each.name)
            if each.name == "rows":
                a, b = _columns(a), _columns(b)
            elif each.name == "drawn":
                a, b = _parts(a), _parts(b)
            if a != b:
                found.append(f"{one.name}.{each.name}")
        if one.to_dict() != other.to_dict():
            found.append(f"{one.name}.record")
    return found


def _columns(rows: Any) -> Any:
    answers = rows.answers
    numbers = [one.tolist() for one in (answers.values, answers.lower, answers.upper)]
    labels = {name: words.tolist() for name, words in rows.labels.items()}
    return list(labels), labels, numbers, [[type(one) for one in column] for column in numbers]


def _parts(drawn: Any) -> Any:
    return (
        None if drawn is None else [(one.role, list(map(int, one.numbers)), one.unit) for one in drawn.parts]
    )
