"""Private keys come from every engine some at a time, get noise, and are forgotten unless they appear."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
import pytest

from engines.test_units import ENGINES, Row, holding
from leakcap.errors import DataError
from leakcap.release import PrivateTable, Query, load_policy
from leakcap.release.engine import base
from leakcap.release.measurements.measurement import NoisyMeasurement
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import scans_of

PIECE = 4
OFTEN, SELDOM = 9, 50
# Of sums the noise is that of a tenth of ε: a step away with probability below 2·e⁻²⁰ a key, 10⁻⁷ in all.
ROWS: list[Row] = [(n, f"often {n % OFTEN}", 0.5) for n in range(40 * OFTEN)]
ROWS += [(1_000 + n, f"seldom {n}", None if n % 2 else 1.0) for n in range(SELDOM)]
ROWS += [(2_000 + n, None, 1.0) for n in range(50)]
QUERIES = [
    Query(name="rows", statistic="count", by=("d",), epsilon=40.0, delta=1e-12),
    Query(name="total", statistic="sum", column="x", by=("d",), epsilon=400.0, delta=1e-12),
    Query(name="half", statistic="count", by=("d",), where="x > 0.7", epsilon=40.0, delta=1e-12),
    Query(name="again", statistic="count", by=("d",), epsilon=40.0, delta=1e-12),
]


def rules() -> Any:
    return load_policy({
        "dataset": "t", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6, "delta": 0.5},
        "columns": {"d": {"keys": "private"}, "x": {"bounds": [0.0, 1.0]}},
    })  # fmt: skip


def table_over(kind: str, engine: Any, request: Any) -> PrivateTable:
    data, table = (request.getfixturevalue("server"), "units") if kind == "postgresql" else (engine, None)
    return PrivateTable(data, table=table, policy=rules(), ledger="sqlite://")


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_PIECE", PIECE)


@pytest.mark.parametrize("kind", ENGINES)
def test_pieces_are_the_whole_result(kind: str, request: Any) -> None:
    with holding(kind, ROWS, request) as engine:
        for scan in scans_of([plan_query(query, rules()) for query in QUERIES], engine):
            pieces: list[Any] = []
            engine.hand(scan.statement, pieces.append)
            found = [row for piece in pieces for row in piece.rows()]
            assert Counter(found) == Counter(engine.run(scan.statement).rows())
            assert len(found) in (OFTEN + SELDOM, SELDOM // 2)
            assert len(pieces) >= len(found) / PIECE
            assert max(len(piece.rows()) for piece in pieces) == PIECE


@pytest.mark.parametrize("kind", ENGINES)
def test_no_more_than_a_piece_gets_noise_at_once(
    kind: str, request: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory grew with the noise of all keys. Released is what Python counts, in the order of the keys."""
    sizes: list[int] = []
    draw = NoisyMeasurement.draw

    def noted(self: Any, exact: Any, source: Any) -> Any:
        sizes.append(len(exact))
        return draw(self, exact, source)

    monkeypatch.setattr(NoisyMeasurement, "draw", noted)
    with holding(kind, ROWS, request) as engine:
        rows, total, half, again = table_over(kind, engine, request).release(QUERIES)
    # Three draws of all keys, one of which is for `half`; `again` is `rows`, and repeated.
    assert sum(sizes) == 3 * (OFTEN + SELDOM) + SELDOM // 2
    assert max(sizes) == PIECE
    names = [f"often {n}" for n in range(OFTEN)]
    assert [row.keys["d"] for row in rows.rows] == [row.keys["d"] for row in total.rows] == names
    # At these prices noise is 0 but for e⁻⁴⁰ a key.
    assert [row.value for row in rows.rows] == [40] * OFTEN
    assert [round(row.value, 3) for row in total.rows] == pytest.approx([20.0] * OFTEN, abs=0.2)
    assert len(half.rows) == 0
    assert again.rows == rows.rows


def test_each_piece_has_noise_of_its_own() -> None:
    """400 groups of 1,000 rows, scale 1: the noise of a piece that came twice would repeat every fourth."""
    import pyarrow

    keys = [f"key {n:03}" for n in range(400) for _ in range(1_000)]
    policy = load_policy({
        "dataset": "t", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6, "delta": 0.5},
        "columns": {"d": {"private": "text"}},
    })  # fmt: skip
    table = PrivateTable(pyarrow.table({"d": keys}), policy=policy, ledger="sqlite://")
    release = table.count(by="d", epsilon=1.0, delta=1e-9)
    noise = [int(row.value) - 1_000 for row in release.rows]
    assert len(noise) == 400
    # Two draws agree with probability ((1 − s)/(1 + s))²·(1 + s²)/(1 − s²) = 0.28, s = 1/e: that 300 of some
    # 396 pairs do has probability below 10⁻³⁰.
    for step in (PIECE, 2 * PIECE):
        assert sum(a == b for a, b in zip(noise, noise[step:], strict=False)) < 300


@pytest.mark.parametrize("kind", ENGINES)
def test_a_table_without_keys_releases_none(kind: str, request: Any) -> None:
    with holding(kind, [(1, None, 1.0)], request) as engine:
        table = table_over(kind, engine, request)
        found = table.release(QUERIES)
        assert [len(one.rows) for one in found] == [0, 0, 0, 0]
        again = table.release(QUERIES)
        assert [one.repeated for one in again] == [True] * 4


def test_what_fails_between_two_pieces_releases_nothing_and_the_table_answers_again(
    request: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws = 0
    draw = NoisyMeasurement.draw

    def failing(self: Any, exact: Any, source: Any) -> Any:
        nonlocal draws
        draws += 1
        if draws == 3:
            raise DataError("planted")
        return draw(self, exact, source)

    with holding("duckdb", ROWS, request) as engine:
        table = PrivateTable(engine, policy=rules(), ledger="sqlite://")
        with monkeypatch.context() as planted:
            planted.setattr(NoisyMeasurement, "draw", failing)
            with pytest.raises(DataError, match="stays in the ledger"):
                table.release(QUERIES[:1])
        assert [entry.state for entry in table.ledger.entries()] == ["reserved"]
        assert len(table.release(QUERIES[:1], fresh=True)[0].rows) == OFTEN


def test_an_engine_that_stops_between_two_pieces_says_nothing_of_why(request: Any) -> None:
    """What it says quotes a key."""
    taken: list[Any] = []

    class Stopping:
        def execute(self, statement: str, given: Any) -> Stopping:
            return self

        def fetchmany(self, most: int) -> list[Any]:
            if taken:
                raise duckdb.ConversionException("Could not convert string 'often 3' to INT32")
            return [("often 1", 1)] * most

    with holding("duckdb", ROWS, request) as engine:
        (scan,) = scans_of([plan_query(QUERIES[0], rules())], engine)
        own = engine._connection  # type: ignore[attr-defined]
        engine._connection = Stopping()  # type: ignore[attr-defined]
        with pytest.raises(DataError) as caught:
            engine.hand(scan.statement, taken.append)
        engine._connection = own  # type: ignore[attr-defined]
        assert len(taken) == 1
        assert "often" not in str(caught.value)
        assert caught.value.__context__ is None
        assert len(engine.run(scan.statement).rows()) == OFTEN + SELDOM
