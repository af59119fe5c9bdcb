"""Tables of counts released together: one charge, one noisy vector."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from leakcap.errors import InvalidPolicy
from leakcap.ledger import Charge, Edition, Entry, Spend, answer_once
from leakcap.ledger.measured import composed, event_text, guarantee
from leakcap.ledger.ticks import countable
from leakcap.numeric import float_up, up
from leakcap.release import Policy, PrivateTable
from leakcap.sampling import ByteSource, system_bytes
from leakcap.tables.answer import ReleasedTables
from leakcap.tables.plan import ResidualPlan, reach_squared
from leakcap.tables.question import PlannedTables, TablesQuestion
from leakcap.tables.reading import check_columns, counts_of, statements_of_tables
from leakcap.tables.residuals import Integers, noisy_residuals
from leakcap.tables.workload import Places

__all__ = ["charge_of_tables", "event_between_contents", "release_tables", "spend_of_rho", "spend_of_tables"]

_DECIMALS = 10**18


def release_tables(
    table: PrivateTable,
    question: TablesQuestion,
    *,
    fresh: bool = False,
    source: ByteSource = system_bytes,
) -> ReleasedTables:
    """The tables of a question, for one charge; for free where the ledger knows the answer, unless `fresh`.

    Raises `InvalidQuery`, `DataError` or `BudgetExceeded` with nothing spent.

    >>> import pyarrow
    >>> people = pyarrow.table({"sex": ["f", "m"] * 500, "ward": ["a", "a", "b", "b"] * 250})
    >>> policy = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0, "delta": 1e-6},
    ...     "columns": {"sex": {"keys": ["f", "m"]}, "ward": {"keys": ["a", "b"]}}}
    >>> with PrivateTable(people, policy=policy, ledger="sqlite://") as private:
    ...     found = release_tables(private, TablesQuestion(columns=("sex", "ward"), ways=2, rho=0.01))
    >>> both, wards = found.table("sex", "ward"), found.table("ward")
    >>> bool(abs(both.values.sum(axis=0) - wards.values).max() < 1e-9), wards.half_width < 60
    (True, True)
    """
    ledger, engine = table.ledger, table.engine
    if ledger.policy != table.policy.fingerprint():
        raise InvalidPolicy(
            "The policy was changed after the table was opened under it. Open the table anew."
        )
    planned = question.planned(table.policy)
    check_columns(planned, engine)
    same_as = None if table.same_as is None else table.same_as.number
    charge = charge_of_tables(
        planned, analyst=table.analyst, edition=table.edition, source=table.named, same_as=same_as
    )

    def prepare(_: Sequence[int]) -> Callable[[Sequence[Entry]], list[tuple[dict[Places, Integers], Any]]]:
        # Written out before the commit, so that nothing after it can fail because of the question.
        statements = statements_of_tables(planned, engine, ledger.seed)
        if planned.plan.replace:
            ledger.check([charge])
            table.check_units()

        def compute(_: Sequence[Entry]) -> list[tuple[dict[Places, Integers], Any]]:
            noisy = noisy_residuals(planned.plan, counts_of(planned, statements, engine), source)
            return [(noisy, _stored(planned, noisy))]

        return compute

    (paid,) = answer_once(ledger, [charge], prepare, data=table.state(), analyst=table.analyst, fresh=fresh)
    noisy = paid.computed
    if noisy is None:
        noisy = _shaped(planned, paid.answer.values)
    return ReleasedTables(planned, noisy, charge.spend, paid.answer.entry, paid.computed is None)


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


def _stored(planned: PlannedTables, noisy: Mapping[Places, Integers]) -> list[list[int]]:
    """What the ledger remembers: tables and their axes by name, so that who asks for the same reads it."""
    return [noisy[table].transpose(axes).ravel().tolist() for table, axes in _by_name(planned)]


def _shaped(planned: PlannedTables, values: Sequence[Sequence[Any]]) -> dict[Places, Integers]:
    """The same, as it was released."""
    sizes, found = planned.plan.workload.sizes, {}
    for (table, axes), own in zip(_by_name(planned), values, strict=True):
        stored = np.array(own, dtype=np.int64).reshape([sizes[table[axis]] for axis in axes])
        found[table] = stored.transpose(np.argsort(axes))
    return {table: found[table] for table in planned.plan.variances}


def _by_name(planned: PlannedTables) -> list[tuple[Places, list[int]]]:
    """The tables with noise, and each one's axes in the order of its columns' names."""
    workload, found = planned.plan.workload, []
    for table, names in planned.in_order:
        if table in planned.plan.variances:
            own = workload.named(table)
            found.append((table, [own.index(name) for name in names]))
    return found


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
