"""A client that walks hostile rows through one cluster: `python -m hostile_rows.client WAY URL FOLDER UNIT`.

It prints how many pairs it tried. A process has one kind of Spark session, so that each way is its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

from alone import alone
from engines.cluster import environment
from hostile_rows import served
from hostile_rows.pairs import few_cells, of_typed


def walked(way: type[served.Spark], url: str, folder: Path, unit: str) -> int:
    """How many pairs a client of its own tried through the Spark at this URL; nothing may warn."""
    words = (way.__name__, url, str(folder), unit)
    return int(alone("hostile_rows.client", *words, settings=environment(), seconds=900))


def client(name: str, url: str, folder: str, unit: str) -> None:
    with few_cells():
        print(of_typed(getattr(served, name)(url, Path(folder)), unit, served.FEW))


if __name__ == "__main__":
    client(*sys.argv[1:])
