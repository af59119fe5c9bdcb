"""Secondary suppression by τ-ARGUS' engine on a real two-way table, beside every table and its own audit.

Hair and eyes of 592 students (Snee 1974, HairEyeColor of R). The engine is `pytauargus`, with HiGHS.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakcap.attack import HiddenCount, cell_ranges, read_published_table, suppressed

HAIR, EYES = ("Black", "Brown", "Red", "Blond"), ("Brown", "Blue", "Hazel", "Green")
STUDENTS = np.array([[68, 20, 15, 5], [119, 84, 54, 29], [26, 17, 14, 14], [7, 94, 10, 16]])
FILE = "examples/disclosure/hair-and-eyes.csv"
Ranges = dict[tuple[int, ...], tuple[int, int]]


def by_every_table(hidden: np.ndarray, low: np.ndarray, high: np.ndarray) -> Ranges:
    """The least and the largest count of each hidden cell, over all tables of counts that add up."""
    places = [(int(row), int(column)) for row, column in zip(*np.nonzero(hidden), strict=True)]
    rows = (STUDENTS * hidden).sum(axis=1).tolist()
    columns = (STUDENTS * hidden).sum(axis=0).tolist()
    found: Ranges = {}
    chosen: list[int] = []

    def fill(at: int) -> None:
        if at == len(places):
            if any(rows) or any(columns):
                return
            for place, value in zip(places, chosen, strict=True):
                least, most = found.get(place, (value, value))
                found[place] = (min(least, value), max(most, value))
            return
        row, column = places[at]
        last_of_row = all(place[0] != row for place in places[at + 1 :])
        last_of_column = all(place[1] != column for place in places[at + 1 :])
        top = min(rows[row], columns[column], int(high[row, column]))
        values = range(int(low[row, column]), top + 1)
        if last_of_row:
            values = range(rows[row], rows[row] + 1) if rows[row] in values else range(0)
        elif last_of_column:
            values = range(columns[column], columns[column] + 1) if columns[column] in values else range(0)
        for value in values:
            rows[row] -= value
            columns[column] -= value
            chosen.append(value)
            fill(at + 1)
            chosen.pop()
            rows[row] += value
            columns[column] += value

    fill(0)
    return found


def ours(hidden: np.ndarray, low: np.ndarray | None = None, high: np.ndarray | None = None) -> Ranges:
    """The same by `cell_ranges`, with what is known of the cells."""
    cells = np.zeros((5, 5), dtype=object)
    cells[:4, :4] = STUDENTS
    cells[4, :4], cells[:4, 4], cells[4, 4] = STUDENTS.sum(axis=0), STUDENTS.sum(axis=1), STUDENTS.sum()
    for row, column in zip(*np.nonzero(hidden), strict=True):
        known = low is not None and high is not None
        ends = (int(low[row, column]), int(high[row, column])) if known else (0, None)  # type: ignore[index]
        cells[row, column] = HiddenCount(*ends)
    found = cell_ranges(cells)
    assert all(one.attained == (True, True) for one in found)
    return {one.place: (one.low, int(one.high or 0)) for one in found}


def protected(
    rule: str, folder: Path
) -> tuple[np.ndarray, np.ndarray, dict[tuple[int, int], tuple[int, int]]]:
    """Which cells the engine suppresses, which of them for themselves, and the intervals of its audit."""
    tau = pytest.importorskip("pytauargus")
    people = [(hair, eyes) for at, hair in enumerate(HAIR) for to, eyes in enumerate(EYES)
              for _ in range(STUDENTS[at, to])]  # fmt: skip
    micro = {
        "Hair": [hair for hair, _ in people],
        "Eye": [eyes for _, eyes in people],
        "n": [1] * len(people),
    }
    with contextlib.chdir(folder):  # it leaves its logs where it is run
        done = tau.protect(
            micro, ["Hair", "Eye"], response="n", safety_rules=rule, suppress="OPT(1)", totcode="Total",
            workdir=str(folder),
        )  # fmt: skip
    table = done.tables[0]
    audit = {row["cell"]: row for row in done.engine.audit(0)}
    hidden, unsafe = np.zeros((4, 4), dtype=bool), np.zeros((4, 4), dtype=bool)
    found: Ranges = {}
    lines: list[dict[str, Any]] = list(table.rows)
    told = zip(lines, table.safe("x"), table.status(), strict=True)
    for number, (line, shown, status) in enumerate(told):
        if shown == "x":
            place = HAIR.index(line["Hair"].strip()), EYES.index(line["Eye"].strip())
            hidden[place], unsafe[place] = True, status == "U"
            found[place] = (int(audit[number]["min"]), int(audit[number]["max"]))
    return hidden, unsafe, found


@pytest.mark.parametrize(("least", "percent"), [(10, 10), (10, 20), (15, 30)])
def test_its_audit_is_met_where_as_much_is_known(least: int, percent: int, tmp_path: Path) -> None:
    """The engine takes ends for known: below, the smallest count of the table, or an unsafe count less what
    protects it (a share of it, 1 or more) if that is smaller; above, the total. With these known its own
    intervals, ours and those of every table agree; a stranger is left with wider ones.
    """
    hidden, unsafe, audited = protected(f"FREQ({least},{percent})", tmp_path)
    assert unsafe.any()
    assert (hidden & ~unsafe).any()
    smallest = int(STUDENTS.min())
    protection = np.maximum(1, STUDENTS * percent / 100)
    low = np.where(unsafe, np.minimum(smallest, np.ceil(STUDENTS - protection)), smallest).astype(int)
    high = np.full((4, 4), int(STUDENTS.sum()))
    assert ours(hidden, low, high) == audited == by_every_table(hidden, low, high)
    stranger = ours(hidden)
    assert stranger == by_every_table(hidden, np.zeros((4, 4), dtype=int), high)
    assert all(
        stranger[place][0] <= ends[0] and ends[1] <= stranger[place][1] for place, ends in audited.items()
    )


def test_the_published_example_is_what_the_engine_makes(tmp_path: Path) -> None:
    hidden, _, _ = protected("FREQ(10,10)", tmp_path)
    table = np.array(read_published_table(FILE).cells, dtype=object)
    assert ((table[:4, :4] == None) == hidden).all()  # noqa: E711
    assert (table[:4, :4][~hidden] == STUDENTS[~hidden]).all()


def test_the_published_example_by_every_table() -> None:
    """Also where the engine is not at hand. Who knows the rule, below ten is unsafe, still knows no cell."""
    table = read_published_table(FILE)
    cells = np.array(table.cells, dtype=object)
    hidden = np.array([[one is None for one in row] for row in cells[:4, :4]])
    nothing, everybody = np.zeros((4, 4), dtype=int), np.full((4, 4), 592)
    want = by_every_table(hidden, nothing, everybody)
    assert {one.place: (one.low, one.high) for one in cell_ranges(table.cells)} == want
    assert len(want) == 6
    assert suppressed(table).got == 0
    assert all(low <= STUDENTS[place] <= high for place, (low, high) in want.items())


def test_planted_primary_cells_alone() -> None:
    """A planted flaw: without secondary cells every unsafe count follows from its margin."""
    hidden = STUDENTS < 10
    found = ours(hidden)
    assert found == {(0, 3): (5, 5), (3, 0): (7, 7)}
