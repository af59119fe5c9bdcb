"""Tables of columns within columns: how close one variance a table is to the least possible error.

    python benchmarks/nested_tables.py

For trees with as many keys under one parent as under another, and with very unlike numbers, alone and crossed
with other columns: the squared error over a lower bound that is proved (`excess` of the plan), and over the
least error itself where that has a closed form. Beside it tables with Gaussian noise of their own, at the
same ρ together, divided as well as it can be, whose margins disagree: their error over that of the plan. CPU
seconds are those of the plan and its bound. No target was set; 1 is the optimum.
"""

from __future__ import annotations

import math
import time
from collections import Counter

from leakcap.tables import ResidualPlan, Workload
from leakcap.tables.workload import Within

RHO = 0.02
GERMANY = (44, 96, 1, 18, 2, 1, 26, 8, 45, 53, 36, 6, 13, 14, 15, 22)
MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def under(outer: str, *sizes: int) -> Within:
    """So many keys within each of the outer column's."""
    return Within(outer, tuple(place for place, many in enumerate(sizes) for _ in range(many)))


def tree(outer: str, inner: str, *sizes: int) -> tuple[dict[str, int], dict[str, Within]]:
    """Two columns, the second within the first."""
    return {outer: len(sizes), inner: sum(sizes)}, {inner: under(outer, *sizes)}


def workloads() -> dict[str, Workload]:
    """By name."""
    found = {}
    lands: dict[str, tuple[int, ...]] = {
        "20 regions of 20 districts": (20,) * 20,
        "12 months, their days": MONTHS,
        "16 states, their 400 districts": GERMANY,
        "chapters of 1 to 2^7 codes": tuple(2**k for k in range(8)),
        "10 regions of 2 districts, 2 of 200": (2,) * 10 + (200,) * 2,
    }
    for name, sizes in lands.items():
        columns, within = tree("outer", "inner", *sizes)
        found[name] = Workload.of(columns, [["outer"], ["inner"]], within=within)
        shares = [1, 1 / len(sizes), 1 / sum(sizes)]
        found[f"{name}, levels alike"] = Workload.of(
            columns, [[], ["outer"], ["inner"]], shares, within=within
        )
    columns, within = tree("state", "district", *GERMANY)
    more = columns | {"sex": 2, "age": 18}
    tables = [["state", "sex", "age"], ["district", "sex"], ["district", "age"]]
    found["districts × sex, × age; states × both"] = Workload.of(more, tables, within=within)
    months, of_year = tree("quarter", "month", 3, 3, 3, 3)
    crossed = [["district", "quarter"], ["state", "month"], ["state", "month", "sex"]]
    found["districts × quarters, states × months × sex"] = Workload.of(
        more | months, crossed, within=within | of_year
    )
    levels = {"year": 2, "month": 24, "day": 731}
    days = {"month": under("year", 12, 12), "day": under("month", *(31, 28, *MONTHS[2:]), *MONTHS)}
    found["years, months, days"] = Workload.of(levels, [["year"], ["month"], ["day"]], within=days)
    return found


def least(workload: Workload) -> float | None:
    """2ρ times the least error that any strategy has, of two nested columns without the total: then regions
    share no budget, and the optimum of each is (tr √G)²/n with G = wI + v11ᵀ (`docs/theory/ranges.md`, (1)).
    """
    if len(workload.within) != 1 or len(workload.columns) != 2 or () in workload.weights:
        return None
    (within,) = workload.within.values()
    regions, districts = (float(workload.weights[place,]) for place in (0, 1))
    return sum(
        ((n - 1) * math.sqrt(districts / n) + math.sqrt(districts / n + regions)) ** 2
        for n in Counter(within.parents).values()
    )


def apart(workload: Workload) -> float:
    """2ρ times the error of tables with noise of their own, which share ρ as well as they can."""
    return sum(math.sqrt(float(w) * workload.cells_of(t)) for t, w in workload.weights.items()) ** 2


def main() -> None:
    heads = ("excess", "/ least", "apart", "CPU s")
    print(f"{'':46}" + "".join(f"{head:>9}" for head in heads))
    for name, workload in workloads().items():
        start = time.process_time()
        plan = ResidualPlan.of(workload, RHO)
        excess = float(plan.excess)
        took = time.process_time() - start
        own = float(plan.error * 2 * plan.rho)
        best = least(workload)
        over = "" if best is None else f"{own / best:.3f}"
        print(f"{name:46}{excess:9.3f}{over:>9}{apart(workload) / own:9.2f}{took:9.2f}")


if __name__ == "__main__":
    main()
