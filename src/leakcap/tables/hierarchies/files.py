"""A file that asks for the counts of a tree: of whose data, under which policy and ledger, at what price.

    policy = "policy.toml"
    data = "stays.parquet"
    ledger = "stays.db"
    rho = 0.02                       or epsilon, at the δ of the policy
    levels = ["chapter", "code"]     columns of the policy, top first; or instead
    tree = "codes.csv"               a file with a column for each level, top first, and a row for each leaf
    where = "year = 2026"
    name = "stays by code"           left out, "hierarchy"
    table = "stays"                  which table, where data is a database
    publication = { title = "Stays", period = "2026-03", version = "1.0" }

    [weights]
    chapter = 2                      what a squared error in one of its nodes counts for; left out, 1

    [[exact]]                        totals that are published exactly, by law
    level = "chapter"
    counts = { Neoplasms = 8000 }
    reason = "cancer registry act, § 3"
    minimum = 10                     the least that names nobody

Paths start at the file's own folder.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from leakcap.errors import InvalidQuery
from leakcap.ledger import Edition
from leakcap.policy.validation import read_checked
from leakcap.release.planning.queries import locations
from leakcap.release.results.publication import Publication
from leakcap.tables.hierarchies.invariants import ExactTotals
from leakcap.tables.hierarchies.question import HierarchyQuestion
from leakcap.tables.hierarchies.tree import Hierarchy
from leakcap.tables.question import Number

__all__ = ["HierarchyFile", "load_hierarchy"]


class _Contents(BaseModel):
    model_config = ConfigDict(extra="forbid")

    policy: str
    data: str
    table: str | None = None
    ledger: str
    publication: Publication | None = None
    name: str = Field(default="hierarchy", min_length=1, max_length=200)
    rho: Number | None = None
    epsilon: Number | None = None
    where: str | None = None
    levels: tuple[str, ...] | None = None
    tree: str | None = None
    weights: dict[str, Number] = Field(default_factory=dict)
    exact: tuple[ExactTotals, ...] = ()


@dataclass(frozen=True)
class HierarchyFile:
    """Such a file with its paths resolved; `data` is a path, or the URL of a server."""

    policy: Path
    data: Path | str = field(repr=False)
    table: str | None
    ledger: str = field(repr=False)
    tree: Path | None
    question: HierarchyQuestion
    publication: Publication | None = None

    @property
    def edition(self) -> Edition | None:
        """What the ledger records of the publication."""
        return None if self.publication is None else self.publication.edition


def load_hierarchy(path: str | Path) -> HierarchyFile:
    """Read a file that asks for the counts of a tree, and the tree. Raises `InvalidQuery`, one line per
    broken rule."""
    path = Path(path)
    contents = read_checked(_Contents, path, InvalidQuery)
    folder = path.resolve().parent
    data, ledger = locations(folder, contents.data, contents.ledger)
    if (contents.levels is None) == (contents.tree is None):
        raise InvalidQuery(f"Hierarchy `{contents.name}` must have a `tree` or `levels`, not both.")
    tree = None if contents.tree is None else folder / contents.tree
    asked = HierarchyQuestion(
        name=contents.name,
        levels=contents.levels,
        hierarchy=None if tree is None else Hierarchy.read(tree),
        weights=contents.weights,
        exact=contents.exact,
        rho=contents.rho,
        epsilon=contents.epsilon,
        where=contents.where,
    )
    policy = folder / contents.policy
    return HierarchyFile(policy, data, contents.table, ledger, tree, asked, contents.publication)
