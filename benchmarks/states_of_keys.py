"""How many states the exact law of a table with all its margins takes.

    python benchmarks/states_of_keys.py [A B C]

The keys of the published cells of an A × B × C table (12 × 20 × 6 unless said) make a code over ℤ_K. Whoever
adds up along a tree, whichever it is (elimination in any order, junction trees, partial sums), holds at some
edge at least K^λ numbers. A lower bound of λ is computed from a minor of the relations between the cells,
which is made and checked here step by step; the proof is in docs/theory/cell-keys.md. No cell is empty, and K
is a power of two.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import combinations, product
from math import ceil, floor, log10

__all__ = ["apart_at_most", "checked", "enough", "fewest", "published", "relations", "squares_and_edges"]

Cell = tuple[int | None, int | None, int | None]
"""Which value a published cell has of each column; None where it is a margin over the column."""
Edge = frozenset[tuple[int, int]]


def published(sizes: Sequence[int]) -> list[Cell]:
    """The cells of the table and of all its margins, the total last."""
    found: list[Cell] = []
    for over in range(4):
        for summed in combinations(range(3), over):
            values = [[None] if place in summed else list(range(size)) for place, size in enumerate(sizes)]
            found += [(one, two, three) for one, two, three in product(*values)]
    return found


def relations(cells: Sequence[Cell]) -> dict[Cell, int]:
    """In which relations a cell takes part, as bits: each margin is the sum of the table's cells in it."""
    margins = [cell for cell in cells if None in cell]
    place = {margin: 1 << number for number, margin in enumerate(margins)}
    found = dict(place)
    for cell in cells:
        if None not in cell:
            around = product(*((value, None) for value in cell))
            found[cell] = sum(
                place[one, two, three] for one, two, three in around if None in (one, two, three)
            )
    return found


def enough(sizes: Sequence[int]) -> int:
    """How many sums an order of the cells takes: one value of a column after another.

    Open are the sums of each pair of values of the two other columns, those of one such column within the
    value, and that of the row. The margins of fewer columns are sums of these.
    """
    return min(sizes[one] * sizes[two] + sizes[two] + 1 for one in range(3) for two in range(3) if one != two)


def squares_and_edges(sizes: Sequence[int], joining: int) -> tuple[list[tuple[int, int]], set[Edge]]:
    """The graph that is left of the relations: squares (b, c), and which of them are joined.

    Left out are margins of one column, the total, the margin (a, c) for the first `joining` values of a, and
    (a, b) for the others. A cell (a, b, c) has two relations then: that of its square, and that of a hub,
    (a, b) or (a, c). Each hub is put onto one of its squares, by contracting the cell there.
    """
    cells = published(sizes)
    vectors = relations(cells)
    margins = [cell for cell in cells if None in cell]
    kept = {
        cell
        for cell in margins
        if cell.count(None) == 1
        and (cell[0] is None or (cell[2] is None) == (cell[0] < joining))
    }  # fmt: skip
    mask = sum(vectors[cell] for cell in kept)
    names = {vectors[cell]: cell for cell in kept}
    squares = [(b, c) for b in range(sizes[1]) for c in range(sizes[2])]
    ends: dict[Cell, Cell] = {}
    two: list[tuple[Cell, Cell]] = []
    for cell in cells:
        if None in cell:
            continue
        left = vectors[cell] & mask
        bits = [1 << place for place in range(left.bit_length()) if left >> place & 1]
        assert len(bits) == 2, "a cell with other than two relations is no edge"
        hub, square = sorted((names[bit] for bit in bits), key=lambda one: one[0] is None)
        assert hub[0] is not None
        assert square[0] is None
        two.append((hub, square))
        # The first hubs take the first squares of their row, or of their column from its own row on.
        row = hub[2] is None
        along, turn = (square[2], hub[0]) if row else (square[1], hub[0] - joining)
        if along == turn % (sizes[2] if row else sizes[1]):
            ends[hub] = square
    edges: set[Edge] = set()
    for hub, square in two:
        own, other = ends[hub], square
        if own != other:
            edges.add(frozenset({(own[1] or 0, own[2] or 0), (other[1] or 0, other[2] or 0)}))
    return squares, edges


def apart_at_most(rows: int, columns: int, in_row: int, in_column: int) -> int:
    """The most squares in two sets without an edge between them, one of n/2 and one of 2n/3 at most.

    Of each row `in_row` squares are joined to all others of it, of each column `in_column`. Rows and columns
    have squares of one set, of the other, or of both; those of both have none of the squares that are joined
    to all. The bound counts the squares by how many rows and columns of each sort there are.
    """
    squares, best = rows * columns, 0
    caps = (squares // 2, 2 * squares // 3)
    for ones, twos in product(range(rows + 1), repeat=2):
        both = rows - ones - twos
        if both < 0 or (both and in_row >= columns - 1):
            continue
        for up, down in product(range(columns + 1), repeat=2):
            mixed = columns - up - down
            if mixed < 0 or (mixed and in_column >= rows - 1):
                continue
            alone = ones * up + twos * down
            by_column = min(mixed * rows, mixed * (rows - in_column))
            by_row = min(both * columns, both * (columns - in_row))
            most = min(
                alone + by_column + both * (up + down),
                alone + by_row + mixed * (ones + twos),
            )
            first = ones * (up + mixed) + both * (up + mixed)
            second = twos * (down + mixed) + both * (down + mixed)
            capped = max(
                min(caps[0], first) + min(caps[1], second), min(caps[1], first) + min(caps[0], second)
            )
            best = max(best, min(most, capped))
    return best


def fewest(sizes: Sequence[int]) -> tuple[int, tuple[int, ...], int]:
    """The best lower bound of the largest λ, with the order of the columns and how many values join rows."""
    found = []
    for order in ((0, 1, 2), (1, 0, 2), (2, 0, 1)):
        slabs, rows, columns = (sizes[place] for place in order)
        for joining in range(slabs + 1):
            in_row, in_column = min(joining, columns), min(slabs - joining, rows)
            bound = rows * columns - apart_at_most(rows, columns, in_row, in_column)
            found.append((bound, order, joining))
    return max(found)


def checked(sizes: Sequence[int], order: Sequence[int], joining: int) -> None:
    """Whether the graph that the relations leave is the one whose bound was computed."""
    slabs, rows, columns = (sizes[place] for place in order)
    squares, edges = squares_and_edges((slabs, rows, columns), joining)
    for line in [[(b, c) for c in range(columns)] for b in range(rows)]:
        universal = sum(
            all(one == other or frozenset({one, other}) in edges for other in line) for one in line
        )
        assert universal >= min(joining, columns)
    for line in [[(b, c) for b in range(rows)] for c in range(columns)]:
        universal = sum(
            all(one == other or frozenset({one, other}) in edges for other in line) for one in line
        )
        assert universal >= min(slabs - joining, rows)
    assert len(squares) == rows * columns


def main(sizes: Sequence[int]) -> None:
    bound, order, joining = fewest(sizes)
    checked(sizes, order, joining)
    most, shown = enough(sizes), " × ".join(map(str, sizes))
    print(
        f"{shown}, all margins: at least K^{bound} states on some edge of every tree, K^{most} in one order"
    )
    print(f"(columns {order}, {joining} values join rows)")
    for keys in (2, 256, 4096):
        least, sure = floor(bound * log10(keys)), ceil(most * log10(keys))
        print(f"  K = {keys}: at least 10^{least}, 10^{sure} are enough")


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:4]] or [12, 20, 6])
