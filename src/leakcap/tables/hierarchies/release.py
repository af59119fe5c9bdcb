"""The counts of a tree released together: one charge, noise of its own for every node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import InvalidPolicy
from leakcap.ledger import Charge, Edition, Entry, Ledger, Request, Spend, answer_once
from leakcap.ledger.details import EXACT_TOTALS
from leakcap.ledger.values import composed
from leakcap.release import Policy, PrivateTable
from leakcap.release.engine.base import in_one_state
from leakcap.sampling import ByteSource, discrete_gaussian, system_bytes
from leakcap.tables.charge import event_between_contents, spend_of_rho
from leakcap.tables.hierarchies.answer import ReleasedHierarchy
from leakcap.tables.hierarchies.plan import HierarchyPlan
from leakcap.tables.hierarchies.question import HierarchyQuestion, PlannedHierarchy
from leakcap.tables.reading import check_columns, counts_of, statements_of_tables
from leakcap.tables.remembered import remembered_values

__all__ = [
    "charge_of_hierarchy",
    "noisy_levels",
    "release_hierarchy",
    "remembered_hierarchies",
    "spend_of_hierarchy",
]

Integers = NDArray[np.int64]
Noisy = tuple[Integers | None, ...]


def release_hierarchy(
    table: PrivateTable,
    question: HierarchyQuestion,
    *,
    fresh: bool = False,
    source: ByteSource = system_bytes,
    request: Request | None = None,
) -> ReleasedHierarchy:
    """The counts of a tree, for one charge; for free where the ledger knows the answer, unless `fresh`. With
    a `request` it is paid for once, however often it is asked.

    Raises `InvalidQuery`, `DataError` or `BudgetExceeded` with nothing spent.

    >>> import pyarrow
    >>> people = pyarrow.table({"town": ["a", "b", "c", "c"] * 250})
    >>> policy = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0, "delta": 1e-6},
    ...     "columns": {"town": {"keys": ["a", "b", "c"]},
    ...                 "region": {"from": "town", "groups": {"north": ["a", "b"], "south": ["c"]}}}}
    >>> with PrivateTable(people, policy=policy, ledger="sqlite://") as private:
    ...     found = release_hierarchy(private, HierarchyQuestion(levels=("region", "town"), rho=0.01))
    >>> parts = [found.node("region", name).value for name in ("north", "south")]
    >>> sum(parts) == found.node("total", "all").value, min(parts) >= 0
    (True, True)
    """
    ledger, engine = table.ledger, table.engine
    if ledger.policy != table.policy.fingerprint():
        raise InvalidPolicy(
            "The policy was changed after the table was opened under it. Open the table anew."
        )
    planned = question.planned(table.policy)
    check_columns(planned.leaves, engine)
    same_as = None if table.same_as is None else table.same_as.number
    charge = charge_of_hierarchy(
        planned, analyst=table.analyst, edition=table.edition, source=table.named, same_as=same_as
    )

    def prepare(_: Sequence[int], paid_before: bool) -> Callable[[Sequence[Entry]], list[tuple[Noisy, Any]]]:
        # Written out before the commit, so that nothing after it can fail because of the question.
        statements = statements_of_tables(planned.leaves, engine, ledger.seed)
        order = planned.order
        if planned.plan.replace:
            if not paid_before:
                ledger.check([charge])
            table.check_units()

        def compute(_: Sequence[Entry]) -> list[tuple[Noisy, Any]]:
            counts = in_one_state(engine, lambda: counts_of(planned.leaves, statements, engine))[(0,)][order]
            noisy = noisy_levels(planned.plan, counts, source)
            return [(noisy, [one.tolist() for one in noisy if one is not None])]

        return compute

    (paid,) = answer_once(
        ledger,
        [charge],
        prepare,
        data=table.state(),
        analyst=table.analyst,
        fresh=fresh,
        request=request,
    )
    noisy = _levels(planned, paid.answer.values) if paid.computed is None else paid.computed
    return ReleasedHierarchy(planned, noisy, charge.spend, paid.answer.entry, paid.computed is None)


def _levels(planned: PlannedHierarchy, values: Sequence[Sequence[Any]]) -> Noisy:
    """The noisy counts as the ledger remembers them."""
    stored = iter(values)
    return tuple(
        None if variance is None else np.array(next(stored), dtype=np.int64)
        for variance in planned.plan.variances
    )


def remembered_hierarchies(
    ledger: Ledger, planned: PlannedHierarchy, entry: int | None = None
) -> dict[int, ReleasedHierarchy]:
    """What a ledger remembers of the counts of a tree, by entry, oldest first; or of one `entry` alone.
    Touches no data, and asks for nothing: what it returns is as it was released, not repeated."""
    charge = charge_of_hierarchy(planned)
    return {
        number: ReleasedHierarchy(planned, _levels(planned, values), charge.spend, number, False)
        for number, values in remembered_values(ledger, charge, planned.policy.dataset, entry)
    }


def noisy_levels(plan: HierarchyPlan, leaves: Integers, source: ByteSource) -> Noisy:
    """What is released: the counts of each level that has noise, each with noise of its own.

    `leaves` are the exact counts of the last level. Costs `plan.rho`.
    """
    found: list[Integers | None] = []
    counts = leaves.astype(np.int64)
    for level in range(len(plan.variances) - 1, -1, -1):
        variance = plan.variances[level]
        noise = None if variance is None else discrete_gaussian(variance, len(counts), source)
        found.append(None if noise is None else counts + noise)
        if level:
            counts = np.asarray(plan.hierarchy.added(level, counts), dtype=np.int64)
    return tuple(found[::-1])


def charge_of_hierarchy(
    planned: PlannedHierarchy,
    *,
    analyst: str = "",
    edition: Edition | None = None,
    source: str = "",
    same_as: int | None = None,
) -> Charge:
    """What the counts cost together, and what is told of them; `source` is what the data is called."""
    policy, plan, invariants = planned.policy, planned.plan, planned.invariants
    details: dict[str, Any] = {
        "mechanism": "discrete Gaussian",
        "neighbours": policy.neighbours,
        "unit": policy.id_column or "row",
        "levels": len(plan.hierarchy.levels),
        "cells": plan.hierarchy.nodes,
    }
    if invariants.reasons:
        details[EXACT_TOTALS] = sum(map(len, invariants.counts))
        details["reason"] = "; ".join(dict.fromkeys(one.reason for one in invariants.reasons))
    return Charge(
        planned.question.name,
        planned.text,
        spend_of_hierarchy(plan, policy),
        analyst,
        details,
        planned.leaves.question.asked,
        edition=edition,
        source=source,
        same_as=same_as,
    )


def spend_of_hierarchy(plan: HierarchyPlan, policy: Policy) -> Spend:
    """What the ledger is charged: ρ of all levels together and its curve, and what is told about one unit."""
    return spend_of_rho(plan.rho_between(False), plan.rho_between(True), _event(plan), policy)


def _event(plan: HierarchyPlan) -> Mapping[str, Any]:
    if plan.replace:
        return event_between_contents(plan.rho)
    reach = Fraction(plan.rows**2)
    return composed(
        [
            {"name": "DiscreteGaussianDpEvent", "variance": variance, "squared_sensitivity": reach}
            for variance in plan.variances
            if variance is not None
        ]
    )
