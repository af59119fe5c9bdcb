"""Bins by arithmetic are those that a comparison with every edge finds, for every double."""

from __future__ import annotations

import itertools
import math
import random
from bisect import bisect_right
from collections.abc import Sequence

import duckdb
import pyarrow
import pytest
from sqlglot import exp

from leakcap.release.columns.typed import Bin, column
from leakcap.release.engine import Integers
from leakcap.release.engine.bins import even

_SMALL = (0.0, -0.0, 5e-324, -5e-324, 2.2e-308)
ODD = (math.inf, -math.inf, math.nan, *_SMALL, 1.7e308, -1.7e308, 2.0**53, 2.0**53 + 2)


def equal_widths(low: float, high: float, count: int) -> tuple[float, ...]:
    """As a query's `bins` makes them."""
    return (low, *(low + (high - low) * (index / count) for index in range(1, count)), high)


def random_edges(chosen: random.Random) -> tuple[float, ...]:
    """Of all sizes and places, near zero and far from it; often whole numbers."""
    size = 10.0 ** chosen.randint(-12, 12)
    low = chosen.choice([0.0, size * chosen.uniform(-3, 3), float(chosen.randint(-9, 2000)), 1e9 * size])
    high = low + chosen.choice([size * chosen.uniform(0.1, 2), size, float(chosen.randint(1, 300))])
    return equal_widths(low, high, chosen.choice([2, 3, 7, 10, 16, 20, 64, 100, 256, 1000]))


EVEN = [equal_widths(0.0, 100.0, 20), equal_widths(0.0, 1.0, 10), equal_widths(0.0, 100.0, 256)]


def hostile(edges: Sequence[float]) -> list[float]:
    """Both neighbours of each edge, two doubles further off, the middles, and doubles that break sums."""
    found = [*ODD, -max(map(abs, edges)), 2 * max(map(abs, edges))]
    for edge, other in zip(edges, [*edges[1:], edges[0]], strict=True):
        below, above = math.nextafter(edge, -math.inf), math.nextafter(edge, math.inf)
        found += [math.nextafter(below, -math.inf), below, edge, above, math.nextafter(above, math.inf)]
        found.append((edge + other) / 2)
    return found


def brute_force(edges: Sequence[float], value: float | None, missing: int | None) -> int | None:
    if value is None or math.isnan(value):
        return missing
    return max(0, min(len(edges) - 2, bisect_right(edges, value) - 1))


def of_duckdb(edges: tuple[float, ...], values: list[float | None], missing: int | None) -> list[int | None]:
    node = Bin(this=column("x"), edges=edges, missing=missing)
    tree = exp.Select(expressions=[column("n"), node]).from_("given").order_by("1")
    connection = duckdb.connect()
    connection.register(
        "given", pyarrow.table({"n": range(len(values)), "x": pyarrow.array(values, pyarrow.float64())})
    )
    return [index for _, index in connection.execute(Integers({"x": "DOUBLE"}).text(tree)).fetchall()]


@pytest.mark.parametrize("seed", range(4))
def test_every_double_has_the_bin_that_comparisons_find(seed: int) -> None:
    """And most equal widths are found by arithmetic, with the correction or without it."""
    chosen, kinds = random.Random(seed), list[str]()
    for edges in [*EVEN, *(random_edges(chosen) for _ in range(40))]:
        if any(a >= b for a, b in itertools.pairwise(edges)):
            continue
        found = even(edges)
        kinds.append("searched" if found is None else "corrected" if found.corrected else "exact")
        values: list[float | None] = [
            None,
            *hostile(edges),
            *(chosen.uniform(edges[0], edges[-1]) for _ in range(50)),
        ]
        for missing in (None, 1):
            expected = [brute_force(edges, value, missing) for value in values]
            assert of_duckdb(edges, values, missing) == expected, edges
    assert kinds.count("exact") >= 2
    assert kinds.count("corrected") >= 10
    assert kinds.count("searched") < len(kinds) / 2


def test_edges_that_are_not_even_are_searched() -> None:
    for edges in (
        (0.0, 1.0, 10.0),
        (0.0, 5.0, math.nextafter(10.0, 11.0) + 1e-9, 15.0),
        (0.0, 5e-324, 1e-323),
    ):
        assert even(edges) is None
        values: list[float | None] = [None, *hostile(edges)]
        assert of_duckdb(edges, values, None) == [brute_force(edges, value, None) for value in values]


def test_an_index_without_its_correction_would_be_wrong() -> None:
    """55 is in the bin before the edge 55.00000000000001, and 0.2 · 55 rounds to 11."""
    edges = EVEN[0]
    found = even(edges)
    assert found is not None
    assert found.corrected
    assert math.floor(55.0 * found.scale) == 11
    assert brute_force(edges, 55.0, None) == 10
    assert of_duckdb(edges, [55.0], None) == [10]
