"""Very many public keys: DuckDB gets them as one text, whatever they hold, not as so many literals."""

from __future__ import annotations

from typing import Any

import pyarrow
import pytest

from leakcap.release import attach, load_policy
from leakcap.release.columns.typed import OneOf, column
from leakcap.release.engine import Integers, lowering
from leakcap.release.planning.scan import read_totals
from leakcap.release.planning.statements import select_of
from release.world import planned

STRANGE = [
    "", " ", "a", "A", "a ", " a", "é", "e\u0301", "it's", "''", '"', "back\\slash", "new\nline", "\r", "\t",
    "100%s", ":x", "$seed", "$1", "?", "a{b}", "--", "/*", ";", "\U0001f600", "NULL", "1", "1.0",
    "\x1e", "b\x1e", "\x1d\x1c",
]  # fmt: skip
OTHERS = ["b", "\x1f", "a\x1f", "\x1fa", "'", "it''s", "null", "01", None]


def statement(keys: list[Any], type_: pyarrow.DataType, seen: list[Any]) -> tuple[Any, Any, Any]:
    policy = load_policy({
        "dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
        "columns": {"g": {"keys": keys}},
    })  # fmt: skip
    plan = planned(policy, statistic="count", by=("g",))
    engine = attach(pyarrow.table({"g": pyarrow.array(seen, type_)}))
    return plan, engine, engine.write(select_of([plan]))


def counted(keys: list[Any], type_: pyarrow.DataType, seen: list[Any]) -> list[int]:
    plan, engine, written = statement(keys, type_, seen)
    found = engine.run(written)
    assert set(found.arrays[0].tolist()) <= set(keys)
    return [int(total) for total in read_totals(plan, found)[0]]


@pytest.mark.parametrize("separators", ["\x1f", "\x1e\x1f", "\x1e"])
def test_strange_texts_are_the_keys_that_they_are(separators: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a character between them that is in no key, with the first such one, and where there is none."""
    monkeypatch.setattr(lowering, "_MANY", 1)
    monkeypatch.setattr(lowering, "_BETWEEN", list(separators))
    seen = [key for place, key in enumerate(STRANGE) for _ in range(place % 3)] + OTHERS * 2
    assert counted(STRANGE, pyarrow.string(), seen) == [place % 3 for place in range(len(STRANGE))]


def test_a_character_that_is_in_a_key_is_not_put_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug takes it: the key falls apart."""
    monkeypatch.setattr(lowering, "_MANY", 1)
    keys = ["a", "b\x1fc"]
    assert counted(keys, pyarrow.string(), ["b\x1fc", "b", "c", "a"]) == [1, 1]
    split = Integers({}).one_of(column("k"), keys, "text").sql("duckdb")
    assert "\x1e" in split
    assert split.count("\x1f") == 1


def test_integers_with_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowering, "_MANY", 1)
    keys = [0, -5, 7, 2**63 - 1, 1 - 2**63, 2**53 + 1]
    seen = [*keys, *keys, 1, 6, 2**53, -(2**63), None]
    assert counted(keys, pyarrow.int64(), seen) == [2] * len(keys)


def test_many_keys_are_one_node_of_the_statement() -> None:
    """10⁵ literals were 10⁵ nodes, copied and searched again and again: 25 s and 4.8 GiB for 10⁶."""
    keys = [f"postal code {number}" for number in range(5_000)]
    seen = [*keys[::2], "elsewhere", None]
    plan, engine, written = statement(keys, pyarrow.string(), seen)
    tree = select_of([plan])
    assert sum(1 for _ in tree.walk()) < 100
    lowered = Integers({}).lower(tree)
    assert lowered.find(OneOf) is None
    assert sum(1 for _ in lowered.walk()) < 200
    totals = [int(total) for total in read_totals(plan, engine.run(written))[0]]
    assert totals == [1 - number % 2 for number in range(5_000)]
