"""A client that walks rows through one cluster: `python -m hostile_rows.client WAY URL FOLDER UNIT …`.

It prints how many pairs it tried of each unit. A process has one kind of Spark session, so that each way is
its own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from alone import alone
from engines.cluster import environment
from hostile_rows import served
from hostile_rows.pairs import few_cells, of_typed


def walked(way: type[served.Spark], url: str, folder: Path, units: Iterable[str]) -> dict[str, int]:
    """How many pairs of each unit a client of its own tried through this Spark; nothing may warn."""
    words = (way.__name__, url, str(folder), *units)
    told = alone("hostile_rows.client", *words, settings=environment(), seconds=1800)
    return dict(zip(units, map(int, told.split()), strict=True))


def client(name: str, url: str, folder: str, *units: str) -> None:
    way = getattr(served, name)(url, Path(folder))
    with few_cells():
        print(*(of_typed(way, unit, served.FEW) for unit in units))


if __name__ == "__main__":
    client(*sys.argv[1:])
