"""A changed policy for the same table, which continues the accounts of the one before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leakcap.ledger import Amendment, Ledger, Planned, Proposed, admit_dataset
from leakcap.policy.document import Policy, load_policy

__all__ = ["admit", "amend", "amendment"]

_Policy = Policy | str | Path | Mapping[str, Any]


def amend(
    policy: _Policy, ledger: str | Path, *, reason: str, by: str = "", before: _Policy | None = None
) -> Amendment:
    """Let a policy govern a ledger from here on: all that was spent before counts against its caps.

    `ledger` is a URL or the path of an SQLite file, `by` who decided it and `reason` why, in one line; both
    are recorded. `before` is the policy that governs, for a ledger that keeps only its fingerprint. Whoever
    has the old policy spends no more. Plans that the policy adds are paid for with it, or nothing is changed.
    Raises `LedgerError`, naming the change, where the new policy may not continue the accounts, and
    `BudgetExceeded` where a plan does not fit: see `docs/ledger.md`, where the proofs are.

    >>> import pyarrow, tempfile
    >>> from leakcap.ledger import Charge, Spend
    >>> from leakcap.release import PrivateTable
    >>> ages = pyarrow.table({"age": [31.0, 45.0, 72.0]})
    >>> policy = {"dataset": "ward", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"age": {"bounds": [0.0, 120.0]}}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with PrivateTable(ages, policy=policy, ledger=f"{folder}/ward.db").ledger as old:
    ...         _ = old.reserve([Charge("n", "count", Spend(epsilon=0.75))])
    ...     made = amend(policy | {"caps": {"epsilon": 2.0}}, f"{folder}/ward.db", reason="agreed")
    ...     with Ledger.read(f"sqlite:///{folder}/ward.db") as new:
    ...         print(made.changes[0].text, new.balances()[0].left)
    `caps.epsilon` raised from 1 to 2 1.25
    """
    with Ledger.resume(_url(ledger)) as book:
        book.amend(_proposed(policy, reason, by, before))
        return book.amendments()[-1]


def amendment(
    policy: _Policy,
    ledger: str | Path,
    *,
    reason: str = "a preview",
    by: str = "",
    before: _Policy | None = None,
) -> Planned:
    """What `amend` would change: its `amendment`, and the balances before and after. Writes nothing, and
    raises what `amend` would."""
    with Ledger.read(_url(ledger)) as book:
        return book.propose(_proposed(policy, reason, by, before))


def admit(policy: _Policy, ledger: str | Path, *, reason: str, by: str = "", preview: bool = False) -> str:
    """Let another data set about the same people pay from a ledger, and return its name.

    Its policy has the ledger's caps, under which the answers from all of its data sets are added up, the same
    `id` of the unit, and add-remove-one neighbours. `reason` says, in one line, why the people are the same.
    With `preview` nothing is written. Raises `LedgerError`, naming what is not alike: see `docs/ledger.md`.

    >>> import tempfile
    >>> from leakcap.release import PrivateTable
    >>> ward = {"dataset": "ward", "neighbours": "add-remove-one", "unit": {"id": "person", "max_rows": 1},
    ...     "caps": {"epsilon": 1.0}, "columns": {"age": {"bounds": [0.0, 120.0]}}}
    >>> rows = {"person": [1, 2], "age": [31.0, 45.0]}
    >>> import pyarrow
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     PrivateTable(pyarrow.table(rows), policy=ward, ledger=f"{folder}/people.db").ledger.close()
    ...     visits = admit(ward | {"dataset": "visits"}, f"{folder}/people.db", reason="the same patients")
    ...     with Ledger.read(f"sqlite:///{folder}/people.db") as book:
    ...         visits, [one.dataset for one in book.datasets()]
    ('visits', ['ward', 'visits'])
    """
    return admit_dataset(_url(ledger), _proposed(policy, reason, by, None, owner="admit"), preview=preview)


def _proposed(
    policy: _Policy, reason: str, by: str, before: _Policy | None, *, owner: str = "amend"
) -> Proposed:
    new = load_policy(policy)
    old = "" if before is None else load_policy(before).text()
    plans = [one.ledger_plan(new.neighbours) for one in new.plan]
    return Proposed(new.text(), new.caps.ledger_caps(), reason, by, old, plans, owner)


def _url(ledger: str | Path) -> str:
    text = str(ledger)
    return text if "://" in text else f"sqlite:///{text}"
