"""When one query is another one: by what was asked, never by a number that was computed.

What follows from a question, its price in nats or its error, is computed in floating point, and the last
digit of a logarithm is another on another processor. So the key of a query is made of text and of exact
numbers that somebody gave. Computed numbers stand beside it in the ledger; there they need only agree to six
digits: no processor makes them differ by more, and a mechanism of another scale does.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from leakcap.ledger.chain import fingerprint
from leakcap.ledger.details import without_floor
from leakcap.ledger.rules import CapsInTicks
from leakcap.ledger.ticks import AMOUNTS, Ticks
from leakcap.ledger.values import Charge

__all__ = ["agree", "cache_key"]

_NEAR = 1e-6


def cache_key(charge: Charge, data: str, rules: CapsInTicks, meaning: str = "") -> str:
    """What two queries share when the answer to one answers the other; empty where the table is not known.

    `meaning` tells policies apart under which the same text means something else: see `policies`. Where
    analysts have their own accounts an answer is remembered for its own analyst only: what another one
    learns from it would not be on that one's account.
    """
    if not data:
        return ""
    same = {
        "text": charge.text,
        "asked": charge.asked or _given(charge),
        "analyst": charge.analyst if rules.by_analyst else None,
        "data": data,
    }
    return fingerprint(same | ({"meaning": meaning} if meaning else {}))


def _given(charge: Charge) -> list[int | None]:
    """ε and δ as whole ticks of the decimals that they print as."""
    return list(charge.spend.ticks(None)[:2])


def agree(row: Mapping[str, Any], charge: Charge, price: Ticks) -> bool:
    """Whether a row was charged what the charge costs, for the same mechanism: but for the last digits of
    what was computed.

    >>> from leakcap.ledger.values import Spend
    >>> one = Charge("n", "count", Spend(0.1, nats_person=0.005), details={"scale": 10.0})
    >>> price = one.spend.ticks(None)
    >>> row = dict(zip(AMOUNTS, price.numbers, strict=False)) | {"details": '{"scale":10.000000000001}'}
    >>> agree(row, one, price), agree(row | {"details": '{"scale":11.0}'}, one, price)
    (True, False)
    """
    # Whom an answer counts is the ledger's to say, and no part of the question.
    found = without_floor(json.loads(row["details"]))
    amounts = zip((row[name] for name in AMOUNTS), price.numbers, strict=False)
    return (
        found.keys() == charge.details.keys()
        and all(_near(found[name], value) for name, value in charge.details.items())
        and all(_near(was, now, within=1) for was, now in amounts)
    )


def _near(one: object, other: object, *, within: float = 0.0) -> bool:
    if isinstance(one, float | int) and isinstance(other, float | int):
        exact = isinstance(one, int) and isinstance(other, int) and not within
        return one == other if exact else math.isclose(one, other, rel_tol=_NEAR, abs_tol=within)
    return one == other
