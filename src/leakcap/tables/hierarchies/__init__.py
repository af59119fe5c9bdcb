"""Counts at every level of a public tree: one charge, whole numbers that add up, and an interval for each.

    Hierarchy             a tree: levels, nodes, and which node each stands under
    HierarchyQuestion     which counts are asked of a policy, and at what price
    release_hierarchy     released for one charge: a `ReleasedHierarchy`
    HierarchyPlan         the noise of each level, in closed form
    ExactTotals           totals that are published exactly, by law

See `docs/how-to/hierarchies.md` and, for the proofs, `docs/theory/hierarchies.md`.
"""

from __future__ import annotations

from leakcap.tables.hierarchies.answer import LevelCounts, ReleasedHierarchy
from leakcap.tables.hierarchies.invariants import ExactTotals
from leakcap.tables.hierarchies.plan import HierarchyPlan
from leakcap.tables.hierarchies.question import HierarchyQuestion
from leakcap.tables.hierarchies.release import release_hierarchy
from leakcap.tables.hierarchies.tree import Hierarchy

__all__ = [
    "ExactTotals",
    "Hierarchy",
    "HierarchyPlan",
    "HierarchyQuestion",
    "LevelCounts",
    "ReleasedHierarchy",
    "release_hierarchy",
]
