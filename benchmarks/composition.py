"""What a cap on all answers together admits: real releases at δ = 10⁻⁶, each refused one query later.

    python benchmarks/composition.py

Prints how many counts pass, what the ledger then shows as spent, what ε added up would be, and the target.
Last the same counts as a plan that is fixed and paid for beforehand.
"""

from __future__ import annotations

import functools
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow

from leakcap.errors import BudgetExceeded
from leakcap.release import PrivateTable

DELTA = 1e-6
POLICY = {"dataset": "d", "neighbours": "add-remove-one", "columns": {"x": {"bounds": [0.0, 1.0]}}}
ROWS = pyarrow.table({"x": [0.25, 0.5, 0.75]})

PLANS = [
    ("1,000 sums, ε 0.1", "sum", 1000, 0.1, 21.83, None, "21.9"),
    ("1,000 sums, ε 0.1, order 2.75 named", "sum", 1000, 0.1, 20.07, 2.75, "20.1"),
    ("1,000 counts, ε 0.1", "count", 1000, 0.1, 22.3, None, "21.9, for Laplace noise"),
    ("1,000 counts, ε 0.1, order 2.75 named", "count", 1000, 0.1, 20.5, 2.75, "20.1, for Laplace noise"),
    ("365 sums, ε 0.05", "sum", 365, 0.05, 5.49, None, "5.49"),
    ("52 sums, ε 0.1", "sum", 52, 0.1, 3.735, None, "3.74"),
]
"""What is asked, how often, at which ε, under which cap and order, and the target of the cap.

A count has whole-number noise: one row more is told from none as well as by a coin of the same ε, which is
3 % more at every order than Laplace noise, or a sum's on its fine grid, shows.
"""


def admitted(
    kind: str, counts: int, epsilon: float, cap: float, order: float | None
) -> tuple[int, float, float]:
    """How many pass under the cap, the ε shown as spent after `counts`, and seconds of CPU time each."""
    caps = {"epsilon": cap, "delta": DELTA, "delta_of_answers": 0.0} | ({"order": order} if order else {})
    columns = () if kind == "count" else ("x",)
    with tempfile.TemporaryDirectory() as folder:
        table = PrivateTable(ROWS, policy={**POLICY, "caps": caps}, ledger=Path(folder) / "d.db")
        ask = functools.partial(
            table.count if kind == "count" else table.sum, *columns, epsilon=epsilon, fresh=True
        )
        start = time.process_time()
        done = 0
        spent = 0.0
        try:
            while done < counts + 50:
                ask()
                done += 1
                if done == counts:
                    spent = table.ledger.balances()[0].spent
        except BudgetExceeded:
            pass
        each = (time.process_time() - start) / max(done, 1)
        table.ledger.verify()
        return done, spent, each


PURE, ROUGH = {"epsilon": 0.1}, {"rho": 0.00213}
SLOTS: list[tuple[str, str, int, dict[str, Any], dict[str, Any], float, str]] = [
    ("1,000 counts, ε 0.1, as a plan", "count", 1000, PURE, PURE, 19.35, "19.3447, randomised response's"),
    (
        "1,000 sums, ε 0.1, as a plan",
        *("sum", 1000, PURE | {"noise": "laplace"}, PURE, 19.0),
        "19; Laplace noise alone 18.9502874",
    ),
    (
        "100 Gaussian counts of ±30, as a plan",
        *("count", 100, ROUGH, ROUGH | {"noise": "gaussian"}, 3.06),
        "3.65 by the filter; Gaussian noise alone 3.0288",
    ),
]
"""What a slot holds, and what is asked of it. A count's noise at sensitivity 1 is randomised response, which
is what a slot of this ε admits at most."""


def planned(
    kind: str, counts: int, held: dict[str, Any], asked: dict[str, Any], cap: float
) -> tuple[int, float, float]:
    """The same for answers from a plan of so many slots."""
    plan = {"name": "counts", "count": counts, "delta": DELTA} | held
    caps = {"epsilon": cap, "delta": DELTA, "delta_of_answers": DELTA}
    with tempfile.TemporaryDirectory() as folder:
        policy = {**POLICY, "caps": caps, "plan": [plan]}
        table = PrivateTable(ROWS, policy=policy, ledger=Path(folder) / "d.db")
        ask = table.count if kind == "count" else functools.partial(table.sum, "x")
        start = time.process_time()
        done = 0
        try:
            while done < counts + 50:
                ask(**asked, fresh=True, slot="counts")
                done += 1
        except BudgetExceeded:
            pass
        each = (time.process_time() - start) / max(done, 1)
        table.ledger.verify()
        return done, table.ledger.balances()[0].spent, each


def main() -> None:
    for what, kind, counts, held, asked, cap, target in SLOTS:
        done, spent, each = planned(kind, counts, held, asked, cap)
        said = "refused after that" if done == counts else "WRONG"
        print(
            f"{what}: cap {cap:g} (target {target}), {done} pass, {said}; {spent:.7f} for all of them; "
            f"{1e3 * each:.1f} ms each"
        )
    for what, kind, counts, epsilon, cap, order, target in PLANS:
        done, spent, each = admitted(kind, counts, epsilon, cap, order)
        said = "refused after that" if done < counts + 50 else "NEVER REFUSED"
        print(
            f"{what}: cap {cap:g} (target {target}), {done} pass, {said}; "
            f"{spent:.4f} after {counts}, "
            f"{counts * epsilon:g} added up; {1e3 * each:.1f} ms each"
        )


if __name__ == "__main__":
    main()
