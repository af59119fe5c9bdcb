"""An office's desk: the example's table and files in a folder, and answers that can be compared.

Noise is drawn from a seed and the rows of a person are chosen by a known secret, so that two ways of asking
give the same digits where their totals are the same whole numbers.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from command_line import ROOT, leakcap
from leakcap.ledger import Ledger
from leakcap.release import PrivateTable, Release
from seeded import SeededSource

EXAMPLE = ROOT / "examples/stays"
SOME = 3_000
"""Rows of the table that every run uses; the whole one has 200,000."""


def _made() -> ModuleType:
    spec = importlib.util.spec_from_file_location("stays_make", EXAMPLE / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make = _made()


def desk(folder: Path, rows: int = SOME) -> Path:
    """The example's files in a folder, with the table as Parquet."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in (*EXAMPLE.glob("*.toml"), *EXAMPLE.glob("*.sql"), *EXAMPLE.glob("*.ipynb")):
        shutil.copy(path, folder)
    make.write(make.stays(rows), folder / "stays.parquet")
    return folder


@contextmanager
def repeatable(seed: int = 7) -> Iterator[None]:
    """Every table that is opened draws the same noise; every ledger chooses the same rows of a person."""
    real = PrivateTable.__init__

    def opened(self: PrivateTable, *args: Any, **named: Any) -> None:
        real(self, *args, **{"source": SeededSource(seed), **named})

    with (
        mock.patch.object(PrivateTable, "__init__", opened),
        mock.patch.object(Ledger, "seed", property(lambda self: "5eed")),
    ):
        yield


Told = dict[str, list[tuple[Any, ...]]]
"""By query: keys, value and interval of each row."""


def told(releases: Sequence[Release]) -> Told:
    return {
        one.name: [(*row.keys.values(), row.value, *row.interval) for row in one.rows] for one in releases
    }


def printed(*words: str, cwd: Path) -> Told:
    """What a command prints with --json."""
    done = leakcap(*words, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    found = {}
    for one in json.loads(done.stdout)["releases"]:
        found[one["name"]] = [
            (*row.get("keys", {}).values(), row["value"], *row["interval"]) for row in one["values"]
        ]
    return found
