"""Keys within keys: every engine has the same cells, and nothing in them that is of no listed pair."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow
import pytest

from engines.held import held
from leakcap.owner import check
from leakcap.release import Engine, Query, load_policy
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import scans_of

ENGINES = ["duckdb", "postgresql", pytest.param("spark", marks=pytest.mark.slow)]
LAND = {"1": ["C5", "S7"], "2": ["S7", "É1", "x'y"], "7": ["T1"]}
POLICY = load_policy(
    {
        "dataset": "d",
        "unit": {"id": "id", "max_rows": 2},
        "neighbours": "add-remove-one",
        "caps": {"epsilon": 9.0},
        "columns": {
            "region": {"keys": [1, 2, 7]},
            "code": {
                "from": "diagnosis",
                "prefix": 2,
                "within": "region",
                "keys": {**LAND, "2": ["S7", "É1"]},
            },
            "place": {"within": "region", "keys": LAND},
            "diagnosis": {"keys": "private"},
        },
    }
)
COLUMNS = {"id": "bigint", "region": "bigint", "place": "string", "diagnosis": "string"}
Row = tuple[int, int | None, str | None, str | None]


def rows_of_each() -> list[Row]:
    """Every pair of keys, listed or not, strange words and missing values, one person each."""
    regions, words = [1, 2, 7, 3, None, 2**62], ["C5", "S7", "É1", "É1", "x'y", "T1", "c5", "C5 ", "", None]
    found: list[Row] = []
    for place, (region, word) in enumerate(itertools.product(regions, words)):
        many = 1 + place % 3
        found += [
            (1_000 * place + one, region, word, None if word is None else f"{word}0") for one in range(many)
        ]
    return found


@contextmanager
def holding(kind: str, rows: list[Row], request: Any) -> Iterator[Engine]:
    """An engine over these rows in this order."""
    yield held(kind, COLUMNS, rows, request, "nested")


@pytest.mark.parametrize("kind", ENGINES)
def test_cells_are_those_of_plain_python(kind: str, request: Any) -> None:
    """Of a stored column and of a prefix, with whole numbers for parents."""
    rows = rows_of_each()
    with holding(kind, rows, request) as engine:
        for name, column in (("place", 2), ("code", 3)):
            query = Query(name="q", statistic="count", by=("region", name), epsilon=1.0)
            plan = plan_query(query, POLICY)
            (total,) = scans_of([plan], engine, "5eed")[0].run(engine)[0].totals
            keys = list(zip(*(words.tolist() for words in plan.cells.labels().values()), strict=True))
            counted: Counter[tuple[Any, Any]] = Counter((row[1], (row[column] or "")[:2]) for row in rows)
            if name == "place":
                counted = Counter((row[1], row[2]) for row in rows)
            listed = [(path[0], path[1]) for path in POLICY.columns[name].paths or ()]
            assert dict(zip(keys, total.tolist(), strict=True)) == {pair: counted[pair] for pair in listed}


@pytest.mark.parametrize("kind", ENGINES)
def test_the_owner_is_told_of_the_same_pairs(kind: str, request: Any) -> None:
    """By `check`, whatever the engine."""
    rows = rows_of_each()
    source: Any
    if kind == "postgresql":
        with holding(kind, rows, request):
            source = request.getfixturevalue("server")
            found = check(source, POLICY, table="nested")
    elif kind == "spark":
        spark = request.getfixturevalue("spark")
        found = check(
            spark.createDataFrame(rows, "id bigint, region bigint, place string, diagnosis string"), POLICY
        )
    else:
        columns = dict(
            zip(("id", "region", "place", "diagnosis"), map(list, zip(*rows, strict=True)), strict=True)
        )
        found = check(pyarrow.table(columns), POLICY)
    (told,) = (one.text for one in found if one.place == "place" and "together" in one.text)
    words = {word for own in LAND.values() for word in own}
    both = [(row[1], row[2]) for row in rows if row[1] in (1, 2, 7) and row[2] in words]
    bad = sum((region, word) not in (POLICY.columns["place"].paths or ()) for region, word in both)
    assert told.startswith(f"{bad} of {len(both)} rows with listed keys have keys")
