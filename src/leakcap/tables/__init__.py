"""Many tables of counts at once, with the least noise there is for all of them together.

    TablesQuestion      which tables are asked of a policy, and at what price
    release_tables      released for one charge: a `ReleasedTables`
    Workload            which tables are wanted, and what each is worth
    ResidualPlan        the noise for them and their margins, in closed form
    HierarchyQuestion   which tree of counts is asked of a policy, and at what price
    release_hierarchy   counts at every level, for one charge: a `ReleasedHierarchy`

See `docs/how-to/tables.md`, `docs/how-to/hierarchies.md` and, for the proofs, `docs/theory/tables.md` and
`docs/theory/hierarchies.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakcap.lazily import lazily

if TYPE_CHECKING:
    from leakcap.tables.answer import Estimate, ReleasedTable, ReleasedTables
    from leakcap.tables.hierarchies import (
        ExactTotals,
        Hierarchy,
        HierarchyPlan,
        HierarchyQuestion,
        LevelCounts,
        ReleasedHierarchy,
        release_hierarchy,
    )
    from leakcap.tables.plan import ResidualPlan
    from leakcap.tables.question import TablesQuestion
    from leakcap.tables.release import release_tables
    from leakcap.tables.workload import Workload

__all__ = [
    "Estimate",
    "ExactTotals",
    "Hierarchy",
    "HierarchyPlan",
    "HierarchyQuestion",
    "LevelCounts",
    "ReleasedHierarchy",
    "ReleasedTable",
    "ReleasedTables",
    "ResidualPlan",
    "TablesQuestion",
    "Workload",
    "release_hierarchy",
    "release_tables",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "leakcap.tables.answer": (
            "Estimate",
            "ReleasedTable",
            "ReleasedTables",
        ),
        "leakcap.tables.hierarchies": (
            "ExactTotals",
            "Hierarchy",
            "HierarchyPlan",
            "HierarchyQuestion",
            "LevelCounts",
            "ReleasedHierarchy",
            "release_hierarchy",
        ),
        "leakcap.tables.plan": ("ResidualPlan",),
        "leakcap.tables.question": ("TablesQuestion",),
        "leakcap.tables.release": ("release_tables",),
        "leakcap.tables.workload": ("Workload",),
    },
)
