"""The same for a model's table: rows come from its engine, and one that lies changes how no other is read."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from typing import Any

import pandas
import polars
import pytest

from leakcap.errors import LeakcapError
from leakcap.models.examples import of_table
from leakcap.release import PrivateTable
from models.ways import Closed, Pair, pairs
from models.world import policy_of

_BOUNDED: dict[str, Any] = {"bounds": [0.0, 1.0]}
TARGETS: dict[str, dict[str, Any]] = {
    "number": _BOUNDED,
    "text": {"keys": ["0", "1"]},
    "truth": {"keys": [False, True]},
    "whole": {"keys": [0, 1]},
}
POLICIES = {
    name: policy_of(columns={"a": _BOUNDED, "b": _BOUNDED, "y": target}) for name, target in TARGETS.items()
}


def framed(X: Any, y: Any) -> Any:
    if isinstance(X, pandas.DataFrame):
        return X.assign(y=y)
    return X.with_columns(y.alias("y")) if isinstance(X, polars.DataFrame) else X.append_column("y", y)


def seen(pair: Pair, target: str, *, lies: bool) -> tuple[str, Counter[Any]]:
    """The refusal, or how often each row is there, to the bit."""
    frame = framed(*pair.given(lies=lies))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            table = PrivateTable(frame, policy=POLICIES[target], ledger="sqlite://")
            examples = of_table(table, ["a", "b"], "y", None, classes=target != "number", centred=True)
            rows, targets, _ = examples.read()
        except LeakcapError as refusal:
            return f"{type(refusal).__name__}: {refusal}", Counter()
    return "", Counter((row.tobytes(), repr(one)) for row, one in zip(rows, targets.tolist(), strict=True))


def framed_pairs() -> list[Pair]:
    """Of the ways that make tables. Not of Arrow's own guess at a type, which it makes of all values at once:
    a table has the types that it was declared with, and those are refused or not.
    """
    frames = ("pandas", "polars", "arrow")
    return [pair for pair in pairs() if pair.way.startswith(frames) and not pair.way.endswith("None")]


def tried(count: int, seed: int) -> int:
    picks, done = random.Random(seed), 0
    for pair in picks.sample(framed_pairs(), count):
        target = picks.choice(list(TARGETS))
        try:
            plain, other = (seen(pair, target, lies=lies) for lies in (False, True))
        except Closed:
            continue
        done += 1
        assert plain[0] == other[0], (pair, target)
        assert (plain[1] - other[1]).total() <= 1, (pair, target)
        assert (other[1] - plain[1]).total() <= 1, (pair, target)
    return done


def test_no_row_of_a_table_changes_how_another_is_read() -> None:
    assert tried(30, 1) > 6


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_no_row_of_a_table_changes_how_another_is_read_in_hundreds(part: int) -> None:
    assert tried(1000, 10 + part) > 250
