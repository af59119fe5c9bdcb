"""Suppressed cells against every table that there is, and a large table with its margins."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import leakcap
from leakcap.attack import cell_ranges, read_published_table, suppressed
from leakcap.errors import InvalidInput, InvalidParameter, LeakcapError


def with_all_margins(inner: Any) -> np.ndarray:
    table = np.asarray(inner)
    for axis in range(table.ndim):
        table = np.concatenate([table, table.sum(axis=axis, keepdims=True)], axis=axis)
    return table


def hidden(table: np.ndarray, places: Any) -> Any:
    found = table.astype(object)
    for place in places:
        found[place] = None
    return found


def every_table(shape: tuple[int, ...], most: int) -> Iterator[np.ndarray]:
    for counts in itertools.product(range(most + 1), repeat=int(np.prod(shape))):
        yield with_all_margins(np.array(counts).reshape(shape))


@pytest.mark.parametrize(
    ("shape", "most", "tried"), [((2, 2), 4, 60), ((2, 3), 3, 40), ((2, 2, 2), 2, 25), ((3,), 5, 20)]
)
def test_ranges_are_those_of_every_table_that_fits(shape: tuple[int, ...], most: int, tried: int) -> None:
    """The grand total is published and no larger than `most`, so that no table beyond the enumerated fits."""
    rng = np.random.default_rng(len(shape) * 10 + most)
    everything = list(every_table(shape, most))
    last = tuple(size for size in shape)
    small = [one for one in everything if one[last] <= most]
    for _ in range(tried):
        table = small[rng.integers(len(small))]
        places = [p for p in np.ndindex(table.shape) if p != last and rng.random() < 0.5]
        if not places:
            continue
        published = hidden(table, places)
        known = np.array([one is not None for one in published.ravel()]).reshape(published.shape)
        fitting = [one for one in small if (one[known] == table[known]).all()]
        for found in cell_ranges(published):
            counts = [int(one[found.place]) for one in fitting]
            low, high = min(counts), max(counts)
            assert found.low <= low
            assert found.high is not None
            assert found.high >= high
            # An end that is called attained is one, and in two dimensions all are.
            assert not found.attained[0] or found.low == low
            assert not found.attained[1] or found.high == high
            if len(shape) <= 2:
                assert (found.low, found.high, found.attained) == (low, high, (True, True))


def test_secondary_suppression_that_protects_and_one_that_does_not() -> None:
    """A square of four cells moves by what its smallest corner allows; a cell alone in its column cannot."""
    table = with_all_margins([[20, 3, 10], [8, 1, 26], [2, 14, 9]])
    square = [(0, 1), (0, 2), (1, 1), (1, 2)]
    moved = {(0, 1): (0, 4), (0, 2): (9, 13), (1, 1): (0, 4), (1, 2): (23, 27)}
    assert {one.place: (one.low, one.high) for one in cell_ranges(hidden(table, square))} == moved
    lone = [*square[:2], (1, 1), (2, 0)]
    assert all(one.low == one.high == table[one.place] for one in cell_ranges(hidden(table, lone)))


def test_without_margins_nothing_bounds_a_cell() -> None:
    table = hidden(with_all_margins([[5, 1], [2, 7]]), [(0, 0), (0, 2), (2, 0), (2, 2)])
    ranges = {one.place: one for one in cell_ranges(table)}
    assert (ranges[0, 0].low, ranges[0, 0].high) == (0, None)
    assert (ranges[0, 2].low, ranges[0, 2].high) == (1, None)
    assert (ranges[2, 2].low, ranges[2, 2].high) == (10, None)


@pytest.mark.parametrize(
    ("table", "rule"),
    [
        ([[1, 2, 4], [0, 1, 1], [1, 3, 4]], "does not add up to its margin: it is off by 1"),
        ([[None, None, 3], [None, 5, 4], [1, 6, 7]], "No table of counts fits"),
        ([[1, -1, 0], [0, 1, 1], [1, 0, 1]], "whole numbers from 0"),
        ([[1, 0.5, 1], [0, 1, 1], [1, 1, 2]], "whole numbers from 0"),
        ([[1, True, 2], [0, 1, 1], [1, 2, 3]], "whole numbers from 0"),
        ([], "a margin at the end of each dimension"),
        ([5], "a margin at the end of each dimension"),
    ],
)
def test_what_no_table_has_is_refused(table: Any, rule: str) -> None:
    with pytest.raises((InvalidInput, InvalidParameter), match=rule):
        cell_ranges(table)


PUBLISHED = "region,sex,n\nN,f,*\nN,m,x\nN,all,5\nS,f,\nS,m,4\nS,all,6\nall,f,5\nall,m,6\nall,all,11\n"


def test_a_published_file_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(PUBLISHED)
    done = leakcap(
        "attack", "suppressed", "t.csv", "--total", "all", "--json", "--report", "p.html", cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    (found,) = json.loads(done.stdout)["findings"]
    assert (found["got"], found["at_most"], found["cells"]) == (3.0, 3.0, 3)
    assert found["counts"] == ["N, f: 3", "N, m: 2", "S, f: 2"]
    assert "N, f: 3; N, m: 2; S, f: 2" in (tmp_path / "p.html").read_text(encoding="utf-8")
    table = read_published_table(tmp_path / "t.csv", "all")
    assert suppressed(table).counts == tuple(found["counts"])
    # A line that is not there is not published either.
    (tmp_path / "t.csv").write_text(PUBLISHED.replace("S,f,\n", ""))
    assert read_published_table(tmp_path / "t.csv", "all") == table


BAD = {
    "": "must have a head",
    "n\n1\n": "must have a head",
    "a,n\nx,1\ny,2,3\ntotal,4\n": "must have a head",
    "a,n\nx,1\ny,2\n": "must have margins: no line has `total` for `a`",
    "a,n\nx,1\nx,2\ntotal,3\n": "Line 3 of .* a cell that stood before",
    "a,n\nx,1.5\ntotal,3\n": "Line 2 of .* must end with a count",
    "a,n\nx,-1\ntotal,3\n": "Line 2 of .* must end with a count",
    "a,n\nx,secret\ntotal,3\n": "Line 2 of .* must end with a count",
}


@pytest.mark.parametrize("text", BAD)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(LeakcapError, match=BAD[text]) as caught:
        read_published_table(tmp_path / "t.csv")
    assert "secret" not in str(caught.value)


@pytest.mark.slow
def test_twenty_by_twenty_by_five_within_the_time() -> None:
    """Counts from 1 to 4 are suppressed, 698 of 2,000; all ends are attained: nobody can tell more."""
    rng = np.random.default_rng(0)
    inner = rng.poisson(rng.gamma(0.6, 12, (20, 20, 5)))
    table = with_all_margins(inner)
    places = [place for place in np.ndindex(20, 20, 5) if 0 < inner[place] < 5]
    start = time.process_time()
    ranges = cell_ranges(hidden(table, places))
    seconds = time.process_time() - start
    assert [one.place for one in ranges] == places
    for one in ranges:
        assert one.high is not None
        assert one.low <= inner[one.place] <= one.high
    assert sum(all(one.attained) for one in ranges) >= 0.99 * len(ranges)
    assert sum(one.low == one.high for one in ranges) > 100
    assert seconds < 60  # 21 s, with room for a busy machine


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,n\n\xff,1\n")
    with pytest.raises(InvalidInput, match="must be CSV in UTF-8"):
        read_published_table(tmp_path / "t.csv")
    # How long a field may be is a setting of the whole process, which others raise.
    (tmp_path / "t.csv").write_bytes(b"a,n\ntotal," + b"1" * 200_000 + b"\n")
    with pytest.raises(InvalidInput, match=r"must be CSV in UTF-8|must end with a count"):
        read_published_table(tmp_path / "t.csv")
