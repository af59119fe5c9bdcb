"""The drawings of the tutorials in which an office publishes: a series, a census, a public-use file, a table.

All of them are computed from plans of noise and from methods, which know no data.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from canvas import Canvas, Plot
from leakcap.choosing import OfficeMethod, told_by
from leakcap.running.plan import RunningPlan
from leakcap.tables import Hierarchy
from leakcap.tables.hierarchies.fit import TreeFit
from leakcap.tables.hierarchies.plan import HierarchyPlan
from leakcap.tables.plan import ResidualPlan
from leakcap.tables.workload import Workload

CENSUS = {"region": 4, "sex": 2, "band": 6, "activity": 5}
PAIRS, SINGLE = [list(pair) for pair in itertools.combinations(CENSUS, 2)], [[name] for name in CENSUS]
TABLES_RHO, TREE_RHO = 0.0243519, 0.00664115
"""What ε = 1 and ε = 0.5 buy at the δ of the tutorials' policies."""
HOSPITAL = {"diagnosis": 2, "radius": 5, "texture": 4}


def series() -> Canvas:
    """The error of a running total over a year of weeks, with noise of each week's own and planned together."""
    weights = [float(one) for one in RunningPlan.of(53, 0.02).factor.weights]
    squares = np.cumsum(np.square(np.array(weights) / weights[0]))
    weeks = list(range(1, 54))
    alone, planned = [math.sqrt(n) for n in weeks], [float(x) for x in np.sqrt(squares[-1] * squares)]
    c = Canvas("series", 560, 330, "A total of a year of weeks, at the same price",
               "The error of the running total after each of 53 weeks, in units of the error of one count. With noise of each "
               "week's own it grows to 7.3; planned together it starts at 1.5 and stays below 2.4.")  # fmt: skip
    plot = Plot(c, (56, 40, 380, 230), (0.0, 53.0), (0.0, 8.0))
    plot.ticks({0: "0", 13: "13", 26: "26", 39: "39", 53: "53"}, {0: "0", 2: "2", 4: "4", 6: "6", 8: "8"})
    plot.titles("weeks so far", "error of the total, in counts")
    plot.curve(weeks, alone, "warm")
    plot.curve(weeks, planned, "accent")
    for found, words, kind in ((alone, "week by week", "warm-text"), (planned, "planned", "accent-text")):
        x, y = plot.at(53, found[-1])
        c.text(x + 6, y + 4, words, kind)
    return c


def census_tables() -> Canvas:
    """The error of a cell in each table of the census: its own noise, or all planned together."""
    c = Canvas("census-tables", 560, 440, "Ten tables, each by itself or planned together, at the same price",
               "Two bars for each of six tables of two columns and four of one: the standard error of a cell. By itself it "
               "is between 12 and 17 people, planned together between 9 and 13; planned is smaller in each.")  # fmt: skip
    rows = [
        (" × ".join(table), alone, planned)
        for table, alone, planned in zip([*PAIRS, *SINGLE], own_noise(), together(), strict=True)
    ]
    bars(c, rows, ("each by itself", "planned together"), "standard error of a cell, in people", 18.0)
    return c


def own_noise() -> list[float]:
    """The standard error of a cell where each table has noise of its own, ρ divided with the least error."""
    tables = [*PAIRS, *SINGLE]
    # Σ w·n·σ² is least at Σ 1/(2σ²) = ρ where 1/σ² is in proportion to √(w·n).
    roots = [math.sqrt((1 if len(one) == 2 else 4) * math.prod(CENSUS[n] for n in one)) for one in tables]
    return [math.sqrt(sum(roots) / root / (2 * TABLES_RHO)) for root in roots]


def together() -> list[float]:
    """The same, planned together."""
    tables = [*PAIRS, *SINGLE]
    plan = ResidualPlan.of(Workload.of(CENSUS, tables, [1] * len(PAIRS) + [4] * len(SINGLE)), TABLES_RHO)
    return standard_errors(plan, CENSUS, tables)


def standard_errors(
    plan: ResidualPlan, columns: Mapping[str, int], tables: Sequence[Sequence[str]]
) -> list[float]:
    """The standard error of a cell of each table."""
    places = {name: place for place, name in enumerate(columns)}
    return [float(plan.variance(tuple(sorted(places[name] for name in one)))) ** 0.5 for one in tables]


def census_tree() -> Canvas:
    """The error at each level of the census's tree, in three ways."""
    c = Canvas("census-tree", 560, 216, "A country, four regions, 24 districts, at the same price",
               "Three bars for each of the country, a region and a district: the standard error of a count. Added up from "
               "noisy districts 43, 21 and 9 people; a planned tree 19, 13 and 10; with exact regions 0, 0 and 8.")  # fmt: skip
    ways = (added_up(), planned_tree(()), planned_tree(("total", "region")))
    names = ("the country", "a region", "a district")
    rows = [(name, *(way[level] for way in ways)) for level, name in enumerate(names)]
    bars(c, rows, ("districts, added up", "planned", "regions exact"), "standard error of a count, in people", 45.0)  # fmt: skip
    return c


def added_up() -> list[float]:
    """The standard error at each level where districts alone have noise, six in each of four regions."""
    return [math.sqrt(districts / (2 * TREE_RHO)) for districts in (24, 6, 1)]


def planned_tree(exact: tuple[str, ...]) -> list[float]:
    """The same of a tree that is planned, with these levels exact."""
    land = Hierarchy.of(["region", "district"], [(i // 6, i) for i in range(24)])
    plan = HierarchyPlan.of(land, TREE_RHO, exact=exact)
    counts = [dict.fromkeys(range(size), 0) if name in exact else {}
              for name, size in zip(land.levels, land.sizes, strict=True)]  # fmt: skip
    heard = zip(plan.variances, land.sizes, strict=True)
    noisy = [None if one is None else np.zeros(size, dtype=np.int64) for one, size in heard]
    fit = TreeFit.of(land, noisy, plan.variances, counts)
    return [math.sqrt(float(one[0])) for one in fit.variance]


def public_use_file() -> Canvas:
    """The error of a count by two columns: from tables of two, or from the table of all three."""
    c = Canvas("public-use-file", 560, 176, "What the file's tables are good for, at the same price",
               "Two bars for each table of two of three columns: the standard error of a count by them, from tables of two "
               "columns and from the table of all three added up. From the tables of two it is smaller in each.")  # fmt: skip
    pairs = [list(pair) for pair in itertools.combinations(HOSPITAL, 2)]
    twos = ResidualPlan.of(Workload.of(HOSPITAL, pairs), TABLES_RHO)
    whole = [math.prod(HOSPITAL.values()) // math.prod(HOSPITAL[n] for n in pair) for pair in pairs]
    fine = [math.sqrt(cells / (2 * TABLES_RHO)) for cells in whole]
    kept = standard_errors(twos, HOSPITAL, pairs)
    rows = [(" × ".join(pair), a, b) for pair, a, b in zip(pairs, fine, kept, strict=True)]
    bars(c, rows, ("the table of three, added up", "tables of two"), "standard error of a count, in patients", 12.0)  # fmt: skip
    return c


def three_ways() -> Canvas:
    """How often a guess is right from cells of the worst kind under three methods, and under noise."""
    c = Canvas("three-ways", 560, 318, "The same table, protected three ways, and by noise",
               "Two bars for each method: of 100 fifty-fifty guesses whether a person is in a cell, how many are right "
               "from one cell of the worst kind, and from ten. Small counts left out: 100 and 100. Rounding to base 3 "
               "and cell keys: about two thirds, and 99. Noise as large as each tells less from ten cells.")  # fmt: skip
    asked = {"rounded to base 3": OfficeMethod(), "small counts left out": OfficeMethod("small")}
    asked["cell keys, D = 5, V = 3"] = OfficeMethod("key")
    rows = []
    for name, method in asked.items():
        told = told_by(method)
        rows.append((name, *(100 * right for right in told.worst.guesses[:2])))
        if told.noise:
            laplace, gaussian = (tuple(100 * right for right in one.guesses[:2]) for one in told.noise)
            rows += [("Laplace noise as large", *laplace), ("Gaussian noise as large", *gaussian)]
    bars(c, rows, ("one cell", "ten cells"), "right, of 100 guesses", 100.0)
    return c


def bars(
    c: Canvas, rows: Sequence[tuple[str, *tuple[float, ...]]], names: Sequence[str], axis: str, most: float
) -> None:
    """Horizontal bars, a group for each row, with their numbers; the names stand above in their colours."""
    left, width, thick, top = 190.0, 300.0, 13.0, 40.0
    kinds = ("warm", "accent", "ink")[: len(names)]
    words = {"warm": "warm-text", "accent": "accent-text", "ink": ""}
    spot = 24.0
    for name, kind in zip(names, kinds, strict=True):
        c.rect(spot, 14, 11, 11, f"fill-{kind}")
        c.text(spot + 16, 24, name, words[kind])
        spot += 30 + 8.2 * len(name)
    step = thick * len(names) + 10
    for number, (name, *values) in enumerate(rows):
        start = top + step * number
        c.text(left - 10, start + thick * len(names) / 2 + 4, name, "end")
        for place, (value, kind) in enumerate(zip(values, kinds, strict=True)):
            long, down = width * value / most, start + thick * place
            c.rect(left, down, long, thick - 2, f"fill-{kind}")
            c.text(left + long + 5, down + thick - 3, f"{value:.1f}" if value else "0, exact", "small")
    c.line(left, top - 6, left, top + step * len(rows))
    c.text(left + width, top + step * len(rows) + 16, axis, "small end")
