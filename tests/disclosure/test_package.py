"""100,000 publications by the offices' own package, `cell-key-perturbation` 3.1.0, against the computed law.

The keys are drawn by a seeded generator. Each outcome's number is held to the two tails of its exact binomial
law; all together raise a false alarm in at most one of a million runs with other seeds.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pandas
import pytest
from scipy.stats import binom

from leakcap.disclosure.cell_key import CellKey, PerturbationTable
from leakcap.disclosure.joint import margin_channel, margin_success
from leakcap.disclosure.joint.every_key import shares_by_every_key
from leakcap.disclosure.joint.keyed import RowsByKey
from leakcap.disclosure.joint.published import TableSet, all_margins
from leakcap.disclosure.whole_set import WholeSet

package = importlib.import_module("cell_key_perturbation.create_perturbed_table")

KEYS, RUNS, ALARM = 256, 50_000, 1e-6
# Maximum-entropy rows with D = 5 and V = 3: how many of the 256 keys show each perturbation from −n to 5.
SHOWN = [
    [256],
    [160, 42, 15, 9, 7, 9, 14],
    [60, 58, 50, 38, 25, 14, 8, 3],
    [18, 35, 51, 55, 47, 29, 14, 6, 1],
    [5, 14, 31, 50, 58, 49, 30, 13, 5, 1],
    [1, 4, 14, 30, 50, 58, 50, 30, 14, 4, 1],
]
ROWS = [np.repeat(np.arange(-n, -n + len(each)), each).tolist() for n, each in enumerate(SHOWN)]
PTABLE = [(n, key, ROWS[min(n, 5)][key]) for n in range(1, 751) for key in range(KEYS)]

Keys = Callable[[np.random.Generator, int, list[int]], np.ndarray]
Outcomes = Counter[tuple[int, ...]]


def independent(chance: np.random.Generator, world: int, counts: list[int]) -> np.ndarray:
    return chance.integers(0, KEYS, (RUNS, sum(counts)))


def reused(chance: np.random.Generator, world: int, counts: list[int]) -> np.ndarray:
    """The first person's key is that of the last one, too: of the sibling, where it has one person."""
    keys = independent(chance, world, counts)
    keys[:, -1] = keys[:, 0]
    return keys


def smaller(chance: np.random.Generator, world: int, counts: list[int]) -> np.ndarray:
    """Keys of another modulus than the table's."""
    return chance.integers(0, 200, (RUNS, sum(counts)))


def fixed(chance: np.random.Generator, world: int, counts: list[int]) -> np.ndarray:
    """Each run's keys are those of the first."""
    return np.tile(chance.integers(0, KEYS, sum(counts)), (RUNS, 1))


def published(
    world: int, cell: int, siblings: list[int], keys: Keys = independent, modulus: int = KEYS
) -> Outcomes:
    """What the package publishes: cell, margin, and what it adds to the siblings, in the channel's order."""
    counts = [cell + world, *siblings]
    data = pandas.DataFrame({
        "run": np.repeat(np.arange(RUNS), sum(counts)),
        "part": np.tile(np.repeat(np.arange(len(counts)), counts), RUNS),
        "record_key": keys(np.random.default_rng([16, world, *counts]), world, counts).ravel(),
    })  # fmt: skip
    if not counts[0]:  # the package lists an empty part where some other run has somebody in it
        data = pandas.concat([
            data,
            pandas.DataFrame({"run": [RUNS], "part": [0], "record_key": [0]}),
        ])  # fmt: skip
    table = pandas.DataFrame([row for row in PTABLE if row[1] < modulus], columns=["pcv", "ckey", "pvalue"])
    shown = [
        package.create_perturbed_table(data, table, ["run"], parts, "record_key", threshold=0)
        for parts in (["part"], [])
    ]
    cells = shown[0].pivot(index="run", columns="part", values="count").to_numpy(int)[:RUNS]
    margin = shown[1].set_index("run")["count"].to_numpy(int)[:RUNS]
    noise = [np.sort(cells[:, 1:] - np.array(siblings), axis=1)] if siblings else []
    seen = np.column_stack([cells[:, :1], margin, *noise])
    return Counter(map(tuple, seen.tolist()))


def law(cell: int, siblings: list[int]) -> dict[tuple[int, ...], tuple[Fraction, Fraction]]:
    channel = margin_channel(ROWS, cell, siblings)
    exact = channel.as_exact()
    assert exact is not None
    return {y: (absent, present) for y, absent, present in zip(channel.outputs, *exact, strict=True)}


def chance_of(seen: list[Outcomes], law: dict[tuple[int, ...], tuple[Fraction, Fraction]]) -> float:
    """At most how likely it is that some outcome's number is as far off as the farthest of `seen`."""
    least, looks = 1.0, 2 * len(law)
    for world in (0, 1):
        assert seen[world].total() == RUNS
        if not set(seen[world]) <= {y for y, p in law.items() if p[world]}:
            return 0.0
        numbers = np.array([seen[world][y] for y in law])
        shares = np.array([float(p[world]) for p in law.values()])
        tails = np.minimum(binom.cdf(numbers, RUNS, shares), binom.sf(numbers - 1, RUNS, shares))
        least = min(least, float(2 * tails.min()))
    return min(1.0, least * looks)


# The parts of a margin: the person's cell without them, and its siblings, equal ones in one row of the table.
MARGINS = [(1, [20]), (0, [20]), (2, [1]), (1, [7, 7]), (4, [5, 6])]


@pytest.mark.parametrize(("cell", "siblings"), MARGINS)
def test_publications_agree_with_the_law(cell: int, siblings: list[int]) -> None:
    seen = [published(world, cell, siblings) for world in (0, 1)]
    assert chance_of(seen, law(cell, siblings)) > ALARM


def test_the_best_guess_is_right_as_often_as_computed() -> None:
    """The reference is .805; it would be .723 for the cell and the margin without the sibling."""
    computed = law(1, [20])
    right = 0.0
    for world in (0, 1):
        for y, number in published(world, 1, [20]).items():
            here, there = computed[y][world], computed[y][1 - world]
            right += number * (1.0 if here > there else 0.5 if here == there else 0.0)
    bound = margin_success(ROWS, 1, [20])
    assert round(bound.lower, 3) == round(bound.upper, 3) == 0.805
    half = 4.9 * (0.805 * 0.195 / (2 * RUNS)) ** 0.5  # a normal's two tails beyond 4.9 hold 1e-6
    assert bound.lower - half <= right / (2 * RUNS) <= bound.upper + half


@pytest.mark.parametrize("fault", [reused, smaller, fixed])
def test_faults_of_the_keys_are_caught(fault: Keys) -> None:
    seen = [published(world, 1, [1], fault) for world in (0, 1)]
    assert chance_of(seen, law(1, [1])) < ALARM


def test_a_wrong_modulus_is_caught() -> None:
    """The package takes the largest key of the table that it is given for its modulus."""
    seen = [published(world, 1, [20], modulus=200) for world in (0, 1)]
    assert chance_of(seen, law(1, [20])) < ALARM


# 2 × 2 with all margins, one kind empty: what the package publishes of each of nine cells, eight keys.
SMALL = 8
EIGHT = PerturbationTable((
    ((0, Fraction(1)),),
    ((-1, Fraction(3, 8)), (0, Fraction(5, 8)), (2, Fraction(1))),
    ((-2, Fraction(1, 8)), (-1, Fraction(3, 8)), (0, Fraction(6, 8)), (1, Fraction(1))),
))  # fmt: skip
SET = TableSet.of_columns([2, 1, 1, 0], {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, all_margins(["a", "b"]))


def set_published(kind: int, world: int, shift: int = 0) -> Outcomes:
    """The cells of all four tables, run by run; `shift` is added to each key of the margins by "a"."""
    counts = SET.counts + world * (np.arange(4) == kind)
    people = np.repeat(np.arange(4), counts)
    chance = np.random.default_rng([17, kind, world])
    data = pandas.DataFrame({
        "run": np.repeat(np.arange(RUNS), len(people)),
        "a": np.tile(people // 2, RUNS),
        "b": np.tile(people % 2, RUNS),
        "record_key": chance.integers(0, SMALL, len(people) * RUNS),
    })  # fmt: skip
    # The package lists an empty cell where some other run has somebody in it.
    more = pandas.DataFrame({"run": RUNS, "a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "record_key": 0})
    data = pandas.concat([data, more])
    rows = EIGHT.by_key(SMALL)
    noise = pandas.DataFrame(
        [(n, key, rows[min(n, 2)][key]) for n in range(1, 751) for key in range(SMALL)],
        columns=["pcv", "ckey", "pvalue"],
    )
    shown = []
    for by in (["a", "b"], ["a"], ["b"], []):
        given = data.assign(record_key=(data.record_key + shift) % SMALL) if by == ["a"] else data
        table = package.create_perturbed_table(given, noise, ["run"], by, "record_key", threshold=0)
        cells = (
            table.pivot_table(index="run", columns=by, values="count")
            if by
            else table.set_index("run")[["count"]]
        )
        shown.append(cells.to_numpy()[:RUNS].astype(int))
    return Counter(map(tuple, np.column_stack(shown).tolist()))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [0, 3])
def test_all_margins_of_a_table_agree_with_the_law(kind: int) -> None:
    rows = RowsByKey(CellKey(EIGHT), SMALL)
    laws = [shares_by_every_key(SET, kind, more, rows.row, SMALL) for more in (0, 1)]
    nothing = Fraction(0)
    law = {
        y: (Fraction(laws[0].get(y, 0)), Fraction(laws[1].get(y, 0))) for y in laws[0] | laws[1]
    }  # dyadic: doubles hold them exactly
    seen = [set_published(kind, world) for world in (0, 1)]
    assert chance_of(seen, law) > ALARM
    right = sum(
        seen[world][y] for y, each in law.items() for world in (0, 1) if each[world] > each[1 - world]
    ) + sum(seen[0][y] for y, each in law.items() if each[0] == each[1] != nothing)
    # The best guess, as often right as the set's interval says, within six deviations of 100,000 runs.
    bound = WholeSet(CellKey(EIGHT), SET, SMALL).at(kind).success()
    assert abs(right / (2 * RUNS) - bound.upper) < 6 * 0.5 / (2 * RUNS) ** 0.5
    # A planted error: keys of one table are moved.
    assert chance_of([set_published(kind, world, shift=1) for world in (0, 1)], law) < ALARM
