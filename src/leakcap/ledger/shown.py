"""What a certificate shows of a row beside its amounts: who paid, and which caps hold, under pseudonyms.

An analyst, or a group of them, is shown by a digest with the ledger's seed as its key: equal names have equal
ones, so that anybody can add up an account, and nobody without the seed can try out whose it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from leakcap.errors import LedgerError
from leakcap.keyed import keyed_digest
from leakcap.ledger.rules import CapsInTicks, rules_read

__all__ = ["pseudonym", "shown_caps", "shown_of"]


def pseudonym(seed: str, kind: str, name: str) -> str:
    """How an analyst or a group is shown, 128 bits in hex.

    Raises `LedgerError` without a seed: anybody could try out names then.

    >>> pseudonym("5e", "analyst", "ann") == pseudonym("5e", "group", "ann")
    False
    >>> len(pseudonym("5e", "analyst", ""))
    32
    """
    if not seed:
        raise LedgerError("The ledger has lost its seed. Restore it from a backup.")
    return keyed_digest(seed.encode(), "shown in certificates", kind, name).hex()[:32]


def shown_caps(dataset: str, policy: str, rules: CapsInTicks, seed: str) -> str:
    """Canonical JSON of data set, policy and caps, with pseudonyms for analysts and groups; orders are exact.

    >>> rules = rules_read('{"analysts":{"ann":{"epsilon":5}},"delta":9,"epsilon":7,"order":2.5}')
    >>> json.loads(shown_caps("d", "p", rules, "5e"))["caps"]["order"]
    '5/2'
    """
    caps: dict[str, Any] = json.loads(rules.text)
    caps.pop("alpha", None)
    if "analysts" in caps:
        caps["analysts"] = {pseudonym(seed, "analyst", name): one for name, one in caps["analysts"].items()}
    if "groups" in caps:
        caps["groups"] = {
            pseudonym(seed, "group", name): one
            | {"members": sorted(pseudonym(seed, "analyst", member) for member in one["members"])}
            for name, one in caps["groups"].items()
        }
    accounts = [*caps.get("analysts", {}).values(), *caps.get("groups", {}).values()]
    accounts += [caps[name] for name in ("each_analyst", "each_period") if name in caps]
    for one in (caps, *accounts):
        if "order" in one:
            one["order"] = str(Fraction(str(one["order"])))
    return json.dumps(
        {"dataset": dataset, "policy": policy, "caps": caps}, sort_keys=True, separators=(",", ":")
    )


def shown_of(row: Mapping[str, Any], seed: str) -> str:
    """What a row should show, from its other columns.

    >>> shown_of({"kind": "reserve", "analyst": "ann"}, "5e") == pseudonym("5e", "analyst", "ann")
    True
    """
    if row["kind"] == "reserve":
        return pseudonym(seed, "analyst", row["analyst"])
    if row["kind"] not in ("open", "amend", "lost"):
        return ""
    told = json.loads(row["details"])
    if row["kind"] == "lost":
        return str(told["entries"])
    return shown_caps(told["dataset"], told["policy"], rules_read(json.dumps(told["caps"])), seed)
