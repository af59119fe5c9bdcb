"""What is asked before new noise is paid for where the ledger has an answer."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from leakcap.errors import InvalidParameter

if TYPE_CHECKING:
    from leakcap.ledger import Balance, Charge
    from leakcap.release import Policy, PrivateTable, Query

__all__ = ["Fresh", "Yes", "ask_to_pay", "ask_to_pay_for", "asked_before_it_begins"]

Fresh = Annotated[
    bool,
    typer.Option("--fresh", help="Pay for new noise where the ledger remembers an answer. Asks first."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask, as scripts must say: --fresh pays.")]


def ask_to_pay_for(
    table: PrivateTable, queries: Sequence[Query], beside: Sequence[Charge] = (), *, yes: bool, json_: bool
) -> None:
    """Go on to new noise on these queries only with `yes`, or where somebody at a terminal agrees.

    What is asked `beside` them has no ε of its own.
    """
    price = None if beside else sum(one.price.epsilon for one in table.preview(queries))
    ask_to_pay(price, table.budget(), yes=yes, json_=json_)


def asked_before_it_begins(
    ledger: str,
    policy: Policy,
    queries: Sequence[Query],
    beside: Sequence[Charge] = (),
    *,
    yes: bool,
    json_: bool,
) -> bool:
    """The same where there is no ledger yet: whoever says no leaves none. Whether all is asked."""
    from leakcap.release import preview
    from leakcap.release.opening import begun_by, unbegun

    if yes or not begun_by(ledger):
        return yes
    price = None if beside else sum(one.price.epsilon for one in preview(queries, policy=policy))
    ask_to_pay(price, unbegun(ledger, policy).balances(), yes=yes, json_=json_)
    return True


def ask_to_pay(epsilon: float | None, balances: Sequence[Balance], *, yes: bool, json_: bool) -> None:
    """Go on only with `yes`, or where somebody at a terminal agrees; `epsilon` is what would be paid."""
    if yes:
        return
    left = balances[0].left
    price = "again" if epsilon is None else f"ε = {epsilon:.6g}"
    of = "" if left is None else f", of {left:.6g} left"
    told = f"--fresh pays {price} for new noise{of}. Without it, recorded answers are free."
    if json_ or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidParameter(f"{told} Nobody can be asked here: say --yes. Nothing was spent.")
    if not typer.confirm(f"{told} Pay?", err=True):
        typer.echo("Nothing was spent.")
        raise typer.Exit(1)
