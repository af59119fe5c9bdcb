"""Which counts of a tree are asked of a policy, at what price: checked and planned before any data is
touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from leakcap.errors import InvalidParameter, InvalidQuery
from leakcap.policy.document import Policy
from leakcap.release.conditions.condition import named
from leakcap.release.planning.plan import text_of
from leakcap.sampling.rational import printed
from leakcap.tables.hierarchies.columns import check_leaves, hierarchy_of_columns
from leakcap.tables.hierarchies.invariants import ExactTotals, Invariants
from leakcap.tables.hierarchies.plan import HierarchyPlan
from leakcap.tables.hierarchies.tree import Hierarchy
from leakcap.tables.question import Number, PlannedTables, TableAsked, TablesQuestion

__all__ = ["HierarchyQuestion", "PlannedHierarchy"]


class HierarchyQuestion(BaseModel):
    """Counts at every level of a public tree, to be released together.

    Either `hierarchy`, a tree whose last level is a column of the policy, or `levels`, columns of the
    policy of which each groups the keys of the next. `weights` says by level what a squared error in one of
    its nodes counts for. `exact` are totals that are published exactly, by law. The price is ρ of
    zero-concentrated privacy, or the ρ that an `epsilon` buys at the δ of the policy. Only rows count that
    `where` is true of, and whose key is a leaf.

    >>> HierarchyQuestion(levels=("region", "town"), weights={"region": 2.0}, rho=0.02).name
    'hierarchy'
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    name: Annotated[str, Field(min_length=1, max_length=200)] = "hierarchy"
    levels: tuple[str, ...] | None = None
    hierarchy: Hierarchy | None = None
    weights: Mapping[str, Number] = Field(default_factory=dict)
    exact: tuple[ExactTotals, ...] = ()
    rho: Number | None = None
    epsilon: Number | None = None
    where: str | None = None

    def planned(self, policy: Policy) -> PlannedHierarchy:
        """What is counted and which noise it gets. Raises `InvalidQuery`; touches no data."""
        if (self.levels is None) == (self.hierarchy is None):
            raise InvalidQuery(f"Hierarchy `{self.name}` must have a tree or `levels`, not both.")
        tree = self.hierarchy or hierarchy_of_columns(self.levels or (), policy, self.name)
        leaves = self._leaves(tree.levels[-1]).planned(policy)
        tree = check_leaves(tree, tuple(leaves.axes[0].labels.values()), self.name)
        if self.exact and policy.rows_per_unit != 1:
            raise InvalidQuery(
                f"`exact` of hierarchy `{self.name}` must be totals of what is counted, and the policy "
                f"keeps up to "
                f"{policy.rows_per_unit} rows of each {policy.id_column}. Ask under a policy with "
                f"`max_rows = 1`, "
                "or without exact totals."
            )
        invariants = Invariants.of(tree, self.exact, self.name)
        most = invariants.limits[0][0][0]
        if policy.units is not None and most > policy.units:
            raise InvalidQuery(
                f"`exact` of hierarchy `{self.name}` must not contradict the policy, whose table has "
                f"{policy.units:,} "
                f"rows. The totals have {int(most):,}."
            )
        try:
            plan = HierarchyPlan.of(
                tree,
                leaves.question.price(policy),
                self.weights,
                exact=invariants.whole_levels,
                rows=policy.rows_per_unit,
                replace=policy.neighbours == "replace-one",
            )
        except InvalidParameter as error:
            raise InvalidQuery(f"Hierarchy `{self.name}`: {error}") from None
        return PlannedHierarchy(self, policy, plan, invariants, leaves)

    def _leaves(self, column: str) -> TablesQuestion:
        """The same question about the leaves alone, by which the rows are counted."""
        return TablesQuestion(
            name=self.name,
            tables=(TableAsked(columns=(column,)),),
            rho=self.rho,
            epsilon=self.epsilon,
            where=self.where,
        )


@dataclass(frozen=True)
class PlannedHierarchy:
    """A tree that was asked for, its noise and exact totals, and how its `leaves` are counted."""

    question: HierarchyQuestion
    policy: Policy
    plan: HierarchyPlan
    invariants: Invariants
    leaves: PlannedTables

    @property
    def hierarchy(self) -> Hierarchy:
        """The tree."""
        return self.plan.hierarchy

    @cached_property
    def text(self) -> str:
        """The question in one normal form, for the ledger: the tree by its digest, weights as shares of
        what was asked, the levels without noise. Which exact totals there are changes nothing else in what is
        drawn."""
        tree, silent = self.hierarchy, self.invariants.whole_levels
        weights = ", ".join(
            f"{named(level)} of weight {printed(self.question.weights.get(level, 1.0))}"
            for level in tree.levels
            if level not in silent
        )
        counted = text_of(self.leaves.counted).removeprefix("count").strip()
        by = named(tree.levels[-1])
        return f"hierarchy {tree.digest} by {by}, {weights} {counted}".strip()

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The place of each leaf of the tree among the keys of its column, as they are counted."""
        keys = {key: place for place, key in enumerate(self.leaves.axes[0].labels.values())}
        return np.array([keys[leaf] for leaf in self.hierarchy.labels[-1]], dtype=np.int64)
