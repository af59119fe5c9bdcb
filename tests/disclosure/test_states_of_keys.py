"""How many states a table with all its margins takes at least: the steps of the proof by other routes."""

from __future__ import annotations

import importlib
from itertools import combinations, product
from pathlib import Path
from typing import Any

import flint
import numpy as np
import pytest

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")


@pytest.fixture
def states(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("states_of_keys")


def in_cells(sizes: tuple[int, ...], cells: list[Any]) -> np.ndarray:
    """Which kinds of people each cell counts."""
    kinds = list(product(*map(range, sizes)))
    return np.array([
        [all(own in (None, value) for own, value in zip(cell, kind, strict=True)) for kind in kinds]
        for cell in cells
    ]).astype(int)  # fmt: skip


def shared(counted: np.ndarray, some: np.ndarray) -> int:
    """λ, from the cells' own kinds: ranks over two elements by FLINT."""
    parts = (counted[some], counted[~some], counted)
    first, second, both = (
        flint.nmod_mat(len(part), part.shape[1], part.ravel().tolist(), 2).rank() for part in parts
    )
    return int(first + second - both)


def test_the_figure_of_twelve_by_twenty_by_six(states: Any) -> None:
    bound, order, joining = states.fewest((12, 20, 6))
    assert (bound, states.enough((12, 20, 6))) == (31, 79)
    states.checked((12, 20, 6), order, joining)
    # Hubs of five values of the first column join rows of six squares fully, those of seven their columns.
    assert (order, joining) == ((0, 1, 2), 5)


def most_apart(rows: int, columns: int, edges: set[Any]) -> int:
    """The most squares in two sets without an edge between them, of all pairs of sets."""
    squares, best = list(product(range(rows), range(columns))), 0
    joined = np.array([[frozenset({one, other}) in edges for other in squares] for one in squares])
    for small in range(len(squares) // 2 + 1):
        for some in combinations(range(len(squares)), small):
            near = joined[list(some)].any(axis=0)
            free = len(squares) - small - int(np.delete(near, list(some)).sum())
            best = max(best, small + min(free, 2 * len(squares) // 3))
    return best


@pytest.mark.parametrize(
    ("slabs", "rows", "columns", "joining"),
    [
        (2, 3, 2, 1),
        (3, 3, 3, 1),
        (3, 3, 3, 2),
        (4, 3, 3, 2),
        (2, 4, 2, 1),
        (3, 5, 2, 1),
        (4, 4, 3, 2),
        (1, 3, 3, 1),
    ],
)
def test_squares_apart_are_no_more_than_the_bound(
    states: Any, slabs: int, rows: int, columns: int, joining: int
) -> None:
    squares, edges = states.squares_and_edges((slabs, rows, columns), joining)
    assert len(squares) == rows * columns
    states.checked((slabs, rows, columns), (0, 1, 2), joining)
    bound = states.apart_at_most(rows, columns, min(joining, columns), min(slabs - joining, rows))
    truth = most_apart(rows, columns, edges)
    assert truth <= bound <= rows * columns
    # Edges that are not there make the bound too small: a square more in each line is noticed.
    if (slabs, rows, columns) in {(2, 4, 2), (3, 5, 2)}:
        assert truth > states.apart_at_most(rows, columns, columns, rows)


def test_the_number_of_states_by_listing_all_keys(states: Any) -> None:
    # Cells of 2 × 2 × 2 with four keys: what both sides can be together falls into blocks, within each
    # of which every pair is there; a route through this edge must tell them apart.
    cells = states.published((2, 2, 2))
    counted = in_cells((2, 2, 2), cells)
    drawn = np.indices((4,) * 8).reshape(8, -1)
    keys = counted @ drawn % 4
    draw = np.random.default_rng(5)
    for _ in range(6):
        some = draw.random(len(cells)) < 0.5
        numbers = [4 ** np.arange(side.sum()) @ keys[side] for side in (some, ~some)]
        sides = [np.unique(own, return_inverse=True)[1].ravel() for own in numbers]
        # Blocks: the sides that go together with the same first partner.
        partner = np.full(sides[0].max() + 1, sides[1].max() + 1)
        np.minimum.at(partner, *sides)
        blocks = len(np.unique(partner))
        pairs = len(np.unique(sides[0] * (sides[1].max() + 1) + sides[1]))
        assert pairs * blocks == (sides[0].max() + 1) * (sides[1].max() + 1)
        assert blocks >= 4 ** shared(counted, some) > 1


@pytest.mark.parametrize("sizes", [(3, 2, 2), (3, 3, 2), (4, 3, 3)])
def test_no_balanced_cut_has_fewer(states: Any, sizes: tuple[int, int, int]) -> None:
    """A search for the least λ, from cuts by a column's values and at random: none is below the bound."""
    bound, order, _ = states.fewest(sizes)
    assert bound >= 1
    cells = states.published(sizes)
    counted = in_cells(sizes, cells)
    marked = np.array([cell[order[0]] is None and cell.count(None) == 1 for cell in cells])
    squares = int(marked.sum())
    draw, least = np.random.default_rng(3), []
    starts = [draw.random(len(cells)) < share for share in (0.35, 0.5)]
    starts += [np.array([cell[place] == 0 for cell in cells]) for place in range(3)]
    for some in starts:
        value = shared(counted, some)
        for _ in range(60):
            other = some.copy()
            other[draw.integers(len(cells))] ^= True
            inside = int(other[marked].sum())
            if squares / 3 <= min(inside, squares - inside) <= squares / 2:
                new = shared(counted, other)
                if new <= value or not squares / 3 <= min(some[marked].sum(), (~some)[marked].sum()):
                    some, value = other, new
        inside = int(some[marked].sum())
        if squares / 3 <= min(inside, squares - inside):
            least.append(value)
    assert len(least) >= 2
    assert bound <= min(least) <= states.enough(sizes)


def test_an_order_takes_as_many_sums_as_said(states: Any) -> None:
    # 3 × 2 × 2, cells by value of the first column and row, each margin once it is full: λ before each cell.
    sizes = (3, 2, 2)
    ends = [size - 1 for size in sizes]
    cells = sorted(
        states.published(sizes),
        key=lambda cell: (*(ends[i] if own is None else own for i, own in enumerate(cell)), None in cell),
    )
    counted = in_cells(sizes, cells)
    widest = max(shared(counted, np.arange(len(cells)) < place) for place in range(1, len(cells)))
    assert states.enough(sizes) == 2 * 2 + 2 + 1 >= widest >= states.fewest(sizes)[0]
