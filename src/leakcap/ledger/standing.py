"""Where every account of a ledger stands: everything, analysts, groups of them, periods, and levels of
people's own caps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, select

from leakcap.ledger.limits import balances
from leakcap.ledger.people import SCOPE, Levels, cap_of
from leakcap.ledger.rules import GROUP, CapsInTicks, period_label
from leakcap.ledger.schema import ACCOUNT
from leakcap.ledger.state import State, load_account
from leakcap.ledger.ticks import NOTHING, decimal, units_left
from leakcap.ledger.told import Account

__all__ = ["accounts_of"]


def accounts_of(
    connection: Connection,
    state: State,
    present: Callable[[], datetime],
    label: str,
    proved: Callable[[str, str, str, float], dict[str, Any]],
) -> list[Account]:
    """Every account, as `LedgerReader.accounts` says; `present` is asked only where a period has caps.
    `proved` makes certificates of balances: of a scope, a name, a currency and what was spent."""
    rules, spent = state.rules, {("everything", ""): state.spent}
    caps = {("everything", ""): rules.whole}
    mine = select(ACCOUNT.c.name).where(ACCOUNT.c.scope == "analyst").order_by(ACCOUNT.c.name)
    names = {*rules.analysts, *connection.execute(mine).scalars()}
    for name in sorted(names):
        limits = rules.of_analyst(name)
        if limits is not None:
            caps["analyst", name] = limits
            spent["analyst", name] = load_account(connection, "analyst", name, label, rules)[0]
    for name in sorted(rules.groups):
        caps[GROUP, name] = rules.of_group(name)
        spent[GROUP, name] = load_account(connection, GROUP, name, label, rules)[0]
    if rules.period is not None and rules.of_period is not None:
        scope, names = rules.period_scope, {period_label(rules.period, present())}
        if rules.by_reference:
            about = select(ACCOUNT.c.name).where(ACCOUNT.c.scope == scope)
            names = set(connection.execute(about).scalars())
        for name in sorted(names):
            caps[scope, name] = rules.of_period
            spent[scope, name] = load_account(connection, scope, name, label, rules)[0]
    return [
        *(
            Account(
                scope,
                name,
                tuple(
                    balances(
                        spent.get((scope, name), NOTHING), limits, rules.alpha, partial(proved, scope, name)
                    )
                ),
            )
            for (scope, name), limits in caps.items()
        ),
        *_people(connection, rules, label),
    ]


def _people(connection: Connection, rules: CapsInTicks, label: str) -> list[Account]:
    """The accounts of the levels of people's own caps, in ε; what is left must be left above too."""
    names = {level: decimal(level) for level in rules.each_person}
    spent = {l: load_account(connection, SCOPE, name, label, rules)[0] for l, name in names.items()}
    levels = Levels(rules.each_person, spent)
    return [
        Account(
            SCOPE,
            name,
            (replace(balances(spent[level], cap_of(level))[0], left=units_left(levels.left(level))),),
        )
        for level, name in names.items()
    ]
