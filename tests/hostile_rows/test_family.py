"""Every way in, every statistic: a neighbour with one hostile row is refused, warned of and read alike.

A pair is a table, a neighbour and one query: the columns are the same, so is the refusal, nothing warns or
stops, and the exact totals move by no more than one unit may move them.
"""

from __future__ import annotations

import random
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from hostile_rows import ways
from hostile_rows.asked import UNITS
from hostile_rows.pairs import cases_of, of_pandas, of_typed, rows_of
from leakcap.errors import DataError
from leakcap.release import attach
from leakcap.release.engine.frames import Readable

LOCAL = ways.every({"nothing", "a folder"})
# How many pairs each slow test tries at least: of declared types, and of those that pandas chooses.
LEAST, LEAST_OF_PANDAS = 7_200, 500


def test_a_few_ways(tmp_path: Path) -> None:
    tried = {}
    for way, unit in zip([ways.Arrow(), ways.Csv(tmp_path)], ["rows", "people"], strict=True):
        tried[way.name] = of_typed(way, unit, [("s", pyarrow.string())])
    source = random.Random(12)
    tried["pandas"] = of_pandas("rows", source, 3) + of_pandas("people", source, 3)
    assert min(tried.values()) >= 10, tried
    assert sum(tried.values()) >= 500, tried


def test_the_slow_suite_tries_a_hundred_thousand_pairs() -> None:
    assert len(UNITS) * (len(LOCAL) * LEAST + LEAST_OF_PANDAS) >= 100_000


@pytest.mark.slow
@pytest.mark.parametrize("unit", list(UNITS))
@pytest.mark.parametrize("place", range(len(LOCAL)), ids=[kind.name for kind in LOCAL])
def test_types_in_columns(place: int, unit: str, tmp_path: Path) -> None:
    """Each type in a column: in another one in the next way, so that all are in all of them by some way."""
    way = LOCAL[place](tmp_path)
    tried = of_typed(way, unit, cases_of(way, place + 3 * list(UNITS).index(unit)))
    print(f"{way.name}, {unit}: {tried} pairs")
    assert tried >= LEAST


@pytest.mark.slow
@pytest.mark.parametrize("unit", list(UNITS))
def test_every_object_in_every_column_of_pandas(unit: str) -> None:
    """Forty neighbours: a fault that one in ten of them shows is missed with probability 0.9⁴⁰ = 0.015."""
    tried = of_pandas(unit, random.Random(7), 40)
    print(f"pandas, {unit}: {tried} pairs")
    assert tried >= LEAST_OF_PANDAS


def test_every_way_in_is_walked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `attach` says that it takes, and each of its own functions that brings a table in."""
    import hostile_rows.served as served

    room, called = import_module("leakcap.release.engine.attaching"), set[str]()
    bringing = [name for name in vars(room) if name.startswith(("_add", "_attach"))]

    def recorded(name: str, function: Any) -> Any:
        return lambda *given: (called.add(name), function(*given))[1]

    for name in bringing:
        monkeypatch.setattr(room, name, recorded(name, getattr(room, name)))
    for kind in LOCAL:
        way, type_ = kind(tmp_path), kind.types[0]
        for _ in kind.takes:
            assert way.engine(rows_of("d", way.others(type_), [], 0, "rows"), "d", type_).columns()
    assert set(bringing) - called == {"_attach_server"}

    said = []
    for data in (object(), str(tmp_path / "t.none")):
        Path(tmp_path / "t.none").touch()
        with pytest.raises(DataError) as caught:
            attach(data)
        said.append(str(caught.value))
    frames = re.findall(r"[A-Z]?\w+", re.findall(r"or a (.*) table", said[0])[0].replace(" or ", " "))
    suffixes = re.findall(r"\.\w+", said[1].partition("Got")[0])
    urls = re.findall(r"`(\w+)[+\w]*://…`", str(attach.__doc__))
    assert min(map(len, (frames, suffixes, urls))) >= 3
    taken = {word for kind in ways.every({"nothing", "a folder", *served.NEEDS}) for word in kind.takes}
    assert taken == {*frames, *suffixes, *urls}


def test_a_planted_bug_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """pandas' own dtypes, as they were read before: the family stops at once."""
    monkeypatch.setattr(
        import_module("leakcap.release.engine.attaching"), "readable", lambda data, wanted: Readable(data)
    )
    with pytest.raises((AssertionError, DataError)):
        of_pandas("rows", random.Random(7), 20)
