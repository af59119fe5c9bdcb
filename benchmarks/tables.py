"""Margins that are planned together: how long it takes, how close to the optimum, and what it is worth.

    python benchmarks/tables.py

All 2-way tables of twelve columns with the numbers of keys of the census extract "Adult" (its numbers in a
hundred bins at most), and of a hundred columns of ten keys, at ε = 1, δ = 10⁻⁹. Targets: the root of the mean
squared error within 1.01 of the least that any linear mechanism with Gaussian noise has, half or less of
that of tables with Laplace noise of their own at the same (ε, δ), planned in 2 and in 60 seconds of CPU.

The least error itself is printed, and how many times as good as Laplace tables anything of that kind can be:
no linear mechanism with Gaussian noise and unbiased estimates passes it (`docs/theory/tables.md`, section 2).

Beside them stand tables with Laplace noise that is not the same in all of them, but divided as well as it
can be: the ratio to these is not a target.

Then ranges and prefixes, alone, in products and beside margins, at ρ = 0.01: the root of the mean squared
error of what is wanted, over a lower bound that no strategy passes; beside cells that are added up, and
answers with noise of their own that share ρ equally.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations

from leakcap.accounting import PrivacyLoss
from leakcap.mechanism import Laplace
from leakcap.models.calibrate import exact_rho, gaussian_delta
from leakcap.numeric.search import last_where
from leakcap.tables import ResidualPlan, Workload
from leakcap.tables.ordered.design import Kind
from leakcap.tables.workload import Places, margins_of_places

EPSILON, DELTA = 1.0, 1e-9
ADULT = {
    "age": 74, "workclass": 9, "fnlwgt": 100, "education": 16, "marital": 7, "occupation": 15,
    "relationship": 6, "race": 5, "sex": 2, "capital": 100, "hours": 99, "income": 2,
}  # fmt: skip
CASES: tuple[tuple[str, Mapping[str, int], float], ...] = (
    ("12 columns of Adult", ADULT, 2.0),
    ("100 columns of 10 keys", {f"c{place}": 10 for place in range(100)}, 60.0),
)


def laplace_error(tables: int) -> float:
    """The error of a cell with Laplace noise, as many tables of which are (ε, δ)-DP together."""

    def keeps(each: float) -> bool:
        return (PrivacyLoss.of_mechanism(Laplace(1 / each)) ** tables).epsilon(DELTA).upper <= EPSILON

    each = last_where(keeps, EPSILON / tables, EPSILON, width=1e-6)[0]
    return math.sqrt(2.0) / each


def least_error(plan: ResidualPlan) -> float:
    """The least error of a cell that any unbiased estimate from linear queries with Gaussian noise has at the
    same (ε, δ), rounded down: at a ρ for which Gaussian noise is not (ε, δ)-DP any more."""
    mu = math.sqrt(2.0 * exact_rho(EPSILON, DELTA)) * (1.0 + 1e-6)
    assert gaussian_delta(mu, EPSILON) > DELTA * (1.0 + 1e-9)
    counts = sum(weight * plan.workload.answers_of(one) for one, weight in plan.workload.weights.items())
    scaled = plan.optimum * plan.rho / Fraction(0.5 * mu * mu) / counts
    return math.sqrt(scaled) * (1.0 - 1e-12)


ORDERED: tuple[tuple[str, Mapping[str, int], tuple[tuple[str, ...], ...], Mapping[str, Kind]], ...] = (
    *((f"ranges of {n} keys", {"a": n}, (("a",),), {"a": "ranges"}) for n in (3, 5, 8, 16, 64, 256)),
    *((f"prefixes of {n} keys", {"a": n}, (("a",),), {"a": "prefixes"}) for n in (3, 5, 8, 16, 64, 256)),
    (
        "ranges of 52 weeks × prefixes of 8 bands",
        {"a": 52, "b": 8},
        (("a", "b"),),
        {"a": "ranges", "b": "prefixes"},
    ),
    (
        "pairs of sex, ward, weeks by ranges, bands by prefixes",
        {"sex": 2, "ward": 10, "week": 52, "band": 8},
        tuple(combinations(("sex", "ward", "week", "band"), 2)),
        {"week": "ranges", "band": "prefixes"},
    ),
)


def lengths(size: int, kind: Kind | None) -> dict[int, int]:
    """How many of the wanted answers are of so many keys."""
    if kind == "ranges":
        return {keys: size - keys + 1 for keys in range(1, size + 1)}
    return dict.fromkeys(range(1, size + 1), 1) if kind == "prefixes" else {1: size}


def held(size: int, kind: Kind | None) -> int:
    """In how many of the wanted answers a row is at most."""
    if kind == "ranges":
        return max(key * (size + 1 - key) for key in range(1, size + 1))
    return size if kind == "prefixes" else 1


def summed(plan: ResidualPlan, workload: Workload, table: Places) -> float:
    """The squared errors of what is wanted of a table, from the cells of another plan."""
    found = 0.0
    for part in margins_of_places(table):
        own = float(plan.noise(part))
        for place in table:
            size, kind = workload.sizes[place], workload.kinds.get(list(workload.columns)[place])
            own *= sum(
                many * (keys * (size - keys) / size**3 if place in part else (keys / size) ** 2)
                for keys, many in lengths(size, kind).items()
            )
        found += own
    return found


def ordered() -> None:
    """Ranges and prefixes, beside what they would err by without them."""
    print("what is wanted | error | over the bound | cells added up | noise of their own | planned, s of CPU")
    for name, columns, tables, kinds in ORDERED:
        start = time.process_time()
        workload = Workload.of(columns, tables, kinds=kinds)
        plan = ResidualPlan.of(workload, Fraction(1, 100))
        over, took = math.sqrt(plan.excess), time.process_time() - start
        wanted = sum(map(workload.answers_of, workload.weights))
        cells = ResidualPlan.of(Workload.of(columns, tables), Fraction(1, 100))
        added = sum(summed(cells, workload, table) for table in workload.weights)
        # A row is in so many answers at most: equal noise on each of them.
        reach = sum(math.prod(held(columns[one], kinds.get(one)) for one in table) for table in tables)
        own = math.sqrt(reach / 2 * 100)
        print(
            f"{name} | {plan.root_mean_square:.2f} | {over:.4f} | "
            f"{math.sqrt(added / wanted) / plan.root_mean_square:.2f} times | "
            f"{own / plan.root_mean_square:.2f} times | {took:.2f}"
        )


def main() -> None:
    for name, columns, most in CASES:
        start = time.process_time()
        workload = Workload.of_ways(columns, 2)
        plan = ResidualPlan.of(workload, Fraction(exact_rho(EPSILON, DELTA)))
        assert plan.rho > 0
        took = time.process_time() - start
        root = math.sqrt(plan.excess)
        verdict = "kept" if took <= most and root <= 1.01 else "MISSED"
        print(f"{name}: {len(workload.weights):,} tables, {workload.cells:,} cells")
        print(f"  planned in {took:.2f} s of CPU, {root:.5f} of the least error: {verdict}")
        alone = laplace_error(len(workload.weights))
        sizes = [workload.cells_of(table) for table in workload.weights]
        # Of Gaussian-like composition: noise in proportion to the fourth root of the cells' number is best.
        divided = alone * sum(map(math.sqrt, sizes)) / math.sqrt(len(sizes) * sum(sizes))
        ratio = alone / plan.root_mean_square
        least = least_error(plan)
        print(f"  least error {least:.1f} of any plan: {alone / least:.3f} times as good as Laplace at most")
        print(f"  error of a cell {plan.root_mean_square:.1f}; Laplace tables {alone:.1f}, ", end="")
        print(f"{ratio:.2f} times as much: {'kept' if ratio >= 2 else 'MISSED'}; ", end="")
        print(
            f"divided as well as possible about {divided:.1f}, {divided / plan.root_mean_square:.2f}; ",
            end="",
        )
        added = math.sqrt(2.0) * len(sizes) / EPSILON / plan.root_mean_square
        print(f"where their ε are added up {added:.1f} times")
    ordered()


if __name__ == "__main__":
    main()
