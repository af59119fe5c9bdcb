"""What tables released together cost: one charge, whose event an auditor can compute again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from leakcap.ledger import Charge, Edition, Spend
from leakcap.ledger.measured import guarantee
from leakcap.ledger.ticks import countable
from leakcap.ledger.values import composed, event_text
from leakcap.numeric import float_up, up
from leakcap.policy.document import Policy
from leakcap.tables.plan import ResidualPlan, reach_squared
from leakcap.tables.question import PlannedTables

__all__ = ["charge_of_tables", "event_between_contents", "spend_of_rho", "spend_of_tables"]

_DECIMALS = 10**18


def charge_of_tables(
    planned: PlannedTables,
    *,
    analyst: str = "",
    edition: Edition | None = None,
    source: str = "",
    same_as: int | None = None,
) -> Charge:
    """What the tables cost together, and what is told of them; `source` is what the data is called."""
    policy, plan = planned.policy, planned.plan
    return Charge(
        planned.question.name,
        planned.text,
        spend_of_tables(plan, policy),
        analyst,
        {
            "mechanism": "discrete Gaussian",
            "neighbours": policy.neighbours,
            "unit": policy.id_column or "row",
            "tables": len(plan.workload.closure),
            "cells": plan.workload.cells,
            "root_mean_square": plan.root_mean_square,
        },
        planned.question.asked,
        edition=edition,
        source=source,
        same_as=same_as,
    )


def spend_of_tables(plan: ResidualPlan, policy: Policy) -> Spend:
    """What the ledger is charged: ρ and its curve, and what is told about one unit and the table."""
    presence = ResidualPlan(plan.workload, plan.variances, plan.rows, False).rho
    contents = ResidualPlan(plan.workload, plan.variances, plan.rows, True).rho
    return spend_of_rho(presence, contents, _event(plan), policy)


def spend_of_rho(presence: Fraction, contents: Fraction, event: Mapping[str, Any], policy: Policy) -> Spend:
    """What Gaussian noise on integers costs whose ρ between presence and absence, and between contents, is
    known.

    About one unit it is half the squared distance from its absence; at level α αρ between two contents; about
    a table of n units n²ρ, where their number is public. No ε holds without a δ, which the filter adds.
    Source: Canonne, Kamath & Steinke 2020; Cuff & Yu 2016, lemma 1; Bun & Steinke 2016, proposition 1.9.
    """
    text = event_text(event)
    found = guarantee(text)
    alpha, replaced = policy.caps.alpha, policy.neighbours == "replace-one"
    whole = float_up(policy.units**2 * contents) if replaced and policy.units is not None else math.inf
    return Spend(
        epsilon=math.inf,
        delta=0.0,
        nats_person=countable(float_up(presence)),
        nats_table=countable(whole),
        nats_level=countable(math.inf if alpha is None else up(alpha * float_up(contents))),
        rho=countable(float_up(found.rho)),
        curve=found.curve,
        event=text,
    )


def event_between_contents(rho: Fraction) -> dict[str, Any]:
    """ρ rounded up to a decimal: under replace-one the farthest two rows are not those of each table."""
    return {"name": "ZCDpEvent", "rho": Fraction(math.ceil(rho * _DECIMALS), _DECIMALS)}


def _event(plan: ResidualPlan) -> dict[str, Any]:
    """Between presence and absence the noise of each table, alike ones together; between contents ρ, whose
    farthest two rows are not the farthest of each table."""
    if plan.replace:
        return event_between_contents(plan.rho)
    alike: dict[tuple[Fraction, int], int] = {}
    for table, variance in plan.variances.items():
        own = variance, plan.rows**2 * reach_squared(plan.workload, table)
        alike[own] = alike.get(own, 0) + 1
    events: list[dict[str, Any]] = []
    for (variance, squared), count in alike.items():
        one = {
            "name": "DiscreteGaussianDpEvent",
            "variance": variance,
            "squared_sensitivity": Fraction(squared),
        }
        events.append(one if count == 1 else {"name": "SelfComposedDpEvent", "event": one, "count": count})
    return composed(events)
