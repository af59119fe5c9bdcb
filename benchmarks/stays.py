"""Whether the numbers are right on the example's 200,000 stays of 62,388 patients: `stays.py [rows] [runs]`.

Nobody is in that table, so that answers can be held against it:

- a month that is asked about by `where` is the table's own, whatever else its patients have;
- a rare diagnosis is kept as often as any other row of a person;
- two tables under one row key are about the same rows;
- of 24 monthly counts, by month and sex, the intervals that claim to hold the table's figure do so in 95 % of
  cases at least, but for what chance explains; those of the rows kept are shown beside them.

Each line says what was found, what is right, and whether they agree.
"""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pyarrow
from scipy.stats import binom

from leakcap.policy import load_policy
from leakcap.release import Policy, PrivateTable, Query, attach, covering, load_queries
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import scans_of
from leakcap.sampling import ByteSource, system_bytes

EXAMPLE = Path(__file__).parents[1] / "examples/stays"
SECRETS = 40
"""So many choices of rows are looked at for the share of a rare diagnosis."""
RARE = "T84"


class Found(NamedTuple):
    """One comparison: what was found, what is right, and whether that is so."""

    what: str
    found: str
    right: str
    agrees: bool


def table(rows: int) -> pyarrow.Table:
    """The example's table of so many rows."""
    spec = importlib.util.spec_from_file_location("stays_make", EXAMPLE / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.stays(rows)


def exact(engine: Any, policy: Policy, secret: str = "a", **asked: Any) -> list[list[int]]:
    """The whole numbers of each part, cell by cell, before noise."""
    plan = plan_query(Query(name="q", epsilon=1.0, **asked), policy)
    ((scan),) = scans_of([plan], engine, secret)
    return [[int(one) for one in part.tolist()] for part in scan.run(engine)[0].totals]


def a_month(data: pyarrow.Table, policy: Policy) -> Iterator[Found]:
    """March, filtered first."""
    ((kept,),) = exact(attach(data), policy, statistic="count", where="month = '2024-03'")
    months = np.array(data["admitted"]).astype("datetime64[M]")
    own = int((months == np.datetime64("2024-03")).sum())
    after = dict(zip(*np.unique(months, return_counts=True), strict=True))[np.datetime64("2024-03")]
    assert after == own
    (cells,) = exact(attach(data), policy, statistic="count", by=("month",))
    yield Found("stays of March by `where`, at most 5 of a patient", f"{kept:,}", f"{own:,}", kept == own)
    yield Found("the same cell in the table of the year", f"{cells[2]:,}", f"below {own:,}", cells[2] < own)


def a_rare_row(data: pyarrow.Table, policy: Policy) -> Iterator[Found]:
    """The share of a rare diagnosis among the rows kept, over choices, and the share that is right."""
    patients, codes = data["patient"].to_pylist(), data["diagnosis"].to_pylist()
    sizes = Counter(patients)
    chances = [
        min(sizes[one], 5) / sizes[one] for one, code in zip(patients, codes, strict=True) if code == RARE
    ]
    expected, spread = sum(chances), sum(p * (1 - p) for p in chances)
    engine, where = attach(data), load_policy(_with_rare(policy))
    found = [
        exact(engine, where, f"{secret}", statistic="count", by=("rare",))[0][0] for secret in range(SECRETS)
    ]
    mean, off = sum(found) / SECRETS, 4.9 * (spread / SECRETS) ** 0.5  # one run in a million is further off
    right = f"{expected:.1f} ± {off:.1f}"
    yield Found(
        f"rows of {RARE} kept, on average of {SECRETS} choices",
        f"{mean:.1f}",
        right,
        abs(mean - expected) <= off,
    )


def _with_rare(policy: Policy) -> dict[str, Any]:
    """The policy with a column that says whether the diagnosis is the rare one."""
    given = policy.model_dump(exclude_unset=True, by_alias=True)
    given["columns"]["rare"] = {"from": "diagnosis", "groups": {"yes": [RARE]}}
    return given


def two_tables(data: pyarrow.Table, policy: Policy) -> Iterator[Found]:
    """The counts by chapter, alone and added up from a table by ward and chapter."""
    engine = attach(data)
    (alone,) = exact(engine, policy, statistic="count", by=("chapter",))
    (crossed,) = exact(engine, policy, statistic="count", by=("ward", "chapter"))
    added = [sum(crossed[place :: len(alone)]) for place in range(len(alone))]
    agree = sum(a == b for a, b in zip(alone, added, strict=True))
    yield Found(
        "chapters in which two tables count the same rows", f"{agree}", f"{len(alone)}", agree == len(alone)
    )


def holding(
    data: pyarrow.Table, policy: Policy, runs: int, source: ByteSource = system_bytes
) -> tuple[int, int, int]:
    """How many intervals hold the table's figures as they are, and with the rows cut; and of how many."""
    months = np.array(data["admitted"]).astype("datetime64[M]").astype(str)
    truth = Counter(zip(months.tolist(), data["sex"].to_pylist(), strict=True))
    queries = {one.name: one for one in load_queries(EXAMPLE / "year.toml").queries}
    asked = [queries["stays by month and sex"], queries["cut"]]
    private = PrivateTable(data, policy=_uncapped(policy), ledger="sqlite://", source=source)
    raw = covered = count = 0
    for _ in range(runs):
        counts, cut = private.release(asked, fresh=True)
        (table_,) = covering([counts], cut, private.policy)
        for one, other in zip(counts.rows, table_.rows, strict=True):
            true = truth[one.keys["month"], one.keys["sex"]]
            raw += one.interval[0] <= true <= one.interval[1]
            covered += other.interval[0] <= true <= other.interval[1]
            count += 1
    return raw, covered, count


def intervals(
    data: pyarrow.Table, policy: Policy, runs: int, source: ByteSource = system_bytes
) -> Iterator[Found]:
    """How often the intervals of 24 monthly counts hold the table's figures; false alarm 10⁻⁶."""
    raw, covered, count = holding(data, policy, runs, source)
    share, right = (
        f"{covered} of {count} ({covered / count:.1%})",
        bool(binom.cdf(covered, count, 0.95) > 1e-6),
    )
    yield Found(
        "intervals of the rows kept that hold the table's figure", f"{raw} of {count}", "not claimed", True
    )
    yield Found("intervals that claim the table's figure and hold it", share, "about 95 % or more", right)


def _uncapped(policy: Policy) -> Policy:
    return policy.model_copy(update={"caps": policy.caps.model_copy(update={"epsilon": 1e6})})


def compared(rows: int, runs: int, source: ByteSource = system_bytes) -> list[Found]:
    """All comparisons, in order."""
    data, policy = table(rows), load_policy(EXAMPLE / "policy.toml")
    found = [*a_month(data, policy), *a_rare_row(data, policy), *two_tables(data, policy)]
    return [*found, *intervals(data, policy, runs, source)]


def main() -> int:
    """Print the comparisons; 1 where one does not agree."""
    rows, runs = (int(one) for one in [*sys.argv[1:], *("200000", "20")[len(sys.argv) - 1 :]])
    found = compared(rows, runs)
    for one in found:
        print(
            f"{one.what:<62}{one.found:>22}{one.right:>18}   {'agrees' if one.agrees else 'DOES NOT AGREE'}"
        )
    return 0 if all(one.agrees for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
