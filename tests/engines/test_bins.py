"""Bins by arithmetic are those that a comparison with every edge finds, for every double."""

from __future__ import annotations

import functools
import itertools
import math
import random
import struct
from bisect import bisect_right
from collections.abc import Sequence

import duckdb
import pyarrow
import pytest
from sqlglot import exp

from leakcap.release.columns.typed import Bin, column
from leakcap.release.engine import Integers
from leakcap.release.engine.bins import Powers, even, powers_of_two
from leakcap.release.statistics.ranges import EDGES

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


@functools.cache
def database() -> duckdb.DuckDBPyConnection:
    """One for all tests, which are shown table after table: to start one takes longer than to ask it."""
    return duckdb.connect()


def of_duckdb(edges: tuple[float, ...], values: list[float | None], missing: int | None) -> list[int | None]:
    node = Bin(this=column("x"), edges=edges, missing=missing)
    tree = exp.Select(expressions=[column("n"), node]).from_("given").order_by("1")
    connection = database()
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


def symmetric(first: int, last: int) -> tuple[float, ...]:
    sizes = [2.0**power for power in range(first, last + 1)]
    return (*(-size for size in reversed(sizes)), 0.0, *sizes)


def all_kinds(edges: Sequence[float], seed: int) -> list[float | None]:
    """Every edge with its neighbours, doubles of all exponents with few and many digits, and any bits."""
    found: list[float | None] = [None, *hostile(edges)]
    for power in range(-1074, 1024):
        size = math.ldexp(1.0, power)
        found += [size, -size, math.nextafter(size, math.inf), -math.nextafter(size, math.inf)]
        found += [math.nextafter(size, 0.0), -math.nextafter(size, 0.0)]
    source = random.Random(seed)
    bits = (source.getrandbits(64).to_bytes(8, "little") for _ in range(3_000))
    return found + [struct.unpack("<d", one)[0] for one in bits]


@pytest.mark.parametrize(
    "edges",
    [EDGES, symmetric(0, 0), symmetric(-1022, 1023), symmetric(-3, 5), symmetric(7, 9), symmetric(-9, -8)],
)
def test_between_powers_of_two_the_bits_say_what_comparisons_find(edges: tuple[float, ...]) -> None:
    assert powers_of_two(edges) is not None
    values = all_kinds(edges, len(edges))
    assert len(values) > 15_000
    for missing in (None, 1):
        expected = [brute_force(edges, value, missing) for value in values]
        assert of_duckdb(edges, values, missing) == expected


def test_the_size_of_a_float_and_a_whole_number_is_that_of_their_double() -> None:
    """And a text's, which may say anything."""
    whole = [0, 1, -1, 2, -2, 3, 2**53 + 1, -(2**62), 2**63 - 1, None]
    small = [1.5, -0.0, -2.0, 2.0**-65, -(2.0**-149), math.inf, math.nan, None]
    said = ["1", "-0", "-2", "nan", "-inf", "1e400", "x", "", None]
    numbers = [1.0, -0.0, -2.0, math.nan, -math.inf, math.inf, None, None, None]
    cases = (
        ("BIGINT", pyarrow.int64(), whole, [None if one is None else float(one) for one in whole]),
        ("FLOAT", pyarrow.float32(), small, small),
        ("VARCHAR", pyarrow.string(), said, numbers),
    )
    for type_, arrow, values, doubles in cases:
        tree = exp.Select(expressions=[column("n"), Bin(this=column("x"), edges=EDGES, missing=None)])
        connection = duckdb.connect()
        given = pyarrow.table({"n": range(len(values)), "x": pyarrow.array(values, arrow)})
        connection.register("given", given)
        text = Integers({"x": type_}).text(tree.from_("given").order_by("1"))
        found = [index for _, index in connection.execute(text).fetchall()]
        assert found == [brute_force(EDGES, value, None) for value in doubles], type_


def test_edges_that_are_no_powers_on_both_sides_are_not_read_off_bits() -> None:
    off = (-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, math.nextafter(4.0, 5.0))
    for edges in (
        (-2.0, 0.0, 1.0),
        (0.0, 1.0, 2.0),
        (-2.0, -1.0, 1.0, 2.0),
        (-1.0, 1.0),
        (-4.0, -1.0, 0.0, 1.0, 4.0),
        off,
    ):
        assert powers_of_two(edges) is None
    assert powers_of_two(EDGES) == Powers(-64, 298)


def test_the_bits_of_a_negative_power_less_one_are_what_keeps_it_in_its_bin() -> None:
    """Planted: the size's own bits move −2 into the bin below; and by its bits −0.0 would be below zero."""
    found = powers_of_two(EDGES)
    assert found is not None
    (bits,) = struct.unpack("<q", struct.pack("<d", 2.0))
    right = brute_force(EDGES, -2.0, None)
    assert found.below - ((bits - 1) >> 52) == right
    assert found.below - (bits >> 52) != right
    assert of_duckdb(EDGES, [-0.0, 0.0], None) == [found.zero, found.zero]
