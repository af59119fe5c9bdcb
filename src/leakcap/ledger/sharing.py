"""Which data sets pay from a ledger, and whether another one may: see `admission`, where the proof is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select

from leakcap.errors import LedgerError
from leakcap.ledger.continuing import require_continuing, require_same_owners
from leakcap.ledger.schema import EVENT

__all__ = ["admitted_policies", "require_sharing"]

_OTHER = "Open a ledger of its own for it."


def admitted_policies(connection: Connection) -> dict[str, list[str]]:
    """Of each data set that was admitted beside the ledger's own, its policies, the present one last."""
    found: dict[str, list[str]] = {}
    rows = select(EVENT.c.details).where(EVENT.c.kind == "admit").order_by(EVENT.c.seq)
    for text in connection.execute(rows).scalars():
        told = json.loads(text)
        found.setdefault(told["dataset"], []).append(told["policy"])
    return found


def require_sharing(
    others: Sequence[Sequence[Mapping[str, Any]]], own: Sequence[Mapping[str, Any]], new: Mapping[str, Any]
) -> None:
    """Raise `LedgerError`, naming why, unless a data set may pay from the ledger of the others.

    `others` are, for each data set that does, all its policies, the present one last; `own` its own earlier
    ones. What was answered under an earlier policy stays told: so whose a table is binds for good.

    >>> ward = {"dataset": "ward", "unit": {"id": "person"}, "neighbours": "add-remove-one"}
    >>> require_sharing([[ward]], [], ward | {"dataset": "visits", "unit": "row"})
    Traceback (most recent call last):
    leakcap.errors.LedgerError: Data sets `ward` and `visits` cannot pay from one ledger: the unit of ...
    """
    if own:
        require_continuing(own, new)
    for *earlier, other in others:
        names = [str(one.get("dataset")) for one in (other, new)]
        told = f"Data sets `{names[0]}` and `{names[1]}` cannot pay from one ledger: "
        if names[0].lower() == names[1].lower():
            raise LedgerError(
                f"{told}they have one name. To change the policy of the ledger's own data set, amend it."
            )
        ids = [unit.get("id") if isinstance(unit, Mapping) else None for unit in (other["unit"], new["unit"])]
        if None in ids:
            raise LedgerError(
                f"{told}the unit of `{names[ids.index(None)]}` is a row, not a person. {_OTHER}"
            )
        if ids[0] != ids[1]:
            raise LedgerError(
                f"{told}the ids of people are in `{ids[0]}` and `{ids[1]}`. Name the columns alike where the "
                "ids are of the same people; else give it a ledger of its own."
            )
        for name, one in zip(names, (other, new), strict=True):
            if one.get("neighbours") != "add-remove-one":
                raise LedgerError(
                    f"{told}`neighbours` of `{name}` is replace-one, which takes the number of people in "
                    "each as public. Use add-remove-one, or a ledger of its own."
                )
            if one.get("caps", {}).get("each_person"):
                raise LedgerError(f"{told}`{name}` has `caps.each_person`, which one table's column says.")
        for one in (other, *earlier):
            require_same_owners(one.get("tables", {}), new.get("tables", {}))
            _require_protected(one, new)
            _require_protected(new, one)


def _require_protected(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """A data set about people is nobody's public table."""
    for name, table in one.get("tables", {}).items():
        if name.lower() == str(other["dataset"]).lower() and table.get("id") is None:
            raise LedgerError(
                f"`tables.{name}` of `{one['dataset']}` is public, and `{other['dataset']}` is about people: "
                "one of them means another table. Name them apart, or give the table an `id`."
            )
