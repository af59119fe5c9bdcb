"""The details of an entry that the ledger itself adds to what was asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from leakcap.ledger.ticks import TICKS_PER_UNIT

__all__ = ["FROM", "floor_read", "people_from", "without_floor"]

FROM = "people_with_a_cap_from"
"""From which cap of their own on people are counted, as a decimal."""


def floor_read(details: str) -> int | None:
    """The least level that an entry counted, in ticks; None where people have no caps of their own.

    >>> floor_read('{"people_with_a_cap_from":"0.5"}'), floor_read("{}")
    (500000000000, None)
    """
    told = json.loads(details).get(FROM)
    return None if told is None else int(Fraction(str(told)) * TICKS_PER_UNIT)


def people_from(details: Mapping[str, Any]) -> float | None:
    """The same as the number that it is."""
    return None if FROM not in details else float(details[FROM])


def without_floor(details: Mapping[str, Any]) -> dict[str, Any]:
    """An entry's details as they were asked."""
    return {name: value for name, value in details.items() if name != FROM}
